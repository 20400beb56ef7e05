//! The three real servers, named by the environment: `./run.sh test` starts them.

mod common;

use std::{env, net::TcpListener, process::Stdio, sync::Mutex};

use common::{Bench, stderr};
use ledger_bench::ledger::System;

/// Requests of one op as the predecessor sent them, in the order of [`BENCHMARKS`]; a batch is of 5.
const REQUESTS: [(System, [u64; 4]); 3] = [
    (System::Tigerbeetle, [2, 5, 2, 1]),
    (System::Redis, [3, 3, 3, 1]),
    (System::Postgres, [6, 10, 5 + 3, 4]),
];
const BENCHMARKS: [&str; 4] = ["basic", "two_phase", "basic_batch", "basic_parallel"];

/// The schema and the keys of the shared databases are one test's at a time.
static OUR_DATA: Mutex<()> = Mutex::new(());

#[test]
fn every_system_passes_its_checks_with_the_predecessor_s_requests() {
    let _turn = OUR_DATA.lock();
    let bench = Bench::new();
    for line in bench.plan("--suite seed --rounds 1 --warmup 10ms --ops 40 --batch 5 --clients 4") {
        let output = bench.sample(&line, &[]).output().expect("it runs");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    let rows = bench.rows();
    assert_eq!(rows.len(), 12);
    for (system, requests) in REQUESTS {
        for (benchmark, requests) in BENCHMARKS.into_iter().zip(requests) {
            let row = rows
                .iter()
                .find(|row| row.system == system.name() && row.benchmark == benchmark)
                .expect("one row a case");
            assert!(row.is_verified(), "{system} {benchmark}: {}", row.warnings);
            assert_eq!((row.ops, row.requests), (Some(40), Some(40 * requests)), "{system} {benchmark}");
            assert!(!row.server_version.is_empty() && !row.client_version.is_empty(), "{row:?}");
            assert!(!row.server_settings.is_empty() && row.replicas == Some(1), "{row:?}");
            assert_eq!((row.transport.as_str(), row.generator.as_str()), ("tcp", "own"));
            // Of the servers as shipped Redis alone replies before a commit is on disk.
            let of_an_op = if benchmark == "two_phase" { 2 } else { 1 };
            let commits = if system == System::Redis { 0 } else { 40 * of_an_op };
            assert_eq!(row.commits, Some(commits), "{system} {benchmark}");
        }
    }
}

#[test]
fn the_ledger_suite_has_one_request_an_op_and_each_row_its_tier() {
    let _turn = OUR_DATA.lock();
    let bench = Bench::new();
    let flags =
        "--suite ledger --rounds 1 --warmup 10ms --ops 40 --batch 5 --clients 4 --accounts 50 --skew 0.99";
    // `run.sh test` starts servers as shipped.
    let [as_shipped, fsync] = [("redis,postgres", "shipped"), ("tigerbeetle", "fsync")]
        .map(|(system, tier)| bench.plan(&format!("{flags} --system {system} --durability {tier}")));
    for line in as_shipped.iter().chain(&fsync) {
        let output = bench.sample(line, &[]).output().expect("it runs");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    let rows = bench.rows();
    assert_eq!(rows.len(), 12);
    for row in rows {
        assert!(row.is_verified() && row.rejected == Some(0), "{row:?}");
        let requests = if row.benchmark == "two_phase" { 2 } else { 1 };
        assert_eq!((row.ops, row.requests), (Some(40), Some(40 * requests)), "{row:?}");
        let tier = if row.system == "tigerbeetle" { "fsync" } else { "shipped" };
        assert_eq!((row.durability.as_str(), row.accounts, row.skew_pct), (tier, 50, 99), "{row:?}");
    }
}

#[test]
fn a_filled_ledger_s_rows_tell_what_the_servers_counted() {
    let _turn = OUR_DATA.lock();
    let bench = Bench::new();
    let flags = "--suite ledger --benchmark parallel --rounds 1 --warmup 10ms --ops 400 --clients 5 --accounts 50 --preload 20000";
    for (system, tier) in [("redis,postgres", "shipped"), ("tigerbeetle", "fsync")] {
        for line in bench.plan(&format!("{flags} --system {system} --durability {tier}")) {
            let output = bench.sample(&line, &[]).output().expect("it runs");
            assert!(output.status.success(), "{line}: {}", stderr(&output));
        }
    }
    for row in bench.rows() {
        assert!(row.is_verified(), "{}: {}", row.system, row.warnings);
        let measured_and_warm_up = row.warmup_ops.map(|warmup_ops| 400 + warmup_ops);
        assert_eq!((row.preload, row.stored_before), (Some(20_000), Some(20_050)), "{}", row.system);
        assert_eq!(row.stored_after, measured_and_warm_up.map(|ops| 20_050 + ops), "{}", row.system);
        // Only of a server of run.sh's own the folder is known.
        assert_eq!((row.disk_bytes_before, row.disk_bytes_after), (None, None), "{}", row.system);
        let is_told =
            [row.messages, row.syncs, row.log_bytes].map(|count| count.is_some_and(|count| count > 0));
        match row.system.as_str() {
            "tigerbeetle" => assert_eq!(is_told, [true, false, false]),
            "postgres" => assert_eq!(is_told, [false, true, true]),
            // As shipped it has no log.
            _ => assert_eq!(is_told, [false; 3]),
        }
        let largest = row.message_transfers_max;
        assert!(largest.is_none_or(|largest| (1..=5).contains(&largest)), "{largest:?} of 5 in flight");
    }
}

#[test]
fn commits_of_one_client_are_synced_one_by_one() {
    let _turn = OUR_DATA.lock();
    let bench = Bench::new();
    let flags = "--suite ledger --benchmark single --system postgres --durability shipped --rounds 1 --warmup 10ms --ops 300";
    let line = bench.plan(flags).remove(0);
    let output = bench.sample(&line, &[]).output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let row = bench.rows().remove(0);
    let commits = row.commits.zip(row.warmup_ops).map(|(commits, warmup_ops)| commits + warmup_ops);
    let (commits, syncs) = (commits.expect("known"), row.syncs.expect("counted"));
    // The log's writer and autovacuum may add a few.
    assert!(syncs >= commits && syncs < commits + commits / 4, "{commits} commits, {syncs} syncs");
}

/// A program in place of pgbench.
fn tool(bench: &Bench, text: &str) -> std::path::PathBuf {
    let path = bench.csv().with_file_name("pgbench");
    let version = "case \"$*\" in *--version*) echo 'pgbench (PostgreSQL) 15.1'; exit;; esac";
    std::fs::write(&path, format!("#!/bin/sh\n{version}\n{text}\n")).expect("written");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    path
}

#[test]
fn what_another_load_generator_says_is_held_against_the_accounts() {
    let _turn = OUR_DATA.lock();
    let flags = "--suite calibration --benchmark transfer --rounds 1 --ops 30";
    let found = |text: &str| {
        let bench = Bench::new();
        let line =
            bench.plan(flags).into_iter().find(|line| line.contains("generator=peer")).expect("planned");
        let tool = tool(&bench, text);
        let output = bench.sample(&line, &[]).env("PGBENCH", tool).output().expect("it runs");
        let row = bench.rows().remove(0);
        assert_eq!(
            (output.status.success(), row.client_version.as_str()),
            (row.is_verified(), "pgbench 15.1")
        );
        row
    };
    let told = "echo 'number of transactions actually processed: 30/30'
        echo 'tps = 10.000000 (without initial connection time)'";
    let lie = found(told);
    assert!(
        !lie.is_verified() && lie.warnings.contains("600 were moved, the accounts have [0, 0]"),
        "{lie:?}"
    );
    assert_eq!((lie.ops, lie.elapsed_ns), (Some(30), Some(3_000_000_000)), "what it claims is kept");
    let failed = found("echo why >&2; exit 3");
    assert!(
        !failed.is_verified() && failed.warnings.contains("it failed (exit status: 3): why"),
        "{failed:?}"
    );
    let mute = found("exit 0");
    assert!(mute.warnings.contains("what it told is not understood"), "{mute:?}");
    let path = std::env::var("PGBENCH").unwrap_or_else(|_| "pgbench".into());
    let honest = found(&format!("exec {path} \"$@\""));
    assert!(honest.is_verified() && honest.requests == Some(4 * 30), "{honest:?}");
}

#[test]
fn a_server_of_another_tier_is_not_measured() {
    let bench = Bench::new();
    let line =
        bench.plan("--benchmark single --system redis --durability fsync --ops 1 --rounds 1").remove(0);
    let output = bench.sample(&line, &[]).output().expect("it runs");
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("appendonly=no") && told.contains("ledger single fsync: redis at "), "{told}");
    assert_eq!(told.lines().count(), 1);
    assert!(!bench.csv().exists());
}

#[test]
fn only_our_own_keys_and_schema_are_touched() {
    // A database of its own, as the other tests use our keys in the shared one.
    let url = env::var("REDIS_URL").expect("REDIS_URL") + "1";
    let mut redis = redis::Client::open(url.as_str()).expect("a url").get_connection().expect("redis");
    redis::cmd("SET").arg("somebody:else").arg("kept").exec(&mut redis).expect("set");
    let bench = Bench::new();
    let line = bench.plan("--system redis --benchmark basic --ops 1 --rounds 1").remove(0);
    let sample = |more: &[&str]| bench.sample(&line, more).env("REDIS_URL", &url).output().expect("it runs");
    let output = sample(&["--fresh"]);
    assert_eq!(output.status.code(), Some(1), "a server that must be empty is not");
    assert!(stderr(&output).contains("the server is not empty"), "{}", stderr(&output));
    let output = sample(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(bench.rows()[0].warnings.starts_with("the server held other data"));
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut redis).expect("keys");
    redis::cmd("DEL").arg("somebody:else").exec(&mut redis).expect("del");
    assert_eq!(keys, ["somebody:else"]);
}

#[test]
fn a_schema_of_somebody_else_s_is_not_dropped() {
    let url = env::var("DATABASE_URL").expect("DATABASE_URL");
    // A database of its own, as the other tests use the schema of this name in the shared one.
    let mut admin = postgres::Client::connect(&url, postgres::NoTls).expect("postgres");
    admin.batch_execute("DROP DATABASE IF EXISTS somebody_s").expect("dropped");
    admin.batch_execute("CREATE DATABASE somebody_s").expect("created");
    let (server, _) = url.rsplit_once('/').expect("a database in the address");
    let url = format!("{server}/somebody_s");
    let mut theirs = postgres::Client::connect(&url, postgres::NoTls).expect("postgres");
    theirs.batch_execute("CREATE SCHEMA ledger_bench; CREATE TABLE ledger_bench.gold (x INT)").expect("made");

    let bench = Bench::new();
    let line = bench.plan("--system postgres --benchmark basic --ops 1 --rounds 1").remove(0);
    let output = bench.sample(&line, &[]).env("DATABASE_URL", &url).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("was not made by this program"), "{}", stderr(&output));
    let kept = theirs.query_one("SELECT count(*) FROM ledger_bench.gold", &[]).expect("still there");
    assert_eq!(kept.get::<_, i64>(0), 0);
    drop(theirs);
    admin.batch_execute("DROP DATABASE somebody_s").expect("dropped");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    // A port that was free a moment ago, and one that accepts and never answers.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_address = silent.local_addr().expect("bound");
    let bench = Bench::new();
    for address in [free, silent_address] {
        let servers = [
            ("tigerbeetle", "TIGERBEETLE_ADDRESS", address.to_string()),
            ("redis", "REDIS_URL", format!("redis://:secret@{address}/")),
            ("postgres", "DATABASE_URL", format!("postgresql://me:secret@{address}/x")),
        ];
        for (system, variable, url) in servers {
            let flags = format!("--system {system} --benchmark basic --ops 1 --rounds 1 --timeout 300ms");
            let line = bench.plan(&flags).remove(0);
            let mut sample = bench.sample(&line, &[]);
            let mut ping = bench.command(&["ping", system, "--timeout", "300ms"]);
            for command in [&mut sample, &mut ping] {
                let output = command.env(variable, &url).output().expect("it runs");
                let told = stderr(&output);
                assert_eq!(output.status.code(), Some(1), "{system}: {told}");
                assert!(told.contains(system) && told.contains(&address.to_string()), "{told}");
                assert!(!told.contains("secret") && told.lines().count() == 1, "{told}");
            }
        }
    }
    assert!(!bench.csv().exists(), "what was not measured has no row");
}

