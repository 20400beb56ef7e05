//! What the cells of one grid have in common, and in which order grids come.

use std::{cmp::Ordering, time::Duration};

use serde::Serialize;

use crate::report::{case::CaseKey, units};

/// Contention, delay, durability, and what was stored before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the columns of the rows")]
pub struct LayerKey {
    pub durability: String,
    pub accounts: u32,
    pub skew_pct: u32,
    pub rtt_us: Option<u64>,
    pub preload: Option<u64>,
    pub transport: String,
}

impl LayerKey {
    pub(super) fn of(key: &CaseKey) -> Self {
        Self {
            durability: key.durability.clone(),
            accounts: key.accounts,
            skew_pct: key.skew_pct,
            rtt_us: key.rtt_us,
            preload: key.preload,
            transport: key.transport.clone(),
        }
    }

    /// `10,000 accounts, fsync, 1ms of network`: each setting that is not the plainest, and two that always matter.
    #[must_use]
    pub fn label(&self) -> String {
        let grouped = |value: u32| units::grouped(value.into());
        let mut words = vec![format!("{} accounts", grouped(self.accounts))];
        if self.skew_pct > 0 {
            words.push(format!("skew {}.{:02}", self.skew_pct / 100, self.skew_pct % 100));
        }
        words.push(self.durability.clone());
        words.extend(
            self.rtt_us
                .map(|rtt_us| format!("rtt {}", humantime::format_duration(Duration::from_micros(rtt_us)))),
        );
        words.extend(self.preload.map(|preload| format!("{} stored before", units::grouped(preload))));
        if !self.transport.is_empty() {
            words.push(format!("{} socket", self.transport));
        }
        words.retain(|word| !word.is_empty());
        words.join(", ")
    }

    /// The plain first: no delay, the strongest durability, an empty ledger.
    fn order(&self) -> impl Ord {
        let known = ["fsync", "os-cache", "memory", "shipped"];
        let place = known.iter().position(|known| *known == self.durability).unwrap_or(known.len());
        (
            (self.rtt_us, place, self.durability.clone()),
            (self.preload, self.transport.clone(), self.skew_pct, self.accounts),
        )
    }
}

impl Ord for LayerKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for LayerKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
