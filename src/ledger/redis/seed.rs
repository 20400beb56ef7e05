//! The predecessor's requests to Redis: plain counters under keys of their own.

use anyhow::{Context, Result};
use redis::{Cmd, Connection, ConnectionLike, FromRedisValue, Value};

use crate::{
    ledger::{AMOUNT, Account, HELD, SeedLedger, TransferKind},
    meter::Meter,
};

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

fn keys() -> impl Iterator<Item = &'static str> {
    BALANCES.into_iter().chain(sums(0)).chain(sums(1))
}

/// Sets every counter to 0.
pub fn create_accounts(connection: &mut Connection) -> Result<()> {
    let mut pipe = redis::pipe();
    for key in keys() {
        pipe.cmd("SET").arg(key).arg(0).ignore();
    }
    Ok(pipe.exec(connection)?)
}

/// Removes every counter, and proves it.
pub fn remove_accounts(connection: &mut Connection) -> Result<()> {
    let keys: Vec<_> = keys().collect();
    redis::cmd("DEL").arg(&keys).exec(connection)?;
    let left: usize = redis::cmd("EXISTS").arg(&keys).query(connection)?;
    anyhow::ensure!(left == 0, "{left} of our keys are still there after their removal");
    Ok(())
}

/// Commands in their wire format, packed before the clock.
struct Packed {
    bytes: Vec<u8>,
    commands: usize,
}

impl Packed {
    fn new(commands: &[Cmd]) -> Self {
        let bytes = commands.iter().flat_map(Cmd::get_packed_command).collect();
        Self { bytes, commands: commands.len() }
    }

    /// Pipelined MULTI, these `times` over, EXEC.
    fn write_transaction(&self, times: usize, request: &mut Vec<u8>) {
        request.clear();
        request.extend_from_slice(MULTI);
        for _ in 0..times {
            request.extend_from_slice(&self.bytes);
        }
        request.extend_from_slice(EXEC);
    }
}

/// One connection, with its requests.
pub struct Client {
    connection: Connection,
    transfer: Packed,
    hold: Packed,
    post: Packed,
    get: [Cmd; 2],
    get_sums: Cmd,
    /// The bytes of the transaction that is being sent; kept, so that they are allocated once.
    request: Vec<u8>,
    meter: Meter,
}

impl Client {
    pub fn new(connection: Connection, meter: Meter) -> Self {
        let [debit, credit] = BALANCES;
        let [debits, credits] = [sums(0), sums(1)];
        Self {
            connection,
            transfer: Packed::new(&[subtract(debit, AMOUNT), add(credit, AMOUNT)]),
            hold: Packed::new(&[add(debits[DEBITS_PENDING], HELD), add(credits[CREDITS_PENDING], HELD)]),
            post: Packed::new(&[
                subtract(debits[DEBITS_PENDING], HELD),
                subtract(credits[CREDITS_PENDING], HELD),
                add(debits[DEBITS_POSTED], HELD),
                add(credits[CREDITS_POSTED], HELD),
            ]),
            get: BALANCES.map(|key| redis::cmd("GET").arg(key).take()),
            get_sums: redis::cmd("MGET").arg(&debits).arg(&credits).take(),
            request: Vec::new(),
            meter,
        }
    }

    /// Every one of the commands must have returned a number.
    fn transaction(&mut self, packed: fn(&Self) -> &Packed, times: usize) -> Result<()> {
        let mut request = std::mem::take(&mut self.request);
        packed(self).write_transaction(times, &mut request);
        self.meter.count();
        let queued = packed(self).commands * times;
        // Before the reply to EXEC stand one to MULTI and one to each command that was queued.
        let replies = self.connection.req_packed_commands(&request, 1 + queued, 1);
        self.request = request;
        let replies = replies?;
        let Some(Value::Array(numbers)) = replies.first() else {
            anyhow::bail!("EXEC was answered by {replies:?}");
        };
        let executed = numbers.iter().filter(|value| matches!(value, Value::Int(_))).count();
        anyhow::ensure!(executed == queued, "{executed} of {queued} commands were executed");
        Ok(())
    }
}

fn add(key: &str, amount: u32) -> Cmd {
    redis::cmd("INCRBY").arg(key).arg(amount).take()
}

fn subtract(key: &str, amount: u32) -> Cmd {
    redis::cmd("DECRBY").arg(key).arg(amount).take()
}

fn ask<T: FromRedisValue>(connection: &mut Connection, command: &Cmd) -> Result<T> {
    let value: Value = connection.req_command(command)?;
    Ok(T::from_redis_value(value.extract_error()?)?)
}

impl SeedLedger for Client {
    fn hello(&mut self) -> Result<()> {
        self.meter.count();
        ask(&mut self.connection, &redis::cmd("PING"))
    }

    fn transfer(&mut self) -> Result<()> {
        self.transfer_batch(1)
    }

    fn transfer_batch(&mut self, count: u32) -> Result<()> {
        self.transaction(|client| &client.transfer, count as usize)
    }

    fn balances(&mut self) -> Result<[i64; 2]> {
        let mut balances = [0; 2];
        for (balance, command) in balances.iter_mut().zip(&self.get) {
            self.meter.count();
            *balance = ask(&mut self.connection, command)?;
        }
        Ok(balances)
    }

    fn hold(&mut self) -> Result<()> {
        self.transaction(|client| &client.hold, 1)
    }

    fn post(&mut self) -> Result<()> {
        self.transaction(|client| &client.post, 1)
    }

    fn accounts(&mut self) -> Result<[Account; 2]> {
        self.meter.count();
        let values: Vec<i64> = ask(&mut self.connection, &self.get_sums)?;
        let [a, b] = two_fours(&values).context("MGET of 8 counters")?;
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
}

fn two_fours(values: &[i64]) -> Option<[[i64; 4]; 2]> {
    let (a, b) = values.split_at_checked(4)?;
    Some([a.try_into().ok()?, b.try_into().ok()?])
}
