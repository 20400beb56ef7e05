//! The file of time series, beside the rows: a line for each interval of each sample that keeps one.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Measurement, csv_lines};
use crate::{error::bad_input, ledger::Counters, series::Interval, stats};

/// One interval. Fields are columns, in this order; those up to `transport` are the sample's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the columns of the file")]
pub struct SeriesLine {
    pub schema: u64,
    pub run_id: String,
    pub round: u32,
    pub suite: String,
    pub benchmark: String,
    pub system: String,
    pub durability: String,
    pub clients: u32,
    pub in_flight: u32,
    pub batch: u32,
    pub accounts: u32,
    pub skew_pct: u32,
    pub arrivals: String,
    pub rate_per_s: Option<u64>,
    pub rtt_us: Option<u64>,
    pub style: String,
    pub preload: Option<u64>,
    pub transport: String,
    /// From 1.
    pub interval: u64,
    pub start_ms: u64,
    pub ops: u64,
    pub transfers: u64,
    pub transfers_per_s: Option<u64>,
    pub latency_ns_p50: Option<u64>,
    pub latency_ns_p99: Option<u64>,
    pub latency_ns_max: Option<u64>,
    pub syncs: Option<u64>,
    pub log_bytes: Option<u64>,
    pub checkpoints: Option<u64>,
    pub rewrites: Option<u64>,
    pub snapshots: Option<u64>,
}

impl SeriesLine {
    /// The row of its sample, as far as the line has it.
    #[must_use]
    pub fn sample(&self) -> Measurement {
        let line = self.clone();
        Measurement {
            schema: line.schema,
            run_id: line.run_id,
            round: line.round,
            suite: line.suite,
            benchmark: line.benchmark,
            system: line.system,
            durability: line.durability,
            clients: line.clients,
            in_flight: line.in_flight,
            batch: line.batch,
            accounts: line.accounts,
            skew_pct: line.skew_pct,
            arrivals: line.arrivals,
            rate_per_s: line.rate_per_s,
            rtt_us: line.rtt_us,
            style: line.style,
            preload: line.preload,
            transport: line.transport,
            ..Measurement::default()
        }
    }
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
    let header = header()?;
    let read = file.take(header.len() as u64 + 1).read_to_string(&mut start);
    if read.is_ok() && (start.is_empty() || start.strip_suffix('\n') == Some(&header)) {
        return Ok(());
    }
    Err(bad_input(format!(
        "{} has other columns: move it away, or name another file by --csv",
        path.display()
    )))
}

fn header() -> Result<String> {
    let lines = csv_lines(&[SeriesLine::default()], true)?;
    Ok(lines.lines().next().context("a header has a line")?.into())
}

/// The intervals of a file of rows; none where no sample of it kept any.
pub fn read_series(csv: &Path) -> Result<Vec<SeriesLine>> {
    let path = series_path(csv);
    if !path.exists() {
        return Ok(Vec::new());
    }
    check_series(csv)?;
    let bad = |error: csv::Error| bad_input(format!("{}: {error}: move it away", path.display()));
    csv::Reader::from_path(&path).map_err(bad)?.deserialize().collect::<Result<_, _>>().map_err(bad)
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
    let lines: Vec<SeriesLine> =
        (0..).zip(intervals).map(|(index, one)| line(row, interval_ns, index, one, counted)).collect();
    file.write_all(csv_lines(&lines, is_new)?.as_bytes()).with_context(failed)
}

fn line(
    row: &Measurement,
    interval_ns: u64,
    index: usize,
    one: &Interval,
    counted: &[Counters],
) -> SeriesLine {
    let transfers_per_op = row.transfers.zip(row.ops).and_then(|(transfers, ops)| transfers.checked_div(ops));
    let transfers = one.ops * transfers_per_op.unwrap_or_default();
    let Interval { ops, ref latencies } = *one;
    let counted = counted.get(index).zip(counted.get(index + 1)).map(|(before, after)| after.since(*before));
    let Counters { syncs, log_bytes, checkpoints, rewrites, snapshots } = counted.unwrap_or_default();
    let row = row.clone();
    SeriesLine {
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
        let read = read_series(&csv).expect("ours");
        assert_eq!(read.iter().map(|line| line.start_ms).collect::<Vec<_>>(), [0, 500, 1000, 0, 500, 1000]);
        assert_eq!((read[0].log_bytes, read[1].latency_ns_p99), (Some(50), None));
    }

    #[test]
    fn a_line_knows_its_sample() {
        let row = Measurement {
            run_id: "run-1".into(),
            round: 3,
            suite: "ledger".into(),
            clients: 64,
            rtt_us: Some(1_000),
            style: "interactive".into(),
            ..row()
        };
        let kept = line(&row, 1, 0, &Interval::default(), &[]).sample();
        assert_eq!(kept, Measurement { ops: None, transfers: None, ..row });
    }

    #[test]
    fn a_broken_line_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let csv = folder.path().join("r.csv");
        assert_eq!(read_series(&csv).expect("none is none"), []);
        append_series(&csv, &row(), 1, &[Interval::default()], &[]).expect("written");
        let text = fs::read_to_string(series_path(&csv)).expect("there") + "3,run-1\n";
        fs::write(series_path(&csv), text).expect("written");
        let why = read_series(&csv).expect_err("torn").to_string();
        assert!(why.contains("r.series.csv") && why.contains("line: 3"), "{why}");
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
