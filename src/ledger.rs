//! What a system must be able to do, and the one place that knows which systems there are.
//!
//! Drivers know nothing of threads, budgets, clocks or rows.

use std::{env, fmt, path::Path, time::Duration};

use anyhow::{Context, Result};

use crate::{error::bad_input, meter::Meter};
use model::{NewAccount, Refusal, Stored, Transfer};

pub use echo::{ECHO_BYTES, Echo};

mod echo;
pub mod ids;
mod memory;
pub mod model;
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
    /// This machine's own clock, network stack and disk, without a ledger.
    Machine,
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
            Self::Machine => "machine",
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
            Self::Machine => Some("LOOPBACK_ADDRESS"),
        }
    }

    /// The tiers of the ledger suite that it can keep.
    #[must_use]
    pub fn durabilities(self) -> &'static [Durability] {
        match self {
            Self::Tigerbeetle => &[Durability::Fsync],
            Self::Redis | Self::Postgres => {
                &[Durability::Shipped, Durability::Fsync, Durability::OsCache, Durability::Memory]
            }
            Self::Memory => &[Durability::Memory],
            Self::Machine => &[],
        }
    }

    /// Whether `run.sh` starts a server of it: the environment names no other.
    #[must_use]
    pub fn is_private(self) -> bool {
        self.address_variable().is_some() && self.address().is_err()
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

    /// Whether its address has a password that its own load generator takes in its command line alone.
    #[must_use]
    pub fn is_secret_shown_by_its_tool(self) -> bool {
        self == Self::Redis && self.address().is_ok_and(|address| redis::has_password(&address))
    }

    /// Whether one client may have several requests in flight.
    #[must_use]
    pub fn takes_several_in_flight(self) -> bool {
        self != Self::Postgres
    }

    /// Whether the timestamps of stored transfers tell which came in one message: see `suite::Messages`.
    #[must_use]
    pub fn tells_messages(self) -> bool {
        self == Self::Tigerbeetle
    }

    /// The transports that its client has.
    #[must_use]
    pub fn transports(self) -> &'static [Transport] {
        match self {
            Self::Redis | Self::Postgres => &[Transport::Tcp, Transport::Unix],
            Self::Tigerbeetle | Self::Memory | Self::Machine => &[Transport::Tcp],
        }
    }

    /// How the server that the environment names is reached; TCP where it names none.
    #[must_use]
    pub fn transport(self) -> Transport {
        let address = self.address().unwrap_or_default();
        match self {
            Self::Redis => redis::transport(&address),
            Self::Postgres => postgres::transport(&address),
            Self::Tigerbeetle | Self::Memory | Self::Machine => Transport::Tcp,
        }
    }

    /// The system and its server's address as errors and rows show it: hosts and ports as the
    /// client understood them, never a user or a password.
    #[must_use]
    pub fn place(self) -> String {
        let address = self.address().ok().and_then(|address| match self {
            Self::Tigerbeetle | Self::Machine => Some(address),
            Self::Redis => redis::public_address(&address),
            Self::Postgres => postgres::public_address(&address),
            Self::Memory => None,
        });
        address.map_or_else(|| self.to_string(), |address| format!("{self} at {address}"))
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where a write must have arrived before its reply: a tier that is set by whoever starts the
/// server, and read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Durability {
    /// As the server is shipped, whatever that is.
    Shipped,
    /// On disk.
    Fsync,
    /// With the kernel: it outlives the server, not the machine.
    OsCache,
    /// In the server's memory.
    Memory,
}

impl Durability {
    /// Its name on the command line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Fsync => "fsync",
            Self::OsCache => "os-cache",
            Self::Memory => "memory",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How requests reach a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// A unix socket.
    Unix,
}

impl Transport {
    /// Its name on the command line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Unix => "unix",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a program asks PostgreSQL for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Style {
    /// One call of a function.
    OneCall,
    /// A transaction of several statements, each with its own round trip, while rows are locked.
    Interactive,
}

