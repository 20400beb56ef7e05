//! Redis or Valkey: the server, our own keys on it, and what it says of itself.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, Result};
use redis::{Client, Connection, ConnectionAddr, IntoConnectionInfo, RedisResult};

use super::{Counters, Data, Description, Durability, Ledger, SeedLedger, Server, Style, Transport};
use crate::{error::bad_input, machine, meter::Meter};

mod counters;
mod ledger;
mod library;
mod packing;
mod seed;

/// The settings that decide what a figure means.
const SETTINGS: [&str; 8] = [
    "appendonly",
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "auto-aof-rewrite-percentage",
    "auto-aof-rewrite-min-size",
    "save",
    "maxmemory",
    "io-threads",
];

/// Those that decide where a write has arrived before its reply.
const DURABILITY_SETTINGS: [&str; 4] = ["appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save"];

/// A Redis or Valkey server.
struct Redis {
    client: Client,
    timeout: Duration,
    admin: Connection,
    /// Whether we loaded our functions. Seed samples leave those alone that another process uses.
    has_library: bool,
}

/// Connects and asks for a PING.
pub fn connect(url: &str, timeout: Duration) -> Result<Box<dyn Server>> {
    let info = url
        .into_connection_info()
        .map_err(|error| bad_input(format!("REDIS_URL is not an address: {error}")))?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let client = Client::open(info.set_tcp_settings(tcp))?;
    let mut admin = connection(&client, timeout)?;
    redis::cmd("PING").exec(&mut admin)?;
    Ok(Box::new(Redis { client, timeout, admin, has_library: false }))
}

/// Host and port of a URL, or the socket's path.
pub fn public_address(url: &str) -> Option<String> {
    url.into_connection_info().ok().map(|info| info.addr().to_string())
}

/// Whether a URL has one.
pub fn has_password(url: &str) -> bool {
    url.into_connection_info().is_ok_and(|info| info.redis_settings().password().is_some())
}

/// TCP where the URL names no socket.
pub fn transport(url: &str) -> Transport {
    match url.into_connection_info().as_ref().map(redis::ConnectionInfo::addr) {
        Ok(ConnectionAddr::Unix(_)) => Transport::Unix,
        _ => Transport::Tcp,
    }
}

impl Redis {
    fn info(&mut self) -> Result<HashMap<String, String>> {
        let text: String = redis::cmd("INFO").query(&mut self.admin)?;
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Removes the keys of both suites; their functions stay.
    fn remove_keys(&mut self) -> Result<()> {
        seed::remove_accounts(&mut self.admin)?;
        library::remove_data(&mut self.admin)
    }

    /// One by one: Redis 6, which is told its age later, answers no more than one a request.
    fn durability_settings(&mut self) -> RedisResult<HashMap<String, String>> {
        let mut held = HashMap::new();
        for name in DURABILITY_SETTINGS {
            let answer: HashMap<String, String> =
                redis::cmd("CONFIG").arg("GET").arg(name).query(&mut self.admin)?;
            held.extend(answer);
        }
        Ok(held)
    }

    /// Unknown where the server does not let us ask.
    fn waits_for_disk(&mut self) -> Option<bool> {
        let held = self.durability_settings().ok()?;
        Some(held.get("appendonly")? == "yes" && held.get("appendfsync")? == "always")
    }

    /// Blank where the server does not let us ask.
    fn settings(&mut self) -> String {
        let known: HashMap<String, String> =
            redis::cmd("CONFIG").arg("GET").arg(&SETTINGS).query(&mut self.admin).unwrap_or_default();
        let pairs = SETTINGS.iter().filter_map(|&name| Some(format!("{name}={}", known.get(name)?)));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

/// What the server must have for the tier.
fn wanted_settings(durability: Durability) -> &'static [(&'static str, &'static str)] {
    match durability {
        Durability::Shipped => &[],
        // A rewrite of the log must not switch it off.
        Durability::Fsync => {
            &[("appendonly", "yes"), ("appendfsync", "always"), ("no-appendfsync-on-rewrite", "no")]
        }
        Durability::OsCache => &[("appendonly", "yes"), ("appendfsync", "no")],
        Durability::Memory => &[("appendonly", "no"), ("save", "")],
    }
}

/// Settings as `name=value`; a value that is empty or has spaces in quotes.
fn listed<'a>(settings: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let one = |(name, value): (&str, &str)| {
        let quote = if value.is_empty() || value.contains(' ') { "\"" } else { "" };
        format!("{name}={quote}{value}{quote}")
    };
    settings.map(one).collect::<Vec<_>>().join(", ")
}

