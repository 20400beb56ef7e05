//! Latencies as they are kept during a sample: whole as long as they fit, beyond that counted in classes.

use hdrhistogram::Histogram;

use crate::{
    stats,
    timer::{Budget, Span},
};

/// Whole latencies of all clients together: 256 MiB of 8 bytes each.
pub const WHOLE_MAX: u64 = 32 << 20;
/// Latencies that a client may keep whatever its warm-up foretells: one a microsecond is more
/// than any server here answers to one client. The pages of what stays unused are never touched.
const ROOM_NS: u64 = 1_000;
/// How many times its warm-up's pace a client may reach before its latencies are counted in classes.
const PACE_MARGIN: u64 = 4;
/// Significant decimal digits of a class: it is at most a thousandth of its value wide.
const DIGITS: u8 = 3;
/// By which a figure that was read off classes may be wrong.
pub const CLASSES_ERROR_PERMILLE: u64 = 1;
/// The longest latency that has a class, a day; what is longer counts as that.
const CLASS_MAX_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// The latencies of one client, or of several merged.
#[derive(Debug, Default)]
pub struct Latencies {
    /// As many as have room.
    whole: Vec<u64>,
    /// Those beyond: 300 kB at most, of which only what is used is touched.
    beyond: Option<Box<Classes>>,
}

/// Latencies of which only the number in each class is known.
#[derive(Clone, Debug)]
pub struct Classes {
    counts: Histogram<u64>,
    // These are exact.
    min_ns: u64,
    max_ns: u64,
}

impl Latencies {
    /// Room for so many whole ones, untouched.
    #[must_use]
    pub fn with_room(room: usize) -> Self {
        Self { whole: Vec::with_capacity(room), beyond: None }
    }

    /// Sets aside the room for one of `clients` before the clock starts, and touches as much of it as the pace of the
    /// warm-up foretells, so that no page fault falls into the sample.
    #[must_use]
    pub fn reserved(budget: Budget, warm_up: &Span, clients: usize) -> Self {
        let warm_up_ns = u128::from(warm_up.elapsed_ns());
        let foretold = |time_ns: u64| {
            let ops = u128::from(warm_up.ops) * u128::from(time_ns);
            u64::try_from(ops.checked_div(warm_up_ns).unwrap_or(0)).unwrap_or(u64::MAX)
        };
        let by_time = budget.time_ns.map(|time_ns| {
            let expected = foretold(time_ns);
            (expected.saturating_mul(PACE_MARGIN).max(time_ns / ROOM_NS), expected)
        });
        let ops = budget.ops.unwrap_or(u64::MAX).min(WHOLE_MAX / clients as u64);
        let (room, expected) =
            by_time.map_or((ops, ops), |(room, expected)| (room.min(ops), expected.min(ops)));
        let mut latencies = Self::with_room(usize::try_from(room).expect("below WHOLE_MAX"));
        latencies.whole.resize(usize::try_from(expected).expect("below WHOLE_MAX"), 1);
        latencies.whole.clear();
        latencies
    }

    /// Keeps one.
    #[inline]
    pub fn keep(&mut self, latency_ns: u64) {
        if self.whole.len() < self.whole.capacity() {
            self.whole.push(latency_ns);
        } else {
            self.count(latency_ns);
        }
    }

    /// The classes are made at the first that has no room: one allocation, of a thousand pages that are touched as they are used.
    #[cold]
    fn count(&mut self, latency_ns: u64) {
        self.beyond.get_or_insert_with(|| Box::new(Classes::new())).count(latency_ns);
    }

    /// How many were kept.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.whole.len() as u64 + self.beyond.as_ref().map_or(0, |classes| classes.counts.len())
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Those that are whole.
    #[must_use]
    pub fn whole(&self) -> &[u64] {
        &self.whole
    }

    /// Adds those of another client.
    pub fn append(&mut self, mut other: Self) {
        if self.whole.is_empty() {
            // Not copied, as one client's may be all there is room for.
            self.whole = std::mem::take(&mut other.whole);
        } else {
            self.whole.append(&mut other.whole);
        }
        match (&mut self.beyond, other.beyond) {
            (Some(own), Some(others)) => own.add(&others),
            (own @ None, others) => *own = others,
            (Some(_), None) => {}
        }
    }

    /// Their figures, and by how many thousandths those may be wrong: 0 where all are whole.
    #[must_use]
    pub fn summary(self) -> (stats::Summary, u64) {
        let Some(mut classes) = self.beyond else { return (stats::summarize(self.whole), 0) };
        self.whole.iter().for_each(|&latency_ns| classes.count(latency_ns));
        (classes.summary(), CLASSES_ERROR_PERMILLE)
    }
}

impl Default for Classes {
    fn default() -> Self {
        Self::new()
    }
}

impl Classes {
    /// Without any.
    #[must_use]
    pub fn new() -> Self {
        let counts = Histogram::new_with_bounds(1, CLASS_MAX_NS, DIGITS).expect("bounds that are right");
        Self { counts, min_ns: u64::MAX, max_ns: 0 }
    }

