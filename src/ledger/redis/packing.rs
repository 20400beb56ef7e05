//! The bytes of the ledger suite's requests to Redis and of its replies: whole FCALL commands, whose
//! one argument is packed as `ledger.lua` unpacks it. Knows nothing of connections.
//!
//! Numbers are big-endian. An account is named by its field in the hash: `a` and its id.

use std::{
    collections::{HashMap, hash_map::Entry},
    io::Write,
};

use anyhow::{Context, Result};

use crate::ledger::{
    Account, EVENTS_MAX,
    model::{AMOUNT_MAX, Kind, NewAccount, Outcome, Refusal, Stored, Transfer},
};

/// The one key of ours: a hash of everything.
pub const KEY: &str = "ledger_bench:ledger";

const BATCH: u8 = 1;
const SINGLE: u8 = 2;
const ACCOUNT_NAME_BYTES: usize = 17;
const ID_BYTES: usize = 16;
/// One refusal in a reply.
pub const REFUSAL_BYTES: usize = 4;

/// A function of our library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    CreateAccounts,
    CreateTransfers,
    LookUpAccounts,
    LookUpTransfers,
}

impl Function {
    const fn name(self) -> &'static str {
        match self {
            Self::CreateAccounts => "ledger_bench_create_accounts",
            Self::CreateTransfers => "ledger_bench_create_transfers",
            Self::LookUpAccounts => "ledger_bench_look_up_accounts",
            Self::LookUpTransfers => "ledger_bench_look_up_transfers",
        }
    }

    /// The command up to the bytes of its argument.
    fn write_head(self, argument_bytes: usize, request: &mut Vec<u8>) {
        let (name, name_bytes, key_bytes) = (self.name(), self.name().len(), KEY.len());
        request.clear();
        write!(
            request,
            "*5\r\n$5\r\nFCALL\r\n${name_bytes}\r\n{name}\r\n$1\r\n1\r\n${key_bytes}\r\n{KEY}\r\n${argument_bytes}\r\n"
        )
        .expect("memory takes every byte");
    }
}

/// The command that asks how many transfers are stored.
pub fn count_transfers() -> Vec<u8> {
    redis::cmd("FCALL").arg("ledger_bench_count_transfers").arg(1).arg(KEY).get_packed_command()
}

/// Replaces `request` by the command to create these accounts.
pub fn create_accounts(accounts: &[NewAccount], request: &mut Vec<u8>) {
    assert!((1..=EVENTS_MAX).contains(&accounts.len()), "a request has its limit");
    Function::CreateAccounts.write_head(accounts.len() * (ACCOUNT_NAME_BYTES + 1), request);
    for account in accounts {
        write_account_name(account.id, request);
        request.push(account.debits_must_not_exceed_credits.into());
    }
    end(request);
}

/// Replaces `request` by the command to look these accounts up.
pub fn look_up_accounts(ids: &[u128], request: &mut Vec<u8>) {
    assert!((1..=EVENTS_MAX).contains(&ids.len()), "a request has its limit");
    Function::LookUpAccounts.write_head(ids.len() * ACCOUNT_NAME_BYTES, request);
    for &id in ids {
        write_account_name(id, request);
    }
    end(request);
}

/// Replaces `request` by the command to look these transfers up.
pub fn look_up_transfers(ids: &[u128], request: &mut Vec<u8>) {
    assert!((1..=EVENTS_MAX).contains(&ids.len()), "a request has its limit");
    Function::LookUpTransfers.write_head(ids.len() * ID_BYTES, request);
    for id in ids {
        request.extend_from_slice(&id.to_be_bytes());
    }
    end(request);
}

fn write_account_name(id: u128, request: &mut Vec<u8>) {
    request.push(b'a');
    request.extend_from_slice(&id.to_be_bytes());
}

fn end(request: &mut Vec<u8>) {
    request.extend_from_slice(b"\r\n");
}

/// Packs transfers. Its tables are kept from one batch to the next, so that they are allocated once.
#[derive(Debug, Default)]
pub struct Packer {
    /// Each account of the batch once, in the order in which it is first named.
    accounts: Vec<u128>,
    /// Where each stands in that list, from 1.
    places: HashMap<u128, u16>,
    pending_ids: Vec<u128>,
    /// Of each transfer: the places of its two accounts, or that of its pending id, and 0.
    pairs: Vec<[u16; 2]>,
}

