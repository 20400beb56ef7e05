//! The ledger suite: the same job in every system, with the same guarantees and one request an op
//! (two for a hold and its posting).
//!
//! Every account is funded beforehand and may not be overdrawn, so that the check is made for each
//! transfer and no transfer is refused. One that is refused fails the sample.

use std::sync::Arc;

use anyhow::{Context, Result};

use crate::{
    ledger::{
        EVENTS_MAX, Ledger, Server, Tally,
        ids::Source,
        model::{Refusal, Transfer},
    },
    meter::Meter,
    peer,
    plan::{Benchmark, Case},
    runner::Work,
    timer::Op,
    watchdog::Board,
    workload::{Population, Shape, Stream},
};

mod messages;
mod preload;
mod verify;

pub use messages::Messages;
use preload::Preload;
pub use verify::{verify, verify_foreign};

/// One client, counting what was acknowledged.
pub struct Client {
    ledger: Box<dyn Ledger>,
    meter: Meter,
    shape: Shape,
    stream: Stream,
    /// Before the first op: makes again what was asked for.
    beginning: Stream,
    acknowledged_ops: u64,
    /// Its part of what is stored before the sample.
    preload: Preload,
    transfers: Vec<Transfer>,
}

/// All clients of a case, each with ops of its own; the accounts are still to be made.
pub fn connect(server: &mut dyn Server, case: &Case, seed: u64, board: &Board) -> Result<Vec<Client>> {
    let mut source = Source::new();
    let population = Arc::new(Population::new(&mut source, case.accounts, case.skew_pct));
    let shape = match case.benchmark {
        Benchmark::TwoPhase => Shape::TwoPhase,
        benchmark => Shape::Batch(benchmark.transfers_per_op(case.batch)),
    };
    let mut preloads = preload::shares(case, &population, seed, &mut source).into_iter();
    let connect = |client: u32| {
        board.step();
        let meter = board.client(client as usize);
        let ledger = server.ledger_client(case.style, meter.clone())?;
        let ids = source.next_client();
        let stream = Stream::new(Arc::clone(&population), shape, seed, client.into(), ids);
        let preload = preloads.next().expect("a share for each client");
        Ok(Client::new(ledger, meter, shape, stream, preload))
    };
    (0..case.clients).map(connect).collect()
}

impl Client {
    fn new(ledger: Box<dyn Ledger>, meter: Meter, shape: Shape, stream: Stream, preload: Preload) -> Self {
        let beginning = stream.clone();
        Self { ledger, meter, shape, stream, beginning, acknowledged_ops: 0, preload, transfers: Vec::new() }
    }

    /// What another load generator needs to know, to ask for transfers between the same accounts.
    #[must_use]
    pub fn ids(&self) -> peer::Ids {
        let population = self.beginning.population();
        let first_account = population.ids().nth(1).expect("money moves between two accounts");
        peer::Ids { first_account, first_transfer: population.spare_id() + 1 }
    }
}

/// Receives one reply, in which nothing may be refused.
#[inline]
fn receive_done(ledger: &mut dyn Ledger) -> Result<()> {
    let refusals = ledger.receive()?;
    if refusals.is_empty() { Ok(()) } else { Err(refused(&refusals)) }
}

#[cold]
fn refused(refusals: &[Refusal]) -> anyhow::Error {
    let Refusal { index, outcome } = refusals[0];
    anyhow::anyhow!(
        "{} transfers were refused, the first (number {} of the request) as {}",
        refusals.len(),
        index + 1,
        outcome.name()
    )
}

impl Op for Client {
    const IS_PREPARED: bool = true;

    fn prepare(&mut self) -> Result<()> {
        self.stream.next_op(&mut self.transfers);
        match self.shape {
            Shape::Batch(_) => self.ledger.prepare(&self.transfers),
            Shape::TwoPhase => {
                self.ledger.prepare(&self.transfers[..1])?;
                self.ledger.prepare(&self.transfers[1..])
            }
        }
    }

    #[inline]
    fn begin(&mut self) -> Result<()> {
        self.ledger.submit()
    }

    #[inline]
    fn end(&mut self) -> Result<()> {
        receive_done(self.ledger.as_mut())?;
        if self.shape == Shape::TwoPhase {
            self.ledger.submit()?;
            receive_done(self.ledger.as_mut()).context("posting")?;
        }
        self.acknowledged_ops += 1;
        Ok(())
    }
}

impl Work for Client {
    fn hello(&mut self) -> Result<()> {
        self.ledger.hello()
    }

    fn requests(&self) -> u64 {
        self.meter.total()
    }
}

/// Makes the accounts, funds them, and stores what is to be there before the sample. Off the clock.
pub fn set_up(clients: &mut [Client]) -> Result<()> {
    let Client { ledger, beginning, .. } = clients.first_mut().context("a sample has a client")?;
    let population = beginning.population();
    let accounts: Vec<_> = population.accounts().collect();
    for some in accounts.chunks(EVENTS_MAX) {
        ledger.create_accounts(some).context("making the accounts")?;
    }
    let funding: Vec<_> = population.funding().collect();
    for some in funding.chunks(EVENTS_MAX) {
        ledger.prepare(some)?;
        ledger.submit()?;
        receive_done(ledger.as_mut()).context("funding the accounts")?;
    }
    preload::fill(clients).context("filling the ledger before the sample")
}

/// Of all clients together.
#[must_use]
pub fn tally(clients: &[Client]) -> Tally {
    clients.iter().map(|client| client.ledger.tally()).sum()
}

/// Has the server count what it keeps for each client by itself. Off the clock.
pub fn hand_in_counts(clients: &mut [Client]) -> Result<()> {
    clients.iter_mut().try_for_each(|client| client.ledger.hand_in_counts())
}

/// Transfers that are stored: those that gave the accounts their funds, those put there before the sample, and those of
/// every acknowledged op.
#[must_use]
pub fn stored(clients: &[Client]) -> u64 {
    let Some(Client { beginning, .. }) = clients.first() else { return 0 };
    let of_client = |client: &Client| {
        client.preload.count() + client.acknowledged_ops * u64::from(client.shape.stored_per_op())
    };
    beginning.population().funding().count() as u64 + clients.iter().map(of_client).sum::<u64>()
}
