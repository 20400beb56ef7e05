//! The ledger suite's PostgreSQL driver against the book in memory. `DATABASE_URL` names the server.

use std::{sync::Mutex, time::Duration};

use ledger_bench::{
    error::one_line,
    ledger::{
        self, Data, Durability, Ledger, Server, System,
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
    meter: Meter,
}

impl Book {
    fn new(system: System, durability: Durability) -> Self {
        let mut server = ledger::connect(system, TIMEOUT).expect("a server");
        server.prepare(Data::Ledger(durability)).expect("it is made");
        let meter = Meter::default();
        let client = server.ledger_client(meter.clone()).expect("a client");
        Self { server, client, meter }
    }

    fn request(&mut self, transfers: &[Transfer]) -> Vec<Refusal> {
        self.client.prepare(transfers).expect("prepared");
        self.client.submit().expect("submitted");
        self.client.receive().expect("an answer")
    }
}

fn plain(id: u128, debit: u128, credit: u128, amount: u64) -> Transfer {
    Transfer { id, debit_account_id: debit, credit_account_id: credit, amount, ..Transfer::default() }
}

fn pending(id: u128, debit: u128, credit: u128, amount: u64) -> Transfer {
    Transfer { kind: Kind::Pending, ..plain(id, debit, credit, amount) }
}

fn post(id: u128, pending_id: u128, amount: u64) -> Transfer {
    Transfer { id, kind: Kind::Post, amount, pending_id, ..Transfer::default() }
}

fn void(id: u128, pending_id: u128, amount: u64) -> Transfer {
    Transfer { kind: Kind::Void, ..post(id, pending_id, amount) }
}

/// Transfers whose meaning depends on those before. Account 1 has the limit, 9 does not exist.
fn sequence() -> Vec<Transfer> {
    const MOST: u64 = i64::MAX as u64;
    vec![
        plain(100, 1, 2, 1),           // exceeds_credits
        plain(101, 2, 1, 1_000),       // the limited account gets something
        plain(100, 1, 2, 1),           // id_already_failed, as a retry wants another id
        plain(102, 1, 1, 5),           // accounts_must_be_different
        plain(103, 9, 2, 5),           // debit_account_not_found
        plain(104, 1, 9, 5),           // credit_account_not_found
        plain(103, 2, 3, 5),           // id_already_failed
        plain(102, 3, 2, 5),           // the failure was not transient: the id is free
        plain(102, 3, 2, 5),           // exists
        plain(102, 3, 2, 6),           // ..._different_amount
        plain(102, 4, 2, 5),           // ..._different_debit_account_id
        plain(102, 3, 4, 5),           // ..._different_credit_account_id
        pending(102, 3, 2, 5),         // ..._different_flags
        pending(110, 1, 2, 600),       // holds
        pending(111, 1, 3, 500),       // exceeds_credits, by what is held
        post(112, 110, 601),           // exceeds_pending_transfer_amount
        void(113, 110, 599),           // pending_transfer_has_different_amount
        post(114, 114, 1),             // pending_id_must_be_different
        post(115, 0, 1),               // pending_id_must_not_be_zero
        post(116, 999, 1),             // pending_transfer_not_found
        post(116, 110, 1),             // id_already_failed
        post(117, 101, 1),             // pending_transfer_not_pending
        post(118, 110, 400),           // posts a part
        post(118, 110, 400),           // exists
        post(118, 110, 401),           // ..._different_amount
        post(118, 101, 400),           // ..._different_pending_id
        post(119, 110, 0),             // already_posted
        pending(120, 1, 4, 600),       // what was released can be held again
        void(121, 120, 0),             // voids all
        void(121, 120, 0),             // exists
        void(122, 120, 600),           // already_voided
        pending(123, 3, 4, 0),         // holds nothing
        post(124, 123, 0),             // posts nothing
        plain(130, 4, 3, MOST),        // the most there can be
        plain(131, 4, 2, 1),           // overflows_debits_posted
        plain(132, 2, 3, 1),           // overflows_credits_posted
        pending(133, 4, 2, 1),         // overflows_debits
        pending(134, 2, 3, 1),         // overflows_credits
        plain(u128::MAX - 1, 2, 1, 7), // all bits of an id count
    ]
}

/// The sequence, a request for `size` transfers at a time, then everything that can be read.
fn compare(size: usize, durability: Durability) {
    let mut books = [System::Memory, System::Postgres].map(|system| Book::new(system, durability));
    let accounts: Vec<_> =
        (1..=4).map(|id| NewAccount { id, debits_must_not_exceed_credits: id == 1 }).collect();
    let transfers = sequence();
    let ids: Vec<u128> = transfers.iter().map(|transfer| transfer.id).chain([999, 110, 110]).collect();
    let read = books.each_mut().map(|book| {
        book.client.hello().expect("an answer");
        book.client.create_accounts(&accounts).expect("new accounts");
        let refusals: Vec<_> = transfers.chunks(size).map(|chunk| book.request(chunk)).collect();
        let sums = book.client.accounts(&[4, 9, 1, 2, 3, 4]).expect("accounts");
        let stored = book.client.transfers(&ids).expect("transfers");
        let count = book.client.transfer_count().expect("a count");
        (refusals, sums, stored, count, book.client.retries(), book.meter.total())
    });
    let [memory, postgres] = &read;
    assert_eq!(postgres.0, memory.0, "refusals, {size} a request");
    assert_eq!(postgres.1, memory.1, "accounts, {size} a request");
    let transfers = read.each_ref().map(|read| read.2.iter().map(|one| one.map(|one| one.transfer)));
    let [memory_transfers, postgres_transfers] = transfers.map(Vec::from_iter);
    assert_eq!(postgres_transfers, memory_transfers, "transfers, {size} a request");
    let in_time = read.each_ref().map(|read| {
        let mut stored: Vec<_> = read.2.iter().flatten().collect();
        stored.sort_by_key(|one| one.timestamp);
        stored.iter().map(|one| one.transfer.id).collect::<Vec<_>>()
    });
    assert_eq!(in_time[1], in_time[0], "the order in time, {size} a request");
    assert_eq!((postgres.3, postgres.4, postgres.5), (memory.3, memory.4, memory.5), "{size} a request");
}

#[test]
fn a_sequence_means_the_same_as_in_memory() {
    let _turn = TURN.lock();
    for size in [1, 2, 5, 1_000] {
        compare(size, Durability::Fsync);
    }
    compare(7, Durability::Memory);
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
