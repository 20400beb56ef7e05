//! Which samples, in what order; and one sample as a line of text, and back.
//!
//! Pure: checked values in, lines out. `run.sh` passes a line on and looks into it only for how the
//! server is to be started: `system=`, `durability=`, `transport=`, `rtt_us=`, `server_cores=`, `client_cores=` and `cache_mib=`.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::{
    error::bad_input,
    ledger::{Durability, System, Transport},
    machine::Pin,
    rng::Rng,
    runner::Load,
    timer::{self, Budget},
};

pub use crate::ledger::Style;

/// A family of benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Suite {
    /// The predecessor's benchmarks, request for request, on servers as shipped.
    Seed,
    /// The same guarantees and the same number of requests in every system.
    Ledger,
    /// What this machine itself takes, without any database: the least that a figure can be.
    Floor,
    /// What other load generators can do too: ours is held against them.
    Calibration,
    /// The ledger suite's transfers over a grid of batch, clients, contention, delay and durability: the map.
    Sweep,
}

/// What one op does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Benchmark {
    /// One transfer, read back.
    Basic,
    /// A hold, then its posting; read back in the seed suite.
    TwoPhase,
    /// One batch of transfers, read back.
    BasicBatch,
    /// One transfer, many clients at once.
    BasicParallel,
    /// One transfer.
    Single,
    /// One batch of transfers.
    Batch,
    /// One transfer, many clients at once, or many in flight, over many accounts.
    Parallel,
    /// One reading of the clock.
    Clock,
    /// Nothing, with its latency kept.
    Harness,
    /// 128 bytes to another process over TCP on this machine, and 128 back.
    Loopback,
    /// 4 KiB written past the kernel's cache and on disk when the write returns (`O_DIRECT`, `O_DSYNC`).
    DiskDsync,
    /// 4 KiB written past the kernel's cache, then `fdatasync`.
    DiskFdatasync,
    /// The smallest request that the server answers.
    RoundTrip,
    /// One transfer of the seed suite, without reading it back.
    Transfer,
    /// One batch of transfers, many clients at once: a cell of the map.
    Transfers,
}

impl Suite {
    /// Its name on the command line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Ledger => "ledger",
            Self::Floor => "floor",
            Self::Calibration => "calibration",
            Self::Sweep => "sweep",
        }
    }

    /// Whether its ops are those of the ledger's model, with accounts, tiers and styles to choose.
    #[must_use]
    pub fn is_of_ledger(self) -> bool {
        matches!(self, Self::Ledger | Self::Sweep)
    }

    /// Its benchmarks.
    #[must_use]
    pub fn benchmarks(self) -> &'static [Benchmark] {
        match self {
            Self::Seed => {
                &[Benchmark::Basic, Benchmark::TwoPhase, Benchmark::BasicBatch, Benchmark::BasicParallel]
            }
            Self::Ledger => &[Benchmark::Single, Benchmark::TwoPhase, Benchmark::Batch, Benchmark::Parallel],
            Self::Floor => &[
                Benchmark::Clock,
                Benchmark::Harness,
                Benchmark::Loopback,
                Benchmark::DiskDsync,
                Benchmark::DiskFdatasync,
            ],
            Self::Calibration => {
                &[Benchmark::RoundTrip, Benchmark::Transfer, Benchmark::Parallel, Benchmark::Batch]
            }
            Self::Sweep => &[Benchmark::Transfers],
        }
    }
}

