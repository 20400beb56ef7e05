//! The ledger suite's requests to PostgreSQL: one call of a function for each, the rules
//! being in `ledger.sql`, unless `interactive.rs` does it. The crate's client blocks, so one request at a time is in flight.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use postgres::{
    Client as Connection, Row, Statement,
    types::{ToSql, Type},
};

use super::{
    counters::HAND_IN,
    interactive::Interactive,
    wire::{Id, Parameter},
};
use crate::{
    ledger::{
        Account, Durability, EVENTS_MAX, Ledger, Tally,
        model::{Kind, NewAccount, Outcome, Refusal, Stored, Transfer, ensure_valid},
    },
    meter::Meter,
};

/// Tables and functions; what they answer is said there.
const SCHEMA: &str = include_str!("ledger.sql");

/// One transfer, as scalars. The answer is that of [`TRANSFER`].
const TRANSFER_ONE: &str = "SELECT ledger_bench.ledger_one($1, $2, $3, $4, $5, $6)";
/// The same where others want the same accounts: their rows are free again before the disk is
/// waited for. Durable before the reply; others may read a balance before it is on disk.
const TRANSFER_ONE_EARLY: &str = "CALL ledger_bench.ledger_one_early($1, $2, $3, $4, $5, $6, NULL)";
/// How many requests go that way after one that had to wait for its accounts.
const EARLY_REQUESTS: u32 = 16;
/// Several, as arrays. The answer: pairs of index and outcome, and those below.
const TRANSFER: &str = "SELECT ledger_bench.ledger_transfer($1, $2, $3, $4, $5, $6)";
/// The place of the retries among the pairs.
const RETRIES: i32 = -1;
/// The place of what says that a transfer had to wait for its accounts.
const WAITED: i32 = -2;

/// Ids, limits.
const CREATE_ACCOUNTS: &str = "INSERT INTO ledger_bench.ledger_accounts (id, limited)
     SELECT * FROM unnest($1::uuid[], $2::boolean[])";
/// Ids; a row for each in their order.
const ACCOUNTS: &str = "SELECT debits_pending, debits_posted, credits_pending, credits_posted
     FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, place)
     LEFT JOIN ledger_bench.ledger_accounts USING (id) ORDER BY place";
/// Ids; a row for each in their order. An id that is spent on a failure is no transfer.
const TRANSFERS: &str = "SELECT asked.id, kind, debit_account_id, credit_account_id, amount, pending_id, at
     FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, place)
     LEFT JOIN ledger_bench.ledger_transfers stored ON stored.id = asked.id AND kind < 4 ORDER BY place";
const TRANSFER_COUNT: &str = "SELECT count(*) FROM ledger_bench.ledger_transfers WHERE kind < 4";

/// Makes the tables and functions in our schema, which must be there.
pub fn create(connection: &mut Connection, durability: Durability) -> Result<()> {
    let unlogged = if durability == Durability::Memory { "UNLOGGED" } else { "" };
    Ok(connection.batch_execute(&SCHEMA.replace("@UNLOGGED@", unlogged))?)
}

/// Transfers as the parameters of [`TRANSFER_ONE`] or of [`TRANSFER`], encoded: ids, kinds, debited
/// and credited accounts, amounts, pending ids.
#[derive(Debug)]
struct Request {
    count: usize,
    /// The transfer, where it is a plain one and alone.
    plain: Option<Transfer>,
    one: [Parameter; 6],
    /// Kinds are empty where all are plain, pending ids where none is a post or void.
    several: [Parameter; 6],
}

impl Request {
    fn new() -> Self {
        let one = [Type::UUID, Type::INT2, Type::UUID, Type::UUID, Type::INT8, Type::UUID];
        let several = [
            Type::UUID_ARRAY,
            Type::INT2_ARRAY,
            Type::UUID_ARRAY,
            Type::UUID_ARRAY,
            Type::INT8_ARRAY,
            Type::UUID_ARRAY,
        ];
        Self { count: 0, plain: None, one: one.map(Parameter::new), several: several.map(Parameter::new) }
    }

