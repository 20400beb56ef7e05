//! What no single flag can tell: whether they make sense together, and whether the files can be
//! written. Writes nothing.

use std::{
    collections::BTreeSet,
    fmt::Display,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::{PlanArgs, YesNo};
use crate::{
    error::bad_input,
    ledger::{Durability, System, Transport},
    machine::{self, Pin},
    measurement,
    plan::{Arrivals, Benchmark, Case, Generator, Settings, Style, Suite},
    rng::Rng,
    runner::Load,
    timer::{Budget, duration_ns},
};

/// Where rows go, but those of a calibration.
pub(super) const RESULTS: &str = "results/results.csv";
/// Transfers in the predecessor's batch.
const BATCH_DEFAULT: u32 = 1_000;
/// Transfers in a batch of TigerBeetle's own benchmark.
const BATCH_CALIBRATION: u32 = 8_189;
/// From here on halving the cores leaves two for either side.
const PIN_CORES_MIN: u32 = 4;
/// Clients of the ledger suite's `parallel`.
const CLIENTS_DEFAULT: u32 = 64;
/// Its accounts, and those of TigerBeetle's own benchmark.
const ACCOUNTS_MANY: u32 = 10_000;
/// Requests that all clients together may have in flight.
const IN_FLIGHT_TOTAL_MAX: u64 = 65_536;
/// Transfers in them: each takes some 300 bytes of ours, and more in a server's buffers.
const TRANSFERS_IN_FLIGHT_MAX: u64 = 1_000_000;
/// TigerBeetle's default for its grid cache.
const CACHE_MIB: u32 = 1_024;
const CACHE_MIB_MIN: u32 = 64;
/// PostgreSQL's `max_connections` as shipped, less those for superusers and our own.
const POSTGRES_CLIENTS_MAX: u32 = 96;

/// A run, checked.
#[derive(Debug)]
pub struct CheckedPlan {
    /// How each sample is measured.
    pub settings: Settings,
    /// What is measured.
    pub cases: Vec<Case>,
    /// Where the rows go; absolute.
    pub csv: PathBuf,
    /// Where the servers keep their data; absolute.
    pub data: PathBuf,
}

impl PlanArgs {
    /// Checks what no single flag can: whether the flags make sense together, and whether the
    /// files can be written. Writes nothing.
    pub fn check(&self) -> Result<CheckedPlan> {
        let cases = self.cases()?;
        let (csv, data) = self.check_files(&cases)?;
        Ok(CheckedPlan { settings: self.settings(&cases)?, cases, csv, data })
    }

    /// The file of the rows and the folder of the servers' data.
    pub(super) fn check_files(&self, cases: &[Case]) -> Result<(PathBuf, PathBuf)> {
        let csv = absolute(self.csv.as_deref().unwrap_or_else(|| csv_default(cases)))?;
        measurement::check_appendable(&csv)?;
        if self.interval.is_some() {
            measurement::check_series(&csv)?;
        }
        let data = absolute(&self.data)?;
        check_data_folder(&data)?;
        Ok((csv, data))
    }

    pub(super) fn cases(&self) -> Result<Vec<Case>> {
        let cases = self.all_cases()?;
        cases.iter().try_for_each(|case| self.check_case(case))?;
        Ok(cases)
    }

    /// Before each is looked at by itself.
    pub(super) fn all_cases(&self) -> Result<Vec<Case>> {
        let mut cases = self.base_cases()?;
        cases = multiply(cases, "--durability", &self.durability, default_durability, |case, value| {
            case.durability = value;
        })?;
        cases = multiply(cases, "--clients", &self.clients, default_clients, |case, value| {
            case.clients = value;
        })?;
        cases = multiply(cases, "--in-flight", &self.in_flight, default_in_flight, |case, value| {
            case.in_flight = value;
        })?;
        cases = multiply(cases, "--batch", &self.batch, default_batch, |case, value| case.batch = value)?;
        cases = multiply(cases, "--accounts", &self.accounts, default_accounts, |case, value| {
            case.accounts = value;
        })?;
        cases = multiply(cases, "--skew", &self.skew, default_skew, |case, value| case.skew_pct = value)?;
        cases = multiply(cases, "--style", &self.style, default_style, |case, value| case.style = value)?;
        cases = multiply(cases, "--preload", &self.preload, default_preload, |case, value| {
            case.preload = value;
        })?;
        cases = multiply(cases, "--rate", &self.rate, default_rate, |case, value| case.rate_per_s = value)?;
        cases = multiply(cases, "--rtt", &self.rtt, default_rtt, |case, value| case.rtt_us = value)?;
        let arrivals = self.arrivals.map_or(Arrivals::Poisson, Arrivals::from);
        for case in cases.iter_mut().filter(|case| case.rate_per_s > 0) {
            case.arrivals = arrivals;
        }
        cases = multiply(cases, "--transport", &self.transport, default_transport, |case, value| {
            case.transport = value;
        })?;
        Ok(cases.into_iter().flat_map(with_generators).collect())
    }

    /// Suite by suite, benchmark by benchmark, system by system; the rest is still to be chosen.
    fn base_cases(&self) -> Result<Vec<Case>> {
        let suites = distinct_or("--suite", &self.suite, self.suites_default())?;
        let benchmarks = distinct("--benchmark", &self.benchmark)?;
        let systems = distinct_or("--system", &self.system, &System::SERVERS)?;
        let all_of = |suite| if suite == Suite::Floor { &[System::Machine][..] } else { &systems[..] };
        if let Some(other) = benchmarks
            .iter()
            .find(|benchmark| !suites.iter().any(|suite| suite.benchmarks().contains(benchmark)))
        {
            return Err(bad_input(format!("--benchmark {other} is of a suite that --suite leaves out")));
        }
        let mut cases = Vec::new();
        for suite in suites {
            let wanted = |benchmark: &&Benchmark| benchmarks.is_empty() || benchmarks.contains(benchmark);
            for &benchmark in suite.benchmarks().iter().filter(wanted) {
                let possible = benchmark.systems(suite);
                let systems = all_of(suite).iter().filter(|system| possible.contains(system));
                cases.extend(systems.map(|&system| Case::plainest(suite, benchmark, system)));
            }
        }
        if cases.is_empty() {
            return Err(bad_input("no benchmark of these is for a system of these: ./run.sh help"));
        }
        Ok(cases)
    }

    /// Who asks for something gets that alone; a whole run has its floor with it. A benchmark brings its suites, the
    /// calibration only where no other has it.
    fn suites_default(&self) -> &'static [Suite] {
        const COMPARED: &[Suite] = &[Suite::Seed, Suite::Ledger];
        const WITH_FLOOR: &[Suite] = &[Suite::Seed, Suite::Ledger, Suite::Floor];
        let has_all = |suites: &[Suite]| {
            let has = |benchmark| suites.iter().any(|suite| suite.benchmarks().contains(benchmark));
            self.benchmark.iter().all(has)
        };
        match (self.benchmark.is_empty(), self.system.is_empty()) {
            (true, true) => WITH_FLOOR,
            (true, false) => COMPARED,
            _ if has_all(COMPARED) => COMPARED,
            _ if has_all(WITH_FLOOR) => WITH_FLOOR,
            _ => Suite::value_variants(),
        }
    }

    /// A case that makes no sense is refused before anything starts.
    pub(super) fn check_case(&self, case: &Case) -> Result<()> {
        let Case { suite, system, durability, clients, in_flight, batch, .. } = *case;
        if let Some(ops) = self.ops.filter(|&ops| ops < u64::from(clients)) {
            return Err(bad_input(format!("--ops {ops} leaves some of {clients} clients without an op")));
        }
        if suite.is_of_ledger() && !system.durabilities().contains(&durability) {
            let only = system.durabilities().iter().map(|tier| tier.name()).collect::<Vec<_>>().join(" or ");
            return Err(bad_input(format!(
                "--durability {durability}: {system} has {only} alone: leave it out by --system"
            )));
        }
        if !system.transports().contains(&case.transport) {
            return Err(bad_input(format!(
                "--transport {}: {system}'s client has tcp alone: leave it out by --system",
                case.transport
            )));
        }
        self.check_network(case)?;
        if suite == Suite::Calibration && !system.is_private() && system.is_secret_shown_by_its_tool() {
            return Err(bad_input(
                "redis-benchmark shows the password of your server in the list of processes: \
                 leave redis out by --system, or name a server without one",
            ));
        }
        if system == System::Postgres && in_flight > 1 {
            return Err(bad_input(format!(
                "--in-flight {in_flight}: PostgreSQL's blocking client has one request in flight: \
                 use --clients, or leave it out by --system"
            )));
        }
        let total = u64::from(clients) * u64::from(in_flight);
        if total > IN_FLIGHT_TOTAL_MAX {
            return Err(bad_input(format!(
                "{clients} clients with {in_flight} requests in flight each are {total}: \
                 {IN_FLIGHT_TOTAL_MAX} at most"
            )));
        }
        if case.transfers_in_flight() > TRANSFERS_IN_FLIGHT_MAX {
            return Err(bad_input(format!(
                "--in-flight {in_flight} of --batch {batch}: {TRANSFERS_IN_FLIGHT_MAX} transfers in flight at most"
            )));
        }
        let private_postgres = system == System::Postgres && system.is_private();
        if private_postgres && durability == Durability::Shipped && clients > POSTGRES_CLIENTS_MAX {
            return Err(bad_input(format!(
                "--clients {clients}: PostgreSQL as shipped takes {POSTGRES_CLIENTS_MAX} at most: \
                 leave it out by --system, or name a server of your own by DATABASE_URL"
            )));
        }
        Ok(())
    }

    /// What a relay can stand before, and what can be due at a rate.
    fn check_network(&self, case: &Case) -> Result<()> {
        let Case { system, in_flight, rate_per_s, rtt_us, .. } = *case;
        if rtt_us > 0 && case.transport != Transport::Tcp {
            return Err(bad_input(format!("--rtt is for TCP, not for --transport {}", case.transport)));
        }
        if rtt_us > 0 && !system.is_private() {
            return Err(bad_input(format!(
                "--rtt: the relay stands before private servers alone, and the environment names yours: \
                 leave {system} out by --system"
            )));
        }
        if rate_per_s > 0 && in_flight > 1 {
            return Err(bad_input(format!(
                "--rate with --in-flight {in_flight}: a client has one request in flight then: use --clients"
            )));
        }
        if rate_per_s > 0 && self.ops.is_some() {
            return Err(bad_input("--rate: what is due is told by --time, not by --ops"));
        }
        Ok(())
    }

    pub(super) fn settings(&self, cases: &[Case]) -> Result<Settings> {
        let pin = pin(self.pin, machine::cores(), is_calibration(cases), machine::split())?;
        let (rounds, warmup, time) = if self.quick {
            (1, Duration::from_millis(100), Duration::from_millis(200))
        } else {
            (6, Duration::from_millis(500), Duration::from_secs(1))
        };
        let time = self.time.or(self.ops.is_none().then_some(time));
        Ok(Settings {
            run_id: run_id(SystemTime::now()),
            rounds: self.rounds.unwrap_or(rounds),
            load: Load {
                warmup_ns: duration_ns(self.warmup.unwrap_or(warmup)),
                budget: Budget { time_ns: time.map(duration_ns), ops: self.ops },
                interval_ns: self.interval.map(duration_ns),
            },
            seed: self.seed,
            timeout: self.timeout,
            cache_mib: cache_mib(machine::look(None).memory_mib),
            load_before_pct: machine::load_pct(),
            pin,
            host: self.host.clone(),
            git_revision: machine::git_revision(),
        })
    }
}

