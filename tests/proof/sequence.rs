//! Generated sequences of batches: each system gives the same results, balances and stored
//! transfers as the oracle. Ids, accounts and amounts come from small sets, so that repeats,
//! unknown accounts, overdrafts and holds ended twice are the rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use ledger_bench::ledger::{
    Ledger,
    ids::Source,
    model::{Kind, NewAccount, Outcome, Refusal, Stored, Transfer},
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

/// Accounts 0 and 1 may be overdrawn, 2 and 3 may not, 4 does not exist.
const ACCOUNTS: u8 = 5;
/// Ids that a sequence chooses from.
const IDS: u8 = 12;
/// Stands for an id that no other step has.
const FRESH: u8 = u8::MAX;
const AMOUNTS: [u64; 4] = [0, 1, 2, 10];
/// 2^53 is where doubles lose the unit.
const LARGE_AMOUNTS: [u64; 3] = [(1 << 53) - 1, 1 << 53, (1 << 53) + 1];
/// TigerBeetle's own sums hold 128 bits, so these refuse where it does not.
const HUGE_AMOUNTS: [u64; 3] = [1 << 62, i64::MAX as u64 - 1, i64::MAX as u64];

/// One transfer, by small numbers.
#[derive(Clone, Copy)]
pub struct Step {
    pub kind: Kind,
    pub id: u8,
    pub debit: u8,
    pub credit: u8,
    pub amount: u64,
    /// The id of a hold; [`IDS`] stands for 0.
    pub pending: u8,
}

/// Short, as a shrunk sequence is to become a test.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, id, debit, credit, amount, pending } = self;
        write!(f, "step({kind:?}, {id}, {debit}, {credit}, {amount}, {pending})")
    }
}

/// A step in the words of [`Step`]'s debug form.
pub fn step(kind: Kind, id: u8, debit: u8, credit: u8, amount: u64, pending: u8) -> Step {
    Step { kind, id, debit, credit, amount, pending }
}

pub type Sequence = Vec<Vec<Step>>;

/// Anything; most of it is refused.
fn wild(huge: bool) -> impl Strategy<Value = Step> {
    let kinds = prop_oneof![
        3 => Just(Kind::Plain), 4 => Just(Kind::Pending), 4 => Just(Kind::Post), 3 => Just(Kind::Void)
    ];
    let mut large = LARGE_AMOUNTS.to_vec();
    large.extend(if huge { HUGE_AMOUNTS.as_slice() } else { &[] });
    let amounts =
        prop_oneof![3 => proptest::sample::select(&AMOUNTS[..]), 1 => proptest::sample::select(large)];
    let account = || prop_oneof![3 => 0_u8..2, 2 => 0..ACCOUNTS];
    (kinds, 0..IDS, account(), account(), amounts, 0..=IDS)
        .prop_map(|(kind, id, debit, credit, amount, pending)| step(kind, id, debit, credit, amount, pending))
}

/// What a well-behaved client sends: nothing but the limit can be in its way.
fn tame() -> impl Strategy<Value = Vec<Step>> {
    let kinds = prop_oneof![9 => Just(Kind::Plain), 1 => Just(Kind::Pending)];
    let steps = (kinds, 0..ACCOUNTS - 1, 1..ACCOUNTS - 1, proptest::sample::select(&AMOUNTS[..])).prop_map(
        |(kind, debit, further, amount)| {
            step(kind, FRESH, debit, (debit + further) % (ACCOUNTS - 1), amount, IDS)
        },
    );
    proptest::collection::vec(steps, 1..30)
}

/// A fast path has to notice the one step that it is not for.
fn tame_but_for_one(huge: bool) -> impl Strategy<Value = Vec<Step>> {
    (tame(), wild(huge), any::<proptest::sample::Index>()).prop_map(|(mut batch, one, place)| {
        batch.insert(place.index(batch.len() + 1), one);
        batch
    })
}

fn sequences(huge: bool) -> impl Strategy<Value = Sequence> {
    let batch = prop_oneof![
        2 => proptest::collection::vec(wild(huge), 1..16),
        1 => tame(),
        1 => tame_but_for_one(huge),
    ];
    // A client that heard no answer asks again.
    let again = proptest::option::of(any::<proptest::sample::Index>());
    (proptest::collection::vec(batch, 1..7), again).prop_map(|(mut batches, again)| {
        batches.extend(again.map(|place| place.get(&batches).clone()));
        batches
    })
}

