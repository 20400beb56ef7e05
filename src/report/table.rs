//! An analysis as a page: the grid of cases and systems, and what to know beside it.

use std::collections::BTreeSet;

use super::{
    analysis::{Analysis, Case, Failed, Series},
    calibration::Calibration,
    floor, map,
    page::{Column, Grid, Group, Notes, Page},
    words,
};
use crate::{machine::Machine, stats::rounds::ROUNDS_MIN};

/// For the terminal and for Markdown.
#[must_use]
pub fn page(analysis: &Analysis) -> Page {
    let mut page = without_map(analysis);
    if let Some(map) = &analysis.map {
        page.headlines.clone_from(&map.headlines);
        page.grids.splice(0..0, map::page::grids(map));
        let notes = [(map::page::TURNS, map.sentences.clone()), (map::page::READING, map::page::notes(map))];
        let notes = notes.into_iter().filter(|(_, lines)| !lines.is_empty());
        page.notes.splice(0..0, notes.map(|(title, lines)| Notes { title: title.into(), lines }));
    }
    page
}

/// The same but for the map, and for the cases that are its cells.
pub(super) fn without_map(analysis: &Analysis) -> Page {
    let mut page = Page { alarms: analysis.alarms.clone(), subject: subject(analysis), ..Page::default() };
    let calibration = analysis.calibration.as_ref();
    if analysis.cases.is_empty() && calibration.is_none() {
        page.note("No sample was measured and found right.", vec!["There is no figure to show.".into()]);
    } else {
        let cases = outside_the_map(analysis);
        page.grids.extend((!cases.is_empty()).then(|| grid(&cases)));
        page.grids.extend(calibration.map(Calibration::grid));
        if let Some(against) = &analysis.against_seed {
            page.grids.push(against.grid());
        }
        page.note("Notes:", notes(analysis, &cases));
        page.note("Mind:", remarks(analysis));
    }
    page.note("Failed, and in no figure above:", failed(&analysis.failed));
    page
}

/// The cases that have a group each: those of a map are its cells.
pub(super) fn outside_the_map(analysis: &Analysis) -> Vec<&Case> {
    analysis.cases.iter().filter(|case| !map::holds(&case.key)).collect()
}

/// `Run 20261130T201530Z-3f2a, 72 samples in 6 rounds; AMD EPYC, 2 cores, ...`.
fn subject(analysis: &Analysis) -> String {
    let run = |run: &super::analysis::Run| {
        format!("{}, {} in {}", run.run_id, counted(run.samples, "sample"), counted(run.rounds, "round"))
    };
    let runs = match &analysis.runs[..] {
        [] => String::new(),
        [one] => format!("Run {}", run(one)),
        [first, .., last] => format!("{} runs, {} to {}", analysis.runs.len(), first.run_id, last.run_id),
    };
    let machines = analysis.machines.iter().map(machine).filter(|machine| !machine.is_empty());
    [runs].into_iter().chain(machines).collect::<Vec<_>>().join("; ")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What is known of a machine, on one line. What speaks for itself goes without its name.
fn machine(machine: &Machine) -> String {
    let told = |(name, value): (&str, String)| match name {
        "cores" => format!("{value} cores"),
        "memory in MiB" => format!("{value} MiB"),
        "virtualization" if value == "none" => "bare metal".into(),
        "host" | "cpu" | "kernel" | "virtualization" | "filesystem" => value,
        name => format!("{name} {value}"),
    };
    machine.known().into_iter().map(told).collect::<Vec<_>>().join(", ")
}

/// A column, and what a series shows in it.
type Shown = (Column, fn(&Series) -> String);

fn columns() -> [Shown; 11] {
    [
        (Column::text("system", 0), words::series_name),
        (Column::number("time/op", 0), |series| words::time(series.ns_per_op)),
        (Column::number("95 % interval", 4), |series| {
            series.ns_per_op_interval.map(words::time_interval).unwrap_or_default()
        }),
        (Column::number("transfers/s", 3), |series| {
            series.transfers_per_s.map(words::rate).unwrap_or_default()
        }),
        (Column::number("p50", 8), |series| series.latency_ns.p50.map(words::time).unwrap_or_default()),
        (Column::number("p99", 6), |series| series.latency_ns.p99.map(words::time).unwrap_or_default()),
        (Column::number("spread", 2), |series| series.spread.map(words::percent).unwrap_or_default()),
        (Column::number("x floor", 3), |series| {
            series.floor.map(|floor| words::multiple(floor.times)).unwrap_or_default()
        }),
        (Column::number("rounds", 5), rounds),
        (Column::text("to the fastest", 0), to_fastest),
        (Column::text(&words::stands("tigerbeetle"), 7), |series| {
            series.tigerbeetle_to_this.as_ref().map(words::short_ratio).unwrap_or_default()
        }),
    ]
}

/// How many samples the median is of; those that failed or have no row are missing.
fn rounds(series: &Series) -> String {
    let (measured, planned) = (series.rounds.len(), series.rounds_planned);
    if measured == planned { measured.to_string() } else { format!("{measured} of {planned}") }
}

fn to_fastest(series: &Series) -> String {
    match &series.to_fastest {
        Some(ratio) => words::ratio(ratio),
        None if series.is_fastest => "fastest".into(),
        None => String::new(),
    }
}

/// What is shown under one heading: a case, or all floors, as each is a single line.
pub(super) fn grouped<'a, 'b>(cases: &'b [&'a Case]) -> impl Iterator<Item = &'b [&'a Case]> {
    cases.chunk_by(|one, next| one.key.is_floor() && next.key.is_floor())
}