    /// One more.
    pub fn count(&mut self, latency_ns: u64) {
        self.counts.saturating_record(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Forgets all, and keeps its room.
    pub fn clear(&mut self) {
        self.counts.reset();
        (self.min_ns, self.max_ns) = (u64::MAX, 0);
    }

    /// Adds others'.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("bounds that are alike");
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The same figures as of whole latencies, blank for as few.
    #[must_use]
    pub fn summary(&self) -> stats::Summary {
        let count = self.counts.len();
        let percentile = |permille: u64| {
            let is_enough = count >= 1_000_u64.div_ceil(1_000 - permille);
            is_enough.then(|| self.rank((count * permille).div_ceil(1_000)).clamp(self.min_ns, self.max_ns))
        };
        stats::Summary {
            min_ns: (count > 0).then_some(self.min_ns),
            mean_ns: (count > 0).then(|| rounded(self.counts.mean())),
            stddev_ns: (count > 1).then(|| rounded(self.counts.stdev())),
            p50_ns: percentile(500),
            p90_ns: percentile(900),
            p99_ns: percentile(990),
            p999_ns: percentile(999),
            max_ns: (count > 0).then_some(self.max_ns),
        }
    }

    /// The middle of the class in which the latency of a rank from 1 lies.
    fn rank(&self, rank: u64) -> u64 {
        let mut passed = 0;
        let class = self.counts.iter_recorded().find(|class| {
            passed += class.count_since_last_iteration();
            passed >= rank
        });
        class.map_or(self.max_ns, |class| self.counts.median_equivalent(class.value_iterated_to()))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a day at most")]
fn rounded(ns: f64) -> u64 {
    ns.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(ops: u64) -> Span {
        Span { start_ns: 0, end_ns: 1_500, paused_ns: 500, ops, failure: None }
    }

    fn room(budget: Budget, ops: u64, clients: usize) -> usize {
        Latencies::reserved(budget, &span(ops), clients).whole.capacity()
    }

    #[test]
    fn room_follows_the_pace_of_the_warm_up() {
        let time = |time_ns| Budget { time_ns: Some(time_ns), ops: None };
        assert_eq!(room(time(1_000_000_000), 0, 1), 1_000_000, "no warm-up: a guess");
        assert_eq!(room(time(1_000_000), 20, 1), 80_000, "20 ops a us for 1 ms, four times over");
        assert_eq!(room(Budget { time_ns: Some(1_000_000), ops: Some(50) }, 20, 1), 50);
        assert_eq!(room(Budget { time_ns: None, ops: Some(70) }, 0, 1), 70);
    }

    #[test]
    fn all_clients_together_have_room_for_so_many_however_long_they_run() {
        let long = Budget { time_ns: Some(u64::MAX), ops: None };
        assert_eq!(room(long, 20, 1_024), 32_768);
        assert_eq!(room(Budget { time_ns: None, ops: Some(u64::MAX) }, 0, 1_024), 32_768);
    }

    /// Values that are far apart, in no order.
    fn values(count: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(move |n| (n * 7_919 % count + 1).pow(2) * 10)
    }

    #[test]
    fn what_has_no_room_is_counted_and_is_right_to_a_thousandth() {
        for room in [0, 1, 500, 999] {
            let mut latencies = Latencies::with_room(room);
            values(1_000).for_each(|value| latencies.keep(value));
            assert_eq!((latencies.len(), latencies.whole().len()), (1_000, room));
            let (found, error_permille) = latencies.summary();
            let exact = stats::summarize(values(1_000).collect());
            assert_eq!((found.min_ns, found.max_ns, error_permille), (exact.min_ns, exact.max_ns, 1));
            let pairs = [
                (found.p50_ns, exact.p50_ns),
                (found.p90_ns, exact.p90_ns),
                (found.p99_ns, exact.p99_ns),
                (found.p999_ns, exact.p999_ns),
                (found.mean_ns, exact.mean_ns),
            ];
            for (found, exact) in pairs {
                let (found, exact) = (found.expect("enough"), exact.expect("enough"));
                assert!(found.abs_diff(exact) * 1_000 <= exact, "{found} {exact}");
            }
            assert!(
                found.stddev_ns.expect("two").abs_diff(exact.stddev_ns.expect("two")) * 500
                    <= exact.stddev_ns.expect("two")
            );
        }
    }

    #[test]
    fn what_has_room_is_exact_and_merged_clients_are_one() {
        let mut all = Latencies::default();
        for part in 0..3 {
            let mut one = Latencies::with_room(if part == 1 { 100 } else { 400 });
            values(1_000).skip(part * 333).take(333).for_each(|value| one.keep(value));
            all.append(one);
        }
        assert_eq!((all.len(), all.whole().len()), (999, 333 + 100 + 333));
        let mut fit = Latencies::with_room(999);
        values(999).for_each(|value| fit.keep(value));
        assert_eq!(fit.summary(), (stats::summarize(values(999).collect()), 0));
        let (summary, error_permille) = all.summary();
        assert_eq!((error_permille, summary.max_ns), (1, values(1_000).take(999).max()));
    }

    #[test]
    fn few_have_no_percentile_in_classes_either() {
        let mut latencies = Latencies::with_room(0);
        (1..=99).for_each(|value| latencies.keep(value));
        let (summary, _) = latencies.summary();
        assert_eq!((summary.p90_ns, summary.p99_ns), (Some(90), None));
        let mut one = Latencies::with_room(0);
        one.keep(7);
        let expected =
            stats::Summary { min_ns: Some(7), mean_ns: Some(7), max_ns: Some(7), ..Default::default() };
        assert_eq!(one.summary().0, expected);
        assert_eq!(Latencies::default().summary(), (stats::Summary::default(), 0));
    }
}
