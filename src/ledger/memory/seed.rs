//! The predecessor's requests to a pair of accounts in memory.

use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Result;

use super::lock;
use crate::{
    ledger::{AMOUNT, Account, HELD, SeedLedger, TransferKind},
    meter::Meter,
};

pub struct Client {
    accounts: Arc<Mutex<[Account; 2]>>,
    stored: Option<[TransferKind; 2]>,
    meter: Meter,
}

impl Client {
    pub fn new(accounts: Arc<Mutex<[Account; 2]>>, meter: Meter) -> Self {
        Self { accounts, stored: None, meter }
    }

    fn request(&mut self) -> MutexGuard<'_, [Account; 2]> {
        self.meter.count();
        lock(&self.accounts)
    }
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
