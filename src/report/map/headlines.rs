//! What the map says in three sentences: who is the fastest how often, where `TigerBeetle` loses, and where it leads most.

use super::{Cell, Layer, Lead, Map, Standing, crossings::and, distinct, lead_in_words, line::grouped, than};
use crate::stats::{Ratio, Verdict};

const OURS: &str = "tigerbeetle";

pub(super) fn sentences(map: &Map) -> Vec<String> {
    [winners(map), losses(map), largest_lead(map)].into_iter().flatten().collect()
}

/// `TigerBeetle is the fastest in 12 of 18 cells, Redis in 3; in 3 no difference between the first is shown.`
fn winners(map: &Map) -> Option<String> {
    let cells: Vec<&Cell> =
        map.cells().map(|(_, cell)| cell).filter(|cell| cell.standings.len() > 1).collect();
    let count = |lead: Lead| cells.iter().filter(|cell| cell.lead == lead).count();
    let (shown, ties, few) = (count(Lead::Shown), count(Lead::Tie), count(Lead::TooFewRounds));
    let counted = if shown == 0 && few > 0 { Lead::TooFewRounds } else { Lead::Shown };
    let firsts: Vec<usize> = cells
        .iter()
        .filter(|cell| cell.lead == counted)
        .filter_map(|cell| Some(cell.fastest()?.contender))
        .collect();
    let wins = |one: usize| firsts.iter().filter(|&&first| first == one).count();
    let mut order: Vec<usize> = distinct(firsts.iter().copied());
    order.sort_by_key(|&one| std::cmp::Reverse(wins(one)));
    let of = format!("of {} cells", cells.len());
    let (verb, mut open) = match counted {
        Lead::TooFewRounds => {
            ("has the best median", vec!["fewer rounds than can tell it from chance".into()])
        }
        _ if few > 0 => ("is the fastest", vec![format!("in {few} too few rounds were measured to tell")]),
        _ => ("is the fastest", Vec::new()),
    };
    if ties > 0 {
        open.insert(0, format!("in {ties} no difference between the first is shown"));
    }
    let open = open.iter().map(|open| format!("; {open}")).collect::<Vec<_>>().concat();
    let Some((&most, others)) = order.split_first() else {
        return (ties > 0).then(|| format!("In none {of} anybody is shown to be the fastest."));
    };
    let others = others.iter().map(|&one| format!(", {} in {}", map.name(one), wins(one)));
    let others = others.collect::<Vec<_>>().concat();
    Some(format!("{} {verb} in {} {of}{others}{open}.", map.name(most), wins(most)))
}

/// Cells where `TigerBeetle` was measured, with its figures.
fn ours(map: &Map) -> impl Iterator<Item = (&Layer, &Cell, &Standing)> {
    let is_ours = |standing: &&Standing| map.contenders[standing.contender].system == OURS;
    map.cells()
        .filter(|(_, cell)| cell.standings.len() > 1)
        .filter_map(move |(layer, cell)| Some((layer, cell, cell.standings.iter().find(is_ours)?)))
}

/// `TigerBeetle loses in 6 of 18 cells, all with batches of 1 and 10; most at ...: 4.20x slower than Redis (3.90-4.60).`
fn losses(map: &Map) -> Option<String> {
    let all = ours(map).count();
    let lost: Vec<(&Layer, &Cell, Ratio)> = ours(map)
        .filter_map(|(layer, cell, standing)| Some((layer, cell, standing.to_fastest?)))
        .filter(|(.., ratio)| ratio.verdict != Verdict::NoDifferenceShown)
        .collect();
    let Some((layer, cell, ratio)) = lost.iter().max_by(|a, b| a.2.value.total_cmp(&b.2.value)) else {
        return (all > 0)
            .then(|| format!("In none of {all} cells TigerBeetle is shown to be slower than another."));
    };
    let of = format!("in {} of {all} cells", lost.len());
    let fastest = map.name(cell.fastest()?.contender);
    let told = than(ratio, fastest);
    let most = if lost.len() > 1 { format!("{}; most", batches(map, &lost)) } else { ",".into() };
    Some(format!("TigerBeetle loses {of}{most} {}: {told}.", place(layer, cell)))
}

/// Which batches they are of, unless of all.
fn batches(map: &Map, lost: &[(&Layer, &Cell, Ratio)]) -> String {
    let batches = distinct(lost.iter().map(|(_, cell, _)| cell.batch));
    if batches.len() == map.batches.len() {
        return String::new();
    }
    let batches: Vec<String> = batches.into_iter().map(grouped).collect();
    let plural = if batches.len() == 1 { "a batch" } else { "batches" };
    format!(", all with {plural} of {}", and(&batches.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// `Its largest lead: 11.6x faster than PostgreSQL at batch 8,189, 16 clients (10,000 accounts, fsync).` Of `TigerBeetle`;
/// where that never leads, of whoever does.
fn largest_lead(map: &Map) -> Option<String> {
    let lead = |(layer, cell): (&'_ Layer, &'_ Cell)| -> Option<(String, usize, f64)> {
        let is_shown = matches!(cell.lead, Lead::Shown | Lead::TooFewRounds);
        let (first, second) = (cell.fastest().filter(|_| is_shown)?, cell.second()?);
        let ratio = second.to_fastest?;
        let told = lead_in_words(&ratio, map.name(second.contender));
        Some((format!("{told}, {}", place(layer, cell)), first.contender, ratio.value))
    };
    let leads: Vec<_> = map.cells().filter_map(lead).collect();
    let largest = |of: &dyn Fn(usize) -> bool| {
        leads.iter().filter(|(_, first, _)| of(*first)).max_by(|a, b| a.2.total_cmp(&b.2))
    };
    let ours = largest(&|first| map.contenders[first].system == OURS);
    let (told, first, _) = ours.or_else(|| largest(&|_| true))?;
    Some(format!("The largest lead of {} over the next: {told}.", map.name(*first)))
}

/// `at batch 1, 16 clients (2 accounts, fsync)`.
fn place(layer: &Layer, cell: &Cell) -> String {
    format!("at batch {}, {} ({})", grouped(cell.batch), cell.at.label(), layer.label)
}
