//! `report` and `compare` as they are called: files, formats, exit statuses.

use std::{fs, path::Path, process::Output};

use common::{Bench, stderr};
use ledger_bench::measurement::{self, Measurement};

#[expect(dead_code, reason = "these tests measure nothing")]
mod common;

/// A verified row.
fn row(run_id: &str, system: &str, round: u32, ns_per_op: u64) -> Measurement {
    Measurement {
        schema: measurement::SCHEMA,
        run_id: run_id.into(),
        round,
        suite: "seed".into(),
        benchmark: "basic".into(),
        system: system.into(),
        durability: "shipped".into(),
        clients: 1,
        in_flight: 1,
        batch: 1,
        accounts: 2,
        ns_per_op: Some(ns_per_op),
        verified: "yes".into(),
        cpu: "AMD EPYC".into(),
        cores: Some(2),
        ..Measurement::default()
    }
}

/// A file beside the bench's own, with six rounds of two systems.
fn file(bench: &Bench, name: &str, run_id: &str, redis_ns: u64) {
    for round in 1..=6 {
        for (system, ns) in [("redis", redis_ns), ("tigerbeetle", 7_000)] {
            let path = bench.csv().with_file_name(name);
            measurement::append(&path, &row(run_id, system, round, ns + u64::from(round))).expect("appended");
        }
    }
}

fn run(bench: &Bench, line: &str) -> Output {
    let words: Vec<_> = line.split_whitespace().collect();
    bench.command(&words).env_remove("COLUMNS").output().expect("it runs")
}

fn good(bench: &Bench, line: &str) -> String {
    let output = run(bench, line);
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn refusal(bench: &Bench, line: &str) -> String {
    let output = run(bench, line);
    assert_eq!(output.status.code(), Some(2), "{line}: {}", stderr(&output));
    assert!(output.stdout.is_empty() && stderr(&output).lines().count() == 1, "{line}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn each_format_shows_the_run() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    let table = good(&bench, "report results.csv");
    assert!(
        table.contains("  tigerbeetle  7.00 us") && table.contains("6.98x slower (6.97-6.99)"),
        "{table}"
    );
    assert_eq!(good(&bench, "report --csv results.csv"), table, "as a flag");
    let markdown = good(&bench, "report results.csv --format markdown");
    assert!(markdown.contains("| basic | redis | 1.00 us |"), "{markdown}");
    let gobench = good(&bench, "report results.csv --format gobench");
    assert_eq!(
        gobench.lines().filter(|line| line.starts_with("BenchmarkLedger/suite=seed/bench=basic/")).count(),
        12
    );
    let json: serde_json::Value =
        serde_json::from_str(&good(&bench, "report results.csv --format json")).expect("JSON");
    assert_eq!(json["cases"][0]["series"][1]["system"], "redis");
    assert_eq!(json["cases"][0]["series"][1]["ns_per_op"], 1_003.5);
    assert!(json["against_seed"].is_null());
}

#[test]
fn the_table_is_as_wide_as_it_may_be() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    let width = |columns: &str| {
        let output =
            bench.command(&["report", "results.csv"]).env("COLUMNS", columns).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let grid = text.split("\n\n").nth(1).expect("a grid").to_owned();
        (grid.lines().map(str::len).max().expect("lines"), text)
    };
    let (wide, text) = width("200");
    assert!(wide > 80 && !text.contains("Left out"), "{text}");
    let (narrow, text) = width("60");
    assert!(narrow <= 60 && text.contains("Left out, as 60 columns hold no more: "), "{text}");
    for none in ["", "0", "x"] {
        assert_eq!(width(none).1, good(&bench, "report results.csv"), "{none:?} is no width");
    }
}

#[test]
fn several_files_and_pooled_runs() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    file(&bench, "results.csv", "run-2", 1_000);
    file(&bench, "other.csv", "run-3", 1_000);
    assert!(good(&bench, "report results.csv").starts_with("Run run-2, 12 samples in 6 rounds; "));
    assert!(good(&bench, "report results.csv --run run-1").starts_with("Run run-1, "));
    let apart = good(&bench, "report results.csv other.csv");
    assert!(apart.contains("redis (run-2)") && apart.contains("redis (run-3)"), "{apart}");
    let pooled = good(&bench, "report --pool results.csv other.csv");
    let redis = pooled.lines().find(|line| line.starts_with("  redis ")).expect("a line");
    assert!(redis.contains("   18  "), "rounds of three runs: {pooled}");
}

