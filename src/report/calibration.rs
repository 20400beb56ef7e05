//! Our client beside the systems' own load generators, on the same server: what our figures owe to us. Pure.

use serde::Serialize;

use super::{
    analysis::{Case, Series},
    case::proper_name,
    page::{Column, Grid, Group},
    series, words,
};
use crate::{
    plan::{Generator, Suite},
    stats::{self, Ratio},
};

/// What a calibration found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Its samples; their systems are no rivals.
    pub cases: Vec<Case>,
    /// A line for each system of each case that both sides measured.
    pub lines: Vec<Line>,
}

/// One system at one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The case's label.
    pub case: String,
    /// Whose server.
    pub system: String,
    /// Our client and its version.
    pub client: String,
    /// Median of our rounds.
    pub ns_per_op: f64,
    /// The other one and its version.
    pub tool: String,
    /// Median of its rounds.
    pub tool_ns_per_op: f64,
    /// Ours over its.
    pub ratio: Ratio,
}

/// Takes the calibration out of all cases; `None` where there was none.
pub(super) fn split(cases: Vec<Case>) -> (Vec<Case>, Option<Calibration>) {
    let (mut calibration, cases): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.key.suite == Suite::Calibration.name());
    for series in calibration.iter_mut().flat_map(|case| &mut case.series) {
        (series.is_fastest, series.to_fastest, series.tigerbeetle_to_this) = (false, None, None);
    }
    let lines = calibration.iter().flat_map(lines).collect();
    (cases, (!calibration.is_empty()).then_some(Calibration { cases: calibration, lines }))
}

/// Of each system that has one series of either side; of several nobody knows which to take.
fn lines(case: &Case) -> Vec<Line> {
    let mut systems: Vec<&str> = case.series.iter().map(|series| series.system.as_str()).collect();
    systems.dedup();
    systems.into_iter().filter_map(|system| line(case, system)).collect()
}

fn line(case: &Case, system: &str) -> Option<Line> {
    let only = |generator: Generator| {
        let is_it = |series: &&Series| series.system == system && series.generator == generator.name();
        let mut all = case.series.iter().filter(is_it);
        all.next().filter(|_| all.next().is_none())
    };
    let (ours, theirs) = (only(Generator::Own)?, only(Generator::Peer)?);
    Some(Line {
        case: case.label.clone(),
        system: system.to_owned(),
        client: ours.client_version.clone(),
        ns_per_op: ours.ns_per_op,
        tool: theirs.client_version.clone(),
        tool_ns_per_op: theirs.ns_per_op,
        ratio: stats::ratio(&series::keyed_times(ours), &series::keyed_times(theirs))?,
    })
}

impl Calibration {
    /// For the page.
    #[must_use]
    pub fn grid(&self) -> Grid {
        let columns = vec![
            Column::text("system", 0),
            Column::number("ours/op", 0),
            Column::number("its own/op", 0),
            Column::text("ours is", 0),
            Column::number("ours/its own", 1),
            Column::text("its own", 2),
        ];
        let mut groups: Vec<Group> = Vec::new();
        for line in &self.lines {
            if groups.last().is_none_or(|group| group.title != line.case) {
                groups.push(Group { title: line.case.clone(), lines: Vec::new() });
            }
            let group = groups.last_mut().expect("pushed above");
            group.lines.push(vec![
                proper_name(&line.system).to_owned(),
                words::time(line.ns_per_op),
                words::time(line.tool_ns_per_op),
                words::ratio(&line.ratio),
                format!("{:.2}", line.ratio.value),
                line.tool.clone(),
            ]);
        }
        Grid {
            title: "Ours and the systems' own load generators".into(),
            group_title: "case",
            columns,
            groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        measurement::Measurement,
        report::{analyze, samples, table, text},
    };

    fn rows(system: &str, generator: &str, client: &str, ns_per_op: &[u64]) -> Vec<Measurement> {
        let of = |row| Measurement {
            suite: "calibration".into(),
            generator: generator.into(),
            client_version: client.into(),
            ..row
        };
        samples::rows("round_trip", system, ns_per_op).into_iter().map(of).collect()
    }

    fn run() -> Vec<Measurement> {
        let mut all = rows("redis", "own", "redis 1.8", &[90, 91, 92, 93, 94, 95]);
        all.extend(rows("redis", "peer", "redis-benchmark 7", &[180, 182, 184, 186, 188, 190]));
        all.extend(rows("postgres", "own", "postgres 0.19", &[210; 6]));
        all.extend(rows("postgres", "peer", "pgbench 15", &[200; 6]));
        all.extend(rows("tigerbeetle", "own", "tigerbeetle-unofficial 0.14", &[7]));
        all
    }

    #[test]
    fn ours_is_set_against_the_tool_of_the_same_system() {
        let analysis = analyze(&run(), false);
        assert!(analysis.cases.is_empty(), "they are no rivals");
        let calibration = analysis.calibration.expect("there was one");
        let series = || calibration.cases.iter().flat_map(|case| &case.series);
        assert!(series().all(|series| !series.is_fastest && series.to_fastest.is_none()));
        let told: Vec<_> = calibration
            .lines
            .iter()
            .map(|line| (line.system.as_str(), line.tool.as_str(), format!("{:.3}", line.ratio.value)))
            .collect();
        assert_eq!(
            told,
            [("redis", "redis-benchmark 7", "0.500".into()), ("postgres", "pgbench 15", "1.050".into())]
        );
    }

    #[test]
    fn the_page_shows_it_alone() {
        let text = text::render(&table::page(&analyze(&run(), false)), 120);
        for wanted in ["2.00x faster", "1.05x slower", "0.50", "pgbench 15", "its own/op"] {
            assert!(text.contains(wanted), "{text}");
        }
        assert!(
            !text.contains("to the fastest")
                && !text.contains("DIFFERENT")
                && !text.contains("There is no figure"),
            "{text}"
        );
    }

    #[test]
    fn two_tools_are_not_mixed() {
        let mut rows = run();
        rows.extend(self::rows("redis", "peer", "valkey-benchmark 8", &[1; 6]));
        let calibration = analyze(&rows, false).calibration.expect("there was one");
        assert!(calibration.lines.iter().all(|line| line.system != "redis"));
        assert_eq!(calibration.cases[0].series.len(), 6);
    }
}
