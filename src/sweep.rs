//! Which cells of a sweep fit its budget, the telling ones first; pure.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    ledger::{Durability, System},
    plan::{Case, Generator, Style, Suite},
    runner::Load,
};

/// What systems are compared at: a case without its system, and without PostgreSQL's style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell(Case);

impl Cell {
    /// The cell of a case.
    #[must_use]
    pub fn of(case: &Case) -> Self {
        Self(Case { system: System::Machine, style: Style::OneCall, generator: Generator::Own, ..*case })
    }
}

impl Cell {
    /// Transfers in one batch.
    #[must_use]
    pub fn batch(&self) -> u32 {
        self.0.batch
    }

    /// In words, but for its batch.
    #[must_use]
    pub fn without_batch(&self) -> String {
        Case { batch: 1, ..self.0 }.to_string()
    }
}

/// The cells of a sweep, chosen and left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// What is measured, in the order of `cases`.
    pub cases: Vec<Case>,
    /// Cells that did not fit, the most telling first.
    pub left_out: Vec<Cell>,
    /// How long the chosen ones will take, about.
    pub estimate: Duration,
}

/// Takes cells while the budget lasts: first those at the ends of the lists of batches and clients, then those in the
/// middle, then between; the first delay and durability before the others. Floors are always taken.
#[must_use]
pub fn select(cases: &[Case], rounds: u32, load: Load, budget: Duration) -> Selection {
    let (floors, cells): (Vec<Case>, Vec<Case>) = cases.iter().partition(|case| case.suite == Suite::Floor);
    let mut by_cell: BTreeMap<Cell, Vec<Case>> = BTreeMap::new();
    for case in &cells {
        by_cell.entry(Cell::of(case)).or_default().push(*case);
    }
    let depths = Depths::of(&cells);
    let mut order: Vec<Cell> = by_cell.keys().copied().collect();
    order.sort_by_key(|cell| (depths.of_cell(&cell.0), layer(&cell.0), *cell));
    let cost = |cases: &[Case]| cases.iter().map(|case| estimate(case, load)).sum::<Duration>() * rounds;
    let mut selection = Selection { estimate: cost(&floors), ..Selection::default() };
    let mut chosen = Vec::new();
    for cell in order {
        let with = selection.estimate + cost(&by_cell[&cell]);
        if with <= budget {
            selection.estimate = with;
            chosen.push(cell);
        } else {
            selection.left_out.push(cell);
        }
    }
    let is_chosen = |case: &&Case| case.suite == Suite::Floor || chosen.contains(&Cell::of(case));
    selection.cases = cases.iter().filter(is_chosen).copied().collect();
    selection
}

/// How long one sample takes with its server's start and its proof, about, as seen on 2 cores.
fn estimate(case: &Case, load: Load) -> Duration {
    let start_ms = match case.system {
        System::Tigerbeetle => 3_200,
        System::Postgres => 900,
        System::Redis => 350,
        System::Machine => 450,
        System::Memory => 50,
    };
    // Each client ends the batch that it has begun, at a round trip and some microseconds a transfer.
    let last = Duration::from_micros(case.transfers_in_flight() * 6 + u64::from(case.rtt_us));
    let measured = Duration::from_nanos(load.warmup_ns + load.budget.time_ns.unwrap_or(load.warmup_ns));
    let proof = measured / 2;
    // Accounts are made and funded, and clients connect, before the clock.
    let set_up = Duration::from_micros(u64::from(case.accounts) * 12 + u64::from(case.clients) * 2_500);
    let preload = Duration::from_micros(case.preload * 8);
    Duration::from_millis(start_ms) + 2 * last + measured + proof + set_up + preload
}

/// How early a value of each list is wanted.
struct Depths {
    batches: Vec<u32>,
    clients: Vec<u32>,
    in_flight: Vec<u32>,
    accounts: Vec<u32>,
    skews: Vec<u32>,
    rates: Vec<u32>,
    /// Later ones of these make a map of their own, so that the first is drawn before.
    layers: Vec<(u32, Durability, u64)>,
}

impl Depths {
    fn of(cases: &[Case]) -> Self {
        fn distinct<T: Ord + Copy>(cases: &[Case], value: impl Fn(&Case) -> T) -> Vec<T> {
            let mut values: Vec<T> = cases.iter().map(value).collect();
            values.sort_unstable();
            values.dedup();
            values
        }
        Self {
            batches: distinct(cases, |case| case.batch),
            clients: distinct(cases, |case| case.clients),
            in_flight: distinct(cases, |case| case.in_flight),
            accounts: distinct(cases, |case| case.accounts),
            skews: distinct(cases, |case| case.skew_pct),
            rates: distinct(cases, |case| case.rate_per_s),
            layers: distinct(cases, layer),
        }
    }

