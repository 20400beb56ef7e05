//! How close a figure is to what the machine itself takes: the round trips and the writes that its ops cannot do
//! without. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    analysis::{Case, Series},
    case::is_baseline,
    words,
};
use crate::{plan::Benchmark, stats::rounds::median};

/// The least that an op of a series can take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Floor {
    /// Requests x loopback + commits that must be on disk x disk, one after the other.
    pub ns_per_op: f64,
    /// The series' time per op over it. Below 1 where ops in flight share a round trip or a write.
    pub times: f64,
}

/// Puts into every series of `cases` its floor, where that was measured in the same run on the same machine.
pub(super) fn set(cases: &mut [Case], pool: bool) {
    let floors = floors(cases, pool);
    // The loopback is TCP's: of a socket it would be no floor.
    let has_floor = |case: &&mut Case| !case.key.is_floor() && case.key.transport.is_empty();
    for case in cases.iter_mut().filter(has_floor) {
        for series in &mut case.series {
            series.floor = floors.of(series, case.key.rtt_us, pool);
        }
    }
}

/// What each relay made of the loopback, beside what it was asked for: a sentence each, where the bare loopback was measured
/// in the same run on the same machine.
pub(super) fn relays(cases: &[Case]) -> Vec<String> {
    let loopbacks = || {
        cases.iter().filter(|case| case.key.is_floor() && case.key.benchmark == Benchmark::Loopback.name())
    };
    let of_run = |series: &Series| (series.machine, run_id(series, false).map(str::to_owned));
    let p50s = |rtt_us: Option<u64>| {
        let series = loopbacks().filter(move |case| case.key.rtt_us == rtt_us).flat_map(|case| &case.series);
        series.filter_map(move |series| Some((of_run(series), series.latency_ns.p50?)))
    };
    let bare: BTreeMap<_, f64> = p50s(None).collect();
    let asked = loopbacks().filter_map(|case| case.key.rtt_us);
    let measured = asked.flat_map(|rtt_us| p50s(Some(rtt_us)).map(move |(run, p50)| (rtt_us, run, p50)));
    let told = measured.filter_map(|(rtt_us, run, p50)| Some(words::relay(rtt_us, p50 - bare.get(&run)?)));
    told.collect()
}

fn run_id(series: &Series, pool: bool) -> Option<&str> {
    let first = series.rounds.first().map(|round| round.run_id.as_str());
    first.filter(|_| !pool)
}

fn floors(cases: &[Case], pool: bool) -> Floors {
    let mut parts: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.key.is_floor()) {
        for series in &case.series {
            let key = (series.machine, run_id(series, pool), case.key.benchmark.as_str(), case.key.rtt_us);
            parts.entry(key).or_default().extend(series.rounds.iter().map(|round| round.ns_per_op));
        }
    }
    let medians = parts.into_iter().filter_map(|((machine, run_id, benchmark, rtt_us), times)| {
        Some(((machine, run_id.map(str::to_owned), benchmark.to_owned(), rtt_us), median(&times)?))
    });
    Floors(medians.collect())
}

/// What the floor suite measured, by machine, unless runs are pooled by run, by benchmark and by what a relay added: medians
/// over the rounds, in ns.
struct Floors(BTreeMap<(usize, Option<String>, String, Option<u64>), f64>);

impl Floors {
    /// `rtt_us`: what a relay added to each of its round trips. That of the loopback must have been as much; no write goes
    /// through it.
    fn of(&self, series: &Series, rtt_us: Option<u64>, pool: bool) -> Option<Floor> {
        if is_baseline(&series.system) {
            return None;
        }
        let part = |benchmark: Benchmark| {
            let run_id = run_id(series, pool).map(str::to_owned);
            let rtt_us = rtt_us.filter(|_| benchmark == Benchmark::Loopback);
            self.0.get(&(series.machine, run_id, benchmark.name().to_owned(), rtt_us)).copied()
        };
        // TigerBeetle opens its file by O_DIRECT and O_DSYNC, the others call fdatasync.
        let disk =
            if series.system == "tigerbeetle" { Benchmark::DiskDsync } else { Benchmark::DiskFdatasync };
        let needed = |count: f64, benchmark: Benchmark| {
            if count > 0.0 { part(benchmark).map(|ns| count * ns) } else { Some(0.0) }
        };
        let network_ns = needed(series.requests_per_op?, Benchmark::Loopback)?;
        let ns_per_op = network_ns + needed(series.commits_per_op?, disk)?;
        (ns_per_op > 0.0).then(|| Floor { ns_per_op, times: series.ns_per_op / ns_per_op })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        measurement::Measurement,
        report::{Analysis, analyze, samples, table, text},
    };

