//! PostgreSQL: the server, our own schema on it, and what it says of itself.

use std::{net::ToSocketAddrs, time::Duration};

use anyhow::{Context, Result};
use postgres::{Client, Config, NoTls, config::Host};

use super::{Counters, Data, Description, Durability, Ledger, SeedLedger, Server, Style, Transport};
use crate::{error::bad_input, machine, meter::Meter};

mod counters;
mod interactive;
mod ledger;
mod seed;
mod wire;

/// What marks the schema as ours: one of that name without it is never dropped.
const SCHEMA_COMMENT: &str = "scratch data of ledger-bench, dropped and made anew by every sample";
/// The settings that decide what a figure means.
const SETTINGS: &str = "SELECT string_agg(name || '=' || current_setting(name), ', ' ORDER BY name)
     FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method',
                    'shared_buffers', 'max_wal_size', 'jit', 'wal_level', 'commit_delay', 'autovacuum',
                    'checkpoint_timeout', 'wal_compression')";

/// What somebody else keeps in the database.
const OTHER_RELATIONS: &str = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";

/// A setting that a tier of durability asks for.
#[derive(Debug, PartialEq, Eq)]
struct Setting {
    name: &'static str,
    /// Any of them will do.
    values: &'static [&'static str],
}

/// What the server must be set to; the tables of the tier `memory` are made unlogged besides.
const fn demands(durability: Durability) -> &'static [Setting] {
    match durability {
        Durability::Shipped => &[],
        Durability::Fsync => &[
            Setting { name: "fsync", values: &["on"] },
            Setting { name: "synchronous_commit", values: &["on", "local", "remote_write", "remote_apply"] },
            Setting { name: "full_page_writes", values: &["on"] },
        ],
        Durability::OsCache => &[
            Setting { name: "fsync", values: &["off"] },
            Setting { name: "synchronous_commit", values: &["on"] },
        ],
        Durability::Memory => &[Setting { name: "synchronous_commit", values: &["off"] }],
    }
}

/// Says which settings differ, and what to do.
fn refuse(durability: Durability, differing: &[(&Setting, String)]) -> String {
    let list = |describe: fn(&(&Setting, String)) -> String| {
        differing.iter().map(describe).collect::<Vec<_>>().join(", ")
    };
    let has = list(|(setting, value)| format!("{}={value}", setting.name));
    let wants = list(|(setting, _)| format!("{}={}", setting.name, setting.values.join("|")));
    format!(
        "the server has {has}, durability {durability} wants {wants}: ./run.sh starts a server that has them"
    )
}

/// A PostgreSQL server.
struct Postgres {
    config: Config,
    admin: Client,
    /// Once it was asked: see [`Postgres::waits_for_disk`].
    is_durable: Option<bool>,
}

/// Connects and asks for an empty query.
pub fn connect(url: &str, timeout: Duration) -> Result<Box<dyn Server>> {
    let mut config: Config =
        url.parse().map_err(|error| bad_input(format!("DATABASE_URL is not an address: {error}")))?;
    if has_torn_password(&config) {
        return Err(bad_input("DATABASE_URL: an @ in a user's name or password is written %40"));
    }
    config.connect_timeout(timeout).tcp_user_timeout(timeout).application_name("ledger-bench");
    check_resolves(&config)?;
    let mut admin = config.connect(NoTls)?;
    admin.batch_execute("")?;
    Ok(Box::new(Postgres { config, admin, is_durable: None }))
}

/// The parser ends a password at its first `@`: its rest is then a part of the host.
fn has_torn_password(config: &Config) -> bool {
    config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if name.contains('@')))
}

/// A name that is not known is not worth waiting for. Of several hosts one will do.
fn check_resolves(config: &Config) -> Result<()> {
    let mut failure = Ok(());
    for host in config.get_hosts() {
        let Host::Tcp(name) = host else { return Ok(()) };
        match (name.as_str(), 0).to_socket_addrs() {
            Ok(_) => return Ok(()),
            Err(error) => failure = Err(bad_input(format!("the name {name} does not resolve: {error}"))),
        }
    }
    if config.get_hostaddrs().is_empty() { failure } else { Ok(()) }
}

