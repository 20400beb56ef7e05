//! The command line: flags, and their way to a checked plan. `values` checks one flag, `check` all together.

use std::{env, ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Result;
use clap::{Args, Parser, Subcommand, error::ErrorKind};

use crate::{
    error::bad_input,
    ledger::{Durability, System, Transport},
    plan::{Arrivals, Benchmark, Style, Suite},
};
use values::{RTT_MAX_US, duration, duration_or_zero, interval, label, number, rtt_us, skew_pct};

mod check;
mod report;
mod sweep;
mod values;

pub use check::{CheckedPlan, plan_path};
pub use report::{CompareArgs, ComparisonFormat, Format, ReportArgs};
pub use sweep::{CheckedSweep, SweepArgs};

/// The most transfers that one TigerBeetle request holds.
const BATCH_MAX: u32 = 8_189;
const CLIENTS_MAX: u32 = 1_024;
const IN_FLIGHT_MAX: u32 = 8_192;
const ACCOUNTS_MAX: u32 = 1_000_000;
const ROUNDS_MAX: u32 = 1_000;
const RATE_MAX_PER_S: u32 = 10_000_000;
const PRELOAD_MAX: u64 = 1_000_000_000;
/// More than any sample needs.
const OPS_MAX: u64 = 100_000_000;
/// 15 digits, as every number of a row.
const SEED_MAX: u64 = 999_999_999_999_999;

/// How fast TigerBeetle, Redis and PostgreSQL move money, on your own machine.
///
/// Usually called by ./run.sh, which starts the servers, plans, and runs one process a sample.
#[derive(Debug, Parser)]
#[command(version, infer_long_args = false)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Checks the flags and prints the run: its settings, then one line a sample.
    Plan(Box<PlanArgs>),
    /// The same for a sweep, which it also notes beside the rows, to be resumed.
    Sweep(Box<SweepArgs>),
    /// Measures one sample, given as a line of the plan, and appends its row.
    Run(RunArgs),
    /// Waits until a server answers.
    Ping(PingArgs),
    /// Sends back what it is sent: the other end of the floor of a round trip.
    Echo(EchoArgs),
    /// Passes on what clients and a server send each other, with a delay: a network of one's own.
    Relay(RelayArgs),
    /// Shows what the rows of a run say.
    Report(ReportArgs),
    /// Compares two files of rows, or two runs, case by case.
    Compare(CompareArgs),
    /// Measures what the harness itself costs an op, on 1 and on 2 threads.
    Overhead(OverheadArgs),
}