/// Who takes what the ledger's model has.
const LEDGER_SUITES: &str = "the suites ledger and sweep";

/// What a dimension's flag may be for a case: none where the case has no choice.
struct Choice<T> {
    /// One at least.
    default: Vec<T>,
    is_open: bool,
    /// What the flag is for, should no case be open to it.
    takers: &'static str,
}

fn default_durability(case: &Case) -> Choice<Durability> {
    let is_open = case.suite.is_of_ledger();
    let ledger = if case.system == System::Memory { Durability::Memory } else { Durability::Fsync };
    let default = if is_open { ledger } else { Durability::Shipped };
    Choice { default: vec![default], is_open, takers: LEDGER_SUITES }
}

fn default_clients(case: &Case) -> Choice<u32> {
    let default = match case.benchmark {
        Benchmark::BasicParallel => vec![machine::cores().min(POSTGRES_CLIENTS_MAX)],
        Benchmark::Parallel | Benchmark::Transfers => vec![CLIENTS_DEFAULT],
        Benchmark::RoundTrip => vec![1, CLIENTS_DEFAULT],
        _ => vec![1],
    };
    Choice {
        default,
        is_open: case.benchmark.takes_clients(),
        takers: "parallel, transfers, basic_parallel and round_trip",
    }
}

fn default_in_flight(case: &Case) -> Choice<u32> {
    Choice {
        default: vec![1],
        is_open: case.suite != Suite::Calibration && case.benchmark.takes_in_flight(),
        takers: "parallel, transfers and batch",
    }
}

