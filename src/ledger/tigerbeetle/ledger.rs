//! The ledger suite's requests to TigerBeetle: its own model, so nothing is translated but names.

use std::{collections::VecDeque, pin::Pin, sync::Arc, task::Poll};

use anyhow::{Context, Result};
use tigerbeetle_unofficial::{
    self as tb, account::Flags as AccountFlags, error::CreateTransfersError, transfer::Flags,
};

use super::{CODE, LEDGER, Waiter, seed::sums};
use crate::{
    ledger::{
        Account, EVENTS_MAX, Ledger,
        model::{Kind, NewAccount, Outcome, Refusal, Stored, Transfer, ensure_valid},
    },
    meter::Meter,
};

type Reply = Result<(), CreateTransfersError>;

/// Requests that left together.
struct Sent {
    /// Transfers of each whose answer was not passed on yet.
    sizes: VecDeque<u32>,
    /// Transfers of those before.
    passed_on: u32,
    answer: Answer,
}

enum Answer {
    Awaited(Pin<Box<dyn Future<Output = Reply> + Send>>),
    /// What was refused and not passed on yet, by its place among all transfers.
    There(VecDeque<Refusal>),
}

/// One caller of the shared client. What waits for the client's one message in flight coalesces
/// into the next, also of other callers.
///
/// Requests that one caller has in flight leave together once it has to wait: one by one, the first would be a message
/// by itself, and only each second message would hold the others.
pub struct Client {
    shared: Arc<tb::Client>,
    waiter: Waiter,
    prepared: VecDeque<Vec<tb::Transfer>>,
    submitted: VecDeque<Vec<tb::Transfer>>,
    sent: VecDeque<Sent>,
    meter: Meter,
}

impl Client {
    pub fn new(shared: Arc<tb::Client>, waiter: Waiter, meter: Meter) -> Self {
        let (prepared, submitted, sent) = Default::default();
        Self { shared, waiter, prepared, submitted, sent, meter }
    }

    /// Sends all that was submitted, as much together as one message holds.
    fn send(&mut self) -> Result<()> {
        while let Some(mut transfers) = self.submitted.pop_front() {
            let mut sizes = VecDeque::from([u32::try_from(transfers.len())?]);
            while let Some(next) = self.submitted.front()
                && transfers.len() + next.len() <= EVENTS_MAX
            {
                sizes.push_back(u32::try_from(next.len())?);
                transfers.append(self.submitted.front_mut().context("it was there")?);
                self.submitted.pop_front();
            }
            let client = Arc::clone(&self.shared);
            let mut reply: Pin<Box<dyn Future<Output = Reply> + Send>> =
                Box::pin(async move { client.create_transfers(transfers).await });
            // The first poll hands the request to the client's thread, which may have the reply by then.
            let answer = match self.waiter.poll(reply.as_mut()) {
                Poll::Pending => Answer::Awaited(reply),
                Poll::Ready(reply) => Answer::There(refusals(reply)?),
            };
            self.sent.push_back(Sent { sizes, passed_on: 0, answer });
        }
        Ok(())
    }

    /// Whether the first answer is still awaited.
    fn must_wait(&mut self) -> Result<bool> {
        let Some(Sent { answer, .. }) = self.sent.front_mut() else { return Ok(true) };
        if let Answer::Awaited(reply) = answer
            && let Poll::Ready(reply) = self.waiter.poll(reply.as_mut())
        {
            *answer = Answer::There(refusals(reply)?);
        }
        Ok(matches!(answer, Answer::Awaited(_)))
    }
}

impl Ledger for Client {
    fn hello(&mut self) -> Result<()> {
        self.accounts(&[1]).map(drop)
    }

    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<()> {
        self.meter.count();
        let accounts = accounts.iter().map(new_account).collect::<Vec<_>>();
        Ok(self.waiter.wait(self.shared.create_accounts(accounts))??)
    }

    fn prepare(&mut self, transfers: &[Transfer]) -> Result<()> {
        ensure_valid(transfers)?;
        self.prepared.push_back(transfers.iter().map(request).collect());
        Ok(())
    }

