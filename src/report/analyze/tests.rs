use super::*;
use crate::{
    report::samples::{row, rows, run},
    stats::Verdict,
};

fn series<'a>(analysis: &'a Analysis, case: &str, system: &str) -> Vec<&'a Series> {
    let cases = analysis.cases.iter().filter(|found| found.label == case);
    cases.flat_map(|case| &case.series).filter(|series| series.system == system).collect()
}

fn only<'a>(analysis: &'a Analysis, case: &str, system: &str) -> &'a Series {
    let [one] = series(analysis, case, system)[..] else {
        panic!("not one {system} at {case}: {analysis:#?}")
    };
    one
}

#[test]
fn the_systems_of_a_case_are_compared() {
    let analysis = analyze(&run(), false);
    let labels: Vec<_> = analysis.cases.iter().map(|case| case.label.as_str()).collect();
    assert_eq!(labels, ["basic", "basic_batch of 1000"]);
    let systems: Vec<_> = analysis.cases[0].series.iter().map(|series| series.system.as_str()).collect();
    assert_eq!(systems, ["tigerbeetle", "redis", "postgres"]);

    let (ours, redis) = (only(&analysis, "basic", "tigerbeetle"), only(&analysis, "basic", "redis"));
    assert!(redis.is_fastest && redis.to_fastest.is_none() && !ours.is_fastest);
    let to_fastest = ours.to_fastest.expect("slower");
    assert!((to_fastest.value - 822_500.0 / 118_500.0).abs() < 1e-12);
    assert_eq!((ours.tigerbeetle_to_this, redis.tigerbeetle_to_this), (None, Some(to_fastest)));
    let postgres = only(&analysis, "basic", "postgres");
    assert_eq!(postgres.tigerbeetle_to_this.expect("both").verdict, Verdict::NoDifferenceShown);
    assert_eq!((redis.outliers.as_slice(), redis.latency_ns.p99), (&[5][..], Some(250_000.0)));
    assert_eq!(
        redis.warnings,
        [super::super::analysis::Warning { text: "CPU stolen".into(), rounds: vec![3] }]
    );
    assert_eq!(only(&analysis, "basic_batch of 1000", "postgres").rounds_planned, 6);
}

#[test]
fn what_failed_is_listed_and_never_averaged() {
    let mut all = rows("basic", "redis", &[100, 100, 100]);
    all.push(Measurement {
        verified: "no".into(),
        warnings: "lost".into(),
        ..row("basic", "redis", 4, 9_000)
    });
    all.push(Measurement { verified: String::new(), ..row("basic", "redis", 5, 9_000) });
    all.push(Measurement { ns_per_op: None, ..row("basic", "redis", 6, 0) });
    let analysis = analyze(&all, false);
    let redis = only(&analysis, "basic", "redis");
    assert_eq!((redis.rounds.len(), redis.rounds_planned, redis.spread), (3, 6, Some(0.0)));
    let failed: Vec<_> = analysis.failed.iter().map(|row| (row.round, row.why.as_str())).collect();
    assert_eq!(failed, [(4, "lost"), (5, ""), (6, "its time is blank")]);
}

#[test]
fn a_time_is_exact_where_it_can_be() {
    let exact = Measurement { elapsed_ns: Some(1_000), ops: Some(3), ..row("basic", "redis", 1, 333) };
    assert!((only(&analyze(&[exact], false), "basic", "redis").ns_per_op - 1_000.0 / 3.0).abs() < 1e-12);
}

#[test]
fn each_setting_of_a_case_keeps_cases_apart() {
    let changes: [fn(&mut Measurement); 10] = [
        |row| row.suite = "ledger".into(),
        |row| row.benchmark = "two_phase".into(),
        |row| row.durability = "fsync".into(),
        |row| row.clients = 2,
        |row| row.in_flight = 2,
        |row| row.batch = 2,
        |row| row.accounts = 3,
        |row| row.skew_pct = 1,
        |row| row.rate_per_s = Some(1),
        |row| row.rtt_us = Some(1),
    ];
    let mut all = vec![row("basic", "redis", 1, 1)];
    all.extend(changes.map(|change| {
        let mut row = row("basic", "redis", 1, 1);
        change(&mut row);
        row
    }));
    let analysis = analyze(&all, false);
    assert_eq!(analysis.cases.len(), changes.len() + 1);
    let labels: BTreeSet<_> = analysis.cases.iter().map(|case| &case.label).collect();
    assert_eq!(labels.len(), analysis.cases.len(), "a label for each: {labels:?}");
}

#[test]
fn postgres_s_styles_are_lines_of_one_case_and_the_unusual_one_is_always_named() {
    let styled = |style: &str, ns_per_op| Measurement {
        suite: "ledger".into(),
        style: style.into(),
        ..row("single", "postgres", 1, ns_per_op)
    };
    let names = |rows: &[Measurement]| {
        let analysis = analyze(rows, false);
        assert_eq!(analysis.cases.len(), 1);
        analysis.cases[0].series.iter().map(|series| series.distinction.clone()).collect::<Vec<_>>()
    };
    let both = [styled("interactive", 5), styled("one-call", 1)];
    assert_eq!(names(&both), ["", "interactive"]);
    assert_eq!(names(&both[..1]), ["interactive"]);
    assert_eq!(names(&both[1..]), [""]);
}

