//! Client threads: all connected, a throw-away request each, a barrier, warm-up, a barrier, the
//! clock. The only file that uses crossbeam's threads.
//!
//! It names no database and no benchmark: it drives anything that is [`Work`].

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use anyhow::{Context, Result};
use crossbeam::thread;

use crate::{
    arrivals::{Arrived, Rate},
    latencies::Latencies,
    series::{Interval, Series},
    timer::{Budget, Clock, Ended, MonotonicClock, Op, Pace, Span, Timer},
};

/// What one client does.
pub trait Work: Op + Send {
    /// One throw-away request, so that the first measured one meets a warm connection.
    fn hello(&mut self) -> Result<()>;
    /// Round trips made so far.
    fn requests(&self) -> u64;
}

/// How long to warm up and to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Warm-up by time; its figures reach no total.
    pub warmup_ns: u64,
    /// The measured part, of all clients together.
    pub budget: Budget,
    /// How long each interval of a time series is, where one is kept.
    pub interval_ns: Option<u64>,
}

/// When the ops of each client begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// When one before has ended, so many being in flight at once.
    Closed {
        /// Of each client.
        in_flight: usize,
    },
    /// When they are due.
    Open(Rate),
}

impl Loop {
    /// One op after the other.
    pub const ONE_BY_ONE: Self = Self::Closed { in_flight: 1 };
}

/// One process's measurement of one case.
#[derive(Debug, Default)]
pub struct Sample {
    /// Ops that succeeded.
    pub ops: u64,
    /// The latency of every op of every client, in no order; empty where none was kept.
    pub latencies: Latencies,
    /// In an open loop: the same from when they began, not from when they were due.
    pub services: Latencies,
    /// In an open loop: what became of the ops that were due.
    pub arrived: Option<Arrived>,
    /// By intervals from the start of the first client, where a series was asked for.
    pub intervals: Vec<Interval>,
    /// When the first of them began.
    pub intervals_began: Option<Instant>,
    /// From the first client's start to the last client's end, less what a client that is alone
    /// paused to build its requests.
    pub elapsed_ns: u64,
    /// Ops before the clock started.
    pub warmup_ops: u64,
    /// Round trips of the measured ops.
    pub requests: u64,
    /// How many clients failed.
    pub failed_clients: u64,
    /// The first of them, by its number from 1, and why.
    pub failure: Option<(usize, anyhow::Error)>,
}

/// What all client threads share. Only `stop` is ever written, once, by a client that fails.
struct Shared {
    clock: MonotonicClock,
    load: Load,
    course: Loop,
    series: Option<Series>,
    pace: Pace,
    clients: usize,
    barrier: Barrier,
    stop: AtomicBool,
}

/// What one client brings back.
struct ClientRun {
    warmup_ops: u64,
    measured: Measured,
    requests: u64,
}

/// Its measured part.
struct Measured {
    span: Span,
    latencies: Latencies,
    services: Latencies,
    arrived: Option<Arrived>,
}

/// Runs one thread for each of `clients` and merges what they measured. Each thread owns its
/// client meanwhile, so that no two of them write to the same cache line.
#[must_use]
pub fn run<W: Work>(clients: Vec<W>, course: Loop, load: Load) -> (Sample, Vec<W>) {
    assert!(!clients.is_empty(), "a sample has a client");
    let in_flight = match course {
        Loop::Closed { in_flight } => in_flight,
        Loop::Open(_) => 1,
    };
    let shared = Shared {
        clock: MonotonicClock::start(),
        load,
        course,
        series: load.interval_ns.map(Series::new),
        pace: Pace { in_flight, is_alone: clients.len() == 1 },
        clients: clients.len(),
        barrier: Barrier::new(clients.len()),
        stop: AtomicBool::new(false),
    };
    let (runs, clients) = thread::scope(|scope| {
        let spawn = |(client, mut work)| {
            let shared = &shared;
            scope.spawn(move |_| (drive(client, &mut work, shared), work))
        };
        let handles: Vec<_> = clients.into_iter().enumerate().map(spawn).collect();
        handles.into_iter().map(|handle| handle.join().expect("a client thread panicked")).unzip()
    })
    .expect("every client thread was joined");
    let mut sample = merge(runs);
    if let Some(series) = shared.series {
        sample.intervals_began = series.began_ns().map(|moment_ns| shared.clock.at(moment_ns));
        sample.intervals = series.into_intervals();
    }
    (sample, clients)
}