impl Benchmark {
    /// Its name on the command line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::TwoPhase => "two_phase",
            Self::BasicBatch => "basic_batch",
            Self::BasicParallel => "basic_parallel",
            Self::Single => "single",
            Self::Batch => "batch",
            Self::Parallel => "parallel",
            Self::Clock => "clock",
            Self::Harness => "harness",
            Self::Loopback => "loopback",
            Self::DiskDsync => "disk_dsync",
            Self::DiskFdatasync => "disk_fdatasync",
            Self::RoundTrip => "round_trip",
            Self::Transfer => "transfer",
            Self::Transfers => "transfers",
        }
    }

    /// Whether `--clients` chooses its number of clients.
    #[must_use]
    pub fn takes_clients(self) -> bool {
        matches!(self, Self::BasicParallel | Self::Parallel | Self::RoundTrip | Self::Transfers)
    }

    /// Whether `--batch` chooses its number of transfers an op.
    #[must_use]
    pub fn takes_batch(self) -> bool {
        matches!(self, Self::BasicBatch | Self::Batch | Self::Transfers)
    }

    /// Whether `--in-flight` chooses how many ops a client has in flight.
    #[must_use]
    pub fn takes_in_flight(self) -> bool {
        matches!(self, Self::Batch | Self::Parallel | Self::Transfers)
    }

    /// Whether its ops can be due at given moments (`--rate`).
    #[must_use]
    pub fn takes_rate(self) -> bool {
        matches!(self, Self::Single | Self::Parallel | Self::Transfers)
    }

    /// Whether its ops are single transfers, or can be, so that a program that holds a transaction open could do them
    /// statement by statement (`--style interactive`).
    #[must_use]
    pub fn takes_style(self) -> bool {
        matches!(self, Self::Single | Self::Parallel | Self::Transfers)
    }

    /// Debits and credits that one op brings about; a hold and its posting are one.
    #[must_use]
    pub fn transfers_per_op(self, batch: u32) -> u32 {
        match self {
            Self::BasicBatch | Self::Batch | Self::Transfers => batch,
            Self::Clock
            | Self::Harness
            | Self::Loopback
            | Self::DiskDsync
            | Self::DiskFdatasync
            | Self::RoundTrip => 0,
            Self::Basic
            | Self::TwoPhase
            | Self::BasicParallel
            | Self::Single
            | Self::Parallel
            | Self::Transfer => 1,
        }
    }

    /// How often an op is done between two readings of the harness's clock: more than once where it
    /// takes less than a reading; no latency is kept then.
    #[must_use]
    pub fn repeats(self) -> u32 {
        if self == Self::Clock { 1_000 } else { 1 }
    }

    /// Commits of one op, each of which a durable system has on disk before it replies.
    #[must_use]
    pub fn commits_per_op(self) -> u32 {
        match self {
            Self::TwoPhase => 2,
            Self::Clock | Self::Harness | Self::Loopback | Self::RoundTrip => 0,
            Self::Basic
            | Self::BasicBatch
            | Self::BasicParallel
            | Self::Single
            | Self::Batch
            | Self::Parallel
            | Self::DiskDsync
            | Self::DiskFdatasync
            | Self::Transfer
            | Self::Transfers => 1,
        }
    }

    /// The systems that it can be measured on, of those that are compared.
    #[must_use]
    pub fn systems(self, suite: Suite) -> &'static [System] {
        match (suite, self) {
            (Suite::Floor, _) => &[System::Machine],
            (Suite::Calibration, Self::RoundTrip) => &[System::Redis, System::Postgres],
            (Suite::Calibration, Self::Transfer | Self::Parallel) => &[System::Postgres],
            (Suite::Calibration, _) => &[System::Tigerbeetle],
            _ => &[System::Tigerbeetle, System::Redis, System::Postgres, System::Memory],
        }
    }
}

macro_rules! display_by_name {
    ($($named:ty),*) => {$(
        impl fmt::Display for $named {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )*};
}
display_by_name!(Suite, Benchmark, Generator, Arrivals);

/// Who sends the requests and takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Generator {
    /// This program.
    Own,
    /// The tool that comes with the system.
    Peer,
}

impl Generator {
    /// Its name in a sample's line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Peer => "peer",
        }
    }
}

/// When ops begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Arrivals {
    /// Each when the one before has ended: a closed loop.
    Closed,
    /// At a fixed rate, evenly spaced.
    Even,
    /// At a fixed mean rate, independently of each other.
    Poisson,
}

impl Arrivals {
    /// Its name in a sample's line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The family.
    pub suite: Suite,
    /// What one op does.
    pub benchmark: Benchmark,
    /// Whose server does it.
    pub system: System,
    /// Where a write must have arrived before its reply.
    pub durability: Durability,
    /// Threads.
    pub clients: u32,
    /// Ops that each of them has in flight.
    pub in_flight: u32,
    /// Transfers in one batch.
    pub batch: u32,
    /// Accounts that money moves between.
    pub accounts: u32,
    /// Zipf's exponent in percent, by which accounts are chosen; 0: all alike.
    pub skew_pct: u32,
    /// When ops begin.
    pub arrivals: Arrivals,
    /// How many of all clients together are due in a second; 0 in a closed loop.
    pub rate_per_s: u32,
    /// What a relay adds to each round trip, half of it each way, in microseconds; 0: there is none.
    pub rtt_us: u32,
    /// How PostgreSQL is asked.
    pub style: Style,
    /// Transfers that are stored before the sample.
    pub preload: u64,
    /// How requests reach the server.
    pub transport: Transport,
    /// Who sends them.
    pub generator: Generator,
}

