//! `overhead`: what the harness costs an op that does nothing, with a latency kept for each, on
//! one thread and on two. A ratio within one run, as machines differ and are shared.

use std::hint::black_box;

use anyhow::Result;

use super::{Outcome, print};
use crate::{
    cli::OverheadArgs,
    runner::{self, Load, Work},
    stats,
    timer::{Budget, duration_ns},
    watchdog::Board,
};

/// The op that does nothing.
#[derive(Default)]
struct Nothing(u64);

impl Work for Nothing {
    fn hello(&mut self) -> Result<()> {
        Ok(())
    }
    fn op(&mut self) -> Result<()> {
        self.0 = black_box(self.0.wrapping_add(1));
        Ok(())
    }
    fn requests(&self) -> u64 {
        self.0
    }
}

pub fn overhead(args: &OverheadArgs) -> Result<Outcome> {
    let time_ns = duration_ns(args.time);
    let load = Load { warmup_ns: time_ns / 4, budget: Budget { time_ns: Some(time_ns), ops: None } };
    let mut rates: [Vec<u64>; 2] = Default::default();
    for _ in 0..args.rounds {
        for (threads, rates) in (1..).zip(&mut rates) {
            rates.extend(ops_per_s(threads, load));
        }
    }
    let [one, two] = rates.map(|rates| stats::median(&rates).unwrap_or(0));
    let ns_per_op = stats::quotient(1_000_000_000, one).unwrap_or(0);
    let linear_percent = stats::quotient(two * 100, one * 2).unwrap_or(0);
    print(&format!(
        "threads  ops/s (median of {})\n1        {one}\n2        {two}\n\
         an op costs {ns_per_op} ns on one thread; two threads reach {linear_percent} % of twice its ops\n",
        args.rounds
    ))?;
    Ok(Outcome::Good)
}

fn ops_per_s(threads: usize, load: Load) -> Option<u64> {
    let clients: Vec<_> = (0..threads).map(|_| Nothing::default()).collect();
    let (sample, _) = runner::run(clients, load, &Board::new(threads));
    let ops = sample.latencies_ns.len() as u64;
    stats::quotient(ops * 1_000_000, sample.elapsed_ns / 1_000)
}
