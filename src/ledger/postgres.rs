//! PostgreSQL: the server, our own schema on it, and what it says of itself.

use std::time::Duration;

use anyhow::{Context, Result};
use postgres::{Client, Config, NoTls};

use super::{Description, SeedLedger, Server, public_address};
use crate::{error::bad_input, machine};

mod seed;

/// What marks the schema as ours: one of that name without it is never dropped.
const SCHEMA_COMMENT: &str = "scratch data of ledger-bench, dropped and made anew by every sample";
/// The settings that decide what a figure means.
const SETTINGS: &str = "SELECT string_agg(name || '=' || current_setting(name), ', ' ORDER BY name)
     FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method',
                    'shared_buffers', 'max_wal_size', 'jit')";

/// A PostgreSQL server.
pub struct Postgres {
    config: Config,
    address: String,
    admin: Client,
}

impl Postgres {
    /// Connects and asks for an empty query.
    pub fn connect(url: &str, timeout: Duration) -> Result<Self> {
        let address = public_address(url).to_owned();
        let mut config: Config = url
            .parse()
            .map_err(|error| bad_input(format!("postgres: DATABASE_URL is not an address: {error}")))?;
        config.connect_timeout(timeout).tcp_user_timeout(timeout).application_name("ledger-bench");
        let mut admin = connection(&config).with_context(|| format!("postgres at {address}"))?;
        admin.batch_execute("").with_context(|| format!("postgres at {address}"))?;
        Ok(Self { config, address, admin })
    }

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

fn connection(config: &Config) -> Result<Client> {
    Ok(config.connect(NoTls)?)
}

impl Server for Postgres {
    fn prepare(&mut self) -> Result<bool> {
        self.drop_schema()?;
        self.admin.batch_execute(&format!(
            "CREATE SCHEMA ledger_bench; COMMENT ON SCHEMA ledger_bench IS '{SCHEMA_COMMENT}'"
        ))?;
        seed::create_accounts(&mut self.admin)?;
        // Tables just made hold nothing else; what other schemas hold does not weigh on them.
        Ok(true)
    }

    fn seed_client(&mut self) -> Result<Box<dyn SeedLedger>> {
        let connection =
            connection(&self.config).with_context(|| format!("one more connection to {}", self.address))?;
        Ok(Box::new(seed::Client::new(connection)?))
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