fn default_batch(case: &Case) -> Choice<u32> {
    let is_open = case.benchmark.takes_batch();
    let default = match case.suite {
        Suite::Calibration if is_open => BATCH_CALIBRATION,
        _ if is_open => BATCH_DEFAULT,
        _ => 1,
    };
    Choice { default: vec![default], is_open, takers: "batch, transfers and basic_batch" }
}

fn default_accounts(case: &Case) -> Choice<u32> {
    let many = matches!(case.benchmark, Benchmark::Parallel | Benchmark::Transfers)
        || (case.suite == Suite::Calibration && case.benchmark == Benchmark::Batch);
    Choice {
        default: vec![if many { ACCOUNTS_MANY } else { 2 }],
        is_open: case.suite.is_of_ledger(),
        takers: LEDGER_SUITES,
    }
}

fn default_skew(case: &Case) -> Choice<u32> {
    Choice { default: vec![0], is_open: case.suite.is_of_ledger(), takers: LEDGER_SUITES }
}

fn default_style(case: &Case) -> Choice<Style> {
    Choice {
        default: vec![Style::OneCall],
        is_open: case.has_style(),
        takers: "single transfers of the ledger suite on PostgreSQL",
    }
}

fn default_preload(case: &Case) -> Choice<u64> {
    Choice { default: vec![0], is_open: case.suite.is_of_ledger(), takers: LEDGER_SUITES }
}

