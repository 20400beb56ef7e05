//! A ledger that does its work wrong in one way, to see that each proof finds it.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Result;
use ledger_bench::{
    ledger::{
        Account, Data, Description, Durability, Ledger, SeedLedger, Server, Style,
        ids::{Ids, Source},
        model::{NewAccount, Refusal, Stored, Transfer},
    },
    meter::Meter,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A transfer is acknowledged and not done.
    LosesWrite,
    /// The ten thousandth transfer alone is acknowledged and not done.
    LosesOne,
    /// A transfer is done once more, under an id of its own.
    DoublesWrite,
    /// A transfer is done with one unit less.
    WrongAmount,
    /// Accounts may be overdrawn.
    IgnoresLimit,
}

/// The fault strikes at every so many transfers: an odd number, so that holds and posts have their turn.
const EVERY: u64 = 49;
/// [`Fault::LosesOne`] strikes here.
const LOST: u64 = 10_000;

/// Around a right ledger.
pub struct Broken {
    inner: Box<dyn Ledger>,
    fault: Fault,
    /// Shared by all clients.
    seen: Arc<AtomicU64>,
    other_ids: Ids,
    /// How many transfers each request in flight was asked to hold.
    asked: VecDeque<usize>,
}

impl Broken {
    pub fn new(inner: Box<dyn Ledger>, fault: Fault, seen: &Arc<AtomicU64>) -> Self {
        let other_ids = Source::new().next_client();
        Self { inner, fault, seen: Arc::clone(seen), other_ids, asked: VecDeque::new() }
    }

    fn strikes(&self, fault: Fault) -> bool {
        let strikes =
            |seen: u64| if fault == Fault::LosesOne { seen == LOST } else { seen % EVERY == EVERY - 1 };
        self.fault == fault && strikes(self.seen.fetch_add(1, Ordering::Relaxed))
    }
}

impl Ledger for Broken {
    fn hello(&mut self) -> Result<()> {
        self.inner.hello()
    }

    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<()> {
        let mut accounts = accounts.to_vec();
        if self.fault == Fault::IgnoresLimit {
            for account in &mut accounts {
                account.debits_must_not_exceed_credits = false;
            }
        }
        self.inner.create_accounts(&accounts)
    }

    /// Lost: an id that nobody asked for takes its place, so that indexes stay, with an amount of 0.
    fn prepare(&mut self, transfers: &[Transfer]) -> Result<()> {
        self.asked.push_back(transfers.len());
        let mut transfers = transfers.to_vec();
        for place in 0..transfers.len() {
            if self.strikes(Fault::LosesWrite) || self.strikes(Fault::LosesOne) {
                transfers[place].id = self.other_ids.next();
                transfers[place].amount = 0;
            }
            if self.strikes(Fault::WrongAmount) {
                transfers[place].amount = transfers[place].amount.saturating_sub(1);
            }
            if self.strikes(Fault::DoublesWrite) {
                let again = Transfer { id: self.other_ids.next(), ..transfers[place] };
                transfers.push(again);
            }
        }
        self.inner.prepare(&transfers)
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn receive(&mut self) -> Result<Vec<Refusal>> {
        let asked = self.asked.pop_front().unwrap_or(0);
        let refusals = self.inner.receive()?;
        Ok(refusals.into_iter().filter(|refusal| (refusal.index as usize) < asked).collect())
    }

    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>> {
        self.inner.accounts(ids)
    }

    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>> {
        self.inner.transfers(ids)
    }

    fn transfer_count(&mut self) -> Result<Option<u64>> {
        self.inner.transfer_count()
    }
}

/// A server whose clients are all broken in the same way.
pub struct BrokenServer {
    inner: Box<dyn Server>,
    fault: Fault,
    seen: Arc<AtomicU64>,
}

impl BrokenServer {
    pub fn new(inner: Box<dyn Server>, fault: Fault) -> Self {
        Self { inner, fault, seen: Arc::default() }
    }
}

impl Server for BrokenServer {
    fn check_durability(&mut self, durability: Durability) -> Result<()> {
        self.inner.check_durability(durability)
    }

    fn prepare(&mut self, data: Data) -> Result<bool> {
        self.inner.prepare(data)
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        self.inner.seed_client(meter)
    }

    fn ledger_client(&mut self, style: Style, meter: Meter) -> Result<Box<dyn Ledger>> {
        let inner = self.inner.ledger_client(style, meter)?;
        Ok(Box::new(Broken::new(inner, self.fault, &self.seen)))
    }

    fn describe(&mut self) -> Result<Description> {
        self.inner.describe()
    }

    fn clean_up(&mut self) -> Result<()> {
        self.inner.clean_up()
    }
}