impl Style {
    /// Its name in a sample's line and in the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneCall => "one-call",
            Self::Interactive => "interactive",
        }
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a sample starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// The predecessor's two accounts, with nothing on them.
    Seed,
    /// A ledger without accounts, kept as its tier asks for.
    Ledger(Durability),
    /// Nothing at all.
    None,
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
    /// Whether a commit is on disk before its reply; `None` where the server does not say.
    pub waits_for_disk: Option<bool>,
}

/// What a server has counted since it started: each only rises. `None` where it does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times that it had its log put on disk.
    pub syncs: Option<u64>,
    /// Bytes that it wrote to its log.
    pub log_bytes: Option<u64>,
    /// Checkpoints.
    pub checkpoints: Option<u64>,
    /// Times that it wrote its log anew.
    pub rewrites: Option<u64>,
    /// Snapshots of all data.
    pub snapshots: Option<u64>,
}

impl Counters {
    /// What was counted since an earlier moment of the same server. A log that was written anew in between does not
    /// tell by its length what was written.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let difference = |after: Option<u64>, before: Option<u64>| after?.checked_sub(before?);
        let log_bytes = difference(self.log_bytes, before.log_bytes);
        Self {
            syncs: difference(self.syncs, before.syncs),
            log_bytes: log_bytes.filter(|_| self.rewrites == before.rewrites),
            checkpoints: difference(self.checkpoints, before.checkpoints),
            rewrites: difference(self.rewrites, before.rewrites),
            snapshots: difference(self.snapshots, before.snapshots),
        }
    }
}

/// One system's server, reached and ready to be given clients.
pub trait Server: Send {
    /// Refuses a server whose own settings are not those of the tier.
    fn check_durability(&mut self, durability: Durability) -> Result<()>;
    /// Makes our own data afresh. Touches nothing that is not ours. Returns whether the server was
    /// otherwise empty.
    fn prepare(&mut self, data: Data) -> Result<bool>;
    /// One more client of its own, as the predecessor used the system; it counts each of its
    /// round trips by `meter`.
    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>>;
    /// One more client of its own for the ledger suite; it counts each round trip when it begins. `style`: how
    /// PostgreSQL is asked; the others know one request a transfer.
    fn ledger_client(&mut self, style: Style, meter: Meter) -> Result<Box<dyn Ledger>>;
    /// Has the server do at once what it would do sooner or later about the funded accounts of the
    /// ledger suite. Off the clock.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// Where its data is, for a system that tells some of what it counts nowhere else.
    fn keeps_data_in(&mut self, _: &Path) {}
    /// What it has counted so far. Cheap enough to be asked once an interval during a sample; exact once all clients
    /// are idle and have had it [take their counts](Ledger::hand_in_counts).
    fn counters(&mut self) -> Result<Counters> {
        Ok(Counters::default())
    }
    /// What the server says of itself.
    fn describe(&mut self) -> Result<Description>;
    /// Removes our own data as far as the system can remove any.
    fn clean_up(&mut self) -> Result<()>;
}

/// Reaches a system's server: connected, and answered one request. `timeout` bounds every wait.
pub fn connect(system: System, timeout: Duration) -> Result<Box<dyn Server>> {
    let address = system.address()?;
    let connected: Result<Box<dyn Server>> = match system {
        System::Tigerbeetle => tigerbeetle::connect(&address, timeout),
        System::Redis => redis::connect(&address, timeout),
        System::Postgres => postgres::connect(&address, timeout),
        System::Memory => Ok(Box::<memory::Memory>::default()),
        System::Machine => echo::connect(&address, timeout),
    };
    connected.with_context(|| system.place())
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

/// What the predecessor moves by one transfer.
pub const AMOUNT: u32 = 10;
/// What it holds and posts.
pub const HELD: u32 = 500;

/// One client's view of two accounts, in the requests of the predecessor: the first account is
/// debited, the second credited. A system may keep plain counters; what it keeps apart is up to
/// the requests that the predecessor sent.
pub trait SeedLedger: Send {
    /// A throw-away request.
    fn hello(&mut self) -> Result<()>;
    /// As [`Ledger::hand_in_counts`].
    fn hand_in_counts(&mut self) -> Result<()> {
        Ok(())
    }
    /// Moves [`AMOUNT`].
    fn transfer(&mut self) -> Result<()>;
    /// Moves [`AMOUNT`] `count` times in one batch.
    fn transfer_batch(&mut self, count: u32) -> Result<()>;
    /// What the accounts have gained or lost, each read by itself where the predecessor did so.
    fn balances(&mut self) -> Result<[i64; 2]>;
    /// The same as the predecessor read it after a batch.
    fn balances_after_batch(&mut self) -> Result<[i64; 2]> {
        self.balances()
    }
    /// Holds [`HELD`].
    fn hold(&mut self) -> Result<()>;
    /// Posts what was held last.
    fn post(&mut self) -> Result<()>;
    /// The four sums of each account, as holds and posts leave them.
    fn accounts(&mut self) -> Result<[Account; 2]>;
    /// Whether the system stores transfers at all.
    fn keeps_transfers(&self) -> bool;
    /// What the system stored of the last hold and of its posting. Only asked for where
    /// [`keeps_transfers`](Self::keeps_transfers).
    fn stored_kinds(&mut self) -> Result<[TransferKind; 2]>;
}

/// The most transfers, accounts or ids in one request: TigerBeetle's limit.
pub const EVENTS_MAX: usize = 8_189;

/// What a client's requests brought about beside their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often the server began a request anew.
    pub retries: u64,
    /// Requests whose accounts others could read before the transfer was on disk; its reply came after.
    pub early_releases: u64,
}