    /// Takes other transfers, into the same buffers.
    fn encode(&mut self, transfers: &[Transfer]) -> Result<()> {
        assert!((1..=EVENTS_MAX).contains(&transfers.len()), "a request has 1 to {EVENTS_MAX} transfers");
        self.count = transfers.len();
        self.plain = match transfers {
            [transfer] if transfer.kind == Kind::Plain => Some(*transfer),
            _ => None,
        };
        if let [transfer] = transfers { self.encode_one(transfer) } else { self.encode_several(transfers) }
    }

    fn encode_one(&mut self, transfer: &Transfer) -> Result<()> {
        let [id, kind, debit, credit, amount, pending] = &mut self.one;
        id.set(&Id(transfer.id))?;
        kind.set(&kind_code(transfer))?;
        debit.set(&Id(transfer.debit_account_id))?;
        credit.set(&Id(transfer.credit_account_id))?;
        amount.set(&bigint(transfer)?)?;
        pending.set(&Id(transfer.pending_id))
    }

    fn encode_several(&mut self, transfers: &[Transfer]) -> Result<()> {
        let [ids, kinds, debits, credits, amounts, pendings] = &mut self.several;
        let all_plain = transfers.iter().all(|transfer| transfer.kind == Kind::Plain);
        let none_ends_pending = !transfers.iter().any(|transfer| transfer.kind.ends_pending());
        ids.set(&array(transfers, |transfer| Id(transfer.id)))?;
        kinds.set(&array(if all_plain { &[] } else { transfers }, kind_code))?;
        debits.set(&array(transfers, |transfer| Id(transfer.debit_account_id)))?;
        credits.set(&array(transfers, |transfer| Id(transfer.credit_account_id)))?;
        amounts.set(&transfers.iter().map(bigint).collect::<Result<Vec<_>>>()?)?;
        let ending = if none_ends_pending { &[] } else { transfers };
        pendings.set(&array(ending, |transfer| Id(transfer.pending_id)))
    }

    /// In the statement's order.
    fn parameters(&self) -> [&(dyn ToSql + Sync); 6] {
        let parameters = if self.count == 1 { &self.one } else { &self.several };
        parameters.each_ref().map(|parameter| parameter as _)
    }
}

fn kind_code(transfer: &Transfer) -> i16 {
    transfer.kind.code().into()
}

fn bigint(transfer: &Transfer) -> Result<i64> {
    i64::try_from(transfer.amount).context("an amount beyond 2^63 - 1")
}

/// One connection with its prepared statements.
pub struct Client {
    connection: Connection,
    transfer_one: Statement,
    transfer_one_early: Statement,
    /// Requests of one transfer that are still to go the early way.
    early_left: u32,
    /// Whether any does: where a commit waits for the disk.
    releases_early: bool,
    /// The other style's statements, where it is asked for.
    interactive: Option<Interactive>,
    transfer: Statement,
    create_accounts: Statement,
    accounts: Statement,
    transfers: Statement,
    transfer_count: Statement,
    prepared: VecDeque<Request>,
    in_flight: Option<Request>,
    /// Requests that were answered already: buffers to be used again.
    spent: Vec<Request>,
    tally: Tally,
    meter: Meter,
}

impl Client {
    /// One that has every request done by one call.
    pub fn one_call(connection: Connection, waits_for_disk: bool, meter: Meter) -> Result<Self> {
        Self::new(connection, waits_for_disk, None, meter)
    }

    /// One that does single plain transfers in a transaction of several statements, and the rest by calls.
    pub fn interactive(mut connection: Connection, meter: Meter) -> Result<Self> {
        let statements = Interactive::prepare(&mut connection)?;
        Self::new(connection, false, Some(statements), meter)
    }

    fn new(
        mut connection: Connection,
        releases_early: bool,
        interactive: Option<Interactive>,
        meter: Meter,
    ) -> Result<Self> {
        let mut prepare = |sql| connection.prepare(sql).context("preparing a statement");
        Ok(Self {
            transfer_one: prepare(TRANSFER_ONE)?,
            transfer_one_early: prepare(TRANSFER_ONE_EARLY)?,
            early_left: 0,
            releases_early,
            interactive,
            transfer: prepare(TRANSFER)?,
            create_accounts: prepare(CREATE_ACCOUNTS)?,
            accounts: prepare(ACCOUNTS)?,
            transfers: prepare(TRANSFERS)?,
            transfer_count: prepare(TRANSFER_COUNT)?,
            connection,
            prepared: VecDeque::new(),
            in_flight: None,
            spent: Vec::new(),
            tally: Tally::default(),
            meter,
        })
    }

