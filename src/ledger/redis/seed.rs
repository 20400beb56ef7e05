//! The predecessor's requests to Redis: plain counters under keys of their own.

use anyhow::{Context, Result};
use redis::{Cmd, Connection, ConnectionLike, FromRedisValue, Value};

use crate::ledger::{Account, SeedLedger, TransferKind};

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

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
    /// The bytes of the transaction that is being built; kept, so that they are allocated once.
    request: Vec<u8>,
    requests: u64,
}

impl Client {
    pub fn new(connection: Connection) -> Self {
        Self { connection, request: Vec::new(), requests: 0 }
    }

    /// One pipelined MULTI, the commands `times` over, EXEC: every command must have returned a
    /// number.
    fn transaction(&mut self, commands: &[Cmd], times: usize) -> Result<()> {
        let packed: Vec<u8> = commands.iter().flat_map(Cmd::get_packed_command).collect();
        self.request.clear();
        self.request.extend_from_slice(MULTI);
        for _ in 0..times {
            self.request.extend_from_slice(&packed);
        }
        self.request.extend_from_slice(EXEC);

        self.requests += 1;
        let queued = commands.len() * times;
        // Before the reply to EXEC stand one to MULTI and one to each command that was queued.
        let replies = self.connection.req_packed_commands(&self.request, 1 + queued, 1)?;
        let Some(Value::Array(numbers)) = replies.first() else {
            anyhow::bail!("EXEC was answered by {replies:?}");
        };
        let executed = numbers.iter().filter(|value| matches!(value, Value::Int(_))).count();
        anyhow::ensure!(executed == queued, "{executed} of {queued} commands were executed");
        Ok(())
    }

    fn command<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T> {
        self.requests += 1;
        let value: Value = self.connection.req_command(command)?;
        Ok(T::from_redis_value(value.extract_error()?)?)
    }
}

fn add(key: &str, amount: u32) -> Cmd {
    redis::cmd("INCRBY").arg(key).arg(amount).take()
}

fn subtract(key: &str, amount: u32) -> Cmd {
    redis::cmd("DECRBY").arg(key).arg(amount).take()
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        self.command(&redis::cmd("PING"))
    }

    fn transfer(&mut self, amount: u32) -> Result<()> {
        self.transfer_batch(amount, 1)
    }

    fn transfer_batch(&mut self, amount: u32, count: u32) -> Result<()> {
        let [debit, credit] = BALANCES;
        self.transaction(&[subtract(debit, amount), add(credit, amount)], count as usize)
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        let mut balances = [0; 2];
        for (balance, key) in balances.iter_mut().zip(BALANCES) {
            *balance = self.command(redis::cmd("GET").arg(key))?;
        }
        Ok(balances)
    }

    fn hold(&mut self, amount: u32) -> Result<()> {
        let pending = [add(sums(0)[DEBITS_PENDING], amount), add(sums(1)[CREDITS_PENDING], amount)];
        self.transaction(&pending, 1)
    }

    fn post(&mut self, amount: u32) -> Result<()> {
        let posted = [
            subtract(sums(0)[DEBITS_PENDING], amount),
            subtract(sums(1)[CREDITS_PENDING], amount),
            add(sums(0)[DEBITS_POSTED], amount),
            add(sums(1)[CREDITS_POSTED], amount),
        ];
        self.transaction(&posted, 1)
    }

    fn accounts(&mut self) -> Result<[Account; 2]> {
        let mut command = redis::cmd("MGET");
        command.arg(&sums(0)).arg(&sums(1));
        let values: Vec<i64> = self.command(&command)?;
        let [a, b]: [[i64; 4]; 2] = two_fours(&values).context("MGET of 8 counters")?;
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

fn two_fours(values: &[i64]) -> Option<[[i64; 4]; 2]> {
    let (a, b) = values.split_at_checked(4)?;
    Some([a.try_into().ok()?, b.try_into().ok()?])
}
