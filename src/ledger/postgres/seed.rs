//! The predecessor's requests to PostgreSQL: rows that are updated in place. BEGIN, UPDATE and
//! COMMIT go as text that the server parses each time; the SELECTs are prepared once.

use std::fmt::Write;

use anyhow::{Context, Result};
use postgres::{Client as Connection, Row, Statement};

use crate::ledger::{Account, SeedLedger, TransferKind};

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

/// One connection with its prepared statements.
pub struct Client {
    connection: Connection,
    select_balance: Statement,
    select_both: Statement,
    select_sums: Statement,
    /// The text of the request that is being built; kept, so that it is allocated once.
    sql: String,
    requests: u64,
}

impl Client {
    pub fn new(mut connection: Connection) -> Result<Self> {
        let mut prepare = |sql| connection.prepare(sql).context("preparing a SELECT");
        Ok(Self {
            select_balance: prepare("SELECT balance FROM ledger_bench.accounts WHERE id = $1")?,
            select_both: prepare(
                "SELECT balance FROM ledger_bench.accounts WHERE id IN ($1, $2) ORDER BY id",
            )?,
            select_sums: prepare(
                "SELECT pending_debits, pending_credits, posted_debits, posted_credits
                 FROM ledger_bench.accounts_two_phase WHERE id = $1",
            )?,
            sql: String::new(),
            connection,
            requests: 0,
        })
    }

    /// One request of plain text.
    fn text(&mut self, sql: &str) -> Result<()> {
        self.requests += 1;
        Ok(self.connection.batch_execute(sql)?)
    }

    /// One request for each statement, in one transaction.
    fn transaction(&mut self, updates: [std::fmt::Arguments; 2]) -> Result<()> {
        self.text("BEGIN")?;
        for update in updates {
            let mut sql = std::mem::take(&mut self.sql);
            sql.clear();
            sql.write_fmt(update)?;
            let done = self.text(&sql);
            self.sql = sql;
            done?;
        }
        self.text("COMMIT")
    }

    fn balance(&mut self, id: i32) -> Result<i64> {
        self.requests += 1;
        Ok(self.connection.query_one(&self.select_balance, &[&id])?.try_get(0)?)
    }

    fn sums(&mut self, id: i32) -> Result<Account> {
        self.requests += 1;
        let row: Row = self.connection.query_one(&self.select_sums, &[&id])?;
        Ok(Account {
            debits_pending: row.try_get(0)?,
            credits_pending: row.try_get(1)?,
            debits_posted: row.try_get(2)?,
            credits_posted: row.try_get(3)?,
        })
    }
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        self.balance(IDS[0]).map(drop)
    }

    fn transfer(&mut self, amount: u32) -> Result<()> {
        self.transaction([
            format_args!("UPDATE ledger_bench.accounts SET balance = balance - {amount} WHERE id = 1"),
            format_args!("UPDATE ledger_bench.accounts SET balance = balance + {amount} WHERE id = 2"),
        ])
    }

    fn transfer_batch(&mut self, amount: u32, count: u32) -> Result<()> {
        let both = format!(
            "UPDATE ledger_bench.accounts SET balance = balance - {amount} WHERE id = 1; \
             UPDATE ledger_bench.accounts SET balance = balance + {amount} WHERE id = 2"
        );
        self.text("BEGIN")?;
        for _ in 0..count {
            self.text(&both)?;
        }
        self.text("COMMIT")
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        Ok([self.balance(IDS[0])?, self.balance(IDS[1])?])
    }

    fn balances_after_batch(&mut self) -> Result<[i64; 2]> {
        self.requests += 1;
        let rows = self.connection.query(&self.select_both, &[&IDS[0], &IDS[1]])?;
        let [a, b] = rows.as_slice() else {
            anyhow::bail!("{} accounts instead of 2", rows.len());
        };
        Ok([a.try_get(0)?, b.try_get(0)?])
    }

    fn hold(&mut self, amount: u32) -> Result<()> {
        self.transaction([
            format_args!(
                "UPDATE ledger_bench.accounts_two_phase \
                 SET pending_debits = pending_debits + {amount} WHERE id = 1"
            ),
            format_args!(
                "UPDATE ledger_bench.accounts_two_phase \
                 SET pending_credits = pending_credits + {amount} WHERE id = 2"
            ),
        ])
    }

    fn post(&mut self, amount: u32) -> Result<()> {
        self.transaction([
            format_args!(
                "UPDATE ledger_bench.accounts_two_phase SET pending_debits = pending_debits - {amount}, \
                 posted_debits = posted_debits + {amount} WHERE id = 1"
            ),
            format_args!(
                "UPDATE ledger_bench.accounts_two_phase SET pending_credits = pending_credits - {amount}, \
                 posted_credits = posted_credits + {amount} WHERE id = 2"
            ),
        ])
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

    fn requests(&self) -> u64 {
        self.requests
    }
}
