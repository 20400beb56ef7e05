//! Three real servers mean the same as the oracle. `./run.sh test` starts them.

use std::{collections::BTreeSet, env};

use ledger_bench::ledger::{EVENTS_MAX, Ledger, Style, System};
use proof::{
    client, client_in, crowd,
    sequence::{expected_outcomes, search},
    server,
};

mod proof;

/// Generated sequences a system.
const CASES: u32 = 2_000;
/// And those whose every transfer is a request of its own, which has paths of its own.
const CASES_ALONE: u32 = 300;

/// TigerBeetle's own sums hold 128 bits: it does not refuse what leaves 63.
fn prove_sequences(system: System, style: Style, huge: bool) {
    let (mut server, mut oracle) = (server(system), server(System::Memory));
    let mut ledger = client_in(style, server.as_mut());
    let runs: &[(u32, usize)] = match style {
        Style::OneCall => &[(CASES, EVENTS_MAX), (CASES_ALONE, 1)],
        Style::Interactive => &[(CASES, 1)], // of more at once it asks by one call
    };
    let mut met = BTreeSet::new();
    for &(cases, largest) in runs {
        let found = search(ledger.as_mut(), client(oracle.as_mut()).as_mut(), cases, largest, huge)
            .unwrap_or_else(|difference| panic!("{system}, {style}: {difference}"));
        met.extend(found.into_keys());
    }
    assert_eq!(met.into_iter().collect::<Vec<_>>(), expected_outcomes(huge));
}

fn prove_crowd(system: System, styles: &[Style]) {
    for largest in [1, 12] {
        let mut server = server(system);
        let mut styles = styles.iter().copied().cycle();
        let mut connect = || -> Box<dyn Ledger> {
            client_in(styles.next().expect("they come round and round"), server.as_mut())
        };
        crowd::prove(&mut connect, largest)
            .unwrap_or_else(|error| panic!("{system}, requests of {largest} at most: {error:#}"));
    }
}

#[test]
fn tigerbeetle_means_the_same() {
    prove_sequences(System::Tigerbeetle, Style::OneCall, false);
    prove_crowd(System::Tigerbeetle, &[Style::OneCall]);
}

#[test]
fn redis_means_the_same() {
    prove_sequences(System::Redis, Style::OneCall, true);
    prove_crowd(System::Redis, &[Style::OneCall]);
}

#[test]
fn postgres_means_the_same() {
    for style in [Style::OneCall, Style::Interactive] {
        prove_sequences(System::Postgres, style, true);
        prove_crowd(System::Postgres, &[style]);
        audit_tables();
    }
    // Neither may make the other wait for ever, or overlook what it has done.
    prove_crowd(System::Postgres, &[Style::OneCall, Style::Interactive]);
    audit_tables();
}

/// The tables have neither CHECK constraints nor foreign keys, which cost too much: a query takes
/// their place, and triggers keep what is stored.
fn audit_tables() {
    let url = env::var("DATABASE_URL").expect("DATABASE_URL");
    let mut admin = postgres::Client::connect(&url, postgres::NoTls).expect("it answers");
    let mut violations = |change: &str| -> i64 {
        let mut transaction = admin.transaction().expect("begun");
        // As no writer but the functions should.
        transaction.batch_execute("SET LOCAL session_replication_role = replica").expect("without triggers");
        transaction.batch_execute(change).expect(change);
        transaction.query_one("SELECT ledger_bench.ledger_violations()", &[]).expect("counted").get(0)
    };
    assert_eq!(violations(""), 0);
    let (accounts, transfers) = ("ledger_bench.ledger_accounts", "ledger_bench.ledger_transfers");
    for forgery in [
        format!("UPDATE {accounts} SET debits_posted = credits_posted + 1 WHERE limited"),
        format!("UPDATE {accounts} SET credits_posted = credits_posted + 1 WHERE NOT limited"),
        format!("UPDATE {accounts} SET id = gen_random_uuid() WHERE limited"),
        format!("UPDATE {transfers} SET amount = amount + 1 WHERE kind = 0"),
        format!("UPDATE {transfers} SET credit_account_id = debit_account_id WHERE kind = 0"),
        format!("UPDATE {transfers} SET pending_id = gen_random_uuid() WHERE kind = 2"),
        format!("UPDATE {transfers} SET pending_id = NULL WHERE kind = 3"),
        format!("DELETE FROM {transfers} WHERE kind = 1"),
    ] {
        assert!(violations(&forgery) > 0, "{forgery}");
    }
    for change in [
        format!("UPDATE {transfers} SET amount = 1"),
        format!("DELETE FROM {transfers}"),
        format!("TRUNCATE {transfers}"),
        format!("DELETE FROM {accounts}"),
        format!("TRUNCATE {accounts}"),
        format!("UPDATE {accounts} SET limited = false"),
    ] {
        let error = admin.batch_execute(&change).expect_err(&change);
        assert!(
            error.as_db_error().is_some_and(|error| error.message().ends_with("is refused")),
            "{error:?}"
        );
    }
}
