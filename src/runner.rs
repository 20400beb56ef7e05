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
};

use anyhow::{Context, Result};
use crossbeam::thread;

use crate::timer::{self, Budget, MonotonicClock, Op, Pace, Span, Timer};

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
}

/// One process's measurement of one case.
#[derive(Debug)]
pub struct Sample {
    /// Ops that succeeded.
    pub ops: u64,
    /// The latency of every op of every client, in no order; empty where none was kept.
    pub latencies_ns: Vec<u64>,
    /// From the first client's start to the last client's end, less what a client that is alone
    /// paused to build its requests.
    pub elapsed_ns: u64,
    /// Ops before the clock started.
    pub warmup_ops: u64,
    /// Round trips of the measured ops.
    pub requests: u64,
    /// A client's room for latencies was full before its budget was spent.
    pub ended_early: bool,
    /// How many clients failed.
    pub failed_clients: u64,
    /// The first of them, by its number from 1, and why.
    pub failure: Option<(usize, anyhow::Error)>,
}

/// What all client threads share. Only `stop` is ever written, once, by a client that fails.
struct Shared {
    clock: MonotonicClock,
    load: Load,
    pace: Pace,
    clients: usize,
    barrier: Barrier,
    stop: AtomicBool,
}

/// What one client brings back.
struct ClientRun {
    warmup_ops: u64,
    latencies_ns: Vec<u64>,
    span: Span,
    requests: u64,
    share: Budget,
}