/// The flags of a run.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// Suites to run [default: seed and ledger, and floor unless only some benchmarks or systems are asked for].
    #[arg(long, value_delimiter = ',')]
    pub suite: Vec<Suite>,
    /// Benchmarks to run [default: all of the suites].
    #[arg(long, value_delimiter = ',')]
    pub benchmark: Vec<Benchmark>,
    /// Systems to measure [default: tigerbeetle,redis,postgres].
    #[arg(long, value_delimiter = ',')]
    pub system: Vec<System>,
    /// Where a write of the ledger suite must have arrived before its reply [default: fsync].
    #[arg(long, value_delimiter = ',')]
    pub durability: Vec<Durability>,
    /// Clients of parallel [default: 64], basic_parallel [default: as many as cores] and `round_trip` [default: 1,64].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(CLIENTS_MAX)))]
    pub clients: Vec<u32>,
    /// Requests that each client of parallel and batch has in flight [default: 1]; PostgreSQL takes no more.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(IN_FLIGHT_MAX)))]
    pub in_flight: Vec<u32>,
    /// Transfers in a batch of batch and basic_batch [default: 1000].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(BATCH_MAX)))]
    pub batch: Vec<u32>,
    /// Accounts of the ledger suite [default: 2, of parallel and transfers: 10000].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(2, u64::from(ACCOUNTS_MAX)))]
    pub accounts: Vec<u32>,
    /// Zipf's exponent, by which accounts of the ledger suite are chosen; 0: all alike [default: 0].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = skew_pct)]
    pub skew: Vec<u32>,
    /// What a relay adds to each round trip, half each way, such as 250us or 1ms [default: 0: no relay].
    #[arg(long, value_name = "DURATION", value_delimiter = ',', allow_hyphen_values = true, value_parser = rtt_us)]
    pub rtt: Vec<u32>,
    /// How many ops of single, parallel and transfers are due in a second, of all clients together [default: each begins
    /// when the one before has ended].
    #[arg(long, value_name = "PER_S", value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(RATE_MAX_PER_S)))]
    pub rate: Vec<u32>,
    /// How ops that are due at a rate are spaced [default: poisson].
    #[arg(long, requires = "rate")]
    pub arrivals: Option<OpenArrivals>,
    /// How PostgreSQL is asked for a single transfer: by one call of a function, or by a transaction of several
    /// statements [default: one-call].
    #[arg(long, value_delimiter = ',')]
    pub style: Vec<Style>,
    /// Transfers that the ledger holds before the sample [default: 0].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u64>(0, PRELOAD_MAX))]
    pub preload: Vec<u64>,
    /// How requests reach Redis and PostgreSQL [default: tcp].
    #[arg(long, value_delimiter = ',')]
    pub transport: Vec<Transport>,
    /// Passes over all cases [default: 6].
    #[arg(long, allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Warm-up of a sample [default: 500ms].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration_or_zero)]
    pub warmup: Option<Duration>,
    /// Measured time of a sample [default: 1s, unless --ops is given].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub time: Option<Duration>,
    /// Measured ops of a sample, of all its clients together; with --time the first of both ends it.
    #[arg(long, allow_hyphen_values = true, value_parser = number::<u64>(1, OPS_MAX))]
    pub ops: Option<u64>,
    /// One round of short samples: a look, not a measurement.
    #[arg(long)]
    pub quick: bool,
    /// Also keep a time series, a line an interval of 100ms or more, in a file beside the rows: FILE.series.csv [default: none].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = interval)]
    pub interval: Option<Duration>,
    /// Where every random choice starts, such as the order of the cases.
    #[arg(long, default_value_t = 42, allow_hyphen_values = true, value_parser = number::<u64>(0, SEED_MAX))]
    pub seed: u64,
    /// Keep servers and clients on cores of their own [default: yes from 4 cores up, and in a calibration].
    #[arg(long, value_name = "YES|NO", num_args = 0..=1, default_missing_value = "yes", require_equals = false)]
    pub pin: Option<YesNo>,
    /// The longest wait for one reply.
    #[arg(long, value_name = "DURATION", default_value = "30s", allow_hyphen_values = true, value_parser = duration)]
    pub timeout: Duration,
    /// A label for this machine in the rows [default: blank].
    #[arg(long, default_value = "", value_parser = label)]
    pub host: String,
    /// Where the rows go [default: results/results.csv, of the calibration suite results/calibration.csv].
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Where the servers of ./run.sh keep their data: the disk that is measured.
    #[arg(long, value_name = "DIR", default_value = "target/servers")]
    pub data: PathBuf,
}

/// How ops that are due at a rate are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OpenArrivals {
    /// All alike.
    Even,
    /// Independently of each other.
    Poisson,
}