impl Packer {
    /// Replaces `request` by the command to create these transfers.
    pub fn create_transfers(&mut self, transfers: &[Transfer], request: &mut Vec<u8>) {
        assert!((1..=EVENTS_MAX).contains(&transfers.len()), "a request has its limit");
        assert!(transfers.iter().all(|one| one.amount <= AMOUNT_MAX), "an amount has its limit");
        if let [transfer] = transfers {
            create_one(transfer, request);
        } else {
            self.create_batch(transfers, request);
        }
    }

    fn create_batch(&mut self, transfers: &[Transfer], request: &mut Vec<u8>) {
        self.list(transfers);
        let counts = [transfers.len(), self.accounts.len(), self.pending_ids.len()];
        let [n, a, p] = counts;
        Function::CreateTransfers.write_head(7 + n * 29 + a * ACCOUNT_NAME_BYTES + p * ID_BYTES, request);
        request.push(BATCH);
        for count in counts {
            request.extend_from_slice(&place(count).to_be_bytes());
        }
        // Column by column: the function unpacks thousands of values of one kind at once.
        for transfer in transfers {
            request.extend_from_slice(&transfer.id.to_be_bytes());
        }
        for &id in &self.accounts {
            write_account_name(id, request);
        }
        for id in &self.pending_ids {
            request.extend_from_slice(&id.to_be_bytes());
        }
        request.extend(transfers.iter().map(|transfer| transfer.kind.code()));
        for place in self.pairs.iter().flatten() {
            request.extend_from_slice(&place.to_be_bytes());
        }
        for transfer in transfers {
            request.extend_from_slice(&transfer.amount.to_be_bytes());
        }
        end(request);
    }

    /// Lists the batch's accounts and pending ids.
    fn list(&mut self, transfers: &[Transfer]) {
        self.accounts.clear();
        self.places.clear();
        self.pending_ids.clear();
        self.pairs.clear();
        for transfer in transfers {
            let pair = if transfer.kind.ends_pending() {
                self.pending_ids.push(transfer.pending_id);
                [place(self.pending_ids.len()), 0]
            } else {
                [self.place_of(transfer.debit_account_id), self.place_of(transfer.credit_account_id)]
            };
            self.pairs.push(pair);
        }
    }

    fn place_of(&mut self, account: u128) -> u16 {
        match self.places.entry(account) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.accounts.push(account);
                *new.insert(place(self.accounts.len()))
            }
        }
    }
}

fn place(number: usize) -> u16 {
    u16::try_from(number).expect("a request of at most 8,189 transfers names at most twice as many accounts")
}

fn create_one(transfer: &Transfer, request: &mut Vec<u8>) {
    let ends_pending = transfer.kind.ends_pending();
    Function::CreateTransfers.write_head(if ends_pending { 42 } else { 60 }, request);
    request.push(SINGLE);
    request.extend_from_slice(&transfer.id.to_be_bytes());
    request.push(transfer.kind.code());
    if ends_pending {
        request.extend_from_slice(&transfer.pending_id.to_be_bytes());
    } else {
        write_account_name(transfer.debit_account_id, request);
        write_account_name(transfer.credit_account_id, request);
    }
    request.extend_from_slice(&transfer.amount.to_be_bytes());
    end(request);
}

/// What was refused: places and outcomes, 16 bits each.
pub fn refusals(reply: &[u8]) -> Result<Vec<Refusal>> {
    let (pairs, rest) = reply.as_chunks::<REFUSAL_BYTES>();
    anyhow::ensure!(rest.is_empty(), "refusals of {} bytes", reply.len());
    pairs.iter().copied().map(refusal).collect()
}

fn refusal(pair: [u8; REFUSAL_BYTES]) -> Result<Refusal> {
    let [index, code] = [[pair[0], pair[1]], [pair[2], pair[3]]].map(u16::from_be_bytes);
    let outcome = u8::try_from(code).ok().and_then(Outcome::from_code);
    Ok(Refusal { index: index.into(), outcome: outcome.with_context(|| format!("refused as {code}"))? })
}

/// An account as it is stored: four sums, and a byte for its limit.
pub fn account(value: &[u8]) -> Result<Account> {
    let mut bytes = Bytes(value);
    let account = Account {
        debits_pending: i64::from_be_bytes(bytes.take()?),
        debits_posted: i64::from_be_bytes(bytes.take()?),
        credits_pending: i64::from_be_bytes(bytes.take()?),
        credits_posted: i64::from_be_bytes(bytes.take()?),
    };
    let [_limit] = bytes.take()?;
    bytes.end()?;
    Ok(account)
}

