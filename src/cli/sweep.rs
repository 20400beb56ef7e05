//! The flags of a sweep: those of a plan, over lists that make a map.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;

use super::{
    BATCH_MAX, PlanArgs,
    check::{CheckedPlan, RESULTS, absolute},
    values::duration,
};
use crate::{
    error::bad_input,
    ledger::System,
    plan::{Benchmark, Case, Style, Suite},
    sweep::{self, Cell},
};

const BATCHES: [u32; 5] = [1, 10, 100, 1_000, BATCH_MAX];
const CLIENTS: [u32; 5] = [1, 4, 16, 64, 256];
/// Two hot ones, and many.
const ACCOUNTS: [u32; 2] = [2, 10_000];
/// This machine alone, and two of them in neighbouring data centres.
const RTTS_US: [u32; 2] = [0, 1_000];
/// Beyond it the slowest system takes seconds for one op: a sample would be of a few.
const TRANSFERS_IN_FLIGHT_MAX: u64 = 131_072;
const WARMUP: Duration = Duration::from_millis(250);
const TIME: Duration = Duration::from_millis(500);

/// The flags of a sweep.
#[derive(Args, Clone, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// How long the sweep may take, about: what does not fit is named and left out.
    #[arg(long, value_name = "DURATION", default_value = "20m", allow_hyphen_values = true, value_parser = duration)]
    budget: Duration,
    /// Go on with the last sweep of the same --csv: only what is missing is measured.
    #[arg(long, conflicts_with_all = [
        "suite", "benchmark", "system", "durability", "clients", "in_flight", "batch", "accounts", "skew", "rtt",
        "rate", "arrivals", "style", "preload", "transport", "rounds", "warmup", "time", "ops", "quick", "interval",
        "seed", "pin", "timeout", "host", "data", "budget",
    ])]
    pub resume: bool,
}

/// How many cases make no sense, by the reason.
type Refused = Vec<(String, usize)>;

/// A sweep, checked.
#[derive(Debug)]
pub struct CheckedSweep {
    /// What is measured.
    pub plan: CheckedPlan,
    /// How long it will take, about.
    pub estimate: Duration,
    /// What the budget has no room for.
    pub left_out: Vec<Cell>,
    /// What makes no sense.
    pub refused: Refused,
}

impl SweepArgs {
    /// Where the rows go; absolute.
    pub fn csv(&self) -> Result<PathBuf> {
        absolute(self.plan.csv.as_deref().unwrap_or(Path::new(RESULTS)))
    }

    /// Checks as a plan is checked; cases that make no sense are left out instead of refused. Writes nothing.
    pub fn check(&self) -> Result<CheckedSweep> {
        let args = self.with_defaults()?;
        let (cases, refused) = sensible(&args)?;
        let settings = args.settings(&cases)?;
        let selection = sweep::select(&cases, settings.rounds, settings.load, self.budget);
        if !selection.cases.iter().any(|case| case.suite == Suite::Sweep) {
            return Err(bad_input("--budget: not one cell fits: allow more, or fewer --rounds"));
        }
        let (csv, data) = args.check_files(&selection.cases)?;
        let plan = CheckedPlan { settings, cases: selection.cases, csv, data };
        Ok(CheckedSweep { plan, estimate: selection.estimate, left_out: selection.left_out, refused })
    }

    /// The lists of a map where none are given.
    fn with_defaults(&self) -> Result<PlanArgs> {
        let mut args = self.plan.clone();
        if !args.suite.is_empty() || !args.benchmark.is_empty() {
            return Err(bad_input(
                "a sweep has a suite of its own: --suite and --benchmark are for ./run.sh alone",
            ));
        }
        if args.ops.is_some() {
            return Err(bad_input("a sweep's samples end by --time, not by --ops"));
        }
        args.suite = vec![Suite::Sweep, Suite::Floor];
        args.benchmark =
            vec![Benchmark::Transfers, Benchmark::Loopback, Benchmark::DiskDsync, Benchmark::DiskFdatasync];
        let default = |list: &mut Vec<u32>, values: &[u32]| {
            if list.is_empty() {
                *list = values.to_vec();
            }
        };
        if args.rate.is_empty() {
            default(&mut args.batch, &BATCHES);
            default(&mut args.clients, &CLIENTS);
            default(&mut args.accounts, &ACCOUNTS);
            default(&mut args.rtt, &RTTS_US);
            if args.style.is_empty() && args.batch.contains(&1) && is_asked_for(&args, System::Postgres) {
                args.style = vec![Style::OneCall, Style::Interactive];
            }
        } else {
            // Latency against offered load, of single transfers; the rest as a plan has it.
            default(&mut args.batch, &[1]);
        }
        if !args.quick {
            args.warmup = args.warmup.or(Some(WARMUP));
            args.time = args.time.or(Some(TIME));
        }
        Ok(args)
    }
}

fn is_asked_for(args: &PlanArgs, system: System) -> bool {
    args.system.is_empty() || args.system.contains(&system)
}

