//! The stopwatch: the only file that reads the clock around a request.
//!
//! It knows budgets, ops and nanoseconds, and nothing of databases, threads or rows.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::arrivals::{Arrived, Schedule};

/// A source of monotonic nanoseconds; tests put plain values here.
pub trait Clock {
    /// Nanoseconds since a fixed, arbitrary moment.
    fn now_ns(&self) -> u64;
}

/// A clock that one can sleep by.
pub trait Alarm: Clock {
    /// Returns at that moment or, as sleepers are woken late, some microseconds after it; at once where it has passed.
    fn sleep_until(&self, moment_ns: u64);
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

    /// The moment of a reading.
    #[must_use]
    pub fn at(&self, moment_ns: u64) -> Instant {
        self.origin + Duration::from_nanos(moment_ns)
    }
}

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        duration_ns(self.origin.elapsed())
    }
}

impl Alarm for MonotonicClock {
    fn sleep_until(&self, moment_ns: u64) {
        thread::sleep(Duration::from_nanos(moment_ns.saturating_sub(self.now_ns())));
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
        let share_of = |ops| share(ops, client as u64, clients as u64);
        Self { time_ns: self.time_ns, ops: self.ops.map(share_of) }
    }
}

/// One of so many shares of a whole; the first ones take what cannot be divided.
#[must_use]
pub fn share(whole: u64, index: u64, shares: u64) -> u64 {
    whole / shares + u64::from(index < whole % shares)
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
    /// One in which nothing was done.
    #[must_use]
    pub fn failed(failure: anyhow::Error) -> Self {
        Self { start_ns: 0, end_ns: 0, paused_ns: 0, ops: 0, failure: Some(failure) }
    }

    /// Its length, less the pauses.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.end_ns - self.start_ns - self.paused_ns
    }
}

