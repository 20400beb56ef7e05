//! The predecessor's published figures beside ours, as ratios of systems: a ratio travels between
//! machines, a time does not. Pure.

use serde::Serialize;

use super::{
    analysis::{Analysis, Case, Series},
    case::{is_baseline, proper_name},
    page::{Column, Grid, Group},
    words,
};
use crate::{
    measurement::Measurement,
    stats::{self, Ratio},
};

/// Whose figures they are.
pub const SOURCE: &str = "kizzx2/tigerbeetle-benchmarks";
/// Where it measured.
const MACHINES: [&str; 2] = ["Apple M4 Pro", "Ryzen 7 5800H"];
/// Transfers in its batch.
const BATCH: u32 = 1_000;

/// Its table, ns/op on each of [`MACHINES`]: single shots by Go's benchmark runner, TigerBeetle
/// 0.16.38, PostgreSQL and Redis in Docker as shipped. Source: kizzx2/tigerbeetle-benchmarks (2025), README.
const PUBLISHED: [(&str, &str, [f64; 2]); 12] = [
    ("basic", "tigerbeetle", [24_362_892.0, 3_763_695.0]),
    ("basic", "redis", [173_072.0, 537_230.0]),
    ("basic", "postgres", [781_365.0, 2_067_554.0]),
    ("two_phase", "tigerbeetle", [60_988_901.0, 16_520_356.0]),
    ("two_phase", "redis", [171_658.0, 560_849.0]),
    ("two_phase", "postgres", [1_533_958.0, 7_032_468.0]),
    ("basic_batch", "tigerbeetle", [27_807_630.0, 30_229_617.0]),
    ("basic_batch", "redis", [1_362_045.0, 1_980_634.0]),
    ("basic_batch", "postgres", [86_402_994.0, 308_697_749.0]),
    ("basic_parallel", "tigerbeetle", [2_946_523.0, 230_546.0]),
    ("basic_parallel", "redis", [38_348.0, 30_556.0]),
    ("basic_parallel", "postgres", [592_111.0, 1_435_170.0]),
];

/// What is set against what.
const PAIRS: [(&str, &str); 3] =
    [("tigerbeetle", "redis"), ("tigerbeetle", "postgres"), ("redis", "postgres")];

/// Ratios of systems, there and here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstSeed {
    /// Whose figures the published ones are.
    pub source: &'static str,
    /// Where those were measured, in the order of [`Line::published`].
    pub machines: [&'static str; 2],
    /// A line for each of our cases and pair of systems.
    pub lines: Vec<Line>,
}

/// One pair of systems at one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Our case's label.
    pub case: String,
    /// Whose time is the numerator.
    pub first: String,
    /// Whose is the denominator.
    pub second: String,
    /// On each of the predecessor's machines.
    pub published: [f64; 2],
    /// Measured here.
    pub here: Ratio,
}

/// The lines for all of our cases that are the predecessor's too; those with several series of one
/// system have none.
#[must_use]
pub fn against_seed(analysis: &Analysis) -> AgainstSeed {
    let is_its_own = |case: &&Case| {
        let batch = if case.key.benchmark == "basic_batch" { BATCH } else { 1 };
        case.key.suite == "seed" && case.key.batch == batch
    };
    let cases = analysis.cases.iter().filter(is_its_own);
    let lines = cases.flat_map(|case| PAIRS.into_iter().filter_map(|pair| line(case, pair))).collect();
    AgainstSeed { source: SOURCE, machines: MACHINES, lines }
}

fn line(case: &Case, (first, second): (&str, &str)) -> Option<Line> {
    let published = |system: &str| {
        let is_it =
            |(benchmark, of, _): &&(&str, &str, [f64; 2])| *benchmark == case.key.benchmark && *of == system;
        PUBLISHED.iter().find(is_it).map(|(.., ns_per_op)| ns_per_op)
    };
    let (ours, theirs) = (published(first)?, published(second)?);
    let timed = |system| Some(super::series::keyed_times(only(case, system)?));
    Some(Line {
        case: case.label.clone(),
        first: first.to_owned(),
        second: second.to_owned(),
        published: std::array::from_fn(|machine| ours[machine] / theirs[machine]),
        here: stats::ratio(&timed(first)?, &timed(second)?)?,
    })
}