fn default_rate(case: &Case) -> Choice<u32> {
    Choice {
        default: vec![0],
        is_open: case.suite.is_of_ledger() && case.benchmark.takes_rate(),
        takers: "single, parallel and transfers",
    }
}

fn default_rtt(case: &Case) -> Choice<u32> {
    Choice {
        default: vec![0],
        is_open: case.suite != Suite::Calibration && case.is_networked(),
        takers: "what is sent to a server, or back by the floor's loopback",
    }
}

/// A user's own server is reached as its address says.
fn default_transport(case: &Case) -> Choice<Transport> {
    let default = match case.suite {
        Suite::Calibration if case.system.is_private() => case.system.transports().to_vec(),
        _ => vec![case.system.transport()],
    };
    let is_open = !matches!(case.system, System::Memory | System::Machine);
    Choice { default, is_open, takers: "Redis and PostgreSQL" }
}

/// The calibration is of both.
fn with_generators(case: Case) -> Vec<Case> {
    let all: &[Generator] =
        if case.suite == Suite::Calibration { &[Generator::Own, Generator::Peer] } else { &[Generator::Own] };
    all.iter().map(|&generator| Case { generator, ..case }).collect()
}

/// Where a client and its server happen to run decides a round trip more than who sends it, so that a calibration has
/// both on cores of their own, however few there are. `split`: what could be done.
fn pin(wish: Option<YesNo>, cores: u32, is_calibration: bool, split: Option<Pin>) -> Result<Option<Pin>> {
    match wish {
        Some(YesNo::No) => Ok(None),
        None if cores < PIN_CORES_MIN && !is_calibration => Ok(None),
        Some(YesNo::Yes) if split.is_none() => {
            Err(bad_input("--pin: a server and its clients need a whole core each, and there is one here"))
        }
        _ => Ok(split),
    }
}

fn is_calibration(cases: &[Case]) -> bool {
    cases.iter().all(|case| case.suite == Suite::Calibration)
}

/// A calibration is a run of its own kind.
fn csv_default(cases: &[Case]) -> &'static Path {
    Path::new(if is_calibration(cases) { "results/calibration.csv" } else { RESULTS })
}

/// Each case that is open to a flag becomes one case for each of its values.
fn multiply<T: Copy + Ord>(
    cases: Vec<Case>,
    flag: &str,
    given: &[T],
    choice: fn(&Case) -> Choice<T>,
    set: fn(&mut Case, T),
) -> Result<Vec<Case>> {
    distinct(flag, given)?;
    if let Some(first) = cases.first()
        && !given.is_empty()
        && !cases.iter().any(|case| choice(case).is_open)
    {
        return Err(bad_input(format!(
            "{flag} is for {}, which is not among the cases",
            choice(first).takers
        )));
    }
    let with = |case: Case, value| {
        let mut case = case;
        set(&mut case, value);
        case
    };
    let multiplied = cases.into_iter().flat_map(|case| {
        let Choice { default, is_open, .. } = choice(&case);
        let values = if is_open && !given.is_empty() { given.to_vec() } else { default };
        values.into_iter().map(move |value| with(case, value))
    });
    Ok(multiplied.collect())
}

