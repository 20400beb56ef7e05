//! The stopwatch: the only file that reads the clock around a request.
//!
//! It knows budgets, ops and nanoseconds, and nothing of databases, threads or rows.

use std::{
    collections::VecDeque,
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

/// What is timed: ops, each built, begun and ended.
pub trait Op {
    /// Whether [`prepare`](Self::prepare) does anything: the clock is then read once more, after it.
    const IS_PREPARED: bool = false;
    /// Builds the next op.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }
    /// Begins the op that was prepared first. One that blocks may leave all of it to the end.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }
    /// Waits for the end of the op that was begun first.
    fn end(&mut self) -> Result<()>;
}

/// How a client's ops follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Ops in flight at once.
    pub in_flight: usize,
    /// There is no other client: with one op in flight, nothing then happens while the next one
    /// is built, and that time is taken out of the sample.
    pub is_alone: bool,
}

impl Pace {
    /// One op after the other.
    pub const ONE_BY_ONE: Self = Self { in_flight: 1, is_alone: true };

    fn pauses_to_prepare(self) -> bool {
        self.in_flight == 1 && self.is_alone
    }
}

/// What happened during one client's warm-up or measuring.
#[derive(Debug)]
pub struct Span {
    /// When the first op began, or its building.
    pub start_ns: u64,
    /// When the last op that succeeded ended.
    pub end_ns: u64,
    /// How long the clock stood still in between.
    pub paused_ns: u64,
    /// Ops that succeeded.
    pub ops: u64,
    /// The error of the op that ended it early, if one did.
    pub failure: Option<anyhow::Error>,
}

impl Span {
    /// Its length, less the pauses.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.end_ns - self.start_ns - self.paused_ns
    }
}

/// The stopwatch of one client.
pub struct Timer<'a, C> {
    /// Where the time comes from.
    pub clock: &'a C,
    /// How ops follow each other.
    pub pace: Pace,
    /// When set, no further op begins.
    pub stop: &'a AtomicBool,
}

impl<C: Clock> Timer<'_, C> {
    /// Runs ops until `time_ns` have passed, keeping no latency. Ends with nothing in flight.
    pub fn warm_up<O: Op>(&self, time_ns: u64, ops: &mut O) -> Span {
        let limits = Limits { time_ns, ops: if time_ns == 0 { 0 } else { u64::MAX } };
        self.run(limits, ops, |_| {})
    }

    /// Runs ops until the budget is spent, with one clock read an op (two where it is prepared),
    /// and pushes each op's latency in nanoseconds, from its begin to its end. Ops in flight then
    /// are waited for and counted. Never allocates beyond its start: it ends early when
    /// `latencies` is full (see [`reserve`]).
    pub fn measure<O: Op>(&self, budget: Budget, latencies: &mut Vec<u64>, ops: &mut O) -> Span {
        assert!(latencies.is_empty(), "a sample starts with no latencies");
        let room = latencies.capacity() as u64;
        let limits = Limits {
            time_ns: budget.time_ns.unwrap_or(u64::MAX),
            ops: budget.ops.map_or(room, |ops| ops.min(room)),
        };
        self.run(limits, ops, |latency_ns| latencies.push(latency_ns))
    }

    #[inline]
    fn run<O: Op>(&self, limits: Limits, ops: &mut O, mut keep: impl FnMut(u64)) -> Span {
        let mut in_flight_since_ns = VecDeque::with_capacity(self.pace.in_flight);
        let start_ns = self.clock.now_ns();
        let mut span = Span { start_ns, end_ns: start_ns, paused_ns: 0, ops: 0, failure: None };
        let mut now_ns = start_ns;
        loop {
            while in_flight_since_ns.len() < self.pace.in_flight
                && span.ops + (in_flight_since_ns.len() as u64) < limits.ops
                && now_ns - start_ns - span.paused_ns < limits.time_ns
                && !self.stop.load(Ordering::Relaxed)
            {
                if let Err(error) = self.prepare(ops, &mut now_ns, &mut span).and_then(|()| ops.begin()) {
                    span.failure = Some(error);
                    return span;
                }
                in_flight_since_ns.push_back(now_ns);
            }
            let Some(began_at_ns) = in_flight_since_ns.pop_front() else { return span };
            if let Err(error) = ops.end() {
                span.failure = Some(error);
                return span;
            }
            now_ns = self.clock.now_ns();
            keep(now_ns - began_at_ns);
            span.end_ns = now_ns;
            span.ops += 1;
        }
    }

    /// Builds an op; `now_ns` is then the moment of its begin.
    #[inline]
    fn prepare<O: Op>(&self, ops: &mut O, now_ns: &mut u64, span: &mut Span) -> Result<()> {
        if !O::IS_PREPARED {
            return Ok(());
        }
        ops.prepare()?;
        let built_ns = self.clock.now_ns();
        if self.pace.pauses_to_prepare() {
            span.paused_ns += built_ns - *now_ns;
        }
        *now_ns = built_ns;
        Ok(())
    }
}

