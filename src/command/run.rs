//! `run`: one process measures one sample and appends one row, whatever becomes of the sample.

use std::{
    mem,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};

use super::Outcome;
use crate::{
    arrivals::Arrived,
    cli::RunArgs,
    cpu::CpuTimes,
    error::{bad_input, one_line, say},
    latencies::Latencies,
    ledger::{self, Counters, Description, Server},
    machine::{self, Pin},
    measurement::{self, Measurement, SCHEMA, plain_text},
    plan::{Case, SampleSpec, Settings},
    report::units,
    runner::{Load, Sample},
    stats,
    suite::{self, Clients, Messages, Surroundings},
    timer::time_us,
    warnings,
    watchdog::{self, Board},
};

mod polling;
mod state;

use polling::Polling;
use state::State;

pub fn run(args: &RunArgs) -> Result<Outcome> {
    let spec: SampleSpec =
        args.sample.parse().map_err(|error| bad_input(format!("the sample's line: {error:#}")))?;
    measurement::check_file(&args.csv)?;
    let mut row = identity(&spec, args.data.as_ref());
    if spec.case.rate_per_s > 0 {
        machine::wake_sleepers_sharply();
    }
    let watched = Watched::new(&spec);

    let connected = watched.run({
        let (spec, board) = (spec.clone(), watched.board.clone());
        let (fresh, data) = (args.fresh, args.data.clone());
        move || connect(&spec, fresh, data.as_deref(), &board)
    })?;
    describe(&mut row, &connected);
    let waits_for_disk = connected.description.waits_for_disk;
    let Settings { load, seed, .. } = spec.settings;
    let case = spec.case;
    let folder = state::folder(args.data.as_deref(), case.system);
    let (server, clients, state_before) = watched.run({
        let (folder, board) = (folder.clone(), watched.board.clone());
        move || set_up(connected, folder.as_deref(), &board)
    })?;
    state::fill(&mut row, state_before, None);

    // From here on there is a sample, and a row of it whatever becomes of it.
    let before = CpuTimes::now();
    let measured = watched.run(move || Ok(measure(server, clients, &case, load, seed)));
    let shares = CpuTimes::now().zip(before).and_then(|(after, before)| after.since(before));
    row.cpu_steal_permille = shares.map(|shares| shares.steal_permille);
    row.client_cpu_permille = shares.map(|shares| shares.client_permille);
    row.context_switches = shares.map(|shares| shares.context_switches);
    let mut series = None;
    let (failure, server) = match measured {
        Err(stalled) => {
            // Nobody moved any more.
            row.errors = u64::from(case.clients);
            (Some(stalled), None)
        }
        Ok(Done { mut sample, clients, server, counted }) => {
            let failed = failure(&mut sample, case.clients);
            series =
                load.interval_ns.map(|interval_ns| (interval_ns, mem::take(&mut sample.intervals), counted));
            let (warmup_ops, tally) = (sample.warmup_ops, clients.tally());
            fill(&mut row, &case, sample, waits_for_disk);
            let ended = match failed {
                Some(failed) => (Some(locate(failed, &case)), Some(server)),
                None => {
                    match watched.run(move || verify(server, clients, &case, warmup_ops, folder.as_deref())) {
                        Ok((server, state, messages)) => {
                            state::fill(&mut row, state_before, Some(state));
                            fill_messages(&mut row, messages);
                            (None, Some(server))
                        }
                        Err(wrong) => (Some(locate(wrong, &case)), None),
                    }
                }
            };
            for warning in warnings::of(&row).into_iter().chain(warnings::of_tally(tally)) {
                warn(&mut row, &warning);
            }
            ended
        }
    };
    conclude(&mut row, failure.as_ref());
    measurement::append(&args.csv, &row)?;
    if let Some((interval_ns, intervals, counted)) = series {
        measurement::append_series(&args.csv, &row, interval_ns, &intervals, &counted)?;
    }
    say(&progress_line(&spec, &row, args.since));
    if let Some(failure) = failure {
        return Err(failure);
    }
    // The row stands; what goes wrong from here on is said, and weighs on no figure.
    if let Some(mut server) = server {
        watched.run(move || server.clean_up().context("cleaning up"))?;
    }
    Ok(Outcome::Good)
}

