//! What the row says of the host and of this program's versions. Blank for what is not known.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde::Serialize;

use crate::error::say;

mod disk;
mod footprint;
mod governor;
mod topology;
mod virtualization;

pub use footprint::allocated_bytes;
pub use topology::{Pin, is_kept_on, split};

/// The machine as a row shows it: no serial numbers, no names but the label that the user gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Machine {
    /// The user's label.
    pub host: String,
    /// CPU model.
    pub cpu: String,
    /// Cores that this process may use, and those that its server is kept on.
    pub cores: Option<u64>,
    /// Physical memory.
    pub memory_mib: Option<u64>,
    /// Kernel name and release.
    pub kernel: String,
    /// `none` on bare metal, else which virtual machine and which container.
    pub virtualization: String,
    /// Where the kernel takes its time from; `tsc` is the fast one of x86.
    pub clock_source: String,
    /// What chooses the CPU's frequency.
    pub cpu_governor: String,
    /// Whether the CPU may go above its base frequency.
    pub cpu_turbo: String,
    /// Whether cores are threads of one core.
    pub cpu_smt: String,
    /// The device under the servers' data.
    pub disk: String,
    /// Type of the filesystem that holds the servers' data.
    pub filesystem: String,
}

impl Machine {
    /// What is known of it, in the order of its columns: its name in words, and its value.
    #[must_use]
    pub fn known(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let all = [
            ("host", self.host.clone()),
            ("cpu", self.cpu.clone()),
            ("cores", number(self.cores)),
            ("memory in MiB", number(self.memory_mib)),
            ("kernel", self.kernel.clone()),
            ("virtualization", self.virtualization.clone()),
            ("clock source", self.clock_source.clone()),
            ("governor", self.cpu_governor.clone()),
            ("turbo", self.cpu_turbo.clone()),
            ("SMT", self.cpu_smt.clone()),
            ("disk", self.disk.clone()),
            ("filesystem", self.filesystem.clone()),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// Looks at this machine. `data`: the folder of the servers' data, where it is known.
#[must_use]
pub fn look(data: Option<&Path>) -> Machine {
    let cpuinfo = read("/proc/cpuinfo");
    Machine {
        host: String::new(),
        cpu: cpu_model(&cpuinfo),
        cores: Some(u64::from(cores())),
        memory_mib: memory_mib(&read("/proc/meminfo")),
        kernel: kernel(&read("/proc/sys/kernel/osrelease")),
        virtualization: virtualization::look(&cpuinfo),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        cpu_governor: governor::governor(),
        cpu_turbo: governor::turbo(),
        cpu_smt: yes_or_no(&line("/sys/devices/system/cpu/smt/active"), "1", "0"),
        disk: data.and_then(disk::disk).unwrap_or_default(),
        filesystem: data.and_then(filesystem).unwrap_or_default(),
    }
}

/// Runnable processes of the whole machine over the last minute, in hundredths: proc(5), loadavg.
#[must_use]
pub fn load_pct() -> Option<u64> {
    load_pct_in(&read("/proc/loadavg"))
}

fn load_pct_in(loadavg: &str) -> Option<u64> {
    let (whole, hundredths) = loadavg.split(' ').next()?.split_once('.')?;
    let hundredths = hundredths.parse::<u64>().ok().filter(|_| hundredths.len() == 2)?;
    Some(whole.parse::<u64>().ok()? * 100 + hundredths)
}

/// Nothing for a file that is not there.
fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The same for the kernel's files of one line.
fn line(path: impl AsRef<Path>) -> String {
    read(path).trim().to_owned()
}

/// Blank for anything else.
fn yes_or_no(value: &str, yes: &str, no: &str) -> String {
    let known = [(yes, "yes"), (no, "no")].into_iter().find(|(known, _)| *known == value);
    known.map(|(_, word)| word.to_owned()).unwrap_or_default()
}

/// Cores that this process may use.
#[must_use]
pub fn cores() -> u32 {
    thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// The type of the filesystem that holds `path`; `None` where the system does not say.
#[must_use]
pub fn filesystem(path: &Path) -> Option<String> {
    Some(mount(path)?.kind)
}

/// What covers a path.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// `ext4`.
    kind: String,
    /// `/dev/sda1`, or whatever the filesystem calls it.
    source: String,
}

fn mount(path: &Path) -> Option<Mount> {
    mount_in(&fs::read_to_string("/proc/self/mountinfo").ok()?, &existing(path)?)
}

/// The folder itself, or the nearest one above it that is there.
fn existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|folder| folder.canonicalize().ok())
}

/// The crate's name and the version that this binary was built with.
#[must_use]
pub fn crate_version(name: &str) -> String {
    locked_version(include_str!("../Cargo.lock"), name)
        .map(|version| format!("{name} {version}"))
        .unwrap_or_default()
}

/// The revision of the checkout that this binary was built in: `g` before it, as a bare `7e12345`
/// is a number to a spreadsheet; `-dirty` after it when files differ.
#[must_use]
pub fn git_revision() -> String {
    let describe = ["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"];
    let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(describe).output();
    match output {
        Ok(output) if output.status.success() => {
            format!("g{}", String::from_utf8_lossy(&output.stdout).trim())
        }
        _ => String::new(),
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    model.and_then(|rest| rest.split_once(':')).map(|(_, model)| model.trim().to_owned()).unwrap_or_default()
}

fn memory_mib(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

fn kernel(osrelease: &str) -> String {
    let release = osrelease.trim();
    if release.is_empty() { String::new() } else { format!("Linux {release}") }
}

/// The deepest mount whose point is a parent of `path` covers it (proc(5), mountinfo: field 5 is
/// the mount point, the first field after " - " the type, the second the source).
fn mount_in(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let mut after = after.split(' ').map(str::to_owned);
        Some((point, Mount { kind: after.next()?, source: after.next()? }))
    });
    mounts
        .filter(|(point, _)| path.starts_with(point))
        .max_by_key(|(point, _)| Path::new(point).components().count())
        .map(|(_, mount)| mount)
}

fn locked_version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let heading = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != heading).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

