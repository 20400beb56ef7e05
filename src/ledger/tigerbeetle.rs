//! TigerBeetle: one client shared by all callers, fresh account ids, and what is known of the
//! server (which says nothing of itself over its protocol).

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use tigerbeetle_unofficial::{
    self as tb,
    error::{CreateTransfersError, NewClientErrorKind, SendError, SendErrorKind},
};

use super::{
    Counters, Data, Description, Durability, Ledger, SeedLedger, Server, Style,
    ids::{self, Ids},
};
use crate::{error::bad_input, machine, meter::Meter};
use wait::Waiter;

mod checkpoints;
mod ledger;
#[expect(unsafe_code, reason = "a callback of the C client; see the file's head")]
mod log;
mod seed;
mod wait;

/// The cluster that `run.sh` formats, and the predecessor's.
const CLUSTER: u128 = 0;
/// Every account and transfer of ours is of this ledger and code.
const LEDGER: u32 = 1;
const CODE: u16 = 1;

/// A TigerBeetle cluster.
struct Tigerbeetle {
    address: String,
    timeout: Duration,
    admin: tb::Client,
    waiter: Waiter,
    /// The one client of all callers: its requests that wait coalesce into the next batch.
    shared: Option<Arc<tb::Client>>,
    ids: ids::Source,
    accounts: [u128; 2],
    /// Its server's, where that is known.
    data_file: Option<PathBuf>,
}

/// Starts a client and asks for an account that does not exist.
pub fn connect(address: &str, timeout: Duration) -> Result<Box<dyn Server>> {
    log::take();
    Ok(Box::new(Tigerbeetle {
        address: address.to_owned(),
        timeout,
        admin: start_client(address, timeout)?,
        waiter: Waiter::new(timeout),
        shared: None,
        ids: ids::Source::new(),
        accounts: [0; 2],
        data_file: None,
    }))
}

/// A client that has had its first reply.
fn start_client(address: &str, timeout: Duration) -> Result<tb::Client> {
    let client = tb::Client::new(CLUSTER, address).map_err(|error| match error.kind() {
        NewClientErrorKind::AddressInvalid | NewClientErrorKind::AddressLimitExceeded => bad_input(format!(
            "TIGERBEETLE_ADDRESS is not an address: {error}; name IP:PORT, or several with commas between"
        )),
        _ => anyhow::anyhow!("starting a client: {error}"),
    })?;
    Waiter::new(timeout).wait(client.lookup_accounts(vec![1]))?.map_err(send_error)?;
    Ok(client)
}

/// A server that is older than the client evicts it: that is the user's to mend.
fn send_error(error: SendError) -> anyhow::Error {
    match error.kind() {
        SendErrorKind::ClientReleaseTooHigh => bad_input(format!(
            "the server is older than the client ({}): start a newer server",
            client_version()
        )),
        SendErrorKind::ClientReleaseTooLow => bad_input(format!(
            "the server no longer accepts the client ({}): start an older server",
            client_version()
        )),
        _ => error.into(),
    }
}

fn client_version() -> String {
    machine::crate_version("tigerbeetle-unofficial")
}

/// The whole answer to a create request as one error: how many were refused, and why the first.
fn refused(error: CreateTransfersError) -> anyhow::Error {
    let refusals = match &error {
        CreateTransfersError::Api(refusals) => refusals.as_slice(),
        _ => &[],
    };
    match refusals.first() {
        Some(first) => anyhow::anyhow!(
            "{} transfers were refused, the first (number {} of the request) as {}",
            refusals.len(),
            first.index() + 1,
            first.kind().into_snake_case_str()
        ),
        None => error.into(),
    }
}

impl Tigerbeetle {
    fn shared_client(&mut self) -> Result<Arc<tb::Client>> {
        Ok(match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::clone(self.shared.insert(Arc::new(start_client(&self.address, self.timeout)?))),
        })
    }
}

impl Server for Tigerbeetle {
    fn check_durability(&mut self, durability: Durability) -> Result<()> {
        match durability {
            // It knows no other, so that needs no asking.
            Durability::Shipped | Durability::Fsync => Ok(()),
            Durability::OsCache | Durability::Memory => {
                Err(bad_input(format!("TigerBeetle is durable by fsync alone, never by {durability}")))
            }
        }
    }

    /// Accounts are for ever, so the ledger suite begins without asking for any to be gone.
    fn prepare(&mut self, data: Data) -> Result<bool> {
        let anything = Box::new(tb::QueryFilter::new(1));
        let found = self.waiter.wait(self.admin.query_accounts(anything))??;
        if data != Data::Seed {
            return Ok(found.is_empty());
        }
        self.accounts = [self.ids.account(0), self.ids.account(1)];
        let accounts = self.accounts.map(|id| tb::Account::new(id, LEDGER, CODE)).to_vec();
        self.waiter.wait(self.admin.create_accounts(accounts))??;
        Ok(found.is_empty())
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        let (shared, waiter) = (self.shared_client()?, Waiter::new(self.timeout));
        Ok(Box::new(seed::Client::new(shared, waiter, self.ids.next_client(), self.accounts, meter)))
    }

    fn ledger_client(&mut self, _: Style, meter: Meter) -> Result<Box<dyn Ledger>> {
        Ok(Box::new(ledger::Client::new(self.shared_client()?, Waiter::new(self.timeout), meter)))
    }

    fn keeps_data_in(&mut self, folder: &Path) {
        self.data_file = checkpoints::data_file(folder);
    }

    fn counters(&mut self) -> Result<Counters> {
        let checkpoints = self.data_file.as_deref().and_then(checkpoints::superblocks);
        Ok(Counters { checkpoints, ..Counters::default() })
    }

    fn describe(&mut self) -> Result<Description> {
        Ok(Description {
            server_version: server_version().unwrap_or_default(),
            client_version: client_version(),
            settings: settings(env::var("TIGERBEETLE_CACHE_GRID").ok()),
            replicas: Some(self.address.split(',').count() as u64),
            waits_for_disk: Some(true),
        })
    }

    /// Transfers are for ever; `run.sh` removes the file of its own server.
    fn clean_up(&mut self) -> Result<()> {
        Ok(())
    }
}

/// It tells none of its settings; `run.sh` names the cache that it started its own server with.
fn settings(cache_grid: Option<String>) -> String {
    let cache_grid = cache_grid.map(|size| format!(", cache_grid={size}")).unwrap_or_default();
    format!("cluster={CLUSTER}{cache_grid}")
}

/// What the server's binary, named by `TIGERBEETLE`, says of itself: "TigerBeetle 0.16.78".
fn server_version() -> Option<String> {
    let output = Command::new(env::var_os("TIGERBEETLE")?).arg("version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.trim().strip_prefix("TigerBeetle version ")?;
    // "0.16.78+c3d9b09": the commit adds nothing to a release.
    Some(format!("TigerBeetle {}", version.split('+').next()?))
}