/// What is there after the measured part.
struct Done {
    sample: Sample,
    clients: Clients,
    server: Box<dyn Server>,
    /// The server's counters at the ends of the intervals, where a series is kept.
    counted: Vec<Counters>,
}

fn measure(server: Box<dyn Server>, clients: Clients, case: &Case, load: Load, seed: u64) -> Done {
    let Some(interval_ns) = load.interval_ns else {
        let (sample, clients) = clients.run(case, load, seed);
        return Done { sample, clients, server, counted: Vec::new() };
    };
    let polling = Polling::begin(server, interval_ns);
    let (sample, clients) = clients.run(case, load, seed);
    let (server, counted) = polling.end(&sample, interval_ns);
    // The sample stands without them; they are blank, not 0.
    let counted = counted.unwrap_or_else(|error| {
        say(&format!("{case}: {}", one_line(&error)));
        Vec::new()
    });
    Done { sample, clients, server, counted }
}

/// Runs each part of the work on a thread that is given up when for long nothing moves: no wait
/// is for ever.
struct Watched {
    board: Board,
    timeout: Duration,
    case: Case,
}

impl Watched {
    fn new(spec: &SampleSpec) -> Self {
        let board = Board::new(spec.case.clients as usize);
        Self { board, timeout: spec.settings.timeout, case: spec.case }
    }

    fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        // The drivers' own deadlines come first: they say more.
        let patience = self.timeout + self.timeout / 2;
        watchdog::supervise(&self.board, patience, work)
            .unwrap_or_else(|| Err(watchdog::no_reply(self.timeout)))
            .map_err(|error| locate(error, &self.case))
    }
}

/// Says where an error happened: system, address, case.
fn locate(error: anyhow::Error, case: &Case) -> anyhow::Error {
    let place = format!("{case}: {}", case.system.place());
    if one_line(&error).contains(&case.system.place()) { error } else { error.context(place) }
}

/// A server with fresh data, and all clients of the sample.
struct Connected {
    server: Box<dyn Server>,
    clients: Clients,
    connect_us: u64,
    description: Description,
    was_empty: bool,
}

fn connect(spec: &SampleSpec, fresh: bool, data: Option<&Path>, board: &Board) -> Result<Connected> {
    let case = spec.case;
    check_transport(&case)?;
    check_cores(spec.settings.pin.as_ref())?;
    let mut server = ledger::connect(case.system, spec.settings.timeout)?;
    if let Some(folder) = state::folder(data, case.system) {
        server.keeps_data_in(&folder);
    }
    board.step();
    server.check_durability(case.durability)?;
    board.step();
    let was_empty = server.prepare(suite::data(&case)).context("making the accounts")?;
    anyhow::ensure!(was_empty || !fresh, "the server is not empty: a sample starts on fresh data");
    board.step();
    let description = server.describe().context("asking for settings")?;
    board.step();
    let Settings { seed, timeout, .. } = spec.settings;
    let around = Surroundings { seed, timeout, data, board };
    let (clients, connect_us) = time_us(|| Clients::connect(server.as_mut(), &case, &around));
    Ok(Connected { clients: clients?, server, connect_us, description, was_empty })
}

/// A row must not say that a socket was measured when it was TCP.
fn check_transport(case: &Case) -> Result<()> {
    let found = case.system.transport();
    if found == case.transport {
        return Ok(());
    }
    Err(bad_input(format!("--transport {}: the server's address is of {found}", case.transport)))
}

/// Nor that this process was kept on cores of its own when it was not.
fn check_cores(pin: Option<&Pin>) -> Result<()> {
    match pin {
        Some(pin) if !machine::is_kept_on(&pin.client) => Err(bad_input(format!(
            "this process is not kept on cores {}: start it by taskset --cpu-list, as ./run.sh does",
            pin.client
        ))),
        _ => Ok(()),
    }
}

