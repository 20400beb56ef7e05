//! The predecessor's requests to Redis: plain counters under keys of their own.

use anyhow::{Context, Result};
use redis::{Connection, ConnectionLike, FromRedisValue, Pipeline, Value};

use crate::ledger::{Account, SeedLedger, TransferKind};

const BALANCES: [&str; 2] = ["ledger_bench:a:balance", "ledger_bench:b:balance"];

/// The keys of one account for holds and posts, in the order of [`Account`]'s fields.
const fn sums(account: usize) -> [&'static str; 4] {
    [
        [
            "ledger_bench:a:debits_pending",
            "ledger_bench:a:debits_posted",
            "ledger_bench:a:credits_pending",
            "ledger_bench:a:credits_posted",
        ],
        [
            "ledger_bench:b:debits_pending",
            "ledger_bench:b:debits_posted",
            "ledger_bench:b:credits_pending",
            "ledger_bench:b:credits_posted",
        ],
    ][account]
}

const DEBITS_PENDING: usize = 0;
const DEBITS_POSTED: usize = 1;
const CREDITS_PENDING: usize = 2;
const CREDITS_POSTED: usize = 3;

/// Sets every counter to 0.
pub fn create_accounts(connection: &mut Connection) -> Result<()> {
    let mut pipe = redis::pipe();
    for key in BALANCES.iter().chain(&sums(0)).chain(&sums(1)) {
        pipe.cmd("SET").arg(key).arg(0).ignore();
    }
    Ok(pipe.exec(connection)?)
}

/// One connection.
pub struct Client {
    connection: Connection,
    requests: u64,
}

impl Client {
    pub fn new(connection: Connection) -> Self {
        Self { connection, requests: 0 }
    }

    /// One pipelined MULTI ... EXEC: every command must have returned a number.
    fn transaction(&mut self, pipe: &Pipeline) -> Result<()> {
        self.requests += 1;
        let replies: Vec<i64> = pipe.query(&mut self.connection)?;
        let sent = pipe.len();
        anyhow::ensure!(replies.len() == sent, "{} of {sent} commands were executed", replies.len());
        Ok(())
    }

    fn command<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> Result<T> {
        self.requests += 1;
        let value: Value = self.connection.req_command(command)?;
        Ok(T::from_redis_value(value.extract_error()?)?)
    }
}

fn add_transfer(pipe: &mut Pipeline, amount: u32) {
    let [debit, credit] = BALANCES;
    pipe.cmd("DECRBY").arg(debit).arg(amount);
    pipe.cmd("INCRBY").arg(credit).arg(amount);
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        self.command(&redis::cmd("PING"))
    }

    fn transfer(&mut self, amount: u32) -> Result<()> {
        self.transfer_batch(amount, 1)
    }

    fn transfer_batch(&mut self, amount: u32, count: u32) -> Result<()> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        for _ in 0..count {
            add_transfer(&mut pipe, amount);
        }
        self.transaction(&pipe)
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        let mut balances = [0; 2];
        for (balance, key) in balances.iter_mut().zip(BALANCES) {
            *balance = self.command(redis::cmd("GET").arg(key))?;
        }
        Ok(balances)
    }

    fn hold(&mut self, amount: u32) -> Result<()> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("INCRBY").arg(sums(0)[DEBITS_PENDING]).arg(amount);
        pipe.cmd("INCRBY").arg(sums(1)[CREDITS_PENDING]).arg(amount);
        self.transaction(&pipe)
    }

    fn post(&mut self, amount: u32) -> Result<()> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("DECRBY").arg(sums(0)[DEBITS_PENDING]).arg(amount);
        pipe.cmd("DECRBY").arg(sums(1)[CREDITS_PENDING]).arg(amount);
        pipe.cmd("INCRBY").arg(sums(0)[DEBITS_POSTED]).arg(amount);
        pipe.cmd("INCRBY").arg(sums(1)[CREDITS_POSTED]).arg(amount);
        self.transaction(&pipe)
    }

    fn accounts(&mut self) -> Result<[Account; 2]> {
        let mut command = redis::cmd("MGET");
        command.arg(&sums(0)).arg(&sums(1));
        let values: Vec<i64> = self.command(&command)?;
        let [a, b]: [[i64; 4]; 2] = bytes_of(&values).context("MGET of 8 counters")?;
        Ok([a, b].map(|sums| Account {
            debits_pending: sums[DEBITS_PENDING],
            debits_posted: sums[DEBITS_POSTED],
            credits_pending: sums[CREDITS_PENDING],
            credits_posted: sums[CREDITS_POSTED],
        }))
    }

    fn keeps_transfers(&self) -> bool {
        false
    }

    fn stored_kinds(&mut self) -> Result<[TransferKind; 2]> {
        anyhow::bail!("the seed suite stores no transfers in Redis")
    }

    fn requests(&self) -> u64 {
        self.requests
    }
}

fn bytes_of(values: &[i64]) -> Option<[[i64; 4]; 2]> {
    let (a, b) = values.split_at_checked(4)?;
    Some([a.try_into().ok()?, b.try_into().ok()?])
}
