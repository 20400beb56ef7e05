//! The ledger suite's requests to Redis: one call of a function of our library each, packed before
//! the clock. What the library does stands in `ledger.lua`.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use redis::{Connection, Value};

use super::packing::{self, Packer};
use crate::{
    ledger::{
        Account, Ledger,
        model::{NewAccount, Refusal, Stored, Transfer, ensure_valid},
    },
    meter::Meter,
};

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// One connection, with its requests.
pub struct Client {
    connection: Connection,
    packer: Packer,
    prepared: VecDeque<Vec<u8>>,
    /// Requests that were sent already: buffers to be used again.
    spent: Vec<Vec<u8>>,
    in_flight: usize,
    meter: Meter,
}

impl Client {
    pub fn new(connection: Connection, meter: Meter) -> Self {
        Self {
            connection,
            packer: Packer::default(),
            prepared: VecDeque::new(),
            spent: Vec::new(),
            in_flight: 0,
            meter,
        }
    }

    fn send(&mut self, request: &[u8]) -> Result<()> {
        self.meter.count();
        self.connection.send_packed_command(request).context("sending a request")
    }

    fn reply(&mut self) -> Result<Value> {
        let explained = |error: redis::RedisError| {
            let is_silent = error.is_timeout();
            let error = anyhow::Error::new(error).context("waiting for a reply");
            if is_silent { error.context("no reply within --timeout: is the server up?") } else { error }
        };
        let reply = self.connection.recv_response().map_err(explained)?;
        Ok(reply.extract_error()?)
    }

    /// One request that `pack` writes, and its reply.
    fn ask(&mut self, pack: impl FnOnce(&mut Vec<u8>)) -> Result<Value> {
        assert_eq!(self.in_flight, 0, "replies come in the order of their requests");
        let mut request = self.spent.pop().unwrap_or_default();
        pack(&mut request);
        let sent = self.send(&request);
        self.spent.push(request);
        sent?;
        self.reply()
    }

    /// One look-up: what `read` makes of each value that was found, in place.
    fn look_up<T>(
        &mut self,
        ids: &[u128],
        pack: fn(&[u128], &mut Vec<u8>),
        read: impl Fn(u128, &[u8]) -> Result<T>,
    ) -> Result<Vec<Option<T>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let Value::Array(found) = self.ask(|request| pack(ids, request))? else {
            anyhow::bail!("a look-up was answered by something else than an array");
        };
        anyhow::ensure!(found.len() == ids.len(), "{} values for {} ids", found.len(), ids.len());
        let found = ids.iter().zip(&found).map(|(&id, value)| match value {
            Value::Nil => Ok(None),
            value => Ok(Some(read(id, bytes(value)?)?)),
        });
        found.collect()
    }
}

fn bytes(value: &Value) -> Result<&[u8]> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        other => Err(anyhow::anyhow!("bytes were expected, and {other:?} came")),
    }
}

impl Ledger for Client {
    fn hello(&mut self) -> Result<()> {
        self.ask(|request| PING.clone_into(request)).map(drop)
    }

    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<()> {
        if accounts.is_empty() {
            return Ok(());
        }
        let reply = self.ask(|request| packing::create_accounts(accounts, request))?;
        let refused = bytes(&reply)?.len() / packing::REFUSAL_BYTES;
        anyhow::ensure!(refused == 0, "{refused} of {} accounts exist already", accounts.len());
        Ok(())
    }

    fn prepare(&mut self, transfers: &[Transfer]) -> Result<()> {
        ensure_valid(transfers)?;
        let mut request = self.spent.pop().unwrap_or_default();
        self.packer.create_transfers(transfers, &mut request);
        self.prepared.push_back(request);
        Ok(())
    }

    fn submit(&mut self) -> Result<()> {
        let request = self.prepared.pop_front().context("nothing is prepared")?;
        let sent = self.send(&request);
        self.spent.push(request);
        sent?;
        self.in_flight += 1;
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Refusal>> {
        self.in_flight = self.in_flight.checked_sub(1).context("nothing is in flight")?;
        let reply = self.reply()?;
        packing::refusals(bytes(&reply)?)
    }

    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>> {
        self.look_up(ids, packing::look_up_accounts, |_, value| packing::account(value))
    }

    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>> {
        self.look_up(ids, packing::look_up_transfers, packing::stored)
    }

    fn transfer_count(&mut self) -> Result<Option<u64>> {
        match self.ask(|request| packing::count_transfers().clone_into(request))? {
            Value::Int(count) => Ok(Some(u64::try_from(count).context("a count below 0")?)),
            other => Err(anyhow::anyhow!("a count was expected, and {other:?} came")),
        }
    }
}
