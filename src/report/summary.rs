//! An analysis as one line a case and system, for spreadsheets: [`csv`](super::csv) and [`xlsx`](super::xlsx) write it down. Pure.

use super::analysis::{Analysis, Case, Series};
use crate::{
    machine::Machine,
    stats::{Ratio, Verdict},
};

/// What stands in a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known.
    Blank,
    /// Words.
    Text(String),
    /// A whole number.
    Count(u64),
    /// Nanoseconds, bytes, or a rate a second.
    Figure(f64),
    /// A part of a whole: 0.51 is 51 %.
    Share(f64),
    /// How many times as much.
    Ratio(f64),
}

/// What a field is of.
pub struct Line<'a> {
    case: &'a Case,
    series: &'a Series,
    machine: &'a Machine,
}

/// A column of the summary.
pub struct Column {
    /// In the CSV, where shares and ratios are thousandths.
    pub name: &'static str,
    /// In the workbook.
    pub heading: &'static str,
    /// Its field of a line.
    pub value: fn(&Line) -> Value,
}

/// A line for each case and system, or for each of its settings, runs and machines that are kept apart.
pub fn lines(analysis: &Analysis) -> impl Iterator<Item = Line<'_>> {
    let series = analysis.all_cases().flat_map(|case| case.series.iter().map(move |series| (case, series)));
    series.map(|(case, series)| Line { case, series, machine: &analysis.machines[series.machine] })
}

/// From left to right.
#[must_use]
pub fn columns() -> Vec<Column> {
    let (case, figures, costs, ratios) = (of_the_case(), figures(), costs(), ratios());
    let (software, machine) = (software(), machine());
    case.into_iter().chain(figures).chain(costs).chain(ratios).chain(software).chain(machine).collect()
}

const fn column(name: &'static str, heading: &'static str, value: fn(&Line) -> Value) -> Column {
    Column { name, heading, value }
}

fn of_the_case() -> [Column; 16] {
    [
        column("suite", "suite", |line| text(&line.case.key.suite)),
        column("benchmark", "benchmark", |line| text(&line.case.key.benchmark)),
        column("durability", "durability", |line| text(&line.case.key.durability)),
        // 0 is not known.
        column("clients", "clients", |line| {
            count(Some(line.case.key.clients).filter(|&clients| clients > 0))
        }),
        column("in_flight", "in flight, of each client", |line| count(Some(line.case.key.in_flight))),
        column("batch", "batch, transfers", |line| count(Some(line.case.key.batch))),
        column("accounts", "accounts", |line| count(Some(line.case.key.accounts))),
        column("skew_pct", "skew, Zipf exponent in %", |line| count(Some(line.case.key.skew_pct))),
        column("rate_per_s", "arrivals, 1/s", |line| count(line.case.key.rate_per_s)),
        column("arrivals", "arrivals", |line| text(&line.case.key.arrivals)),
        column("rtt_us", "added network, us", |line| count(line.case.key.rtt_us)),
        column("preload", "stored before", |line| count(line.case.key.preload)),
        column("transport", "transport, if not TCP", |line| text(&line.case.key.transport)),
        column("system", "system", |line| text(&line.series.system)),
        column("style", "asked", |line| text(&line.series.style)),
        column("distinction", "of", |line| text(&line.series.distinction)),
    ]
}

fn figures() -> [Column; 17] {
    [
        column("rounds", "rounds", |line| count(u64::try_from(line.series.rounds.len()).ok())),
        column("rounds_planned", "rounds planned", |line| {
            count(u64::try_from(line.series.rounds_planned).ok())
        }),
        column("ns_per_op", "time/op, ns", |line| Value::Figure(line.series.ns_per_op)),
        column("ns_per_op_low", "time/op, 95 % from, ns", |line| {
            figure(line.series.ns_per_op_interval.map(|ends| ends.low))
        }),
        column("ns_per_op_high", "time/op, 95 % to, ns", |line| {
            figure(line.series.ns_per_op_interval.map(|ends| ends.high))
        }),
        column("transfers_per_s", "transfers, 1/s", |line| figure(line.series.transfers_per_s)),
        column("latency_ns_p50", "latency p50, ns", |line| figure(line.series.latency_ns.p50)),
        column("latency_ns_p90", "latency p90, ns", |line| figure(line.series.latency_ns.p90)),
        column("latency_ns_p99", "latency p99, ns", |line| figure(line.series.latency_ns.p99)),
        column("latency_ns_p999", "latency p99.9, ns", |line| figure(line.series.latency_ns.p999)),
        column("latency_ns_max", "latency max, ns", |line| figure(line.series.latency_ns.max)),
        column("saturated_rounds", "rounds saturated", |line| {
            count(line.series.open_loop.and_then(|open| u64::try_from(open.saturated_rounds).ok()))
        }),
        column("late_ops", "ops late", |line| figure(line.series.open_loop.and_then(|open| open.late_ops))),
        column("backlog_ops", "ops waiting at the end", |line| {
            figure(line.series.open_loop.and_then(|open| open.backlog_ops))
        }),
        column("spread_permille", "spread, % of the median", |line| {
            line.series.spread.map_or(Value::Blank, Value::Share)
        }),
        column("outliers", "rounds outside the fences", |line| {
            count(u64::try_from(line.series.outliers.len()).ok())
        }),
        column("drift_permille", "drift, second half/first", |line| {
            ratio(line.series.drift.map(|drift| drift.ratio))
        }),
    ]
}

