//! Rows to an [`Analysis`]; pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    alarms,
    analysis::{ANALYSIS_SCHEMA, Analysis, Case, Failed, Run, Series},
    calibration,
    case::{CaseKey, is_baseline, system_place},
    floor, map, series,
};
use crate::{machine::Machine, measurement::Measurement, plan::Style, stats};

/// What makes rows of one case samples of the same thing. Unless runs are pooled, the run belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeriesKey<'a> {
    place: usize,
    system: &'a str,
    generator: &'a str,
    style: &'a str,
    machine: usize,
    run_id: &'a str,
    server_version: &'a str,
    client_version: &'a str,
    server_settings: &'a str,
    pinned: [Option<u64>; 2],
    replicas: Option<u64>,
    harness_version: &'a str,
}

/// Rows by what they are samples of.
type Grouped<'a> = BTreeMap<CaseKey, BTreeMap<SeriesKey<'a>, Vec<&'a Measurement>>>;

/// Looks at all rows together. `pool`: rounds of different runs count as rounds of one, where machine, versions
/// and settings are the same.
#[must_use]
pub fn analyze(rows: &[Measurement], pool: bool) -> Analysis {
    let runs = runs(rows);
    let (machines, places) = machines(rows);
    let mut grouped = Grouped::new();
    let mut failed = Vec::new();
    for (row, machine) in rows.iter().zip(places) {
        if series::time_ns(row).is_some() {
            let key = series_key(row, machine, pool);
            grouped.entry(CaseKey::of(row)).or_default().entry(key).or_default().push(row);
        } else {
            failed.push(row);
        }
    }
    let suites: BTreeSet<&str> = rows.iter().map(|row| row.suite.as_str()).collect();
    let with_suite = suites.len() > 1;
    let planned: BTreeMap<&str, usize> = runs.iter().map(|run| (run.run_id.as_str(), run.rounds)).collect();
    let mut cases: Vec<_> =
        grouped.into_iter().map(|(key, group)| case(key, group, with_suite, &planned)).collect();
    floor::set(&mut cases, pool);
    let (cases, calibration) = calibration::split(cases);
    let failed: Vec<_> = failed.into_iter().map(|row| failed_row(row, with_suite)).collect();
    Analysis {
        schema: ANALYSIS_SCHEMA,
        alarms: alarms::alarms(rows),
        map: map::of(&cases, &failed),
        cases,
        calibration,
        failed,
        runs,
        machines,
        against_seed: None,
    }
}

fn runs(rows: &[Measurement]) -> Vec<Run> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut runs: Vec<Run> = Vec::new();
    for row in rows {
        let place = *places.entry(&row.run_id).or_insert(runs.len());
        if place == runs.len() {
            let (run_id, started_utc) = (row.run_id.clone(), row.started_utc.clone());
            runs.push(Run { run_id, started_utc, rounds: 0, samples: 0, load_before_pct: None });
        }
        let run = &mut runs[place];
        run.rounds = run.rounds.max(row.round as usize);
        run.samples += 1;
        run.load_before_pct = run.load_before_pct.max(row.load_before_pct);
    }
    runs
}

/// Each once, and where each row's stands. Rows of one machine mostly follow each other.
fn machines(rows: &[Measurement]) -> (Vec<Machine>, Vec<usize>) {
    let mut machines: Vec<Machine> = Vec::new();
    let mut places: Vec<usize> = Vec::with_capacity(rows.len());
    for row in rows {
        let machine = row.machine();
        let last = places.last().copied().filter(|&last| machines[last] == machine);
        places.push(
            last.or_else(|| machines.iter().position(|known| *known == machine)).unwrap_or(machines.len()),
        );
        if places.last() == Some(&machines.len()) {
            machines.push(machine);
        }
    }
    (machines, places)
}