/// Puts there what the first op needs, and looks at the server as it is then.
fn set_up(
    connected: Connected,
    folder: Option<&Path>,
    board: &Board,
) -> Result<(Box<dyn Server>, Clients, State)> {
    let Connected { mut server, mut clients, .. } = connected;
    clients.set_up(server.as_mut())?;
    board.step();
    let state = State::now(server.as_mut(), &mut clients, folder)?;
    Ok((server, clients, state))
}

/// What the sample left behind, and whether the server still is what it was.
fn verify(
    mut server: Box<dyn Server>,
    mut clients: Clients,
    case: &Case,
    warmup_ops: u64,
    folder: Option<&Path>,
) -> Result<(Box<dyn Server>, State, Option<Messages>)> {
    let state = State::now(server.as_mut(), &mut clients, folder).context("after the sample")?;
    let messages = clients.verify(case, warmup_ops).context("after the sample")?;
    let changed = |error: anyhow::Error| anyhow::anyhow!("after the sample: {}", one_line(&error));
    server.check_durability(case.durability).map_err(changed)?;
    Ok((server, state, messages))
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
    let started_unix_s =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut machine = machine::look(data.map(PathBuf::as_path));
    machine.host.clone_from(&settings.host);
    let pinned = settings.pin.as_ref().map(Pin::counts);
    // This process may use its own alone.
    machine.cores = pinned.map(|[server, client]| server + client).or(machine.cores);
    let mut row = Measurement {
        schema: SCHEMA,
        run_id: settings.run_id.clone(),
        started_utc: measurement::utc_text(started_unix_s),
        started_unix_s,
        round: *round,
        seed: settings.seed,
        harness_version: format!("ledger-bench {}", env!("CARGO_PKG_VERSION")),
        git_revision: settings.git_revision.clone(),
        load_before_pct: settings.load_before_pct,
        server_cores: pinned.map(|[server, _]| server),
        client_cores: pinned.map(|[_, client]| client),
        ..Measurement::default()
    };
    row.set_machine(machine);
    row.set_case(case);
    row
}

/// The columns that the server brings.
fn describe(row: &mut Measurement, connected: &Connected) {
    let Connected { connect_us, description, was_empty, .. } = connected;
    row.connect_us = Some(*connect_us);
    row.server_version = plain_text(&description.server_version);
    row.client_version =
        plain_text(connected.clients.client_version().unwrap_or(&description.client_version));
    row.server_settings = plain_text(&description.settings);
    row.replicas = description.replicas;
    if !was_empty {
        warn(row, "the server held other data");
    }
}

/// The columns that the sample brings. What no op was measured for stays blank.
fn fill(row: &mut Measurement, case: &Case, sample: Sample, waits_for_disk: Option<bool>) {
    let ops = sample.ops;
    let per_op = u64::from(case.benchmark.transfers_per_op(case.batch));
    let transfers = Some(ops * per_op).filter(|_| per_op > 0);
    let (summary, error_permille) = sample.latencies.summary();
    row.warmup_ops = Some(sample.warmup_ops);
    row.ops = Some(ops);
    row.requests = Some(sample.requests);
    row.transfers = transfers;
    let commits = ops * u64::from(case.benchmark.commits_per_op());
    row.commits = waits_for_disk.map(|waits| if waits { commits } else { 0 });
    row.errors = sample.failed_clients;
    row.elapsed_ns = Some(sample.elapsed_ns).filter(|_| ops > 0);
    row.ns_per_op = stats::quotient(sample.elapsed_ns, ops);
    row.ns_per_transfer = transfers.and_then(|transfers| stats::quotient(sample.elapsed_ns, transfers));
    row.transfers_per_s = transfers.and_then(|transfers| stats::rate_per_s(transfers, sample.elapsed_ns));
    row.latency_ns_min = summary.min_ns;
    row.latency_ns_mean = summary.mean_ns;
    row.latency_ns_stddev = summary.stddev_ns;
    row.latency_ns_p50 = summary.p50_ns;
    row.latency_ns_p90 = summary.p90_ns;
    row.latency_ns_p99 = summary.p99_ns;
    row.latency_ns_p999 = summary.p999_ns;
    row.latency_ns_max = summary.max_ns;
    row.latency_error_permille = summary.max_ns.map(|_| error_permille);
    if let Some(arrived) = sample.arrived {
        fill_arrived(row, arrived, sample.services);
    }
}