    /// The sum, then the greatest: the middle of a map comes before a fourth of its edge.
    fn of_cell(&self, case: &Case) -> (u32, u32) {
        let lists = [
            (&self.batches, case.batch),
            (&self.clients, case.clients),
            (&self.in_flight, case.in_flight),
            (&self.accounts, case.accounts),
            (&self.skews, case.skew_pct),
            (&self.rates, case.rate_per_s),
        ];
        let depths = lists.map(|(values, value)| depth(place(values, &value), values.len()));
        let layer = u32::from(place(&self.layers, &layer(case)) > 0);
        (depths.iter().sum::<u32>() + layer, depths.into_iter().chain([layer]).max().unwrap_or_default())
    }
}

fn layer(case: &Case) -> (u32, Durability, u64) {
    (case.rtt_us, case.durability, case.preload)
}

fn place<T: PartialEq>(values: &[T], value: &T) -> usize {
    values.iter().position(|one| one == value).expect("a value of the list")
}

/// How often a list of `len` is halved until `index` is met: 0 for its ends, 1 for its middle, and so on.
fn depth(index: usize, len: usize) -> u32 {
    let (mut low, mut high, mut depth) = (0, len - 1, 0);
    while index != low && index != high {
        depth += 1;
        let middle = low.midpoint(high);
        match index.cmp(&middle) {
            std::cmp::Ordering::Less => high = middle,
            std::cmp::Ordering::Greater => low = middle,
            std::cmp::Ordering::Equal => break,
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::Benchmark, timer::Budget};

    const LOAD: Load =
        Load { warmup_ns: 0, budget: Budget { time_ns: Some(1), ops: None }, interval_ns: None };

    fn cells(batches: &[u32], clients: &[u32], rtts_us: &[u32]) -> Vec<Case> {
        let mut cases = Vec::new();
        for &rtt_us in rtts_us {
            for &batch in batches {
                for &clients in clients {
                    for system in [System::Redis, System::Postgres] {
                        let plainest = Case::plainest(Suite::Sweep, Benchmark::Transfers, system);
                        cases.push(Case { clients, batch, rtt_us, ..plainest });
                    }
                }
            }
        }
        cases
    }

    fn sizes(selection: &Selection) -> Vec<(u32, u32, u32)> {
        let mut sizes: Vec<_> =
            selection.cases.iter().map(|case| (case.rtt_us, case.batch, case.clients)).collect();
        sizes.dedup();
        sizes
    }

    #[test]
    fn the_ends_come_first_then_the_middle() {
        assert_eq!((0..5).map(|index| depth(index, 5)).collect::<Vec<_>>(), [0, 2, 1, 2, 0]);
        assert_eq!((0..4).map(|index| depth(index, 4)).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert_eq!((depth(0, 1), depth(0, 2), depth(1, 2)), (0, 0, 0));
    }

    #[test]
    fn what_fits_is_taken_with_all_its_systems_and_the_rest_is_named() {
        let cases = cells(&[1, 10, 100], &[1, 2, 4], &[0, 1_000]);
        let whole = select(&cases, 1, LOAD, Duration::MAX);
        assert_eq!((whole.cases.clone(), whole.left_out.len()), (cases.clone(), 0));
        let four_cells = cases[..2].iter().map(|case| estimate(case, LOAD)).sum::<Duration>() * 4;
        let some = select(&cases, 1, LOAD, four_cells + Duration::from_millis(100));
        assert_eq!(sizes(&some), [(0, 1, 1), (0, 1, 4), (0, 100, 1), (0, 100, 4)]);
        assert_eq!(some.cases.len(), 8);
        assert_eq!(some.left_out.len(), 18 - 4);
        let next = some.left_out[0].0;
        assert_eq!((next.rtt_us, next.batch, next.clients), (0, 10, 1), "the middle of an edge");
        assert!(some.estimate <= four_cells + Duration::from_millis(100));
        let grid = cells(&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5], &[0]);
        let nine = grid[..2].iter().map(|case| estimate(case, LOAD)).sum::<Duration>() * 9;
        let nine = sizes(&select(&grid, 1, LOAD, nine + Duration::from_millis(200)));
        let ends_and_middles: Vec<_> =
            [1, 3, 5].iter().flat_map(|&batch| [1, 3, 5].map(|clients| (0, batch, clients))).collect();
        assert_eq!(nine, ends_and_middles);
        assert_eq!(select(&cases, 4, LOAD, four_cells + Duration::from_millis(100)).cases.len(), 2);
    }

    #[test]
    fn styles_and_systems_share_a_cell_and_floors_are_always_taken() {
        let mut cases = cells(&[1], &[1], &[0]);
        cases.push(Case { style: Style::Interactive, ..cases[1] });
        cases.push(Case::plainest(Suite::Floor, Benchmark::Loopback, System::Machine));
        let none = select(&cases, 1, LOAD, Duration::ZERO);
        assert_eq!(none.cases.iter().map(|case| case.suite).collect::<Vec<_>>(), [Suite::Floor]);
        assert_eq!(none.left_out, [Cell::of(&cases[0])]);
    }
}