    fn floor(benchmark: &str, ns_per_op: &[u64]) -> Vec<Measurement> {
        let of = |row| Measurement { suite: "floor".into(), durability: "shipped".into(), ..row };
        samples::rows(benchmark, "machine", ns_per_op).into_iter().map(of).collect()
    }

    fn row(system: &str, ns_per_op: u64, [ops, requests, commits]: [u64; 3]) -> Measurement {
        let row = samples::row("basic", system, 1, ns_per_op);
        Measurement { ops: Some(ops), requests: Some(requests), commits: Some(commits), ..row }
    }

    /// Loopback 10 ns, writes of 100 and of 200.
    fn run() -> Vec<Measurement> {
        let mut rows = floor("loopback", &[10, 9, 11]);
        rows.extend(floor("disk_dsync", &[100]));
        rows.extend(floor("disk_fdatasync", &[200]));
        rows.push(row("tigerbeetle", 360, [5, 10, 5]));
        rows.push(row("redis", 90, [5, 15, 0]));
        rows.push(row("postgres", 130, [5, 30, 5]));
        rows.push(row("memory", 1, [5, 5, 0]));
        rows
    }

    fn found(analysis: &Analysis, system: &str) -> Option<(f64, f64)> {
        let case = analysis.cases.iter().find(|case| case.key.suite == "seed").expect("it was measured");
        let series = case.series.iter().find(|series| series.system == system).expect("it was measured");
        series.floor.map(|floor| (floor.ns_per_op, floor.times))
    }

    #[test]
    fn a_floor_is_the_round_trips_and_the_writes() {
        let analysis = analyze(&run(), false);
        assert_eq!(found(&analysis, "tigerbeetle"), Some((2.0 * 10.0 + 100.0, 3.0)), "by O_DSYNC");
        assert_eq!(found(&analysis, "redis"), Some((30.0, 3.0)), "nothing goes to the disk");
        assert_eq!(found(&analysis, "postgres"), Some((6.0 * 10.0 + 200.0, 0.5)), "by fdatasync");
        assert_eq!(found(&analysis, "memory"), None);
        let text = text::render(&table::page(&analysis), 150);
        assert!(text.contains("x floor") && text.contains(" 3.0 ") && text.contains(" 0.50 "), "{text}");
    }

    #[test]
    fn only_what_is_needed_must_be_known() {
        let without = |benchmark: &str| {
            let rows: Vec<_> = run().into_iter().filter(|row| row.benchmark != benchmark).collect();
            let analysis = analyze(&rows, false);
            ["tigerbeetle", "redis", "postgres"].map(|system| found(&analysis, system).is_some())
        };
        assert_eq!(without("loopback"), [false; 3]);
        assert_eq!(without("disk_dsync"), [false, true, true]);
        assert_eq!(without("disk_fdatasync"), [true, true, false]);
        let mut rows = run();
        rows.iter_mut().filter(|row| row.suite == "seed").for_each(|row| row.transport = "unix".into());
        assert_eq!(found(&analyze(&rows, false), "redis"), None, "the loopback is of TCP");
        let mut rows = run();
        for row in &mut rows {
            row.commits = None;
        }
        assert_eq!(found(&analyze(&rows, false), "redis"), None, "an older row does not tell");
    }

    fn through_a_relay(row: Measurement) -> Measurement {
        Measurement { rtt_us: Some(1_000), ..row }
    }

