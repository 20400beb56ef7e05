//! Ops that were due at a rate: response times by offered load. Pure.

use serde::Serialize;

use super::{Case, Concurrency, Contender, LayerKey, contender, is_at_rate, is_baseline};

/// All rates of one batch, concurrency and layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Contention, delay, durability.
    #[serde(flatten)]
    pub key: LayerKey,
    /// `even` or `poisson`.
    pub arrivals: String,
    /// Transfers an op.
    pub batch: u32,
    /// Ops at once, at most.
    #[serde(flatten)]
    pub at: Concurrency,
    /// Each contender at each rate, by contender, then rising.
    pub points: Vec<LoadPoint>,
}

/// One contender at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadPoint {
    /// Position in [`Map::contenders`](super::Map::contenders).
    pub contender: usize,
    /// Ops that were due in a second.
    pub rate_per_s: u64,
    /// From the moment due; median over the rounds.
    pub latency_ns_p50: Option<f64>,
    /// The same.
    pub latency_ns_p99: Option<f64>,
    /// Verified samples.
    pub rounds: usize,
    /// In so many of them the system fell behind.
    pub saturated_rounds: usize,
    /// Ops that began late; median over the rounds.
    pub late_ops: Option<f64>,
    /// Ops that had not begun at the end; median over the rounds.
    pub backlog_ops: Option<f64>,
}

impl Load {
    /// `batch 1, 64 clients, 10,000 accounts, fsync, poisson arrivals`.
    #[must_use]
    pub fn label(&self) -> String {
        let batch = super::line::grouped(self.batch);
        format!("batch {batch}, {}, {}, {} arrivals", self.at.label(), self.key.label(), self.arrivals)
    }

    fn is_of(&self, case: &Case) -> bool {
        let key = &case.key;
        (&self.arrivals, self.batch, self.at) == (&key.arrivals, key.batch, Concurrency::of(key))
            && self.key == LayerKey::of(key)
    }
}

pub(super) fn of(cases: &[&Case], contenders: &[Contender]) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for case in cases.iter().filter(|case| is_at_rate(&case.key)) {
        let place = loads.iter().position(|load| load.is_of(case)).unwrap_or_else(|| {
            loads.push(Load {
                key: LayerKey::of(&case.key),
                arrivals: case.key.arrivals.clone(),
                batch: case.key.batch,
                at: Concurrency::of(&case.key),
                points: Vec::new(),
            });
            loads.len() - 1
        });
        loads[place].points.extend(points(case, contenders));
    }
    for load in &mut loads {
        load.points.sort_by_key(|point| (point.contender, point.rate_per_s));
    }
    loads.sort_by(|a, b| {
        a.key.cmp(&b.key).then_with(|| (a.batch, a.at.total()).cmp(&(b.batch, b.at.total())))
    });
    loads
}

fn points<'a>(case: &'a Case, contenders: &'a [Contender]) -> impl Iterator<Item = LoadPoint> + 'a {
    let rivals = case.series.iter().filter(|series| !is_baseline(&series.system));
    rivals.map(|series| LoadPoint {
        contender: contender::place(contenders, series),
        rate_per_s: case.key.rate_per_s.unwrap_or_default(),
        latency_ns_p50: series.latency_ns.p50,
        latency_ns_p99: series.latency_ns.p99,
        rounds: series.rounds.len(),
        saturated_rounds: series.open_loop.map_or(0, |open| open.saturated_rounds),
        late_ops: series.open_loop.and_then(|open| open.late_ops),
        backlog_ops: series.open_loop.and_then(|open| open.backlog_ops),
    })
}
