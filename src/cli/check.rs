//! What no single flag can tell: whether they make sense together, and whether the files can be
//! written. Writes nothing.

use std::{
    collections::BTreeSet,
    env,
    fmt::Display,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::PlanArgs;
use crate::{
    error::bad_input,
    ledger::System,
    machine, measurement,
    plan::{Benchmark, Case, Settings},
    rng::Rng,
    runner::Load,
    timer::{Budget, duration_ns},
};

/// Transfers in the predecessor's batch.
const BATCH_DEFAULT: u32 = 1_000;
/// PostgreSQL's `max_connections` as shipped, less those for superusers and our own.
const POSTGRES_CLIENTS_MAX: u32 = 96;

/// A run, checked.
#[derive(Debug)]
pub struct CheckedPlan {
    /// How each sample is measured.
    pub settings: Settings,
    /// What is measured.
    pub cases: Vec<Case>,
    /// Where the rows go; absolute.
    pub csv: PathBuf,
    /// Where the servers keep their data; absolute.
    pub data: PathBuf,
}

impl PlanArgs {
    /// Checks what no single flag can: whether the flags make sense together, and whether the
    /// files can be written. Writes nothing.
    pub fn check(&self) -> Result<CheckedPlan> {
        let cases = self.cases()?;
        let csv = absolute(&self.csv)?;
        measurement::check_appendable(&csv)?;
        let data = absolute(&self.data)?;
        check_data_folder(&data)?;
        Ok(CheckedPlan { settings: self.settings(), cases, csv, data })
    }

    pub(super) fn cases(&self) -> Result<Vec<Case>> {
        let suites = distinct("--suite", &self.suite)?;
        let benchmarks = distinct_or("--benchmark", &self.benchmark, Benchmark::value_variants())?;
        let systems = distinct_or("--system", &self.system, &System::SERVERS)?;
        let cores = machine::cores().min(POSTGRES_CLIENTS_MAX);
        let clients = distinct_or("--clients", &self.clients, &[cores])?;
        let batches = distinct_or("--batch", &self.batch, &[BATCH_DEFAULT])?;
        let taken = |flag: &str, given: bool, takes: fn(Benchmark) -> bool, by: &str| {
            if given && !benchmarks.iter().copied().any(takes) {
                return Err(bad_input(format!("{flag} is for {by}, which --benchmark leaves out")));
            }
            Ok(())
        };
        taken("--clients", !self.clients.is_empty(), Benchmark::takes_clients, "basic_parallel")?;
        taken("--batch", !self.batch.is_empty(), Benchmark::takes_batch, "basic_batch")?;

        if benchmarks.iter().copied().any(Benchmark::takes_clients) {
            self.check_clients(&clients, &systems)?;
        }

        let one = [1];
        let mut cases = Vec::new();
        for &suite in &suites {
            for &benchmark in &benchmarks {
                let clients = if benchmark.takes_clients() { clients.as_slice() } else { &one };
                let batches = if benchmark.takes_batch() { batches.as_slice() } else { &one };
                for &system in &systems {
                    cases.extend(clients.iter().flat_map(|&clients| {
                        batches.iter().map(move |&batch| Case { suite, benchmark, system, clients, batch })
                    }));
                }
            }
        }
        Ok(cases)
    }

    fn check_clients(&self, clients: &[u32], systems: &[System]) -> Result<()> {
        let most = clients.iter().copied().max().unwrap_or(1);
        if let Some(ops) = self.ops.filter(|&ops| ops < u64::from(most)) {
            return Err(bad_input(format!("--ops {ops} leaves some of {most} clients without an op")));
        }
        let private_postgres = systems.contains(&System::Postgres) && env::var_os("DATABASE_URL").is_none();
        if private_postgres && most > POSTGRES_CLIENTS_MAX {
            return Err(bad_input(format!(
                "--clients {most}: PostgreSQL as shipped takes {POSTGRES_CLIENTS_MAX} at most: \
                 leave it out by --system, or name a server of your own by DATABASE_URL"
            )));
        }
        Ok(())
    }

    pub(super) fn settings(&self) -> Settings {
        let (rounds, warmup, time) = if self.quick {
            (1, Duration::from_millis(100), Duration::from_millis(200))
        } else {
            (6, Duration::from_millis(500), Duration::from_secs(1))
        };
        let time = self.time.or(self.ops.is_none().then_some(time));
        Settings {
            run_id: run_id(SystemTime::now()),
            rounds: self.rounds.unwrap_or(rounds),
            load: Load {
                warmup_ns: duration_ns(self.warmup.unwrap_or(warmup)),
                budget: Budget { time_ns: time.map(duration_ns), ops: self.ops },
            },
            seed: self.seed,
            timeout: self.timeout,
            host: self.host.clone(),
            git_revision: machine::git_revision(),
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(bad_input("an empty path names no file"));
    }
    std::path::absolute(path).with_context(|| format!("{}", path.display()))
}

/// A disk that is none would measure memory and call it durable.
fn check_data_folder(data: &Path) -> Result<()> {
    let refuse = |why: &str| Err(bad_input(format!("--data {}: {why}", data.display())));
    if data.exists() && !data.is_dir() {
        return refuse("is not a folder");
    }
    match machine::filesystem(data).as_deref() {
        Some(kind @ ("tmpfs" | "ramfs")) => {
            refuse(&format!("lies on a {kind}, which is memory: name a folder on the disk to be measured"))
        }
        _ => Ok(()),
    }
}

fn distinct<T: Clone + Ord>(flag: &str, values: &[T]) -> Result<Vec<T>> {
    if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
        return Err(bad_input(format!("{flag} names a value twice")));
    }
    Ok(values.to_vec())
}

fn distinct_or<T: Clone + Ord>(flag: &str, values: &[T], default: &[T]) -> Result<Vec<T>> {
    distinct(flag, if values.is_empty() { default } else { values })
}

/// `20261130T201530Z-3f2a`: when the run was planned, and four digits against a second run in
/// the same second.
fn run_id(now: SystemTime) -> String {
    let compact = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, duration_ns);
    let tail = Rng::new(nanos, u64::from(process::id())).below(1 << 16);
    format!("{compact}-{tail:04x}")
}

/// Shows a path of the plan; a line end in it would break the plan's lines.
pub fn plan_path(path: &Path) -> Result<impl Display> {
    let text = path.to_str().filter(|text| !text.contains(['\n', '\r']));
    text.map(str::to_owned)
        .ok_or_else(|| bad_input(format!("{}: a path must be one line of UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_no_disk() {
        let error = check_data_folder(Path::new("/dev/shm/not-there")).expect_err("memory");
        assert!(error.to_string().contains("lies on a tmpfs"), "{error}");
        assert!(check_data_folder(Path::new("/proc/version")).is_err());
    }

    #[test]
    fn run_ids_tell_the_time_and_differ() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_069_730);
        let first = run_id(moment);
        assert!(first.starts_with("20261130T201530Z-") && first.len() == 21, "{first}");
        assert_ne!(first, run_id(moment + Duration::from_nanos(1)));
    }
}
