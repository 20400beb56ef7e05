//! Redis's own tool.

use std::{ffi::OsString, process::Command};

use anyhow::{Context, Result};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

use super::{Figures, Tool, named};
use crate::plan::Case;

const FIRST_OPS_A_CLIENT: u64 = 1_000;

/// The tool, and whom it connects to.
pub struct RedisBenchmark {
    info: ConnectionInfo,
}

impl RedisBenchmark {
    /// Of the server at an address as in `REDIS_URL`.
    pub fn of(url: &str) -> Result<Self> {
        Ok(Self { info: url.into_connection_info().context("REDIS_URL")? })
    }
}

impl Tool for RedisBenchmark {
    fn program(&self) -> OsString {
        named("REDIS_BENCHMARK", "redis-benchmark")
    }

    fn version_words(&self) -> &'static [&'static str] {
        &["--version"]
    }

    /// `redis-benchmark 7.0.15`, `valkey-benchmark 8.0.1`.
    fn version(&self, told: &str) -> Option<String> {
        let (name, version) = told.lines().next()?.trim().split_once(' ')?;
        let is_it = name.ends_with("-benchmark") && version.starts_with(|c: char| c.is_ascii_digit());
        is_it.then(|| format!("{name} {}", version.split(' ').next().unwrap_or(version)))
    }

    fn first_ops(&self, case: &Case) -> u64 {
        FIRST_OPS_A_CLIENT * u64::from(case.clients)
    }

    /// It takes the password in no other way than as a word, which a list of processes shows meanwhile.
    fn command(&self, case: &Case, ops: u64, _: u64) -> Result<Command> {
        let mut command = Command::new(self.program());
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) => command.args(["-h", host, "-p", &port.to_string()]),
            ConnectionAddr::Unix(path) => command.arg("-s").arg(path),
            _ => anyhow::bail!("REDIS_URL: neither TCP nor a unix socket"),
        };
        let settings = self.info.redis_settings();
        if let Some(password) = settings.password() {
            command.args(["-a", password]);
        }
        if let Some(user) = settings.username() {
            command.args(["--user", user]);
        }
        command.args(["-c", &case.clients.to_string(), "-n", &ops.to_string(), "--csv", "PING"]);
        Ok(command)
    }

    /// `"test","rps",...` and a line of the test's; it counts in whole milliseconds.
    fn figures(&self, _: &Case, asked: u64, output: &str) -> Result<Figures> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(output.as_bytes());
        let place = reader.headers()?.iter().position(|name| name == "rps").context("no rate")?;
        let line = reader.records().next().context("no line")??;
        let per_s: f64 = line.get(place).context("no rate")?.parse().context("its rate")?;
        // It is told to do so many, and ends with an error when it cannot; the rate is all that it tells.
        Figures::of_rate(asked, per_s).context("nothing was done")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{peer::tests::case, plan::Benchmark};

    fn words(url: &str) -> String {
        let tool = RedisBenchmark::of(url).expect("an address");
        let command = tool.command(&case(Benchmark::RoundTrip, 64), 9, 0).expect("made");
        command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn its_figures_are_read() {
        let tool = RedisBenchmark::of("redis://127.0.0.1:1").expect("an address");
        let figures = |told: &str| tool.figures(&case(Benchmark::RoundTrip, 1), 5_000, told);
        let told = "\"test\",\"rps\",\"avg_latency_ms\"\n\"PING\",\"20000.00\",\"0.050\"\n";
        assert_eq!(figures(told).expect("read"), Figures { ops: 5_000, elapsed_ns: 250_000_000 });
        for broken in
            ["", "\"test\",\"rps\"\n", "\"test\"\n\"PING\"\n", "\"test\",\"rps\"\n\"PING\",\"0.00\"\n"]
        {
            assert!(figures(broken).is_err(), "{broken}");
        }
        for (told, version) in [
            ("redis-benchmark 7.0.15\n", Some("redis-benchmark 7.0.15")),
            ("valkey-benchmark 8.0.1 (git:0)\n", Some("valkey-benchmark 8.0.1")),
            ("redis-benchmark", None),
        ] {
            assert_eq!(tool.version(told).as_deref(), version);
        }
    }

    #[test]
    fn it_is_told_whom_to_reach() {
        assert_eq!(words("redis://127.0.0.1:7/"), "-h 127.0.0.1 -p 7 -c 64 -n 9 --csv PING");
        assert_eq!(
            words("redis+unix:///run/r.sock?pass=x&user=me"),
            "-s /run/r.sock -a x --user me -c 64 -n 9 --csv PING"
        );
    }
}