impl From<OpenArrivals> for Arrivals {
    fn from(arrivals: OpenArrivals) -> Self {
        match arrivals {
            OpenArrivals::Even => Self::Even,
            OpenArrivals::Poisson => Self::Poisson,
        }
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum YesNo {
    /// Do.
    Yes,
    /// Do not.
    No,
}

/// The flags of one sample.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Where the row goes.
    #[arg(long, value_name = "FILE")]
    pub csv: PathBuf,
    /// When the run began, in Unix seconds: what the time left is reckoned from.
    #[arg(long, value_name = "UNIX_S")]
    pub since: Option<u64>,
    /// The folder of the server's data, where it is known.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Fail unless the server is empty before our accounts are made.
    #[arg(long)]
    pub fresh: bool,
    /// A sample's line of the plan.
    pub sample: String,
}

/// The flags of `ping`.
#[derive(Args, Debug)]
pub struct PingArgs {
    /// Whose server.
    pub system: System,
    /// How long to try.
    #[arg(long, value_name = "DURATION", default_value = "30s", allow_hyphen_values = true, value_parser = duration)]
    pub timeout: Duration,
}

/// The flags of `echo`.
#[derive(Args, Debug)]
pub struct EchoArgs {
    /// Where it listens, on 127.0.0.1.
    #[arg(long)]
    pub port: u16,
}

/// The flags of `relay`.
#[derive(Args, Debug)]
pub struct RelayArgs {
    /// Where it listens, on 127.0.0.1.
    #[arg(long)]
    pub port: u16,
    /// The server's address.
    #[arg(long, value_name = "IP:PORT")]
    pub to: SocketAddr,
    /// What it adds to each round trip, half each way, in microseconds.
    #[arg(long, value_name = "US", allow_hyphen_values = true, value_parser = number::<u32>(0, RTT_MAX_US))]
    pub rtt_us: u32,
}

/// The flags of `overhead`.
#[derive(Args, Debug)]
pub struct OverheadArgs {
    /// Measured time of each sample.
    #[arg(long, value_name = "DURATION", default_value = "200ms", allow_hyphen_values = true, value_parser = duration)]
    pub time: Duration,
    /// Samples of each number of threads, in turn.
    #[arg(long, default_value_t = 5, allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(ROUNDS_MAX)))]
    pub rounds: u32,
}

/// Reads the command line; prints help and version itself.
pub fn parse() -> Result<Command> {
    parse_from(env::args_os())
}

/// The same from given words.
pub fn parse_from(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Command> {
    match Cli::try_parse_from(words) {
        Ok(cli) => Ok(cli.command),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            error.exit()
        }
        Err(error) => Err(bad_input(one_line(&error))),
    }
}

/// clap's message of several lines as one: what is wrong, what is possible, the near match.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let told = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let wanted =
        told.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let joined = wanted.collect::<Vec<_>>().join("; ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine,
        plan::{Case, Generator, Settings},
        timer::Budget,
    };

    fn plan(flags: &str) -> Result<PlanArgs> {
        let words = ["ledger-bench", "plan"].into_iter().chain(flags.split_whitespace());
        match parse_from(words)? {
            Command::Plan(args) => Ok(*args),
            other => panic!("{other:?} is no plan"),
        }
    }

    fn settings(flags: &str) -> Result<Settings> {
        let cases = plan(flags)?.cases().unwrap_or_default(); // what is wrong with those is another test's
        plan(flags)?.settings(&cases)
    }

    fn cases(flags: &str) -> Result<Vec<Case>> {
        plan(flags)?.cases()
    }

    fn refusal(flags: &str) -> String {
        format!("{:#}", cases(flags).expect_err(flags))
    }

    fn of(cases: &[Case], suite: Suite, benchmark: Benchmark) -> Vec<Case> {
        let wanted = |case: &&Case| case.suite == suite && case.benchmark == benchmark;
        cases.iter().filter(wanted).copied().collect()
    }

    #[test]
    fn the_default_is_both_suites_on_all_systems_and_the_floor() {
        let cases = cases("").expect("valid");
        assert_eq!(cases.len(), 24 + 5);
        let shape = |suite, benchmark| {
            let cases = of(&cases, suite, benchmark);
            assert_eq!(cases.iter().map(|case| case.system).collect::<Vec<_>>(), System::SERVERS);
            let Case { durability, clients, in_flight, batch, accounts, skew_pct, .. } = cases[0];
            (durability, clients, in_flight, batch, accounts, skew_pct)
        };
        let cores = machine::cores();
        for (suite, benchmark, expected) in [
            (Suite::Seed, Benchmark::Basic, (Durability::Shipped, 1, 1, 1, 2, 0)),
            (Suite::Seed, Benchmark::TwoPhase, (Durability::Shipped, 1, 1, 1, 2, 0)),
            (Suite::Seed, Benchmark::BasicBatch, (Durability::Shipped, 1, 1, 1000, 2, 0)),
            (Suite::Seed, Benchmark::BasicParallel, (Durability::Shipped, cores, 1, 1, 2, 0)),
            (Suite::Ledger, Benchmark::Single, (Durability::Fsync, 1, 1, 1, 2, 0)),
            (Suite::Ledger, Benchmark::TwoPhase, (Durability::Fsync, 1, 1, 1, 2, 0)),
            (Suite::Ledger, Benchmark::Batch, (Durability::Fsync, 1, 1, 1000, 2, 0)),
            (Suite::Ledger, Benchmark::Parallel, (Durability::Fsync, 64, 1, 1, 10_000, 0)),
        ] {
            assert_eq!(shape(suite, benchmark), expected, "{suite} {benchmark}");
        }
    }