/// What an op takes at least.
fn costs() -> [Column; 7] {
    [
        column("requests_per_op_permille", "requests/op", |line| ratio(line.series.requests_per_op)),
        column("commits_per_op_permille", "commits on disk/op", |line| ratio(line.series.commits_per_op)),
        column("transfers_per_message_permille", "transfers/message", |line| {
            ratio(line.series.transfers_per_message)
        }),
        column("commits_per_sync_permille", "commits/sync of the log", |line| {
            ratio(line.series.commits_per_sync)
        }),
        column("disk_bytes_per_transfer", "bytes on disk/transfer", |line| {
            figure(line.series.disk_bytes_per_transfer)
        }),
        column("floor_ns_per_op", "floor, ns", |line| figure(line.series.floor.map(|floor| floor.ns_per_op))),
        column("to_floor_permille", "time/op, times the floor", |line| {
            ratio(line.series.floor.map(|floor| floor.times))
        }),
    ]
}

fn ratios() -> [Column; 9] {
    [
        column("is_fastest", "is the fastest", is_fastest),
        column("to_fastest_permille", "time/op, times the fastest's", |line| value(to_fastest(line))),
        column("to_fastest_low_permille", "times the fastest's, 95 % from", |line| low(to_fastest(line))),
        column("to_fastest_high_permille", "times the fastest's, 95 % to", |line| high(to_fastest(line))),
        column("to_fastest_difference", "difference to the fastest", |line| difference(to_fastest(line))),
        column("tigerbeetle_to_this_permille", "TigerBeetle's time/op, times this", |line| {
            value(tigerbeetle(line))
        }),
        column("tigerbeetle_to_this_low_permille", "TigerBeetle's, times this, 95 % from", |line| {
            low(tigerbeetle(line))
        }),
        column("tigerbeetle_to_this_high_permille", "TigerBeetle's, times this, 95 % to", |line| {
            high(tigerbeetle(line))
        }),
        column("tigerbeetle_to_this_difference", "difference to TigerBeetle", |line| {
            difference(tigerbeetle(line))
        }),
    ]
}

fn software() -> [Column; 6] {
    [
        column("warnings", "warnings", warnings),
        column("server_version", "server", |line| text(&line.series.server_version)),
        column("client_version", "client", |line| text(&line.series.client_version)),
        column("generator", "generator", |line| text(&line.series.generator)),
        column("server_settings", "settings", |line| text(&line.series.server_settings)),
        column("replicas", "replicas", |line| count(line.series.replicas)),
    ]
}

fn machine() -> [Column; 12] {
    [
        column("host", "host", |line| text(&line.machine.host)),
        column("cpu", "CPU", |line| text(&line.machine.cpu)),
        column("cores", "cores", |line| count(line.machine.cores)),
        column("memory_mib", "memory, MiB", |line| count(line.machine.memory_mib)),
        column("kernel", "kernel", |line| text(&line.machine.kernel)),
        column("virtualization", "virtualization", |line| text(&line.machine.virtualization)),
        column("clock_source", "clock source", |line| text(&line.machine.clock_source)),
        column("cpu_governor", "CPU governor", |line| text(&line.machine.cpu_governor)),
        column("cpu_turbo", "CPU turbo", |line| text(&line.machine.cpu_turbo)),
        column("cpu_smt", "CPU SMT", |line| text(&line.machine.cpu_smt)),
        column("disk", "disk", |line| text(&line.machine.disk)),
        column("filesystem", "filesystem", |line| text(&line.machine.filesystem)),
    ]
}

fn text(text: &str) -> Value {
    if text.is_empty() { Value::Blank } else { Value::Text(text.to_owned()) }
}

fn count(count: Option<impl Into<u64>>) -> Value {
    count.map_or(Value::Blank, |count| Value::Count(count.into()))
}

fn figure(figure: Option<f64>) -> Value {
    figure.map_or(Value::Blank, Value::Figure)
}

fn ratio(ratio: Option<f64>) -> Value {
    ratio.map_or(Value::Blank, Value::Ratio)
}

/// Who is alone is compared with nobody.
fn is_fastest(line: &Line) -> Value {
    let is_alone = line.case.series.iter().all(|series| series.to_fastest.is_none());
    match (line.series.is_fastest, &line.series.to_fastest) {
        (true, _) if !is_alone => Value::Text("yes".into()),
        (false, Some(_)) => Value::Text("no".into()),
        _ => Value::Blank,
    }
}

fn to_fastest<'a>(line: &Line<'a>) -> Option<&'a Ratio> {
    line.series.to_fastest.as_ref()
}

fn tigerbeetle<'a>(line: &Line<'a>) -> Option<&'a Ratio> {
    line.series.tigerbeetle_to_this.as_ref()
}

fn value(of: Option<&Ratio>) -> Value {
    ratio(of.map(|ratio| ratio.value))
}

fn low(of: Option<&Ratio>) -> Value {
    ratio(of.and_then(|ratio| ratio.interval).map(|ends| ends.low))
}

fn high(of: Option<&Ratio>) -> Value {
    ratio(of.and_then(|ratio| ratio.interval).map(|ends| ends.high))
}

fn difference(ratio: Option<&Ratio>) -> Value {
    let Some(ratio) = ratio else { return Value::Blank };
    let verdict = match ratio.verdict {
        Verdict::Difference => "shown",
        Verdict::NoDifferenceShown => "not shown",
        Verdict::TooFewRounds => "too few rounds",
    };
    Value::Text(verdict.into())
}

fn warnings(line: &Line) -> Value {
    let texts: Vec<&str> = line.series.warnings.iter().map(|warning| warning.text.as_str()).collect();
    text(&texts.join(", "))
}