impl Case {
    /// One client with one request in flight, between two accounts.
    #[must_use]
    pub fn plainest(suite: Suite, benchmark: Benchmark, system: System) -> Self {
        Self {
            suite,
            benchmark,
            system,
            durability: Durability::Shipped,
            clients: 1,
            in_flight: 1,
            batch: 1,
            accounts: 2,
            skew_pct: 0,
            arrivals: Arrivals::Closed,
            rate_per_s: 0,
            rtt_us: 0,
            style: Style::OneCall,
            preload: 0,
            transport: Transport::Tcp,
            generator: Generator::Own,
        }
    }

    /// Whether its requests leave the process.
    #[must_use]
    pub fn is_networked(&self) -> bool {
        match self.system {
            System::Tigerbeetle | System::Redis | System::Postgres => true,
            System::Machine => self.benchmark == Benchmark::Loopback,
            System::Memory => false,
        }
    }

    /// Transfers that all its clients together have in flight.
    #[must_use]
    pub fn transfers_in_flight(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.in_flight) * u64::from(self.batch)
    }

    /// Whether it is asked for in one style or another.
    #[must_use]
    pub fn has_style(&self) -> bool {
        self.system == System::Postgres
            && self.suite.is_of_ledger()
            && self.benchmark.takes_style()
            && self.batch == 1
    }

    /// A floor repeats itself so often that a quarter of the time tells it.
    fn load(&self, load: Load) -> Load {
        const SHORTENED: u64 = 4;
        if self.suite != Suite::Floor {
            return load;
        }
        let time_ns = load.budget.time_ns.map(|time_ns| (time_ns / SHORTENED).max(1));
        Load {
            warmup_ns: load.warmup_ns / SHORTENED,
            budget: Budget { time_ns, ..load.budget },
            interval_ns: None,
        }
    }
}

/// As errors and progress lines name it, beside the system: what differs from the plainest case.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = vec![format!("{} {}", self.suite, self.benchmark)];
        if self.suite.is_of_ledger() {
            words[0] = format!("{} {}", words[0], self.durability);
        }
        let counts = [
            (self.clients, 1, "clients"),
            (self.in_flight, 1, "in flight"),
            (self.batch, 1, "a batch"),
            (self.accounts, 2, "accounts"),
        ];
        let unusual = counts.iter().filter(|(count, usual, _)| count != usual);
        words.extend(unusual.map(|(count, _, what)| format!("{count} {what}")));
        if self.skew_pct > 0 {
            words.push(format!("skew {}.{:02}", self.skew_pct / 100, self.skew_pct % 100));
        }
        if self.rate_per_s > 0 {
            words.push(format!("{} a second ({})", self.rate_per_s, self.arrivals));
        }
        if self.rtt_us > 0 {
            words.push(format!(
                "rtt {}",
                humantime::format_duration(Duration::from_micros(self.rtt_us.into()))
            ));
        }
        if self.style == Style::Interactive {
            words.push(self.style.name().into());
        }
        if self.preload > 0 {
            words.push(format!("{} stored before", self.preload));
        }
        if self.transport == Transport::Unix {
            words.push("unix socket".into());
        }
        if self.generator == Generator::Peer {
            words.push("by its own tool".into());
        }
        f.pad(&words.join(", "))
    }
}

/// How every sample of a run is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What tells this run's rows from others'.
    pub run_id: String,
    /// Passes over all cases.
    pub rounds: u32,
    /// Warm-up and measured part.
    pub load: Load,
    /// Where every random choice starts.
    pub seed: u64,
    /// The longest wait for one reply.
    pub timeout: Duration,
    /// What `run.sh` gives a server of the ledger suite to cache data in, TigerBeetle and
    /// PostgreSQL alike.
    pub cache_mib: u32,
    /// The machine's load before the run, in hundredths of a runnable process; `None` for unknown.
    pub load_before_pct: Option<u64>,
    /// The cores that `run.sh` keeps a server on and those of the measuring process, where it does.
    pub pin: Option<Pin>,
    /// The user's label for the machine; may be empty.
    pub host: String,
    /// The revision of the checkout at the time of planning; may be empty.
    pub git_revision: String,
}

