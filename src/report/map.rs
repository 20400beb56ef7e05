//! Which system is the fastest where: the cells of a sweep as grids of batch by concurrency, one for each contention,
//! delay and durability. Pure: cases in, a map out.
//!
//! Nothing is invented: a cell that was not measured says so, and a lead that chance explains is a tie.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    analysis::{Case, Failed, Series},
    case::{CaseKey, is_baseline},
    words,
};
use crate::{
    plan::Suite,
    stats::{self, Interval, Ratio, Verdict},
};

mod contender;
mod crossings;
mod headlines;
mod layer;
mod line;
mod load;
pub mod page;

pub use contender::Contender;
pub use layer::LayerKey;
pub use line::{Axis, KNEE_SHARE, Line, knee};
pub use load::{Load, LoadPoint};

/// The map of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    /// What it says first, where `TigerBeetle` loses included.
    pub headlines: Vec<String>,
    /// Where the order of two turns, and who is always ahead.
    pub sentences: Vec<String>,
    /// Who is compared.
    pub contenders: Vec<Contender>,
    /// Rows of each grid, rising.
    pub batches: Vec<u32>,
    /// Columns of each grid, rising.
    pub columns: Vec<Concurrency>,
    /// The grids, the plain ones first.
    pub layers: Vec<Layer>,
    /// What was measured at a rate.
    pub loads: Vec<Load>,
}

/// Ops at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[expect(missing_docs, reason = "the columns of the rows")]
pub struct Concurrency {
    pub clients: u32,
    pub in_flight: u32,
}

/// One grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// What its cells have in common.
    #[serde(flatten)]
    pub key: LayerKey,
    /// And in words.
    pub label: String,
    /// Row by row, a cell for each batch and column of the map.
    pub cells: Vec<Cell>,
}

/// One batch at one concurrency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Transfers an op.
    pub batch: u32,
    /// Ops at once.
    #[serde(flatten)]
    pub at: Concurrency,
    /// How sure it is who is the fastest.
    pub lead: Lead,
    /// How many stand first: more than one in a tie; 0 where nothing was measured.
    pub leaders: usize,
    /// Who was measured: those who stand first, then the others, the fastest first.
    pub standings: Vec<Standing>,
    /// Whose samples all failed.
    pub failed: Vec<usize>,
    /// Who was measured elsewhere in this grid, but not here.
    pub missing: Vec<usize>,
    /// Each pair of `standings`, in the order of contenders.
    #[serde(skip)]
    pairs: Vec<Pair>,
}

/// Who is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lead {
    /// Nobody was measured here.
    NotMeasured,
    /// There is nobody to compare with.
    Alone,
    /// The first is faster than each other, and chance does not explain it.
    Shown,
    /// Between the first and at least one other no difference is shown.
    Tie,
    /// So few rounds could not show a difference however large.
    TooFewRounds,
}

/// One contender's figures in a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Position in [`Map::contenders`].
    pub contender: usize,
    /// Median over the rounds.
    pub transfers_per_s: f64,
    /// Its 95 % interval; `None` below six rounds.
    pub transfers_per_s_interval: Option<Interval>,
    /// Verified samples.
    pub rounds: usize,
    /// How many there would be, had none failed.
    pub rounds_planned: usize,
    /// Of one op, medians over the rounds.
    pub latency_ns_p50: Option<f64>,
    /// The same.
    pub latency_ns_p99: Option<f64>,
    /// Its time over the fastest's; `None` of the fastest.
    pub to_fastest: Option<Ratio>,
}

/// How two of a cell compare.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    first: usize,
    second: usize,
    /// The first's time over the second's.
    ratio: Ratio,
}

impl Concurrency {
    fn of(key: &CaseKey) -> Self {
        Self { clients: key.clients, in_flight: key.in_flight }
    }

    /// Ops in flight of all clients.
    #[must_use]
    pub fn total(self) -> u64 {
        u64::from(self.clients) * u64::from(self.in_flight)
    }

    /// `16 clients`, `4 clients x 64`.
    #[must_use]
    pub fn label(self) -> String {
        let clients = if self.clients == 1 { "1 client".into() } else { format!("{} clients", self.clients) };
        if self.in_flight > 1 { format!("{clients} x {}", self.in_flight) } else { clients }
    }
}

