//! A single plain transfer as a program does it that keeps a transaction open: five statements, each with a round trip of
//! its own, and both accounts locked from the second to the last.
//!
//! The accounts are checked here, not by the server. What is not affordable, or asked for again, is undone: the one call
//! tells why, and spends its id.

use anyhow::{Context, Result, ensure};
use postgres::{Client as Connection, Row, Statement};

use super::{ledger, wire::Id};
use crate::{
    ledger::{Account, model::Transfer},
    meter::Meter,
};

/// The debited account, the credited one. Rows are locked in the order of their ids, as everywhere, so that there is no
/// deadlock.
const LOCK: &str = "SELECT debits_pending, debits_posted, credits_pending, credits_posted, limited
     FROM ledger_bench.ledger_accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE";
/// The same, and the amount.
const MOVE: &str = "UPDATE ledger_bench.ledger_accounts
     SET debits_posted = debits_posted + CASE WHEN id = $1 THEN $3::bigint ELSE 0 END,
         credits_posted = credits_posted + CASE WHEN id = $2 THEN $3::bigint ELSE 0 END
     WHERE id IN ($1, $2)";
/// The transfer as `ledger_one` stores it. Nothing is stored where the id is known.
const STORE: &str = "INSERT INTO ledger_bench.ledger_transfers
         (id, debit_account_id, credit_account_id, amount, at, kind)
     VALUES ($1, $2, $3, $4, nextval('ledger_bench.ledger_calls') * 8192 + 1, 0)
     ON CONFLICT DO NOTHING";

/// The statements of a connection.
pub struct Interactive {
    begin: Statement,
    lock: Statement,
    change: Statement,
    store: Statement,
    commit: Statement,
    rollback: Statement,
}

impl Interactive {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        let mut prepare = |sql| connection.prepare(sql).context("preparing a statement");
        Ok(Self {
            begin: prepare("BEGIN")?,
            lock: prepare(LOCK)?,
            change: prepare(MOVE)?,
            store: prepare(STORE)?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
        })
    }

    /// Does a transfer, or undoes what it began; whether it was done. Counts each round trip but the first, which is
    /// counted where the request is sent.
    pub fn transfer(&self, connection: &mut Connection, transfer: &Transfer, meter: &Meter) -> Result<bool> {
        connection.execute(&self.begin, &[])?;
        let is_done = self.attempt(connection, transfer, meter)?;
        meter.count();
        connection.execute(if is_done { &self.commit } else { &self.rollback }, &[])?;
        Ok(is_done)
    }

    /// All between the transaction's begin and its end; whether it may be committed.
    fn attempt(&self, connection: &mut Connection, transfer: &Transfer, meter: &Meter) -> Result<bool> {
        let (debit, credit) = (Id(transfer.debit_account_id), Id(transfer.credit_account_id));
        let amount = i64::try_from(transfer.amount).context("an amount beyond 2^63 - 1")?;
        meter.count();
        let rows = connection.query(&self.lock, &[&debit, &credit])?;
        // One row is both accounts, or the only one that there is.
        let [first, second] = &rows[..] else { return Ok(false) };
        let (from, to) = if debit.0 < credit.0 { (first, second) } else { (second, first) };
        if !fits(amount, &account(from)?, from.try_get(4)?, &account(to)?) {
            return Ok(false);
        }
        meter.count();
        let changed = connection.execute(&self.change, &[&debit, &credit, &amount])?;
        ensure!(changed == 2, "{changed} accounts were changed instead of 2, which were locked");
        meter.count();
        let stored = connection.execute(&self.store, &[&Id(transfer.id), &debit, &credit, &amount])?;
        Ok(stored == 1)
    }
}

fn account(row: &Row) -> Result<Account> {
    ledger::account(row)?.context("an account without sums")
}

/// Whether the debited account may have the amount debited, and the other credited: no sum leaves a bigint, and no limit
/// is broken.
fn fits(amount: i64, debited: &Account, is_limited: bool, credited: &Account) -> bool {
    let with = |pending: i64, posted: i64| pending.checked_add(posted)?.checked_add(amount);
    let debits = with(debited.debits_pending, debited.debits_posted);
    let credits = with(credited.credits_pending, credited.credits_posted);
    credits.is_some() && debits.is_some_and(|debits| !is_limited || debits <= debited.credits_posted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_what_the_server_s_function_would_do() {
        let account = |[debits_pending, debits_posted, credits_pending, credits_posted]: [i64; 4]| Account {
            debits_pending,
            debits_posted,
            credits_pending,
            credits_posted,
        };
        let empty = account([0; 4]);
        let rich = account([2, 3, 0, 15]);
        assert!(fits(10, &rich, true, &empty), "all that there is");
        assert!(!fits(11, &rich, true, &empty), "what is held is spent");
        assert!(fits(11, &rich, false, &empty));
        assert!(!fits(1, &account([0, 0, 5, 0]), true, &empty), "what is pending is no credit yet");
        let full = |side: [i64; 4]| account(side.map(|part| part * (i64::MAX / 2)));
        for (debited, credited) in [(full([1, 1, 0, 0]), empty), (empty, full([0, 0, 1, 1]))] {
            assert!(fits(1, &debited, false, &credited), "2^63 - 1 is the most");
            assert!(!fits(2, &debited, false, &credited));
        }
    }
}