pub(super) fn grid(cases: &[&Case]) -> Grid {
    let columns = columns();
    let line = |case: &Case, series: &Series| {
        let mut fields: Vec<String> = columns.iter().map(|(_, field)| field(series)).collect();
        if case.key.is_floor() {
            fields[0] = words::distinct(&case.key.label(false), series);
        }
        fields
    };
    let group = |cases: &[&Case]| {
        let first = &cases[0];
        let title = if first.key.is_floor() { first.key.suite.clone() } else { first.label.clone() };
        let lines = cases.iter().flat_map(|case| {
            without_lonely_fastest(case).iter().map(|series| line(case, series)).collect::<Vec<_>>()
        });
        Group { title, lines: lines.collect() }
    };
    let groups = grouped(cases).map(group).collect();
    let columns = columns.iter().map(|(column, _)| column.clone()).collect();
    Grid { title: String::new(), group_title: "case", columns, groups }.without_blank_columns()
}

/// Who is alone is not the fastest.
fn without_lonely_fastest(case: &Case) -> Vec<Series> {
    let is_alone = case.series.iter().all(|series| series.to_fastest.is_none());
    let mut series = case.series.clone();
    for series in &mut series {
        series.is_fastest &= !is_alone;
    }
    series
}

/// What holds for the whole table.
fn notes(analysis: &Analysis, cases: &[&Case]) -> Vec<String> {
    if cases.is_empty() && analysis.calibration.is_none() {
        return Vec::new();
    }
    let mut notes = vec![
        "time/op: wall time over ops of all clients, the median of the rounds.".to_owned(),
        "spread: the slowest round less the fastest, over the median.".to_owned(),
        "(from-to): 95 % interval of a ratio, by a bootstrap over the rounds. No difference shown: by the test of \
         Mann and Whitney, p 0.05 or more."
            .to_owned(),
    ];
    let all = || cases.iter().flat_map(|case| &case.series);
    if all().any(|series| series.floor.is_some()) {
        notes.push(
            "x floor: time/op over what this machine takes for an op's requests x loopback + its commits that must be on \
             disk x disk, one after the other; below 1 where ops in flight share them."
                .into(),
        );
    }
    notes.extend(floor::relays(&analysis.cases));
    let short = all().filter(|series| series.rounds.len() < ROUNDS_MIN).count();
    if short > 0 {
        let whose =
            if short == all().count() { "all".into() } else { format!("{short} of {}", all().count()) };
        notes.push(format!(
            "No 95 % interval where fewer than {ROUNDS_MIN} rounds were measured: {whose} lines."
        ));
    }
    if all().any(|series| !series.outliers.is_empty()) {
        notes.push(
            "outside the fences: over 1.5 interquartile ranges away from the quartiles (Tukey).".into(),
        );
    }
    if all().any(|series| series.to_fastest.as_ref().is_some_and(|ratio| words::ratio(ratio).ends_with('?')))
    {
        notes.push(words::UNPROVEN_NOTE.into());
    }
    notes
}

