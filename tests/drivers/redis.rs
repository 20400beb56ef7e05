//! A real Redis against the ledger in memory: the same requests, the same answers. `REDIS_URL` names
//! the server.

#![cfg(feature = "servers")]

use std::{
    env,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ledger_bench::{
    error::BadInput,
    ledger::{
        self, Data, Durability, Ledger, Server, Style, System,
        model::{Kind, NewAccount, Stored, Transfer},
    },
    meter::Meter,
};

const TIMEOUT: Duration = Duration::from_secs(5);
const ACCOUNTS: [u128; 4] = [1, 2, 1 << 64, u128::MAX - 1];
/// The account that may not be overdrawn.
const LIMITED: u128 = 2;
const UNKNOWN: u128 = 77;

/// The library belongs to the whole server, so one test has it at a time.
fn alone() -> MutexGuard<'static, ()> {
    static SERVER: Mutex<()> = Mutex::new(());
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connection() -> redis::Connection {
    let url = env::var("REDIS_URL").expect("REDIS_URL");
    redis::Client::open(url).expect("a url").get_connection().expect("redis")
}

fn client(system: System) -> (Box<dyn Server>, Box<dyn Ledger>) {
    let mut server = ledger::connect(system, TIMEOUT).expect("a server");
    server.prepare(Data::Ledger(Durability::Shipped)).expect("an empty ledger");
    let mut client = server.ledger_client(Style::OneCall, Meter::default()).expect("a client");
    client.hello().expect("it answers");
    let accounts = ACCOUNTS.map(|id| NewAccount { id, debits_must_not_exceed_credits: id == LIMITED });
    client.create_accounts(&accounts).expect("accounts");
    (server, client)
}

fn moved(id: u128, kind: Kind, debit_account_id: u128, credit_account_id: u128, amount: u64) -> Transfer {
    Transfer { id, kind, debit_account_id, credit_account_id, amount, pending_id: 0 }
}

fn ended(id: u128, kind: Kind, pending_id: u128, amount: u64) -> Transfer {
    Transfer { id, kind, amount, pending_id, ..Transfer::default() }
}

fn in_order(stored: Vec<Option<Stored>>) -> Vec<Transfer> {
    let mut stored = stored.into_iter().flatten().collect::<Vec<_>>();
    stored.sort_by_key(|one| one.timestamp);
    assert!(stored.windows(2).all(|pair| pair[0].timestamp < pair[1].timestamp), "no two at once");
    stored.into_iter().map(|one| one.transfer).collect()
}

fn assert_same(ledgers: &mut [Box<dyn Ledger>; 2], ids: &[u128]) {
    let accounts = [&ACCOUNTS[..], &[UNKNOWN], &ACCOUNTS[..2]].concat();
    let both = ledgers.each_mut().map(|ledger| ledger.accounts(&accounts).expect("accounts"));
    assert_eq!(both[0], both[1]);
    let both = ledgers.each_mut().map(|ledger| ledger.transfers(ids).expect("transfers"));
    let places = both.each_ref().map(|found| found.iter().map(Option::is_some).collect::<Vec<_>>());
    assert_eq!(places[0], places[1]);
    let [ours, theirs] = both.map(in_order);
    assert_eq!(ours, theirs);
    let both = ledgers.each_mut().map(|ledger| ledger.transfer_count().expect("a count"));
    assert_eq!(both[0], both[1]);
}

#[test]
fn the_largest_requests_pass_and_several_are_in_flight() {
    let _alone = alone();
    let ((mut server, redis), (_, memory)) = (client(System::Redis), client(System::Memory));
    let mut ledgers = [redis, memory];
    let [a, _, c, d] = ACCOUNTS;
    let batch = |first: u128, count: u128, kind| {
        let transfers =
            (first..first + count).map(|id| moved(id, kind, [a, c][usize::from(id % 2 == 0)], d, 3));
        transfers.collect::<Vec<_>>()
    };
    let posts = (1..=8_189).map(|id| ended(10_000 + id, Kind::Post, id, 2)).collect::<Vec<_>>();
    let one = vec![moved(30_000, Kind::Plain, LIMITED, a, 1)];
    let requests = [batch(1, 8_189, Kind::Pending), posts, one, batch(20_000, 500, Kind::Plain)];
    let answers = ledgers.each_mut().map(|ledger| {
        for request in &requests {
            ledger.prepare(request).expect("prepared");
        }
        for _ in &requests {
            ledger.submit().expect("sent");
        }
        requests.iter().map(|_| ledger.receive().expect("a reply")).collect::<Vec<_>>()
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 1, 0]);
    for ids in [1..8_190, 10_000..18_189, 18_189..26_000, 30_000..30_001] {
        assert_same(&mut ledgers, &ids.collect::<Vec<_>>());
    }
    server.clean_up().expect("cleaned up");
}

#[test]
fn only_our_own_key_and_library_are_touched() {
    let _alone = alone();
    let mut admin = connection();
    let library = |admin: &mut redis::Connection| -> usize {
        let found: Vec<redis::Value> = redis::cmd("FUNCTION")
            .arg("LIST")
            .arg("LIBRARYNAME")
            .arg("ledger_bench")
            .query(admin)
            .expect("a list");
        found.len()
    };
    redis::cmd("SET").arg("somebody:else:s").arg("kept").exec(&mut admin).expect("set");
    let (mut server, _client) = client(System::Redis);
    let is_empty = server.prepare(Data::Ledger(Durability::Shipped)).expect("again");
    assert!(!is_empty, "it holds other data");
    assert_eq!(library(&mut admin), 1);
    server.clean_up().expect("cleaned up");
    let keys: Vec<String> = redis::cmd("KEYS").arg("*:ledger").query(&mut admin).expect("keys");
    assert_eq!((keys.len(), library(&mut admin)), (0, 0));
    redis::cmd("DEL").arg("somebody:else:s").exec(&mut admin).expect("it was kept");

    let theirs = "#!lua name=ledger_bench\nredis.register_function('gold', function() return 1 end)";
    redis::cmd("FUNCTION").arg("LOAD").arg(theirs).exec(&mut admin).expect("loaded");
    let error = server.prepare(Data::Ledger(Durability::Shipped)).expect_err("it is theirs");
    assert!(format!("{error:#}").contains("was not made by this program"), "{error:#}");
    server.clean_up().expect("ours is gone already");
    assert_eq!(library(&mut admin), 1);
    redis::cmd("FUNCTION").arg("DELETE").arg("ledger_bench").exec(&mut admin).expect("it was kept");
}

#[test]
fn a_server_of_another_tier_is_refused() {
    let _alone = alone();
    let mut admin = connection();
    let get = |admin: &mut redis::Connection, name: &str| -> String {
        let [_, value]: [String; 2] =
            redis::cmd("CONFIG").arg("GET").arg(name).query(admin).expect("a setting");
        value
    };
    let set = |admin: &mut redis::Connection, name: &str, value: &str| {
        redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec(admin).expect("set");
    };
    let before = ["appendonly", "appendfsync", "save"].map(|name| (name, get(&mut admin, name)));
    let mut server = ledger::connect(System::Redis, TIMEOUT).expect("a server");
    let tiers = [Durability::Fsync, Durability::OsCache, Durability::Memory];
    let has = [("yes", "always", "3600 1"), ("yes", "no", ""), ("no", "everysec", "")];
    for (tier, (appendonly, appendfsync, save)) in tiers.into_iter().zip(has) {
        set(&mut admin, "appendonly", appendonly);
        set(&mut admin, "appendfsync", appendfsync);
        set(&mut admin, "save", save);
        server.check_durability(Durability::Shipped).expect("asks for nothing");
        for asked in tiers {
            let checked = server.check_durability(asked);
            assert_eq!(checked.is_ok(), asked == tier, "{asked} of a server for {tier}: {checked:?}");
            let Err(error) = checked else { continue };
            assert!(error.downcast_ref::<BadInput>().is_some());
            let told = error.to_string();
            assert!(
                told.contains(&format!("appendonly={appendonly}")) && told.contains("./run.sh"),
                "{told}"
            );
        }
    }
    for (name, value) in &before {
        set(&mut admin, name, value);
    }
}