#[test]
fn an_address_that_is_none_is_wrong_input() {
    let bench = Bench::new();
    let addresses = [
        ("tigerbeetle", "TIGERBEETLE_ADDRESS", "not an address"),
        ("redis", "REDIS_URL", "http://x"),
        ("postgres", "DATABASE_URL", "not an address"),
    ];
    for (system, variable, url) in addresses {
        let output = bench.command(&["ping", system]).env(variable, url).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(variable), "{}", stderr(&output));
    }
}

#[test]
fn a_balance_that_somebody_changed_meanwhile_fails_the_sample() {
    // A database of its own, as the other tests use our keys in the shared one.
    let url = env::var("REDIS_URL").expect("REDIS_URL") + "2";
    let mut redis = redis::Client::open(url.as_str()).expect("a url").get_connection().expect("redis");
    let bench = Bench::new();
    let line = bench.plan("--system redis --benchmark basic_parallel --time 500ms --rounds 1").remove(0);
    let mut sample = bench.sample(&line, &[]);
    let mut running = sample.env("REDIS_URL", &url).stderr(Stdio::piped()).spawn().expect("it runs");
    while running.try_wait().expect("ours").is_none() {
        // Only where the account is there already: a key of ours that is left over would be odd.
        let theft = "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECRBY', KEYS[1], 1) end";
        redis::cmd("EVAL").arg(theft).arg(1).arg("ledger_bench:b:balance").exec(&mut redis).expect("stolen");
    }
    let output = running.wait_with_output().expect("ours");
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("after the sample: the credited account's balance is"), "{told}");
    let row = bench.rows().remove(0);
    assert!(!row.is_verified() && row.warnings.contains("too low"), "{}", row.warnings);
}
