//! Many clients at once on a few accounts: nothing is lost, nothing is done twice, no limit is
//! broken, nobody waits for ever, and debits equal credits.

use std::{
    collections::{HashMap, HashSet},
    sync::Barrier,
};

use anyhow::{Context, Result, ensure};
use ledger_bench::{
    ledger::{
        Account, EVENTS_MAX, Ledger,
        ids::Source,
        model::{Kind, NewAccount, Outcome, Stored, Transfer},
    },
    rng::Rng,
};

use super::Connect;

pub const CLIENTS: usize = 16;
const ROUNDS: usize = 60;
const LIMITED_FUNDS: u64 = 20;

/// A transfer as two clients ask for it, and what each of them was told.
type Told = HashMap<u128, Vec<Outcome>>;

/// Runs all clients, with requests of 1 to `largest` transfers, and checks what they leave behind.
pub fn prove(connect: &mut Connect<'_>, largest: u64) -> Result<()> {
    let mut source = Source::new();
    let accounts: Vec<u128> = (0..4).map(|number| source.account(number)).collect();
    let mut first = connect();
    let new_account = |(n, &id): (usize, &u128)| NewAccount { id, debits_must_not_exceed_credits: n >= 2 };
    first.create_accounts(&accounts.iter().enumerate().map(new_account).collect::<Vec<_>>())?;
    let fund = |id, account| Transfer {
        id,
        debit_account_id: accounts[0],
        credit_account_id: account,
        amount: LIMITED_FUNDS,
        ..Transfer::default()
    };
    let mut ids = source.next_client();
    let funding = [fund(ids.next(), accounts[2]), fund(ids.next(), accounts[3])];
    ensure!(send(first.as_mut(), &funding)?.iter().all(|&outcome| outcome == Outcome::Ok), "funding");

    // Requests are written down beforehand: two clients each ask for the same ones, in other batches.
    let scripts: Vec<Vec<Transfer>> =
        (0..CLIENTS / 2).map(|pair| script(&accounts, &mut source, Rng::new(42, pair as u64))).collect();
    let barrier = Barrier::new(CLIENTS);
    let clients: Vec<_> = (0..CLIENTS).map(|_| connect()).collect();
    let told = std::thread::scope(|scope| {
        let spawn = |(number, mut ledger): (usize, Box<dyn Ledger>)| {
            let (script, barrier) = (&scripts[number / 2], &barrier);
            scope.spawn(move || {
                barrier.wait();
                play(ledger.as_mut(), script, largest, Rng::new(7, number as u64))
            })
        };
        let handles: Vec<_> = clients.into_iter().enumerate().map(spawn).collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).collect::<Result<Vec<_>>>()
    })?;
    let mut all = Told::new();
    for (id, outcome) in told.into_iter().flatten() {
        all.entry(id).or_default().push(outcome);
    }
    for transfer in &funding {
        all.insert(transfer.id, vec![Outcome::Ok]);
    }
    let asked: Vec<Transfer> = scripts.into_iter().flatten().chain(funding).collect();
    check(first.as_mut(), &accounts, &asked, &all)
}

/// Plain transfers, and holds that are posted, voided, or both in any order. Amounts are such that the
/// limited accounts are often too poor.
fn script(accounts: &[u128], source: &mut Source, mut rng: Rng) -> Vec<Transfer> {
    let mut ids = source.next_client();
    let mut script = Vec::new();
    for _ in 0..ROUNDS {
        let debit = accounts[usize::try_from(rng.below(4)).expect("small")];
        let credit = accounts[usize::try_from(rng.below(4)).expect("small")];
        let plain = Transfer {
            id: ids.next(),
            debit_account_id: debit,
            credit_account_id: credit,
            amount: rng.below(60),
            ..Transfer::default()
        };
        let hold = Transfer { id: ids.next(), kind: Kind::Pending, ..plain };
        let end =
            |id, kind, amount| Transfer { id, kind, amount, pending_id: hold.id, ..Transfer::default() };
        let mut ends =
            vec![end(ids.next(), Kind::Post, rng.below(hold.amount + 1)), end(ids.next(), Kind::Void, 0)];
        rng.shuffle(&mut ends);
        ends.truncate(usize::try_from(rng.below(2)).expect("small") + 1);
        script.extend([plain, hold].into_iter().chain(ends));
    }
    script
}

/// Asks for all of a script, in batches of 1 to `largest`.
fn play(
    ledger: &mut dyn Ledger,
    mut script: &[Transfer],
    largest: u64,
    mut rng: Rng,
) -> Result<Vec<(u128, Outcome)>> {
    let mut told = Vec::new();
    while !script.is_empty() {
        let count = usize::try_from(rng.below(largest) + 1).expect("small").min(script.len());
        let (batch, rest) = script.split_at(count);
        let ids = batch.iter().map(|transfer| transfer.id);
        told.extend(ids.zip(send(ledger, batch)?));
        script = rest;
    }
    Ok(told)
}

