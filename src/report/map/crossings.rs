//! Where the order of two contenders turns, and who is always ahead, in words. Pure.
//!
//! A turn lies between two cells of a line where either is shown to be ahead. Where ties lie between them it is told by
//! when, at the latest; of cells with too few rounds the medians are taken, and a `?` says so.

use super::{
    Layer, Map,
    line::{Axis, Line, grouped},
};
use crate::stats::Verdict;

/// A sentence before it is known of how many lines and grids it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    text: String,
    /// Of lines whose cells have this in common; none of a whole grid.
    lines: Vec<String>,
    /// Positions in [`Map::layers`].
    layers: Vec<usize>,
    is_proven: bool,
}

/// Who of a pair is ahead in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    /// By the medians.
    is_first_ahead: bool,
    /// Chance is no explanation, or could not be told from it.
    counts: bool,
    is_proven: bool,
}

/// Of all grids, turns first.
pub(super) fn sentences(map: &Map) -> Vec<String> {
    let (mut turns, mut totals) = (Vec::new(), Vec::new());
    for first in 0..map.contenders.len() {
        for second in first + 1..map.contenders.len() {
            for (place, layer) in map.layers.iter().enumerate() {
                let found = found_turns(map, layer, [first, second], place);
                if found.is_empty() {
                    totals.extend(total(map, layer, [first, second], place));
                }
                turns.extend(found);
            }
        }
    }
    // Equal ones of several lines are one, then equal ones of several grids.
    let turns =
        merged(turns, |one, next| one.layers == next.layers, |one, next| one.lines.extend(next.lines));
    let turns =
        merged(turns, |one, next| one.lines == next.lines, |one, next| one.layers.extend(next.layers));
    let totals = merged(totals, |_, _| true, |one, next| one.layers.extend(next.layers));
    turns.iter().chain(&totals).map(|finding| told(map, finding)).collect()
}

fn merged(
    findings: Vec<Finding>,
    alike: impl Fn(&Finding, &Finding) -> bool,
    join: impl Fn(&mut Finding, Finding),
) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        let is_twin = |one: &&mut Finding| {
            one.text == finding.text && one.is_proven == finding.is_proven && alike(one, &finding)
        };
        match merged.iter_mut().find(is_twin) {
            Some(one) => join(one, finding),
            None => merged.push(finding),
        }
    }
    merged
}

/// `TigerBeetle overtakes Redis between 1 and 16 clients (batches 1 and 10; 2 accounts, fsync).`
fn told(map: &Map, finding: &Finding) -> String {
    let layers = match &finding.layers[..] {
        all if all.len() == map.layers.len() && all.len() > 1 => all_of(all.len(), "grid"),
        some => some.iter().map(|&place| map.layers[place].label.as_str()).collect::<Vec<_>>().join("; "),
    };
    let lines = match listed(&finding.lines) {
        none if none.is_empty() => none,
        lines => lines + "; ",
    };
    let doubt = if finding.is_proven { "" } else { " ?" };
    format!("{} ({lines}{layers}){doubt}", finding.text)
}