/// A transfer as it is looked up: kind, names of the accounts, amount, order, and the pending id if
/// it has one.
pub fn stored(id: u128, value: &[u8]) -> Result<Stored> {
    let mut bytes = Bytes(value);
    let [code] = bytes.take()?;
    let kind = Kind::from_code(code).with_context(|| format!("a stored transfer of kind {code}"))?;
    let debit_account_id = bytes.take_account()?;
    let credit_account_id = bytes.take_account()?;
    let amount = u64::from_be_bytes(bytes.take()?);
    let timestamp = u64::from_be_bytes(bytes.take()?);
    let pending_id = if kind.ends_pending() { u128::from_be_bytes(bytes.take()?) } else { 0 };
    bytes.end()?;
    let transfer = Transfer { id, kind, debit_account_id, credit_account_id, amount, pending_id };
    Ok(Stored { transfer, timestamp })
}

/// What is left of a value.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().context("a stored value is too short")?;
        self.0 = rest;
        Ok(*taken)
    }

    fn take_account(&mut self) -> Result<u128> {
        let [letter] = self.take()?;
        anyhow::ensure!(letter == b'a', "a stored transfer names an account that is none");
        Ok(u128::from_be_bytes(self.take()?))
    }

    fn end(&self) -> Result<()> {
        anyhow::ensure!(self.0.is_empty(), "a stored value is {} bytes too long", self.0.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes from hexadecimal digits; blanks separate fields.
    fn hex(text: &str) -> Vec<u8> {
        let digits = text.split_whitespace().collect::<String>();
        let digits = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("digits"));
        digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
    }

    /// The whole command, its argument in hexadecimal.
    fn command(name: &str, argument_bytes: usize, argument: &str) -> Vec<u8> {
        let head = "*5\r\n$5\r\nFCALL\r\n";
        let key = "$1\r\n1\r\n$19\r\nledger_bench:ledger\r\n";
        let head = format!("{head}${}\r\n{name}\r\n{key}${argument_bytes}\r\n", name.len());
        [head.as_bytes(), &hex(argument), b"\r\n"].concat()
    }

    /// Tables and buffer are used before: nothing of that may be left.
    fn packed(transfers: &[Transfer]) -> Vec<u8> {
        let (mut packer, mut request) = (Packer::default(), Vec::new());
        let before = [plain(1, 2, 3, 4), Transfer { kind: Kind::Post, pending_id: 9, ..plain(5, 0, 0, 6) }];
        packer.create_transfers(&before, &mut request);
        packer.create_transfers(transfers, &mut request);
        request
    }

    fn plain(id: u128, debit_account_id: u128, credit_account_id: u128, amount: u64) -> Transfer {
        Transfer { id, debit_account_id, credit_account_id, amount, ..Transfer::default() }
    }

    #[test]
    fn single_transfers() {
        let id = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
        let held = Transfer { kind: Kind::Pending, ..plain(id, 1, u128::MAX - 1, AMOUNT_MAX) };
        let expected = "02 0102030405060708090a0b0c0d0e0f10 01 61 00000000000000000000000000000001
            61 fffffffffffffffffffffffffffffffe 7fffffffffffffff";
        assert_eq!(packed(&[held]), command("ledger_bench_create_transfers", 60, expected));

        let posted = Transfer { id: 0x21, kind: Kind::Post, amount: 0x1234, pending_id: id, ..held };
        let expected = "02 00000000000000000000000000000021 02 0102030405060708090a0b0c0d0e0f10
            0000000000001234";
        assert_eq!(packed(&[posted]), command("ledger_bench_create_transfers", 42, expected));
    }

    #[test]
    fn a_batch_names_each_account_once() {
        let batch = [
            plain(0x11, 0xa, 0xb, 1),
            Transfer { kind: Kind::Void, pending_id: 0x11, ..plain(0x12, 0, 0, 0) },
            Transfer { kind: Kind::Pending, ..plain(0x13, 0xc, 0xa, 0x0102_0304_0506_0708) },
            Transfer { kind: Kind::Post, pending_id: 0x11, ..plain(0x14, 0, 0, 2) },
        ];
        let expected = "01 0004 0003 0002
            00000000000000000000000000000011 00000000000000000000000000000012
            00000000000000000000000000000013 00000000000000000000000000000014
            61 0000000000000000000000000000000a 61 0000000000000000000000000000000b
            61 0000000000000000000000000000000c
            00000000000000000000000000000011 00000000000000000000000000000011
            00 03 01 02
            0001 0002  0001 0000  0003 0001  0002 0000
            0000000000000001 0000000000000000 0102030405060708 0000000000000002";
        let bytes = 7 + 4 * 29 + 3 * 17 + 2 * 16;
        assert_eq!(packed(&batch), command("ledger_bench_create_transfers", bytes, expected));
    }

    #[test]
    fn the_largest_batch_fits_its_counters() {
        let batch = (1..=8_189).map(|id| plain(id, 2 * id, 2 * id + 1, 1)).collect::<Vec<_>>();
        let request = packed(&batch);
        let argument = 7 + 8_189 * 29 + 2 * 8_189 * 17;
        let head = request.len() - 2 - argument;
        // 8,189 and 16,378.
        assert_eq!(request[head..head + 7], hex("01 1ffd 3ffa 0000"));
    }

    #[test]
    #[should_panic(expected = "a request has its limit")]
    fn an_empty_request_is_a_bug() {
        packed(&[]);
    }

    #[test]
    #[should_panic(expected = "an amount has its limit")]
    fn a_larger_amount_is_a_bug() {
        packed(&[plain(1, 2, 3, AMOUNT_MAX + 1)]);
    }

    #[test]
    fn accounts_and_look_ups() {
        let mut request = b"before".to_vec();
        let account = |id, debits_must_not_exceed_credits| NewAccount { id, debits_must_not_exceed_credits };
        create_accounts(&[account(1, false), account(0x0203 << 112, true)], &mut request);
        let expected = "61 00000000000000000000000000000001 00 61 02030000000000000000000000000000 01";
        assert_eq!(request, command("ledger_bench_create_accounts", 36, expected));

        look_up_accounts(&[7, u128::MAX], &mut request);
        let expected = "61 00000000000000000000000000000007 61 ffffffffffffffffffffffffffffffff";
        assert_eq!(request, command("ledger_bench_look_up_accounts", 34, expected));

        look_up_transfers(&[7], &mut request);
        let expected = "00000000000000000000000000000007";
        assert_eq!(request, command("ledger_bench_look_up_transfers", 16, expected));

        let count = "*4\r\n$5\r\nFCALL\r\n$28\r\nledger_bench_count_transfers\r\n$1\r\n1\r\n$19\r\nledger_bench:ledger\r\n";
        assert_eq!(count_transfers(), count.as_bytes());
    }

    #[test]
    fn replies_are_unpacked() {
        let found = refusals(&hex("0000 002e 1ffc 0036")).expect("two");
        let exists = Refusal { index: 0, outcome: Outcome::Exists };
        let exceeds = Refusal { index: 8_188, outcome: Outcome::ExceedsCredits };
        assert_eq!(found, [exists, exceeds]);
        assert!(refusals(b"").expect("none").is_empty());
        refusals(&hex("0000 00")).expect_err("cut off");
        refusals(&hex("0000 0001")).expect_err("no such outcome");
        refusals(&hex("0000 012e")).expect_err("no such outcome");

        let sums = "0000000000000001 0000000000000002 0000000000000003 7fffffffffffffff";
        let found = account(&hex(&format!("{sums} 01"))).expect("an account");
        let expected =
            Account { debits_pending: 1, debits_posted: 2, credits_pending: 3, credits_posted: i64::MAX };
        assert_eq!(found, expected);
        account(&hex(sums)).expect_err("too short");
        account(&hex(&format!("{sums} 0100"))).expect_err("too long");
    }

    #[test]
    fn stored_transfers_are_unpacked() {
        let accounts = "61 00000000000000000000000000000005 61 00000000000000000000000000000006";
        let rest = "000000000000000a 0000000000010002";
        let found = stored(4, &hex(&format!("01 {accounts} {rest}"))).expect("a hold");
        let held = Transfer { kind: Kind::Pending, ..plain(4, 5, 6, 10) };
        assert_eq!(found, Stored { transfer: held, timestamp: 65_538 });
        let pending = "00000000000000000000000000000004";
        let found = stored(7, &hex(&format!("02 {accounts} {rest} {pending}"))).expect("a post");
        let posted = Transfer { kind: Kind::Post, pending_id: 4, ..plain(7, 5, 6, 10) };
        assert_eq!(found.transfer, posted);
        stored(7, &hex(&format!("02 {accounts} {rest}"))).expect_err("too short");
        stored(7, &hex(&format!("01 {accounts} {rest} {pending}"))).expect_err("too long");
        stored(7, &hex(&format!("04 {accounts} {rest}"))).expect_err("no such kind");
        stored(7, &hex(&format!("01 {} {rest}", accounts.replacen("61", "62", 1)))).expect_err("no account");
    }
}
