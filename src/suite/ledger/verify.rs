//! What a sample of the ledger suite must have left behind, and whether it is there. Off the clock.

use anyhow::{Context, Result, ensure};

use super::{
    Client,
    messages::{Messages, Times},
    preload::Preload,
};
use crate::{
    ledger::{
        Account, EVENTS_MAX, Ledger,
        model::{Kind, Outcome, Transfer},
    },
    meter::Meter,
    suite::{ensure_all_hold, sum_checks},
    workload::{AMOUNT, Population, Stream},
};

/// Of the requests before the sample the first of so many is looked up.
const PRELOAD_LOOKED_UP_EACH: u64 = 100;

/// After the sample, off the clock: the guarantees still hold (a repeated transfer changes nothing,
/// an account is not overdrawn), and then every transfer that was acknowledged is stored as it was asked
/// for, by its id, and none beyond; every account's sums are what those transfers make of them, to
/// the unit, so that debits equal credits and nothing is held; and no other transfer is there. Those stored before the sample are in
/// these sums and counts, and not all looked up.
///
/// The messages of the measured ops, which followed `warmup_ops` others, are what the transfers' timestamps tell where the
/// system is one whose timestamps do (`tells_messages`).
pub fn verify(clients: &mut [Client], tells_messages: bool, warmup_ops: u64) -> Result<Option<Messages>> {
    let done: Vec<_> =
        clients.iter().map(|client| (client.beginning.clone(), client.acknowledged_ops)).collect();
    let preloads: Vec<Preload> = clients.iter().map(|client| client.preload.clone()).collect();
    let ops = done.iter().map(|(_, ops)| ops).sum();
    let Client { ledger, meter, beginning, shape, .. } =
        clients.first_mut().context("a sample has a client")?;
    let mut times = Times::new(tells_messages, shape.stored_per_op(), ops);
    check_guarantees(ledger.as_mut(), beginning.population())?;
    let mut expected = Expected::funded(beginning.population());
    for preload in preloads.iter().filter(|preload| preload.count() > 0) {
        check_preload(ledger.as_mut(), meter, preload, &mut expected)?;
    }
    for (client, (stream, ops)) in (1..).zip(&done) {
        check_transfers(ledger.as_mut(), stream.clone(), *ops, &mut expected, &mut times)
            .with_context(|| format!("client {client} of {}", done.len()))?;
    }
    check_accounts(ledger.as_mut(), &expected)?;
    if let Some(found) = ledger.transfer_count()? {
        ensure_count(found, expected.transfers)?;
    }
    Ok(times.messages_after(warmup_ops))
}

/// The same of `transfers` that another load generator asked for, so that the choice of accounts was its own: their
/// number, and that the accounts together have what they moved.
pub fn verify_foreign(clients: &mut [Client], transfers: u64) -> Result<()> {
    let Client { ledger, beginning, .. } = clients.first_mut().context("a sample has a client")?;
    let population = beginning.population();
    check_guarantees(ledger.as_mut(), population)?;
    let funded = Expected::funded(population);
    let count = ledger.transfer_count()?.context("the system does not count its transfers")?;
    ensure_count(count, funded.transfers + transfers)?;
    let moved = i64::try_from(transfers * AMOUNT)?;
    let of_transfers = Account { debits_posted: moved, credits_posted: moved, ..Account::default() };
    let expected = funded.accounts.into_iter().chain([of_transfers]).sum();
    let mut found = Vec::new();
    each_account(ledger.as_mut(), population, |_, _, account| {
        found.push(account);
        Ok(())
    })?;
    ensure_all_hold(&sum_checks("all accounts together", expected, found.into_iter().sum()))
}

fn ensure_count(found: u64, expected: u64) -> Result<()> {
    ensure!(found == expected, "{found} transfers are stored instead of {expected}");
    Ok(())
}

/// Asks for what must be refused: one more time what was done already, and one unit more than an
/// account has.
fn check_guarantees(ledger: &mut dyn Ledger, population: &Population) -> Result<()> {
    let done = population.funding().next().context("every account is funded")?;
    let account = done.credit_account_id;
    let sums = ledger.accounts(&[account])?.pop().flatten().context("account 1 is gone")?;
    let has = sums.credits_posted - sums.debits_posted - sums.debits_pending;
    let overdraft = Transfer {
        id: population.spare_id(),
        debit_account_id: account,
        credit_account_id: done.debit_account_id,
        amount: u64::try_from(has + 1).context("account 1 is overdrawn")?,
        ..Transfer::default()
    };
    for (transfer, expected) in [(done, Outcome::Exists), (overdraft, Outcome::ExceedsCredits)] {
        ledger.prepare(&[transfer])?;
        ledger.submit()?;
        let found = ledger.receive()?.first().map_or(Outcome::Ok, |refusal| refusal.outcome);
        let (found, expected) = (found.name(), expected.name());
        let id = transfer.id;
        ensure!(
            found == expected,
            "the transfer {id:x} must be refused as {expected} and was answered by {found}"
        );
    }
    Ok(())
}

/// What must be there.
struct Expected<'a> {
    population: &'a Population,
    /// By place in the population.
    accounts: Vec<Account>,
    transfers: u64,
}

impl<'a> Expected<'a> {
    fn funded(population: &'a Population) -> Self {
        let accounts = vec![Account::default(); population.ids().count()];
        let mut expected = Self { population, accounts, transfers: 0 };
        population.funding().for_each(|transfer| expected.add(&transfer));
        expected
    }