impl Map {
    /// The cell of a layer.
    #[must_use]
    pub fn cell<'a>(&self, layer: &'a Layer, row: usize, column: usize) -> &'a Cell {
        &layer.cells[row * self.columns.len() + column]
    }

    /// All cells, with their layers.
    pub fn cells(&self) -> impl Iterator<Item = (&Layer, &Cell)> {
        self.layers.iter().flat_map(|layer| layer.cells.iter().map(move |cell| (layer, cell)))
    }

    /// A contender's name in a sentence.
    #[must_use]
    pub fn name(&self, contender: usize) -> &str {
        &self.contenders[contender].name
    }
}

impl Cell {
    /// Those who stand first.
    #[must_use]
    pub fn first(&self) -> &[Standing] {
        &self.standings[..self.leaders]
    }

    /// The fastest by its median.
    #[must_use]
    pub fn fastest(&self) -> Option<&Standing> {
        self.standings.first()
    }

    /// By how much the fastest leads: over the next one.
    #[must_use]
    pub fn second(&self) -> Option<&Standing> {
        self.standings.get(1)
    }

    /// A contender's figures.
    #[must_use]
    pub fn of(&self, contender: usize) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.contender == contender)
    }

    fn pair(&self, first: usize, second: usize) -> Option<&Pair> {
        self.pairs.iter().find(|pair| (pair.first, pair.second) == (first, second))
    }
}

/// Whether a case is shown by the map.
#[must_use]
pub fn holds(key: &CaseKey) -> bool {
    key.suite == Suite::Sweep.name()
}

fn is_at_rate(key: &CaseKey) -> bool {
    key.rate_per_s.is_some()
}