/// A sequence with ids of its own, as a ledger forgets nothing.
struct Script {
    accounts: Vec<u128>,
    requests: Vec<Vec<Transfer>>,
    /// All ids that the requests have.
    ids: BTreeSet<u128>,
}

impl Script {
    fn new(source: &mut Source, sequence: &Sequence) -> Self {
        let mut fresh = source.next_client();
        let accounts: Vec<u128> = (0..ACCOUNTS).map(|_| fresh.next()).collect();
        let ids: Vec<u128> = (0..IDS).map(|_| fresh.next()).collect();
        let mut transfer = |step: &Step| {
            let account = |number: u8| accounts[usize::from(number)];
            let ends = step.kind.ends_pending();
            let pending_id = ids.get(usize::from(step.pending)).copied().unwrap_or(0);
            Transfer {
                id: ids.get(usize::from(step.id)).copied().unwrap_or_else(|| fresh.next()),
                kind: step.kind,
                debit_account_id: if ends { 0 } else { account(step.debit) },
                credit_account_id: if ends { 0 } else { account(step.credit) },
                amount: step.amount,
                pending_id: if ends { pending_id } else { 0 },
            }
        };
        let requests: Vec<Vec<_>> =
            sequence.iter().map(|batch| batch.iter().map(&mut transfer).collect()).collect();
        let ids = requests.iter().flatten().map(|transfer| transfer.id).collect();
        Self { accounts, requests, ids }
    }

    fn new_accounts(&self) -> Vec<NewAccount> {
        let known = self.accounts.iter().take(usize::from(ACCOUNTS) - 1).enumerate();
        known.map(|(n, &id)| NewAccount { id, debits_must_not_exceed_credits: n >= 2 }).collect()
    }
}

/// What a ledger makes of a sequence: everything that can be seen of it.
#[derive(Debug, PartialEq)]
struct Seen {
    refusals: Vec<Vec<Refusal>>,
    accounts: Vec<Option<ledger_bench::ledger::Account>>,
    /// With the place of each in the order of time.
    transfers: Vec<Option<(Transfer, usize)>>,
    stored: Option<u64>,
}

fn play(ledger: &mut dyn Ledger, script: &Script) -> anyhow::Result<Seen> {
    ledger.create_accounts(&script.new_accounts())?;
    let before = ledger.transfer_count()?;
    let mut refusals = Vec::new();
    for request in &script.requests {
        ledger.prepare(request)?;
        ledger.submit()?;
        refusals.push(ledger.receive()?);
    }
    let after = ledger.transfer_count()?;
    let ids: Vec<u128> = script.ids.iter().copied().collect();
    Ok(Seen {
        refusals,
        accounts: ledger.accounts(&script.accounts)?,
        transfers: in_order(ledger.transfers(&ids)?),
        stored: after.zip(before).map(|(after, before)| after - before),
    })
}

/// Each transfer with its place in time.
fn in_order(found: Vec<Option<Stored>>) -> Vec<Option<(Transfer, usize)>> {
    let mut times: Vec<u64> = found.iter().flatten().map(|stored| stored.timestamp).collect();
    times.sort_unstable();
    let place = |timestamp| times.iter().position(|&time| time == timestamp).expect("it is one of them");
    found.into_iter().map(|one| one.map(|stored| (stored.transfer, place(stored.timestamp)))).collect()
}

/// Plays a sequence on both and tells where they differ.
pub fn compare(
    ledger: &mut dyn Ledger,
    oracle: &mut dyn Ledger,
    source: &mut Source,
    sequence: &Sequence,
) -> Result<Vec<Outcome>, String> {
    let script = Script::new(source, sequence);
    let expected = play(oracle, &script).expect("the oracle answers");
    let mut found = play(ledger, &script).map_err(|error| format!("{error:#}"))?;
    if found.stored.is_none() {
        found.stored = expected.stored; // it cannot be asked
    }
    if found == expected {
        Ok(expected.refusals.iter().flatten().map(|refusal| refusal.outcome).collect())
    } else {
        Err(format!("found {found:#?}\nexpected {expected:#?}"))
    }
}