fn only<'a>(case: &'a Case, system: &str) -> Option<&'a Series> {
    let mut series = case.series.iter().filter(|series| series.system == system && !is_baseline(system));
    series.next().filter(|_| series.next().is_none())
}

impl AgainstSeed {
    /// For the page.
    #[must_use]
    pub fn grid(&self) -> Grid {
        let mut columns = vec![Column::text("", 0)];
        columns.extend(self.machines.iter().map(|machine| Column::text(machine, 0)));
        columns.push(Column::text("here", 0));
        let mut groups: Vec<Group> = Vec::new();
        for line in &self.lines {
            if groups.last().is_none_or(|group| group.title != line.case) {
                groups.push(Group { title: line.case.clone(), lines: Vec::new() });
            }
            let mut fields =
                vec![format!("{} against {}", proper_name(&line.first), proper_name(&line.second))];
            fields.extend(line.published.iter().map(|&ratio| words::times(ratio)));
            fields.push(words::ratio(&line.here));
            groups.last_mut().expect("just made").lines.push(fields);
        }
        let title = format!(
            "Time per op, system against system, as published by {} and as measured here:",
            self.source
        );
        Grid { title, group_title: "case", columns, groups }
    }
}

/// Whether rows have anything that the predecessor has.
#[must_use]
pub fn has_seed_rows(rows: &[Measurement]) -> bool {
    rows.iter().any(|row| row.suite == "seed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{analyze, samples};

    #[test]
    fn published_ratios_are_those_of_its_figures() {
        let mut rows = samples::run();
        rows.extend(samples::rows("basic_parallel", "tigerbeetle", &[10]));
        rows.extend(samples::rows("basic_parallel", "redis", &[5]));
        rows.push(Measurement { batch: 10, ..samples::row("basic_batch", "redis", 1, 1) });
        rows.push(Measurement { batch: 10, ..samples::row("basic_batch", "postgres", 1, 1) });
        let against = against_seed(&analyze(&rows, false));
        let told: Vec<_> = against
            .lines
            .iter()
            .map(|line| (line.case.as_str(), line.first.as_str(), line.second.as_str()))
            .collect();
        let expected = [
            ("basic", "tigerbeetle", "redis"),
            ("basic", "tigerbeetle", "postgres"),
            ("basic", "redis", "postgres"),
            ("basic_batch of 1000", "tigerbeetle", "postgres"),
            ("basic_parallel, 2 clients", "tigerbeetle", "redis"),
        ];
        assert_eq!(told, expected);
        let lines: Vec<_> = against.grid().groups.into_iter().flat_map(|group| group.lines).collect();
        assert_eq!(lines[0][..3], ["TigerBeetle against Redis", "141x slower", "7.01x slower"]);
        assert!(lines[0][3].starts_with("6.94x slower ("), "{:?}", lines[0]);
        assert_eq!(
            lines[1],
            ["TigerBeetle against PostgreSQL", "31.2x slower", "1.82x slower", "no difference shown"]
        );
        assert_eq!(lines[2][..3], ["Redis against PostgreSQL", "4.51x faster", "3.85x faster"]);
        assert_eq!(
            lines[3],
            ["TigerBeetle against PostgreSQL", "3.11x faster", "10.2x faster", "42.9x faster ?"]
        );
        assert_eq!(lines[4], ["TigerBeetle against Redis", "76.8x slower", "7.55x slower", "2.00x slower ?"]);
    }

    /// Sums of the published columns, made apart from this code.
    #[test]
    fn the_published_figures_are_whole() {
        let sum = |machine: usize| PUBLISHED.iter().map(|(.., ns_per_op)| ns_per_op[machine]).sum::<f64>();
        assert!((sum(0) - 207_161_497.0).abs() < 0.5 && (sum(1) - 373_086_424.0).abs() < 0.5);
    }

    #[test]
    fn other_suites_are_not_the_predecessor_s() {
        let rows: Vec<_> =
            samples::run().into_iter().map(|row| Measurement { suite: "ledger".into(), ..row }).collect();
        assert!(against_seed(&analyze(&rows, false)).lines.is_empty() && !has_seed_rows(&rows));
    }
}