#[test]
fn a_slowdown_fails_where_it_is_asked_to() {
    let bench = Bench::new();
    file(&bench, "old.csv", "run-1", 1_000);
    file(&bench, "new.csv", "run-2", 1_500);
    let table = good(&bench, "compare old.csv new.csv");
    assert!(table.contains("1.50x slower (1.49-1.50)") && table.contains("no difference shown"), "{table}");
    assert_eq!(good(&bench, "compare old.csv new.csv --fail-above 60%"), table);
    assert_eq!(
        good(&bench, "compare new.csv new.csv --fail-above 0").matches("no difference shown").count(),
        2
    );
    good(&bench, "compare new.csv old.csv --fail-above 0%");
    let failed = run(&bench, "compare old.csv new.csv --fail-above 40%");
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(stderr(&failed), "too slow: seed basic, redis: 1.50x slower (1.49-1.50)\n");
    assert_eq!(String::from_utf8(failed.stdout).expect("text"), table);
    assert!(
        good(&bench, "compare old.csv new.csv --format markdown")
            .contains("| seed basic | redis | 1.00 us |")
    );
    let json = good(&bench, "compare old.csv new.csv --format json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["lines"][1]["ratio"]["verdict"], "difference");
    file(&bench, "old.csv", "run-9", 1_500);
    let runs = good(&bench, "compare old.csv old.csv --old-run run-1 --new-run run-9");
    assert!(runs.starts_with("Old: run-1; new: run-9\n") && runs.contains("1.50x slower"), "{runs}");
}

#[test]
fn the_predecessor_s_table_is_read() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    let table =
        "benchmark,system,mac_ns_per_op,amd_ns_per_op\nbasic,redis,100,200\nbasic,tigerbeetle,500,400\n";
    fs::write(bench.csv().with_file_name("there.csv"), table).expect("written");
    let last = good(&bench, "report there.csv");
    assert!(
        last.starts_with("Run amd, 2 samples in 1 round; amd\n") && last.contains("2.00x slower ?"),
        "{last}"
    );
    assert!(good(&bench, "report there.csv --run mac").contains("5.00x slower ?"));
    assert!(good(&bench, "report there.csv --format gobench").contains("system=redis 1 200 ns/op\n"));
    let compared = good(&bench, "compare there.csv results.csv --old-run mac");
    assert!(
        compared.contains("  redis        100 ns  1.00 us") && compared.contains("10.0x slower ?"),
        "{compared}"
    );
}

#[test]
fn our_ratios_stand_beside_the_published_ones() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    let text = good(&bench, "report results.csv --against-seed");
    assert!(text.contains("published by kizzx2/tigerbeetle-benchmarks"), "{text}");
    assert!(
        text.contains("  TigerBeetle against Redis  141x slower   7.01x slower   6.98x slower"),
        "{text}"
    );
    let json = good(&bench, "report results.csv --against-seed --format json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["against_seed"]["lines"][0]["second"], "redis");
    let ledger = Measurement { suite: "ledger".into(), ..row("run-1", "redis", 1, 1) };
    measurement::append(&bench.csv().with_file_name("ledger.csv"), &ledger).expect("appended");
    assert!(
        refusal(&bench, "report ledger.csv --against-seed").contains("no row of these is of the seed suite")
    );
}

#[test]
fn what_cannot_be_read_is_named_on_one_line() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    let write = |name: &str, text: &str| fs::write(bench.csv().with_file_name(name), text).expect("written");
    let whole = fs::read_to_string(bench.csv()).expect("readable");
    write("empty.csv", "");
    write("header.csv", &whole[..=whole.find('\n').expect("a line")]);
    write("torn.csv", &whole[..whole.len() - 40]);
    write("text.csv", &whole.replacen(",1001,", ",many,", 1));
    write("foreign.csv", "name,age\nx,1\n");
    for (name, why) in [
        ("nothing.csv", "No such file"),
        ("empty.csv", "holds no header and no rows"),
        ("header.csv", "no rows of any run"),
        ("torn.csv", "line 13 has "),
        ("text.csv", "line 2, ns_per_op: \"many\" is no whole number"),
        ("foreign.csv", "its header is not this program's"),
    ] {
        for line in [format!("report {name}"), format!("compare results.csv {name}")] {
            let told = refusal(&bench, &line);
            assert!(told.contains(name) && told.contains(why), "{line}: {told}");
        }
    }
    for (line, why) in [
        ("report results.csv --run x", "no rows of x"),
        ("report results.csv results.csv", "is given twice"),
        ("report results.csv --run run-1 --pool", "cannot be used with"),
        ("report results.csv --csv results.csv", "cannot be used with"),
        ("report results.csv --format htm", "invalid value 'htm'"),
        ("compare results.csv", "<NEW.csv>"),
        ("compare results.csv results.csv --fail-above -1", "wants a percentage"),
        ("compare results.csv results.csv --format gobench", "invalid value 'gobench'"),
    ] {
        let told = refusal(&bench, line);
        assert!(told.contains(why), "{line}: {told}");
    }
    assert!(Path::new(&bench.csv()).exists());
}

#[test]
fn a_page_is_written_over_our_own_alone() {
    let bench = Bench::new();
    file(&bench, "results.csv", "run-1", 1_000);
    let command = "report results.csv --format html --output report.html";
    let page = bench.csv().with_file_name("report.html");
    for _ in 0..2 {
        assert_eq!(good(&bench, command), "");
        assert!(fs::read_to_string(&page).expect("written").contains("7.00 us"));
    }
    fs::write(&page, "<html>somebody else's").expect("written");
    assert!(refusal(&bench, command).contains("is no report of this program"));
    assert_eq!(fs::read_to_string(&page).expect("there"), "<html>somebody else's");
}
