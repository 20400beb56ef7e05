//! The CSV row: its columns, and what may stand in them. [`file`](mod@file) appends rows, [`read`](fn@read) reads them.
//!
//! RFC 4180, a header once, LF, ASCII, blank for unknown. Every number is a whole number of at
//! most 15 digits with its unit in its name, and no text looks like a number, a date or a
//! formula: spreadsheets silently rewrite such fields, each locale in its own way.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use lookalike::FORMULA_STARTS;
use serde::{Deserialize, Serialize};

use crate::{machine::Machine, plan::Case};

mod columns;
mod dialect;
mod file;
mod lookalike;
mod predecessor;
mod read;
mod series;
mod sheet;

pub use columns::{Column, columns, fields};
pub use file::{append, check_appendable, check_file};
pub use lookalike::is_lookalike;
pub use read::read;
pub use series::{SeriesLine, append_series, check_series, read_series, series_path};
pub use sheet::{faults, faults_under};

/// Counts up with any change of the columns.
pub const SCHEMA: u64 = 3;

/// One sample. Fields are columns, in this order; `None` and empty text are blank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the README's table of columns says what each means")]
pub struct Measurement {
    pub schema: u64,
    pub run_id: String,
    pub started_utc: String,
    pub started_unix_s: u64,
    pub round: u32,
    pub suite: String,
    pub benchmark: String,
    pub system: String,
    pub durability: String,
    pub clients: u32,
    pub in_flight: u32,
    pub batch: u32,
    pub accounts: u32,
    pub skew_pct: u32,
    pub arrivals: String,
    pub rate_per_s: Option<u64>,
    pub rtt_us: Option<u64>,
    pub style: String,
    pub preload: Option<u64>,
    pub transport: String,
    pub generator: String,
    pub replicas: Option<u64>,
    pub seed: u64,
    pub warmup_ops: Option<u64>,
    pub ops: Option<u64>,
    pub requests: Option<u64>,
    pub transfers: Option<u64>,
    pub commits: Option<u64>,
    pub messages: Option<u64>,
    pub message_transfers_mean_permille: Option<u64>,
    pub message_transfers_max: Option<u64>,
    pub syncs: Option<u64>,
    pub log_bytes: Option<u64>,
    pub stored_before: Option<u64>,
    pub stored_after: Option<u64>,
    pub disk_bytes_before: Option<u64>,
    pub disk_bytes_after: Option<u64>,
    pub offered_ops: Option<u64>,
    pub late_ops: Option<u64>,
    pub backlog_ops: Option<u64>,
    pub saturated: String,
    pub rejected: Option<u64>,
    pub errors: u64,
    pub verified: String,
    pub elapsed_ns: Option<u64>,
    pub ns_per_op: Option<u64>,
    pub ns_per_transfer: Option<u64>,
    pub transfers_per_s: Option<u64>,
    pub latency_ns_min: Option<u64>,
    pub latency_ns_mean: Option<u64>,
    pub latency_ns_stddev: Option<u64>,
    pub latency_ns_p50: Option<u64>,
    pub latency_ns_p90: Option<u64>,
    pub latency_ns_p99: Option<u64>,
    pub latency_ns_p999: Option<u64>,
    pub latency_ns_max: Option<u64>,
    pub latency_error_permille: Option<u64>,
    pub service_ns_mean: Option<u64>,
    pub service_ns_p50: Option<u64>,
    pub service_ns_p99: Option<u64>,
    pub service_ns_max: Option<u64>,
    pub connect_us: Option<u64>,
    pub cpu_steal_permille: Option<u64>,
    pub client_cpu_permille: Option<u64>,
    pub context_switches: Option<u64>,
    pub load_before_pct: Option<u64>,
    pub warnings: String,
    pub server_version: String,
    pub client_version: String,
    pub server_settings: String,
    pub harness_version: String,
    pub git_revision: String,
    pub host: String,
    pub cpu: String,
    pub cores: Option<u64>,
    pub server_cores: Option<u64>,
    pub client_cores: Option<u64>,
    pub memory_mib: Option<u64>,
    pub kernel: String,
    pub virtualization: String,
    pub clock_source: String,
    pub cpu_governor: String,
    pub cpu_turbo: String,
    pub cpu_smt: String,
    pub disk: String,
    pub filesystem: String,
}