/// Everything that one process needs to know to measure one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSpec {
    /// What to measure.
    pub case: Case,
    /// How.
    pub settings: Settings,
    /// Its round, from 1.
    pub round: u32,
    /// Its place in the run, from 1.
    pub number: u32,
    /// Samples in the run.
    pub total: u32,
}

/// Lays out the rounds: each has every case once, in an order shuffled by the seed, so that a
/// drift of the machine hits all systems alike.
pub fn schedule(cases: &[Case], settings: &Settings) -> Result<Vec<SampleSpec>> {
    let per_round = u32::try_from(cases.len()).context("more cases than a plan can number")?;
    let total = per_round.checked_mul(settings.rounds).ok_or_else(|| {
        bad_input(format!("{per_round} cases in {} rounds are too many samples", settings.rounds))
    })?;
    let mut samples = Vec::new();
    for round in 1..=settings.rounds {
        let mut order = cases.to_vec();
        Rng::new(settings.seed, u64::from(round)).shuffle(&mut order);
        for (number, case) in (samples.len() as u64 + 1..).zip(order) {
            let number = u32::try_from(number).context("the total fits")?;
            let settings = Settings { load: case.load(settings.load), ..settings.clone() };
            samples.push(SampleSpec { case, settings, round, number, total });
        }
    }
    Ok(samples)
}

impl fmt::Display for SampleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { suite, benchmark, system, durability, clients, in_flight, batch, accounts, .. } =
            self.case;
        let Case { skew_pct, arrivals, rate_per_s, rtt_us, style, preload, transport, generator, .. } =
            self.case;
        let Settings { run_id, rounds, load, seed, timeout, cache_mib, host, .. } = &self.settings;
        let Settings { git_revision, load_before_pct, pin, .. } = &self.settings;
        write!(f, "run_id={run_id} number={} total={} round={}", self.number, self.total, self.round)?;
        write!(f, " rounds={rounds} suite={suite} benchmark={benchmark} system={system}")?;
        write!(f, " durability={durability} clients={clients} in_flight={in_flight} batch={batch}")?;
        write!(f, " accounts={accounts} skew_pct={skew_pct} arrivals={arrivals} rate_per_s={rate_per_s}")?;
        write!(
            f,
            " rtt_us={rtt_us} style={style} preload={preload} transport={transport} generator={generator}"
        )?;
        let (server, client) = pin.as_ref().map_or(("", ""), |pin| (&pin.server, &pin.client));
        write!(f, " server_cores={server} client_cores={client} cache_mib={cache_mib}")?;
        write!(f, " load_before_pct={}", Blank(*load_before_pct))?;
        write!(f, " interval_ns={}", Blank(load.interval_ns))?;
        write!(f, " warmup_ns={}", load.warmup_ns)?;
        write!(f, " time_ns={}", Blank(load.budget.time_ns))?;
        write!(f, " ops={} seed={seed}", Blank(load.budget.ops))?;
        write!(f, " timeout_ns={} host={host} git={git_revision}", timer::duration_ns(*timeout))
    }
}

/// A number, or nothing.
struct Blank(Option<u64>);

impl fmt::Display for Blank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |value| value.fmt(f))
    }
}