/// TigerBeetle's own default, or an eighth of a small machine's memory, as a power of two:
/// TigerBeetle holds some 2 GiB beside it.
fn cache_mib(memory_mib: Option<u64>) -> u32 {
    let bearable = memory_mib.map_or(u64::from(CACHE_MIB), |memory_mib| memory_mib / 8);
    let bearable = u32::try_from(bearable).unwrap_or(u32::MAX).clamp(CACHE_MIB_MIN, CACHE_MIB);
    1 << bearable.ilog2()
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(bad_input("an empty path names no file"));
    }
    std::path::absolute(path).with_context(|| format!("{}", path.display()))
}

/// A disk that is none would measure memory and call it durable.
fn check_data_folder(data: &Path) -> Result<()> {
    let refuse = |why: &str| Err(bad_input(format!("--data {}: {why}", data.display())));
    if data.exists() && !data.is_dir() {
        return refuse("is not a folder");
    }
    match machine::filesystem(data).as_deref() {
        Some(kind @ ("tmpfs" | "ramfs")) => {
            refuse(&format!("lies on a {kind}, which is memory: name a folder on the disk to be measured"))
        }
        _ => Ok(()),
    }
}

fn distinct<T: Clone + Ord>(flag: &str, values: &[T]) -> Result<Vec<T>> {
    if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
        return Err(bad_input(format!("{flag} names a value twice")));
    }
    Ok(values.to_vec())
}

fn distinct_or<T: Clone + Ord>(flag: &str, values: &[T], default: &[T]) -> Result<Vec<T>> {
    distinct(flag, if values.is_empty() { default } else { values })
}

/// `20261130T201530Z-3f2a`: when the run was planned, and four digits against a second run in
/// the same second.
fn run_id(now: SystemTime) -> String {
    let compact = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, duration_ns);
    let tail = Rng::new(nanos, u64::from(process::id())).below(1 << 16);
    format!("{compact}-{tail:04x}")
}

/// Shows a path of the plan; a line end in it would break the plan's lines.
pub fn plan_path(path: &Path) -> Result<impl Display> {
    let text = path.to_str().filter(|text| !text.contains(['\n', '\r']));
    text.map(str::to_owned)
        .ok_or_else(|| bad_input(format!("{}: a path must be one line of UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_no_disk() {
        let error = check_data_folder(Path::new("/dev/shm/not-there")).expect_err("memory");
        assert!(error.to_string().contains("lies on a tmpfs"), "{error}");
        assert!(check_data_folder(Path::new("/proc/version")).is_err());
    }

    #[test]
    fn cores_are_kept_apart_where_there_are_enough() {
        let split = || Pin::of("0", "1");
        for (wish, cores, is_calibration, split, expected) in [
            (None, 3, false, split(), None),
            (None, 4, false, split(), split()),
            (None, 4, false, None, None),
            (None, 2, true, split(), split()),
            (None, 1, true, None, None),
            (Some(YesNo::Yes), 2, false, split(), split()),
            (Some(YesNo::No), 64, true, split(), None),
        ] {
            let found = pin(wish, cores, is_calibration, split).expect("possible");
            assert_eq!(found, expected, "{wish:?} {cores} {is_calibration}");
        }
        assert!(pin(Some(YesNo::Yes), 1, false, None).is_err());
    }

    #[test]
    fn the_cache_fits_the_machine() {
        for (memory_mib, expected) in
            [(None, 1024), (Some(24_000), 1024), (Some(8_192), 1024), (Some(8_000), 512), (Some(100), 64)]
        {
            assert_eq!(cache_mib(memory_mib), expected, "{memory_mib:?}");
        }
    }

    #[test]
    fn run_ids_tell_the_time_and_differ() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_069_730);
        let first = run_id(moment);
        assert!(first.starts_with("20261130T201530Z-") && first.len() == 21, "{first}");
        assert_ne!(first, run_id(moment + Duration::from_nanos(1)));
    }
}
