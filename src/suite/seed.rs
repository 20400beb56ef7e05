//! The seed suite: the predecessor's four benchmarks, request for request, so that the figures
//! can be held against its published ones. It compares counters with a ledger, and keeps that
//! unfairness on purpose.

use anyhow::{Context, Result};

use super::{Check, ensure_all_hold, sum_checks};
use crate::{
    ledger::{AMOUNT, Account, HELD, SeedLedger, Server, TransferKind},
    meter::Meter,
    plan::{Benchmark, Case},
    runner::Work,
    timer::Op,
    watchdog::Board,
};

/// One client of a seed benchmark, counting what was acknowledged.
pub struct Client {
    ledger: Box<dyn SeedLedger>,
    meter: Meter,
    benchmark: Benchmark,
    batch: u32,
    acknowledged: i64,
}

/// All clients of a case, on two accounts that are still untouched.
pub fn connect(server: &mut dyn Server, case: &Case, board: &Board) -> Result<Vec<Client>> {
    let connect = |client: u32| {
        board.step();
        Client::connect(server, board.client(client as usize), case.benchmark, case.batch)
    };
    (0..case.clients).map(connect).collect()
}

impl Client {
    /// A client of a server whose two accounts are still untouched.
    pub fn connect(server: &mut dyn Server, meter: Meter, benchmark: Benchmark, batch: u32) -> Result<Self> {
        let ledger = server.seed_client(meter.clone())?;
        Ok(Self { ledger, meter, benchmark, batch, acknowledged: 0 })
    }

    /// Counts the op before it is checked: the server has said that it is done.
    fn acknowledge(&mut self) -> i64 {
        self.acknowledged += 1;
        self.acknowledged
    }

    fn basic(&mut self) -> Result<()> {
        self.ledger.transfer()?;
        let moved = self.acknowledge() * i64::from(AMOUNT);
        ensure_all_hold(&balance_checks(self.ledger.balances()?, moved))
    }

    fn basic_batch(&mut self) -> Result<()> {
        self.ledger.transfer_batch(self.batch)?;
        let moved = self.acknowledge() * i64::from(AMOUNT) * i64::from(self.batch);
        ensure_all_hold(&balance_checks(self.ledger.balances_after_batch()?, moved))
    }

    fn basic_parallel(&mut self) -> Result<()> {
        self.ledger.transfer()?;
        self.acknowledge();
        Ok(())
    }

    /// Where transfers are stored the predecessor looks at the hold, and at both of them.
    fn two_phase(&mut self) -> Result<()> {
        let keeps_transfers = self.ledger.keeps_transfers();
        self.ledger.hold()?;
        if keeps_transfers {
            self.check_held()?;
        }
        self.ledger.post()?;
        self.acknowledge();
        if keeps_transfers {
            let kinds = self.ledger.stored_kinds()?;
            let expected = [TransferKind::Pending, TransferKind::PostPending];
            anyhow::ensure!(kinds == expected, "the hold and its posting are stored as {kinds:?}");
        }
        self.check_posted()
    }

    fn check_held(&mut self) -> Result<()> {
        let posted = self.acknowledged * i64::from(HELD);
        ensure_all_hold(two_phase_checks(self.ledger.accounts()?, i64::from(HELD), posted).as_flattened())
            .context("while the amount is held")
    }

    fn check_posted(&mut self) -> Result<()> {
        let posted = self.acknowledged * i64::from(HELD);
        ensure_all_hold(two_phase_checks(self.ledger.accounts()?, 0, posted).as_flattened())
    }
}

