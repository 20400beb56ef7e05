//! Three real servers mean the same as the oracle. `./run.sh test` starts them.

use std::env;

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
    // One transfer a request has paths of its own.
    for largest in [1, 12] {
        let mut server = server(system);
        crowd::prove(&mut || client(server.as_mut()), largest)
            .unwrap_or_else(|error| panic!("{system}, requests of {largest} at most: {error:#}"));
    }
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
    audit_tables();
}

/// The tables have no CHECK constraints, which cost a fifth of a transfer: a query takes their place.
fn audit_tables() {
    let url = env::var("DATABASE_URL").expect("DATABASE_URL");
    let mut admin = postgres::Client::connect(&url, postgres::NoTls).expect("it answers");
    let mut violations = |change: &str| -> i64 {
        let mut transaction = admin.transaction().expect("begun");
        transaction.batch_execute(change).expect(change);
        transaction.query_one("SELECT ledger_bench.ledger_violations()", &[]).expect("counted").get(0)
    };
    assert_eq!(violations(""), 0);
    let overdraw = "UPDATE ledger_bench.ledger_accounts SET debits_posted = credits_posted + 1 WHERE limited";
    assert!(violations(overdraw) > 0);
    let forge = "INSERT INTO ledger_bench.ledger_transfers (id, debit_account_id, credit_account_id, amount, at, kind)
        SELECT gen_random_uuid(), id, id, 1, 0, 0 FROM ledger_bench.ledger_accounts LIMIT 1";
    assert!(violations(forge) > 0);
}
