//! What PostgreSQL counts of its log.
//!
//! Where the log ends is exact at any moment. Syncs are counted by each process for itself, and handed in when it is
//! idle, though at most once a second, else 10 s later or at its end: so each connection is told to hand them in now
//! ([`HAND_IN`]). The WAL writer does so at the end of each of its rounds, before it rests.

use anyhow::{Context, Result};
use postgres::Client as Connection;

use crate::ledger::Counters;

/// Each client's last word before the counters are read. A block, as PostgreSQL 14 does not know the function.
pub const HAND_IN: &str = "DO $$ BEGIN
    IF current_setting('server_version_num')::int >= 150000 THEN PERFORM pg_stat_force_next_flush(); END IF;
END $$";

/// Of all its databases together.
pub fn read(connection: &mut Connection) -> Result<Counters> {
    let version: i32 =
        connection.query_one("SELECT current_setting('server_version_num')::int", &[])?.try_get(0)?;
    let row = connection.query_one(&query(version), &[]).context("asking for counters")?;
    let count = |column| -> Result<Option<u64>> {
        let value: Option<i64> = row.try_get(column)?;
        Ok(value.map(u64::try_from).transpose()?)
    };
    Ok(Counters { syncs: count(0)?, log_bytes: count(1)?, checkpoints: count(2)?, ..Counters::default() })
}

/// Syncs, where the log ends, checkpoints. What syncs by writing (`open_datasync`, `open_sync`) counts no syncs, and
/// PostgreSQL 14 cannot be made to hand in what it counted.
fn query(version: i32) -> String {
    let syncs = match version {
        ..150_000 => "NULL::bigint",
        150_000..180_000 => "(SELECT wal_sync FROM pg_stat_wal)",
        180_000.. => "(SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal')",
    };
    let checkpoints = if version < 170_000 {
        "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)"
    } else {
        "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)"
    };
    format!(
        "SELECT CASE WHEN current_setting('wal_sync_method') LIKE 'open%' THEN NULL ELSE {syncs} END,
             (pg_current_wal_insert_lsn() - '0/0')::bigint, {checkpoints}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_where_it_counts() {
        let asks = |version, words: [&str; 2]| {
            let query = query(version);
            assert!(words.iter().all(|word| query.contains(word)), "{version}: {query}");
        };
        asks(140_012, ["NULL::bigint", "pg_stat_bgwriter"]);
        asks(150_018, ["FROM pg_stat_wal)", "pg_stat_bgwriter"]);
        asks(170_000, ["FROM pg_stat_wal)", "pg_stat_checkpointer"]);
        asks(180_000, ["FROM pg_stat_io", "pg_stat_checkpointer"]);
    }
}
