//! What the server and its data are like right before a sample and right after it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{
    ledger::{Counters, Server, System},
    machine,
    measurement::Measurement,
    suite::Clients,
};

/// At one moment, with nothing in flight.
#[derive(Clone, Copy, Debug)]
pub struct State {
    counters: Counters,
    /// Transfers in the ledger, where it keeps them.
    stored: Option<u64>,
    /// What the private server's data takes.
    disk_bytes: Option<u64>,
}

/// Where `run.sh` has a private server keep its data, below the folder that it names.
pub fn folder(data: Option<&Path>, system: System) -> Option<PathBuf> {
    Some(data?.join(format!("ledger-bench-{system}")))
}

impl State {
    /// Off the clock.
    pub fn now(server: &mut dyn Server, clients: &mut Clients, folder: Option<&Path>) -> Result<Self> {
        clients.hand_in_counts()?;
        Ok(Self {
            counters: server.counters().context("asking for counters")?,
            stored: clients.stored(),
            disk_bytes: folder.and_then(machine::allocated_bytes),
        })
    }
}

/// The columns on both moments, and on what was counted between them.
pub fn fill(row: &mut Measurement, before: State, after: Option<State>) {
    let counted = after.map(|after| after.counters.since(before.counters)).unwrap_or_default();
    row.syncs = counted.syncs;
    row.log_bytes = counted.log_bytes;
    row.stored_before = before.stored;
    row.stored_after = after.and_then(|after| after.stored);
    row.disk_bytes_before = before.disk_bytes;
    row.disk_bytes_after = after.and_then(|after| after.disk_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(count: u64) -> State {
        let counters = Counters { syncs: Some(count), log_bytes: Some(10 * count), ..Counters::default() };
        State { counters, stored: Some(100 * count), disk_bytes: Some(1_000 * count) }
    }

    #[test]
    fn counts_are_differences_and_sizes_are_both() {
        let mut row = Measurement::default();
        fill(&mut row, state(3), Some(state(10)));
        assert_eq!((row.syncs, row.log_bytes), (Some(7), Some(70)));
        assert_eq!((row.stored_before, row.stored_after), (Some(300), Some(1_000)));
        assert_eq!((row.disk_bytes_before, row.disk_bytes_after), (Some(3_000), Some(10_000)));
    }

    #[test]
    fn a_sample_that_failed_has_no_after() {
        let mut row = Measurement::default();
        fill(&mut row, state(3), None);
        let expected = Measurement {
            stored_before: Some(300),
            disk_bytes_before: Some(3_000),
            ..Measurement::default()
        };
        assert_eq!(row, expected);
    }

    #[test]
    fn the_folder_is_run_sh_s() {
        let found = folder(Some(Path::new("/data")), System::Postgres);
        assert_eq!(found.as_deref(), Some(Path::new("/data/ledger-bench-postgres")));
        assert_eq!(folder(None, System::Postgres), None);
    }
}
