//! PostgreSQL: the server, our own schema on it, and what it says of itself.

use std::time::Duration;

use anyhow::{Context, Result};
use postgres::{Client, Config, NoTls, config::Host};

use super::{Data, Description, Durability, Ledger, SeedLedger, Server};
use crate::{error::bad_input, machine, meter::Meter};

mod seed;

/// What marks the schema as ours: one of that name without it is never dropped.
const SCHEMA_COMMENT: &str = "scratch data of ledger-bench, dropped and made anew by every sample";
/// The settings that decide what a figure means.
const SETTINGS: &str = "SELECT string_agg(name || '=' || current_setting(name), ', ' ORDER BY name)
     FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method',
                    'shared_buffers', 'max_wal_size', 'jit')";

/// What somebody else keeps in the database.
const OTHER_RELATIONS: &str = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";

/// A PostgreSQL server.
struct Postgres {
    config: Config,
    admin: Client,
}

/// Connects and asks for an empty query.
pub fn connect(url: &str, timeout: Duration) -> Result<Box<dyn Server>> {
    let mut config: Config =
        url.parse().map_err(|error| bad_input(format!("DATABASE_URL is not an address: {error}")))?;
    config.connect_timeout(timeout).tcp_user_timeout(timeout).application_name("ledger-bench");
    let mut admin = config.connect(NoTls)?;
    admin.batch_execute("")?;
    Ok(Box::new(Postgres { config, admin }))
}

/// Hosts and ports of a URL or of `name=value` words.
pub fn public_address(url: &str) -> Option<String> {
    let config: Config = url.parse().ok()?;
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    });
    let port = |index: usize| config.get_ports().get(index).or(config.get_ports().first()).unwrap_or(&5432);
    let places = hosts.enumerate().map(|(index, host)| format!("{host}:{}", port(index)));
    Some(places.collect::<Vec<_>>().join(","))
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

impl Server for Postgres {
    fn check_durability(&mut self, _: Durability) -> Result<()> {
        anyhow::bail!("to come")
    }

    fn prepare(&mut self, data: Data) -> Result<bool> {
        anyhow::ensure!(data == Data::Seed, "to come");
        self.drop_schema()?;
        let others: i64 = self.admin.query_one(OTHER_RELATIONS, &[])?.get(0);
        self.admin.batch_execute(&format!(
            "CREATE SCHEMA ledger_bench; COMMENT ON SCHEMA ledger_bench IS '{SCHEMA_COMMENT}'"
        ))?;
        seed::create_accounts(&mut self.admin)?;
        Ok(others == 0)
    }

    fn seed_client(&mut self, meter: Meter) -> Result<Box<dyn SeedLedger>> {
        let connection = self.config.connect(NoTls).context("one more connection")?;
        Ok(Box::new(seed::Client::new(connection, meter)?))
    }

    fn ledger_client(&mut self, _: Meter) -> Result<Box<dyn Ledger>> {
        anyhow::bail!("to come")
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
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        self.drop_schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        let shown = [
            ("postgresql://me:p%40ss@db:5433/x?connect_timeout=3", Some("db:5433")),
            ("postgresql://me:secret@db/x", Some("db:5432")),
            ("host=db user=me password=secret", Some("db:5432")),
            ("host=a,b port=1,2 password=secret", Some("a:1,b:2")),
            ("password secret", None),
        ];
        for (url, address) in shown {
            assert_eq!(public_address(url).as_deref(), address);
        }
    }
}
