//! The command line: flags, and their way to a checked plan. `values` checks one flag, `check` all together.

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use anyhow::Result;
use clap::{Args, Parser, Subcommand, error::ErrorKind};

use crate::{
    error::bad_input,
    ledger::System,
    plan::{Benchmark, Suite},
};
use values::{duration, duration_or_zero, label, number};

mod check;
mod values;

pub use check::{CheckedPlan, plan_path};

/// The most transfers that one TigerBeetle request holds.
const BATCH_MAX: u32 = 8_189;
const CLIENTS_MAX: u32 = 1_024;
const ROUNDS_MAX: u32 = 1_000;
/// A latency of 8 bytes is kept for each.
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
    Plan(PlanArgs),
    /// Measures one sample, given as a line of the plan, and appends its row.
    Run(RunArgs),
    /// Waits until a server answers.
    Ping(PingArgs),
    /// Prints the table of a run.
    Report(ReportArgs),
    /// Measures what the harness itself costs an op, on 1 and on 2 threads.
    Overhead(OverheadArgs),
}

/// The flags of a run.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// Suites to run.
    #[arg(long, value_delimiter = ',', default_value = "seed")]
    pub suite: Vec<Suite>,
    /// Benchmarks to run [default: all].
    #[arg(long, value_delimiter = ',')]
    pub benchmark: Vec<Benchmark>,
    /// Systems to measure [default: tigerbeetle,redis,postgres].
    #[arg(long, value_delimiter = ',')]
    pub system: Vec<System>,
    /// Clients of basic_parallel [default: as many as cores].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(CLIENTS_MAX)))]
    pub clients: Vec<u32>,
    /// Transfers in a batch of basic_batch [default: 1000].
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = number::<u32>(1, u64::from(BATCH_MAX)))]
    pub batch: Vec<u32>,
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
    /// Where every random choice starts, such as the order of the cases.
    #[arg(long, default_value_t = 42, allow_hyphen_values = true, value_parser = number::<u64>(0, SEED_MAX))]
    pub seed: u64,
    /// The longest wait for one reply.
    #[arg(long, value_name = "DURATION", default_value = "30s", allow_hyphen_values = true, value_parser = duration)]
    pub timeout: Duration,
    /// A label for this machine in the rows [default: blank].
    #[arg(long, default_value = "", value_parser = label)]
    pub host: String,
    /// Where the rows go.
    #[arg(long, value_name = "FILE", default_value = "results/results.csv")]
    pub csv: PathBuf,
    /// Where the servers of ./run.sh keep their data: the disk that is measured.
    #[arg(long, value_name = "DIR", default_value = "target/servers")]
    pub data: PathBuf,
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

/// The flags of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The file to read.
    #[arg(long, value_name = "FILE", default_value = "results/results.csv")]
    pub csv: PathBuf,
    /// The run to show [default: the last].
    #[arg(long, value_name = "RUN_ID")]
    pub run: Option<String>,
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
    use crate::{machine, plan::Case, timer::Budget};

    fn plan(flags: &str) -> Result<PlanArgs> {
        let words = ["ledger-bench", "plan"].into_iter().chain(flags.split_whitespace());
        match parse_from(words)? {
            Command::Plan(args) => Ok(args),
            other => panic!("{other:?} is no plan"),
        }
    }

    fn cases(flags: &str) -> Result<Vec<Case>> {
        plan(flags)?.cases()
    }

    fn refusal(flags: &str) -> String {
        format!("{:#}", cases(flags).expect_err(flags))
    }

    #[test]
    fn the_default_is_the_predecessor_s_twelve() {
        let cases = cases("").expect("valid");
        assert_eq!(cases.len(), 12);
        let batch = cases.iter().find(|case| case.benchmark == Benchmark::BasicBatch).expect("there");
        assert_eq!((batch.batch, batch.clients), (1000, 1));
        let parallel = cases.iter().find(|case| case.benchmark == Benchmark::BasicParallel).expect("there");
        assert_eq!((parallel.batch, parallel.clients), (1, machine::cores()));
    }

    #[test]
    fn lists_multiply_where_they_apply() {
        let cases = cases("--system redis,memory --clients 1,4,16 --batch 10,100").expect("valid");
        let count = |benchmark| cases.iter().filter(|case| case.benchmark == benchmark).count();
        assert_eq!(count(Benchmark::Basic), 2);
        assert_eq!(count(Benchmark::BasicParallel), 6);
        assert_eq!(count(Benchmark::BasicBatch), 4);
    }

    #[test]
    fn wrong_values_are_named_with_what_is_right() {
        let refusals = [
            (
                "--suite sead",
                "invalid value 'sead' for '--suite <SUITE>'; [possible values: seed]; tip: a similar value exists: 'seed'",
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
                "--clients is for basic_parallel, which --benchmark leaves out",
            ),
            ("--benchmark basic --batch 2", "--batch is for basic_batch, which --benchmark leaves out"),
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
        let budget = |flags: &str| plan(flags).expect("valid").settings().load.budget;
        assert_eq!(budget(""), Budget { time_ns: Some(1_000_000_000), ops: None });
        assert_eq!(budget("--ops 5"), Budget { time_ns: None, ops: Some(5) });
        assert_eq!(budget("--ops 5 --time 2ms"), Budget { time_ns: Some(2_000_000), ops: Some(5) });
        let quick = plan("--quick --rounds 2").expect("valid").settings();
        assert_eq!((quick.rounds, quick.load.budget.time_ns), (2, Some(200_000_000)));
        assert_eq!(plan("--warmup 0s").expect("valid").settings().load.warmup_ns, 0);
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
            let settings = plan(flags).expect("valid").settings();
            (settings.rounds, settings.load.warmup_ns, settings.seed, settings.timeout)
        };
        let timeout = Duration::from_secs(30);
        assert_eq!(published(""), (6, 500_000_000, 42, timeout));
        assert_eq!(published("--quick"), (1, 100_000_000, 42, timeout));
    }
}
