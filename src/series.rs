//! What happens inside a sample: its ops by intervals of time. Knows nothing of servers or rows.
//!
//! Each client counts by itself, and adds what it has to all others' when an op of it ends in another interval than the one
//! before: once an interval it waits for a lock and adds up some thousand classes, 20 us or so.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{latencies::Classes, stats, timer::Ended};

/// The intervals of a sample, of all its clients.
#[derive(Debug)]
pub struct Series {
    interval_ns: u64,
    /// When the first client began.
    origin_ns: OnceLock<u64>,
    intervals: Mutex<Vec<Classes>>,
}

/// One interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Ops that ended in it.
    pub ops: u64,
    /// Their latencies, right to [`CLASSES_ERROR_PERMILLE`](crate::latencies::CLASSES_ERROR_PERMILLE).
    pub latencies: stats::Summary,
}

impl Series {
    /// Intervals of this length, more than 0.
    #[must_use]
    pub fn new(interval_ns: u64) -> Self {
        Self { interval_ns, origin_ns: OnceLock::new(), intervals: Mutex::default() }
    }

    /// A client begins. `now_ns`: the moment, of the clock that all share.
    #[must_use]
    pub fn client(&self, now_ns: u64) -> Recorder<'_> {
        let origin_ns = *self.origin_ns.get_or_init(|| now_ns);
        Recorder { series: self, origin_ns, index: 0, classes: Classes::new() }
    }

    /// When the first client began.
    #[must_use]
    pub fn began_ns(&self) -> Option<u64> {
        self.origin_ns.get().copied()
    }

    /// What all clients have counted, from the first interval to the last in which an op ended.
    #[must_use]
    pub fn into_intervals(self) -> Vec<Interval> {
        let all = self.intervals.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|one| Interval { ops: one.len(), latencies: one.summary() }).collect()
    }

    fn add(&self, index: usize, classes: &Classes) {
        let mut intervals = self.intervals.lock().unwrap_or_else(PoisonError::into_inner);
        if intervals.len() <= index {
            intervals.resize_with(index + 1, Classes::new);
        }
        intervals[index].add(classes);
    }
}

/// One client's count of the interval that it is in.
#[derive(Debug)]
pub struct Recorder<'a> {
    series: &'a Series,
    origin_ns: u64,
    index: usize,
    classes: Classes,
}

impl Recorder<'_> {
    /// Counts an op in the interval in which it ended.
    #[inline]
    pub fn keep(&mut self, ended: Ended) {
        let index = ended.at_ns.saturating_sub(self.origin_ns) / self.series.interval_ns;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if index != self.index {
            self.pass_on();
            self.index = index;
        }
        self.classes.count(ended.latency_ns);
    }

    fn pass_on(&mut self) {
        if !self.classes.is_empty() {
            self.series.add(self.index, &self.classes);
            self.classes.clear();
        }
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        self.pass_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(at_ns: u64, latency_ns: u64) -> Ended {
        Ended { at_ns, latency_ns, service_ns: latency_ns }
    }

    #[test]
    fn ops_are_counted_where_they_ended_whoever_did_them() {
        let series = Series::new(100);
        let mut first = series.client(1_000);
        let mut second = series.client(1_007);
        for (at_ns, latency_ns) in [(1_099, 5), (1_100, 6), (1_350, 7)] {
            first.keep(ended(at_ns, latency_ns));
        }
        for (at_ns, latency_ns) in [(1_098, 1), (1_099, 3), (1_399, 9)] {
            second.keep(ended(at_ns, latency_ns));
        }
        drop((first, second));
        let found: Vec<_> = series
            .into_intervals()
            .iter()
            .map(|one| (one.ops, one.latencies.min_ns, one.latencies.max_ns))
            .collect();
        assert_eq!(
            found,
            [(3, Some(1), Some(5)), (1, Some(6), Some(6)), (0, None, None), (2, Some(7), Some(9))]
        );
    }

    #[test]
    fn a_client_without_an_op_adds_nothing() {
        let series = Series::new(100);
        drop(series.client(5));
        assert_eq!(series.into_intervals(), []);
    }
}