fn remarks(analysis: &Analysis) -> Vec<String> {
    let calibrated =
        analysis.calibration.as_ref().map(|calibration| &calibration.cases[..]).unwrap_or_default();
    let cases = || analysis.cases.iter().chain(calibrated);
    let common = common_warnings(cases().flat_map(|case| &case.series));
    let lines = cases().filter(|case| !map::holds(&case.key));
    let lines = lines.flat_map(|case| case.series.iter().map(move |series| (case, series)));
    let told = lines.map(|(case, series)| (case, series, words::remarks(series, &common)));
    let of_lines = told.filter(|(.., remarks)| !remarks.is_empty()).map(|(case, series, remarks)| {
        format!("{}, {}: {}", case.label, words::series_name(series), remarks.join("; "))
    });
    let of_map = analysis.map.iter().flat_map(|_| remarks_of_the_map(analysis, &common));
    common.iter().map(|warning| format!("all samples: {warning}")).chain(of_map).chain(of_lines).collect()
}

/// Of a map's many lines how many warn of what.
fn remarks_of_the_map(analysis: &Analysis, common: &BTreeSet<&str>) -> Vec<String> {
    let cases = || analysis.cases.iter().filter(|case| map::holds(&case.key));
    let series: Vec<&Series> = cases().flat_map(|case| &case.series).collect();
    let of = |count: usize| format!("{count} of {} lines of the map", series.len());
    let mut remarks = Vec::new();
    let spreads: Vec<f64> = series.iter().filter_map(|series| series.spread).collect();
    let wide = spreads.iter().filter(|&&spread| spread > words::SPREAD_MAX).count();
    if let Some(&widest) = spreads.iter().max_by(|a, b| a.total_cmp(b)).filter(|_| wide > 0) {
        let max = words::percent(words::SPREAD_MAX);
        remarks.push(format!("{}: spread above {max}, up to {}", of(wide), words::percent(widest)));
    }
    let drifts = series.iter().filter(|series| series.drift.is_some()).count();
    if drifts > 0 {
        remarks.push(format!("{}: drift over the rounds", of(drifts)));
    }
    remarks.extend(
        words::kinds(&series, common).into_iter().map(|(count, most)| format!("{}: {most}", of(count))),
    );
    remarks
}

/// What every sample of every series warns of, to be said once.
fn common_warnings<'a>(mut all: impl Iterator<Item = &'a Series>) -> BTreeSet<&'a str> {
    let of_all_rounds = |series: &'a Series| {
        let warnings = series.warnings.iter().filter(|warning| warning.rounds.len() == series.rounds.len());
        warnings.map(|warning| warning.text.as_str()).collect::<BTreeSet<_>>()
    };
    let first = all.next().map(of_all_rounds).unwrap_or_default();
    all.fold(first, |common, series| &common & &of_all_rounds(series))
}

/// A line for each row that counts nowhere.
pub(super) fn failed(failed: &[Failed]) -> Vec<String> {
    let line = |row: &Failed| {
        format!("{} round {}, {}, {}: {}", row.run_id, row.round, row.case, row.system, row.why)
    };
    failed.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measurement::Measurement,
        report::{analyze, markdown, samples, text},
    };

    #[test]
    fn a_run_as_text() {
        let expected = include_str!("../../tests/snapshots/run.txt");
        assert_eq!(text::render(&page(&analyze(&samples::run_with_floor(), false)), 160), expected);
    }

    #[test]
    fn a_run_as_markdown() {
        let expected = include_str!("../../tests/snapshots/run.md");
        assert_eq!(markdown::render(&page(&analyze(&samples::run_with_floor(), false))), expected);
    }

    #[test]
    fn what_all_samples_warn_of_is_said_once() {
        let warning = |row, text: &str| Measurement { warnings: text.into(), ..row };
        let rows = [
            warning(samples::row("basic", "redis", 1, 1), "busy (load 1.00), stolen"),
            warning(samples::row("basic", "redis", 2, 1), "busy (load 1.00)"),
            warning(samples::row("basic", "postgres", 1, 1), "stolen, busy (load 1.00)"),
        ];
        let remarks = remarks(&analyze(&rows, false));
        assert_eq!(
            remarks,
            [
                "all samples: busy (load 1.00)",
                "basic, redis: round 1: stolen",
                "basic, postgres: round 1: stolen"
            ]
        );
    }

    #[test]
    fn nothing_to_show_is_said() {
        let failed = Measurement { verified: "no".into(), ..samples::row("basic", "redis", 1, 1) };
        let text = text::render(&page(&analyze(&[failed], false)), 80);
        assert!(
            text.contains("No sample was measured and found right.") && text.contains("Failed, and in no"),
            "{text}"
        );
    }

    #[test]
    fn nobody_is_the_fastest_of_one() {
        let rows = samples::rows("basic", "redis", &[1, 2, 3]);
        let text = text::render(&page(&analyze(&rows, false)), 80);
        assert!(!text.contains("fastest\n"), "{text}");
    }
}