    #[test]
    fn the_floor_comes_with_a_whole_run_or_by_its_name() {
        let floors = |flags: &str| {
            let cases = cases(flags).expect(flags);
            assert!(
                cases.iter().all(|case| (case.suite == Suite::Floor) == (case.system == System::Machine))
            );
            cases.iter().filter(|case| case.suite == Suite::Floor).count()
        };
        for (flags, count) in [
            ("", 5),
            ("--durability fsync", 5),
            ("--system redis", 0),
            ("--benchmark single", 0),
            ("--suite ledger", 0),
            ("--suite ledger,floor --system redis", 5),
            ("--benchmark single,loopback --system redis", 1),
            ("--suite floor --benchmark clock,disk_dsync", 2),
        ] {
            assert_eq!(floors(flags), count, "{flags}");
        }
    }

    #[test]
    fn a_calibration_has_each_case_by_us_and_by_the_system_s_own_tool() {
        let all = cases("--suite calibration").expect("valid");
        let (ours, theirs): (Vec<Case>, Vec<Case>) =
            all.iter().copied().partition(|case| case.generator == Generator::Own);
        let as_ours = |case: &Case| Case { generator: Generator::Own, ..*case };
        assert_eq!(theirs.iter().map(as_ours).collect::<Vec<_>>(), ours);
        let count = |benchmark, system| {
            ours.iter().filter(|case| case.benchmark == benchmark && case.system == system).count()
        };
        assert_eq!(count(Benchmark::RoundTrip, System::Redis), 4, "1 and 64 clients, over TCP and a socket");
        assert_eq!(count(Benchmark::RoundTrip, System::Postgres), 4);
        assert_eq!(count(Benchmark::Transfer, System::Postgres), 2);
        assert_eq!(count(Benchmark::Batch, System::Tigerbeetle), 1);
        assert_eq!(count(Benchmark::Parallel, System::Postgres), 2);
        assert_eq!(ours.len(), 13);
        let two = cases("--benchmark round_trip --system redis --clients 2,8").expect("valid");
        assert_eq!(two.iter().filter(|case| [2, 8].contains(&case.clients)).count(), 2 * 2 * 2);
        let batch = of(&ours, Suite::Calibration, Benchmark::Batch)[0];
        assert_eq!((batch.batch, batch.accounts, batch.clients), (8_189, 10_000, 1));
        assert!(cases("").expect("valid").iter().all(|case| case.generator == Generator::Own));
    }