/// The columns of an open loop.
fn fill_arrived(row: &mut Measurement, arrived: Arrived, services: Latencies) {
    row.offered_ops = Some(arrived.offered);
    row.late_ops = Some(arrived.late);
    row.backlog_ops = Some(arrived.backlog);
    row.saturated = if arrived.is_saturated(row.clients.into()) { "yes" } else { "no" }.into();
    let (services, _) = services.summary();
    row.service_ns_mean = services.mean_ns;
    row.service_ns_p50 = services.p50_ns;
    row.service_ns_p99 = services.p99_ns;
    row.service_ns_max = services.max_ns;
}

/// What the look at every transfer brought to light.
fn fill_messages(row: &mut Measurement, messages: Option<Messages>) {
    row.messages = messages.map(|messages| messages.count);
    row.message_transfers_mean_permille = messages.map(Messages::transfers_mean_permille);
    row.message_transfers_max = messages.map(|messages| messages.transfers_max);
}

/// Whether the row may be used, and if not, why.
fn conclude(row: &mut Measurement, failure: Option<&anyhow::Error>) {
    row.verified = if failure.is_none() { "yes" } else { "no" }.into();
    match failure {
        // A refused transfer is an error, so that none was refused.
        None => row.rejected = Some(0),
        Some(failure) => warn(row, &format!("failed: {}", one_line(failure))),
    }
}

fn warn(row: &mut Measurement, warning: &str) {
    let before = if row.warnings.is_empty() { String::new() } else { format!("{}, ", row.warnings) };
    row.warnings = plain_text(&format!("{before}{warning}"));
}

