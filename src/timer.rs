//! The stopwatch: the only file that reads the clock around a request.
//!
//! It knows budgets, ops and nanoseconds, and nothing of databases, threads or rows.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// A source of monotonic nanoseconds; tests put plain values here.
pub trait Clock {
    /// Nanoseconds since a fixed, arbitrary moment.
    fn now_ns(&self) -> u64;
}

/// The operating system's monotonic clock. Copies share their origin, so readings of several
/// threads can be compared.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock that starts at 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        duration_ns(self.origin.elapsed())
    }
}

/// A duration in nanoseconds; 584 years is as long as it gets.
#[must_use]
pub fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// When measuring ends: whichever limit is reached first. At least one is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Ends with the first op that returns at or after this time.
    pub time_ns: Option<u64>,
    /// Ends after this many ops.
    pub ops: Option<u64>,
}

impl Budget {
    /// This budget for one of `clients`, their ops adding up to the whole.
    #[must_use]
    pub fn share(self, client: usize, clients: usize) -> Self {
        let (client, clients) = (client as u64, clients as u64);
        let share = |ops: u64| ops / clients + u64::from(client < ops % clients);
        Self { time_ns: self.time_ns, ops: self.ops.map(share) }
    }
}

/// What happened during one client's warm-up or measuring.
#[derive(Debug)]
pub struct Span {
    /// When the first op began.
    pub start_ns: u64,
    /// When the last op that succeeded ended.
    pub end_ns: u64,
    /// Ops that succeeded.
    pub ops: u64,
    /// The error of the op that ended it early, if one did.
    pub failure: Option<anyhow::Error>,
}

/// Runs `op` until `time_ns` have passed, keeping no latency.
pub fn warm_up(
    clock: &impl Clock,
    time_ns: u64,
    stop: &AtomicBool,
    mut op: impl FnMut() -> Result<()>,
) -> Span {
    let start_ns = clock.now_ns();
    let deadline_ns = start_ns.saturating_add(time_ns);
    let mut span = Span { start_ns, end_ns: start_ns, ops: 0, failure: None };
    while span.end_ns < deadline_ns && !stop.load(Ordering::Relaxed) {
        if let Err(error) = op() {
            span.failure = Some(error);
            break;
        }
        span.end_ns = clock.now_ns();
        span.ops += 1;
    }
    span
}

/// Runs `op` until the budget is spent, with one clock read an op, and pushes each op's latency
/// in nanoseconds. Never allocates: it ends early when `latencies` is full (see [`reserve`]).
pub fn measure(
    clock: &impl Clock,
    budget: Budget,
    stop: &AtomicBool,
    latencies: &mut Vec<u64>,
    mut op: impl FnMut() -> Result<()>,
) -> Span {
    assert!(latencies.is_empty(), "a sample starts with no latencies");
    let room = latencies.capacity() as u64;
    let ops_max = budget.ops.map_or(room, |ops| ops.min(room));
    let start_ns = clock.now_ns();
    let deadline_ns = budget.time_ns.map_or(u64::MAX, |time_ns| start_ns.saturating_add(time_ns));
    let mut span = Span { start_ns, end_ns: start_ns, ops: 0, failure: None };
    while span.ops < ops_max && span.end_ns < deadline_ns && !stop.load(Ordering::Relaxed) {
        if let Err(error) = op() {
            span.failure = Some(error);
            break;
        }
        let now_ns = clock.now_ns();
        latencies.push(now_ns - span.end_ns);
        span.end_ns = now_ns;
        span.ops += 1;
    }
    span
}

/// Latencies that a client may keep whatever its warm-up foretells: one a microsecond is more
/// than any server here answers to one client, and half a gibibyte is the most that is set aside
/// on a guess. The pages of what stays unused are never touched.
const ROOM_NS: u64 = 1_000;
const ROOM_MAX: u64 = 64 << 20;
/// How many times its warm-up's pace a client may reach before its sample ends early.
const PACE_MARGIN: u64 = 4;

/// Sets aside the room for one client's latencies before the clock starts, and touches as much
/// of it as the pace of the warm-up foretells, so that no page fault falls into the sample.
pub fn reserve(budget: Budget, warm_up: &Span) -> Result<Vec<u64>> {
    let warm_up_ns = u128::from(warm_up.end_ns - warm_up.start_ns);
    let foretold = |time_ns: u64| {
        let ops = u128::from(warm_up.ops) * u128::from(time_ns);
        u64::try_from(ops.checked_div(warm_up_ns).unwrap_or(0)).unwrap_or(u64::MAX)
    };
    let by_time = budget.time_ns.map(|time_ns| {
        let guess = (time_ns / ROOM_NS).min(ROOM_MAX);
        let expected = foretold(time_ns);
        (expected.saturating_mul(PACE_MARGIN).max(guess).max(1), expected)
    });
    let (room, expected) = match (by_time, budget.ops) {
        (Some((room, expected)), Some(ops)) => (room.min(ops), expected.min(ops)),
        (Some(by_time), None) => by_time,
        (None, Some(ops)) => (ops, ops),
        (None, None) => unreachable!("a budget has a limit"),
    };
    let mut latencies = Vec::new();
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    latencies
        .try_reserve_exact(room)
        .with_context(|| format!("no memory for {room} latencies: lower --time or --ops"))?;
    latencies.resize(usize::try_from(expected).unwrap_or(room).min(room), 1);
    latencies.clear();
    Ok(latencies)
}

