//! The load generators that come with the systems, run on the same server as ours: what our figures are held against.
//!
//! A tool counts ops and takes the time by itself, and keeps no latency that could be compared with ours.

use std::{
    env,
    ffi::OsString,
    io::Write,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use crate::{
    error::{bad_input, one_line},
    ledger::{AMOUNT, SeedLedger, Server, System},
    meter::Meter,
    plan::{Benchmark, Case},
    runner::{Load, Sample},
    timer::{Budget, time_us},
    watchdog::Board,
};

mod pgbench;
mod redis_benchmark;
mod tigerbeetle_benchmark;

/// Between two looks at whether the tool has ended.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// One tool on one case.
trait Tool: Send {
    /// Its program, where the environment names no other.
    fn program(&self) -> OsString;
    /// The words that have the program tell its version.
    fn version_words(&self) -> &'static [&'static str];
    /// Its name and version, from what it tells.
    fn version(&self, told: &str) -> Option<String>;
    /// Ops of a first, short run.
    fn first_ops(&self, case: &Case) -> u64;
    /// Does so many ops, or a few more: [`Figures::ops`] counts. `done`: those it has done on this server before.
    fn command(&self, case: &Case, ops: u64, done: u64) -> Result<Command>;
    /// What it reads from its standard input.
    fn input(&self, _: &Case) -> String {
        String::new()
    }
    /// What it tells at its end. `asked`: the ops that it was told to do.
    fn figures(&self, case: &Case, asked: u64, output: &str) -> Result<Figures>;
}

/// Ids of the ledger suite, for a tool that asks for its transfers.
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    /// The first account that money moves between; the others follow one by one.
    pub first_account: u128,
    /// From here on no transfer has an id.
    pub first_transfer: u128,
}

/// What a tool tells of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figures {
    ops: u64,
    elapsed_ns: u64,
}

impl Figures {
    /// From a rate, as all of them tell it. `None` for a rate of nothing.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and checked")]
    fn of_rate(ops: u64, per_s: f64) -> Option<Self> {
        let elapsed_ns = (ops as f64 / per_s * 1e9).round();
        (ops > 0 && elapsed_ns.is_finite() && elapsed_ns >= 1.0)
            .then_some(Self { ops, elapsed_ns: elapsed_ns as u64 })
    }

    /// The ops of a run that takes about so long.
    fn ops_within(self, time_ns: u64) -> u64 {
        let ops = u128::from(self.ops) * u128::from(time_ns) / u128::from(self.elapsed_ns);
        u64::try_from(ops).unwrap_or(u64::MAX).max(1)
    }
}

/// A tool, and a client of ours that looks at what it left behind.
pub struct Client {
    tool: Box<dyn Tool>,
    version: String,
    case: Case,
    timeout: Duration,
    witness: Option<Box<dyn SeedLedger>>,
    meter: Meter,
    ops: u64,
}

/// Looks for the tool. `ids`: where its ops are the ledger suite's.
pub fn connect(
    server: &mut dyn Server,
    case: &Case,
    ids: Option<Ids>,
    timeout: Duration,
    board: &Board,
) -> Result<Client> {
    let tool = tool(case.system, ids)?;
    let meter = board.client(0);
    let is_told = case.benchmark == Benchmark::Transfer;
    let witness = is_told.then(|| server.seed_client(meter.clone())).transpose()?;
    let version = ask_version(tool.as_ref())?;
    Ok(Client { tool, version, case: *case, timeout, witness, meter, ops: 0 })
}

fn tool(system: System, ids: Option<Ids>) -> Result<Box<dyn Tool>> {
    Ok(match system {
        System::Postgres => Box::new(pgbench::Pgbench::of(&system.address()?, ids)?),
        System::Redis => Box::new(redis_benchmark::RedisBenchmark::of(&system.address()?)?),
        System::Tigerbeetle => Box::new(tigerbeetle_benchmark::TigerbeetleBenchmark::of(&system.address()?)),
        System::Memory | System::Machine => {
            return Err(bad_input(format!("{system} has no tool of its own")));
        }
    })
}

fn ask_version(tool: &dyn Tool) -> Result<String> {
    let program = tool.program();
    let output = Command::new(&program).args(tool.version_words()).output();
    let output = output.map_err(|error| bad_input(format!("{} does not run: {error}", program.display())))?;
    let told = String::from_utf8_lossy(&output.stdout);
    tool.version(&told).ok_or_else(|| bad_input(format!("{} tells no version: {told:?}", program.display())))
}

impl Client {
    /// The tool's name and version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A short run, to warm the server up and see how many ops fill the budget; then the one that counts.
    pub fn run(&mut self, load: Load) -> Sample {
        let mut sample = Sample::default();
        match self.measure(load) {
            Ok((first, figures)) => {
                sample.ops = figures.ops;
                sample.elapsed_ns = figures.elapsed_ns;
                sample.warmup_ops = first.ops;
                sample.requests = figures.ops * requests_per_op(self.case.benchmark);
            }
            Err(error) => {
                sample.failed_clients = 1;
                sample.failure = Some((1, error.context(self.version.clone())));
            }
        }
        sample
    }

