//! `overhead`: what the harness costs an op that does nothing, with a latency kept for each, on
//! one thread and on two. A ratio within one run, as machines differ and are shared.

use std::time::Duration;

use anyhow::{Context, Result};

use super::{Outcome, print};
use crate::{
    cli::OverheadArgs,
    ledger::{self, SeedLedger, System},
    meter::Meter,
    runner::{self, Load, Loop, Work},
    stats,
    timer::{Budget, Op, duration_ns},
};

/// The request that does nothing, to a ledger in memory of its own: through the same types and
/// calls as a request to a server.
struct Nothing {
    ledger: Box<dyn SeedLedger>,
    meter: Meter,
}

impl Nothing {
    fn new() -> Result<Self> {
        let meter = Meter::default();
        let mut server = ledger::connect(System::Memory, Duration::MAX)?;
        Ok(Self { ledger: server.seed_client(meter.clone())?, meter })
    }
}

impl Op for Nothing {
    #[inline]
    fn end(&mut self) -> Result<()> {
        self.ledger.hello()
    }
}

impl Work for Nothing {
    fn hello(&mut self) -> Result<()> {
        self.ledger.hello()
    }
    fn requests(&self) -> u64 {
        self.meter.total()
    }
}

pub fn overhead(args: &OverheadArgs) -> Result<Outcome> {
    let time_ns = duration_ns(args.time);
    let load = Load {
        warmup_ns: time_ns / 4,
        budget: Budget { time_ns: Some(time_ns), ops: None },
        interval_ns: None,
    };
    let mut rates: [Vec<u64>; 2] = Default::default();
    for _ in 0..args.rounds {
        for (threads, rates) in (1..).zip(&mut rates) {
            rates.push(ops_per_s(threads, load)?);
        }
    }
    let median = |rates: &[u64]| stats::median(rates).filter(|&rate| rate > 0).context("no op was measured");
    let (one, two) = (median(&rates[0])?, median(&rates[1])?);
    let ns_per_op = stats::quotient(1_000_000_000, one).context("a rate above 0")?;
    let linear_percent = stats::quotient(two * 100, one * 2).context("a rate above 0")?;
    print(&format!(
        "threads  ops/s (median of {})\n1        {one}\n2        {two}\n\
         an op costs {ns_per_op} ns on one thread; two threads reach {linear_percent} % of twice its ops\n",
        args.rounds
    ))?;
    Ok(Outcome::Good)
}

fn ops_per_s(threads: usize, load: Load) -> Result<u64> {
    let clients = (0..threads).map(|_| Nothing::new()).collect::<Result<Vec<_>>>()?;
    let (sample, _) = runner::run(clients, Loop::ONE_BY_ONE, load);
    let ops = sample.latencies.len();
    stats::quotient(ops * 1_000_000, sample.elapsed_ns / 1_000).context("no time has passed")
}