/// Sequences that differed once, as they were shrunk, and those that chance is slow to find.
fn known() -> Vec<Sequence> {
    let plain = |debit, credit, amount| step(Kind::Plain, FRESH, debit, credit, amount, IDS);
    let hold = |id, debit, credit, amount| step(Kind::Pending, id, debit, credit, amount, IDS);
    vec![
        // Redis: a hold whose posting would overflow was refused by the name of a later check.
        vec![vec![plain(1, 2, 1)], vec![hold(0, 1, 0, i64::MAX as u64)]],
        // A void of all, repeated.
        vec![
            vec![hold(0, 0, 1, 7)],
            vec![step(Kind::Void, 1, 0, 0, 0, 0)],
            vec![step(Kind::Void, 1, 0, 0, 0, 0), step(Kind::Void, 1, 0, 0, 7, 0)],
        ],
        // What is pending and what is posted fit by themselves, not together: debits, then credits, in
        // a batch of holds, in one of plain transfers, and alone.
        vec![
            vec![hold(FRESH, 0, 2, 1 << 62)],
            vec![hold(FRESH, 0, 1, 1), plain(0, 3, 1 << 62)],
            vec![plain(1, 3, 1), plain(0, 3, 1 << 62)],
            vec![plain(0, 3, 1 << 62)],
            vec![hold(FRESH, 1, 3, 1), plain(1, 2, 1 << 62)],
            vec![plain(1, 3, 1), plain(1, 2, 1 << 62)],
            vec![plain(1, 2, 1 << 62)],
        ],
    ]
}

/// The same with requests of 1 to `largest` steps.
fn cut(sequence: &Sequence, largest: usize) -> Sequence {
    sequence.iter().flat_map(|batch| batch.chunks(largest)).map(<[_]>::to_vec).collect()
}

/// Plays those that are [`known`], then `cases` generated sequences, the same in every run, with requests of 1 to `largest`
/// transfers. The first that differs is shrunk and returned as text; else how often each outcome was met.
pub fn search(
    ledger: &mut dyn Ledger,
    oracle: &mut dyn Ledger,
    cases: u32,
    largest: usize,
    huge: bool,
) -> Result<BTreeMap<Outcome, u64>, String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut source = Source::new();
    let mut met = BTreeMap::new();
    let both = std::cell::RefCell::new((ledger, oracle, &mut source, &mut met));
    let is_asked = |sequence: &Sequence| huge || sequence.iter().flatten().all(|step| step.amount < 1 << 60);
    for sequence in known().iter().filter(|sequence| is_asked(sequence)) {
        let (ledger, oracle, source, _) = &mut *both.borrow_mut();
        compare(*ledger, *oracle, source, &cut(sequence, largest))
            .map_err(|reason| format!("{sequence:?}\n{reason}"))?;
    }
    let outcome = runner.run(&sequences(huge), |sequence| {
        let (ledger, oracle, source, met) = &mut *both.borrow_mut();
        let outcomes =
            compare(*ledger, *oracle, source, &cut(&sequence, largest)).map_err(TestCaseError::fail)?;
        for outcome in outcomes {
            *met.entry(outcome).or_insert(0) += 1;
        }
        Ok(())
    });
    match outcome {
        Ok(()) => Ok(met),
        Err(TestError::Fail(reason, sequence)) => Err(format!("{sequence:?}\n{reason}")),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// Every outcome of the model must have been met, or the sequences prove less than they claim.
pub fn expected_outcomes(huge: bool) -> Vec<Outcome> {
    let overflows = [
        Outcome::OverflowsDebitsPending,
        Outcome::OverflowsCreditsPending,
        Outcome::OverflowsDebitsPosted,
        Outcome::OverflowsCreditsPosted,
        Outcome::OverflowsDebits,
        Outcome::OverflowsCredits,
    ];
    let all = (1..=u8::MAX).filter_map(Outcome::from_code);
    all.filter(|outcome| huge || !overflows.contains(outcome)).collect()
}
