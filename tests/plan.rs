//! The whole plan as processes, against the ledger in memory: flags to table, without a server.

mod common;

use std::{fs, process::Command};

use common::{Bench, stderr};
use ledger_bench::{
    measurement::{self, Measurement},
    plan::{SampleSpec, Suite},
};

const SHORT: &str = "--system memory --rounds 2 --warmup 1ms --ops 50 --clients 3";

fn measured(flags: &str) -> (Bench, Vec<Measurement>) {
    let bench = Bench::new();
    for line in bench.plan(flags) {
        let output = bench.sample(&line, &["--since", "0"]).output().expect("it runs");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "stdout has only results");
    }
    let rows = bench.rows();
    (bench, rows)
}

#[test]
fn every_case_of_every_round_becomes_a_verified_row() {
    let (_bench, rows) = measured(SHORT);
    assert_eq!(rows.len(), 16);
    assert!(rows.iter().all(|row| row.is_verified() && row.ops == Some(50) && row.errors == 0));
    for round in 1..=2 {
        let mut benchmarks: Vec<_> =
            rows.iter().filter(|row| row.round == round).map(|row| row.benchmark.as_str()).collect();
        benchmarks.sort_unstable();
        let (seed, ledger) = (Suite::Seed.benchmarks(), Suite::Ledger.benchmarks());
        let mut expected: Vec<_> = seed.iter().chain(ledger).map(|benchmark| benchmark.name()).collect();
        expected.sort_unstable();
        assert_eq!(benchmarks, expected);
    }
}

#[test]
fn a_row_s_figures_fit_together() {
    let (_bench, rows) =
        measured(&format!("{SHORT} --batch 20 --accounts 7 --skew 0.5 --host lab-7 --seed 9"));
    let ops = 50;
    for row in rows {
        assert_eq!(row.ops, Some(ops));
        let (requests, transfers) = match (row.suite.as_str(), row.benchmark.as_str()) {
            ("seed", "basic") | ("ledger", "two_phase") => (2, 1),
            ("seed", "basic_batch") => (2, 20),
            ("seed", "two_phase") => (5, 1),
            ("seed", "basic_parallel") | ("ledger", "single" | "parallel") => (1, 1),
            ("ledger", "batch") => (1, 20),
            other => panic!("{other:?}"),
        };
        let (durability, accounts, skew_pct) =
            if row.suite == "seed" { ("shipped", 2, 0) } else { ("memory", 7, 50) };
        assert_eq!((row.durability.as_str(), row.accounts, row.skew_pct), (durability, accounts, skew_pct));
        assert_eq!(row.requests, Some(requests * ops));
        assert_eq!(row.transfers, Some(transfers * ops));
        assert_eq!(row.batch, if row.benchmark.ends_with("batch") { 20 } else { 1 });
        assert_eq!(row.clients, if row.benchmark.ends_with("parallel") { 3 } else { 1 });
        assert_eq!((row.host.as_str(), row.seed), ("lab-7", 9));

        let elapsed_ns = row.elapsed_ns.expect("measured");
        let close =
            |quotient: Option<u64>, count: u64| quotient.expect("measured").abs_diff(elapsed_ns / count) <= 1;
        assert!(close(row.ns_per_op, ops) && close(row.ns_per_transfer, transfers * ops));
        let latencies = [row.latency_ns_min, row.latency_ns_p50, row.latency_ns_p90, row.latency_ns_max];
        assert!(latencies.iter().all(Option::is_some) && latencies.is_sorted());
        assert_eq!((row.latency_ns_p99, row.latency_ns_p999), (None, None), "50 ops have no 99th percentile");
        if row.clients == 1 {
            // One client's latencies follow each other without a gap.
            let total_ns = row.latency_ns_mean.expect("measured") * ops;
            assert!(total_ns.abs_diff(elapsed_ns) <= ops, "{total_ns} {elapsed_ns}");
        }
        assert!(row.warmup_ops.is_some_and(|ops| ops > 0) && row.started_unix_s > 1_700_000_000);
    }
}

