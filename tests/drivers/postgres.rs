//! The ledger suite's PostgreSQL driver against the book in memory. `DATABASE_URL` names the server.

use std::{sync::Mutex, time::Duration};

use ledger_bench::{
    error::one_line,
    ledger::{
        self, Data, Durability, Ledger, Server, Style, System,
        ids::{Ids, Source},
        model::{Kind, NewAccount, Outcome, Refusal, Transfer},
    },
    meter::Meter,
};

/// The schema has one name, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());
const TIMEOUT: Duration = Duration::from_secs(10);

/// A freshly made ledger and one client of it.
struct Book {
    server: Box<dyn Server>,
    client: Box<dyn Ledger>,
}

impl Book {
    fn new(system: System, durability: Durability) -> Self {
        let mut server = ledger::connect(system, TIMEOUT).expect("a server");
        server.prepare(Data::Ledger(durability)).expect("it is made");
        let client = server.ledger_client(Style::OneCall, Meter::default()).expect("a client");
        Self { server, client }
    }
}

fn plain(id: u128, debit: u128, credit: u128, amount: u64) -> Transfer {
    Transfer { id, debit_account_id: debit, credit_account_id: credit, amount, ..Transfer::default() }
}

fn post(id: u128, pending_id: u128, amount: u64) -> Transfer {
    Transfer { id, kind: Kind::Post, amount, pending_id, ..Transfer::default() }
}

fn void(id: u128, pending_id: u128, amount: u64) -> Transfer {
    Transfer { kind: Kind::Void, ..post(id, pending_id, amount) }
}

#[test]
fn plain_batches_and_batches_of_holds_mean_the_same_as_in_memory() {
    let _turn = TURN.lock();
    let mut books = [System::Memory, System::Postgres].map(|system| Book::new(system, Durability::Shipped));
    let mut source = Source::new();
    let accounts: Vec<u128> = (0..5).map(|number| source.account(number)).collect();
    let new = |&id: &u128| NewAccount { id, debits_must_not_exceed_credits: id == accounts[0] };
    let new: Vec<_> = accounts.iter().map(new).collect();
    let mut ids = source.next_client();
    let batches = [
        batch(&mut ids, &accounts, Kind::Plain, ledger::EVENTS_MAX),
        batch(&mut ids, &accounts, Kind::Pending, 100),
    ];
    let ends = [0, 1].map(|parity| {
        let held = batches[1].iter().enumerate().filter(|(index, _)| index % 2 == parity);
        held.map(
            |(_, held)| if parity == 0 { post(ids.next(), held.id, 1) } else { void(ids.next(), held.id, 0) },
        )
        .collect::<Vec<_>>()
    });
    let read = books.each_mut().map(|book| {
        book.client.create_accounts(&new).expect("new accounts");
        // All prepared before the first is sent; the first again at the end, where all exist.
        let requests = batches.iter().chain(&ends).chain(&batches[..1]);
        requests.clone().for_each(|request| book.client.prepare(request).expect("prepared"));
        let refusals: Vec<_> = requests
            .map(|_| {
                book.client.submit().expect("submitted");
                book.client.receive().expect("an answer")
            })
            .collect();
        (
            refusals,
            book.client.accounts(&accounts).expect("accounts"),
            book.client.transfer_count().expect("count"),
        )
    });
    assert!(read[1] == read[0], "{:?} {:?}", read[1].1, read[0].1);
    assert!(
        read[1].0[0].iter().any(|refusal| refusal.outcome == Outcome::ExceedsCredits),
        "the limit is met"
    );
}

/// Transfers of 2 between all pairs of neighbours.
fn batch(ids: &mut Ids, accounts: &[u128], kind: Kind, count: usize) -> Vec<Transfer> {
    let pair = |index: usize| (accounts[index % accounts.len()], accounts[(index + 1) % accounts.len()]);
    let one = |index| Transfer { kind, ..plain(ids.next(), pair(index).0, pair(index).1, 2) };
    (0..count).map(one).collect()
}

#[test]
fn one_request_is_in_flight_and_accounts_are_made_once() {
    let _turn = TURN.lock();
    let mut book = Book::new(System::Postgres, Durability::Shipped);
    let account = NewAccount { id: 1, debits_must_not_exceed_credits: false };
    book.client.create_accounts(&[account]).expect("new");
    let error = book.client.create_accounts(&[account]).expect_err("it exists");
    assert!(one_line(&error).contains("ledger_accounts_key"), "{error}");
    assert!(book.client.submit().is_err(), "nothing is prepared");
    assert!(book.client.receive().is_err(), "nothing is in flight");
    for _ in 0..2 {
        book.client.prepare(&[plain(1, 1, 2, 1)]).expect("prepared");
    }
    book.client.submit().expect("submitted");
    assert!(book.client.submit().is_err(), "one is in flight");
    let refusals = book.client.receive().expect("an answer");
    assert_eq!(refusals, [Refusal { index: 0, outcome: Outcome::CreditAccountNotFound }]);
    book.server.clean_up().expect("removed");
}