    fn measure(&mut self, load: Load) -> Result<(Figures, Figures)> {
        let first = self.run_once(self.tool.first_ops(&self.case), load.warmup_ns)?;
        let Budget { time_ns, ops } = load.budget;
        let ops = ops.unwrap_or(u64::MAX).min(time_ns.map_or(u64::MAX, |time_ns| first.ops_within(time_ns)));
        let figures = self.run_once(ops, time_ns.unwrap_or_default())?;
        Ok((first, figures))
    }

    /// `time_ns`: how long it should take.
    fn run_once(&mut self, ops: u64, time_ns: u64) -> Result<Figures> {
        let mut command = ending_with_us(&self.tool.command(&self.case, ops, self.ops)?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("starting it by setpriv(1)")?;
        let input = self.tool.input(&self.case);
        // A tool that has ended before it read tells why, below.
        let _ = child.stdin.take().context("it has an input")?.write_all(input.as_bytes());
        let limit = self.timeout + 10 * Duration::from_nanos(time_ns);
        let output = wait(child, limit, &self.meter)?;
        let told = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "it failed ({}): {}", output.status, last_line(&output.stderr));
        let figures = self.tool.figures(&self.case, ops, &told);
        let figures = figures.with_context(|| format!("what it told is not understood: {told:?}"))?;
        self.ops += figures.ops;
        Ok(figures)
    }

    /// All that it has done, the short first run included.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.ops
    }

    /// Where the seed suite's transfers were made: that they all were.
    pub fn verify(&mut self) -> Result<()> {
        let Some(witness) = &mut self.witness else { return Ok(()) };
        let moved = i64::try_from(self.ops)? * i64::from(AMOUNT);
        let found = witness.balances()?;
        ensure!(found == [-moved, moved], "{moved} were moved, the accounts have {found:?}");
        Ok(())
    }
}

/// As the tool is told to do an op.
fn requests_per_op(benchmark: Benchmark) -> u64 {
    if benchmark == Benchmark::Transfer { pgbench::TRANSFER_REQUESTS } else { 1 }
}

/// The same command, which the kernel kills when the thread that waits for it is gone, however that went.
fn ending_with_us(command: &Command) -> Command {
    let mut ending = Command::new("setpriv");
    ending.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    ending.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ending
}

/// Until it has ended, moving meanwhile on the watchdog's board; killed when `limit` is over. Its output is some
/// lines, which the pipe holds.
fn wait(mut child: Child, limit: Duration, meter: &Meter) -> Result<Output> {
    let mut left = limit;
    loop {
        let (ended, took_us) = time_us(|| {
            let ended = child.try_wait();
            if matches!(ended, Ok(None)) {
                thread::sleep(LOOK_PAUSE);
            }
            ended
        });
        if ended?.is_some() {
            return Ok(child.wait_with_output()?);
        }
        meter.count();
        left = left.saturating_sub(Duration::from_micros(took_us));
        if left.is_zero() {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("it did not end within {} s", limit.as_secs());
        }
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing");
    one_line(&anyhow::anyhow!("{line}"))
}

/// The program that the environment names, or the one of that name.
fn named(variable: &str, name: &str) -> OsString {
    env::var_os(variable).filter(|path| !path.is_empty()).unwrap_or_else(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Generator, Suite};

    /// Of which a tool reads no more than how many clients and transfers.
    pub fn case(benchmark: Benchmark, clients: u32) -> Case {
        let case = Case::plainest(Suite::Calibration, benchmark, System::Postgres);
        Case { clients, batch: 8_189, accounts: 10_000, generator: Generator::Peer, ..case }
    }

    #[test]
    fn a_rate_is_a_time() {
        assert_eq!(Figures::of_rate(3, 2.0), Some(Figures { ops: 3, elapsed_ns: 1_500_000_000 }));
        for (ops, per_s) in [(0, 1.0), (1, 0.0), (1, f64::NAN), (1, f64::INFINITY), (1, -1.0)] {
            assert_eq!(Figures::of_rate(ops, per_s), None, "{ops} {per_s}");
        }
    }

    #[test]
    fn a_first_run_tells_how_many_ops_fill_the_time() {
        let first = Figures { ops: 200, elapsed_ns: 10_000_000 };
        assert_eq!((first.ops_within(1_000_000_000), first.ops_within(1)), (20_000, 1));
    }

    fn child(command: &str) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell.spawn().expect("a shell")
    }

    #[test]
    fn a_tool_that_does_not_end_is_ended() {
        let error =
            wait(child("exec sleep 600"), Duration::from_millis(1), &Meter::default()).expect_err("killed");
        assert_eq!(error.to_string(), "it did not end within 0 s");
    }

    #[test]
    fn what_a_tool_says_is_kept() {
        let meter = Meter::default();
        let output = wait(child("echo out; echo a >&2; echo ' why ' >&2; exit 3"), Duration::MAX, &meter);
        let output = output.expect("it ended");
        assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"out\n"[..], Some(3)));
        assert_eq!(last_line(&output.stderr), "why");
        assert_eq!(last_line(b"\n"), "it said nothing");
    }
}
