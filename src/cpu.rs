//! CPU time of the whole machine and of this process, from proc(5). A tick is 10 ms on most
//! kernels; all that leaves this file is a share, so its length does not matter.

use std::fs;

/// Ticks so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// Of all cores, idle ones included.
    all: u64,
    /// Of all cores, when the hypervisor ran somebody else.
    stolen: u64,
    /// Of this process, in user and kernel mode, all its threads, and of children that have ended.
    own: u64,
    /// Context switches of all cores.
    switches: u64,
}

/// What the CPUs did meanwhile; shares are of the CPU time of all cores, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Stolen by the hypervisor.
    pub steal_permille: u64,
    /// Used by this process.
    pub client_permille: u64,
    /// How often any core went from one thread to another: a count, not a share.
    pub context_switches: u64,
}

impl CpuTimes {
    /// The ticks so far; `None` where the kernel does not tell.
    #[must_use]
    pub fn now() -> Option<Self> {
        let read = |path| fs::read_to_string(path).ok();
        Self::parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    /// `/proc/stat` begins with "cpu" and user, nice, system, idle, iowait, irq, softirq, steal (guests
    /// are in user already); `/proc/self/stat` has utime, stime, cutime and cstime as fields 14 to 17, and a name that
    /// may hold anything in brackets as its second.
    fn parse(stat: &str, own_stat: &str) -> Option<Self> {
        let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let ticks: Vec<u64> = ticks.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [.., stolen] = ticks[..] else { return None };
        let own = own_stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
        let own: Vec<u64> = own.map(str::parse).collect::<Result<_, _>>().ok()?;
        let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt "))?.parse().ok()?;
        let own = own.get(..4)?.iter().sum();
        Some(Self { all: ticks.iter().sum(), stolen, own, switches })
    }

    /// The shares since `before`; `None` where no tick has passed.
    #[must_use]
    pub fn since(self, before: Self) -> Option<Shares> {
        let all = self.all.checked_sub(before.all)?;
        let permille = |now: u64, before: u64| (now.checked_sub(before)? * 1_000).checked_div(all);
        Some(Shares {
            steal_permille: permille(self.stolen, before.stolen)?,
            client_permille: permille(self.own, before.own)?,
            context_switches: self.switches.checked_sub(before.switches)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "77 (a) b) c) S 1 77 77 0 -1 4194560 100 0 0 0 30 12 5 6 20 0 4 0 99 1 1";

    #[test]
    fn ticks_are_read_where_the_kernel_puts_them() {
        let stat = "cpu  100 10 50 800 20 1 2 17 5 6\ncpu0 1 1 1 1 1 1 1 1 0 0\nctxt 900\n";
        assert_eq!(
            CpuTimes::parse(stat, OWN),
            Some(CpuTimes { all: 1_000, stolen: 17, own: 53, switches: 900 })
        );
        assert_eq!(CpuTimes::parse("cpu  1 2 x", OWN), None);
        assert_eq!(CpuTimes::parse(stat, "77 (a) S 1"), None);
        assert!(CpuTimes::now().is_some());
    }

    #[test]
    fn shares_are_of_what_passed_since() {
        let before = CpuTimes { all: 1_000, stolen: 10, own: 40, switches: 5 };
        let after = CpuTimes { all: 1_400, stolen: 14, own: 240, switches: 12 };
        assert_eq!(
            after.since(before),
            Some(Shares { steal_permille: 10, client_permille: 500, context_switches: 7 })
        );
        assert_eq!(before.since(before), None, "no tick has passed");
        assert_eq!(before.since(after), None);
    }
}
