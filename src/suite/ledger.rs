//! The ledger suite: the same job in every system, with the same guarantees and one request an op
//! (two for a hold and its posting).
//!
//! Every account is funded beforehand and may not be overdrawn, so that the check is made for each
//! transfer and no transfer is refused. One that is refused fails the sample.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use super::{ensure_all_hold, sum_checks};
use crate::{
    ledger::{
        Account, EVENTS_MAX, Ledger, Server, Tally,
        ids::Source,
        model::{Kind, Outcome, Refusal, Transfer},
    },
    meter::Meter,
    plan::{Benchmark, Case},
    runner::Work,
    timer::Op,
    watchdog::Board,
    workload::{Population, Shape, Stream},
};

/// One client, counting what was acknowledged.
pub struct Client {
    ledger: Box<dyn Ledger>,
    meter: Meter,
    shape: Shape,
    stream: Stream,
    /// Before the first op: makes again what was asked for.
    beginning: Stream,
    acknowledged_ops: u64,
    transfers: Vec<Transfer>,
}

/// All clients of a case, each with ops of its own; the accounts are still to be made.
pub fn connect(server: &mut dyn Server, case: &Case, seed: u64, board: &Board) -> Result<Vec<Client>> {
    let mut source = Source::new();
    let population = Arc::new(Population::new(&mut source, case.accounts, case.skew_pct));
    let shape = match case.benchmark {
        Benchmark::TwoPhase => Shape::TwoPhase,
        benchmark => Shape::Batch(benchmark.transfers_per_op(case.batch)),
    };
    let connect = |client: u32| {
        board.step();
        let meter = board.client(client as usize);
        let ledger = server.ledger_client(case.style, meter.clone())?;
        let ids = source.next_client();
        let stream = Stream::new(Arc::clone(&population), shape, seed, client.into(), ids);
        Ok(Client::new(ledger, meter, shape, stream))
    };
    (0..case.clients).map(connect).collect()
}

impl Client {
    fn new(ledger: Box<dyn Ledger>, meter: Meter, shape: Shape, stream: Stream) -> Self {
        let beginning = stream.clone();
        Self { ledger, meter, shape, stream, beginning, acknowledged_ops: 0, transfers: Vec::new() }
    }

    /// Receives one reply, in which nothing may be refused.
    #[inline]
    fn receive(&mut self) -> Result<()> {
        let refusals = self.ledger.receive()?;
        if refusals.is_empty() { Ok(()) } else { Err(refused(&refusals)) }
    }
}

#[cold]
fn refused(refusals: &[Refusal]) -> anyhow::Error {
    let Refusal { index, outcome } = refusals[0];
    anyhow::anyhow!(
        "{} transfers were refused, the first (number {} of the request) as {}",
        refusals.len(),
        index + 1,
        outcome.name()
    )
}

impl Op for Client {
    const IS_PREPARED: bool = true;

    fn prepare(&mut self) -> Result<()> {
        self.stream.next_op(&mut self.transfers);
        match self.shape {
            Shape::Batch(_) => self.ledger.prepare(&self.transfers),
            Shape::TwoPhase => {
                self.ledger.prepare(&self.transfers[..1])?;
                self.ledger.prepare(&self.transfers[1..])
            }
        }
    }

    #[inline]
    fn begin(&mut self) -> Result<()> {
        self.ledger.submit()
    }

    #[inline]
    fn end(&mut self) -> Result<()> {
        self.receive()?;
        if self.shape == Shape::TwoPhase {
            self.ledger.submit()?;
            self.receive().context("posting")?;
        }
        self.acknowledged_ops += 1;
        Ok(())
    }
}

impl Work for Client {
    fn hello(&mut self) -> Result<()> {
        self.ledger.hello()
    }

    fn requests(&self) -> u64 {
        self.meter.total()
    }
}

