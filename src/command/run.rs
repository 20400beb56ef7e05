//! `run`: one process measures one sample and appends one row, whatever becomes of the sample.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};

use super::Outcome;
use crate::{
    cli::RunArgs,
    error::{bad_input, one_line, say},
    ledger::{self, Description},
    machine,
    measurement::{self, Measurement, SCHEMA, plain_text},
    plan::{Case, SampleSpec},
    report::units,
    runner::{self, Sample},
    stats,
    suite::seed,
    timer::time_us,
    watchdog::{self, Board},
};

pub fn run(args: &RunArgs) -> Result<Outcome> {
    let spec: SampleSpec =
        args.sample.parse().map_err(|error| bad_input(format!("the sample's line: {error:#}")))?;
    measurement::check_appendable(&args.csv)?;
    let mut row = identity(&spec, args.data.as_ref());
    let outcome = watched(&spec, args.fresh)?;
    fill(&mut row, &spec.case, &outcome);
    // The row first: what was measured is kept whatever follows.
    measurement::append(&args.csv, &row)?;
    say(&progress_line(&spec, &row, args.since));
    match outcome.failure {
        None => Ok(Outcome::Good),
        Some(failure) => Err(failure),
    }
}

/// What a sample came to.
#[derive(Default)]
struct Measured {
    sample: Option<Sample>,
    connect_us: Option<u64>,
    description: Description,
    was_empty: bool,
    failure: Option<anyhow::Error>,
}

/// Measures on a thread that is given up when for long nothing moves: no wait is for ever. A
/// stall before the clock has started is an error; after it, a sample that failed.
fn watched(spec: &SampleSpec, fresh: bool) -> Result<Measured> {
    // The drivers' own deadlines come first: they say more.
    let patience = spec.settings.timeout + spec.settings.timeout / 2;
    let board = Board::new(spec.case.clients as usize);
    let clock_started = Arc::new(AtomicBool::new(false));
    let work = {
        let (spec, board, clock_started) = (spec.clone(), Arc::clone(&board), Arc::clone(&clock_started));
        move || measure(&spec, fresh, &board, &clock_started)
    };
    watchdog::supervise(&board, patience, work).unwrap_or_else(|| {
        let stalled = locate(watchdog::no_reply(spec.settings.timeout), &spec.case);
        if clock_started.load(Ordering::Relaxed) {
            Ok(Measured { failure: Some(stalled), ..Measured::default() })
        } else {
            Err(stalled)
        }
    })
}

/// Says where an error happened: system, address, case.
fn locate(error: anyhow::Error, case: &Case) -> anyhow::Error {
    let address = case.system.address().unwrap_or_default();
    let address = ledger::public_address(&address);
    let at = if address.is_empty() { String::new() } else { format!(" at {address}") };
    error.context(format!("{}{at}, {} {}", case.system, case.suite, case.benchmark))
}

/// Connects, measures, checks and cleans up. An error before the clock has started is returned
/// as such: there is no sample then, and no row.
fn measure(spec: &SampleSpec, fresh: bool, board: &Board, clock_started: &AtomicBool) -> Result<Measured> {
    let case = &spec.case;
    let mut server = ledger::connect(case.system, spec.settings.timeout)?;
    board.step();
    let was_empty = server.prepare().map_err(|error| locate(error.context("making the accounts"), case))?;
    if fresh && !was_empty {
        let leftover = anyhow::anyhow!("the server is not empty: its data must be fresh for a sample");
        return Err(locate(leftover, case));
    }
    let description =
        server.describe().map_err(|error| locate(error.context("asking for settings"), case))?;
    board.step();
    let (clients, connect_us) = time_us(|| {
        (0..case.clients)
            .map(|_| {
                board.step();
                Ok(seed::Client::new(server.seed_client()?, case.benchmark, case.batch))
            })
            .collect::<Result<Vec<_>>>()
    });
    let clients = clients.map_err(|error| locate(error, case))?;

    clock_started.store(true, Ordering::Relaxed);
    let (mut sample, mut clients) = runner::run(clients, spec.settings.load, board);
    let failure = match failure(&mut sample, case.clients) {
        None => seed::verify(&mut clients).context("after the sample").err(),
        some => some,
    };
    board.step();
    drop(clients);
    let cleaned = server.clean_up().context("cleaning up").err();
    let failure = failure.or(cleaned).map(|error| locate(error, case));
    Ok(Measured { sample: Some(sample), connect_us: Some(connect_us), description, was_empty, failure })
}

/// The first client that failed, by its number.
fn failure(sample: &mut Sample, clients: u32) -> Option<anyhow::Error> {
    let (client, error) = sample.failure.take()?;
    let others = sample.failed_clients - 1;
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    Some(error.context(format!("client {client} of {clients}{more}")))
}