impl Measurement {
    /// Its sample was checked and nothing was wrong.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verified == "yes"
    }

    /// Puts the case into its columns.
    pub fn set_case(&mut self, case: &Case) {
        self.suite = case.suite.name().into();
        self.benchmark = case.benchmark.name().into();
        self.system = case.system.name().into();
        self.durability = case.durability.name().into();
        self.clients = case.clients;
        self.in_flight = case.in_flight;
        self.batch = case.batch;
        self.accounts = case.accounts;
        self.skew_pct = case.skew_pct;
        self.arrivals = case.arrivals.name().into();
        self.rate_per_s = Some(case.rate_per_s.into()).filter(|&rate_per_s| rate_per_s > 0);
        self.rtt_us = Some(case.rtt_us.into()).filter(|&rtt_us| rtt_us > 0);
        self.style = if case.has_style() { case.style.name().into() } else { String::new() };
        self.preload = case.suite.is_of_ledger().then_some(case.preload);
        self.transport = if case.is_networked() { case.transport.name().into() } else { String::new() };
        self.generator = case.generator.name().into();
    }

    /// Whether its columns are those of the case.
    #[must_use]
    pub fn is_of(&self, case: &Case) -> bool {
        let mut same = self.clone();
        same.set_case(case);
        same == *self
    }

    /// Where it was measured.
    #[must_use]
    pub fn machine(&self) -> Machine {
        Machine {
            host: self.host.clone(),
            cpu: self.cpu.clone(),
            cores: self.cores,
            memory_mib: self.memory_mib,
            kernel: self.kernel.clone(),
            virtualization: self.virtualization.clone(),
            clock_source: self.clock_source.clone(),
            cpu_governor: self.cpu_governor.clone(),
            cpu_turbo: self.cpu_turbo.clone(),
            cpu_smt: self.cpu_smt.clone(),
            disk: self.disk.clone(),
            filesystem: self.filesystem.clone(),
        }
    }

    /// Puts the machine into its columns.
    pub fn set_machine(&mut self, machine: Machine) {
        let plain = |text: String| plain_text(&text);
        self.host = plain(machine.host);
        self.cpu = plain(machine.cpu);
        self.cores = machine.cores;
        self.memory_mib = machine.memory_mib;
        self.kernel = plain(machine.kernel);
        self.virtualization = plain(machine.virtualization);
        self.clock_source = plain(machine.clock_source);
        self.cpu_governor = plain(machine.cpu_governor);
        self.cpu_turbo = plain(machine.cpu_turbo);
        self.cpu_smt = plain(machine.cpu_smt);
        self.disk = plain(machine.disk);
        self.filesystem = plain(machine.filesystem);
    }
}

/// Text as a row may hold it: ASCII, one line, no separator that some spreadsheet splits at, nothing at its start that
/// makes it a formula; with a `_` before what would still be a number, a date or a truth value.
#[must_use]
pub fn plain_text(text: &str) -> String {
    let plain = |c: char| match c {
        ';' => ',',
        c if c.is_ascii_graphic() || c == ' ' => c,
        c if c.is_whitespace() => ' ',
        _ => '?',
    };
    let plain: String = text.chars().map(plain).collect();
    let plain = plain.trim_start_matches(|c| c == ' ' || FORMULA_STARTS.contains(&c)).trim_end();
    if is_lookalike(plain) { format!("_{plain}") } else { plain.to_owned() }
}

/// The end of the year 9999, where `started_utc` has no more digits, as seconds since 1970.
const UTC_END_S: u64 = 253_402_300_800;

