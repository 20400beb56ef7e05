//! Cells in a row: along clients, along ops in flight, along batches.

use super::{Cell, Concurrency, Layer, Map};

/// The best of a line is reached where this much of it is.
pub const KNEE_SHARE: f64 = 0.9;

/// What changes along a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// Threads, of one batch and as many ops in flight of each.
    Clients,
    /// Ops in flight of each client, of one batch and as many clients.
    InFlight,
    /// Transfers an op, at one concurrency.
    Batch,
}

/// Measured cells of a layer that differ in one thing, rising; two at least.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Which thing.
    pub axis: Axis,
    /// Its cells.
    pub cells: Vec<&'a Cell>,
}

impl Axis {
    /// A cell's value of it.
    #[must_use]
    pub fn value(self, cell: &Cell) -> u32 {
        match self {
            Self::Clients => cell.at.clients,
            Self::InFlight => cell.at.in_flight,
            Self::Batch => cell.batch,
        }
    }

    /// Lines of a layer along it.
    #[must_use]
    pub fn lines<'a>(self, map: &Map, layer: &'a Layer) -> Vec<Line<'a>> {
        let rest = |cell: &Cell| {
            let Concurrency { clients, in_flight } = cell.at;
            match self {
                Self::Clients => (cell.batch, in_flight),
                Self::InFlight => (cell.batch, clients),
                // As the columns are.
                Self::Batch => {
                    let column = map.columns.iter().position(|&at| at == cell.at);
                    (u32::try_from(column.unwrap_or_default()).unwrap_or_default(), 0)
                }
            }
        };
        let mut cells: Vec<&Cell> = layer.cells.iter().filter(|cell| !cell.standings.is_empty()).collect();
        cells.sort_by_key(|cell| (rest(cell), self.value(cell)));
        let lines = cells.chunk_by(|one, next| rest(one) == rest(next)).filter(|cells| cells.len() > 1);
        lines.map(|cells| Line { axis: self, cells: cells.to_vec() }).collect()
    }
}

impl Line<'_> {
    /// What its cells have in common: `batch 10`, `16 clients`; the number in flight where there are several.
    #[must_use]
    pub fn fixed(&self, map: &Map) -> String {
        let cell = self.cells[0];
        let Concurrency { clients, in_flight } = cell.at;
        match self.axis {
            Axis::Clients if map.columns.iter().any(|at| at.in_flight > 1) => {
                format!("batch {}, {in_flight} in flight", grouped(cell.batch))
            }
            Axis::Clients => format!("batch {}", grouped(cell.batch)),
            Axis::InFlight => {
                format!("batch {}, {}", grouped(cell.batch), Concurrency { clients, in_flight: 1 }.label())
            }
            Axis::Batch => cell.at.label(),
        }
    }
}

pub(super) fn grouped(value: u32) -> String {
    crate::report::units::grouped(value.into())
}

/// Where a line bends: the first value that reaches 90 % of its best. `None` of fewer than two.
#[must_use]
pub fn knee(values: &[f64]) -> Option<usize> {
    let best = values.iter().copied().max_by(f64::total_cmp).filter(|_| values.len() > 1)?;
    values.iter().position(|&value| value >= KNEE_SHARE * best)
}