/// One client from its throw-away request to its last op. It reaches both barriers whatever
/// fails, or the others would wait for ever.
fn drive<W: Work>(client: usize, work: &mut W, shared: &Shared) -> ClientRun {
    let share = shared.load.budget.share(client, shared.clients);
    let fail_all = || shared.stop.store(true, Ordering::Relaxed);

    let hello = caught(|| work.hello()).and_then(|hello| hello).context("first request");
    if hello.is_err() {
        fail_all();
    }
    shared.barrier.wait();
    let timer = Timer { clock: &shared.clock, pace: shared.pace, stop: &shared.stop };
    let mut warm_up = caught(|| warm_up(&timer, client, work, shared)).unwrap_or_else(Span::failed);
    warm_up.failure = hello.err().or(warm_up.failure.map(|error| error.context("warm-up")));
    if warm_up.failure.is_some() {
        fail_all();
    }
    let mut measured = Measured::reserved(share, &warm_up, shared);
    shared.barrier.wait();
    let requests_before = work.requests();
    if let Err(panic) = caught(|| measured.fill(&timer, client, share, work, shared)) {
        measured.span = Span::failed(panic);
    }
    if measured.span.failure.is_some() {
        fail_all();
    }
    let requests = work.requests() - requests_before;
    measured.span.failure = warm_up.failure.or(measured.span.failure);
    ClientRun { warmup_ops: warm_up.ops, measured, requests }
}

/// The warm-up and the measured part of an open loop have arrivals of their own.
const WARM_UP: u64 = 0;
const MEASURED: u64 = 1;

fn warm_up<W: Work>(timer: &Timer<MonotonicClock>, client: usize, work: &mut W, shared: &Shared) -> Span {
    let time_ns = shared.load.warmup_ns;
    match shared.course {
        Loop::Closed { .. } => timer.warm_up(time_ns, work),
        Loop::Open(rate) => {
            let mut schedule = rate.schedule(client, shared.clients, WARM_UP);
            timer.measure_due(time_ns, &mut schedule, work, |_| {}).0
        }
    }
}

impl Measured {
    fn reserved(share: Budget, warm_up: &Span, shared: &Shared) -> Self {
        let room = || Latencies::reserved(share, warm_up, shared.clients);
        let services = if matches!(shared.course, Loop::Open(_)) { room() } else { Latencies::default() };
        let span = Span { start_ns: 0, end_ns: 0, paused_ns: 0, ops: 0, failure: None };
        Self { span, latencies: room(), services, arrived: None }
    }

    fn fill<W: Work>(
        &mut self,
        timer: &Timer<MonotonicClock>,
        client: usize,
        share: Budget,
        work: &mut W,
        shared: &Shared,
    ) {
        let Self { span, latencies, services, arrived } = self;
        let mut series = shared.series.as_ref().map(|series| series.client(shared.clock.now_ns()));
        let mut keep = |ended: Ended| {
            latencies.keep(ended.latency_ns);
            if let Some(series) = &mut series {
                series.keep(ended);
            }
        };
        match shared.course {
            Loop::Closed { .. } => {
                *span = timer.measure(share, work, keep);
            }
            Loop::Open(rate) => {
                let mut schedule = rate.schedule(client, shared.clients, MEASURED);
                let time_ns = share.time_ns.expect("an open loop ends by time");
                let (done, of_those) = timer.measure_due(time_ns, &mut schedule, work, |ended| {
                    keep(ended);
                    services.keep(ended.service_ns);
                });
                (*span, *arrived) = (done, Some(of_those));
            }
        }
    }
}

/// A client that panics fails as any other: the others wait for it at the barrier.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        anyhow::anyhow!("a fault of this program: {text}")
    })
}