/// Hosts and ports of a URL or of `name=value` words.
pub fn public_address(url: &str) -> Option<String> {
    let config: Config = url.parse().ok().filter(|config| !has_torn_password(config))?;
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    });
    let port = |index: usize| config.get_ports().get(index).or(config.get_ports().first()).unwrap_or(&5432);
    let places = hosts.enumerate().map(|(index, host)| format!("{host}:{}", port(index)));
    Some(places.collect::<Vec<_>>().join(","))
}

/// TCP where the address names no socket's folder.
pub fn transport(url: &str) -> Transport {
    let config: Option<Config> = url.parse().ok();
    let is_unix = |config: Config| matches!(config.get_hosts(), [Host::Unix(_), ..]);
    if config.is_some_and(is_unix) { Transport::Unix } else { Transport::Tcp }
}

impl Postgres {
    /// Drops our schema; one that only has its name is left alone.
    fn drop_schema(&mut self) -> Result<()> {
        let found = self.admin.query_opt(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'ledger_bench'",
            &[],
        )?;
        let Some(row) = found else { return Ok(()) };
        let comment: Option<String> = row.get(0);
        anyhow::ensure!(
            comment.as_deref() == Some(SCHEMA_COMMENT),
            "the schema ledger_bench was not made by this program: rename it, or name another database"
        );
        Ok(self.admin.batch_execute("DROP SCHEMA ledger_bench CASCADE")?)
    }
}

impl Postgres {
    /// Whether a commit waits for the disk: only then it pays to release accounts before.
    fn waits_for_disk(&mut self) -> Result<bool> {
        if let Some(is_durable) = self.is_durable {
            return Ok(is_durable);
        }
        let waits =
            "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'";
        let is_durable = self.admin.query_one(waits, &[])?.try_get(0)?;
        self.is_durable = Some(is_durable);
        Ok(is_durable)
    }
}

impl Server for Postgres {
    /// As it is for the clients too: `admin` connected by the same name to the same database, where
    /// the administrator may have set what differs from the server's own.
    fn check_durability(&mut self, durability: Durability) -> Result<()> {
        let mut differing = Vec::new();
        for setting in demands(durability) {
            let value: String = self.admin.query_one(&format!("SHOW {}", setting.name), &[])?.try_get(0)?;
            if !setting.values.contains(&value.as_str()) {
                differing.push((setting, value));
            }
        }
        if differing.is_empty() { Ok(()) } else { Err(bad_input(refuse(durability, &differing))) }
    }

    fn prepare(&mut self, data: Data) -> Result<bool> {
        self.drop_schema()?;
        let others: i64 = self.admin.query_one(OTHER_RELATIONS, &[])?.get(0);
        self.admin.batch_execute(&format!(
            "CREATE SCHEMA ledger_bench; COMMENT ON SCHEMA ledger_bench IS '{SCHEMA_COMMENT}'"
        ))?;
        match data {
            Data::Seed => seed::create_accounts(&mut self.admin)?,
            Data::Ledger(durability) => ledger::create(&mut self.admin, durability)?,
            Data::None => {}
        }
        Ok(others == 0)
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        let connection = self.config.connect(NoTls).context("one more connection")?;
        Ok(Box::new(seed::Client::new(connection, meter)?))
    }

    fn ledger_client(&mut self, style: Style, meter: Meter) -> Result<Box<dyn Ledger>> {
        let mut connection = self.config.connect(NoTls).context("one more connection")?;
        // A CALL would be planned anew each time; the functions look again at what they waited for.
        connection.batch_execute(
            "SET plan_cache_mode = force_generic_plan; SET default_transaction_isolation = 'read committed'",
        )?;
        Ok(Box::new(match style {
            Style::OneCall => ledger::Client::one_call(connection, self.waits_for_disk()?, meter)?,
            Style::Interactive => ledger::Client::interactive(connection, meter)?,
        }))
    }

