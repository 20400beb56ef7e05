//! The ledger suite's rules over plain maps: the oracle that every system is held against.
//!
//! The order of the checks is that of TigerBeetle 0.16.78's state machine (`create_transfer`,
//! `create_transfer_exists`, `post_or_void_pending_transfer` and its `_exists`), for the part of
//! it that the model has.

use std::collections::{HashMap, HashSet};

use crate::ledger::{
    Account,
    model::{AMOUNT_MAX, Kind, NewAccount, Outcome, Stored, Transfer},
};

/// Accounts, transfers, and the ids that are spent on a transfer that failed.
#[derive(Debug, Default)]
pub struct Book {
    accounts: HashMap<u128, (Account, bool)>,
    transfers: HashMap<u128, Stored>,
    failed_ids: HashSet<u128>,
    /// How each pending transfer ended, once it has.
    ended: HashMap<u128, Kind>,
}

impl Book {
    pub fn create_account(&mut self, account: NewAccount) {
        let state = (Account::default(), account.debits_must_not_exceed_credits);
        let before = self.accounts.insert(account.id, state);
        assert!(before.is_none(), "accounts are made once");
    }

    pub fn account(&self, id: u128) -> Option<Account> {
        self.accounts.get(&id).map(|(account, _)| *account)
    }

    pub fn transfer(&self, id: u128) -> Option<Stored> {
        self.transfers.get(&id).copied()
    }

    pub fn transfer_count(&self) -> u64 {
        self.transfers.len() as u64
    }

    /// Does one transfer, or says why not.
    pub fn create(&mut self, transfer: Transfer) -> Outcome {
        let outcome = self.decide(transfer);
        if outcome.is_transient() {
            self.failed_ids.insert(transfer.id);
        }
        outcome
    }

    fn decide(&mut self, transfer: Transfer) -> Outcome {
        if let Some(stored) = self.transfers.get(&transfer.id) {
            return exists(transfer, stored.transfer);
        }
        if self.failed_ids.contains(&transfer.id) {
            return Outcome::IdAlreadyFailed;
        }
        match transfer.kind {
            Kind::Plain | Kind::Pending => self.move_or_hold(transfer),
            Kind::Post | Kind::Void => self.post_or_void(transfer),
        }
    }

    fn move_or_hold(&mut self, transfer: Transfer) -> Outcome {
        let Transfer { kind, debit_account_id, credit_account_id, amount, .. } = transfer;
        if debit_account_id == credit_account_id {
            return Outcome::AccountsMustBeDifferent;
        }
        let Some(&(mut debit, is_limited)) = self.accounts.get(&debit_account_id) else {
            return Outcome::DebitAccountNotFound;
        };
        let Some(&(mut credit, _)) = self.accounts.get(&credit_account_id) else {
            return Outcome::CreditAccountNotFound;
        };
        if let Some(overflow) = overflow(kind, debit, credit, amount) {
            return overflow;
        }
        let amount = i64::try_from(amount).expect("the harness refuses larger amounts");
        if is_limited && debit.debits_pending + debit.debits_posted + amount > debit.credits_posted {
            return Outcome::ExceedsCredits;
        }
        if kind == Kind::Pending {
            debit.debits_pending += amount;
            credit.credits_pending += amount;
        } else {
            debit.debits_posted += amount;
            credit.credits_posted += amount;
        }
        self.store(transfer, debit, credit)
    }

    fn post_or_void(&mut self, transfer: Transfer) -> Outcome {
        let Transfer { id, kind, amount, pending_id, .. } = transfer;
        if pending_id == 0 {
            return Outcome::PendingIdMustNotBeZero;
        }
        if pending_id == id {
            return Outcome::PendingIdMustBeDifferent;
        }
        let Some(&Stored { transfer: held, .. }) = self.transfers.get(&pending_id) else {
            return Outcome::PendingTransferNotFound;
        };
        if held.kind != Kind::Pending {
            return Outcome::PendingTransferNotPending;
        }
        let actual = if kind == Kind::Void && amount == 0 { held.amount } else { amount };
        if actual > held.amount {
            return Outcome::ExceedsPendingTransferAmount;
        }
        if kind == Kind::Void && actual < held.amount {
            return Outcome::PendingTransferHasDifferentAmount;
        }
        match self.ended.get(&pending_id) {
            Some(Kind::Post) => return Outcome::PendingTransferAlreadyPosted,
            Some(_) => return Outcome::PendingTransferAlreadyVoided,
            None => {}
        }
        let (mut debit, _) = self.accounts[&held.debit_account_id];
        let (mut credit, _) = self.accounts[&held.credit_account_id];
        let as_sum = |amount| i64::try_from(amount).expect("the harness refuses larger amounts");
        debit.debits_pending -= as_sum(held.amount);
        credit.credits_pending -= as_sum(held.amount);
        if kind == Kind::Post {
            debit.debits_posted += as_sum(actual);
            credit.credits_posted += as_sum(actual);
        }
        self.ended.insert(pending_id, kind);
        let stored = Transfer {
            debit_account_id: held.debit_account_id,
            credit_account_id: held.credit_account_id,
            amount: actual,
            ..transfer
        };
        self.store(stored, debit, credit)
    }

    fn store(&mut self, transfer: Transfer, debit: Account, credit: Account) -> Outcome {
        for (id, sums) in [(transfer.debit_account_id, debit), (transfer.credit_account_id, credit)] {
            self.accounts.get_mut(&id).expect("it was found before").0 = sums;
        }
        let timestamp = self.transfer_count() + 1;
        self.transfers.insert(transfer.id, Stored { transfer, timestamp });
        Outcome::Ok
    }
}

/// What a repeated id is answered.
fn exists(transfer: Transfer, stored: Transfer) -> Outcome {
    if transfer.kind != stored.kind {
        return Outcome::ExistsWithDifferentFlags;
    }
    if transfer.pending_id != stored.pending_id {
        return Outcome::ExistsWithDifferentPendingId;
    }
    let names_accounts = !transfer.kind.ends_pending();
    if names_accounts && transfer.debit_account_id != stored.debit_account_id {
        return Outcome::ExistsWithDifferentDebitAccountId;
    }
    if names_accounts && transfer.credit_account_id != stored.credit_account_id {
        return Outcome::ExistsWithDifferentCreditAccountId;
    }
    let voids_all = transfer.kind == Kind::Void && transfer.amount == 0;
    if transfer.amount != stored.amount && !voids_all {
        return Outcome::ExistsWithDifferentAmount;
    }
    Outcome::Exists
}

/// No sum of an account may pass 2^63 - 1.
fn overflow(kind: Kind, debit: Account, credit: Account, amount: u64) -> Option<Outcome> {
    let passes = |sum: i64| u64::try_from(sum).is_ok_and(|sum| sum + amount > AMOUNT_MAX);
    let checks = [
        (kind == Kind::Pending && passes(debit.debits_pending), Outcome::OverflowsDebitsPending),
        (kind == Kind::Pending && passes(credit.credits_pending), Outcome::OverflowsCreditsPending),
        (passes(debit.debits_posted), Outcome::OverflowsDebitsPosted),
        (passes(credit.credits_posted), Outcome::OverflowsCreditsPosted),
        (passes(debit.debits_pending + debit.debits_posted), Outcome::OverflowsDebits),
        (passes(credit.credits_pending + credit.credits_posted), Outcome::OverflowsCredits),
    ];
    checks.into_iter().find_map(|(is_so, outcome)| is_so.then_some(outcome))
}
