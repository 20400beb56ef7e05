//! The ledger suite's requests to a book in memory.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use anyhow::{Context, Result};

use super::{book::Book, lock};
use crate::{
    ledger::{
        Account, Ledger,
        model::{NewAccount, Outcome, Refusal, Stored, Transfer, ensure_valid},
    },
    meter::Meter,
};

pub struct Client {
    book: Arc<Mutex<Book>>,
    prepared: VecDeque<Vec<Transfer>>,
    /// Requests that were answered already: buffers to be used again.
    spent: Vec<Vec<Transfer>>,
    answers: VecDeque<Vec<Refusal>>,
    meter: Meter,
}

impl Client {
    pub fn new(book: Arc<Mutex<Book>>, meter: Meter) -> Self {
        Self { book, prepared: VecDeque::new(), spent: Vec::new(), answers: VecDeque::new(), meter }
    }

    fn request(&mut self) -> MutexGuard<'_, Book> {
        self.meter.count();
        lock(&self.book)
    }
}

impl Ledger for Client {
    fn hello(&mut self) -> Result<()> {
        drop(self.request());
        Ok(())
    }

    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<()> {
        let mut book = self.request();
        for &account in accounts {
            book.create_account(account);
        }
        Ok(())
    }

    fn prepare(&mut self, transfers: &[Transfer]) -> Result<()> {
        ensure_valid(transfers)?;
        let mut request = self.spent.pop().unwrap_or_default();
        request.clear();
        request.extend_from_slice(transfers);
        self.prepared.push_back(request);
        Ok(())
    }

    fn submit(&mut self) -> Result<()> {
        let request = self.prepared.pop_front().context("nothing is prepared")?;
        let mut book = self.request();
        let outcomes = (0..).zip(&request).map(|(index, &transfer)| (index, book.create(transfer)));
        let refused = outcomes.filter(|(_, outcome)| *outcome != Outcome::Ok);
        let refusals = refused.map(|(index, outcome)| Refusal { index, outcome }).collect();
        drop(book);
        self.spent.push(request);
        self.answers.push_back(refusals);
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Refusal>> {
        self.answers.pop_front().context("nothing is in flight")
    }

    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>> {
        let book = self.request();
        Ok(ids.iter().map(|&id| book.account(id)).collect())
    }

    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>> {
        let book = self.request();
        Ok(ids.iter().map(|&id| book.transfer(id)).collect())
    }

    fn transfer_count(&mut self) -> Result<Option<u64>> {
        Ok(Some(self.request().transfer_count()))
    }
}
