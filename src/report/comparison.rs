//! Two sets of rows, old and new, case by case; pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    alarms,
    analysis::{Analysis, Case, Failed, Run, Series},
    analyze,
    case::CaseKey,
    series::keyed_times,
    words,
};
use crate::{
    measurement::Measurement,
    stats::{self, Interval, Ratio, Verdict},
};

/// Everything that `compare` shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What differs between things that ought to be alike; a sentence each.
    pub alarms: Vec<String>,
    /// The runs of the old side.
    pub old_runs: Vec<Run>,
    /// And of the new one.
    pub new_runs: Vec<Run>,
    /// What both sides have.
    pub lines: Vec<Line>,
    /// What the old side alone has, in words.
    pub only_old: Vec<String>,
    /// What the new side alone has.
    pub only_new: Vec<String>,
    /// Samples of the old side that failed their checks; in no figure.
    pub failed_old: Vec<Failed>,
    /// And of the new one.
    pub failed_new: Vec<Failed>,
}

/// One system at one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What tells it from other cases; of the new side.
    #[serde(flatten)]
    pub key: CaseKey,
    /// And in words.
    pub case: String,
    /// Whose server.
    pub system: String,
    /// Before.
    pub old: Side,
    /// After.
    pub new: Side,
    /// The new time per op over the old one.
    pub ratio: Ratio,
}

/// One side's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Median over its rounds.
    pub ns_per_op: f64,
    /// Its 95 % interval; `None` below six rounds.
    pub ns_per_op_interval: Option<Interval>,
    /// How many those are.
    pub rounds: usize,
}

/// `pool`: each side's runs count as one.
#[must_use]
pub fn compare(old: &[Measurement], new: &[Measurement], pool: bool) -> Comparison {
    let alarms = alarms::alarms(old.iter().chain(new));
    let (old, new) = (analyze(old, pool), analyze(new, pool));
    let (mut old_lines, mut new_lines) = (lines(&old), lines(&new));
    let mut both = Vec::new();
    for (key, new_series) in &new_lines {
        if let Some(old_key) = partner(key, &old_lines, &new_lines) {
            let old_series = &old_lines[&old_key];
            both.extend(line(&key.case, old_series, new_series).map(|line| (line, old_key, key.clone())));
        }
    }
    let mut lines = Vec::new();
    for (line, old_key, new_key) in both {
        old_lines.remove(&old_key);
        new_lines.remove(&new_key);
        lines.push(line);
    }
    Comparison {
        alarms,
        lines,
        only_old: old_lines.keys().map(LineKey::words).collect(),
        only_new: new_lines.keys().map(LineKey::words).collect(),
        old_runs: old.runs,
        new_runs: new.runs,
        failed_old: old.failed,
        failed_new: new.failed,
    }
}

/// What has a partner on the other side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    case: CaseKey,
    place: usize,
    system: String,
    /// Blank unless the side has several series of the system at the case.
    distinction: String,
}

impl LineKey {
    fn words(&self) -> String {
        let distinction =
            if self.distinction.is_empty() { String::new() } else { format!(" ({})", self.distinction) };
        format!("{}, {}{distinction}", self.case.label(true), self.system)
    }
}

/// A series, and the cores of its machine.
type Lines<'a> = BTreeMap<LineKey, (&'a Series, Option<u64>)>;

fn lines(analysis: &Analysis) -> Lines<'_> {
    let all = analysis.all_cases().flat_map(|case| case.series.iter().map(move |series| (case, series)));
    let keyed = all.map(|(case, series): (&Case, &Series)| {
        let key = LineKey {
            case: case.key.clone(),
            place: super::case::system_place(&series.system),
            system: series.system.clone(),
            distinction: series.distinction.clone(),
        };
        (key, (series, analysis.machines[series.machine].cores))
    });
    keyed.collect()
}

/// The same on the old side. Where one side does not tell its clients, the other's that are as many
/// as cores are meant.
fn partner(key: &LineKey, old: &Lines, new: &Lines) -> Option<LineKey> {
    if old.contains_key(key) {
        return Some(key.clone());
    }
    let untold = |key: &LineKey| LineKey { case: CaseKey { clients: 0, ..key.case.clone() }, ..key.clone() };
    let is_of_cores = |key: &LineKey, lines: &Lines| lines[key].1 == Some(u64::from(key.case.clients));
    if is_of_cores(key, new) {
        return Some(untold(key)).filter(|key| old.contains_key(key));
    }
    let mut candidates = old.keys().filter(|old_key| is_of_cores(old_key, old) && untold(old_key) == *key);
    candidates.next().cloned()
}

fn line(
    case: &CaseKey,
    (old, _): &(&Series, Option<u64>),
    (new, _): &(&Series, Option<u64>),
) -> Option<Line> {
    let side = |series: &Series| Side {
        ns_per_op: series.ns_per_op,
        ns_per_op_interval: series.ns_per_op_interval,
        rounds: series.rounds.len(),
    };
    Some(Line {
        key: case.clone(),
        case: case.label(true),
        system: words::series_name(new),
        old: side(old),
        new: side(new),
        ratio: stats::ratio(&keyed_times(new), &keyed_times(old))?,
    })
}