#[test]
fn the_progress_line_and_the_table_show_the_run() {
    let bench = Bench::new();
    let lines = bench.plan(SHORT);
    let output = bench.sample(&lines[2], &["--since", "0"]).output().expect("it runs");
    let told = stderr(&output);
    assert!(
        told.starts_with("[ 3/16] round 1/2  ") && told.contains("/op") && told.contains(" left"),
        "{told}"
    );

    let output = bench.command(&["report", "--csv", "results.csv"]).output().expect("it runs");
    assert!(output.status.success() && output.stderr.is_empty());
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(table.contains("memory") && table.contains("time/op"), "{table}");
    let output =
        bench.command(&["report", "--csv", "results.csv", "--run", "other"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no rows of other"));
}

#[test]
fn a_disk_that_fills_up_costs_no_row_that_was_there() {
    let (bench, rows) = measured("--system memory --benchmark basic --rounds 1 --ops 1");
    // So many rows that the rest of the last KiB does not hold one more.
    let size = || fs::metadata(bench.csv()).expect("there").len();
    let first = size();
    while size() % 1024 < 600 {
        measurement::append(&bench.csv(), &rows[0]).expect("appended");
    }
    assert!(size() < first + 64 * 1024, "a row is longer than the rest of a KiB");
    let before = fs::read(bench.csv()).expect("readable");
    let line = bench.plan("--system memory --benchmark basic --rounds 1 --ops 1").remove(0);
    let limited = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\""; // in KiB, as a full disk: EFBIG for ENOSPC
    let sample = bench.sample(&line, &[]);
    let output = Command::new("bash")
        .args(["-c", limited, &size().div_ceil(1024).to_string()])
        .arg(sample.get_program())
        .args(sample.get_args())
        .current_dir(sample.get_current_dir().expect("set"))
        .output()
        .expect("bash runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("appending a row to results.csv: File too large"),
        "{}",
        stderr(&output)
    );
    assert!(fs::read(bench.csv()).expect("readable") == before, "the file is as it was");
}

#[test]
fn wrong_input_exits_2_and_leaves_nothing() {
    let bench = Bench::new();
    let line = bench.plan(SHORT).remove(0);
    let refused = [
        vec!["plan", "--csv", "results.csv", "--sead", "1"],
        vec!["plan", "--csv", "results.csv", "--rounds", "0"],
        vec!["plan", "--csv", "."],
        vec!["plan", "--csv", "no/such/folder.csv"],
        vec!["plan", "--csv", "results.csv", "--data", "/dev/shm"],
        vec!["run", "--csv", "results.csv", "system=redis"],
        vec!["report", "--csv", "nothing.csv"],
    ];
    for words in refused {
        let output = bench.command(&words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{words:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    // A server that nobody named.
    let line = line.replace("system=memory", "system=redis");
    let output = bench.sample(&line, &[]).env_remove("REDIS_URL").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("REDIS_URL is not set"));
    assert!(!bench.csv().exists());
}

#[test]
fn a_plan_s_lines_are_samples() {
    let bench = Bench::new();
    for line in bench.plan("--rounds 3 --time 2s") {
        let spec: SampleSpec = line.parse().expect("a sample");
        assert_eq!((spec.total, spec.settings.rounds), (3 * (12 + 12 + 5), 3));
    }
    assert!(!bench.csv().exists(), "planning writes nothing");
}

#[test]
fn a_row_has_all_that_is_known() {
    let (_bench, rows) = measured("--system memory --benchmark basic --rounds 1 --ops 3");
    // Whether time was stolen is the machine's to say.
    assert!(
        rows[0].connect_us.is_some() && rows[0].rejected == Some(0) && !rows[0].warnings.contains("failed")
    );
}

#[test]
fn the_last_run_is_reported_alone() {
    let bench = Bench::new();
    for benchmark in ["basic_batch", "two_phase"] {
        let flags = format!("--system memory --benchmark {benchmark} --rounds 1 --ops 3");
        let line = bench.plan(&flags).remove(0);
        assert!(bench.sample(&line, &[]).status().expect("it runs").success());
    }
    let output = bench.command(&["report", "--csv", "results.csv"]).output().expect("it runs");
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(table.contains("two_phase") && !table.contains("basic_batch"), "{table}");
}

#[test]
fn a_path_that_a_plan_cannot_hold_is_wrong_input() {
    let bench = Bench::new();
    let output = bench.command(&["plan", "--csv", "two\nlines.csv"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn an_empty_address_is_none() {
    let bench = Bench::new();
    let line = bench.plan("--system redis --benchmark basic --rounds 1 --ops 1").remove(0);
    let output = bench.sample(&line, &[]).env("REDIS_URL", "").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("REDIS_URL is not set"), "{}", stderr(&output));
}

#[test]
fn the_overhead_s_figures_fit_together() {
    let bench = Bench::new();
    let output = bench.command(&["overhead", "--time", "1ms", "--rounds", "1"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [_, one, _, two, ns_per_op, percent] = numbers[..] else { panic!("{text}") };
    assert_eq!(ns_per_op, (1_000_000_000 + one / 2) / one, "{text}");
    assert_eq!(percent, (two * 100 + one) / (one * 2), "{text}");
}

#[test]
fn a_plan_names_each_system_once() {
    let bench = Bench::new();
    let words = ["plan", "--csv", "results.csv", "--system", "redis,memory"];
    let output = bench.command(&words).output().expect("it runs");
    let plan = String::from_utf8(output.stdout).expect("text");
    assert!(plan.lines().any(|line| line == "systems=redis memory"), "{plan}");
}

#[test]
fn a_server_of_one_s_own_takes_as_many_clients_as_it_takes() {
    let bench = Bench::new();
    let plan = |system| {
        bench.command(&[
            "plan",
            "--csv",
            "results.csv",
            "--suite",
            "seed",
            "--system",
            system,
            "--clients",
            "97",
        ])
    };
    let output = plan("postgres").env("DATABASE_URL", "postgresql://db/x").output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let output = plan("redis").env_remove("DATABASE_URL").output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_ledger_is_filled_before_the_sample() {
    let (_bench, rows) = measured(
        "--suite ledger --system memory --rounds 1 --warmup 1ms --ops 50 --clients 3 --preload 10000 --accounts 7",
    );
    for row in rows {
        assert!(row.is_verified(), "{}", row.warnings);
        let per_op = if row.benchmark == "two_phase" { 2 } else { u64::from(row.batch) };
        let acknowledged = row.ops.zip(row.warmup_ops).map(|(ops, warmup_ops)| ops + warmup_ops);
        assert_eq!((row.preload, row.stored_before), (Some(10_000), Some(10_007)));
        assert_eq!(row.stored_after, acknowledged.map(|ops| 10_007 + ops * per_op));
        assert_eq!((row.messages, row.syncs, row.disk_bytes_before), (None, None, None));
    }
}