impl FromStr for SampleSpec {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self> {
        let mut words = Words::split(line)?;
        let spec = Self {
            number: words.parse("number")?,
            total: words.parse("total")?,
            round: words.parse("round")?,
            case: Case {
                suite: words.choice("suite")?,
                benchmark: words.choice("benchmark")?,
                system: words.choice("system")?,
                durability: words.choice("durability")?,
                clients: words.parse("clients")?,
                in_flight: words.parse("in_flight")?,
                batch: words.parse("batch")?,
                accounts: words.parse("accounts")?,
                skew_pct: words.parse("skew_pct")?,
                arrivals: words.choice("arrivals")?,
                rate_per_s: words.parse("rate_per_s")?,
                rtt_us: words.parse("rtt_us")?,
                style: words.choice("style")?,
                preload: words.parse("preload")?,
                transport: words.choice("transport")?,
                generator: words.choice("generator")?,
            },
            settings: Settings {
                run_id: words.take("run_id")?.to_owned(),
                rounds: words.parse("rounds")?,
                load: Load {
                    warmup_ns: words.parse("warmup_ns")?,
                    budget: Budget {
                        time_ns: words.parse_or_blank("time_ns")?,
                        ops: words.parse_or_blank("ops")?,
                    },
                    interval_ns: words.parse_or_blank("interval_ns")?,
                },
                seed: words.parse("seed")?,
                timeout: Duration::from_nanos(words.parse("timeout_ns")?),
                cache_mib: words.parse("cache_mib")?,
                load_before_pct: words.parse_or_blank("load_before_pct")?,
                pin: Pin::of(words.take("server_cores")?, words.take("client_cores")?),
                host: words.take("host")?.to_owned(),
                git_revision: words.take("git")?.to_owned(),
            },
        };
        words.ensure_all_used()?;
        let SampleSpec { case, settings, number, total, round } = &spec;
        let budget = settings.load.budget;
        ensure!(case.suite.benchmarks().contains(&case.benchmark), "a benchmark of another suite");
        ensure!(case.benchmark.systems(case.suite).contains(&case.system), "a system of another suite");
        ensure!(
            case.generator == Generator::Own || case.suite == Suite::Calibration,
            "a peer of no calibration"
        );
        let counts = [case.clients, case.in_flight, case.batch, *number, *round];
        let positive = counts.iter().all(|&count| count > 0) && case.accounts > 1;
        ensure!(positive && number <= total && *round <= settings.rounds, "a number out of its range");
        ensure!(
            (case.rate_per_s > 0) == (case.arrivals != Arrivals::Closed),
            "a rate without arrivals, or they without it"
        );
        let limits = [budget.time_ns, budget.ops];
        ensure!(limits.iter().any(Option::is_some), "neither time_ns nor ops is set");
        ensure!(
            limits.iter().chain([&settings.load.interval_ns]).all(|limit| *limit != Some(0)),
            "a limit of 0"
        );
        Ok(spec)
    }
}