/// Runs one thread for each of `clients` and merges what they measured. Each thread owns its
/// client meanwhile, so that no two of them write to the same cache line. `in_flight`: ops that
/// each client has in flight at once.
#[must_use]
pub fn run<W: Work>(clients: Vec<W>, in_flight: usize, load: Load) -> (Sample, Vec<W>) {
    assert!(!clients.is_empty(), "a sample has a client");
    let shared = Shared {
        clock: MonotonicClock::start(),
        load,
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
    (merge(runs), clients)
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
    let mut warm_up = caught(|| timer.warm_up(shared.load.warmup_ns, work)).unwrap_or_else(Span::failed);
    warm_up.failure = hello.err().or(warm_up.failure.map(|error| error.context("warm-up")));
    let (mut latencies_ns, no_room) = match timer::reserve(share, &warm_up) {
        Ok(room) => (room, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    warm_up.failure = warm_up.failure.or(no_room);
    if warm_up.failure.is_some() {
        fail_all();
    }
    shared.barrier.wait();
    let requests_before = work.requests();
    let mut span = caught(|| timer.measure(share, &mut latencies_ns, work)).unwrap_or_else(Span::failed);
    if span.failure.is_some() {
        fail_all();
    }
    let requests = work.requests() - requests_before;
    span.failure = warm_up.failure.or(span.failure);
    ClientRun { warmup_ops: warm_up.ops, latencies_ns, span, requests, share }
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
    let failed = runs.iter().any(|run| run.span.failure.is_some());
    let mut sample = Sample {
        ops: 0,
        latencies_ns: Vec::with_capacity(runs.iter().map(|run| run.latencies_ns.len()).sum()),
        elapsed_ns: elapsed_ns(&runs),
        warmup_ops: 0,
        requests: 0,
        ended_early: !failed && runs.iter().any(ClientRun::ended_early),
        failed_clients: 0,
        failure: None,
    };
    for (client, run) in runs.into_iter().enumerate() {
        sample.ops += run.span.ops;
        sample.latencies_ns.extend(run.latencies_ns);
        sample.warmup_ops += run.warmup_ops;
        sample.requests += run.requests;
        sample.failed_clients += u64::from(run.span.failure.is_some());
        sample.failure = sample.failure.or(run.span.failure.map(|error| (client + 1, error)));
    }
    sample
}

fn elapsed_ns(runs: &[ClientRun]) -> u64 {
    let start_ns = runs.iter().map(|run| run.span.start_ns).min();
    let end_ns = runs.iter().map(|run| run.span.end_ns).max();
    let paused_ns: u64 = runs.iter().map(|run| run.span.paused_ns).sum(); // only one that is alone pauses
    start_ns.zip(end_ns).map_or(0, |(start_ns, end_ns)| end_ns - start_ns - paused_ns)
}

impl ClientRun {
    /// Neither limit of its share was reached, so its room was full.
    fn ended_early(&self) -> bool {
        let time_ns = self.span.elapsed_ns();
        self.share.ops.is_none_or(|ops| self.span.ops < ops)
            && self.share.time_ns.is_none_or(|limit_ns| time_ns < limit_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        Load { warmup_ns: 1_000, budget: Budget { time_ns: None, ops: Some(ops) } }
    }

    fn run_all(clients: impl Into<Vec<Counting>>, ops: u64) -> (Sample, Vec<Counting>) {
        let clients = clients.into();
        run(clients, 1, load(ops))
    }

    #[test]
    fn ops_add_up_over_clients_and_warm_up_stays_out() {
        let clients = [Counting::default(), Counting::default(), Counting::default()];
        let (sample, clients) = run_all(clients, 100);
        assert_eq!(sample.latencies_ns.len(), 100);
        assert_eq!(sample.requests, 200);
        assert!(sample.warmup_ops > 0);
        let done: u64 = clients.iter().map(|client| client.ops).sum();
        assert_eq!(done, 100 + sample.warmup_ops);
        assert!(clients.iter().all(|client| client.hellos == 1));
        assert!(!sample.ended_early && sample.failure.is_none());
    }

    #[test]
    fn a_client_that_fails_stops_all_and_is_named() {
        let clients = [Counting::default(), Counting { fails_at: Some(0), ..Counting::default() }];
        let (sample, _) = run_all(clients, 1 << 20);
        let (client, error) = sample.failure.as_ref().expect("it failed");
        assert_eq!((*client, format!("{error:#}")), (2, "warm-up: op 0 broke".into()));
        assert_eq!(sample.failed_clients, 1);
        assert!(sample.latencies_ns.is_empty(), "nothing is measured after a failed warm-up");
    }

    #[test]
    fn a_client_that_fails_while_measured_stops_the_others_early() {
        // The second fails at its first measured op; the first would go on until its room is full.
        let clients = [Counting::default(), Counting { fails_at: Some(0), ..Counting::default() }];
        let load = Load { warmup_ns: 0, budget: Budget { time_ns: Some(u64::MAX), ops: None } };
        let (sample, clients) = run(clients.into(), 1, load);
        assert_eq!(sample.failure.expect("it failed").0, 2);
        assert_eq!(clients[1].ops, 0);
        assert!(clients[0].ops < 1 << 26, "its room was filled to the end");
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
            let (sample, _) = run(vec![Panicking(false), Panicking(true)], 1, load);
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
    fn a_share_that_met_neither_limit_ended_early() {
        let client_run = |ops, end_ns| ClientRun {
            warmup_ops: 0,
            latencies_ns: Vec::new(),
            span: Span { start_ns: 0, end_ns, paused_ns: 0, ops, failure: None },
            requests: 0,
            share: Budget { time_ns: Some(100), ops: Some(10) },
        };
        assert!(client_run(9, 99).ended_early());
        assert!(!client_run(10, 99).ended_early());
        assert!(!client_run(9, 100).ended_early());
    }

    #[test]
    fn elapsed_spans_all_clients() {
        let client_run = |start_ns, end_ns, paused_ns| ClientRun {
            warmup_ops: 0,
            latencies_ns: Vec::new(),
            span: Span { start_ns, end_ns, paused_ns, ops: 1, failure: None },
            requests: 0,
            share: Budget { time_ns: Some(1), ops: None },
        };
        assert_eq!(elapsed_ns(&[client_run(10, 90, 0), client_run(5, 80, 0)]), 85);
        assert_eq!(elapsed_ns(&[client_run(10, 90, 30)]), 50);
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
        let load = Load { warmup_ns: 1, budget: Budget { time_ns: None, ops: Some(2) } };
        let (_, clients) = run(vec![client(0), client(1)], 1, load);
        assert!(!clients[1].overtaken);
    }

    #[test]
    fn no_room_fails_the_sample() {
        let load = Load { warmup_ns: 0, budget: Budget { time_ns: None, ops: Some(u64::MAX) } };
        let (sample, clients) = run(vec![Counting::default()], 1, load);
        let (_, error) = sample.failure.expect("more than memory");
        assert!(error.to_string().contains("lower --time or --ops"), "{error}");
        assert_eq!(clients[0].ops, 0);
    }

    #[test]
    fn all_that_fail_are_counted_and_the_first_is_named() {
        let refusing = || Counting { refuses_hello: true, ..Counting::default() };
        let (sample, _) = run_all([refusing(), refusing(), refusing()], 10);
        assert_eq!((sample.failed_clients, sample.failure.expect("they failed").0), (3, 1));
        assert!(!sample.ended_early, "it failed, which is another thing");
    }

    #[test]
    fn one_limit_alone_ends_early_too() {
        let ended_early = |share, ops, end_ns| {
            let span = Span { start_ns: 0, end_ns, paused_ns: 0, ops, failure: None };
            let run = ClientRun { warmup_ops: 0, latencies_ns: Vec::new(), span, requests: 0, share };
            merge(vec![run]).ended_early
        };
        let by_time = Budget { time_ns: Some(100), ops: None };
        assert!(ended_early(by_time, 9, 99) && !ended_early(by_time, 9, 100));
        let by_ops = Budget { time_ns: None, ops: Some(10) };
        assert!(ended_early(by_ops, 9, 99) && !ended_early(by_ops, 10, 99));
    }
}
