//! What a system must be able to do, and the one place that knows which systems there are.
//!
//! Drivers know nothing of threads, budgets, clocks or rows.

use std::{env, fmt, time::Duration};

use anyhow::Result;

use crate::error::bad_input;

mod memory;
mod postgres;
mod redis;
mod tigerbeetle;

/// A system under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum System {
    /// TigerBeetle, a ledger database.
    Tigerbeetle,
    /// Redis or Valkey.
    Redis,
    /// PostgreSQL.
    Postgres,
    /// A ledger inside this process: what the harness itself costs.
    Memory,
}

impl System {
    /// The systems that are compared by default.
    pub const SERVERS: [Self; 3] = [Self::Tigerbeetle, Self::Redis, Self::Postgres];

    /// Its name on the command line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tigerbeetle => "tigerbeetle",
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Memory => "memory",
        }
    }

    /// The environment variable that holds its server's address; none for a system without one.
    #[must_use]
    pub fn address_variable(self) -> Option<&'static str> {
        match self {
            Self::Tigerbeetle => Some("TIGERBEETLE_ADDRESS"),
            Self::Redis => Some("REDIS_URL"),
            Self::Postgres => Some("DATABASE_URL"),
            Self::Memory => None,
        }
    }

    /// Its server's address as the user or `run.sh` gave it; empty for a system without one.
    pub fn address(self) -> Result<String> {
        let Some(variable) = self.address_variable() else {
            return Ok(String::new());
        };
        match env::var(variable) {
            Ok(address) if !address.is_empty() => Ok(address),
            Ok(_) | Err(_) => Err(bad_input(format!(
                "{self}: {variable} is not set: name your server by it, or let ./run.sh start one"
            ))),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a server says of itself; blank where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Product and version.
    pub server_version: String,
    /// The client library and its version.
    pub client_version: String,
    /// The settings that decide what a figure means, as `name=value, name=value`.
    pub settings: String,
    /// Copies of the data, the primary among them.
    pub replicas: Option<u64>,
}

/// One system's server, reached and ready to be given clients.
pub trait Server: Send {
    /// Makes our own data afresh: two accounts with nothing on them. Touches nothing that is not
    /// ours. Returns whether the server was otherwise empty.
    fn prepare(&mut self) -> Result<bool>;
    /// One more client of its own, as the predecessor used the system.
    fn seed_client(&mut self) -> Result<Box<dyn SeedLedger>>;
    /// What the server says of itself.
    fn describe(&mut self) -> Result<Description>;
    /// Removes our own data as far as the system can remove any.
    fn clean_up(&mut self) -> Result<()>;
}

/// Reaches a system's server: connected, and answered one request. `timeout` bounds every wait.
pub fn connect(system: System, timeout: Duration) -> Result<Box<dyn Server>> {
    let address = system.address()?;
    Ok(match system {
        System::Tigerbeetle => Box::new(tigerbeetle::Tigerbeetle::connect(&address, timeout)?),
        System::Redis => Box::new(redis::Redis::connect(&address, timeout)?),
        System::Postgres => Box::new(postgres::Postgres::connect(&address, timeout)?),
        System::Memory => Box::new(memory::Memory::default()),
    })
}

/// The address without user and password, as errors show it.
#[must_use]
pub fn public_address(address: &str) -> &str {
    let after_scheme = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority_end = after_scheme.find(['/', '?']).unwrap_or(after_scheme.len());
    let authority = &after_scheme[..authority_end];
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Debits and credits of one account, TigerBeetle's four sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Held, not yet posted.
    pub debits_pending: i64,
    /// Posted.
    pub debits_posted: i64,
    /// Held, not yet posted.
    pub credits_pending: i64,
    /// Posted.
    pub credits_posted: i64,
}

/// A stored transfer's part in a two-phase transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// Neither of the others.
    Plain,
    /// Holds an amount.
    Pending,
    /// Posts what another one holds.
    PostPending,
}

/// One client's view of two accounts, in the requests of the predecessor: the first account is
/// debited, the second credited. A system may keep plain counters; what it keeps apart is up to
/// the requests that the predecessor sent.
pub trait SeedLedger: Send {
    /// A throw-away request.
    fn hello(&mut self) -> Result<()>;
    /// Moves an amount.
    fn transfer(&mut self, amount: u32) -> Result<()>;
    /// Moves an amount `count` times in one batch.
    fn transfer_batch(&mut self, amount: u32, count: u32) -> Result<()>;
    /// What the accounts have gained or lost, each read by itself where the predecessor did so.
    fn balances(&mut self) -> Result<[i64; 2]>;
    /// The same as the predecessor read it after a batch.
    fn balances_after_batch(&mut self) -> Result<[i64; 2]> {
        self.balances()
    }
    /// Holds an amount.
    fn hold(&mut self, amount: u32) -> Result<()>;
    /// Posts what was held last.
    fn post(&mut self, amount: u32) -> Result<()>;
    /// The four sums of each account, as holds and posts leave them.
    fn accounts(&mut self) -> Result<[Account; 2]>;
    /// Whether the system stores transfers at all.
    fn keeps_transfers(&self) -> bool;
    /// What the system stored of the last hold and of its posting. Only asked for where
    /// [`keeps_transfers`](Self::keeps_transfers).
    fn stored_kinds(&mut self) -> Result<[TransferKind; 2]>;
    /// Round trips made so far.
    fn requests(&self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        assert_eq!(public_address("redis://:secret@127.0.0.1:6379/0"), "127.0.0.1:6379");
        assert_eq!(public_address("postgresql://me:p@ss@db:5432/x?a=b@c"), "db:5432");
        assert_eq!(public_address("127.0.0.1:3000"), "127.0.0.1:3000");
        assert_eq!(public_address("redis://localhost"), "localhost");
    }
}