/// `batches 1 and 10`, of `batch 1` and `batch 10`.
fn listed(lines: &[String]) -> String {
    let values: Option<Vec<&str>> = lines.iter().map(|line| line.strip_prefix("batch ")).collect();
    match values {
        Some(values) if values.len() > 1 && !values.iter().any(|value| value.contains(", ")) => {
            format!("batches {}", and(&values))
        }
        _ => and(&lines.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

/// `a, b and c`; thousands have commas of their own, without a space.
pub(super) fn and(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn order(cell: &super::Cell, [first, second]: [usize; 2]) -> Option<Order> {
    let ratio = cell.pair(first, second)?.ratio;
    Some(Order {
        is_first_ahead: ratio.value < 1.0,
        counts: ratio.verdict != Verdict::NoDifferenceShown,
        is_proven: ratio.verdict != Verdict::TooFewRounds,
    })
}

fn found_turns(map: &Map, layer: &Layer, pair: [usize; 2], place: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    for axis in [Axis::Clients, Axis::InFlight, Axis::Batch] {
        for line in axis.lines(map, layer) {
            let finding = |(text, is_proven)| Finding {
                text,
                lines: vec![line.fixed(map)],
                layers: vec![place],
                is_proven,
            };
            findings.extend(turns(map, &line, pair).into_iter().map(finding));
        }
    }
    findings
}

/// Each turn along a line, and whether both of its sides are shown.
fn turns(map: &Map, line: &Line, pair: [usize; 2]) -> Vec<(String, bool)> {
    let cells = line.cells.iter().filter_map(|cell| Some((line.axis.value(cell), order(cell, pair)?)));
    let cells: Vec<(u32, Order)> = cells.collect();
    let name = |is_first: bool| map.name(pair[usize::from(!is_first)]);
    let mut turns = Vec::new();
    let mut before: Option<(usize, Order)> = None;
    for (place, &(value, order)) in cells.iter().enumerate().filter(|(_, (_, order))| order.counts) {
        let (ahead, behind) = (name(order.is_first_ahead), name(!order.is_first_ahead));
        match before {
            Some((last, was)) if was.is_first_ahead != order.is_first_ahead => {
                let is_proven = was.is_proven && order.is_proven;
                let from = cells[last].0;
                let text = if place - last == 1 {
                    format!("{ahead} overtakes {behind} between {}", between(line.axis, from, value))
                } else {
                    let (by, from) = (at(line.axis, value), at(line.axis, from));
                    format!(
                        "{ahead} overtakes {behind} at the latest by {by}, after {from}; between them no difference is shown"
                    )
                };
                turns.push((text, is_proven));
            }
            None if place > 0 && cells[place - 1].1.is_first_ahead != order.is_first_ahead => {
                let by = at(line.axis, value);
                let text = format!(
                    "{ahead} is ahead of {behind} at the latest by {by}; below it no difference is shown"
                );
                turns.push((text, order.is_proven));
            }
            _ => {}
        }
        before = Some((place, order));
    }
    if let (Some((last, was)), Some(&(_, end))) = (before, cells.last())
        && !end.counts
        && end.is_first_ahead != was.is_first_ahead
    {
        let (ahead, behind) = (name(was.is_first_ahead), name(!was.is_first_ahead));
        let (up_to, from) = (at(line.axis, cells[last].0), at(line.axis, cells[last + 1].0));
        let text =
            format!("{ahead} is ahead of {behind} up to {up_to}; from {from} on no difference is shown");
        turns.push((text, was.is_proven));
    }
    turns
}

fn between(axis: Axis, from: u32, to: u32) -> String {
    let (from, to) = (grouped(from), grouped(to));
    match axis {
        Axis::Clients => format!("{from} and {to} clients"),
        Axis::InFlight => format!("{from} and {to} in flight"),
        Axis::Batch => format!("batches of {from} and {to}"),
    }
}

fn at(axis: Axis, value: u32) -> String {
    let number = grouped(value);
    match axis {
        Axis::Clients if value == 1 => "1 client".into(),
        Axis::Clients => format!("{number} clients"),
        Axis::InFlight => format!("{number} in flight"),
        Axis::Batch => format!("a batch of {number}"),
    }
}

/// Of a pair whose order turns on no line: in how many cells who is ahead.
fn total(map: &Map, layer: &Layer, pair: [usize; 2], place: usize) -> Option<Finding> {
    let orders: Vec<Order> = layer.cells.iter().filter_map(|cell| order(cell, pair)).collect();
    let all = orders.len();
    let ahead =
        |is_first| orders.iter().filter(|order| order.counts && order.is_first_ahead == is_first).count();
    let (first, second) = (map.name(pair[0]), map.name(pair[1]));
    let cells = all_of(all, "cell");
    let text = match (ahead(true), ahead(false)) {
        _ if all == 0 => return None,
        (0, 0) => format!("in {cells} no difference between {first} and {second} is shown"),
        (count, 0) if count == all => format!("{first} is faster than {second} in {cells}"),
        (0, count) if count == all => format!("{second} is faster than {first} in {cells}"),
        (count, 0) => rest(first, second, count, all),
        (0, count) => rest(second, first, count, all),
        (ones, others) => format!(
            "{first} is faster than {second} in {ones} of {all} cells, {second} in {others}, without neighbours that show where it turns"
        ),
    };
    let is_proven = orders.iter().all(|order| order.is_proven);
    Some(Finding { text, lines: Vec::new(), layers: vec![place], is_proven })
}

fn all_of(count: usize, what: &str) -> String {
    match count {
        1 => format!("the one {what}"),
        2 => format!("both {what}s"),
        count => format!("all {count} {what}s"),
    }
}

fn rest(ahead: &str, behind: &str, count: usize, all: usize) -> String {
    format!("{ahead} is faster than {behind} in {count} of {all} cells; in the others no difference is shown")
}
