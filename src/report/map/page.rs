//! The map in letters: for the terminal, for Markdown, and as the words of the page. Pure.

use std::fmt::Write;

use super::{Cell, Lead, Map, Standing, lead_in_words, line::grouped};
use crate::{
    report::{
        page::{Column, Grid, Group},
        units, words,
    },
    stats::{Interval, rounds::ROUNDS_MIN},
};

/// Above the sentences.
pub const TURNS: &str = "Where the order turns, and who is always ahead:";
/// Above the notes.
pub const READING: &str = "Reading the map:";

/// A group a layer, a line a batch, a column for each concurrency.
fn grid(map: &Map) -> Grid {
    // Where room is short, the highest concurrency goes first.
    let ranks = 1..=u8::MAX;
    let columns = map.columns.iter().zip(ranks).map(|(at, rank)| Column::text(&at.label(), rank));
    let columns = std::iter::once(Column::number("batch", 0)).chain(columns).collect();
    let group = |layer: &super::Layer| Group {
        title: layer.label.clone(),
        lines: map
            .batches
            .iter()
            .enumerate()
            .map(|(row, &batch)| {
                let fields = (0..map.columns.len()).map(|column| field(map, map.cell(layer, row, column)));
                std::iter::once(grouped(batch)).chain(fields).collect()
            })
            .collect(),
    };
    let groups = map.layers.iter().map(group).collect();
    Grid { title: "The map: who is the fastest where".into(), group_title: "grid", columns, groups }
}

/// All grids of a map: that of its cells, and one of response times by offered load.
#[must_use]
pub fn grids(map: &Map) -> Vec<Grid> {
    let cells = (!map.layers.is_empty()).then(|| grid(map));
    let loads = (!map.loads.is_empty()).then(|| loads(map));
    cells.into_iter().chain(loads).collect()
}

/// A group for each batch, concurrency and layer, a line a rate, a column a contender.
fn loads(map: &Map) -> Grid {
    let columns = map.contenders.iter().map(|one| Column::text(&one.name, 0));
    let columns = std::iter::once(Column::number("ops due/s", 0)).chain(columns).collect();
    let group = |load: &super::Load| {
        let rates = super::distinct(load.points.iter().map(|point| point.rate_per_s));
        let line = |rate_per_s: &u64| {
            let of = |contender: usize| {
                load.points
                    .iter()
                    .find(|point| (point.contender, point.rate_per_s) == (contender, *rate_per_s))
            };
            let fields = (0..map.contenders.len()).map(|one| of(one).map(responses).unwrap_or_default());
            std::iter::once(units::grouped(*rate_per_s)).chain(fields).collect()
        };
        Group { title: load.label(), lines: rates.iter().map(line).collect() }
    };
    let groups = map.loads.iter().map(group).collect();
    Grid { title: "Response time by offered load: p50, p99".into(), group_title: "at", columns, groups }
}

/// `1.20 ms, 3.40 ms`, and below it whether the system fell behind.
fn responses(point: &super::LoadPoint) -> String {
    let times = [point.latency_ns_p50, point.latency_ns_p99].map(|ns| ns.map_or("?".into(), words::time));
    let mut field = times.join(", ");
    if point.saturated_rounds > 0 {
        let _ = write!(field, "\nsaturated in {} of {}", point.saturated_rounds, point.rounds);
    }
    field
}

/// A cell in pieces; blank where there is nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// `T`, or in a tie `T = R`.
    pub codes: String,
    /// By how much it leads: `1.80x`, `1.80x ?`, `alone`.
    pub lead: String,
    /// `1.62-2.03`.
    pub lead_interval: String,
    /// The fastest's transfers a second: `123k/s`.
    pub rate: String,
    /// `118k-131k`; how many rounds there were where they were too few: `1 round`.
    pub rate_interval: String,
    /// `R failed`, `P not measured`.
    pub absent: Vec<String>,
}

/// What a cell shows.
#[must_use]
pub fn shown(map: &Map, cell: &Cell) -> Shown {
    let codes_of = |of: &mut dyn Iterator<Item = usize>, between: &str| {
        of.map(|one| map.contenders[one].code.as_str()).collect::<Vec<_>>().join(between)
    };
    let mut shown = Shown {
        codes: codes_of(&mut cell.first().iter().map(|one| one.contender), " = "),
        ..Shown::default()
    };
    if let Some(fastest) = cell.fastest() {
        shown.rate = format!("{}/s", short(fastest.transfers_per_s));
        shown.rate_interval = fastest.transfers_per_s_interval.map_or_else(
            || rounds(fastest),
            |Interval { low, high }| format!("{}-{}", short(low), short(high)),
        );
    }
    (shown.lead, shown.lead_interval) = lead(cell);
    let missing: &[usize] = if cell.lead == Lead::NotMeasured { &[] } else { &cell.missing };
    for (of, why) in [(&cell.failed[..], "failed"), (missing, "not measured")] {
        if !of.is_empty() {
            shown.absent.push(format!("{} {why}", codes_of(&mut of.iter().copied(), ", ")));
        }
    }
    shown
}

fn lead(cell: &Cell) -> (String, String) {
    let to_second = cell.second().and_then(|second| second.to_fastest);
    match (cell.lead, to_second) {
        (Lead::NotMeasured, _) => ("not measured".into(), String::new()),
        (Lead::Alone, _) => ("alone".into(), String::new()),
        (Lead::Shown | Lead::TooFewRounds, Some(ratio)) => {
            let told = words::ratio(&ratio).replace(" slower", "");
            let (times, interval) = told.split_once(" (").unwrap_or((&told, ""));
            (times.to_owned(), interval.trim_end_matches(')').to_owned())
        }
        _ => Default::default(),
    }
}

