//! TigerBeetle's own tool: a command of its server's binary.

use std::{ffi::OsString, process::Command};

use anyhow::{Context, Result, ensure};

use super::{Figures, Tool, named};
use crate::plan::Case;

const FIRST_BATCHES: u64 = 20;

/// The tool, and whom it connects to.
pub struct TigerbeetleBenchmark {
    address: String,
}

impl TigerbeetleBenchmark {
    /// Of the server at an address as in `TIGERBEETLE_ADDRESS`.
    pub fn of(address: &str) -> Self {
        Self { address: address.to_owned() }
    }
}

impl Tool for TigerbeetleBenchmark {
    fn program(&self) -> OsString {
        named("TIGERBEETLE", "tigerbeetle")
    }

    fn version_words(&self) -> &'static [&'static str] {
        &["version"]
    }

    /// `TigerBeetle version 0.16.78+c3d9b09`.
    fn version(&self, told: &str) -> Option<String> {
        let version = told.trim().strip_prefix("TigerBeetle version ")?.split('+').next()?;
        Some(format!("tigerbeetle benchmark {version}"))
    }

    fn first_ops(&self, _: &Case) -> u64 {
        FIRST_BATCHES
    }

    /// Ids from the time, so that no run meets those of another or ours; accounts without history, as ours are; no
    /// queries.
    fn command(&self, case: &Case, ops: u64, _: u64) -> Result<Command> {
        let mut command = Command::new(self.program());
        command.args(["benchmark", "--id-order=tbid", "--no-history", "--query-count=0"]);
        command.args([
            format!("--addresses={}", self.address),
            format!("--clients={}", case.clients),
            format!("--account-count={}", case.accounts),
            format!("--transfer-batch-count={}", case.batch),
            format!("--transfer-count={}", ops * u64::from(case.batch)),
        ]);
        Ok(command)
    }

    /// `122 batches in 3.10 s`, `load accepted = 322000 tx/s`.
    fn figures(&self, case: &Case, asked: u64, output: &str) -> Result<Figures> {
        let batches = output.lines().find_map(|line| line.split_once(" batches in ")).context("no count")?.0;
        let per_s =
            output.lines().find_map(|line| line.strip_prefix("load accepted = ")?.strip_suffix(" tx/s"));
        let per_s: f64 = per_s.context("no rate")?.parse().context("its rate")?;
        let ops: u64 = batches.trim().parse().context("its count")?;
        ensure!(ops == asked, "{ops} of {asked} batches were done");
        Figures::of_rate(ops, per_s / f64::from(case.batch)).context("nothing was done")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{peer::tests::case, plan::Benchmark};

    #[test]
    fn its_figures_are_read() {
        let tool = TigerbeetleBenchmark::of("127.0.0.1:3000");
        let told = "info: x\n10 batches in 0.25 s\ntransfer batch size = 8189 txs\ntransfer batch delay = 0ns\n\
                    load accepted = 327560 tx/s\nbatch latency p00 = 20 ms\n";
        let figures = |asked, told: &str| tool.figures(&case(Benchmark::Batch, 1), asked, told);
        assert_eq!(figures(10, told).expect("read"), Figures { ops: 10, elapsed_ns: 250_000_000 });
        assert!(figures(11, told).is_err() && figures(10, "").is_err());
        assert!(figures(10, &told.replace("load accepted", "load")).is_err());
        let version = tool.version("TigerBeetle version 0.16.78+c3d9b09\n");
        assert_eq!(version.as_deref(), Some("tigerbeetle benchmark 0.16.78"));
    }
}