    /// Whether that was how the request was done; if not, it is as if it had never been asked for.
    fn do_interactively(&mut self, request: &Request) -> Result<bool> {
        let (Some(interactive), Some(transfer)) = (&self.interactive, &request.plain) else {
            return Ok(false);
        };
        if interactive.transfer(&mut self.connection, transfer, &self.meter)? {
            return Ok(true);
        }
        self.meter.count(); // of the call that follows
        Ok(false)
    }

    /// Has it done by one call; what was refused.
    fn call(&mut self, request: &Request) -> Result<Vec<Refusal>> {
        let is_early = request.count == 1 && self.early_left > 0;
        let statement = match request.count {
            1 if is_early => &self.transfer_one_early,
            1 => &self.transfer_one,
            _ => &self.transfer,
        };
        let row = self.connection.query_one(statement, &request.parameters())?;
        let answer: Option<Vec<i32>> = row.try_get(0)?;
        let Answer { refusals, retries, waited } = read_answer(&answer.unwrap_or_default(), request.count)?;
        self.tally.retries += retries;
        self.tally.early_releases += u64::from(is_early);
        self.early_left =
            if waited && self.releases_early { EARLY_REQUESTS } else { self.early_left.saturating_sub(1) };
        Ok(refusals)
    }
}

impl Ledger for Client {
    fn hello(&mut self) -> Result<()> {
        self.accounts(&[1]).map(drop)
    }

    fn hand_in_counts(&mut self) -> Result<()> {
        self.meter.count();
        Ok(self.connection.batch_execute(HAND_IN)?)
    }

    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<()> {
        self.meter.count();
        let ids = array(accounts, |account| Id(account.id));
        let limits = array(accounts, |account| account.debits_must_not_exceed_credits);
        self.connection.execute(&self.create_accounts, &[&ids, &limits])?;
        Ok(())
    }

    fn prepare(&mut self, transfers: &[Transfer]) -> Result<()> {
        ensure_valid(transfers)?;
        let mut request = self.spent.pop().unwrap_or_else(Request::new);
        request.encode(transfers)?;
        self.prepared.push_back(request);
        Ok(())
    }