/// An op that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at_ns: u64,
    /// How long after its begin or, of one that was due at a moment, after that.
    pub latency_ns: u64,
    /// How long after its begin.
    pub service_ns: u64,
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
    /// and passes each to `keep`. Ops in flight then are waited for and counted. Never allocates beyond its start.
    pub fn measure<O: Op>(&self, budget: Budget, ops: &mut O, keep: impl FnMut(Ended)) -> Span {
        let limits =
            Limits { time_ns: budget.time_ns.unwrap_or(u64::MAX), ops: budget.ops.unwrap_or(u64::MAX) };
        self.run(limits, ops, keep)
    }

    /// Runs ops as they are due, one at a time, until none is that is due within `time_ns`, or that time is over: what was
    /// due by then and has not begun is counted, and never done. An op is built before it is due where there is time. A late wake-up of this
    /// client is a part of the op's latency.
    pub fn measure_due<O: Op>(
        &self,
        time_ns: u64,
        schedule: &mut Schedule,
        ops: &mut O,
        mut keep: impl FnMut(Ended),
    ) -> (Span, Arrived)
    where
        C: Alarm,
    {
        let start_ns = self.clock.now_ns();
        let over_ns = start_ns.saturating_add(time_ns);
        let mut span = Span { start_ns, end_ns: start_ns, paused_ns: 0, ops: 0, failure: None };
        let mut arrived = Arrived::default();
        let mut next_ns = || start_ns.saturating_add(schedule.next_ns());
        let mut due_ns = next_ns();
        while due_ns < over_ns && self.clock.now_ns() < over_ns {
            if self.stop.load(Ordering::Relaxed) {
                return (span, arrived);
            }
            arrived.offered += 1;
            arrived.late += u64::from(span.end_ns > due_ns);
            match self.one_due(due_ns, ops) {
                Ok(ended) => {
                    keep(ended);
                    span.end_ns = ended.at_ns;
                    span.ops += 1;
                }
                Err(error) => {
                    span.failure = Some(error);
                    return (span, arrived);
                }
            }
            due_ns = next_ns();
        }
        while due_ns < over_ns {
            arrived.backlog += 1;
            due_ns = next_ns();
        }
        arrived.offered += arrived.backlog;
        span.end_ns = span.end_ns.max(over_ns);
        (span, arrived)
    }

    /// One op, begun when it is due or, if that has passed, at once.
    fn one_due<O: Op>(&self, due_ns: u64, ops: &mut O) -> Result<Ended>
    where
        C: Alarm,
    {
        if O::IS_PREPARED {
            ops.prepare()?;
        }
        self.clock.sleep_until(due_ns);
        let began_at_ns = self.clock.now_ns();
        ops.begin()?;
        ops.end()?;
        let at_ns = self.clock.now_ns();
        Ok(Ended { at_ns, latency_ns: at_ns - due_ns, service_ns: at_ns - began_at_ns })
    }

    #[inline]
    fn run<O: Op>(&self, limits: Limits, ops: &mut O, mut keep: impl FnMut(Ended)) -> Span {
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
            let latency_ns = now_ns - began_at_ns;
            keep(Ended { at_ns: now_ns, latency_ns, service_ns: latency_ns });
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

/// How long `work` takes, in microseconds, with what it returns.
pub fn time_us<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let clock = MonotonicClock::start();
    let value = work();
    (value, clock.now_ns() / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Rate, Spacing};
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

    fn run(clock: &StepClock, budget: Budget) -> (Span, Vec<u64>) {
        measured(&timer(clock, &GO, 1), budget, &mut Plain::default())
    }

    fn measured<O: Op>(timer: &Timer<StepClock>, budget: Budget, ops: &mut O) -> (Span, Vec<u64>) {
        let mut latencies = Vec::new();
        let span = timer.measure(budget, ops, |ended| {
            assert_eq!(ended.service_ns, ended.latency_ns);
            latencies.push(ended.latency_ns);
        });
        (span, latencies)
    }

    const fn budget(time_ns: Option<u64>, ops: Option<u64>) -> Budget {
        Budget { time_ns, ops }
    }

    #[test]
    fn time_ends_with_the_op_that_passes_it_and_each_op_reads_the_clock_once() {
        let clock = StepClock::new(10);
        let (span, latencies) = run(&clock, budget(Some(95), None));
        assert_eq!(span.ops, 10);
        assert_eq!(latencies, [10; 10]);
        assert_eq!((span.end_ns - span.start_ns, span.elapsed_ns()), (100, 100));
        assert_eq!(clock.readings.get(), 11, "one at the start, one an op");
    }

    #[test]
    fn ops_end_it_and_the_first_limit_wins() {
        for (time_ns, ops, expected) in [(None, 7, 7), (Some(30), 7, 3), (Some(300), 7, 7)] {
            assert_eq!(run(&StepClock::new(10), budget(time_ns, Some(ops))).0.ops, expected);
        }
    }

    #[test]
    fn what_one_client_alone_builds_is_off_the_clock() {
        let clock = StepClock::new(10);
        let mut ops = Built(Plain::default(), &clock);
        let (span, latencies) = measured(&timer(&clock, &GO, 1), budget(Some(25), None), &mut ops);
        // Readings of an op: the building's own, the begin (20 after the last end), the end.
        assert_eq!((latencies, span.ops, span.paused_ns), (vec![10; 3], 3, 60));
        assert_eq!((span.end_ns - span.start_ns, span.elapsed_ns()), (90, 30));
    }

    #[test]
    fn what_is_built_beside_others_is_on_the_clock() {
        let clock = StepClock::new(10);
        for pace in [Pace { in_flight: 1, is_alone: false }, Pace { in_flight: 2, is_alone: true }] {
            let timer = Timer { clock: &clock, pace, stop: &GO };
            let mut ops = Built(Plain::default(), &clock);
            let (span, _) = measured(&timer, budget(None, Some(3)), &mut ops);
            assert_eq!((span.ops, span.paused_ns, span.elapsed_ns()), (3, 0, 90), "{pace:?}");
        }
    }

    #[test]
    fn as_many_are_in_flight_as_asked_for_and_none_is_left() {
        let clock = StepClock::new(10);
        let mut ops = Plain::default();
        let (span, latencies) = measured(&timer(&clock, &GO, 4), budget(Some(45), None), &mut ops);
        assert_eq!((ops.most_in_flight, ops.begun, ops.ended), (4, 8, 8));
        // Four begin at 0; the others as the first four end, the last of them at 40, before the limit.
        assert_eq!(latencies, [10, 20, 30, 40, 40, 40, 40, 40]);
        assert_eq!((span.ops, span.elapsed_ns()), (8, 80));
    }

    #[test]
    fn no_more_begin_than_the_budget_has() {
        let mut ops = Plain::default();
        let clock = StepClock::new(10);
        let (span, _) = measured(&timer(&clock, &GO, 4), budget(None, Some(6)), &mut ops);
        assert_eq!((span.ops, ops.begun), (6, 6));
        let (span, _) = measured(&timer(&clock, &GO, 4), budget(None, Some(3)), &mut ops);
        assert_eq!((span.ops, ops.begun), (3, 9));
    }

    #[test]
    fn a_failed_op_is_not_counted_and_its_time_is_left_out() {
        let clock = StepClock::new(10);
        let mut ops = Plain { fails_at: Some(3), ..Plain::default() };
        let (span, _) = measured(&timer(&clock, &GO, 1), budget(None, Some(8)), &mut ops);
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
        assert_eq!(measured(&timer, budget(None, Some(8)), &mut Stopping(&stop)).0.ops, 0);
        let mut schedule = even(1_000_000_000);
        assert_eq!(timer.measure_due(100, &mut schedule, &mut Stopping(&stop), |_| {}).0.ops, 0);
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

    /// Moves by so much a reading, and to where one sleeps.
    struct SleepClock {
        now_ns: Cell<u64>,
        step_ns: u64,
    }

    impl SleepClock {
        fn new(step_ns: u64) -> Self {
            Self { now_ns: Cell::new(0), step_ns }
        }
    }

    impl Clock for SleepClock {
        fn now_ns(&self) -> u64 {
            self.now_ns.replace(self.now_ns.get() + self.step_ns)
        }
    }

    impl Alarm for SleepClock {
        fn sleep_until(&self, moment_ns: u64) {
            self.now_ns.set(self.now_ns.get().max(moment_ns));
        }
    }

    impl Alarm for StepClock {
        fn sleep_until(&self, _: u64) {}
    }

    /// Each op takes what is left of a list, the last one for ever after.
    struct Taking<'a>(&'a SleepClock, Vec<u64>);

    impl Op for Taking<'_> {
        const IS_PREPARED: bool = true;
        fn prepare(&mut self) -> Result<()> {
            self.0.now_ns.set(self.0.now_ns.get() + 1); // building takes time, too
            Ok(())
        }
        fn end(&mut self) -> Result<()> {
            let takes_ns = if self.1.len() > 1 { self.1.remove(0) } else { self.1[0] };
            anyhow::ensure!(takes_ns > 0, "broken");
            self.0.now_ns.set(self.0.now_ns.get() + takes_ns);
            Ok(())
        }
    }

    /// So many a second, of one client.
    fn even(per_s: u32) -> Schedule {
        Rate { per_s, spacing: Spacing::Even }.schedule(0, 1, 0)
    }

    fn due(takes_ns: &[u64], time_ns: u64) -> (Span, Arrived, Vec<(u64, u64)>) {
        let clock = SleepClock::new(0);
        let timer = Timer { clock: &clock, pace: Pace::ONE_BY_ONE, stop: &GO };
        let mut kept = Vec::new();
        // One is due each 100 ns.
        let (span, arrived) = timer.measure_due(
            time_ns,
            &mut even(10_000_000),
            &mut Taking(&clock, takes_ns.to_vec()),
            |ended| {
                kept.push((ended.latency_ns, ended.service_ns));
            },
        );
        (span, arrived, kept)
    }

    #[test]
    fn who_is_not_busy_begins_when_an_op_is_due() {
        let (span, arrived, kept) = due(&[30], 1_000);
        // The first is due at once, when it is still to be built.
        let expected = [[(31, 30)].as_slice(), &[(30, 30); 9]].concat();
        assert_eq!(kept, expected);
        assert_eq!(arrived, Arrived { offered: 10, late: 0, backlog: 0 });
        assert_eq!((span.ops, span.elapsed_ns()), (10, 1_000), "the time is over when it is");
    }

    #[test]
    fn time_runs_from_the_moment_due_and_what_was_late_is_counted() {
        let (span, arrived, kept) = due(&[10, 250, 10], 600);
        // The second is due at 100 and ends at 350; the two due meanwhile begin after it and their own building.
        assert_eq!(kept, [(11, 10), (250, 250), (161, 10), (72, 10), (10, 10), (10, 10)]);
        assert_eq!((arrived, span.ops), (Arrived { offered: 6, late: 2, backlog: 0 }, 6));
    }

    #[test]
    fn what_has_not_begun_in_time_is_told_and_not_done() {
        let (span, arrived, kept) = due(&[299], 1_000);
        // They begin at 1, 301, 601 and 901, the last one within the time.
        assert_eq!(kept, [(300, 299), (500, 299), (700, 299), (900, 299)]);
        assert_eq!(arrived, Arrived { offered: 10, late: 3, backlog: 6 });
        assert_eq!((span.ops, span.elapsed_ns()), (4, 1_200));
        assert_eq!(span.ops + arrived.backlog, arrived.offered, "none is dropped");
    }

    #[test]
    fn an_op_that_is_due_and_fails_ends_it() {
        let (span, arrived, kept) = due(&[10, 0], 1_000);
        assert_eq!((span.ops, kept.len(), arrived.offered), (1, 1, 2));
        assert_eq!(span.failure.expect("it failed").to_string(), "broken");
    }
}