/// The cases that can be measured, and why others cannot.
fn sensible(args: &PlanArgs) -> Result<(Vec<Case>, Refused)> {
    let (mut cases, mut refused) = (Vec::new(), Refused::new());
    for case in args.all_cases()? {
        let Err(error) = check_size(&case).and_then(|()| args.check_case(&case)) else {
            cases.push(case);
            continue;
        };
        let why = error.to_string();
        match refused.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => refused.push((why, 1)),
        }
    }
    if !cases.iter().any(|case| case.suite == Suite::Sweep) {
        let (why, _) = refused.into_iter().next().context("a sweep has a case")?;
        return Err(bad_input(why));
    }
    Ok((cases, refused))
}

fn check_size(case: &Case) -> Result<()> {
    if case.transfers_in_flight() <= TRANSFERS_IN_FLIGHT_MAX {
        return Ok(());
    }
    let Case { clients, in_flight, batch, .. } = case;
    let in_flight = if *in_flight > 1 { format!(" with {in_flight} in flight") } else { String::new() };
    Err(bad_input(format!(
        "batches of {batch} by {clients} clients{in_flight} are more than {TRANSFERS_IN_FLIGHT_MAX} transfers at once, \
         which take a slow system seconds"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{Command, parse_from},
        ledger::Durability,
    };

    fn sweep(flags: &str) -> Result<CheckedSweep> {
        let scratch = tempfile::tempdir()?; // whether a file can be made there is tried
        let csv = scratch.path().join("r.csv").display().to_string();
        let words = ["ledger-bench", "sweep", "--csv", &csv].into_iter();
        match parse_from(words.chain(flags.split_whitespace()))? {
            Command::Sweep(args) => args.check(),
            other => panic!("{other:?} is no sweep"),
        }
    }

    fn distinct<T: Ord>(sweep: &CheckedSweep, value: impl Fn(&Case) -> T) -> Vec<T> {
        let cells = sweep.plan.cases.iter().filter(|case| case.suite == Suite::Sweep);
        let mut values: Vec<T> = cells.map(value).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    #[test]
    fn without_flags_it_is_a_map_of_twenty_minutes() {
        let map = sweep("").expect("valid");
        assert!(map.estimate <= Duration::from_secs(1_200), "{:?}", map.estimate);
        assert!(map.estimate > Duration::from_secs(1_000), "{:?}", map.estimate);
        assert_eq!(distinct(&map, |case| case.rtt_us), RTTS_US);
        assert_eq!(distinct(&map, |case| case.accounts), ACCOUNTS);
        assert_eq!(distinct(&map, |case| case.style), [Style::OneCall, Style::Interactive]);
        assert_eq!(map.plan.settings.rounds, 6, "fewer give no interval");
        assert!(!map.left_out.is_empty());
        let loopbacks = map.plan.cases.iter().filter(|case| case.benchmark == Benchmark::Loopback);
        assert_eq!(loopbacks.map(|case| case.rtt_us).collect::<Vec<_>>(), RTTS_US, "a floor for each delay");
    }

    #[test]
    fn a_larger_budget_leaves_nothing_out_but_what_is_too_much_at_once() {
        let map = sweep("--budget 24h").expect("valid");
        assert_eq!(map.left_out, []);
        assert_eq!(distinct(&map, |case| case.batch), BATCHES);
        assert_eq!(distinct(&map, |case| case.clients), CLIENTS);
        let most = distinct(&map, |case| u64::from(case.batch) * u64::from(case.clients)).pop();
        assert_eq!(most, Some(16 * 8_189));
        assert_eq!(map.refused.iter().map(|(_, count)| count).sum::<usize>(), 3 * 2 * 2 * 3);
    }

    #[test]
    fn what_a_system_cannot_do_is_left_out_and_said() {
        let map = sweep("--durability fsync,memory --batch 1 --clients 4 --rtt 0").expect("valid");
        let memory = map.plan.cases.iter().filter(|case| case.durability == Durability::Memory);
        assert!(memory.clone().count() > 0 && memory.clone().all(|case| case.system != System::Tigerbeetle));
        assert!(map.refused[0].0.contains("tigerbeetle has fsync alone"), "{:?}", map.refused);
        let error = sweep("--system tigerbeetle --durability memory").expect_err("nothing is left");
        assert!(error.to_string().contains("tigerbeetle has fsync alone"), "{error}");
    }

    #[test]
    fn at_a_rate_it_is_latency_over_load() {
        let map = sweep("--rate 100,1000,5000").expect("valid");
        assert_eq!(distinct(&map, |case| case.rate_per_s), [100, 1_000, 5_000]);
        assert_eq!(
            distinct(&map, |case| (case.clients, case.batch, case.accounts, case.rtt_us)),
            [(64, 1, 10_000, 0)]
        );
    }

    #[test]
    fn wrong_flags_are_refused() {
        for (flags, told) in [
            ("--suite ledger", "a sweep has a suite of its own"),
            ("--benchmark single", "a sweep has a suite of its own"),
            ("--ops 5", "end by --time"),
            ("--budget 1s", "not one cell fits"),
            ("--resume --batch 1", "cannot be used with"),
            ("--resume --budget 1m", "cannot be used with"),
            ("--batch 1,1", "--batch names a value twice"),
        ] {
            let error = sweep(flags).expect_err(flags).to_string();
            assert!(error.contains(told), "{flags}: {error}");
        }
    }
}
