//! The proofs of the ledger suite, without a server: the oracle passes them, and a ledger with one
//! fault fails each of them. `tests/ledgers.rs` runs them on the real systems.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use broken::{Broken, BrokenServer, Fault};
use ledger_bench::{
    ledger::{Durability, EVENTS_MAX, Ledger, System, model::Outcome},
    plan::{Benchmark, Case, Suite},
    runner::Load,
    suite::{Clients, Surroundings},
    timer::Budget,
    watchdog::Board,
};
use proof::{
    client, crowd,
    sequence::{expected_outcomes, search},
    server,
};

mod broken;
mod proof;

const FAULTS: [Fault; 4] = [Fault::LosesWrite, Fault::DoublesWrite, Fault::WrongAmount, Fault::IgnoresLimit];

fn found_by_sequences(fault: Fault, cases: u32, huge: bool) -> Result<Vec<Outcome>, String> {
    let (mut oracle, mut memory) = (server(System::Memory), server(System::Memory));
    let mut ledger = Broken::new(client(memory.as_mut()), fault, &Arc::default());
    let met = search(&mut ledger, client(oracle.as_mut()).as_mut(), cases, EVENTS_MAX, huge)?;
    Ok(met.into_keys().collect())
}

#[test]
fn the_sequences_meet_every_outcome() {
    let met = found_by_sequences(Fault::None, 1_000, true).expect("it is the oracle itself");
    assert_eq!(met, expected_outcomes(true));
    let met = found_by_sequences(Fault::None, 1_000, false).expect("it is the oracle itself");
    assert_eq!(met, expected_outcomes(false));
}

#[test]
fn sequences_find_every_fault_and_shrink_it() {
    for fault in FAULTS {
        let difference = found_by_sequences(fault, 1_000, true).expect_err("it is broken");
        assert!(difference.starts_with("[[step("), "{difference}");
    }
}

fn found_by_a_crowd(fault: Fault) -> anyhow::Result<()> {
    let mut memory = server(System::Memory);
    let seen = Arc::new(AtomicU64::new(0));
    let mut connect = || Box::new(Broken::new(client(memory.as_mut()), fault, &seen)) as Box<dyn Ledger>;
    crowd::prove(&mut connect, 12)
}

#[test]
fn a_crowd_finds_every_fault() {
    found_by_a_crowd(Fault::None).expect("it is the oracle itself");
    for fault in FAULTS {
        found_by_a_crowd(fault).expect_err("it is broken");
    }
}

fn case(benchmark: Benchmark) -> Case {
    Case {
        durability: Durability::Memory,
        clients: if benchmark.takes_clients() { 3 } else { 1 },
        in_flight: if benchmark.takes_in_flight() { 4 } else { 1 },
        batch: if benchmark.takes_batch() { 20 } else { 1 },
        accounts: 10,
        skew_pct: 50,
        ..Case::plainest(Suite::Ledger, benchmark, System::Memory)
    }
}

/// What is said of a sample of 90 ops on a server with a fault.
fn found_after_a_sample(benchmark: Benchmark, fault: Fault) -> Option<String> {
    found_after(case(benchmark), fault)
}

fn found_after(case: Case, fault: Fault) -> Option<String> {
    let mut server = BrokenServer::new(server(System::Memory), fault);
    let board = Board::new(case.clients as usize);
    let around = Surroundings { seed: 42, timeout: Duration::from_secs(30), data: None, board: &board };
    let mut clients = Clients::connect(&mut server, &case, &around).expect("connected");
    if let Err(error) = clients.set_up(&mut server) {
        return Some(format!("{error:#}"));
    }
    let funded = u64::from(case.accounts) + case.preload;
    assert_eq!(clients.stored(), Some(funded));
    let load = Load { warmup_ns: 0, budget: Budget { time_ns: None, ops: Some(90) }, interval_ns: None };
    let (sample, mut clients) = clients.run(&case, load, 42);
    if let Some((_, error)) = sample.failure {
        return Some(format!("{error:#}"));
    }
    assert_eq!(sample.latencies.len(), 90);
    clients.verify(&case, sample.warmup_ops).err().map(|error| format!("{error:#}"))
}

#[test]
fn the_check_after_a_sample_finds_every_fault() {
    for &benchmark in Suite::Ledger.benchmarks() {
        assert_eq!(found_after_a_sample(benchmark, Fault::None), None, "{benchmark}");
        let found = |fault| found_after_a_sample(benchmark, fault).unwrap_or_default();
        let lost = found(Fault::LosesWrite);
        let lost_hold = "refused, the first (number 1 of the request) as pending_transfer_not_found";
        assert!(lost.contains("was acknowledged and is not stored") || lost.contains(lost_hold), "{lost}");
        let doubled = found(Fault::DoublesWrite);
        assert!(doubled.contains(" too high"), "{benchmark}: {doubled}");
        let wrong = found(Fault::WrongAmount);
        let refused = "as exceeds_pending_transfer_amount";
        assert!(wrong.contains(" instead of ") || wrong.contains(refused), "{benchmark}: {wrong}");
        let overdrawn = found(Fault::IgnoresLimit);
        let expected = "must be refused as exceeds_credits and was answered by ok";
        assert!(overdrawn.contains(expected), "{benchmark}: {overdrawn}");
    }
}

#[test]
fn what_was_stored_before_a_sample_is_checked_after_it() {
    // Not in requests that are all full, and not all of it looked up by its id.
    let preload = 3 * 8_189 + 50;
    let found = |fault| found_after(Case { preload, ..case(Benchmark::Parallel) }, fault);
    assert_eq!(found(Fault::None), None);
    let lost = found(Fault::LosesWrite).unwrap_or_default();
    assert!(lost.starts_with("stored before the sample: ") && lost.ends_with(" and is not stored"), "{lost}");
    let wrong = found(Fault::WrongAmount).unwrap_or_default();
    assert!(wrong.starts_with("stored before the sample: stored is "), "{wrong}");
    let doubled = found(Fault::DoublesWrite).unwrap_or_default();
    assert!(doubled.contains(" too high"), "{doubled}");
}

#[test]
fn one_transfer_that_is_lost_where_none_is_looked_up_shows_in_the_sums() {
    // Of the second request no id is looked up.
    let found =
        found_after(Case { clients: 1, preload: 2 * 8_189, ..case(Benchmark::Parallel) }, Fault::LosesOne);
    let lost = found.unwrap_or_default();
    assert!(lost.contains("debits_posted is ") && lost.contains(": 10 too low"), "{lost}");
}