/// A time as `started_utc` has it, such as `2026-11-30 20:15:30`. Blank from the year 10000 on.
#[must_use]
pub fn utc_text(unix_s: u64) -> String {
    if unix_s >= UTC_END_S {
        return String::new();
    }
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s);
    humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").replace('Z', "")
}

/// The header line, without its line end.
fn header() -> Result<String> {
    let mut lines = csv_lines(&[Measurement::default()], true)?;
    lines.truncate(lines.find('\n').context("a header has a line")?);
    Ok(lines)
}

/// Structs as lines, their fields as columns.
fn csv_lines(rows: &[impl Serialize], with_header: bool) -> Result<String> {
    let mut writer = csv::WriterBuilder::new().has_headers(with_header).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns as published: a change here counts [`SCHEMA`] up and goes into the README.
    #[test]
    fn the_header_is_the_published_one() {
        assert_eq!(SCHEMA, 3);
        let published = "schema,run_id,started_utc,started_unix_s,round,suite,benchmark,system,durability,clients,\
            in_flight,batch,accounts,skew_pct,arrivals,rate_per_s,rtt_us,style,preload,transport,generator,\
            replicas,seed,warmup_ops,ops,requests,transfers,\
            commits,messages,message_transfers_mean_permille,message_transfers_max,syncs,log_bytes,\
            stored_before,stored_after,disk_bytes_before,disk_bytes_after,offered_ops,late_ops,backlog_ops,saturated,\
            rejected,errors,verified,elapsed_ns,ns_per_op,ns_per_transfer,transfers_per_s,latency_ns_min,\
            latency_ns_mean,latency_ns_stddev,latency_ns_p50,latency_ns_p90,latency_ns_p99,latency_ns_p999,\
            latency_ns_max,latency_error_permille,service_ns_mean,service_ns_p50,service_ns_p99,service_ns_max,connect_us,cpu_steal_permille,client_cpu_permille,context_switches,\
            load_before_pct,warnings,server_version,client_version,\
            server_settings,harness_version,git_revision,host,cpu,cores,server_cores,client_cores,\
            memory_mib,kernel,virtualization,clock_source,cpu_governor,cpu_turbo,cpu_smt,disk,filesystem";
        assert_eq!(header().expect("serializes"), published);
    }

    #[test]
    fn the_readme_explains_every_column() {
        let readme = include_str!("../README.md");
        let table = readme.split("| columns | meaning |").nth(1).expect("a table of columns");
        let table = table.split("\n\n").next().expect("it ends");
        for name in header().expect("serializes").split(',') {
            let name = if name.starts_with("latency_ns_") { "latency_ns_min" } else { name };
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn text_is_harmless_to_spreadsheets() {
        assert_eq!(plain_text("=a+2"), "a+2");
        assert_eq!(plain_text("-@x\ty;z\u{e9}\r\n"), "x y,z?");
        assert_eq!(plain_text("Intel(R) Xeon(R) @ 2.20GHz"), "Intel(R) Xeon(R) @ 2.20GHz");
    }

    #[test]
    fn every_start_of_a_formula_goes() {
        for text in ["+x", " =x", "@x", "-x", "=+-@ x"] {
            assert_eq!(plain_text(text), "x", "{text}");
        }
    }

    #[test]
    fn what_looks_like_a_number_is_marked_as_text() {
        for text in ["06/85", "7e12345", "=1", "Dec 1", "TRUE"] {
            assert_eq!(plain_text(text), format!("_{}", text.trim_start_matches('=')));
        }
    }

    #[test]
    fn times_have_the_published_form() {
        assert_eq!(utc_text(0), "1970-01-01 00:00:00");
        assert_eq!(utc_text(1_796_069_730), "2026-11-30 20:15:30");
        assert_eq!(utc_text(UTC_END_S - 1), "9999-12-31 23:59:59");
        assert_eq!(utc_text(UTC_END_S), "");
    }
}