fn merge(runs: Vec<ClientRun>) -> Sample {
    let mut sample = Sample {
        arrived: runs.iter().map(|run| run.measured.arrived).sum(),
        elapsed_ns: elapsed_ns(runs.iter().map(|run| &run.measured.span)),
        ..Sample::default()
    };
    for (client, run) in runs.into_iter().enumerate() {
        let Measured { span, latencies, services, .. } = run.measured;
        sample.ops += span.ops;
        sample.latencies.append(latencies);
        sample.services.append(services);
        sample.warmup_ops += run.warmup_ops;
        sample.requests += run.requests;
        sample.failed_clients += u64::from(span.failure.is_some());
        sample.failure = sample.failure.or(span.failure.map(|error| (client + 1, error)));
    }
    sample
}

fn elapsed_ns<'a>(spans: impl Iterator<Item = &'a Span> + Clone) -> u64 {
    let start_ns = spans.clone().map(|span| span.start_ns).min();
    let end_ns = spans.clone().map(|span| span.end_ns).max();
    let paused_ns: u64 = spans.map(|span| span.paused_ns).sum(); // only one that is alone pauses
    start_ns.zip(end_ns).map_or(0, |(start_ns, end_ns)| end_ns - start_ns - paused_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Spacing;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Counting {
        hellos: u64,
        ops: u64,
        fails_at: Option<u64>,
        refuses_hello: bool,
    }

    impl Op for Counting {
        fn end(&mut self) -> Result<()> {
            anyhow::ensure!(self.fails_at != Some(self.ops), "op {} broke", self.ops);
            self.ops += 1;
            Ok(())
        }
    }

    impl Work for Counting {
        fn hello(&mut self) -> Result<()> {
            self.hellos += 1;
            anyhow::ensure!(!self.refuses_hello, "nobody there");
            Ok(())
        }
        fn requests(&self) -> u64 {
            self.hellos + self.ops * 2
        }
    }

    fn load(ops: u64) -> Load {
        Load { warmup_ns: 1_000, budget: Budget { time_ns: None, ops: Some(ops) }, interval_ns: None }
    }

    fn run_all(clients: impl Into<Vec<Counting>>, ops: u64) -> (Sample, Vec<Counting>) {
        let clients = clients.into();
        run(clients, Loop::ONE_BY_ONE, load(ops))
    }

    #[test]
    fn ops_add_up_over_clients_and_warm_up_stays_out() {
        let clients = [Counting::default(), Counting::default(), Counting::default()];
        let (sample, clients) = run_all(clients, 100);
        assert_eq!(sample.latencies.len(), 100);
        assert_eq!(sample.requests, 200);
        assert!(sample.warmup_ops > 0);
        let done: u64 = clients.iter().map(|client| client.ops).sum();
        assert_eq!(done, 100 + sample.warmup_ops);
        assert!(clients.iter().all(|client| client.hellos == 1));
        assert!(sample.failure.is_none() && sample.arrived.is_none());
    }

    #[test]
    fn a_client_that_fails_stops_all_and_is_named() {
        let clients = [Counting::default(), Counting { fails_at: Some(0), ..Counting::default() }];
        let (sample, _) = run_all(clients, 1 << 20);
        let (client, error) = sample.failure.as_ref().expect("it failed");
        assert_eq!((*client, format!("{error:#}")), (2, "warm-up: op 0 broke".into()));
        assert_eq!(sample.failed_clients, 1);
        assert!(sample.latencies.is_empty(), "nothing is measured after a failed warm-up");
    }

    #[test]
    fn a_client_that_fails_while_measured_stops_the_others_early() {
        // The second fails at its first measured op; the first would go on for ever.
        let clients = [Counting::default(), Counting { fails_at: Some(0), ..Counting::default() }];
        let load =
            Load { warmup_ns: 0, budget: Budget { time_ns: Some(u64::MAX), ops: None }, interval_ns: None };
        let (sample, clients) = run(clients.into(), Loop::ONE_BY_ONE, load);
        assert_eq!(sample.failure.expect("it failed").0, 2);
        assert_eq!(clients[1].ops, 0);
    }

    #[test]
    fn a_client_that_panics_fails_and_the_others_end() {
        struct Panicking(bool);
        impl Op for Panicking {
            fn end(&mut self) -> Result<()> {
                assert!(!self.0, "no {}", "way");
                Ok(())
            }
        }
        impl Work for Panicking {
            fn hello(&mut self) -> Result<()> {
                Ok(())
            }
            fn requests(&self) -> u64 {
                0
            }
        }
        for warmup_ns in [0, 1] {
            let load = Load { warmup_ns, ..load(1 << 20) };
            let (sample, _) = run(vec![Panicking(false), Panicking(true)], Loop::ONE_BY_ONE, load);
            let (client, error) = sample.failure.expect("it failed");
            assert_eq!(
                (client, error.root_cause().to_string()),
                (2, "a fault of this program: no way".into())
            );
        }
    }

    #[test]
    fn a_refused_first_request_fails_without_an_op() {
        let clients = [Counting { refuses_hello: true, ..Counting::default() }, Counting::default()];
        let (sample, clients) = run_all(clients, 10);
        assert_eq!(format!("{:#}", sample.failure.expect("it failed").1), "first request: nobody there");
        assert!(clients.iter().all(|client| client.ops == 0));
    }

    #[test]
    fn elapsed_spans_all_clients() {
        let span = |start_ns, end_ns, paused_ns| Span { start_ns, end_ns, paused_ns, ops: 1, failure: None };
        assert_eq!(elapsed_ns([&span(10, 90, 0), &span(5, 80, 0)].into_iter()), 85);
        assert_eq!(elapsed_ns([&span(10, 90, 30)].into_iter()), 50);
    }

    #[test]
    fn in_an_open_loop_as_many_are_done_as_are_due() {
        let rate = Rate { per_s: 100_000, spacing: Spacing::Even };
        let budget = Budget { time_ns: Some(2_000_000), ops: None };
        let load = Load { warmup_ns: 1_000_000, budget, interval_ns: Some(500_000) };
        let (sample, clients) = run(vec![Counting::default(), Counting::default()], Loop::Open(rate), load);
        let arrived = sample.arrived.expect("an open loop");
        assert_eq!((arrived.offered, arrived.backlog + sample.ops), (200, 200));
        assert_eq!((sample.latencies.len(), sample.services.len()), (sample.ops, sample.ops));
        let done: u64 = clients.iter().map(|client| client.ops).sum();
        assert_eq!(done, sample.ops + sample.warmup_ops);
        assert!(sample.elapsed_ns >= 2_000_000);
        assert_eq!(sample.intervals.iter().map(|interval| interval.ops).sum::<u64>(), sample.ops);
        assert!(sample.intervals.len() > 1);
    }

    /// Sees whether the other runs ahead of a stage that this one has not ended.
    struct InStep<'a> {
        stages: &'a [AtomicUsize; 2],
        me: usize,
        ops: usize,
        overtaken: bool,
    }

    impl InStep<'_> {
        fn linger(&mut self, stage: usize) {
            for _ in 0..20_000 {
                std::thread::yield_now();
                self.overtaken |= self.stages[1 - self.me].load(Ordering::SeqCst) > stage;
            }
        }
        fn enter(&self, stage: usize) {
            self.stages[self.me].store(stage, Ordering::SeqCst);
        }
    }

    impl Op for InStep<'_> {
        fn end(&mut self) -> Result<()> {
            if self.ops == 0 {
                self.enter(2);
                if self.me == 1 {
                    self.linger(2);
                }
            }
            self.ops += 1;
            Ok(())
        }
    }

    impl Work for InStep<'_> {
        fn hello(&mut self) -> Result<()> {
            self.enter(1);
            if self.me == 1 {
                self.linger(1);
            }
            Ok(())
        }
        /// Asked when the measured part begins, and when it has ended.
        fn requests(&self) -> u64 {
            self.enter(3);
            0
        }
    }

    #[test]
    fn nobody_goes_on_before_all_are_ready() {
        let stages = Default::default();
        let client = |me| InStep { stages: &stages, me, ops: 0, overtaken: false };
        let load = Load { warmup_ns: 1, ..load(2) };
        let (_, clients) = run(vec![client(0), client(1)], Loop::ONE_BY_ONE, load);
        assert!(!clients[1].overtaken);
    }

    #[test]
    fn all_that_fail_are_counted_and_the_first_is_named() {
        let refusing = || Counting { refuses_hello: true, ..Counting::default() };
        let (sample, _) = run_all([refusing(), refusing(), refusing()], 10);
        assert_eq!((sample.failed_clients, sample.failure.expect("they failed").0), (3, 1));
    }
}