/// Who is first and by how much; below it the rate; below that who is not there.
fn field(map: &Map, cell: &Cell) -> String {
    let shown = shown(map, cell);
    let with_interval = |value: &str, interval: &str| match interval {
        "" => value.to_owned(),
        interval => format!("{value} ({interval})"),
    };
    let first = format!("{} {}", shown.codes, with_interval(&shown.lead, &shown.lead_interval));
    let lines = [first.trim().to_owned(), with_interval(&shown.rate, &shown.rate_interval)];
    let lines = lines.into_iter().chain(shown.absent).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn rounds(standing: &Standing) -> String {
    if standing.rounds == 1 { "1 round".into() } else { format!("{} rounds", standing.rounds) }
}

/// `950`, `12.3k`, `1.24M`: three significant digits.
#[must_use]
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        value if value < 999.5 => (value, ""),
        value if value < 999_500.0 => (value / 1e3, "k"),
        value => (value / 1e6, "M"),
    };
    let decimals = match scaled {
        _ if unit.is_empty() => 0,
        scaled if scaled < 9.995 => 2,
        scaled if scaled < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$}{unit}")
}

/// All of a cell in sentences, the first of which names it: for whoever wants its figures.
#[must_use]
pub fn figures(map: &Map, cell: &Cell) -> Vec<String> {
    let mut lines =
        vec![format!("batch {}, {}: {}", grouped(cell.batch), cell.at.label(), verdict(map, cell))];
    lines.extend(cell.standings.iter().map(|standing| figures_of(map, standing)));
    let names = |of: &[usize]| of.iter().map(|&one| map.name(one)).collect::<Vec<_>>().join(", ");
    if !cell.failed.is_empty() {
        lines.push(format!("failed: {}", names(&cell.failed)));
    }
    if !cell.missing.is_empty() && cell.lead != Lead::NotMeasured {
        lines.push(format!("not measured: {}", names(&cell.missing)));
    }
    lines
}

fn verdict(map: &Map, cell: &Cell) -> String {
    let name = |standing: &Standing| map.name(standing.contender);
    match (cell.lead, cell.fastest(), cell.second()) {
        (Lead::NotMeasured, ..) | (_, None, _) => "not measured".into(),
        (Lead::Alone, Some(one), _) | (_, Some(one), None) => format!("{} alone", name(one)),
        (Lead::Tie, ..) => {
            let names: Vec<&str> = cell.first().iter().map(name).collect();
            format!("no difference shown between {}", super::crossings::and(&names))
        }
        (_, Some(first), Some(second)) => {
            let ratio = second.to_fastest.map(|ratio| lead_in_words(&ratio, name(second)));
            let few = if cell.lead == Lead::TooFewRounds { " (too few rounds to tell)" } else { "" };
            format!("{}, {}{few}", name(first), ratio.unwrap_or_default())
        }
    }
}

/// `Redis: 123,456 transfers/s (118,000-131,000), p50 1.02 ms, p99 2.31 ms, 1.80x slower (1.62-2.03)`.
fn figures_of(map: &Map, standing: &Standing) -> String {
    let mut line =
        format!("{}: {} transfers/s", map.name(standing.contender), words::rate(standing.transfers_per_s));
    let _ = match standing.transfers_per_s_interval {
        Some(Interval { low, high }) => write!(line, " ({}-{})", words::rate(low), words::rate(high)),
        None => write!(line, " (too few rounds for an interval: {})", standing.rounds),
    };
    for (name, latency) in [("p50", standing.latency_ns_p50), ("p99", standing.latency_ns_p99)] {
        line += &latency.map(|ns| format!(", {name} {}", words::time(ns))).unwrap_or_default();
    }
    if standing.rounds < standing.rounds_planned {
        let _ = write!(line, ", {} of {} rounds", standing.rounds, standing.rounds_planned);
    }
    line + &standing.to_fastest.map(|ratio| format!(", {}", words::ratio(&ratio))).unwrap_or_default()
}

/// `T TigerBeetle, R Redis`.
#[must_use]
pub fn legend(map: &Map) -> String {
    let told = map.contenders.iter().map(|one| format!("{} {}", one.code, one.name));
    told.collect::<Vec<_>>().join(", ")
}

/// How the grids are read.
#[must_use]
pub fn notes(map: &Map) -> Vec<String> {
    let loads = "Response times are from the moment an op was due; saturated: the system fell behind.";
    let loads = (!map.loads.is_empty()).then(|| loads.to_owned());
    if map.layers.is_empty() {
        return loads.into_iter().collect();
    }
    let has = |lead: Lead| map.cells().any(|(_, cell)| cell.lead == lead);
    let has_few =
        map.cells().flat_map(|(_, cell)| &cell.standings).any(|standing| standing.rounds < ROUNDS_MIN);
    let mut notes = vec![
        legend(map) + ".",
        "A cell: the fastest, how many times as long the next takes (95 % interval), and the fastest's transfers/s (95 % interval)."
            .into(),
    ];
    notes.push(
        "T = R, a tie: no difference is shown (Mann and Whitney, p 0.05 or more); the rate is that of the better median."
            .into(),
    );
    if has_few {
        notes.push(format!("No 95 % interval where fewer than {ROUNDS_MIN} rounds were measured."));
    }
    if has(Lead::TooFewRounds) {
        notes.push(words::UNPROVEN_NOTE.into());
    }
    notes.extend(loads);
    notes
}
