//! The harness allocates nothing inside the measured loop: an allocator that counts proves it.
#![allow(unsafe_code)] // an allocator cannot be written without; it only counts and passes on

use std::{
    alloc::{GlobalAlloc, Layout, System as SystemAllocator},
    cell::Cell,
    time::Duration,
};

use anyhow::Result;
use ledger_bench::{
    ledger::{
        self, Account, Data, Description, Durability, Ledger, SeedLedger, Server, Style, System,
        model::{NewAccount, Refusal, Stored, Transfer},
    },
    meter::Meter,
    plan::{Benchmark, Case, Suite},
    runner::{self, Load, Loop, Work},
    suite::{self, seed},
    timer::{Budget, Op},
    watchdog::Board,
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

/// Ops in which a client of the ledger suite gets the buffer that it then uses again.
const FIRST_OPS: u64 = 2;

/// Passes on to a client, and sees whether anything was allocated between the ends of two ops.
struct Watched<W> {
    inner: W,
    ops_ignored: u64,
    last: Option<u64>,
    between: u64,
    ops: u64,
}

impl<W> Watched<W> {
    fn new(inner: W, ops_ignored: u64) -> Self {
        Self { inner, ops_ignored, last: None, between: 0, ops: 0 }
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
        if self.ops >= self.ops_ignored {
            self.between += self.last.map_or(0, |last| now - last);
        }
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
fn allocations<W: Work>(clients: Vec<Watched<W>>, in_flight: usize) -> (u64, u64) {
    let load = Load { warmup_ns: 0, budget: Budget { time_ns: None, ops: Some(2_000) }, interval_ns: None };
    let (sample, clients) = runner::run(clients, Loop::Closed { in_flight }, load);
    assert!(sample.failure.is_none(), "{:?}", sample.failure);
    let total = |of: fn(&Watched<W>) -> u64| clients.iter().map(of).sum();
    (total(|client| client.between), total(|client| client.ops))
}

fn case(suite: Suite, benchmark: Benchmark) -> Case {
    Case {
        durability: Durability::Memory,
        clients: if benchmark.takes_clients() { 2 } else { 1 },
        in_flight: if benchmark.takes_in_flight() { 3 } else { 1 },
        batch: 10,
        accounts: 100,
        skew_pct: 99,
        ..Case::plainest(suite, benchmark, System::Memory)
    }
}

#[test]
fn nothing_is_allocated_between_ops() {
    for &benchmark in Suite::Seed.benchmarks() {
        let case = case(Suite::Seed, benchmark);
        let mut server = ledger::connect(System::Memory, Duration::from_secs(1)).expect("memory");
        server.prepare(Data::Seed).expect("memory");
        let board = Board::new(case.clients as usize);
        let clients = seed::connect(server.as_mut(), &case, &board).expect("memory");
        let clients = clients.into_iter().map(|client| Watched::new(client, 0)).collect();
        assert_eq!(allocations(clients, 1), (0, 2_000), "{benchmark}");
    }
}

/// A server that does everything at once and keeps nothing, as what it keeps would be allocated.
struct Nothing;

impl Server for Nothing {
    fn check_durability(&mut self, _: Durability) -> Result<()> {
        Ok(())
    }
    fn prepare(&mut self, _: Data) -> Result<bool> {
        Ok(true)
    }
    fn seed_client(&mut self, _: Meter) -> Result<Box<dyn SeedLedger>> {
        anyhow::bail!("of the other suite")
    }
    fn ledger_client(&mut self, _: Style, _: Meter) -> Result<Box<dyn Ledger>> {
        Ok(Box::new(Self))
    }
    fn describe(&mut self) -> Result<Description> {
        Ok(Description::default())
    }
    fn clean_up(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Ledger for Nothing {
    fn hello(&mut self) -> Result<()> {
        Ok(())
    }
    fn create_accounts(&mut self, _: &[NewAccount]) -> Result<()> {
        Ok(())
    }
    fn prepare(&mut self, _: &[Transfer]) -> Result<()> {
        Ok(())
    }
    fn submit(&mut self) -> Result<()> {
        Ok(())
    }
    fn receive(&mut self) -> Result<Vec<Refusal>> {
        Ok(Vec::new())
    }
    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>> {
        Ok(vec![None; ids.len()])
    }
    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>> {
        Ok(vec![None; ids.len()])
    }
    fn transfer_count(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }
}

#[test]
fn nothing_is_allocated_between_ops_of_the_ledger_suite() {
    for &benchmark in Suite::Ledger.benchmarks() {
        let case = case(Suite::Ledger, benchmark);
        let board = Board::new(case.clients as usize);
        let clients = suite::ledger::connect(&mut Nothing, &case, 42, &board).expect("nothing");
        let clients = clients.into_iter().map(|client| Watched::new(client, FIRST_OPS)).collect();
        assert_eq!(allocations(clients, case.in_flight as usize), (0, 2_000), "{benchmark}");
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let boxed = std::hint::black_box(Box::new(7));
    assert_eq!(ALLOCATIONS.get() - before, 1);
    drop(boxed);
}