    fn submit(&mut self) -> Result<()> {
        self.submitted.push_back(self.prepared.pop_front().context("nothing is prepared")?);
        self.meter.count();
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Refusal>> {
        if self.must_wait()? {
            self.send()?;
        }
        let sent = self.sent.front_mut().context("nothing is in flight")?;
        if let Answer::Awaited(reply) = &mut sent.answer {
            sent.answer = Answer::There(refusals(self.waiter.wait(reply.as_mut())?)?);
        }
        let refused = sent.next();
        if sent.sizes.is_empty() {
            self.sent.pop_front();
        }
        Ok(refused)
    }

    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>> {
        self.meter.count();
        let found = self.waiter.wait(self.shared.lookup_accounts(ids.to_vec()))??;
        let found = found.iter().map(|account| Ok((account.id(), sums(account)?)));
        Ok(in_place(ids, found.collect::<Result<_>>()?))
    }

    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>> {
        self.meter.count();
        let found = self.waiter.wait(self.shared.lookup_transfers(ids.to_vec()))??;
        let found = found.iter().map(|transfer| Ok((transfer.id(), stored(transfer)?)));
        Ok(in_place(ids, found.collect::<Result<_>>()?))
    }

    /// It has no such request.
    fn transfer_count(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }
}

impl Sent {
    /// What was refused of the next request, by its place in that.
    fn next(&mut self) -> Vec<Refusal> {
        let start = self.passed_on;
        self.passed_on += self.sizes.pop_front().unwrap_or_default();
        let Answer::There(refusals) = &mut self.answer else { return Vec::new() };
        let of_others = refusals.partition_point(|refusal| refusal.index < self.passed_on);
        refusals.drain(..of_others).map(|one| Refusal { index: one.index - start, ..one }).collect()
    }
}

/// What a reply refuses, in order; an error where it is none.
fn refusals(reply: Reply) -> Result<VecDeque<Refusal>> {
    match reply {
        Ok(()) => Ok(VecDeque::new()),
        Err(CreateTransfersError::Api(refusals)) => {
            let refusals = refusals.as_slice().iter();
            refusals.map(|one| refusal(one.index(), one.kind().into_snake_case_str())).collect()
        }
        Err(error) => Err(error.into()),
    }
}

/// What was found comes in the order of the ids, without those that do not exist.
fn in_place<T>(ids: &[u128], found: Vec<(u128, T)>) -> Vec<Option<T>> {
    let mut found = found.into_iter().peekable();
    ids.iter().map(|&id| found.next_if(|(found_id, _)| *found_id == id).map(|(_, value)| value)).collect()
}

fn refusal(index: u32, name: &str) -> Result<Refusal> {
    let outcome = Outcome::from_name(name).with_context(|| format!("refused as {name}"))?;
    Ok(Refusal { index, outcome })
}

fn new_account(account: &NewAccount) -> tb::Account {
    let flags = if account.debits_must_not_exceed_credits {
        AccountFlags::DEBITS_MUST_NOT_EXCEED_CREDITS
    } else {
        AccountFlags::empty()
    };
    tb::Account::new(account.id, LEDGER, CODE).with_flags(flags)
}

fn request(transfer: &Transfer) -> tb::Transfer {
    let flags = match transfer.kind {
        Kind::Plain => Flags::empty(),
        Kind::Pending => Flags::PENDING,
        Kind::Post => Flags::POST_PENDING_TRANSFER,
        Kind::Void => Flags::VOID_PENDING_TRANSFER,
    };
    let mut request = tb::Transfer::new(transfer.id)
        .with_debit_account_id(transfer.debit_account_id)
        .with_credit_account_id(transfer.credit_account_id)
        .with_amount(u128::from(transfer.amount))
        .with_pending_id(transfer.pending_id)
        .with_flags(flags);
    // A post or void takes ledger and code, as its accounts, from what is held.
    if !transfer.kind.ends_pending() {
        request = request.with_ledger(LEDGER).with_code(CODE);
    }
    request
}

fn stored(transfer: &tb::Transfer) -> Result<Stored> {
    let flags = transfer.flags();
    let kinds = [
        (Flags::PENDING, Kind::Pending),
        (Flags::POST_PENDING_TRANSFER, Kind::Post),
        (Flags::VOID_PENDING_TRANSFER, Kind::Void),
    ];
    let kind = kinds.into_iter().find(|(flag, _)| flags.contains(*flag));
    let since = transfer.timestamp().duration_since(std::time::UNIX_EPOCH).context("a time before 1970")?;
    Ok(Stored {
        transfer: Transfer {
            id: transfer.id(),
            kind: kind.map_or(Kind::Plain, |(_, kind)| kind),
            debit_account_id: transfer.debit_account_id(),
            credit_account_id: transfer.credit_account_id(),
            amount: u64::try_from(transfer.amount()).context("an amount beyond 2^64")?,
            pending_id: transfer.pending_id(),
        },
        timestamp: crate::timer::duration_ns(since),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_gets_its_own_refusals() {
        let refused = |index| Refusal { index, outcome: Outcome::Exists };
        let answer = Answer::There([0, 2, 3, 6].map(refused).into());
        let mut sent = Sent { sizes: [2, 1, 3, 1].into(), passed_on: 0, answer };
        let all: Vec<Vec<u32>> =
            (0..4).map(|_| sent.next().iter().map(|refusal| refusal.index).collect()).collect();
        assert_eq!(all, [vec![0], vec![0], vec![0], vec![0]]);
        assert!(sent.sizes.is_empty());
    }

    #[test]
    fn what_is_found_stands_where_it_was_asked_for() {
        assert_eq!(in_place(&[5, 6, 7, 6], vec![(5, 'a'), (7, 'b')]), [Some('a'), None, Some('b'), None]);
    }
}
