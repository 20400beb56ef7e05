//! The harness allocates nothing inside the measured loop: an allocator that counts proves it.
#![allow(unsafe_code)] // an allocator cannot be written without; it only counts and passes on

use std::{
    alloc::{GlobalAlloc, Layout, System as SystemAllocator},
    cell::Cell,
    time::Duration,
};

use anyhow::Result;
use ledger_bench::{
    ledger::{self, Data, System},
    meter::Meter,
    plan::{Benchmark, Suite},
    runner::{self, Load, Work},
    suite::seed,
    timer::{Budget, Op},
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { SystemAllocator.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Passes on to a client, and sees whether anything was allocated between the ends of two ops.
struct Watched<W> {
    inner: W,
    last: Option<u64>,
    between: u64,
    ops: u64,
}

impl<W> Watched<W> {
    fn new(inner: W) -> Self {
        Self { inner, last: None, between: 0, ops: 0 }
    }
}

impl<W: Work> Op for Watched<W> {
    const IS_PREPARED: bool = W::IS_PREPARED;
    fn prepare(&mut self) -> Result<()> {
        self.inner.prepare()
    }
    fn begin(&mut self) -> Result<()> {
        self.inner.begin()
    }
    fn end(&mut self) -> Result<()> {
        self.inner.end()?;
        let now = ALLOCATIONS.get();
        self.between += self.last.map_or(0, |last| now - last);
        self.last = Some(now);
        self.ops += 1;
        Ok(())
    }
}

impl<W: Work> Work for Watched<W> {
    fn hello(&mut self) -> Result<()> {
        self.inner.hello()
    }
    fn requests(&self) -> u64 {
        self.inner.requests()
    }
}

/// Allocations between the ops of all clients, and how many ops there were.
fn allocations(benchmark: Benchmark, clients: usize) -> (u64, u64) {
    let mut server = ledger::connect(System::Memory, Duration::from_secs(1)).expect("memory");
    server.prepare(Data::Seed).expect("memory");
    let client = |_| {
        let client = seed::Client::connect(server.as_mut(), Meter::default(), benchmark, 10);
        Watched::new(client.expect("memory"))
    };
    let clients: Vec<_> = (0..clients).map(client).collect();
    let load = Load { warmup_ns: 0, budget: Budget { time_ns: None, ops: Some(2_000) } };
    let (sample, clients) = runner::run(clients, 1, load);
    assert!(sample.failure.is_none(), "{:?}", sample.failure);
    let total = |of: fn(&Watched<seed::Client>) -> u64| clients.iter().map(of).sum();
    (total(|client| client.between), total(|client| client.ops))
}

#[test]
fn nothing_is_allocated_between_ops() {
    for &benchmark in Suite::Seed.benchmarks() {
        let clients = if benchmark.takes_clients() { 2 } else { 1 };
        assert_eq!(allocations(benchmark, clients), (0, 2_000), "{benchmark}");
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let boxed = std::hint::black_box(Box::new(7));
    assert_eq!(ALLOCATIONS.get() - before, 1);
    drop(boxed);
}