/// Whichever is reached first.
#[derive(Clone, Copy)]
struct Limits {
    time_ns: u64,
    ops: u64,
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
    let warm_up_ns = u128::from(warm_up.elapsed_ns());
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

    fn timer<'a>(clock: &'a StepClock, stop: &'a AtomicBool, in_flight: usize) -> Timer<'a, StepClock> {
        Timer { clock, pace: Pace { in_flight, is_alone: true }, stop }
    }

    /// Ops that do nothing but for what a test wants to see.
    #[derive(Default)]
    struct Plain {
        begun: u64,
        ended: u64,
        most_in_flight: u64,
        fails_at: Option<u64>,
    }

    impl Plain {
        fn begin(&mut self) {
            self.begun += 1;
            self.most_in_flight = self.most_in_flight.max(self.begun - self.ended);
        }
        fn end(&mut self) -> Result<()> {
            self.ended += 1;
            anyhow::ensure!(self.fails_at != Some(self.ended), "broken");
            Ok(())
        }
    }

    impl Op for Plain {
        fn prepare(&mut self) -> Result<()> {
            unreachable!("it is not prepared")
        }
        fn begin(&mut self) -> Result<()> {
            Plain::begin(self);
            Ok(())
        }
        fn end(&mut self) -> Result<()> {
            Plain::end(self)
        }
    }