/// What is wrong with the server for the tier, and what to do.
fn refused(durability: Durability, fault: &str) -> String {
    let wanted = listed(wanted_settings(durability).iter().copied());
    format!("the server {fault}; {durability} needs {wanted}: ./run.sh starts a server that has them")
}

fn connection(client: &Client, timeout: Duration) -> Result<Connection> {
    let connection = client.get_connection_with_timeout(timeout)?;
    connection.set_read_timeout(Some(timeout))?;
    connection.set_write_timeout(Some(timeout))?;
    Ok(connection)
}

impl Server for Redis {
    fn check_durability(&mut self, durability: Durability) -> Result<()> {
        let wanted = wanted_settings(durability);
        if wanted.is_empty() {
            return Ok(());
        }
        let held = self.durability_settings().map_err(|error| {
            bad_input(refused(durability, &format!("does not say what it has ({error})")))
        })?;
        let differs = wanted.iter().any(|&(name, value)| held.get(name).is_none_or(|held| held != value));
        if differs {
            let held = DURABILITY_SETTINGS.iter().filter_map(|&name| Some((name, held.get(name)?.as_str())));
            return Err(bad_input(refused(durability, &format!("has {}", listed(held)))));
        }
        Ok(())
    }

    fn prepare(&mut self, data: Data) -> Result<bool> {
        if matches!(data, Data::Ledger(_)) {
            library::check_version(&self.info()?)?;
            library::load(&mut self.admin)?;
            self.has_library = true;
        }
        self.remove_keys()?;
        let others: u64 = redis::cmd("DBSIZE").query(&mut self.admin)?;
        if data == Data::Seed {
            seed::create_accounts(&mut self.admin)?;
        }
        Ok(others == 0)
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        let connection = connection(&self.client, self.timeout).context("one more connection")?;
        Ok(Box::new(seed::Client::new(connection, meter)))
    }

    fn ledger_client(&mut self, _: Style, meter: Meter) -> Result<Box<dyn Ledger>> {
        let connection = connection(&self.client, self.timeout).context("one more connection")?;
        Ok(Box::new(ledger::Client::new(connection, meter)))
    }

    /// Blank where the server does not let us ask.
    fn counters(&mut self) -> Result<Counters> {
        Ok(counters::read(&self.info().unwrap_or_default()))
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
            waits_for_disk: self.waits_for_disk(),
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        self.remove_keys()?;
        if self.has_library {
            library::unload(&mut self.admin)?;
            self.has_library = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        assert_eq!(public_address("redis://:secret@127.0.0.1:6379/0").as_deref(), Some("127.0.0.1:6379"));
        assert_eq!(public_address("redis://me:p%2Fss@db").as_deref(), Some("db:6379"));
        assert_eq!(public_address("http://me:secret@db"), None);
        assert_eq!(public_address("redis+unix:///run/r.sock?pass=secret").as_deref(), Some("/run/r.sock"));
    }

    #[test]
    fn a_url_has_a_password_or_not() {
        assert!(has_password("redis://:secret@db") && has_password("redis+unix:///r.sock?pass=secret"));
        assert!(!has_password("redis://db") && !has_password("http://:secret@db"));
    }

    #[test]
    fn a_url_names_its_transport() {
        assert_eq!(transport("redis+unix:///run/r.sock?pass=secret"), Transport::Unix);
        assert_eq!([transport("redis://db"), transport("")], [Transport::Tcp; 2]);
    }

    #[test]
    fn a_refused_server_is_told_what_it_has_and_needs() {
        let held = [("appendonly", "no"), ("appendfsync", "everysec"), ("save", "3600 1")];
        assert_eq!(
            refused(Durability::Fsync, &format!("has {}", listed(held.into_iter()))),
            "the server has appendonly=no, appendfsync=everysec, save=\"3600 1\"; fsync needs appendonly=yes, \
             appendfsync=always, no-appendfsync-on-rewrite=no: ./run.sh starts a server that has them"
        );
        let told = refused(Durability::Memory, "x");
        assert!(told.contains("memory needs appendonly=no, save=\"\""), "{told}");
    }
}
