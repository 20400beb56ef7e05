//! The predecessor's requests to TigerBeetle.

use std::sync::Arc;

use anyhow::{Context, Result};
use tigerbeetle_unofficial::{self as tb, transfer::Flags};

use super::{CODE, Ids, LEDGER, Waiter, refused};
use crate::{
    ledger::{AMOUNT, Account, HELD, SeedLedger, TransferKind},
    meter::Meter,
};

/// One caller of the shared client.
pub struct Client {
    shared: Arc<tb::Client>,
    waiter: Waiter,
    ids: Ids,
    accounts: [u128; 2],
    /// The ids of the last hold and of its posting.
    two_phase: [u128; 2],
    meter: Meter,
}

impl Client {
    pub fn new(shared: Arc<tb::Client>, waiter: Waiter, ids: Ids, accounts: [u128; 2], meter: Meter) -> Self {
        Self { shared, waiter, ids, accounts, two_phase: [0; 2], meter }
    }

    fn new_transfer(&mut self, amount: u32) -> tb::Transfer {
        let [debit, credit] = self.accounts;
        tb::Transfer::new(self.ids.next())
            .with_debit_account_id(debit)
            .with_credit_account_id(credit)
            .with_amount(u128::from(amount))
            .with_ledger(LEDGER)
            .with_code(CODE)
    }

    fn create(&mut self, transfers: Vec<tb::Transfer>) -> Result<()> {
        self.meter.count();
        self.waiter.wait(self.shared.create_transfers(transfers))?.map_err(refused)
    }

    fn lookup(&mut self) -> Result<[tb::Account; 2]> {
        self.meter.count();
        let found = self.waiter.wait(self.shared.lookup_accounts(self.accounts.to_vec()))??;
        let found: [tb::Account; 2] = found
            .try_into()
            .map_err(|found: Vec<_>| anyhow::anyhow!("{} accounts instead of 2", found.len()))?;
        Ok(found)
    }
}

/// The four sums of an account.
pub fn sums(account: &tb::Account) -> Result<Account> {
    Ok(Account {
        debits_pending: sum(account.debits_pending())?,
        debits_posted: sum(account.debits_posted())?,
        credits_pending: sum(account.credits_pending())?,
        credits_posted: sum(account.credits_posted())?,
    })
}

fn sum(value: u128) -> Result<i64> {
    i64::try_from(value).context("a sum beyond 2^63")
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        self.lookup().map(drop)
    }

    fn transfer(&mut self) -> Result<()> {
        self.transfer_batch(1)
    }

    /// Built inside the clock, as the predecessor did.
    fn transfer_batch(&mut self, count: u32) -> Result<()> {
        let transfers = (0..count).map(|_| self.new_transfer(AMOUNT)).collect();
        self.create(transfers)
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        let [a, b] = self.lookup()?;
        let balance = |account: tb::Account| {
            Ok::<_, anyhow::Error>(sum(account.credits_posted())? - sum(account.debits_posted())?)
        };
        Ok([balance(a)?, balance(b)?])
    }

    fn hold(&mut self) -> Result<()> {
        let hold = self.new_transfer(HELD).with_flags(Flags::PENDING);
        self.two_phase = [hold.id(), 0];
        self.create(vec![hold])
    }

    fn post(&mut self) -> Result<()> {
        let post = self
            .new_transfer(HELD)
            .with_pending_id(self.two_phase[0])
            .with_flags(Flags::POST_PENDING_TRANSFER);
        self.two_phase[1] = post.id();
        self.create(vec![post])
    }

    fn accounts(&mut self) -> Result<[Account; 2]> {
        let [a, b] = self.lookup()?;
        Ok([sums(&a)?, sums(&b)?])
    }

    fn keeps_transfers(&self) -> bool {
        true
    }

    fn stored_kinds(&mut self) -> Result<[TransferKind; 2]> {
        self.meter.count();
        let found = self.waiter.wait(self.shared.lookup_transfers(self.two_phase.to_vec()))??;
        let [hold, post] = found.as_slice() else {
            anyhow::bail!("{} transfers instead of 2", found.len());
        };
        Ok([kind(hold), kind(post)])
    }
}

fn kind(transfer: &tb::Transfer) -> TransferKind {
    let flags = transfer.flags();
    if flags.contains(Flags::PENDING) {
        TransferKind::Pending
    } else if flags.contains(Flags::POST_PENDING_TRANSFER) {
        TransferKind::PostPending
    } else {
        TransferKind::Plain
    }
}
