//! What TigerBeetle's timestamps tell of the messages that transfers came in. `TIGERBEETLE_ADDRESS` names the server.

use std::time::Duration;

use ledger_bench::{
    ledger::{
        self, Data, Durability, Ledger, Style, System,
        ids::{Ids, Source},
        model::{NewAccount, Transfer},
    },
    meter::Meter,
    suite::Messages,
};

/// A request of so many transfers, and its reply.
fn send(ledger: &mut dyn Ledger, ids: &mut Ids, accounts: [u128; 2], count: usize) -> Vec<u128> {
    let [debit_account_id, credit_account_id] = accounts;
    let one = |_| Transfer {
        id: ids.next(),
        debit_account_id,
        credit_account_id,
        amount: 1,
        ..Transfer::default()
    };
    let transfers: Vec<Transfer> = (0..count).map(one).collect();
    ledger.prepare(&transfers).expect("prepared");
    ledger.submit().expect("submitted");
    transfers.iter().map(|transfer| transfer.id).collect()
}

#[test]
fn requests_sent_one_by_one_are_messages_of_their_own() {
    let mut server = ledger::connect(System::Tigerbeetle, Duration::from_secs(30)).expect("a server");
    server.prepare(Data::Ledger(Durability::Fsync)).expect("it answers");
    let mut ledger = server.ledger_client(Style::OneCall, Meter::default()).expect("a client");
    let mut source = Source::new();
    let accounts = [source.account(0), source.account(1)];
    let new = accounts.map(|id| NewAccount { id, debits_must_not_exceed_credits: false });
    ledger.create_accounts(&new).expect("new accounts");
    let mut ids = source.next_client();
    let mut times = |sizes: &[usize]| -> Vec<u64> {
        let mut sent = Vec::new();
        for &size in sizes {
            sent.extend(send(ledger.as_mut(), &mut ids, accounts, size));
            assert_eq!(ledger.receive().expect("a reply"), []);
        }
        let stored = ledger.transfers(&sent).expect("looked up");
        stored.into_iter().map(|stored| stored.expect("stored").timestamp).collect()
    };
    let found = Messages::of(&times(&[3, 5, 1])).expect("told");
    assert_eq!(found, Messages { count: 3, transfers: 9, transfers_max: 5 });
    let found = Messages::of(&times(&[1; 500])).expect("told");
    assert_eq!(found, Messages { count: 500, transfers: 500, transfers_max: 1 });
}
