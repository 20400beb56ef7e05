//! The file of time series, beside the rows: a line for each interval of each sample that keeps one.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Serialize;

use super::{Measurement, csv_lines};
use crate::{error::bad_input, ledger::Counters, series::Interval, stats};

/// One interval. Fields are columns, in this order; those up to `transport` are the sample's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Line {
    schema: u64,
    run_id: String,
    round: u32,
    suite: String,
    benchmark: String,
    system: String,
    durability: String,
    clients: u32,
    in_flight: u32,
    batch: u32,
    accounts: u32,
    skew_pct: u32,
    arrivals: String,
    rate_per_s: Option<u64>,
    rtt_us: Option<u64>,
    style: String,
    preload: Option<u64>,
    transport: String,
    /// From 1.
    interval: u64,
    start_ms: u64,
    ops: u64,
    transfers: u64,
    transfers_per_s: Option<u64>,
    latency_ns_p50: Option<u64>,
    latency_ns_p99: Option<u64>,
    latency_ns_max: Option<u64>,
    syncs: Option<u64>,
    log_bytes: Option<u64>,
    checkpoints: Option<u64>,
    rewrites: Option<u64>,
    snapshots: Option<u64>,
}

/// Where the series of a file of rows are: `results.csv`'s in `results.series.csv`.
#[must_use]
pub fn series_path(csv: &Path) -> PathBuf {
    csv.with_extension("series.csv")
}

/// Refuses a file whose header is not this program's. Leaves it as it is, and makes none.
pub fn check_series(csv: &Path) -> Result<()> {
    let path = series_path(csv);
    let mut start = String::new();
    let Ok(file) = OpenOptions::new().read(true).open(&path) else { return Ok(()) };
    let header = csv_lines(&[Line::default()], true)?;
    let header = header.lines().next().context("a header has a line")?;
    let read = file.take(header.len() as u64 + 1).read_to_string(&mut start);
    if read.is_ok() && (start.is_empty() || start.strip_suffix('\n') == Some(header)) {
        return Ok(());
    }
    Err(bad_input(format!(
        "{} has other columns: move it away, or name another file by --csv",
        path.display()
    )))
}

/// Appends the intervals of a row's sample, in one write. `counted`: what the server had counted at the start of each
/// interval, and at the end of the last, as far as it was asked.
pub fn append_series(
    csv: &Path,
    row: &Measurement,
    interval_ns: u64,
    intervals: &[Interval],
    counted: &[Counters],
) -> Result<()> {
    let path = series_path(csv);
    let failed = || format!("writing {}", path.display());
    let mut file = OpenOptions::new().create(true).append(true).open(&path).with_context(failed)?;
    file.lock().with_context(failed)?;
    let is_new = file.metadata().with_context(failed)?.len() == 0;
    let lines: Vec<Line> =
        (0..).zip(intervals).map(|(index, one)| line(row, interval_ns, index, one, counted)).collect();
    file.write_all(csv_lines(&lines, is_new)?.as_bytes()).with_context(failed)
}

fn line(row: &Measurement, interval_ns: u64, index: usize, one: &Interval, counted: &[Counters]) -> Line {
    let transfers_per_op = row.transfers.zip(row.ops).and_then(|(transfers, ops)| transfers.checked_div(ops));
    let transfers = one.ops * transfers_per_op.unwrap_or_default();
    let Interval { ops, ref latencies } = *one;
    let counted = counted.get(index).zip(counted.get(index + 1)).map(|(before, after)| after.since(*before));
    let Counters { syncs, log_bytes, checkpoints, rewrites, snapshots } = counted.unwrap_or_default();
    let row = row.clone();
    Line {
        schema: row.schema,
        run_id: row.run_id,
        round: row.round,
        suite: row.suite,
        benchmark: row.benchmark,
        system: row.system,
        durability: row.durability,
        clients: row.clients,
        in_flight: row.in_flight,
        batch: row.batch,
        accounts: row.accounts,
        skew_pct: row.skew_pct,
        arrivals: row.arrivals,
        rate_per_s: row.rate_per_s,
        rtt_us: row.rtt_us,
        style: row.style,
        preload: row.preload,
        transport: row.transport,
        interval: index as u64 + 1,
        start_ms: index as u64 * interval_ns / 1_000_000,
        ops,
        transfers,
        transfers_per_s: stats::rate_per_s(transfers, interval_ns),
        latency_ns_p50: latencies.p50_ns,
        latency_ns_p99: latencies.p99_ns,
        latency_ns_max: latencies.max_ns,
        syncs,
        log_bytes,
        checkpoints,
        rewrites,
        snapshots,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::stats::summarize;

    fn row() -> Measurement {
        Measurement { benchmark: "batch".into(), ops: Some(5), transfers: Some(50), ..Measurement::default() }
    }

    fn counted(log_bytes: u64, checkpoints: u64) -> Counters {
        Counters { log_bytes: Some(log_bytes), checkpoints: Some(checkpoints), ..Counters::default() }
    }

    #[test]
    fn a_line_an_interval_with_what_the_server_counted_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let csv = folder.path().join("r.csv");
        let intervals = [
            Interval { ops: 3, latencies: summarize(vec![10, 20, 30]) },
            Interval { ops: 0, latencies: summarize(Vec::new()) },
            Interval { ops: 2, latencies: summarize(vec![40, 60]) },
        ];
        let readings = [counted(100, 7), counted(150, 8), counted(150, 8)];
        for _ in 0..2 {
            check_series(&csv).expect("ours");
            append_series(&csv, &row(), 500_000_000, &intervals, &readings).expect("written");
        }
        let text = fs::read_to_string(folder.path().join("r.series.csv")).expect("a file");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!((lines.len(), lines[0][0], lines[0][18]), (7, "schema", "interval"));
        assert_eq!(lines[1][18..], ["1", "0", "3", "30", "60", "20", "", "30", "", "50", "1", "", ""]);
        assert_eq!(lines[2][18..], ["2", "500", "0", "0", "0", "", "", "", "", "0", "0", "", ""]);
        assert_eq!(lines[3][18..], ["3", "1000", "2", "20", "40", "40", "", "60", "", "", "", "", ""]);
        assert_eq!(lines[4], lines[1]);
    }

    #[test]
    fn a_file_of_other_columns_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let csv = folder.path().join("r.csv");
        check_series(&csv).expect("none is there");
        for text in ["a,b\n1,2\n", "schema,run_id\n"] {
            fs::write(series_path(&csv), text).expect("written");
            assert!(check_series(&csv).expect_err("foreign").to_string().contains("has other columns"));
            assert_eq!(fs::read_to_string(series_path(&csv)).expect("there"), text);
        }
    }
}
