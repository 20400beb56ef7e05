//! Three real servers mean the same as the oracle. `./run.sh test` starts them.

use ledger_bench::ledger::System;
use proof::{
    client, crowd,
    sequence::{expected_outcomes, search},
    server,
};

mod proof;

/// Generated sequences a system.
const CASES: u32 = 2_000;

/// TigerBeetle's own sums hold 128 bits: it does not refuse what leaves 63.
fn prove_sequences(system: System, huge: bool) {
    let (mut server, mut oracle) = (server(system), server(System::Memory));
    let mut ledger = client(server.as_mut());
    let met = search(ledger.as_mut(), client(oracle.as_mut()).as_mut(), CASES, huge)
        .unwrap_or_else(|difference| panic!("{system}: {difference}"));
    assert_eq!(met.into_keys().collect::<Vec<_>>(), expected_outcomes(huge));
}

fn prove_crowd(system: System) {
    let mut server = server(system);
    crowd::prove(&mut || client(server.as_mut())).unwrap_or_else(|error| panic!("{system}: {error:#}"));
    server.clean_up().expect("cleaned up");
}

#[test]
fn tigerbeetle_means_the_same() {
    prove_sequences(System::Tigerbeetle, false);
    prove_crowd(System::Tigerbeetle);
}

#[test]
fn redis_means_the_same() {
    prove_sequences(System::Redis, true);
    prove_crowd(System::Redis);
}

#[test]
fn postgres_means_the_same() {
    prove_sequences(System::Postgres, true);
    prove_crowd(System::Postgres);
}
