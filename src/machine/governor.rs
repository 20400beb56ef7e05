//! What moves the CPU's frequency.

use std::{collections::BTreeSet, fs};

use super::{line, yes_or_no};

/// The governors of all cores, each once; blank where the kernel does not scale them, as in most virtual machines.
pub fn governor() -> String {
    let policies = fs::read_dir("/sys/devices/system/cpu/cpufreq").into_iter().flatten().flatten();
    let governors: BTreeSet<String> = policies
        .map(|policy| line(policy.path().join("scaling_governor")))
        .filter(|name| !name.is_empty())
        .collect();
    governors.into_iter().collect::<Vec<_>>().join(" ")
}

/// `intel_pstate` tells whether it is off, the other drivers whether it is on.
pub fn turbo() -> String {
    let off = yes_or_no(&line("/sys/devices/system/cpu/intel_pstate/no_turbo"), "0", "1");
    let on = yes_or_no(&line("/sys/devices/system/cpu/cpufreq/boost"), "1", "0");
    if off.is_empty() { on } else { off }
}