    /// The same with ops that are built: the building takes a reading of the clock.
    struct Built<'a>(Plain, &'a StepClock);

    impl Op for Built<'_> {
        const IS_PREPARED: bool = true;
        fn prepare(&mut self) -> Result<()> {
            self.1.now_ns();
            Ok(())
        }
        fn begin(&mut self) -> Result<()> {
            self.0.begin();
            Ok(())
        }
        fn end(&mut self) -> Result<()> {
            self.0.end()
        }
    }

    fn run(clock: &StepClock, budget: Budget, room: usize) -> (Span, Vec<u64>) {
        let mut latencies = Vec::with_capacity(room);
        let span = timer(clock, &GO, 1).measure(budget, &mut latencies, &mut Plain::default());
        (span, latencies)
    }

    const fn budget(time_ns: Option<u64>, ops: Option<u64>) -> Budget {
        Budget { time_ns, ops }
    }

    #[test]
    fn time_ends_with_the_op_that_passes_it_and_each_op_reads_the_clock_once() {
        let clock = StepClock::new(10);
        let (span, latencies) = run(&clock, budget(Some(95), None), 64);
        assert_eq!(span.ops, 10);
        assert_eq!(latencies, [10; 10]);
        assert_eq!((span.end_ns - span.start_ns, span.elapsed_ns()), (100, 100));
        assert_eq!(clock.readings.get(), 11, "one at the start, one an op");
    }

    #[test]
    fn ops_end_it_and_the_first_limit_wins() {
        for (time_ns, ops, expected) in [(None, 7, 7), (Some(30), 7, 3), (Some(300), 7, 7)] {
            assert_eq!(run(&StepClock::new(10), budget(time_ns, Some(ops)), 64).0.ops, expected);
        }
    }

    #[test]
    fn a_full_buffer_ends_it_without_growing() {
        let (span, latencies) = run(&StepClock::new(10), budget(Some(900), None), 5);
        let capacity = latencies.capacity() as u64;
        assert_eq!(span.ops, capacity);
        assert!(capacity < 90);
    }

    #[test]
    fn what_one_client_alone_builds_is_off_the_clock() {
        let clock = StepClock::new(10);
        let mut latencies = Vec::with_capacity(8);
        let mut ops = Built(Plain::default(), &clock);
        let span = timer(&clock, &GO, 1).measure(budget(Some(25), None), &mut latencies, &mut ops);
        // Readings of an op: the building's own, the begin (20 after the last end), the end.
        assert_eq!((latencies, span.ops, span.paused_ns), (vec![10; 3], 3, 60));
        assert_eq!((span.end_ns - span.start_ns, span.elapsed_ns()), (90, 30));
    }

    #[test]
    fn what_is_built_beside_others_is_on_the_clock() {
        let clock = StepClock::new(10);
        for pace in [Pace { in_flight: 1, is_alone: false }, Pace { in_flight: 2, is_alone: true }] {
            let mut latencies = Vec::with_capacity(8);
            let timer = Timer { clock: &clock, pace, stop: &GO };
            let mut ops = Built(Plain::default(), &clock);
            let span = timer.measure(budget(None, Some(3)), &mut latencies, &mut ops);
            assert_eq!((span.ops, span.paused_ns, span.elapsed_ns()), (3, 0, 90), "{pace:?}");
        }
    }

    #[test]
    fn as_many_are_in_flight_as_asked_for_and_none_is_left() {
        let clock = StepClock::new(10);
        let (mut latencies, mut ops) = (Vec::with_capacity(64), Plain::default());
        let span = timer(&clock, &GO, 4).measure(budget(Some(45), None), &mut latencies, &mut ops);
        assert_eq!((ops.most_in_flight, ops.begun, ops.ended), (4, 8, 8));
        // Four begin at 0; the others as the first four end, the last of them at 40, before the limit.
        assert_eq!(latencies, [10, 20, 30, 40, 40, 40, 40, 40]);
        assert_eq!((span.ops, span.elapsed_ns()), (8, 80));
    }

    #[test]
    fn no_more_begin_than_the_budget_has() {
        let (mut latencies, mut ops) = (Vec::with_capacity(64), Plain::default());
        let clock = StepClock::new(10);
        let span = timer(&clock, &GO, 4).measure(budget(None, Some(6)), &mut latencies, &mut ops);
        assert_eq!((span.ops, ops.begun), (6, 6));
        let span =
            timer(&clock, &GO, 4).measure(budget(None, Some(3)), &mut Vec::with_capacity(64), &mut ops);
        assert_eq!((span.ops, ops.begun), (3, 9));
    }

    #[test]
    fn a_failed_op_is_not_counted_and_its_time_is_left_out() {
        let mut latencies = Vec::with_capacity(8);
        let clock = StepClock::new(10);
        let mut ops = Plain { fails_at: Some(3), ..Plain::default() };
        let span = timer(&clock, &GO, 1).measure(budget(None, Some(8)), &mut latencies, &mut ops);
        assert_eq!((span.ops, span.elapsed_ns()), (2, 20));
        assert_eq!(span.failure.expect("it failed").to_string(), "broken");
    }

    /// Sets the flag that ends everything.
    struct Stopping<'a>(&'a AtomicBool);

    impl Op for Stopping<'_> {
        fn end(&mut self) -> Result<()> {
            self.0.store(true, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn a_set_stop_flag_ends_both_before_the_next_op() {
        let stop = AtomicBool::new(false);
        let clock = StepClock::new(1);
        let timer = timer(&clock, &stop, 1);
        assert_eq!(timer.warm_up(1_000, &mut Stopping(&stop)).ops, 1);
        let mut latencies = Vec::with_capacity(8);
        assert_eq!(timer.measure(budget(None, Some(8)), &mut latencies, &mut Stopping(&stop)).ops, 0);
    }

    #[test]
    fn warm_up_runs_by_time_and_may_be_empty() {
        let clock = StepClock::new(10);
        let timer = timer(&clock, &GO, 1);
        let span = timer.warm_up(45, &mut Plain::default());
        assert_eq!((span.ops, span.elapsed_ns()), (5, 50));
        assert_eq!(timer.warm_up(0, &mut Plain::default()).ops, 0);
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
        let pace = |ops| Span { start_ns: 0, end_ns: 1_500, paused_ns: 500, ops, failure: None };
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
        let span = Span { start_ns: 0, end_ns: 0, paused_ns: 0, ops: 0, failure: None };
        let error = reserve(budget, &span).expect_err("more than memory");
        assert!(error.to_string().contains("lower --time or --ops"));
    }
}
