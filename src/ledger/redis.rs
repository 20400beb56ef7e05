//! Redis or Valkey: the server, our own keys on it, and what it says of itself.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, Result};
use redis::{Client, Connection, IntoConnectionInfo};

use super::{Description, SeedLedger, Server, public_address};
use crate::{error::bad_input, machine};

mod seed;

/// Every key of ours begins so; no other is touched.
const PREFIX: &str = "ledger_bench:";
/// The settings that decide what a figure means.
const SETTINGS: [&str; 5] = ["appendonly", "appendfsync", "save", "maxmemory", "io-threads"];

/// A Redis or Valkey server.
pub struct Redis {
    client: Client,
    address: String,
    timeout: Duration,
    admin: Connection,
}

impl Redis {
    /// Connects and asks for a PING.
    pub fn connect(url: &str, timeout: Duration) -> Result<Self> {
        let address = public_address(url).to_owned();
        let info = url
            .into_connection_info()
            .map_err(|error| bad_input(format!("redis: REDIS_URL is not an address: {error}")))?;
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let client = Client::open(info.set_tcp_settings(tcp))?;
        let mut admin = connection(&client, timeout).with_context(|| format!("redis at {address}"))?;
        redis::cmd("PING").exec(&mut admin).with_context(|| format!("redis at {address}"))?;
        Ok(Self { client, address, timeout, admin })
    }

    fn remove_our_keys(&mut self) -> Result<()> {
        let keys = self.our_keys()?;
        if !keys.is_empty() {
            redis::cmd("DEL").arg(&keys).exec(&mut self.admin)?;
        }
        Ok(())
    }

    fn our_keys(&mut self) -> Result<Vec<Vec<u8>>> {
        let pattern = format!("{PREFIX}*");
        let mut scan = redis::cmd("SCAN");
        scan.cursor_arg(0).arg("MATCH").arg(pattern).arg("COUNT").arg(1_000);
        let keys: redis::RedisResult<Vec<_>> = scan.iter(&mut self.admin)?.collect();
        Ok(keys?)
    }

    fn info(&mut self) -> Result<HashMap<String, String>> {
        let text: String = redis::cmd("INFO").query(&mut self.admin)?;
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Blank where the server does not let us ask.
    fn settings(&mut self) -> String {
        let known: HashMap<String, String> =
            redis::cmd("CONFIG").arg("GET").arg(&SETTINGS).query(&mut self.admin).unwrap_or_default();
        let pairs = SETTINGS.iter().filter_map(|&name| Some(format!("{name}={}", known.get(name)?)));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

fn connection(client: &Client, timeout: Duration) -> Result<Connection> {
    let connection = client.get_connection_with_timeout(timeout)?;
    connection.set_read_timeout(Some(timeout))?;
    connection.set_write_timeout(Some(timeout))?;
    Ok(connection)
}

impl Server for Redis {
    fn prepare(&mut self) -> Result<bool> {
        self.remove_our_keys()?;
        let left = self.our_keys()?.len();
        anyhow::ensure!(left == 0, "{left} keys {PREFIX}* are still there after their removal");
        let others: u64 = redis::cmd("DBSIZE").query(&mut self.admin)?;
        seed::create_accounts(&mut self.admin)?;
        Ok(others == 0)
    }

    fn seed_client(&mut self) -> Result<Box<dyn SeedLedger>> {
        let connection = connection(&self.client, self.timeout)
            .with_context(|| format!("one more connection to {}", self.address))?;
        Ok(Box::new(seed::Client::new(connection)))
    }

    fn describe(&mut self) -> Result<Description> {
        let info = self.info()?;
        let value = |name: &str| info.get(name).cloned();
        let server_version = match (value("valkey_version"), value("redis_version")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, Some(version)) => format!("Redis {version}"),
            (None, None) => String::new(),
        };
        let replicas = value("connected_slaves").and_then(|count| count.parse::<u64>().ok());
        Ok(Description {
            server_version,
            client_version: machine::crate_version("redis"),
            settings: self.settings(),
            replicas: replicas.map(|count| count + 1),
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        self.remove_our_keys()
    }
}
