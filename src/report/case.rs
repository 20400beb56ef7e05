//! What tells cases apart, in which order they are shown, and how they are called.

use std::{cmp::Ordering, fmt::Write, time::Duration};

use clap::ValueEnum;
use serde::Serialize;

use crate::{
    measurement::Measurement,
    plan::{Arrivals, Benchmark, Suite},
};

/// All that makes samples of different systems comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the columns of the rows")]
pub struct CaseKey {
    pub suite: String,
    pub benchmark: String,
    pub durability: String,
    /// 0: as many as that machine has cores, which the source does not tell.
    pub clients: u32,
    pub in_flight: u32,
    pub batch: u32,
    pub accounts: u32,
    pub skew_pct: u32,
    /// `even` or `poisson`, or blank: a closed loop.
    pub arrivals: String,
    pub rate_per_s: Option<u64>,
    pub rtt_us: Option<u64>,
    pub preload: Option<u64>,
    /// `unix`, or blank: by TCP, as everybody can, or not sent at all.
    pub transport: String,
}

impl CaseKey {
    /// Of a row.
    #[must_use]
    pub fn of(row: &Measurement) -> Self {
        Self {
            suite: row.suite.clone(),
            benchmark: row.benchmark.clone(),
            durability: row.durability.clone(),
            clients: row.clients,
            in_flight: row.in_flight,
            batch: row.batch,
            accounts: row.accounts,
            skew_pct: row.skew_pct,
            arrivals: if row.arrivals == Arrivals::Closed.name() {
                String::new()
            } else {
                row.arrivals.clone()
            },
            rate_per_s: row.rate_per_s,
            rtt_us: row.rtt_us,
            preload: row.preload.filter(|&count| count > 0),
            transport: if row.transport == "unix" { row.transport.clone() } else { String::new() },
        }
    }

    /// The case in words: its benchmark, and each setting that is not the plainest.
    #[must_use]
    pub fn label(&self, with_suite: bool) -> String {
        let mut label = self.benchmark.clone();
        if with_suite {
            label = format!("{} {label}", self.suite);
        }
        if self.batch > 1 {
            let _ = write!(label, " of {}", self.batch);
        }
        if self.durability != "shipped" && !self.durability.is_empty() {
            let _ = write!(label, ", {}", self.durability);
        }
        match self.clients {
            0 => label += ", as many clients as cores",
            1 => {}
            clients => drop(write!(label, ", {clients} clients")),
        }
        if self.in_flight > 1 {
            let _ = write!(label, ", {} in flight", self.in_flight);
        }
        if self.accounts != 2 {
            let _ = write!(label, ", {} accounts", self.accounts);
        }
        if self.skew_pct > 0 {
            let _ = write!(label, ", skew {}.{:02}", self.skew_pct / 100, self.skew_pct % 100);
        }
        if let Some(rate_per_s) = self.rate_per_s {
            let _ = write!(label, ", {rate_per_s} a second");
        }
        if !self.arrivals.is_empty() {
            let _ = write!(label, ", {} arrivals", self.arrivals);
        }
        if let Some(rtt_us) = self.rtt_us {
            let _ = write!(label, ", rtt {}", humantime::format_duration(Duration::from_micros(rtt_us)));
        }
        if let Some(preload) = self.preload {
            let _ = write!(label, ", {preload} stored before");
        }
        if !self.transport.is_empty() {
            let _ = write!(label, ", {} socket", self.transport);
        }
        label
    }

    /// Of the machine itself: no system is measured there, so none is compared.
    #[must_use]
    pub fn is_floor(&self) -> bool {
        self.suite == Suite::Floor.name()
    }

    fn order(&self) -> impl Ord {
        let numbers = [self.clients, self.in_flight, self.batch, self.accounts, self.skew_pct];
        let places = (place(&self.suite, Suite::name), place(&self.benchmark, Benchmark::name));
        (places.0, self.suite.clone(), places.1, self.benchmark.clone(), self.durability_place(), numbers)
    }

    /// The strongest first.
    fn durability_place(&self) -> (usize, String) {
        let known = ["shipped", "fsync", "os-cache", "memory"];
        let place = known.iter().position(|known| *known == self.durability).unwrap_or(known.len());
        (place, self.durability.clone())
    }
}

