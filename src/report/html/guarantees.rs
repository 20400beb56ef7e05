//! What a case is, and what a transfer of it is worth once it is acknowledged, in words.

use crate::{ledger::Durability, plan::Suite, report::case::CaseKey};
use clap::ValueEnum;

/// A few sentences; nothing for a suite that is not known here.
pub fn of(key: &CaseKey) -> String {
    let durability = Durability::from_str(&key.durability, false).ok();
    match Suite::from_str(&key.suite, false) {
        Ok(Suite::Seed) => "As the predecessor does it, on servers as shipped: TigerBeetle stores transfers, on disk before \
            the reply; PostgreSQL keeps two balances, on disk before the reply; Redis keeps counters, in memory. The latter \
            two store no transfer, have no id that makes a retry safe and check no overdraft."
            .into(),
        Ok(Suite::Ledger | Suite::Sweep) => {
            let where_it_is = durability.map(arrived).unwrap_or_default();
            format!(
                "The same in each: transfers are stored for good under ids that make a retry safe, no account is overdrawn, \
                 holds are posted or voided. Before the reply a transfer is {where_it_is}"
            )
        }
        Ok(Suite::Floor) => "What the machine takes by itself, the least that a figure can be: a reading of its clock; an op that does \
            nothing; 128 bytes to another process and 128 back; 4 KiB on the disk as TigerBeetle writes them (disk_dsync) \
            and as Redis and PostgreSQL do (disk_fdatasync). No system is measured here."
            .into(),
        _ => String::new(),
    }
}

fn arrived(durability: Durability) -> &'static str {
    match durability {
        Durability::Fsync => "on disk (fsync).",
        Durability::OsCache => "with the kernel (os-cache): it outlives the server, not the machine.",
        Durability::Memory => "in the server's memory (memory).",
        Durability::Shipped => {
            "where the server as shipped puts it: TigerBeetle and PostgreSQL on disk, Redis in memory."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{measurement::Measurement, report::samples::row};

    fn told(suite: &str, durability: &str) -> String {
        let row = Measurement {
            suite: suite.into(),
            durability: durability.into(),
            ..row("single", "redis", 1, 1)
        };
        of(&CaseKey::of(&row))
    }

    #[test]
    fn each_tier_of_the_ledger_suite_is_told_apart() {
        let tiers = ["fsync", "os-cache", "memory", "shipped"].map(|tier| told("ledger", tier));
        for (tier, words) in
            tiers.iter().zip(["on disk (fsync)", "with the kernel", "server's memory", "as shipped"])
        {
            assert!(tier.contains(words), "{tier}");
        }
        assert!(told("seed", "shipped").contains("check no overdraft"));
        assert!(told("floor", "shipped").contains("by itself"));
        assert_eq!(told("elsewhere", "fsync"), "");
    }
}