impl std::iter::Sum for Account {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            debits_pending: sum.debits_pending + one.debits_pending,
            debits_posted: sum.debits_posted + one.debits_posted,
            credits_pending: sum.credits_pending + one.credits_pending,
            credits_posted: sum.credits_posted + one.credits_posted,
        })
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            retries: sum.retries + one.retries,
            early_releases: sum.early_releases + one.early_releases,
        })
    }
}

/// One client of a ledger with the meaning of TigerBeetle's, whatever the system: see [`model`].
/// A request is prepared, then sent, then its reply received; several may be in flight, and their
/// replies come in the order in which they were sent.
pub trait Ledger: Send {
    /// A throw-away request.
    fn hello(&mut self) -> Result<()>;
    /// Has the server add to its counters what it keeps for this client by itself. Off the clock.
    fn hand_in_counts(&mut self) -> Result<()> {
        Ok(())
    }
    /// Makes accounts, at most [`EVENTS_MAX`], none of which may exist.
    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<()>;
    /// Encodes a request of 1 to [`EVENTS_MAX`] transfers, to be sent after those that are
    /// prepared already. May be done outside the clock.
    fn prepare(&mut self, transfers: &[Transfer]) -> Result<()>;
    /// Sends the request that was prepared first: one round trip in which each transfer is done
    /// or refused by itself, in order.
    fn submit(&mut self) -> Result<()>;
    /// Waits for the reply to the request that was sent first; what was refused, by index.
    fn receive(&mut self) -> Result<Vec<Refusal>>;
    /// The accounts of at most [`EVENTS_MAX`] ids, in their order; `None` for one that does not exist.
    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>>;
    /// The stored transfers of at most [`EVENTS_MAX`] ids, in their order.
    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>>;
    /// How many transfers are stored in all; `None` where the system cannot be asked.
    fn transfer_count(&mut self) -> Result<Option<u64>>;
    /// What happened beside what was asked for, so far.
    fn tally(&self) -> Tally {
        Tally::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_since_is_the_difference_where_both_are_known() {
        let all = |count| Counters {
            syncs: Some(count),
            log_bytes: Some(count),
            checkpoints: Some(count),
            rewrites: Some(0),
            snapshots: Some(count),
        };
        assert_eq!(all(10).since(all(3)), all(7));
        assert_eq!(all(10).since(Counters::default()), Counters::default());
        assert_eq!(all(3).since(all(10)), Counters { rewrites: Some(0), ..Counters::default() });
    }

    #[test]
    fn a_log_written_anew_tells_nothing_by_its_length() {
        let of = |log_bytes, rewrites| Counters {
            log_bytes: Some(log_bytes),
            rewrites: Some(rewrites),
            ..Counters::default()
        };
        let since = of(900, 2).since(of(100, 1));
        assert_eq!((since.log_bytes, since.rewrites), (None, Some(1)));
    }
}