fn series_key(row: &Measurement, machine: usize, pool: bool) -> SeriesKey<'_> {
    SeriesKey {
        place: system_place(&row.system),
        system: &row.system,
        generator: &row.generator,
        style: style(row),
        machine,
        run_id: if pool { "" } else { &row.run_id },
        server_version: &row.server_version,
        client_version: &row.client_version,
        server_settings: &row.server_settings,
        pinned: [row.server_cores, row.client_cores],
        replicas: row.replicas,
        harness_version: &row.harness_version,
    }
}

/// The plain one, or none, is blank.
pub(super) fn style(row: &Measurement) -> &'static str {
    if row.style == Style::Interactive.name() { Style::Interactive.name() } else { "" }
}

fn failed_row(row: &Measurement, with_suite: bool) -> Failed {
    let why = if row.is_verified() { "its time is blank" } else { &row.warnings };
    let key = CaseKey::of(row);
    Failed {
        run_id: row.run_id.clone(),
        round: row.round,
        case: key.label(with_suite),
        key,
        system: row.system.clone(),
        style: style(row).into(),
        why: why.to_owned(),
    }
}

fn case(
    key: CaseKey,
    group: BTreeMap<SeriesKey, Vec<&Measurement>>,
    with_suite: bool,
    planned: &BTreeMap<&str, usize>,
) -> Case {
    let distinctions = distinctions(&group.keys().collect::<Vec<_>>());
    let lines = group.into_iter().zip(distinctions);
    let mut series: Vec<Series> = lines
        .map(|((key, rows), distinction)| {
            series::series(rows, (key.style, distinction), key.machine, planned)
        })
        .collect();
    compare(&mut series);
    Case { label: key.label(with_suite), key, series }
}

/// For each series what tells it from others of its system: every field that is not the same in all, and in any case a style
/// that is not the usual one.
fn distinctions(keys: &[&SeriesKey]) -> Vec<String> {
    let fields = |key: &SeriesKey| {
        let machine = format!("machine {}", key.machine + 1);
        let replicas = key.replicas.map(|replicas| format!("{replicas} replicas")).unwrap_or_default();
        let pinned = match key.pinned {
            [Some(server), Some(client)] => format!("{server} cores for the server, {client} for the client"),
            _ => "cores shared".into(),
        };
        let texts = [
            key.style,
            key.run_id,
            key.server_version,
            key.client_version,
            key.server_settings,
            key.harness_version,
        ];
        [machine, replicas, pinned].into_iter().chain(texts.map(String::from)).collect::<Vec<_>>()
    };
    let distinction = |key: &&SeriesKey| {
        let own = fields(key);
        let twins: Vec<_> =
            keys.iter().filter(|twin| twin.system == key.system).map(|twin| fields(twin)).collect();
        let differs = |&index: &usize| {
            own[index] == Style::Interactive.name() || twins.iter().any(|twin| twin[index] != own[index])
        };
        let words = (0..own.len()).filter(differs).map(|index| own[index].as_str());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    };
    keys.iter().map(distinction).collect()
}

/// Each against the fastest, and TigerBeetle against each.
fn compare(series: &mut [Series]) {
    let timed: Vec<_> = series.iter().map(series::keyed_times).collect();
    let rivals = || (0..series.len()).filter(|&index| !is_baseline(&series[index].system));
    let fastest = rivals().min_by(|&a, &b| series[a].ns_per_op.total_cmp(&series[b].ns_per_op));
    let mut ours = rivals().filter(|&index| series[index].system == "tigerbeetle");
    let tigerbeetle = ours.next().filter(|_| ours.next().is_none());
    for index in rivals().collect::<Vec<_>>() {
        let one = &mut series[index];
        one.is_fastest = fastest == Some(index);
        one.to_fastest = fastest
            .filter(|&fastest| fastest != index)
            .and_then(|fastest| stats::ratio(&timed[index], &timed[fastest]));
        one.tigerbeetle_to_this = tigerbeetle
            .filter(|&tigerbeetle| tigerbeetle != index)
            .and_then(|tigerbeetle| stats::ratio(&timed[tigerbeetle], &timed[index]));
    }
}

#[cfg(test)]
mod tests;