/// The map of the cases that are of a sweep; `None` where none is.
#[must_use]
pub fn of(cases: &[Case], failed: &[Failed]) -> Option<Map> {
    let cases: Vec<&Case> = cases.iter().filter(|case| holds(&case.key)).collect();
    let failed: Vec<&Failed> = failed.iter().filter(|row| holds(&row.key)).collect();
    if cases.is_empty() {
        return None;
    }
    let contenders = contender::of(&cases, &failed);
    let loads = load::of(&cases, &contenders);
    let in_grid = |key: &CaseKey| !is_at_rate(key);
    let cases: Vec<&Case> = cases.into_iter().filter(|case| in_grid(&case.key)).collect();
    let failed: Vec<&Failed> = failed.into_iter().filter(|row| in_grid(&row.key)).collect();
    let keys = || cases.iter().map(|case| &case.key).chain(failed.iter().map(|row| &row.key));
    let batches = distinct(keys().map(|key| key.batch));
    let mut columns = distinct(keys().map(Concurrency::of));
    columns.sort_by_key(|at| (at.total(), *at));
    let mut map = Map {
        headlines: Vec::new(),
        sentences: Vec::new(),
        contenders,
        batches,
        columns,
        layers: Vec::new(),
        loads,
    };
    map.layers = layers(&map, &cases, &failed);
    map.sentences = crossings::sentences(&map);
    map.headlines = headlines::sentences(&map);
    Some(map)
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// What was measured at one place of a grid, and what failed there.
#[derive(Default)]
struct Found<'a> {
    series: Vec<(usize, &'a Series)>,
    failed: Vec<usize>,
}

fn layers(map: &Map, cases: &[&Case], failed: &[&Failed]) -> Vec<Layer> {
    let mut grouped: BTreeMap<LayerKey, BTreeMap<(u32, Concurrency), Found>> = BTreeMap::new();
    let place = |key: &CaseKey| (key.batch, Concurrency::of(key));
    for case in cases {
        let found = grouped.entry(LayerKey::of(&case.key)).or_default().entry(place(&case.key)).or_default();
        let rivals = case.series.iter().filter(|series| !is_baseline(&series.system));
        found.series.extend(rivals.map(|series| (contender::place(&map.contenders, series), series)));
    }
    for row in failed {
        let found = grouped.entry(LayerKey::of(&row.key)).or_default().entry(place(&row.key)).or_default();
        found.failed.extend(contender::place_of_failed(&map.contenders, row));
    }
    let layer = |(key, mut found): (LayerKey, BTreeMap<(u32, Concurrency), Found>)| {
        let there = found.values().flat_map(|found| {
            found.series.iter().map(|(contender, _)| *contender).chain(found.failed.clone())
        });
        let there = distinct(there);
        let mut cell = |batch: u32, at: Concurrency| {
            let found = found.remove(&(batch, at)).unwrap_or_default();
            cell(map, batch, at, &found, &there)
        };
        let places = map.batches.iter().flat_map(|&batch| map.columns.iter().map(move |&at| (batch, at)));
        let cells = places.map(|(batch, at)| cell(batch, at)).collect();
        Layer { label: key.label(), key, cells }
    };
    grouped.into_iter().map(layer).collect()
}

/// `there`: who was measured anywhere in this grid.
fn cell(map: &Map, batch: u32, at: Concurrency, found: &Found, there: &[usize]) -> Cell {
    let mut standings: Vec<Standing> =
        found.series.iter().map(|&(contender, series)| standing(contender, series, batch)).collect();
    let leads = |standing: &Standing| {
        standing.to_fastest.is_none_or(|ratio| ratio.verdict == Verdict::NoDifferenceShown)
    };
    // Among those who stand first, and among the others, the fastest first.
    standings.sort_by(|a, b| {
        let order =
            |standing: &Standing| (!leads(standing), standing.to_fastest.map_or(0.0, |ratio| ratio.value));
        order(a).partial_cmp(&order(b)).expect("ratios are numbers")
    });
    let leaders = standings.iter().filter(|standing| leads(standing)).count();
    let too_few = standings
        .iter()
        .filter_map(|standing| standing.to_fastest)
        .any(|ratio| ratio.verdict == Verdict::TooFewRounds);
    let lead = match (standings.len(), leaders) {
        (0, _) => Lead::NotMeasured,
        (1, _) => Lead::Alone,
        (_, 2..) => Lead::Tie,
        _ if too_few => Lead::TooFewRounds,
        _ => Lead::Shown,
    };
    let is_here = |contender: &usize| found.series.iter().any(|(one, _)| one == contender);
    let failed = distinct(found.failed.iter().copied().filter(|contender| !is_here(contender)));
    let is_missing = |contender: &usize| {
        !is_here(contender) && !failed.contains(contender) && map.contenders[*contender].could_do(batch)
    };
    let missing = there.iter().copied().filter(is_missing).collect();
    Cell { batch, at, lead, leaders, standings, missing, failed, pairs: pairs(&found.series) }
}

fn standing(contender: usize, series: &Series, batch: u32) -> Standing {
    let per_s = |ns_per_op: f64| f64::from(batch) * 1e9 / ns_per_op;
    Standing {
        contender,
        transfers_per_s: series.transfers_per_s.unwrap_or_else(|| per_s(series.ns_per_op)),
        transfers_per_s_interval: series
            .ns_per_op_interval
            .map(|ends| Interval { low: per_s(ends.high), high: per_s(ends.low) }),
        rounds: series.rounds.len(),
        rounds_planned: series.rounds_planned,
        latency_ns_p50: series.latency_ns.p50,
        latency_ns_p99: series.latency_ns.p99,
        to_fastest: series.to_fastest,
    }
}

/// Each two by their rounds.
fn pairs(series: &[(usize, &Series)]) -> Vec<Pair> {
    let of_rounds = |series: &Series| series.rounds.iter().map(|round| round.ns_per_op).collect::<Vec<_>>();
    let timed: Vec<(usize, Vec<f64>)> =
        series.iter().map(|(contender, series)| (*contender, of_rounds(series))).collect();
    let mut pairs = Vec::new();
    for (first, ones) in &timed {
        for (second, others) in timed.iter().filter(|(second, _)| second > first) {
            let ratio = stats::difference(ones, others);
            pairs.extend(ratio.map(|ratio| Pair { first: *first, second: *second, ratio }));
        }
    }
    pairs
}

/// `1.80x faster than Redis (1.62-2.03)`, of a ratio of the slower's time to the faster's.
fn lead_in_words(ratio: &Ratio, over: &str) -> String {
    than(&ratio.turned().unwrap_or(*ratio), over)
}

/// `1.80x slower than Redis (1.62-2.03)`.
fn than(ratio: &Ratio, over: &str) -> String {
    let told = words::ratio(ratio);
    match told.split_once(" (") {
        Some((times, interval)) => format!("{times} than {over} ({interval}"),
        None => match told.strip_suffix(" ?") {
            Some(times) => format!("{times} than {over} ?"),
            None => format!("{told} than {over}"),
        },
    }
}

#[cfg(test)]
mod tests;