/// The `name=value` words of a line.
struct Words<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Words<'a> {
    fn split(line: &'a str) -> Result<Self> {
        let mut words = BTreeMap::new();
        for word in line.split_whitespace() {
            let (name, value) =
                word.split_once('=').with_context(|| format!("{word:?} is not name=value"))?;
            ensure!(words.insert(name, value).is_none(), "{name}= stands twice");
        }
        Ok(Self(words))
    }

    fn take(&mut self, name: &str) -> Result<&'a str> {
        self.0.remove(name).with_context(|| format!("{name}= is missing"))
    }

    fn parse<T>(&mut self, name: &str) -> Result<T>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.take(name)?.parse().with_context(|| format!("{name}="))
    }

    fn parse_or_blank(&mut self, name: &str) -> Result<Option<u64>> {
        match self.take(name)? {
            "" => Ok(None),
            value => value.parse().map(Some).with_context(|| format!("{name}=")),
        }
    }

    fn choice<T: ValueEnum>(&mut self, name: &str) -> Result<T> {
        T::from_str(self.take(name)?, false).map_err(|error| anyhow::anyhow!("{name}=: {error}"))
    }

    fn ensure_all_used(&self) -> Result<()> {
        ensure!(self.0.is_empty(), "unknown words: {:?}", self.0.keys());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            run_id: "20261130T201530Z-3f2a".into(),
            rounds: 3,
            load: Load { warmup_ns: 5, budget: Budget { time_ns: Some(7), ops: None }, interval_ns: None },
            seed: 42,
            timeout: Duration::from_secs(30),
            cache_mib: 1024,
            load_before_pct: Some(37),
            pin: None,
            host: String::new(),
            git_revision: "g7e123456".into(),
        }
    }

    fn cases() -> Vec<Case> {
        let case = |benchmark, system| Case {
            clients: 2,
            in_flight: 4,
            batch: 3,
            accounts: 5,
            skew_pct: 109,
            transport: Transport::Unix,
            ..Case::plainest(Suite::Seed, benchmark, system)
        };
        let benchmarks = Suite::Seed.benchmarks().iter();
        benchmarks.flat_map(|&benchmark| System::SERVERS.map(|system| case(benchmark, system))).collect()
    }

    #[test]
    fn every_round_has_every_case_once_in_an_order_of_its_own() {
        let samples = schedule(&cases(), &settings()).expect("few");
        assert_eq!(samples.len(), 36);
        let rounds: Vec<Vec<Case>> =
            samples.chunks(12).map(|round| round.iter().map(|sample| sample.case).collect()).collect();
        for (round, order) in (1..).zip(&rounds) {
            let mut sorted = order.clone();
            sorted.sort();
            let mut expected = cases();
            expected.sort();
            assert_eq!(sorted, expected);
            assert!(
                samples[(round - 1) * 12..round * 12].iter().all(|sample| sample.round as usize == round)
            );
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
        assert!(
            samples.iter().zip(1..).all(|(sample, number)| sample.number == number && sample.total == 36)
        );
        assert_eq!(samples, schedule(&cases(), &settings()).expect("few"), "the seed decides the order");
    }

    #[test]
    fn too_many_samples_are_refused() {
        let settings = Settings { rounds: u32::MAX, ..settings() };
        assert!(schedule(&cases(), &settings).is_err());
    }

    #[test]
    fn a_line_reads_back_as_the_sample_that_wrote_it() {
        let mut samples = schedule(&cases(), &settings()).expect("few");
        samples[0].settings.load.budget = Budget { time_ns: None, ops: Some(9) };
        samples[1].settings.host = "lab-7".into();
        samples[2].settings.pin = Pin::of("0,1", "2,3");
        samples[3].settings.load_before_pct = None;
        let calibration = Case::plainest(Suite::Calibration, Benchmark::RoundTrip, System::Redis);
        samples[4].case = Case { generator: Generator::Peer, ..calibration };
        for sample in samples {
            let line = sample.to_string();
            assert_eq!(line.parse::<SampleSpec>().expect(&line), sample);
        }
    }

    #[test]
    fn a_broken_line_says_what_is_wrong() {
        let line = schedule(&cases(), &settings()).expect("few")[0].to_string();
        let broken = |from: &str, to: &str| {
            let broken = line.replacen(from, to, 1);
            assert_ne!(broken, line);
            format!("{:#}", broken.parse::<SampleSpec>().expect_err(&broken))
        };
        assert_eq!(broken("batch=3 ", ""), "batch= is missing");
        assert_eq!(broken("batch=3", "batch=x"), "batch=: invalid digit found in string");
        assert_eq!(broken("batch=3", "batch=3 batch=3"), "batch= stands twice");
        assert_eq!(broken("batch=3", "batch=3 butch=3"), "unknown words: [\"butch\"]");
        assert_eq!(broken("batch=3", "batch"), "\"batch\" is not name=value");
        assert_eq!(broken("suite=seed", "suite=sead"), "suite=: invalid variant: sead");
        assert_eq!(broken("suite=seed", "suite=ledger"), "a benchmark of another suite");
        assert_eq!(broken("generator=own", "generator=peer"), "a peer of no calibration");
        let benchmark = line.split(' ').find(|word| word.starts_with("benchmark=")).expect("it has one");
        let floor = broken(&format!("suite=seed {benchmark}"), "suite=floor benchmark=clock");
        assert_eq!(floor, "a system of another suite");
        assert_eq!(broken("clients=2", "clients=0"), "a number out of its range");
        assert_eq!(broken("time_ns=7", "time_ns="), "neither time_ns nor ops is set");
        assert_eq!(broken("ops=", "ops=0"), "a limit of 0");
    }

    #[test]
    fn the_seed_changes_the_order() {
        let order = |seed| {
            let samples = schedule(&cases(), &Settings { seed, ..settings() }).expect("few");
            samples.iter().map(|sample| sample.case).collect::<Vec<_>>()
        };
        assert_ne!(order(42), order(43));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let line = schedule(&cases(), &settings()).expect("few")[0].to_string();
        for (from, to) in [
            ("batch=3", "batch=0"),
            ("in_flight=4", "in_flight=0"),
            ("accounts=5", "accounts=1"),
            (" number=1 ", " number=0 "),
            (" number=1 ", " number=37 "),
            (" round=1 ", " round=0 "),
            (" round=1 ", " round=4 "),
        ] {
            let broken = line.replacen(from, to, 1);
            assert_ne!(broken, line);
            let error = broken.parse::<SampleSpec>().expect_err(&broken);
            assert_eq!(error.to_string(), "a number out of its range", "{to}");
        }
    }

    #[test]
    fn a_case_names_what_tells_it_apart() {
        let case = cases()[0];
        assert_eq!(
            Case { generator: Generator::Peer, ..case }.to_string(),
            "seed basic, 2 clients, 4 in flight, 3 a batch, 5 accounts, skew 1.09, unix socket, by its own tool"
        );
        let plainest = Case::plainest(Suite::Seed, Benchmark::Basic, System::Redis);
        assert_eq!(plainest.to_string(), "seed basic");
        assert_eq!(Case { suite: Suite::Ledger, ..plainest }.to_string(), "ledger basic shipped");
    }
}
