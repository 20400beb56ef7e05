//! What a set of rows says: the one value that every format of the report is made from.
//!
//! Times are nanoseconds, ratios plain numbers; `None` is "not known", never 0.

use serde::Serialize;

use super::{calibration::Calibration, case::CaseKey, floor::Floor, map::Map, seed::AgainstSeed};
use crate::{
    machine::Machine,
    stats::{Interval, Ratio, rounds::Drift},
};

/// Counts up with any change of the JSON's fields.
pub const ANALYSIS_SCHEMA: u32 = 4;

/// Everything that a report shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// [`ANALYSIS_SCHEMA`].
    pub schema: u32,
    /// What differs between things that are compared and ought to be alike; a sentence each.
    pub alarms: Vec<String>,
    /// The runs that the rows are of, in the order of the rows.
    pub runs: Vec<Run>,
    /// Each machine once, in the order of the rows.
    pub machines: Vec<Machine>,
    /// Verified samples by case, in the order of the plan.
    pub cases: Vec<Case>,
    /// Samples that failed their checks; in no figure.
    pub failed: Vec<Failed>,
    /// Who is the fastest where, if the rows hold a sweep.
    pub map: Option<Map>,
    /// Our client beside the systems' own load generators, where that was measured.
    pub calibration: Option<Calibration>,
    /// The predecessor's published ratios beside ours, where asked for.
    pub against_seed: Option<AgainstSeed>,
}

impl Analysis {
    /// The cases, and those of a calibration.
    pub fn all_cases(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().chain(self.calibration.iter().flat_map(|calibration| &calibration.cases))
    }
}

/// One call of `run.sh`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// As in the rows.
    pub run_id: String,
    /// When its first row's sample began: `2026-11-30 20:15:30`.
    pub started_utc: String,
    /// The highest round of any of its rows.
    pub rounds: usize,
    /// Its rows, failed ones included.
    pub samples: usize,
    /// What the machine had to do before it, in hundredths of a runnable process.
    pub load_before_pct: Option<u64>,
}

/// One thing that systems are compared at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// What tells it from other cases, as data.
    #[serde(flatten)]
    pub key: CaseKey,
    /// And in words, such as `basic_batch of 1000`; no two cases of an analysis have the same.
    pub label: String,
    /// A line for each system, or for each of its settings, runs and machines that are kept apart.
    pub series: Vec<Series>,
}

/// One system's samples of a case, comparable with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// As in the rows: `tigerbeetle`.
    pub system: String,
    /// What tells it from other series of the same system in this case, in words; else blank.
    pub distinction: String,
    /// `interactive`: PostgreSQL in transactions of several statements; else blank.
    pub style: String,
    /// Position in [`Analysis::machines`].
    pub machine: usize,
    /// As the server says: `Redis 7.0.15`.
    pub server_version: String,
    /// `redis 1.8.1`.
    pub client_version: String,
    /// Who sent the requests: `own` is this program; blank in the predecessor's rows.
    pub generator: String,
    /// `appendonly=no, ...`.
    pub server_settings: String,
    /// How many cores the server was kept on; `None` where it shared all with the client.
    pub server_cores: Option<u64>,
    /// And the client on the others.
    pub client_cores: Option<u64>,
    /// Copies of the data.
    pub replicas: Option<u64>,
    /// Verified samples, by run and round; at least one.
    pub rounds: Vec<Round>,
    /// How many there would be, had none failed or been cut off.
    pub rounds_planned: usize,
    /// Median over the rounds of wall time / ops.
    pub ns_per_op: f64,
    /// Its 95 % interval by order statistics; `None` below six rounds.
    pub ns_per_op_interval: Option<Interval>,
    /// Median over the rounds.
    pub transfers_per_s: Option<f64>,
    /// Medians over the rounds, of those that have the figure.
    pub latency_ns: Latencies<f64>,
    /// Whether it kept up, of ops that were due at a rate.
    pub open_loop: Option<OpenLoop>,
    /// (Slowest - fastest) / median of the rounds' time per op; 0.51 is 51 %.
    pub spread: Option<f64>,
    /// Positions in [`Series::rounds`] outside Tukey's fences.
    pub outliers: Vec<usize>,
    /// Where the second half of the rounds differs from the first.
    pub drift: Option<Drift>,
    /// The lowest median of the case, the harness's own baseline aside.
    pub is_fastest: bool,
    /// This series' time per op over the fastest's; `None` for the fastest itself.
    pub to_fastest: Option<Ratio>,
    /// TigerBeetle's time per op over this series'; `None` for TigerBeetle itself.
    pub tigerbeetle_to_this: Option<Ratio>,
    /// Round trips of an op, where all rows tell.
    pub requests_per_op: Option<f64>,
    /// Commits of an op that had to be on disk before their replies, where all rows tell.
    pub commits_per_op: Option<f64>,
    /// Transfers in a message of TigerBeetle's client, a hold and its posting being two, where all rows tell.
    pub transfers_per_message: Option<f64>,
    /// Such commits for each sync of the log, where all rows tell.
    pub commits_per_sync: Option<f64>,
    /// Bytes on the disk that the server's data grew by for each transfer, where all rows tell.
    pub disk_bytes_per_transfer: Option<f64>,
    /// The least that an op can take on this machine, where that was measured.
    pub floor: Option<Floor>,
    /// What happened inside the last of its samples that kept intervals.
    pub timeline: Option<Timeline>,
    /// What its rows warn of.
    pub warnings: Vec<Warning>,
}

/// A sample by intervals of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Of its run.
    pub run_id: String,
    /// From 1.
    pub round: u32,
    /// In the order of time. The last one was cut short by the end of the sample, where there are several.
    pub moments: Vec<Moment>,
}

/// One interval of a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the columns of the intervals' file")]
pub struct Moment {
    pub start_ms: u64,
    pub transfers_per_s: Option<u64>,
    pub latency_ns_p99: Option<u64>,
    pub checkpoints: Option<u64>,
    pub rewrites: Option<u64>,
    pub snapshots: Option<u64>,
}

/// One verified sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the columns of the rows")]
pub struct Round {
    pub run_id: String,
    pub round: u32,
    pub started_unix_s: u64,
    pub ops: Option<u64>,
    /// Exact: `elapsed_ns / ops`, or the row's rounded figure where those are blank.
    pub ns_per_op: f64,
    pub transfers_per_s: Option<u64>,
    pub latency_ns: Latencies<u64>,
}

/// How a system kept up with ops that were due at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OpenLoop {
    /// In so many rounds it fell behind.
    pub saturated_rounds: usize,
    /// Ops that began late as their client was still busy; median over the rounds.
    pub late_ops: Option<f64>,
    /// Ops that had not begun at the end; median over the rounds.
    pub backlog_ops: Option<f64>,
}

/// Latencies of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the columns of the rows")]
pub struct Latencies<T> {
    pub min: Option<T>,
    pub mean: Option<T>,
    pub p50: Option<T>,
    pub p90: Option<T>,
    pub p99: Option<T>,
    pub p999: Option<T>,
    pub max: Option<T>,
}

/// What rows warn of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// The row's words.
    pub text: String,
    /// Positions in [`Series::rounds`].
    pub rounds: Vec<usize>,
}

/// A sample that counts in no figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// Of its run.
    pub run_id: String,
    /// From 1.
    pub round: u32,
    /// The case's label.
    pub case: String,
    /// And as data.
    #[serde(flatten)]
    pub key: CaseKey,
    /// Whose server.
    pub system: String,
    /// As a series'.
    pub style: String,
    /// The row's words.
    pub why: String,
}
