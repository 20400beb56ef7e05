//! The predecessor's requests to PostgreSQL: rows that are updated in place. BEGIN, UPDATE and
//! COMMIT go as text that the server parses each time; the SELECTs are prepared once.

use anyhow::{Context, Result};
use postgres::{Client as Connection, Row, Statement};

use super::counters::HAND_IN;
use crate::{
    ledger::{AMOUNT, Account, HELD, SeedLedger, TransferKind},
    meter::Meter,
};

/// The accounts' ids.
const IDS: [i32; 2] = [1, 2];

/// Both tables of the predecessor, with two accounts of 0 each.
pub fn create_accounts(connection: &mut Connection) -> Result<()> {
    Ok(connection.batch_execute(
        "CREATE TABLE ledger_bench.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL);
         CREATE TABLE ledger_bench.accounts_two_phase (
             id INT PRIMARY KEY,
             pending_debits BIGINT NOT NULL,
             pending_credits BIGINT NOT NULL,
             posted_debits BIGINT NOT NULL,
             posted_credits BIGINT NOT NULL);
         INSERT INTO ledger_bench.accounts VALUES (1, 0), (2, 0);
         INSERT INTO ledger_bench.accounts_two_phase VALUES (1, 0, 0, 0, 0), (2, 0, 0, 0, 0)",
    )?)
}

/// One connection with its prepared statements, and the text of its other requests.
pub struct Client {
    connection: Connection,
    select_balance: Statement,
    select_both: Statement,
    select_sums: Statement,
    transfer: [String; 2],
    transfer_both: String,
    hold: [String; 2],
    post: [String; 2],
    meter: Meter,
}

impl Client {
    pub fn new(mut connection: Connection, meter: Meter) -> Result<Self> {
        let mut prepare = |sql| connection.prepare(sql).context("preparing a SELECT");
        let select_balance = prepare("SELECT balance FROM ledger_bench.accounts WHERE id = $1")?;
        let select_both =
            prepare("SELECT balance FROM ledger_bench.accounts WHERE id IN ($1, $2) ORDER BY id")?;
        let select_sums = prepare(
            "SELECT pending_debits, pending_credits, posted_debits, posted_credits
             FROM ledger_bench.accounts_two_phase WHERE id = $1",
        )?;
        let update = |table, set: &str, id| format!("UPDATE ledger_bench.{table} SET {set} WHERE id = {id}");
        let transfer = [
            update("accounts", &format!("balance = balance - {AMOUNT}"), IDS[0]),
            update("accounts", &format!("balance = balance + {AMOUNT}"), IDS[1]),
        ];
        let two_phase = |set: &str, id| update("accounts_two_phase", set, id);
        Ok(Self {
            connection,
            select_balance,
            select_both,
            select_sums,
            transfer_both: transfer.join("; "),
            transfer,
            hold: [
                two_phase(&format!("pending_debits = pending_debits + {HELD}"), IDS[0]),
                two_phase(&format!("pending_credits = pending_credits + {HELD}"), IDS[1]),
            ],
            post: [("debits", IDS[0]), ("credits", IDS[1])].map(|(side, id)| {
                let pending = format!("pending_{side} = pending_{side} - {HELD}");
                let posted = format!("posted_{side} = posted_{side} + {HELD}");
                two_phase(&format!("{pending}, {posted}"), id)
            }),
            meter,
        })
    }

    fn balance(&mut self, id: i32) -> Result<i64> {
        self.meter.count();
        Ok(self.connection.query_one(&self.select_balance, &[&id])?.try_get(0)?)
    }

    fn sums(&mut self, id: i32) -> Result<Account> {
        self.meter.count();
        let row: Row = self.connection.query_one(&self.select_sums, &[&id])?;
        Ok(Account {
            debits_pending: row.try_get(0)?,
            credits_pending: row.try_get(1)?,
            debits_posted: row.try_get(2)?,
            credits_posted: row.try_get(3)?,
        })
    }
}

/// One request of plain text.
fn text(connection: &mut Connection, meter: &Meter, sql: &str) -> Result<()> {
    meter.count();
    Ok(connection.batch_execute(sql)?)
}

/// One request for each statement, in one transaction.
fn transaction<'a>(
    connection: &mut Connection,
    meter: &Meter,
    statements: impl IntoIterator<Item = &'a String>,
) -> Result<()> {
    text(connection, meter, "BEGIN")?;
    for statement in statements {
        text(connection, meter, statement)?;
    }
    text(connection, meter, "COMMIT")
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        self.balance(IDS[0]).map(drop)
    }

    fn hand_in_counts(&mut self) -> Result<()> {
        self.meter.count();
        Ok(self.connection.batch_execute(HAND_IN)?)
    }

    fn transfer(&mut self) -> Result<()> {
        transaction(&mut self.connection, &self.meter, &self.transfer)
    }

    fn transfer_batch(&mut self, count: u32) -> Result<()> {
        let both = std::iter::repeat_n(&self.transfer_both, count as usize);
        transaction(&mut self.connection, &self.meter, both)
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        Ok([self.balance(IDS[0])?, self.balance(IDS[1])?])
    }

    fn balances_after_batch(&mut self) -> Result<[i64; 2]> {
        self.meter.count();
        let rows = self.connection.query(&self.select_both, &[&IDS[0], &IDS[1]])?;
        let [a, b] = rows.as_slice() else {
            anyhow::bail!("{} accounts instead of 2", rows.len());
        };
        Ok([a.try_get(0)?, b.try_get(0)?])
    }

    fn hold(&mut self) -> Result<()> {
        transaction(&mut self.connection, &self.meter, &self.hold)
    }

    fn post(&mut self) -> Result<()> {
        transaction(&mut self.connection, &self.meter, &self.post)
    }

    fn accounts(&mut self) -> Result<[Account; 2]> {
        Ok([self.sums(IDS[0])?, self.sums(IDS[1])?])
    }

    fn keeps_transfers(&self) -> bool {
        false
    }

    fn stored_kinds(&mut self) -> Result<[TransferKind; 2]> {
        anyhow::bail!("the seed suite stores no transfers in PostgreSQL")
    }
}
