//! A ledger inside this process: the harness's own cost, what tests run the plan against, and the
//! oracle that every system's meaning is held against.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::{Account, Data, Description, Durability, Ledger, SeedLedger, Server, Style};
use crate::{error::bad_input, meter::Meter};
use book::Book;

mod book;
mod ledger;
mod seed;

/// The "server": what all clients share, a pair of accounts for the seed suite and a book for the
/// ledger suite.
#[derive(Debug, Default)]
pub struct Memory {
    accounts: Arc<Mutex<[Account; 2]>>,
    book: Arc<Mutex<Book>>,
}

impl Server for Memory {
    fn check_durability(&mut self, durability: Durability) -> Result<()> {
        match durability {
            Durability::Shipped | Durability::Memory => Ok(()),
            Durability::Fsync | Durability::OsCache => {
                Err(bad_input(format!("the ledger in memory keeps nothing, so not {durability} either")))
            }
        }
    }

    fn prepare(&mut self, data: Data) -> Result<bool> {
        match data {
            Data::Seed => *lock(&self.accounts) = Default::default(),
            Data::Ledger(_) => *lock(&self.book) = Book::default(),
            Data::None => {}
        }
        Ok(true)
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        Ok(Box::new(seed::Client::new(Arc::clone(&self.accounts), meter)))
    }

    fn ledger_client(&mut self, _: Style, meter: Meter) -> Result<Box<dyn Ledger>> {
        Ok(Box::new(ledger::Client::new(Arc::clone(&self.book), meter)))
    }

    fn describe(&mut self) -> Result<Description> {
        Ok(Description {
            server_version: format!("ledger-bench {}", env!("CARGO_PKG_VERSION")),
            waits_for_disk: Some(false),
            ..Description::default()
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A client that panicked under the lock leaves plain sums behind; the checks judge them.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