    /// Only makes it the next to be sent, which [`receive`](Self::receive) does.
    fn submit(&mut self) -> Result<()> {
        anyhow::ensure!(self.in_flight.is_none(), "PostgreSQL's client has one request in flight, no more");
        self.in_flight = Some(self.prepared.pop_front().context("nothing is prepared")?);
        self.meter.count();
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Refusal>> {
        let request = self.in_flight.take().context("nothing is in flight")?;
        let refusals = if self.do_interactively(&request)? { Vec::new() } else { self.call(&request)? };
        self.spent.push(request);
        Ok(refusals)
    }

    fn accounts(&mut self, ids: &[u128]) -> Result<Vec<Option<Account>>> {
        self.meter.count();
        let rows = self.connection.query(&self.accounts, &[&array(ids, |&id| Id(id))])?;
        rows.iter().map(account).collect()
    }

    fn transfers(&mut self, ids: &[u128]) -> Result<Vec<Option<Stored>>> {
        self.meter.count();
        let rows = self.connection.query(&self.transfers, &[&array(ids, |&id| Id(id))])?;
        rows.iter().map(stored).collect()
    }

    fn transfer_count(&mut self) -> Result<Option<u64>> {
        self.meter.count();
        let count: i64 = self.connection.query_one(&self.transfer_count, &[])?.try_get(0)?;
        Ok(Some(u64::try_from(count)?))
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// One value of each, as an array is made of them.
fn array<T, V>(items: &[T], value: impl Fn(&T) -> V) -> Vec<V> {
    items.iter().map(value).collect()
}

/// What became of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    refusals: Vec<Refusal>,
    /// How often the server began anew.
    retries: u64,
    /// Others held the same accounts.
    waited: bool,
}

/// Reads the answer to a request of `count` transfers.
fn read_answer(answer: &[i32], count: usize) -> Result<Answer> {
    let (pairs, rest) = answer.as_chunks::<2>();
    anyhow::ensure!(rest.is_empty(), "an answer of {} numbers, not of pairs", answer.len());
    let mut read = Answer::default();
    for &[index, code] in pairs {
        match index {
            RETRIES => read.retries += u64::try_from(code).context("retries below 0")?,
            WAITED => read.waited = true,
            _ => {
                let refusal = refusal(index, code, count);
                read.refusals.push(refusal.with_context(|| format!("{index} refused as {code}"))?);
            }
        }
    }
    Ok(read)
}

fn refusal(index: i32, code: i32, count: usize) -> Result<Refusal> {
    let index = u32::try_from(index)?;
    anyhow::ensure!((index as usize) < count, "the request has {count}");
    let outcome = Outcome::from_code(u8::try_from(code)?).filter(|outcome| *outcome != Outcome::Ok);
    Ok(Refusal { index, outcome: outcome.context("the model has no such refusal")? })
}

/// A row of [`ACCOUNTS`], all null where there is none.
pub fn account(row: &Row) -> Result<Option<Account>> {
    let Some(debits_pending) = row.try_get(0)? else { return Ok(None) };
    Ok(Some(Account {
        debits_pending,
        debits_posted: row.try_get(1)?,
        credits_pending: row.try_get(2)?,
        credits_posted: row.try_get(3)?,
    }))
}

/// A row of [`TRANSFERS`], all null but the id where there is none.
fn stored(row: &Row) -> Result<Option<Stored>> {
    let Some(kind) = row.try_get::<_, Option<i16>>(1)? else { return Ok(None) };
    let kind = u8::try_from(kind).ok().and_then(Kind::from_code).context("a transfer of an unknown kind")?;
    let id = |column| Ok::<_, postgres::Error>(row.try_get::<_, Option<Id>>(column)?.map_or(0, |Id(id)| id));
    Ok(Some(Stored {
        transfer: Transfer {
            id: id(0)?,
            kind,
            debit_account_id: id(2)?,
            credit_account_id: id(3)?,
            amount: u64::try_from(row.try_get::<_, i64>(4)?)?,
            pending_id: id(5)?,
        },
        timestamp: u64::try_from(row.try_get::<_, i64>(6)?)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_pairs_of_index_and_outcome() {
        let exists = Refusal { index: 2, outcome: Outcome::Exists };
        let read = |answer: &[i32]| read_answer(answer, 3).expect("an answer");
        let one = || vec![exists];
        assert_eq!(read(&[]), Answer::default());
        assert_eq!(read(&[2, 46]), Answer { refusals: one(), ..Answer::default() });
        assert_eq!(read(&[2, 46, -1, 7]), Answer { refusals: one(), retries: 7, waited: false });
        assert_eq!(read(&[-2, 1]), Answer { waited: true, ..Answer::default() });
        let wrong: [&[i32]; 6] = [&[2], &[3, 46], &[-3, 46], &[2, 0], &[2, 999], &[-1, -1]];
        for answer in wrong {
            assert!(read_answer(answer, 3).is_err(), "{answer:?}");
        }
    }

    #[test]
    fn requests_are_encoded_as_short_as_they_can_be() {
        let mut request = Request::new();
        let mut sizes = |transfers: &[Transfer]| {
            request.encode(transfers).expect("it can be encoded");
            let parameters = if transfers.len() == 1 { &request.one } else { &request.several };
            [0, 1, 5].map(|ids_kinds_pendings: usize| parameters[ids_kinds_pendings].len())
        };
        let of = |kind| Transfer { id: 1, kind, ..Transfer::default() };
        let header = 20;
        let (ids, kinds) = (header + 2 * (4 + 16), header + 2 * (4 + 2));
        assert_eq!(sizes(&[of(Kind::Plain), of(Kind::Post)]), [ids, kinds, ids]);
        assert_eq!(sizes(&[of(Kind::Plain), of(Kind::Pending)]), [ids, kinds, header]);
        assert_eq!(sizes(&[of(Kind::Plain), of(Kind::Plain)]), [ids, header, header]);
        assert_eq!(sizes(&[of(Kind::Post)]), [16, 2, 16], "one goes as scalars");
    }

    #[test]
    fn amounts_beyond_a_bigint_are_refused() {
        let transfer = Transfer { amount: 1 << 63, ..Transfer::default() };
        let error = Request::new().encode(&[transfer]).expect_err("too large");
        assert!(error.to_string().contains("2^63"), "{error}");
    }
}