    #[test]
    fn transports_multiply_where_a_client_has_both() {
        let cases = cases("--system redis,memory --benchmark single --transport tcp,unix").expect("valid");
        let told: Vec<_> = cases.iter().map(|case| (case.system, case.transport)).collect();
        let expected = [
            (System::Redis, Transport::Tcp),
            (System::Redis, Transport::Unix),
            (System::Memory, Transport::Tcp),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn cores_are_kept_apart_if_asked_for() {
        let pin = |flags: &str| settings(flags).map(|settings| settings.pin);
        assert_eq!(pin("--pin no").expect("valid"), None);
        assert_eq!(pin("--pin --quick").ok(), pin("--pin yes").ok());
        let here = machine::split();
        assert_eq!(pin("--pin yes").ok(), here.clone().map(Some));
        assert_eq!(pin("--suite calibration").expect("valid"), here, "on few cores too");
    }

    #[test]
    fn lists_multiply_where_they_apply() {
        let flags = "--system redis,memory --clients 1,4,16 --batch 10,100 --accounts 2,7,9 --skew 0,0.5";
        let cases = cases(flags).expect("valid");
        let count = |suite, benchmark| of(&cases, suite, benchmark).len();
        assert_eq!(count(Suite::Seed, Benchmark::Basic), 2);
        assert_eq!(count(Suite::Seed, Benchmark::BasicParallel), 2 * 3);
        assert_eq!(count(Suite::Seed, Benchmark::BasicBatch), 2 * 2);
        assert_eq!(count(Suite::Ledger, Benchmark::Single), 2 * 3 * 2);
        assert_eq!(count(Suite::Ledger, Benchmark::Batch), 2 * 2 * 3 * 2);
        assert_eq!(count(Suite::Ledger, Benchmark::Parallel), 2 * 3 * 3 * 2);
    }

    #[test]
    fn a_benchmark_brings_its_suites() {
        let suites = |flags| {
            let mut suites: Vec<_> = cases(flags).expect("valid").iter().map(|case| case.suite).collect();
            suites.dedup();
            suites
        };
        assert_eq!(suites("--benchmark batch,single"), [Suite::Ledger]);
        assert_eq!(suites("--benchmark basic"), [Suite::Seed]);
        assert_eq!(suites("--benchmark two_phase"), [Suite::Seed, Suite::Ledger]);
        assert_eq!(suites("--suite ledger --benchmark two_phase"), [Suite::Ledger]);
        assert_eq!(suites("--benchmark round_trip"), [Suite::Calibration]);
    }

    #[test]
    fn tiers_multiply_the_ledger_suite_alone() {
        let cases = cases("--system redis --durability fsync,os-cache,memory").expect("valid");
        let tiers = |suite| {
            let cases =
                cases.iter().filter(|case| case.suite == suite && case.benchmark == Benchmark::TwoPhase);
            cases.map(|case| case.durability.name()).collect::<Vec<_>>()
        };
        assert_eq!(tiers(Suite::Seed), ["shipped"]);
        assert_eq!(tiers(Suite::Ledger), ["fsync", "os-cache", "memory"]);
    }

    #[test]
    fn wrong_values_are_named_with_what_is_right() {
        let refusals = [
            (
                "--suite sead",
                "invalid value 'sead' for '--suite <SUITE>'; [possible values: seed, ledger, floor, calibration, sweep]; tip: a similar value exists: 'seed'",
            ),
            ("--benchmark basci", "tip: a similar value exists: 'basic'"),
            ("--system postgress", "tip: a similar value exists: 'postgres'"),
            ("--round 3", "tip: a similar argument exists: '--rounds'"),
            ("--rounds 0", "--rounds <ROUNDS>': wants a whole number from 1 to 1000"),
            ("--clients 0", "wants a whole number from 1 to 1024"),
            ("--clients -3", "wants a whole number from 1 to 1024"),
            ("--batch 8190", "wants a whole number from 1 to 8189"),
            ("--ops 0", "wants a whole number from 1 to 100000000"),
            ("--time -1s", "wants a number with its unit"),
            ("--time 1", "wants a number with its unit"),
            ("--time 0", "wants a number with its unit"),
            ("--time 0s", "wants more than 0"),
            ("--warmup 2days", "wants a day at most"),
            ("--timeout 0s", "wants more than 0"),
            ("--host =1", "wants a letter"),
            ("--clients 2,2", "--clients names a value twice"),
            (
                "--benchmark basic --clients 2",
                "--clients is for parallel, transfers, basic_parallel and round_trip, which is not among the cases",
            ),
            (
                "--benchmark basic --batch 2",
                "--batch is for batch, transfers and basic_batch, which is not among",
            ),
            (
                "--suite seed --accounts 3",
                "--accounts is for the suites ledger and sweep, which is not among the cases",
            ),
            ("--suite seed --skew 1", "--skew is for the suites ledger and sweep"),
            ("--suite seed --durability fsync", "--durability is for the suites ledger and sweep"),
            ("--benchmark single --in-flight 2", "--in-flight is for parallel, transfers and batch"),
            ("--suite seed --benchmark single", "--benchmark single is of a suite that --suite leaves out"),
            (
                "--durability memory",
                "--durability memory: tigerbeetle has fsync alone: leave it out by --system",
            ),
            ("--durability shipped --system tigerbeetle", "tigerbeetle has fsync alone"),
            ("--durability fsync --system memory", "memory has memory alone"),
            ("--in-flight 2", "one request in flight: use --clients, or leave it out by --system"),
            (
                "--system redis --benchmark parallel --in-flight 8192",
                "64 clients with 8192 requests in flight each are 524288",
            ),
            (
                "--system redis --benchmark batch --batch 8189 --in-flight 123",
                "1000000 transfers in flight at most",
            ),
            (
                "--transport unix --benchmark single",
                "--transport unix: tigerbeetle's client has tcp alone: leave it out by --system",
            ),
            (
                "--system memory --transport unix",
                "--transport is for Redis and PostgreSQL, which is not among",
            ),
            ("--suite calibration --system memory", "no benchmark of these is for a system of these"),
            ("--suite ledger --benchmark clock", "--benchmark clock is of a suite that --suite leaves out"),
            ("--pin perhaps", "[possible values: yes, no]"),
            ("--durability rdb", "invalid value 'rdb' for '--durability"),
            ("--accounts 1", "wants a whole number from 2 to 1000000"),
            ("--in-flight 0", "wants a whole number from 1 to 8192"),
            ("--skew 3.5", "wants a number from 0 to 3"),
            ("--skew 1,1", "--skew names a value twice"),
            ("--system postgres --durability shipped --clients 97", "PostgreSQL as shipped takes 96 at most"),
            ("--ops 3 --clients 4", "--ops 3 leaves some of 4 clients without an op"),
            ("--clients 97", "PostgreSQL as shipped takes 96 at most"),
            ("--seed -1", "wants a whole number from 0 to 999999999999999"),
            ("extra", "unexpected argument 'extra'"),
        ];
        for (flags, told) in refusals {
            let message = refusal(flags);
            assert!(message.contains(told), "{flags}: {message}");
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn limits_follow_what_is_named() {
        let budget = |flags: &str| settings(flags).expect("valid").load.budget;
        assert_eq!(budget(""), Budget { time_ns: Some(1_000_000_000), ops: None });
        assert_eq!(budget("--ops 5"), Budget { time_ns: None, ops: Some(5) });
        assert_eq!(budget("--ops 5 --time 2ms"), Budget { time_ns: Some(2_000_000), ops: Some(5) });
        let quick = settings("--quick --rounds 2").expect("valid");
        assert_eq!((quick.rounds, quick.load.budget.time_ns), (2, Some(200_000_000)));
        assert_eq!(settings("--warmup 0s").expect("valid").load.warmup_ns, 0);
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn the_limits_themselves_are_allowed() {
        for flags in [
            "--batch 8189",
            "--batch 1",
            "--clients 1024 --system redis,tigerbeetle",
            "--clients 96",
            "--suite ledger --clients 1024",
            "--system redis,tigerbeetle --benchmark parallel --clients 8 --in-flight 8192",
            "--system redis --benchmark batch --batch 8189 --in-flight 122",
            "--accounts 1000000 --skew 3",
            "--rounds 1000",
            "--ops 100000000",
            "--ops 4 --clients 4",
            "--seed 999999999999999",
            "--seed 0",
            "--warmup 24h",
            "--time 24h",
        ] {
            cases(flags).expect(flags);
        }
        plan(&format!("--host {}", "l".repeat(64))).expect("64 letters");
    }

    #[test]
    fn more_wrong_values() {
        let too_long = format!("--host {}", "l".repeat(65));
        for (flags, told) in [
            ("--host 7lab", "wants a letter"),
            ("--host lab/7", "wants a letter"),
            (too_long.as_str(), "wants a letter"),
            ("--suite seed,seed", "--suite names a value twice"),
            ("--system redis,redis", "--system names a value twice"),
            ("--time 25h", "wants a day at most"),
            ("--clients 1025", "wants a whole number from 1 to 1024"),
            ("--rounds 1001", "wants a whole number from 1 to 1000"),
            ("--ops 100000001", "wants a whole number from 1 to 100000000"),
            ("--seed 1000000000000000", "wants a whole number from 0 to 999999999999999"),
        ] {
            let message = refusal(flags);
            assert!(message.contains(told), "{flags}: {message}");
        }
    }

    #[test]
    fn defaults_are_the_published_ones() {
        let published = |flags: &str| {
            let settings = super::tests::settings(flags).expect("valid");
            (settings.rounds, settings.load.warmup_ns, settings.seed, settings.timeout)
        };
        let timeout = Duration::from_secs(30);
        assert_eq!(published(""), (6, 500_000_000, 42, timeout));
        assert_eq!(published("--quick"), (1, 100_000_000, 42, timeout));
    }
}