    /// A stored transfer: a hold is posted in full by the next one, so it leaves nothing pending.
    fn add(&mut self, transfer: &Transfer) {
        self.transfers += 1;
        if transfer.kind != Kind::Pending {
            let amount = i64::try_from(transfer.amount).expect("our amounts fit");
            self.accounts[self.population.place(transfer.debit_account_id)].debits_posted += amount;
            self.accounts[self.population.place(transfer.credit_account_id)].credits_posted += amount;
        }
    }
}

/// Makes the ops of a stream again and compares each of their transfers with what is stored.
fn check_transfers(
    ledger: &mut dyn Ledger,
    mut stream: Stream,
    ops: u64,
    expected: &mut Expected<'_>,
    times: &mut Times,
) -> Result<()> {
    let (mut op, mut asked) = (Vec::new(), Vec::with_capacity(EVENTS_MAX));
    for number in 0..ops {
        stream.next_op(&mut op);
        if asked.len() + op.len() > EVENTS_MAX {
            check_stored(ledger, &asked, times)?;
            asked.clear();
        }
        for transfer in &op {
            let stored = as_stored(transfer, op[0]);
            expected.add(&stored);
            asked.push((number, stored));
        }
    }
    check_stored(ledger, &asked, times)?;
    stream.next_op(&mut op);
    let beyond = ledger.transfers(&[op[0].id])?;
    ensure!(beyond == [None], "the transfer {:x} is stored, which was never asked for", op[0].id);
    Ok(())
}

/// Every transfer that was stored before the sample counts in the sums and in the number of all; by their ids a sample of
/// them is looked up: of each client the first request of every hundred, and none beyond its last.
fn check_preload(
    ledger: &mut dyn Ledger,
    meter: &Meter,
    preload: &Preload,
    expected: &mut Expected<'_>,
) -> Result<()> {
    let mut no_times = Times::new(false, 1, 0);
    for (number, request) in (0..).zip(preload.requests()) {
        // Making them again is a sign of life.
        meter.count();
        for transfer in &request {
            expected.add(transfer);
        }
        if number % PRELOAD_LOOKED_UP_EACH == 0 {
            let asked: Vec<(u64, Transfer)> =
                request.into_iter().map(|transfer| (number, transfer)).collect();
            check_stored(ledger, &asked, &mut no_times).context("stored before the sample")?;
        }
    }
    let id = preload.id_beyond();
    let beyond = ledger.transfers(&[id])?;
    ensure!(beyond == [None], "the transfer {id:x} is stored, which was never asked for");
    Ok(())
}

/// A posting is stored with the accounts of its hold.
fn as_stored(transfer: &Transfer, hold: Transfer) -> Transfer {
    let Transfer { debit_account_id, credit_account_id, .. } = hold;
    if transfer.kind.ends_pending() {
        Transfer { debit_account_id, credit_account_id, ..*transfer }
    } else {
        *transfer
    }
}

/// Compares transfers, each with the number of its op, with what is stored. Those of one op must be
/// stored in its order.
fn check_stored(ledger: &mut dyn Ledger, asked: &[(u64, Transfer)], times: &mut Times) -> Result<()> {
    if asked.is_empty() {
        return Ok(());
    }
    let ids: Vec<u128> = asked.iter().map(|(_, transfer)| transfer.id).collect();
    let found = ledger.transfers(&ids).context("looking up transfers")?;
    ensure!(found.len() == ids.len(), "{} transfers instead of {} were looked up", found.len(), ids.len());
    let mut before = None;
    for ((op, asked), found) in asked.iter().zip(found) {
        let found = found
            .with_context(|| format!("the transfer {:x} was acknowledged and is not stored", asked.id))?;
        ensure!(found.transfer == *asked, "stored is {:?} instead of {asked:?}", found.transfer);
        let time = (*op, found.timestamp);
        let in_order = before.is_none_or(|(last_op, last)| last_op != *op || last < found.timestamp);
        ensure!(in_order, "the transfer {:x} is stored out of its order", asked.id);
        before = Some(time);
        times.add(found.timestamp);
    }
    Ok(())
}

fn check_accounts(ledger: &mut dyn Ledger, expected: &Expected<'_>) -> Result<()> {
    each_account(ledger, expected.population, |name, place, found| {
        ensure_all_hold(&sum_checks(name, expected.accounts[place], found))
    })
}

/// Looks up all accounts of a population, none of which may be missing; `look` gets each with its name and place.
fn each_account(
    ledger: &mut dyn Ledger,
    population: &Population,
    mut look: impl FnMut(&str, usize, Account) -> Result<()>,
) -> Result<()> {
    let ids: Vec<u128> = population.ids().collect();
    for (first, ids) in (0..).step_by(EVENTS_MAX).zip(ids.chunks(EVENTS_MAX)) {
        let found = ledger.accounts(ids).context("looking up accounts")?;
        ensure!(found.len() == ids.len(), "{} accounts instead of {} were looked up", found.len(), ids.len());
        for (place, found) in (first..).zip(found) {
            let name = if place == 0 { "the bank".to_owned() } else { format!("account {place}") };
            look(&name, place, found.with_context(|| format!("{name} is gone"))?)?;
        }
    }
    Ok(())
}