    /// Dead versions of the rows that were funded, and statistics: autovacuum's work, in its minute.
    fn settle(&mut self) -> Result<()> {
        Ok(self
            .admin
            .batch_execute("VACUUM (ANALYZE) ledger_bench.ledger_accounts, ledger_bench.ledger_transfers")?)
    }

    fn counters(&mut self) -> Result<Counters> {
        counters::read(&mut self.admin)
    }

    fn describe(&mut self) -> Result<Description> {
        let version: String = self.admin.query_one("SHOW server_version", &[])?.get(0);
        // "15.18 (Debian 15.18-0+deb12u1)": the package's name adds nothing.
        let version = version.split(' ').next().unwrap_or_default();
        let settings: Option<String> = self.admin.query_one(SETTINGS, &[])?.get(0);
        let standbys: i64 = self.admin.query_one("SELECT count(*) FROM pg_stat_replication", &[])?.get(0);
        Ok(Description {
            server_version: format!("PostgreSQL {version}"),
            client_version: machine::crate_version("postgres"),
            settings: settings.unwrap_or_default(),
            replicas: u64::try_from(standbys).ok().map(|count| count + 1),
            waits_for_disk: Some(self.waits_for_disk()?),
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        self.drop_schema()
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use super::*;
    use crate::error::{EXIT_BAD_INPUT, exit_code};

    #[test]
    fn a_refusal_says_what_differs_and_what_to_do() {
        let [fsync, synchronous_commit, _] = demands(Durability::Fsync) else { panic!("three settings") };
        let differing = [(fsync, "off".into()), (synchronous_commit, "off".into())];
        assert_eq!(
            refuse(Durability::Fsync, &differing),
            "the server has fsync=off, synchronous_commit=off, durability fsync wants \
             fsync=on, synchronous_commit=on|local|remote_write|remote_apply: \
             ./run.sh starts a server that has them"
        );
        assert_eq!(demands(Durability::Shipped), [], "whatever it is");
    }

    #[test]
    fn a_name_that_does_not_resolve_is_wrong_input() {
        let check = |address: &str| check_resolves(&address.parse().expect("an address"));
        // No name may begin with a dot, so nobody is asked for it.
        let error = check("host=.invalid").expect_err("no such name");
        assert!(error.to_string().starts_with("the name .invalid does not resolve: "), "{error}");
        assert_eq!(exit_code(&error), ExitCode::from(EXIT_BAD_INPUT));
        for good in
            ["host=127.0.0.1", "host=/run", "host=.invalid,127.0.0.1", "host=.invalid hostaddr=127.0.0.1"]
        {
            check(good).expect(good);
        }
    }

    #[test]
    fn addresses_are_shown_without_secrets() {
        let shown = [
            ("postgresql://me:p%40ss@db:5433/x?connect_timeout=3", Some("db:5433")),
            ("postgresql://me:secret@db/x", Some("db:5432")),
            ("host=db user=me password=secret", Some("db:5432")),
            ("host=a,b port=1,2 password=secret", Some("a:1,b:2")),
            ("password secret", None),
            ("postgresql://me:p@secret@db/x", None),
        ];
        for (url, address) in shown {
            assert_eq!(public_address(url).as_deref(), address);
        }
    }

    #[test]
    fn an_address_names_its_transport() {
        for unix in ["host=/run user=me", "postgresql://me:secret@%2Frun/x", "host='/run/a b' port=1"] {
            assert_eq!(transport(unix), Transport::Unix, "{unix}");
        }
        assert_eq!(
            [transport("host=db"), transport("postgresql://db/x"), transport("")],
            [Transport::Tcp; 3]
        );
    }
}