impl Ord for CaseKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = |key: &Self| {
            (key.rtt_us, key.rate_per_s, key.arrivals.clone(), key.preload, key.transport.clone())
        };
        self.order().cmp(&other.order()).then_with(|| rest(self).cmp(&rest(other)))
    }
}

impl PartialOrd for CaseKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A known name's place in the plan; unknown ones come last.
fn place<T: ValueEnum + Copy>(name: &str, name_of: fn(T) -> &'static str) -> usize {
    let known = T::value_variants();
    known.iter().position(|&variant| name_of(variant) == name).unwrap_or(known.len())
}

/// A system's place within a case: the predecessor's order, then others, the harness's own
/// baseline last.
#[must_use]
pub fn system_place(system: &str) -> usize {
    match system {
        "tigerbeetle" => 0,
        "redis" => 1,
        "postgres" => 2,
        _ if is_baseline(system) => 4,
        _ => 3,
    }
}

/// Which colour, marker and pattern a series has, from 0: systems in their order, then `PostgreSQL` asked interactively.
#[must_use]
pub fn look(system: &str, style: &str) -> usize {
    if style.is_empty() { system_place(system).min(3) } else { 4 }
}

/// Whether it is no system that moves money for anybody: the harness's own ledger, and the machine itself. Nothing is
/// compared with them.
#[must_use]
pub fn is_baseline(system: &str) -> bool {
    ["memory", "machine"].contains(&system)
}

/// A system's name in a sentence.
#[must_use]
pub fn proper_name(system: &str) -> &str {
    match system {
        "tigerbeetle" => "TigerBeetle",
        "redis" => "Redis",
        "postgres" => "PostgreSQL",
        "machine" => "this machine",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::row;

    #[test]
    fn a_label_says_whatever_is_not_the_plainest() {
        let label = |change: fn(&mut Measurement)| {
            let mut row = row("basic", "redis", 1, 1);
            change(&mut row);
            CaseKey::of(&row).label(false)
        };
        assert_eq!(label(|_| ()), "basic");
        assert_eq!(label(|row| row.batch = 1000), "basic of 1000");
        assert_eq!(label(|row| row.durability = "os-cache".into()), "basic, os-cache");
        assert_eq!(label(|row| row.clients = 2), "basic, 2 clients");
        assert_eq!(label(|row| row.clients = 0), "basic, as many clients as cores");
        assert_eq!(label(|row| row.in_flight = 16), "basic, 16 in flight");
        assert_eq!(label(|row| row.accounts = 10_000), "basic, 10000 accounts");
        assert_eq!(label(|row| row.skew_pct = 109), "basic, skew 1.09");
        assert_eq!(label(|row| row.rate_per_s = Some(5)), "basic, 5 a second");
        assert_eq!(label(|row| row.arrivals = "even".into()), "basic, even arrivals");
        assert_eq!(label(|row| row.arrivals = "closed".into()), "basic");
        assert_eq!(label(|row| row.preload = Some(9)), "basic, 9 stored before");
        assert_eq!(label(|row| row.rtt_us = Some(7)), "basic, rtt 7us");
        assert_eq!(label(|row| row.transport = "unix".into()), "basic, unix socket");
        assert_eq!(label(|row| row.transport = "tcp".into()), "basic");
        assert_eq!(CaseKey::of(&row("basic", "redis", 1, 1)).label(true), "seed basic");
    }

    #[test]
    fn cases_come_in_the_order_of_the_plan() {
        let key = |suite: &str, benchmark: &str, durability: &str, clients| {
            let row = Measurement {
                suite: suite.into(),
                durability: durability.into(),
                clients,
                ..row(benchmark, "redis", 1, 1)
            };
            CaseKey::of(&row)
        };
        let ordered = [
            key("seed", "basic", "shipped", 1),
            key("seed", "two_phase", "shipped", 1),
            key("seed", "basic_batch", "shipped", 1),
            key("seed", "basic_parallel", "shipped", 2),
            key("seed", "basic_parallel", "shipped", 16),
            key("ledger", "single", "fsync", 1),
            key("ledger", "single", "os-cache", 1),
            key("ledger", "single", "memory", 1),
            key("ledger", "single", "other", 1),
            key("elsewhere", "basic", "shipped", 1),
        ];
        assert!(ordered.is_sorted_by(|a, b| a < b), "{ordered:?}");
    }
}