/// How long `work` takes, in microseconds, with what it returns.
pub fn time_us<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let clock = MonotonicClock::start();
    let value = work();
    (value, clock.now_ns() / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock that moves by a fixed step a reading, and counts its readings.
    struct StepClock {
        readings: Cell<u64>,
        step_ns: u64,
    }

    impl StepClock {
        fn new(step_ns: u64) -> Self {
            Self { readings: Cell::new(0), step_ns }
        }
    }

    impl Clock for StepClock {
        fn now_ns(&self) -> u64 {
            let reading = self.readings.get();
            self.readings.set(reading + 1);
            reading * self.step_ns
        }
    }

    static GO: AtomicBool = AtomicBool::new(false);

    fn run(clock: &StepClock, budget: Budget, room: usize) -> (Span, Vec<u64>) {
        let mut latencies = Vec::with_capacity(room);
        let span = measure(clock, budget, &GO, &mut latencies, || Ok(()));
        (span, latencies)
    }

    #[test]
    fn time_ends_with_the_op_that_passes_it_and_each_op_reads_the_clock_once() {
        let clock = StepClock::new(10);
        let (span, latencies) = run(&clock, Budget { time_ns: Some(95), ops: None }, 64);
        assert_eq!(span.ops, 10);
        assert_eq!(latencies, [10; 10]);
        assert_eq!(span.end_ns - span.start_ns, 100);
        assert_eq!(clock.readings.get(), 11, "one at the start, one an op");
    }

    #[test]
    fn ops_end_it_and_the_first_limit_wins() {
        let (span, _) = run(&StepClock::new(10), Budget { time_ns: None, ops: Some(7) }, 64);
        assert_eq!(span.ops, 7);
        let (span, _) = run(&StepClock::new(10), Budget { time_ns: Some(30), ops: Some(7) }, 64);
        assert_eq!(span.ops, 3);
        let (span, _) = run(&StepClock::new(10), Budget { time_ns: Some(300), ops: Some(7) }, 64);
        assert_eq!(span.ops, 7);
    }

    #[test]
    fn a_full_buffer_ends_it_without_growing() {
        let (span, latencies) = run(&StepClock::new(10), Budget { time_ns: Some(900), ops: None }, 5);
        let capacity = latencies.capacity() as u64;
        assert_eq!(span.ops, capacity);
        assert!(capacity < 90);
    }

    #[test]
    fn a_failed_op_is_not_counted_and_its_time_is_left_out() {
        let mut left = 3;
        let mut latencies = Vec::with_capacity(8);
        let budget = Budget { time_ns: None, ops: Some(8) };
        let clock = StepClock::new(10);
        let span = measure(&clock, budget, &GO, &mut latencies, || {
            left -= 1;
            if left == 0 {
                anyhow::bail!("broken")
            }
            Ok(())
        });
        assert_eq!((span.ops, span.end_ns - span.start_ns), (2, 20));
        assert_eq!(span.failure.expect("it failed").to_string(), "broken");
    }

    #[test]
    fn a_set_stop_flag_ends_both_before_the_next_op() {
        let stop = AtomicBool::new(false);
        let op = || {
            stop.store(true, Ordering::Relaxed);
            Ok(())
        };
        let clock = StepClock::new(1);
        assert_eq!(warm_up(&clock, 1_000, &stop, op).ops, 1);
        let mut latencies = Vec::with_capacity(8);
        let budget = Budget { time_ns: None, ops: Some(8) };
        assert_eq!(measure(&clock, budget, &stop, &mut latencies, op).ops, 0);
    }

    #[test]
    fn warm_up_runs_by_time_and_may_be_empty() {
        let span = warm_up(&StepClock::new(10), 45, &GO, || Ok(()));
        assert_eq!((span.ops, span.end_ns), (5, 50));
        assert_eq!(warm_up(&StepClock::new(10), 0, &GO, || Ok(())).ops, 0);
    }

    #[test]
    fn shares_add_up() {
        let whole = Budget { time_ns: Some(5), ops: Some(10) };
        let shares: Vec<_> = (0..4).map(|client| whole.share(client, 4)).collect();
        assert_eq!(shares.iter().map(|share| share.ops.expect("set")).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert!(shares.iter().all(|share| share.time_ns == Some(5)));
    }

    #[test]
    fn room_follows_the_pace_of_the_warm_up() {
        let pace = |ops| Span { start_ns: 0, end_ns: 1_000, ops, failure: None };
        let room = |budget, ops| reserve(budget, &pace(ops)).expect("small").capacity();
        let time = |time_ns| Budget { time_ns: Some(time_ns), ops: None };
        assert_eq!(room(time(1_000_000_000), 0), 1_000_000, "no warm-up: a guess");
        assert_eq!(room(time(1_000_000), 20), 80_000, "20 ops a us for 1 ms, four times over");
        assert_eq!(room(Budget { time_ns: Some(1_000_000), ops: Some(50) }, 20), 50);
        assert_eq!(room(Budget { time_ns: None, ops: Some(70) }, 0), 70);
    }

    #[test]
    fn impossible_room_is_an_error() {
        let budget = Budget { time_ns: None, ops: Some(u64::MAX) };
        let span = Span { start_ns: 0, end_ns: 0, ops: 0, failure: None };
        let error = reserve(budget, &span).expect_err("more than memory");
        assert!(error.to_string().contains("lower --time or --ops"));
    }
}
