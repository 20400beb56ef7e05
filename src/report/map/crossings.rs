//! Where the order of two contenders turns, and who is always ahead, in words. Pure.
//!
//! A turn lies between two cells of a line where either is shown to be ahead. Where ties lie between them it is told by
//! when, at the latest; of cells with too few rounds the medians are taken, and a `?` says so.

use super::{
    Layer, Map,
    line::{Axis, Line, grouped},
};
use crate::stats::Verdict;

/// A sentence before it is known in how many grids it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// What its parts have in common: `TigerBeetle overtakes Redis between `.
    head: String,
    /// And what not: `4 and 16 clients`.
    parts: Vec<Part>,
    /// Positions in [`Map::layers`].
    layers: Vec<usize>,
    is_proven: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    text: String,
    /// Of lines whose cells have this in common; none of a whole grid.
    lines: Vec<String>,
}

/// A turn on one line.
struct Turn {
    head: String,
    text: String,
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
    let all = same_in_layers(turns).into_iter().chain(same_in_layers(totals));
    all.map(|finding| told(map, &finding)).collect()
}

/// Equal ones of several grids are one.
fn same_in_layers(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        let says = |one: &Finding| (one.head.clone(), one.parts.clone(), one.is_proven);
        match merged.iter_mut().find(|one| says(one) == says(&finding)) {
            Some(one) => one.layers.extend(finding.layers),
            None => merged.push(finding),
        }
    }
    merged
}

/// `TigerBeetle overtakes Redis between 4 and 16 clients (batch 1; 2 accounts, fsync)`, and of several parts
/// `TigerBeetle overtakes Redis between 4 and 16 clients (batch 1), 1 and 4 clients (batch 10): 2 accounts, fsync`.
fn told(map: &Map, finding: &Finding) -> String {
    let layers = match &finding.layers[..] {
        all if all.len() == map.layers.len() && all.len() > 1 => all_of(all.len(), "grid"),
        some => some.iter().map(|&place| map.layers[place].label.as_str()).collect::<Vec<_>>().join("; "),
    };
    let doubt = if finding.is_proven { "" } else { " ?" };
    let head = &finding.head;
    match &finding.parts[..] {
        [Part { text, lines }] if lines.is_empty() => format!("{head}{text} ({layers}){doubt}"),
        [Part { text, lines }] => format!("{head}{text} ({}; {layers}){doubt}", listed(lines)),
        parts => {
            let parts = parts.iter().map(|Part { text, lines }| format!("{text} ({})", listed(lines)));
            format!("{head}{}: {layers}{doubt}", parts.collect::<Vec<_>>().join(", "))
        }
    }
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

/// All turns of a pair in a grid: those of several lines that say the same are one, and then those that begin alike.
fn found_turns(map: &Map, layer: &Layer, pair: [usize; 2], place: usize) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for axis in [Axis::Clients, Axis::InFlight, Axis::Batch] {
        for line in axis.lines(map, layer) {
            for Turn { head, text, is_proven } in turns(map, &line, pair) {
                let lines = vec![line.fixed(map)];
                let alike = findings.iter_mut().find(|one| (&one.head, one.is_proven) == (&head, is_proven));
                let part = alike.map(|one| &mut one.parts);
                match part {
                    Some(parts) => match parts.iter_mut().find(|part| part.text == text) {
                        Some(part) => part.lines.extend(lines),
                        None => parts.push(Part { text, lines }),
                    },
                    None => findings.push(Finding {
                        head,
                        parts: vec![Part { text, lines }],
                        layers: vec![place],
                        is_proven,
                    }),
                }
            }
        }
    }
    findings
}

/// Each turn along a line.
fn turns(map: &Map, line: &Line, pair: [usize; 2]) -> Vec<Turn> {
    let cells = line.cells.iter().filter_map(|cell| Some((line.axis.value(cell), order(cell, pair)?)));
    let cells: Vec<(u32, Order)> = cells.collect();
    let names = |ahead: Order| {
        let [first, second] = pair.map(|one| map.name(one));
        if ahead.is_first_ahead { (first, second) } else { (second, first) }
    };
    let mut turns = Vec::new();
    let mut turn = |head, text, is_proven| turns.push(Turn { head, text, is_proven });
    let mut before: Option<(usize, Order)> = None;
    for (place, &(value, order)) in cells.iter().enumerate().filter(|(_, (_, order))| order.counts) {
        let (ahead, behind) = names(order);
        let ties = |from: usize| ties(line.axis, cells[from].0, cells[place - 1].0);
        match before {
            Some((last, was)) if was.is_first_ahead != order.is_first_ahead => {
                let is_proven = was.is_proven && order.is_proven;
                if place - last == 1 {
                    let head = format!("{ahead} overtakes {behind} between {}", plural(line.axis));
                    turn(head, between(line.axis, cells[last].0, value), is_proven);
                } else {
                    let text = format!("{}, after {}", at(line.axis, value), ties(last + 1));
                    turn(format!("{ahead} overtakes {behind} at the latest by "), text, is_proven);
                }
            }
            None if place > 0 && cells[place - 1].1.is_first_ahead != order.is_first_ahead => {
                let text = format!("{}, after {}", at(line.axis, value), ties(0));
                turn(format!("{ahead} is ahead of {behind} at the latest by "), text, order.is_proven);
            }
            _ => {}
        }
        before = Some((place, order));
    }
    if let (Some((last, was)), Some(&(end, order))) = (before, cells.last())
        && !order.counts
        && order.is_first_ahead != was.is_first_ahead
    {
        let (ahead, behind) = names(was);
        let ties = ties(line.axis, cells[last + 1].0, end);
        let text = format!("{}, before {ties}", at(line.axis, cells[last].0));
        turn(format!("{ahead} is ahead of {behind} up to "), text, was.is_proven);
    }
    turns
}

/// What stands before a pair of values.
fn plural(axis: Axis) -> &'static str {
    if axis == Axis::Batch { "batches of " } else { "" }
}

fn between(axis: Axis, from: u32, to: u32) -> String {
    let (from, to) = (grouped(from), grouped(to));
    match axis {
        Axis::Clients => format!("{from} and {to} clients"),
        Axis::InFlight => format!("{from} and {to} in flight"),
        Axis::Batch => format!("{from} and {to}"),
    }
}

/// Cells where no difference is shown.
fn ties(axis: Axis, from: u32, to: u32) -> String {
    if from == to {
        return format!("a tie at {}", at(axis, from));
    }
    format!("ties from {} to {}", grouped(from), at(axis, to))
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
    let parts = vec![Part { text, lines: Vec::new() }];
    Some(Finding { head: String::new(), parts, layers: vec![place], is_proven })
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