/// Two runs of three rounds, the second one changed.
fn two_runs(change: fn(&mut Measurement)) -> Vec<Measurement> {
    let mut all = rows("basic", "redis", &[1, 2, 3]);
    all.extend(rows("basic", "redis", &[4, 5, 6]).into_iter().map(|row| {
        let mut row = Measurement { run_id: "run-2".into(), started_unix_s: 9, ..row };
        change(&mut row);
        row
    }));
    all
}

#[test]
fn runs_are_pooled_only_if_asked_and_alike() {
    let apart = analyze(&two_runs(|_| ()), false);
    let names: Vec<_> =
        series(&apart, "basic", "redis").iter().map(|series| series.distinction.as_str()).collect();
    assert_eq!(names, ["run-1", "run-2"]);
    let pooled = analyze(&two_runs(|_| ()), true);
    let redis = only(&pooled, "basic", "redis");
    assert_eq!((redis.rounds.len(), redis.rounds_planned, redis.distinction.as_str()), (6, 6, ""));
    assert!((redis.ns_per_op - 3.5).abs() < 1e-12 && redis.ns_per_op_interval.is_some());
    let changes: [fn(&mut Measurement); 11] = [
        |row| row.host = "b".into(),
        |row| row.cpu = "b".into(),
        |row| row.cores = Some(9),
        |row| row.memory_mib = Some(9),
        |row| row.kernel = "b".into(),
        |row| row.filesystem = "b".into(),
        |row| row.server_version = "b".into(),
        |row| row.client_version = "b".into(),
        |row| row.server_settings = "b".into(),
        |row| row.replicas = Some(3),
        |row| row.harness_version = "b".into(),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let analysis = analyze(&two_runs(change), true);
        let both = series(&analysis, "basic", "redis");
        assert_eq!(both.len(), 2, "change {index}");
        assert_ne!(both[0].distinction, both[1].distinction, "change {index}");
    }
}

#[test]
fn rounds_pair_within_a_run_alone() {
    let of = |run_id: &str, system: &str, factor: u64| {
        let times = [100, 200, 300, 400, 500, 600].map(|time| time * factor);
        rows("basic", system, &times)
            .into_iter()
            .map(|row| Measurement { run_id: run_id.into(), ..row })
            .collect::<Vec<_>>()
    };
    let sharp = |slow: Vec<Measurement>| {
        let analysis = analyze(&[slow, of("run-1", "redis", 1)].concat(), true);
        let interval =
            only(&analysis, "basic", "postgres").to_fastest.expect("slower").interval.expect("six rounds");
        interval.high - interval.low < 1e-9
    };
    assert!(sharp(of("run-1", "postgres", 2)));
    assert!(!sharp(of("run-2", "postgres", 2)));
}

#[test]
fn the_baseline_is_nobody_s_rival() {
    let mut all = rows("basic", "memory", &[1]);
    all.extend(rows("basic", "redis", &[10]));
    all.extend(rows("basic", "tigerbeetle", &[20]));
    let analysis = analyze(&all, false);
    let memory = only(&analysis, "basic", "memory");
    assert!(!memory.is_fastest && memory.to_fastest.is_none() && memory.tigerbeetle_to_this.is_none());
    assert!(only(&analysis, "basic", "redis").is_fastest);
    assert_eq!(analysis.cases[0].series[2].system, "memory", "it comes last");
}

#[test]
fn two_tigerbeetles_stand_for_none() {
    let mut all = two_runs(|_| ());
    for row in &mut all {
        row.system = "tigerbeetle".into();
    }
    all.extend(rows("basic", "redis", &[1]));
    let analysis = analyze(&all, false);
    assert_eq!(only(&analysis, "basic", "redis").tigerbeetle_to_this, None);
}

#[test]
fn runs_and_machines_are_told() {
    let analysis = analyze(&two_runs(|row| row.cpu = "Ryzen".into()), false);
    let runs: Vec<_> =
        analysis.runs.iter().map(|run| (run.run_id.as_str(), run.rounds, run.samples)).collect();
    assert_eq!(runs, [("run-1", 3, 3), ("run-2", 3, 3)]);
    let cpus: Vec<_> = analysis.machines.iter().map(|machine| machine.cpu.as_str()).collect();
    assert_eq!((cpus, analysis.alarms.len()), (vec!["AMD EPYC", "Ryzen"], 1));
    let machines: Vec<_> = series(&analysis, "basic", "redis").iter().map(|series| series.machine).collect();
    assert_eq!(machines, [0, 1]);
}

#[test]
fn the_analysis_as_json() {
    let mut small = rows("basic", "redis", &[100, 104]);
    small[0].warnings = "CPU stolen".into();
    small.extend(rows("basic", "tigerbeetle", &[300]));
    for row in &mut small {
        (row.ops, row.requests, row.commits) = (Some(1), Some(1), Some(0));
    }
    small.push(Measurement { suite: "floor".into(), ..row("loopback", "machine", 1, 40) });
    let json = serde_json::to_string_pretty(&analyze(&small, false)).expect("plain values");
    assert_eq!(json + "\n", include_str!("../../../tests/snapshots/analysis.json"));
}
