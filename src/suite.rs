//! What one op of each benchmark is, and what it must leave behind.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};

use crate::{
    arrivals::{Rate, Spacing},
    ledger::{Account, Data, Server, Tally},
    peer,
    plan::{Arrivals, Benchmark, Case, Generator, Suite},
    runner::{self, Load, Loop, Sample},
    watchdog::Board,
};

pub mod floor;
pub mod ledger;
pub mod seed;

pub use ledger::Messages;

/// All clients of a sample.
pub enum Clients {
    /// Of the seed suite.
    Seed(Vec<seed::Client>),
    /// Of the ledger suite.
    Ledger(Vec<ledger::Client>),
    /// Of this machine itself.
    Floor(floor::Client),
    /// Another load generator; and the client of ours that makes the accounts and looks at them, where its transfers are
    /// the ledger suite's.
    Peer(peer::Client, Vec<ledger::Client>),
}

/// What clients need to know beside their case.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Where random choices start.
    pub seed: u64,
    /// The longest wait for one reply.
    pub timeout: Duration,
    /// The folder of the servers' data, where it is known.
    pub data: Option<&'a Path>,
    /// Where they show that they move.
    pub board: &'a Board,
}

/// Whose ops a case's are.
enum Ops {
    Seed,
    Ledger,
    Floor,
}

fn ops(case: &Case) -> Ops {
    match (case.suite, case.benchmark) {
        (Suite::Seed, _) | (Suite::Calibration, Benchmark::RoundTrip | Benchmark::Transfer) => Ops::Seed,
        (Suite::Ledger | Suite::Calibration | Suite::Sweep, _) => Ops::Ledger,
        (Suite::Floor, _) => Ops::Floor,
    }
}

/// What a case's sample starts on.
#[must_use]
pub fn data(case: &Case) -> Data {
    match ops(case) {
        Ops::Seed => Data::Seed,
        Ops::Ledger => Data::Ledger(case.durability),
        Ops::Floor => Data::None,
    }
}

impl Clients {
    /// Connects them to a server that is prepared with the case's [`data`].
    pub fn connect(server: &mut dyn Server, case: &Case, around: &Surroundings) -> Result<Self> {
        let Surroundings { seed, timeout, data, board } = *around;
        if case.generator == Generator::Peer {
            let books = match case.benchmark {
                Benchmark::Parallel => ledger::connect(server, &Case { clients: 1, ..*case }, seed, board)?,
                _ => Vec::new(),
            };
            let ids = books.first().map(ledger::Client::ids);
            return Ok(Self::Peer(peer::connect(server, case, ids, timeout, board)?, books));
        }
        Ok(match ops(case) {
            Ops::Seed => Self::Seed(seed::connect(server, case, board)?),
            Ops::Ledger => Self::Ledger(ledger::connect(server, case, seed, board)?),
            Ops::Floor => Self::Floor(floor::connect(case, board.client(0), data, timeout)?),
        })
    }

    /// Puts there what the first op needs. Off the clock.
    pub fn set_up(&mut self, server: &mut dyn Server) -> Result<()> {
        match self {
            Self::Peer(_, books) if books.is_empty() => Ok(()),
            Self::Seed(_) | Self::Floor(_) => Ok(()),
            Self::Ledger(clients) | Self::Peer(_, clients) => {
                ledger::set_up(clients)?;
                server.settle().context("settling")
            }
        }
    }

    /// Has the server add to its counters what it keeps for each client by itself. Off the clock.
    pub fn hand_in_counts(&mut self) -> Result<()> {
        match self {
            Self::Seed(clients) => seed::hand_in_counts(clients),
            Self::Ledger(clients) => ledger::hand_in_counts(clients),
            // Another load generator's connections end with it, and hand in then.
            Self::Floor(_) | Self::Peer(..) => Ok(()),
        }
    }

    /// Transfers that the ledger holds by what was acknowledged; `None` where it keeps none.
    #[must_use]
    pub fn stored(&self) -> Option<u64> {
        match self {
            Self::Ledger(clients) => Some(ledger::stored(clients)),
            Self::Seed(_) | Self::Floor(_) | Self::Peer(..) => None,
        }
    }