impl Comparison {
    /// Lines that became slower by more than `share` (0.1: 10 %), and not by chance. A floor is no work of anybody's.
    #[must_use]
    pub fn slowdowns(&self, share: f64) -> Vec<&Line> {
        let is_slowdown =
            |line: &&Line| line.ratio.verdict == Verdict::Difference && line.ratio.value > 1.0 + share;
        self.lines.iter().filter(|line| !line.key.is_floor()).filter(is_slowdown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{row, rows};

    const FAST: [u64; 6] = [100, 101, 102, 103, 104, 105];
    const SLOW: [u64; 6] = [120, 121, 122, 123, 124, 125];

    fn run(name: &str, rows: Vec<Measurement>) -> Vec<Measurement> {
        rows.into_iter().map(|row| Measurement { run_id: name.into(), ..row }).collect()
    }

    #[test]
    fn a_slowdown_is_one_beyond_the_limit_that_chance_does_not_explain() {
        let of = |old: &[u64], new: &[u64]| {
            compare(&run("a", rows("basic", "redis", old)), &run("b", rows("basic", "redis", new)), false)
        };
        let slower = of(&FAST, &SLOW);
        assert!((slower.lines[0].ratio.value - 122.5 / 102.5).abs() < 1e-12, "new over old");
        assert_eq!((slower.lines[0].old.ns_per_op, slower.lines[0].new.ns_per_op), (102.5, 122.5));
        assert_eq!([0.0, 0.19, 0.2, 0.5].map(|share| slower.slowdowns(share).len()), [1, 1, 0, 0]);
        assert_eq!(of(&SLOW, &FAST).slowdowns(0.0), [] as [&Line; 0], "faster is no slowdown");
        let floor = |rows: Vec<Measurement>| {
            rows.into_iter().map(|row| Measurement { suite: "floor".into(), ..row }).collect::<Vec<_>>()
        };
        let noisier = compare(
            &run("a", floor(rows("disk_dsync", "machine", &FAST))),
            &run("b", floor(rows("disk_dsync", "machine", &SLOW))),
            false,
        );
        assert_eq!((noisier.lines.len(), noisier.slowdowns(0.0).len()), (1, 0));
        assert_eq!(of(&FAST, &FAST).slowdowns(0.0), [] as [&Line; 0]);
        assert_eq!(of(&FAST[..1], &SLOW[..1]).slowdowns(0.0), [] as [&Line; 0], "one round proves nothing");
        assert_eq!(
            of(&FAST, &[90, 95, 110, 115, 190, 300]).slowdowns(0.0),
            [] as [&Line; 0],
            "the rounds overlap"
        );
    }

    #[test]
    fn what_one_side_lacks_is_listed() {
        let mut old = rows("basic", "redis", &FAST);
        old.extend(rows("two_phase", "redis", &FAST));
        let mut new = rows("basic", "redis", &FAST);
        new.extend(rows("basic", "postgres", &FAST));
        new.push(Measurement { verified: "no".into(), ..row("two_phase", "redis", 1, 1) });
        let found = compare(&run("a", old), &run("b", new), false);
        assert_eq!(found.lines.len(), 1);
        assert_eq!(found.only_old, ["seed two_phase, redis"]);
        assert_eq!(found.only_new, ["seed basic, postgres"]);
        assert_eq!((found.failed_old.len(), found.failed_new.len()), (0, 1));
    }

    #[test]
    fn clients_that_are_not_told_are_as_many_as_cores() {
        let parallel = |clients| -> Vec<_> {
            rows("basic_parallel", "redis", &FAST)
                .into_iter()
                .map(|row| Measurement { clients, ..row })
                .collect()
        };
        let (mut ours, untold) = (parallel(2), parallel(0));
        ours.extend(parallel(64));
        let forth = compare(&untold, &ours, false);
        assert_eq!((forth.lines.len(), forth.lines[0].key.clients), (1, 2));
        assert_eq!(forth.only_new, ["seed basic_parallel, 64 clients, redis"]);
        let back = compare(&ours, &untold, false);
        assert_eq!((back.lines.len(), back.only_old.len(), back.only_new.len()), (1, 1, 0));
        assert!(compare(&parallel(4), &untold, false).lines.is_empty(), "4 clients on 2 cores");
    }

    #[test]
    fn sides_that_differ_raise_an_alarm() {
        let new =
            rows("basic", "redis", &FAST).into_iter().map(|row| Measurement { cpu: "Ryzen".into(), ..row });
        let found = compare(&rows("basic", "redis", &FAST), &new.collect::<Vec<_>>(), false);
        assert_eq!(found.alarms, ["DIFFERENT MACHINES are compared: cpu: AMD EPYC | Ryzen"]);
    }
}