/// The columns that are known before the sample.
fn identity(spec: &SampleSpec, data: Option<&PathBuf>) -> Measurement {
    let SampleSpec { case, settings, round, .. } = spec;
    let now = SystemTime::now();
    let machine = machine::look(data.map(PathBuf::as_path));
    Measurement {
        schema: SCHEMA,
        run_id: settings.run_id.clone(),
        started_utc: humantime::format_rfc3339_seconds(now).to_string().replace('T', " ").replace('Z', ""),
        started_unix_s: now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        round: *round,
        suite: case.suite.name().into(),
        benchmark: case.benchmark.name().into(),
        system: case.system.name().into(),
        durability: "shipped".into(),
        clients: case.clients,
        in_flight: 1,
        batch: case.batch,
        accounts: 2,
        seed: settings.seed,
        harness_version: format!("ledger-bench {}", env!("CARGO_PKG_VERSION")),
        git_revision: machine::git_revision(),
        host: settings.host.clone(),
        cpu: plain_text(&machine.cpu),
        cores: machine.cores,
        memory_mib: machine.memory_mib,
        kernel: plain_text(&machine.kernel),
        filesystem: plain_text(&machine.filesystem),
        ..Measurement::default()
    }
}

/// The columns that the sample brings.
fn fill(row: &mut Measurement, case: &Case, measured: &Measured) {
    let mut warnings = Vec::new();
    row.errors = u64::from(measured.failure.is_some());
    if let Some(sample) = &measured.sample {
        fill_figures(row, case, sample);
        row.errors = row.errors.max(sample.failed_clients);
        row.connect_us = measured.connect_us;
        row.server_version = plain_text(&measured.description.server_version);
        row.client_version = plain_text(&measured.description.client_version);
        row.server_settings = plain_text(&measured.description.settings);
        row.replicas = measured.description.replicas;
        if !measured.was_empty {
            warnings.push("the server held other data".to_owned());
        }
        if sample.ended_early {
            warnings.push("ended early: no room for more latencies".to_owned());
        }
    }
    row.verified = if measured.failure.is_none() { "yes" } else { "no" }.into();
    if let Some(failure) = &measured.failure {
        warnings.push(format!("failed: {}", one_line(failure)));
    }
    row.warnings = plain_text(&warnings.join(", "));
}

fn fill_figures(row: &mut Measurement, case: &Case, sample: &Sample) {
    let summary = stats::summarize(sample.latencies_ns.clone());
    let ops = sample.latencies_ns.len() as u64;
    let transfers = ops * u64::from(case.benchmark.transfers_per_op(case.batch));
    row.warmup_ops = Some(sample.warmup_ops);
    row.ops = Some(ops);
    row.requests = Some(sample.requests);
    row.transfers = Some(transfers);
    row.rejected = Some(0); // a refused transfer of this suite is an error and ends the sample
    row.elapsed_ns = Some(sample.elapsed_ns);
    row.ns_per_op = stats::quotient(sample.elapsed_ns, ops);
    row.ns_per_transfer = stats::quotient(sample.elapsed_ns, transfers);
    row.transfers_per_s = stats::quotient(transfers.saturating_mul(1_000_000_000), sample.elapsed_ns);
    row.latency_ns_min = summary.min_ns;
    row.latency_ns_mean = summary.mean_ns;
    row.latency_ns_stddev = summary.stddev_ns;
    row.latency_ns_p50 = summary.p50_ns;
    row.latency_ns_p90 = summary.p90_ns;
    row.latency_ns_p99 = summary.p99_ns;
    row.latency_ns_p999 = summary.p999_ns;
    row.latency_ns_max = summary.max_ns;
}

/// `[17/72] round 2/6  basic_batch  postgres  137 ms/op  2m10s left`.
fn progress_line(spec: &SampleSpec, row: &Measurement, since_unix_s: Option<u64>) -> String {
    let SampleSpec { case, number, total, round, settings, .. } = spec;
    let figure = match row.ns_per_op {
        Some(ns_per_op) if row.is_verified() => format!("{}/op", units::time(ns_per_op)),
        _ => "FAILED".into(),
    };
    let left = since_unix_s.map(|since| time_left(since, *number, *total)).unwrap_or_default();
    let width = total.to_string().len();
    let line = format!(
        "[{number:>width$}/{total}] round {round}/{}  {:<14}  {:<11}  {figure:>10}  {left}",
        settings.rounds, case.benchmark, case.system
    );
    line.trim_end().to_owned()
}

/// As if the samples that are left took as long as those that are done.
fn time_left(since_unix_s: u64, done: u32, total: u32) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let so_far = now.saturating_sub(Duration::from_secs(since_unix_s));
    let left = so_far * (total - done) / done;
    format!("{} left", units::span(left))
}