    /// Measures a sample. `seed`: where random arrivals start.
    #[must_use]
    pub fn run(self, case: &Case, load: Load, seed: u64) -> (Sample, Self) {
        let course = course(case, seed);
        match self {
            Self::Seed(clients) => {
                let (sample, clients) = runner::run(clients, course, load);
                (sample, Self::Seed(clients))
            }
            Self::Ledger(clients) => {
                let (sample, clients) = runner::run(clients, course, load);
                (sample, Self::Ledger(clients))
            }
            Self::Floor(client) => {
                let (sample, mut clients) = runner::run(vec![client], course, load);
                (repeated(sample, case.benchmark), Self::Floor(clients.remove(0)))
            }
            Self::Peer(mut client, books) => (client.run(load), Self::Peer(client, books)),
        }
    }

    /// Whether what the sample left behind is what was acknowledged; and what messages the measured ops came in, which
    /// `warmup_ops` preceded, where that can be told. Off the clock.
    pub fn verify(&mut self, case: &Case, warmup_ops: u64) -> Result<Option<Messages>> {
        match self {
            Self::Seed(clients) => seed::verify(clients)?,
            Self::Ledger(clients) => {
                return ledger::verify(clients, case.system.tells_messages(), warmup_ops);
            }
            Self::Floor(_) => {}
            Self::Peer(client, books) if books.is_empty() => client.verify()?,
            Self::Peer(client, books) => ledger::verify_foreign(books, client.ops())?,
        }
        Ok(None)
    }

    /// The tool that sends the requests, where it is not our own client.
    #[must_use]
    pub fn client_version(&self) -> Option<&str> {
        match self {
            Self::Peer(client, _) => Some(client.version()),
            _ => None,
        }
    }

    /// What happened beside what was asked for.
    #[must_use]
    pub fn tally(&self) -> Tally {
        match self {
            Self::Seed(_) | Self::Floor(_) | Self::Peer(..) => Tally::default(),
            Self::Ledger(clients) => ledger::tally(clients),
        }
    }
}

/// When a case's ops begin. `seed`: where random gaps start.
fn course(case: &Case, seed: u64) -> Loop {
    let at_rate = |spacing| Loop::Open(Rate { per_s: case.rate_per_s, spacing });
    match case.arrivals {
        Arrivals::Closed => Loop::Closed { in_flight: case.in_flight as usize },
        Arrivals::Even => at_rate(Spacing::Even),
        Arrivals::Poisson => at_rate(Spacing::Poisson { seed }),
    }
}

/// Ops that are done several times between two readings of the clock have no latency of their own.
fn repeated(mut sample: Sample, benchmark: Benchmark) -> Sample {
    let repeats = u64::from(benchmark.repeats());
    if repeats > 1 {
        sample.ops *= repeats;
        sample.warmup_ops *= repeats;
        sample.latencies.clear();
    }
    sample
}

/// A sum of one account: what the acknowledged ops must have made of it, and what was found.
/// Plain values, so that a check that holds allocates nothing inside the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Check<'a> {
    /// "the debited account", "account 7".
    account: &'a str,
    sum: &'static str,
    expected: i64,
    found: i64,
}

impl Check<'_> {
    fn holds(&self) -> bool {
        self.expected == self.found
    }
}

impl std::fmt::Display for Check<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { account, sum, expected, found } = self;
        let by = found.abs_diff(*expected);
        let direction = if found < expected { "too low" } else { "too high" };
        write!(f, "{account}'s {sum} is {found} instead of {expected}: {by} {direction}")
    }
}

/// An error that names every check that does not hold, and by how much.
fn ensure_all_hold(checks: &[Check<'_>]) -> Result<()> {
    if checks.iter().all(Check::holds) {
        return Ok(());
    }
    let wrong = checks.iter().filter(|check| !check.holds()).map(ToString::to_string);
    anyhow::bail!("{}", wrong.collect::<Vec<_>>().join("; "))
}

/// The four sums of an account.
fn sum_checks(account: &str, expected: Account, found: Account) -> [Check<'_>; 4] {
    let check = |sum, expected, found| Check { account, sum, expected, found };
    [
        check("debits_pending", expected.debits_pending, found.debits_pending),
        check("debits_posted", expected.debits_posted, found.debits_posted),
        check("credits_pending", expected.credits_pending, found.credits_pending),
        check("credits_posted", expected.credits_posted, found.credits_posted),
    ]
}