/// The outcome of each transfer of one request.
fn send(ledger: &mut dyn Ledger, transfers: &[Transfer]) -> Result<Vec<Outcome>> {
    ledger.prepare(transfers)?;
    ledger.submit()?;
    let mut outcomes = vec![Outcome::Ok; transfers.len()];
    for refusal in ledger.receive()? {
        outcomes[refusal.index as usize] = refusal.outcome;
    }
    Ok(outcomes)
}

fn check(ledger: &mut dyn Ledger, accounts: &[u128], asked: &[Transfer], told: &Told) -> Result<()> {
    let mut stored: HashMap<u128, Stored> = HashMap::new();
    for some in asked.chunks(EVENTS_MAX) {
        let ids: Vec<u128> = some.iter().map(|transfer| transfer.id).collect();
        stored.extend(ledger.transfers(&ids)?.into_iter().flatten().map(|one| (one.transfer.id, one)));
    }
    check_stored(asked, &stored)?;
    for (id, outcomes) in told {
        let done = outcomes.iter().filter(|&&outcome| outcome == Outcome::Ok).count();
        let exists = outcomes.contains(&Outcome::Exists);
        ensure!(done <= 1, "{id:x} was done {done} times");
        ensure!(
            (done == 1) == stored.contains_key(id),
            "{id:x} was told {outcomes:?}, stored is another thing"
        );
        ensure!(!exists || stored.contains_key(id), "{id:x} was told to exist and does not");
    }
    if let Some(count) = ledger.transfer_count()? {
        ensure!(
            count == stored.len() as u64,
            "{count} transfers are stored, {} were acknowledged",
            stored.len()
        );
    }
    let mut expected: HashMap<u128, Account> = accounts.iter().map(|&id| (id, Account::default())).collect();
    for one in stored.values() {
        apply(&mut expected, &stored, &one.transfer)?;
    }
    let found = ledger.accounts(accounts)?;
    for ((id, found), number) in accounts.iter().zip(found).zip(0..) {
        let found = found.context("an account is gone")?;
        ensure!(found == expected[id], "account {number} is {found:?} instead of {:?}", expected[id]);
        let spent = found.debits_pending + found.debits_posted;
        ensure!(number < 2 || spent <= found.credits_posted, "account {number} is overdrawn: {found:?}");
    }
    let refused = told.values().flatten().filter(|&&outcome| outcome == Outcome::ExceedsCredits).count();
    ensure!(refused > 0, "no account was ever too poor: the test proves little");
    Ok(())
}

/// Each is stored as it was asked for, a hold is ended once and by no more than it holds, and no two
/// have the same place in time.
fn check_stored(asked: &[Transfer], stored: &HashMap<u128, Stored>) -> Result<()> {
    let mut ended = HashSet::new();
    for asked in asked {
        let Some(Stored { transfer, .. }) = stored.get(&asked.id) else { continue };
        let mut expected = *asked;
        if asked.kind.ends_pending() {
            let hold = stored.get(&asked.pending_id).context("a hold that was ended is not stored")?.transfer;
            expected.debit_account_id = hold.debit_account_id;
            expected.credit_account_id = hold.credit_account_id;
            expected.amount = if asked.kind == Kind::Void { hold.amount } else { asked.amount };
            ensure!(expected.amount <= hold.amount, "{:x} posts more than is held", asked.id);
            ensure!(ended.insert(asked.pending_id), "the hold {:x} was ended twice", asked.pending_id);
        }
        ensure!(*transfer == expected, "stored is {transfer:?} instead of {expected:?}");
    }
    let times: HashSet<u64> = stored.values().map(|one| one.timestamp).collect();
    ensure!(times.len() == stored.len(), "two transfers have the same place in time");
    Ok(())
}

/// What a stored transfer makes of its accounts' sums.
fn apply(
    sums: &mut HashMap<u128, Account>,
    stored: &HashMap<u128, Stored>,
    transfer: &Transfer,
) -> Result<()> {
    let amount = i64::try_from(transfer.amount)?;
    let (pending, posted) = match transfer.kind {
        Kind::Plain => (0, amount),
        Kind::Pending => (amount, 0),
        Kind::Post | Kind::Void => {
            let hold = stored.get(&transfer.pending_id).context("a hold that was ended is not stored")?;
            let posted = if transfer.kind == Kind::Post { amount } else { 0 };
            (-i64::try_from(hold.transfer.amount)?, posted)
        }
    };
    let debit = sums.get_mut(&transfer.debit_account_id).context("a debit of no account of ours")?;
    debit.debits_pending += pending;
    debit.debits_posted += posted;
    let credit = sums.get_mut(&transfer.credit_account_id).context("a credit of no account of ours")?;
    credit.credits_pending += pending;
    credit.credits_posted += posted;
    Ok(())
}