/// Asks the kernel to wake this process's sleepers when they asked to, not up to 50 us later. Threads inherit it from the one that
/// starts them, so it is for the main one, early.
pub fn wake_sleepers_sharply() {
    if let Err(error) = fs::write("/proc/self/timerslack_ns", "1") {
        say(&format!("each sleep may be 50 us too long: timerslack_ns: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_s_files() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC 7: x\nflags"), "AMD EPYC 7: x");
        assert_eq!(cpu_model(""), "");
        assert_eq!(memory_mib("MemTotal:       24671100 kB\nMemFree: 1 kB"), Some(24_092));
        assert_eq!(memory_mib("MemTotal: many"), None);
        assert_eq!(kernel("6.1.0-18-amd64\n"), "Linux 6.1.0-18-amd64");
        assert_eq!(kernel(""), "");
    }

    #[test]
    fn the_deepest_mount_covers_a_path() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      23 22 0:21 / /dev/shm rw shared:3 - tmpfs tmpfs rw\n\
                      24 22 8:2 / /mnt/big\\040disk rw - xfs /dev/sdb rw\n";
        let told = |path: &str| mount_in(mounts, Path::new(path)).map(|mount| (mount.kind, mount.source));
        let expected = |kind: &str, source: &str| Some((kind.to_owned(), source.to_owned()));
        assert_eq!(told("/home/x"), expected("ext4", "/dev/sda1"));
        assert_eq!(told("/dev/shm/x"), expected("tmpfs", "tmpfs"));
        assert_eq!(told("/dev/shmother"), expected("ext4", "/dev/sda1"));
        assert_eq!(told("/mnt/big disk/data"), expected("xfs", "/dev/sdb"));
        assert_eq!(mount_in("", Path::new("/")), None);
    }

    #[test]
    fn this_machine_answers() {
        let machine = look(Some(Path::new(env!("CARGO_MANIFEST_DIR"))));
        assert!(machine.cores.is_some_and(|cores| cores > 0));
        assert!(machine.memory_mib.is_some_and(|memory_mib| memory_mib > 64));
        assert!(machine.kernel.starts_with("Linux "));
        assert!(!machine.filesystem.is_empty() && !machine.virtualization.is_empty());
        assert!(load_pct().is_some());
    }

    #[test]
    fn small_files_are_read_strictly() {
        assert_eq!(load_pct_in("0.42 0.50 1.00 1/80 77\n"), Some(42));
        assert_eq!(load_pct_in("12.05 0.50"), Some(1_205));
        assert_eq!([load_pct_in(""), load_pct_in("1.5 2"), load_pct_in("x.00")], [None; 3]);
        assert_eq!(
            ["1", "0", "", "notsupported"].map(|value| yes_or_no(value, "1", "0")),
            ["yes", "no", "", ""]
        );
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"ab\"\nversion = \"4.5.6\"\n";
        assert_eq!(locked_version(lock, "ab"), Some("4.5.6"));
        assert_eq!(locked_version(lock, "b"), None);
        assert_eq!(crate_version("tigerbeetle-unofficial"), "tigerbeetle-unofficial 0.14.28+0.16.78");
    }

    #[test]
    fn the_deepest_mount_counts_not_the_last() {
        let mounts = "23 22 0:21 / /dev/shm rw - tmpfs tmpfs rw\n22 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        assert_eq!(mount_in(mounts, Path::new("/dev/shm/x")).expect("covered").kind, "tmpfs");
    }
}
