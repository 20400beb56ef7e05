//! The ledger suite's requests to TigerBeetle: its own model, so nothing is translated but names.

use std::{collections::VecDeque, pin::Pin, sync::Arc, task::Poll};

use anyhow::{Context, Result};
use tigerbeetle_unofficial::{
    self as tb, account::Flags as AccountFlags, error::CreateTransfersError, transfer::Flags,
};

use super::{CODE, LEDGER, Waiter, seed::sums};
use crate::{
    ledger::{
        Account, Ledger,
        model::{Kind, NewAccount, Outcome, Refusal, Stored, Transfer, ensure_valid},
    },
    meter::Meter,
};

type Reply = Result<(), CreateTransfersError>;

/// A request that was sent.
enum InFlight {
    Waiting(Pin<Box<dyn Future<Output = Reply> + Send>>),
    /// Its reply came while it was being sent: the client's thread is not ours.
    Answered(Reply),
}

/// One caller of the shared client. What waits for the client's one request in flight coalesces
/// into the next, also of other callers.
pub struct Client {
    shared: Arc<tb::Client>,
    waiter: Waiter,
    prepared: VecDeque<Vec<tb::Transfer>>,
    in_flight: VecDeque<InFlight>,
    meter: Meter,
}

impl Client {
    pub fn new(shared: Arc<tb::Client>, waiter: Waiter, meter: Meter) -> Self {
        Self { shared, waiter, prepared: VecDeque::new(), in_flight: VecDeque::new(), meter }
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
        let request = self.prepared.pop_front().context("nothing is prepared")?;
        self.meter.count();
        let client = Arc::clone(&self.shared);
        let mut reply: Pin<Box<dyn Future<Output = Reply> + Send>> =
            Box::pin(async move { client.create_transfers(request).await });
        // The first poll hands the request to the client's thread.
        self.in_flight.push_back(match self.waiter.poll(reply.as_mut()) {
            Poll::Pending => InFlight::Waiting(reply),
            Poll::Ready(reply) => InFlight::Answered(reply),
        });
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Refusal>> {
        let reply = match self.in_flight.pop_front().context("nothing is in flight")? {
            InFlight::Waiting(reply) => self.waiter.wait(reply)?,
            InFlight::Answered(reply) => reply,
        };
        match reply {
            Ok(()) => Ok(Vec::new()),
            Err(CreateTransfersError::Api(refusals)) => {
                let refusals = refusals.as_slice().iter();
                refusals.map(|one| refusal(one.index(), one.kind().into_snake_case_str())).collect()
            }
            Err(error) => Err(error.into()),
        }
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
    fn what_is_found_stands_where_it_was_asked_for() {
        assert_eq!(in_place(&[5, 6, 7, 6], vec![(5, 'a'), (7, 'b')]), [Some('a'), None, Some('b'), None]);
    }
}
