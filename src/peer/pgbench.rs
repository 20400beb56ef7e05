//! PostgreSQL's own tool.

use std::{ffi::OsString, process::Command};

use anyhow::{Context, Result, ensure};
use postgres::{Config, config::Host};

use super::{Figures, Ids, Tool, named};
use crate::{
    ledger::AMOUNT,
    machine,
    plan::{Benchmark, Case},
    workload,
};

/// BEGIN, two UPDATEs, COMMIT.
pub const TRANSFER_REQUESTS: u64 = 4;
const FIRST_OPS_A_CLIENT: u64 = 200;

/// The tool, and whom it connects to.
pub struct Pgbench {
    /// As libpq's variables, where no list of processes shows them.
    environment: Vec<(&'static str, String)>,
    /// Of the ledger suite's transfers, where it asks for those.
    ids: Option<Ids>,
}

impl Pgbench {
    /// Of the server at an address as in `DATABASE_URL`.
    pub fn of(url: &str, ids: Option<Ids>) -> Result<Self> {
        let config: Config = url.parse().context("DATABASE_URL")?;
        let host = config.get_hosts().first().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.display().to_string(),
        });
        let password = config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let port = config.get_ports().first().map(u16::to_string);
        let all = [
            ("PGHOST", host),
            ("PGPORT", port),
            ("PGUSER", config.get_user().map(str::to_owned)),
            ("PGDATABASE", config.get_dbname().map(str::to_owned)),
            ("PGPASSWORD", password),
        ];
        let environment = all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Ok(Self { environment, ids })
    }
}

impl Tool for Pgbench {
    fn program(&self) -> OsString {
        named("PGBENCH", "pgbench")
    }

    fn version_words(&self) -> &'static [&'static str] {
        &["--version"]
    }

    /// `pgbench (PostgreSQL) 15.18 (Debian ...)`.
    fn version(&self, told: &str) -> Option<String> {
        let version = told.strip_prefix("pgbench (PostgreSQL) ")?.split_whitespace().next()?;
        Some(format!("pgbench {version}"))
    }

    fn first_ops(&self, case: &Case) -> u64 {
        FIRST_OPS_A_CLIENT * u64::from(case.clients)
    }

    /// The protocol is the one in which our client sends the same statements.
    fn command(&self, case: &Case, ops: u64, done: u64) -> Result<Command> {
        let clients = u64::from(case.clients);
        let threads = u64::from(machine::cores()).min(clients);
        let protocol = if case.benchmark == Benchmark::Transfer { "simple" } else { "prepared" };
        let mut command = Command::new(self.program());
        command.args(["--no-vacuum", "--define=id=1", "--file=-"]).arg(format!("--define=number={done}"));
        command.args([format!("--protocol={protocol}"), format!("--client={clients}")]);
        command.args([format!("--jobs={threads}"), format!("--transactions={}", ops.div_ceil(clients))]);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn input(&self, case: &Case) -> String {
        match case.benchmark {
            Benchmark::RoundTrip => "SELECT balance FROM ledger_bench.accounts WHERE id = :id;\n".into(),
            Benchmark::Parallel => {
                call(self.ids.expect("the ledger suite's transfers have ids"), case.accounts)
            }
            _ => format!(
                "BEGIN;\n\
                 UPDATE ledger_bench.accounts SET balance = balance - {AMOUNT} WHERE id = 1;\n\
                 UPDATE ledger_bench.accounts SET balance = balance + {AMOUNT} WHERE id = 2;\n\
                 COMMIT;\n"
            ),
        }
    }

    /// Of version 14 on; one that counts no failures has none to count.
    fn figures(&self, _: &Case, _: u64, output: &str) -> Result<Figures> {
        let value = |name: &str| output.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let processed = value("number of transactions actually processed:").context("no count")?;
        let (done, asked) = processed.split_once('/').context("no count of those asked for")?;
        ensure!(done == asked, "{done} of {asked} transactions were done");
        let failed = value("number of failed transactions:").and_then(|failed| failed.split(' ').next());
        ensure!(failed.is_none_or(|failed| failed == "0"), "{} failed", failed.unwrap_or_default());
        let per_s = value("tps =").and_then(|rate| rate.strip_suffix(" (without initial connection time)"));
        let per_s = per_s.context("no rate")?.parse().context("its rate")?;
        Figures::of_rate(done.parse().context("its count")?, per_s).context("nothing was done")
    }
}