    #[test]
    fn behind_a_relay_the_floor_is_the_loopback_s_behind_as_slow_a_relay() {
        let mut rows: Vec<_> = run();
        rows.iter_mut().filter(|row| row.suite == "seed").for_each(|row| row.rtt_us = Some(1_000));
        assert_eq!(found(&analyze(&rows, false), "redis"), None, "the bare loopback is none");
        let slower = floor("loopback", &[700]).into_iter();
        rows.extend(slower.map(|row| Measurement { rtt_us: Some(5_000), ..row }));
        assert_eq!(found(&analyze(&rows, false), "redis"), None, "nor is another delay's");
        rows.extend(floor("loopback", &[90]).into_iter().map(through_a_relay));
        let analysis = analyze(&rows, false);
        assert_eq!(found(&analysis, "redis"), Some((3.0 * 90.0, 90.0 / 270.0)));
        assert_eq!(found(&analysis, "postgres").map(|floor| floor.0), Some(6.0 * 90.0 + 200.0), "the disk's");
        let lines: Vec<_> =
            table::page(&analysis).grids[0].groups[1].lines.iter().map(|line| line[0].clone()).collect();
        assert_eq!(
            lines,
            ["loopback", "loopback, rtt 1ms", "loopback, rtt 5ms", "disk_dsync", "disk_fdatasync"]
        );
    }

    #[test]
    fn a_relay_s_accuracy_is_told_where_the_bare_loopback_was_measured_too() {
        let loopback = |p50| Measurement { latency_ns_p50: Some(p50), ..floor("loopback", &[1]).remove(0) };
        let told = |rows: &[Measurement]| {
            let page = table::page(&analyze(rows, false));
            let notes =
                page.notes.iter().flat_map(|notes| &notes.lines).filter(|line| line.contains("relay"));
            notes.cloned().collect::<Vec<_>>()
        };
        let slow = through_a_relay(loopback(1_042_000));
        assert_eq!(told(&[loopback(22_000)]), [""; 0]);
        assert_eq!(told(std::slice::from_ref(&slow)), [""; 0]);
        assert_eq!(
            told(&[loopback(22_000), slow.clone()]),
            [
                "relay of 1ms: 1.02 ms measured, 20.0 us too much (the loopback's p50 with it less that without)."
            ]
        );
        assert!(told(&[loopback(43_000), slow.clone()])[0].contains("999 us measured, 1.00 us too little"));
        let other_run = Measurement { run_id: "run-0".into(), ..loopback(22_000) };
        assert_eq!(told(&[other_run, slow]), [""; 0]);
    }

    #[test]
    fn a_floor_is_of_its_own_run_and_machine() {
        let mut rows = run();
        let other = |row: &Measurement| row.suite == "floor";
        rows.iter_mut().filter(|row| other(row)).for_each(|row| row.run_id = "run-0".into());
        assert_eq!(found(&analyze(&rows, false), "redis"), None);
        assert_eq!(found(&analyze(&rows, true), "redis"), Some((30.0, 3.0)), "pooled");
        rows.iter_mut().filter(|row| other(row)).for_each(|row| row.cpu = "another".into());
        assert_eq!(found(&analyze(&rows, true), "redis"), None);
    }

    #[test]
    fn the_floor_itself_is_shown_and_is_nobody_s_rival() {
        let analysis = analyze(&run(), false);
        let floors: Vec<_> = analysis.cases.iter().filter(|case| case.key.suite == "floor").collect();
        assert_eq!(floors.len(), 3);
        for series in floors.iter().flat_map(|case| &case.series) {
            assert!(!series.is_fastest && series.to_fastest.is_none() && series.floor.is_none());
        }
        let page = table::page(&analysis);
        let groups: Vec<_> = page.grids[0].groups.iter().map(|group| group.title.as_str()).collect();
        assert_eq!(groups, ["seed basic", "floor"], "its lines stand together");
        let lines: Vec<_> = page.grids[0].groups[1].lines.iter().map(|line| line[0].as_str()).collect();
        assert_eq!(lines, ["loopback", "disk_dsync", "disk_fdatasync"]);
    }
}