/// Makes the accounts and funds them. Off the clock.
pub fn set_up(clients: &mut [Client]) -> Result<()> {
    let Client { ledger, beginning, .. } = clients.first_mut().context("a sample has a client")?;
    let population = beginning.population();
    let accounts: Vec<_> = population.accounts().collect();
    for some in accounts.chunks(EVENTS_MAX) {
        ledger.create_accounts(some).context("making the accounts")?;
    }
    let funding: Vec<_> = population.funding().collect();
    for some in funding.chunks(EVENTS_MAX) {
        ledger.prepare(some)?;
        ledger.submit()?;
        let refusals = ledger.receive()?;
        ensure!(refusals.is_empty(), "funding the accounts: {:#}", refused(&refusals));
    }
    Ok(())
}

/// Of all clients together.
#[must_use]
pub fn tally(clients: &[Client]) -> Tally {
    clients.iter().map(|client| client.ledger.tally()).sum()
}

/// After the sample, off the clock: the guarantees still hold (a repeated transfer changes nothing,
/// an account is not overdrawn), and then every transfer that was acknowledged is stored as it was asked
/// for, by its id, and none beyond; every account's sums are what those transfers make of them, to
/// the unit, so that debits equal credits and nothing is held; and no other transfer is there.
pub fn verify(clients: &mut [Client]) -> Result<()> {
    let done: Vec<_> =
        clients.iter().map(|client| (client.beginning.clone(), client.acknowledged_ops)).collect();
    let Client { ledger, beginning, .. } = clients.first_mut().context("a sample has a client")?;
    check_guarantees(ledger.as_mut(), beginning.population())?;
    let mut expected = Expected::funded(beginning.population());
    for (client, (stream, ops)) in (1..).zip(&done) {
        check_transfers(ledger.as_mut(), stream.clone(), *ops, &mut expected)
            .with_context(|| format!("client {client} of {}", done.len()))?;
    }
    check_accounts(ledger.as_mut(), &expected)?;
    if let Some(found) = ledger.transfer_count()? {
        let Expected { transfers, .. } = expected;
        ensure!(found == transfers, "{found} transfers are stored instead of {transfers}");
    }
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
) -> Result<()> {
    let (mut op, mut asked) = (Vec::new(), Vec::with_capacity(EVENTS_MAX));
    for number in 0..ops {
        stream.next_op(&mut op);
        if asked.len() + op.len() > EVENTS_MAX {
            check_stored(ledger, &asked)?;
            asked.clear();
        }
        for transfer in &op {
            let stored = as_stored(transfer, op[0]);
            expected.add(&stored);
            asked.push((number, stored));
        }
    }
    check_stored(ledger, &asked)?;
    stream.next_op(&mut op);
    let beyond = ledger.transfers(&[op[0].id])?;
    ensure!(beyond == [None], "the transfer {:x} is stored, which was never asked for", op[0].id);
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
fn check_stored(ledger: &mut dyn Ledger, asked: &[(u64, Transfer)]) -> Result<()> {
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
    }
    Ok(())
}

fn check_accounts(ledger: &mut dyn Ledger, expected: &Expected<'_>) -> Result<()> {
    let ids: Vec<u128> = expected.population.ids().collect();
    let chunks = ids.chunks(EVENTS_MAX).zip(expected.accounts.chunks(EVENTS_MAX));
    for (place, (ids, expected)) in (0..).step_by(EVENTS_MAX).zip(chunks) {
        let found = ledger.accounts(ids).context("looking up accounts")?;
        ensure!(found.len() == ids.len(), "{} accounts instead of {} were looked up", found.len(), ids.len());
        for ((number, found), expected) in (place..).zip(found).zip(expected) {
            let name = if number == 0 { "the bank".to_owned() } else { format!("account {number}") };
            let found = found.with_context(|| format!("{name} is gone"))?;
            ensure_all_hold(&sum_checks(&name, *expected, found))?;
        }
    }
    Ok(())
}