/// Low bits of an id that a script reckons with; the others are text.
const ID_BITS: u32 = 48;
/// Bits in which each client counts its transfers.
const CLIENT_SHIFT: u32 = 32;

/// One transfer between two different accounts, by the function that our client calls. It knows no variables but numbers,
/// so the server makes the ids of them, each client counting on from the first one in a range of its own.
fn call(ids: Ids, accounts: u32) -> String {
    let mask = (1 << ID_BITS) - 1;
    let id = |first: u128, offset: &str| {
        let (high, low) = (first >> ID_BITS, first & mask);
        format!("('{high:020x}' || lpad(to_hex({low} + {offset}::bigint), 12, '0'))::uuid")
    };
    format!(
        "\\set debit random(0, {accounts} - 1)\n\
         \\set credit (:debit + random(1, {accounts} - 1)) % {accounts}\n\
         \\set number :number + 1\n\
         \\set place (:client_id << {CLIENT_SHIFT}) + :number\n\
         SELECT ledger_bench.ledger_one({}, 0::smallint, {}, {}, {}, '{:032x}'::uuid);\n",
        id(ids.first_transfer, ":place"),
        id(ids.first_account, ":debit"),
        id(ids.first_account, ":credit"),
        workload::AMOUNT,
        0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::case;

    const TOLD: &str = "pgbench (15.18)\ntransaction type: -\nnumber of clients: 1\n\
        number of transactions actually processed: 3000/3000\nnumber of failed transactions: 0 (0.000%)\n\
        latency average = 0.083 ms\ninitial connection time = 1.9 ms\n\
        tps = 12000.000000 (without initial connection time)\n";

    fn tool() -> Pgbench {
        Pgbench::of("postgresql://me:p%40ss@127.0.0.1:5433/db", None).expect("an address")
    }

    #[test]
    fn its_figures_are_read() {
        let figures = |told: &str| tool().figures(&case(Benchmark::Transfer, 1), 3_000, told);
        assert_eq!(figures(TOLD).expect("read"), Figures { ops: 3_000, elapsed_ns: 250_000_000 });
        let older = TOLD.replace("number of failed transactions: 0 (0.000%)\n", "");
        assert_eq!(figures(&older).expect("read").ops, 3_000);
        for broken in [
            TOLD.replace("3000/3000", "2999/3000"),
            TOLD.replace("failed transactions: 0", "failed transactions: 1"),
            TOLD.replace("tps", "tpm"),
            TOLD.replace("12000.000000", "0.000000"),
            String::new(),
        ] {
            assert!(figures(&broken).is_err(), "{broken}");
        }
        assert_eq!(
            tool().version("pgbench (PostgreSQL) 15.18 (Debian 15.18-0)\n").as_deref(),
            Some("pgbench 15.18")
        );
        assert_eq!(tool().version("psql"), None);
    }

    #[test]
    fn ids_are_made_of_numbers() {
        let ids = Ids { first_account: (0xabc << 48) + 2, first_transfer: (0xdef << 48) + (1 << 40) + 9 };
        let script = call(ids, 10);
        for wanted in [
            "\\set debit random(0, 10 - 1)\n",
            "\\set credit (:debit + random(1, 10 - 1)) % 10\n",
            "('00000000000000000def' || lpad(to_hex(1099511627785 + :place::bigint), 12, '0'))::uuid, 0::smallint",
            "('00000000000000000abc' || lpad(to_hex(2 + :debit::bigint), 12, '0'))::uuid",
            "'00000000000000000000000000000000'::uuid);\n",
        ] {
            assert!(script.contains(wanted), "{script}");
        }
    }

    #[test]
    fn it_is_told_everything_and_shows_no_secret() {
        let command = tool().command(&case(Benchmark::RoundTrip, 64), 1_000, 70).expect("made");
        let words: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
        for wanted in ["--protocol=prepared", "--client=64", "--transactions=16", "--define=number=70"] {
            assert!(words.contains(&wanted), "{words:?}");
        }
        assert!(!words.join(" ").contains("p@ss"));
        let told: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_str(), value.and_then(|v| v.to_str()))).collect();
        for wanted in [
            ("PGHOST", "127.0.0.1"),
            ("PGPORT", "5433"),
            ("PGUSER", "me"),
            ("PGDATABASE", "db"),
            ("PGPASSWORD", "p@ss"),
        ] {
            assert!(told.contains(&(Some(wanted.0), Some(wanted.1))), "{told:?}");
        }
    }
}