/// `[17/72] round 2/6  postgres  seed basic_batch, 1000 a batch  137 ms/op  2m10s left`.
fn progress_line(spec: &SampleSpec, row: &Measurement, since_unix_s: Option<u64>) -> String {
    let SampleSpec { case, number, total, round, settings, .. } = spec;
    let figure = match row.ns_per_op {
        Some(_) if row.is_verified() && row.saturated == "yes" => "saturated".into(),
        Some(_) if row.is_verified() && case.rate_per_s > 0 => {
            row.latency_ns_p99.map(|p99| format!("p99 {}", units::time(p99))).unwrap_or_default()
        }
        Some(ns_per_op) if row.is_verified() => format!("{}/op", units::time(ns_per_op)),
        _ => "FAILED".into(),
    };
    let left = since_unix_s.map(|since| time_left(since, *number, *total)).unwrap_or_default();
    let width = total.to_string().len();
    let line = format!(
        "[{number:>width$}/{total}] round {round}/{}  {:<11}  {case:<53}  {figure:>10}  {left}",
        settings.rounds, case.system
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SampleSpec {
        let line = "run_id=r number=3 total=8 round=1 rounds=2 suite=seed benchmark=basic_batch system=memory \
            durability=shipped clients=4 in_flight=1 batch=10 \
            accounts=2 skew_pct=0 arrivals=closed rate_per_s=0 rtt_us=0 style=one-call preload=0 transport=tcp generator=own server_cores= client_cores= cache_mib=64 load_before_pct= interval_ns= warmup_ns=0 time_ns= ops=1000 seed=1 timeout_ns=1 host= git=";
        line.parse().expect("a sample")
    }

    fn sample(latencies_ns: &[u64]) -> Sample {
        let mut latencies = Latencies::with_room(latencies_ns.len());
        for &latency_ns in latencies_ns {
            latencies.keep(latency_ns);
        }
        Sample {
            ops: latencies.len(),
            latencies,
            elapsed_ns: 4_000,
            warmup_ops: 5,
            requests: 6,
            ..Sample::default()
        }
    }

    #[test]
    fn each_figure_goes_into_its_column() {
        let mut row = Measurement::default();
        fill(&mut row, &spec().case, sample(&(1..=1_000).map(|n| n * n).collect::<Vec<_>>()), Some(true));
        let summary = stats::summarize((1..=1_000).map(|n| n * n).collect());
        let expected = Measurement {
            warmup_ops: Some(5),
            ops: Some(1_000),
            requests: Some(6),
            transfers: Some(10_000),
            commits: Some(1_000),
            elapsed_ns: Some(4_000),
            ns_per_op: Some(4),
            ns_per_transfer: Some(0),
            transfers_per_s: Some(2_500_000_000),
            latency_ns_min: summary.min_ns,
            latency_ns_mean: summary.mean_ns,
            latency_ns_stddev: summary.stddev_ns,
            latency_ns_p50: summary.p50_ns,
            latency_ns_p90: summary.p90_ns,
            latency_ns_p99: summary.p99_ns,
            latency_ns_p999: summary.p999_ns,
            latency_ns_max: summary.max_ns,
            latency_error_permille: Some(0),
            ..Measurement::default()
        };
        assert_eq!(row, expected);
    }

    #[test]
    fn no_op_has_no_figure() {
        let mut row = Measurement::default();
        let nothing = Sample { failed_clients: 2, ..sample(&[]) };
        fill(&mut row, &spec().case, nothing, None);
        assert_eq!((row.ops, row.elapsed_ns, row.ns_per_op, row.latency_ns_max), (Some(0), None, None, None));
        assert_eq!((row.errors, row.latency_error_permille, row.offered_ops), (2, None, None));
    }

    #[test]
    fn an_open_loop_tells_what_became_of_what_was_due() {
        let mut services = Latencies::with_room(0);
        (1..=100).for_each(|ns| services.keep(ns));
        let arrived = Arrived { offered: 200, late: 30, backlog: 5 };
        let at_rate = Sample { services, arrived: Some(arrived), ..sample(&[1_000; 100]) };
        let mut row = Measurement { clients: 4, ..Measurement::default() };
        fill(&mut row, &spec().case, at_rate, None);
        assert_eq!((row.offered_ops, row.late_ops, row.backlog_ops), (Some(200), Some(30), Some(5)));
        assert_eq!((row.saturated.as_str(), row.latency_ns_p50), ("yes", Some(1_000)));
        assert_eq!(
            (row.service_ns_p50, row.service_ns_p99, row.service_ns_max),
            (Some(50), Some(99), Some(100))
        );
    }

    #[test]
    fn the_first_of_the_clients_that_failed_is_named() {
        let failing = |failed_clients| {
            let cause = Some((2, anyhow::anyhow!("gone")));
            let mut sample = Sample { failed_clients, failure: cause, ..sample(&[]) };
            one_line(&failure(&mut sample, 4).expect("it failed"))
        };
        assert_eq!(failing(1), "client 2 of 4: gone");
        assert_eq!(failing(3), "client 2 of 4 and 2 more: gone");
    }

    #[test]
    fn nothing_is_left_after_the_last() {
        assert_eq!(time_left(0, 8, 8), "0s left");
    }

    #[test]
    fn a_failure_makes_the_row_a_no_and_says_why() {
        let measured = || Measurement { ns_per_op: Some(4), ..Measurement::default() };
        let mut row = measured();
        conclude(&mut row, None);
        assert_eq!((row.verified.as_str(), row.rejected, row.warnings.as_str()), ("yes", Some(0), ""));
        let line =
            "[3/8] round 1/2  memory       seed basic_batch, 4 clients, 10 a batch                   4 ns/op";
        assert_eq!(progress_line(&spec(), &row, None), line);
        let mut row = measured();
        warn(&mut row, "old");
        conclude(&mut row, Some(&anyhow::anyhow!("a; b")));
        assert_eq!(
            (row.verified.as_str(), row.rejected, row.warnings.as_str()),
            ("no", None, "old, failed: a, b")
        );
        assert!(progress_line(&spec(), &row, None).ends_with("  FAILED"));
    }
}
