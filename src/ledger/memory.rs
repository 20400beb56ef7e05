//! A ledger inside this process: the harness's own cost, and what tests run the plan against.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::{AMOUNT, Account, Description, HELD, SeedLedger, Server, TransferKind};
use crate::meter::Meter;

/// The "server": one pair of accounts that all clients share.
#[derive(Debug, Default)]
pub struct Memory {
    accounts: Arc<Mutex<[Account; 2]>>,
}

impl Server for Memory {
    fn prepare(&mut self) -> Result<bool> {
        *lock(&self.accounts) = Default::default();
        Ok(true)
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        Ok(Box::new(Client { accounts: Arc::clone(&self.accounts), stored: None, meter }))
    }

    fn describe(&mut self) -> Result<Description> {
        Ok(Description {
            server_version: format!("ledger-bench {}", env!("CARGO_PKG_VERSION")),
            ..Description::default()
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        Ok(())
    }
}

struct Client {
    accounts: Arc<Mutex<[Account; 2]>>,
    stored: Option<[TransferKind; 2]>,
    meter: Meter,
}

impl Client {
    fn request(&mut self) -> MutexGuard<'_, [Account; 2]> {
        self.meter.count();
        lock(&self.accounts)
    }
}

/// A client that panicked under the lock leaves plain sums behind; the checks judge them.
fn lock(accounts: &Mutex<[Account; 2]>) -> MutexGuard<'_, [Account; 2]> {
    accounts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        drop(self.request());
        Ok(())
    }

    fn transfer(&mut self) -> Result<()> {
        self.transfer_batch(1)
    }

    fn transfer_batch(&mut self, count: u32) -> Result<()> {
        let [debit, credit] = &mut *self.request();
        for _ in 0..count {
            debit.debits_posted += i64::from(AMOUNT);
            credit.credits_posted += i64::from(AMOUNT);
        }
        Ok(())
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        Ok(self.request().map(|account| account.credits_posted - account.debits_posted))
    }

    fn hold(&mut self) -> Result<()> {
        self.stored = None;
        let [debit, credit] = &mut *self.request();
        debit.debits_pending += i64::from(HELD);
        credit.credits_pending += i64::from(HELD);
        Ok(())
    }

    fn post(&mut self) -> Result<()> {
        self.stored = Some([TransferKind::Pending, TransferKind::PostPending]);
        let [debit, credit] = &mut *self.request();
        debit.debits_pending -= i64::from(HELD);
        debit.debits_posted += i64::from(HELD);
        credit.credits_pending -= i64::from(HELD);
        credit.credits_posted += i64::from(HELD);
        Ok(())
    }

    fn accounts(&mut self) -> Result<[Account; 2]> {
        Ok(*self.request())
    }

    fn keeps_transfers(&self) -> bool {
        true
    }

    fn stored_kinds(&mut self) -> Result<[TransferKind; 2]> {
        self.meter.count();
        Ok(self.stored.unwrap_or([TransferKind::Plain; 2]))
    }
}