/// All of an op is between its begin and its end: the predecessor builds its requests there.
impl Op for Client {
    #[inline]
    fn end(&mut self) -> Result<()> {
        match self.benchmark {
            Benchmark::Basic => self.basic(),
            Benchmark::TwoPhase => self.two_phase(),
            Benchmark::BasicBatch => self.basic_batch(),
            Benchmark::BasicParallel | Benchmark::Transfer => self.basic_parallel(),
            Benchmark::RoundTrip => self.ledger.hello(),
            other => unreachable!("{other} is of another suite"),
        }
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

/// Has the server count what it keeps for each client by itself. Off the clock.
pub fn hand_in_counts(clients: &mut [Client]) -> Result<()> {
    clients.iter_mut().try_for_each(|client| client.ledger.hand_in_counts())
}

/// After the sample, off the clock: every sum equals what all clients together were told is
/// done, to the unit. A hold is looked at on one more op.
pub fn verify(clients: &mut [Client]) -> Result<()> {
    let acknowledged: i64 = clients.iter().map(|client| client.acknowledged).sum();
    let alone = clients.len() == 1;
    let first = clients.first_mut().context("a sample has a client")?;
    if first.benchmark == Benchmark::TwoPhase {
        assert!(alone, "its sums are those of one client");
        first.ledger.hold()?;
        first.check_held()?;
        first.ledger.post()?;
        first.acknowledge();
        return first.check_posted();
    }
    let per_op = i64::from(first.benchmark.transfers_per_op(first.batch));
    let moved = acknowledged * per_op * i64::from(AMOUNT);
    ensure_all_hold(&balance_checks(first.ledger.balances()?, moved))
}

const DEBITED: &str = "the debited account";
const CREDITED: &str = "the credited account";

fn balance_checks(found: [i64; 2], moved: i64) -> [Check<'static>; 2] {
    [
        Check { account: DEBITED, sum: "balance", expected: -moved, found: found[0] },
        Check { account: CREDITED, sum: "balance", expected: moved, found: found[1] },
    ]
}

fn two_phase_checks(
    [debited, credited]: [Account; 2],
    pending: i64,
    posted: i64,
) -> [[Check<'static>; 4]; 2] {
    let debits = Account { debits_pending: pending, debits_posted: posted, ..Account::default() };
    let credits = Account { credits_pending: pending, credits_posted: posted, ..Account::default() };
    [sum_checks(DEBITED, debits, debited), sum_checks(CREDITED, credits, credited)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ledger::{self, System},
        plan::Suite,
        runner::{self, Load},
        timer::Budget,
    };
    use std::time::Duration;

    /// A ledger that does its work wrong at one op, in one way.
    struct Broken {
        inner: Box<dyn SeedLedger>,
        fault: Fault,
        calls_left: u32,
        stores_transfers: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fault {
        None,
        LosesTransfer,
        DoublesTransfer,
        LosesOneOfBatch,
        NeverHolds,
        NeverPosts,
        RefusesTransfer,
        LosesPost,
        StoresPlainHold,
        StoresPlainPost,
    }

    impl Broken {
        /// Whether the fault strikes now: once, at the third call that it concerns.
        fn strikes(&mut self, fault: Fault) -> bool {
            if self.fault != fault {
                return false;
            }
            self.calls_left = self.calls_left.wrapping_sub(1);
            self.calls_left == 0
        }
    }

    impl SeedLedger for Broken {
        fn hello(&mut self) -> Result<()> {
            self.inner.hello()
        }
        fn transfer(&mut self) -> Result<()> {
            anyhow::ensure!(!self.strikes(Fault::RefusesTransfer), "refused");
            if self.strikes(Fault::LosesTransfer) {
                return Ok(());
            }
            if self.strikes(Fault::DoublesTransfer) {
                self.inner.transfer()?;
            }
            self.inner.transfer()
        }
        fn transfer_batch(&mut self, count: u32) -> Result<()> {
            let lost = u32::from(self.strikes(Fault::LosesOneOfBatch));
            self.inner.transfer_batch(count - lost)
        }
        fn balances(&mut self) -> Result<[i64; 2]> {
            self.inner.balances()
        }
        fn hold(&mut self) -> Result<()> {
            if self.fault == Fault::NeverHolds { Ok(()) } else { self.inner.hold() }
        }
        fn post(&mut self) -> Result<()> {
            if self.strikes(Fault::LosesPost) {
                return Ok(());
            }
            match self.fault {
                Fault::NeverHolds => {
                    self.inner.hold()?;
                    self.inner.post()
                }
                Fault::NeverPosts => Ok(()),
                _ => self.inner.post(),
            }
        }
        fn accounts(&mut self) -> Result<[Account; 2]> {
            self.inner.accounts()
        }
        fn keeps_transfers(&self) -> bool {
            self.stores_transfers
        }
        fn stored_kinds(&mut self) -> Result<[TransferKind; 2]> {
            let [hold, post] = self.inner.stored_kinds()?;
            Ok(match self.fault {
                Fault::StoresPlainHold => [TransferKind::Plain, post],
                Fault::StoresPlainPost => [hold, TransferKind::Plain],
                _ => [hold, post],
            })
        }
    }

    fn broken_client(benchmark: Benchmark, fault: Fault, calls_left: u32, stores_transfers: bool) -> Client {
        let mut server = ledger::connect(System::Memory, Duration::from_secs(1)).expect("memory");
        server.prepare(ledger::Data::Seed).expect("memory");
        let mut client = Client::connect(server.as_mut(), Meter::default(), benchmark, 7).expect("memory");
        client.ledger = Box::new(Broken { inner: client.ledger, fault, calls_left, stores_transfers });
        client
    }

    /// Runs 5 ops with a fault and returns what was found: in the loop, or after it.
    fn found(benchmark: Benchmark, fault: Fault, stores_transfers: bool) -> Option<String> {
        let clients = vec![broken_client(benchmark, fault, 3, stores_transfers)];
        let load = Load { warmup_ns: 0, budget: Budget { time_ns: None, ops: Some(5) }, interval_ns: None };
        let (mut sample, mut clients) = runner::run(clients, runner::Loop::ONE_BY_ONE, load);
        let in_loop = sample.failure.take().map(|(_, error)| format!("in the loop: {error:#}"));
        in_loop.or_else(|| verify(&mut clients).err().map(|error| format!("after it: {error:#}")))
    }

    #[test]
    fn a_right_ledger_passes_every_check() {
        for &benchmark in Suite::Seed.benchmarks() {
            for stores_transfers in [true, false] {
                assert_eq!(found(benchmark, Fault::None, stores_transfers), None);
            }
        }
    }

    #[test]
    fn every_fault_is_found_and_says_by_how_much() {
        let faults = [
            (
                Benchmark::Basic,
                Fault::LosesTransfer,
                true,
                "in the loop: the debited account's balance is -20 instead of -30: 10 too high; the credited account's balance is 20 instead of 30: 10 too low",
            ),
            (
                Benchmark::Basic,
                Fault::DoublesTransfer,
                true,
                "in the loop: the debited account's balance is -40 instead of -30: 10 too low; the credited account's balance is 40 instead of 30: 10 too high",
            ),
            (
                Benchmark::BasicBatch,
                Fault::LosesOneOfBatch,
                true,
                "in the loop: the debited account's balance is -200 instead of -210: 10 too high; the credited account's balance is 200 instead of 210: 10 too low",
            ),
            (
                Benchmark::BasicParallel,
                Fault::LosesTransfer,
                true,
                "after it: the debited account's balance is -40 instead of -50: 10 too high; the credited account's balance is 40 instead of 50: 10 too low",
            ),
            (
                Benchmark::BasicParallel,
                Fault::DoublesTransfer,
                true,
                "after it: the debited account's balance is -60 instead of -50: 10 too low; the credited account's balance is 60 instead of 50: 10 too high",
            ),
            (
                Benchmark::TwoPhase,
                Fault::NeverHolds,
                true,
                "in the loop: while the amount is held: the debited account's debits_pending is 0 instead of 500: 500 too low; the credited account's credits_pending is 0 instead of 500: 500 too low",
            ),
            // What the predecessor's check cannot see: nothing is ever held, all sums come out right.
            (
                Benchmark::TwoPhase,
                Fault::NeverHolds,
                false,
                "after it: while the amount is held: the debited account's debits_pending is 0 instead of 500: 500 too low; the credited account's credits_pending is 0 instead of 500: 500 too low",
            ),
        ];
        for (benchmark, fault, stores_transfers, told) in faults {
            assert_eq!(
                found(benchmark, fault, stores_transfers).as_deref(),
                Some(told),
                "{benchmark} {fault:?}"
            );
        }
        let unposted = found(Benchmark::TwoPhase, Fault::NeverPosts, false).expect("found");
        assert!(unposted.contains("debits_pending is 500 instead of 0: 500 too high"), "{unposted}");
        let unposted = found(Benchmark::TwoPhase, Fault::NeverPosts, true).expect("found");
        assert!(unposted.contains("stored as [Plain, Plain]"), "{unposted}");
    }

    #[test]
    fn only_what_was_acknowledged_is_counted() {
        for benchmark in [Benchmark::Basic, Benchmark::BasicParallel] {
            let mut client = broken_client(benchmark, Fault::RefusesTransfer, 2, true);
            client.end().expect("the first is done");
            client.end().expect_err("the second is refused");
            assert_eq!(client.acknowledged, 1, "{benchmark}");
            verify(&mut [client]).expect("what was refused is not there");
        }
    }

    #[test]
    fn a_wrong_kind_of_either_is_found() {
        for (fault, told) in [
            (Fault::StoresPlainHold, "stored as [Plain, PostPending]"),
            (Fault::StoresPlainPost, "stored as [Pending, Plain]"),
        ] {
            let found = found(Benchmark::TwoPhase, fault, true).expect("found");
            assert!(found.contains(told), "{found}");
        }
    }

    #[test]
    fn the_last_posting_is_checked_too() {
        let mut client = broken_client(Benchmark::TwoPhase, Fault::LosesPost, 2, true);
        client.end().expect("right");
        let error = verify(&mut [client]).expect_err("its own posting was lost");
        assert!(error.to_string().contains("debits_posted is 500 instead of 1000"), "{error}");
    }

    #[test]
    fn every_sum_of_both_accounts_is_checked() {
        let account = Account { debits_pending: 1, debits_posted: 2, credits_pending: 3, credits_posted: 4 };
        let checks = two_phase_checks([account; 2], 10, 20);
        let told = checks.as_flattened().iter().map(|c| (c.account, c.sum, c.expected, c.found));
        let expected = [
            ("the debited account", "debits_pending", 10, 1),
            ("the debited account", "debits_posted", 20, 2),
            ("the debited account", "credits_pending", 0, 3),
            ("the debited account", "credits_posted", 0, 4),
            ("the credited account", "debits_pending", 0, 1),
            ("the credited account", "debits_posted", 0, 2),
            ("the credited account", "credits_pending", 10, 3),
            ("the credited account", "credits_posted", 20, 4),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