#[test]
fn a_server_of_another_durability_is_refused() {
    let _turn = TURN.lock();
    let mut server = ledger::connect(System::Postgres, TIMEOUT).expect("a server");
    server.check_durability(Durability::Shipped).expect("whatever it is");
    let tiers = [Durability::Fsync, Durability::OsCache, Durability::Memory];
    let refused: Vec<_> = tiers.iter().filter_map(|&tier| server.check_durability(tier).err()).collect();
    // No server is of two tiers.
    assert!(refused.len() >= 2, "{refused:?}");
    for error in refused {
        assert!(error.to_string().contains("./run.sh"), "{error}");
    }
}

#[test]
fn the_early_way_means_the_same() {
    let _turn = TURN.lock();
    let mut book = Book::new(System::Postgres, Durability::Shipped);
    let account = |id, debits_must_not_exceed_credits| NewAccount { id, debits_must_not_exceed_credits };
    book.client.create_accounts(&[account(1, false), account(2, true)]).expect("new");
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL");
    let mut admin = postgres::Client::connect(&url, postgres::NoTls).expect("it answers");
    let mut early = |id: u32, debit: u32, credit: u32, amount: u32| -> Option<Vec<i32>> {
        let uuid = |id: u32| format!("'00000000-0000-0000-0000-{id:012x}'::uuid");
        let (id, debit, credit) = (uuid(id), uuid(debit), uuid(credit));
        let none = uuid(0);
        let call = format!(
            "CALL ledger_bench.ledger_one_early({id}, 0::smallint, {debit}, {credit}, {amount}, {none}, NULL)"
        );
        // Whether it had to wait is the machine's to say.
        let answer: Option<Vec<i32>> = admin.query_one(&call, &[]).expect("called").get(0);
        answer.filter(|answer| answer[0] != -2)
    };
    assert_eq!(early(10, 1, 2, 5), None);
    assert_eq!(early(10, 1, 2, 5), Some(vec![0, 46]), "exists");
    assert_eq!(early(11, 2, 1, 6), Some(vec![0, 54]), "exceeds_credits");
    assert_eq!(early(11, 2, 1, 1), Some(vec![0, 68]), "id_already_failed");
    assert_eq!(early(12, 2, 1, 5), None);
    let accounts = book.client.accounts(&[1, 2]).expect("accounts");
    let sums: Vec<_> =
        accounts.iter().flatten().map(|sums| (sums.debits_posted, sums.credits_posted)).collect();
    assert_eq!(sums, [(5, 5), (5, 5)]);
    assert_eq!(book.client.transfer_count().expect("a count"), Some(2));
}

#[test]
fn interactive_transfers_are_stored_as_by_one_call_and_each_statement_is_a_round_trip() {
    let _turn = TURN.lock();
    let mut book = Book::new(System::Postgres, Durability::Shipped);
    let account = |id, debits_must_not_exceed_credits| NewAccount { id, debits_must_not_exceed_credits };
    book.client.create_accounts(&[account(1, false), account(2, true)]).expect("new");
    let meter = Meter::default();
    let mut client = book.server.ledger_client(Style::Interactive, meter.clone()).expect("a client");
    let mut ask = |transfer: Transfer| {
        let before = meter.total();
        client.prepare(&[transfer]).expect("prepared");
        client.submit().expect("submitted");
        let refusal = client.receive().expect("an answer").pop();
        (refusal.map(|refusal| refusal.outcome), meter.total() - before)
    };
    assert_eq!(ask(plain(10, 1, 2, 5)), (None, 5), "BEGIN, SELECT, UPDATE, INSERT, COMMIT");
    // What is undone is asked for once more.
    assert_eq!(ask(plain(10, 1, 2, 5)), (Some(Outcome::Exists), 6));
    assert_eq!(ask(plain(11, 2, 1, 6)), (Some(Outcome::ExceedsCredits), 4));
    assert_eq!(ask(plain(11, 2, 1, 1)), (Some(Outcome::IdAlreadyFailed), 6));
    assert_eq!(ask(plain(12, 3, 1, 1)), (Some(Outcome::DebitAccountNotFound), 4));
    assert_eq!(ask(Transfer { kind: Kind::Pending, ..plain(13, 1, 2, 1) }), (None, 1), "not a plain one");
    book.client.prepare(&[plain(20, 1, 2, 5)]).expect("prepared");
    book.client.submit().expect("submitted");
    assert_eq!(book.client.receive().expect("an answer"), []);
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL");
    let mut admin = postgres::Client::connect(&url, postgres::NoTls).expect("it answers");
    let mut row = |id: u32| -> String {
        let stored = "SELECT (to_jsonb(t) - 'id' || jsonb_build_object('at', at % 8192))::text
             FROM ledger_bench.ledger_transfers t WHERE id = '00000000-0000-0000-0000-";
        admin.query_one(&format!("{stored}{id:012x}'"), &[]).expect("stored").get(0)
    };
    assert_eq!(row(10), row(20));
}
