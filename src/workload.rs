//! Accounts and transfers from a seed. Pure: it sends nothing, and the same seed makes the same
//! choices again, so that what a sample must have left behind can be reckoned after it.

use std::sync::Arc;

use crate::{
    ledger::{
        ids::{Ids, Source},
        model::{Kind, NewAccount, Transfer},
    },
    rng::Rng,
};

/// What one transfer moves.
pub const AMOUNT: u64 = 10;
/// What each account is given before the sample: enough for a thousand hours at full speed. Below
/// 2^53, as any real balance is, even times a few.
pub const FUNDS: u64 = 1 << 40;

/// The accounts of a sample: those that money moves between, which may not be overdrawn, and a
/// bank that gives them what they start with and may.
#[derive(Debug)]
pub struct Population {
    bank: u128,
    first: u128,
    count: u32,
    funding_ids: Ids,
    /// Zipf's distribution, summed up; none where all accounts are alike.
    cumulative: Option<Vec<f64>>,
}

impl Population {
    /// `count` accounts, the first of which is chosen most: the one of rank `r` with a probability
    /// in proportion to `1 / r^s` (Zipf's law), `s` being `skew_pct` hundredths.
    #[must_use]
    pub fn new(source: &mut Source, count: u32, skew_pct: u32) -> Self {
        assert!(count > 1, "money moves between two accounts");
        let exponent = f64::from(skew_pct) / 100.0;
        let cumulative = (skew_pct > 0).then(|| {
            let mut sum = 0.0;
            let mut add = |rank: u32| {
                sum += f64::from(rank).powf(-exponent);
                sum
            };
            (1..=count).map(&mut add).collect()
        });
        Self {
            bank: source.account(0),
            first: source.account(1),
            count,
            funding_ids: source.next_client(),
            cumulative,
        }
    }

    /// The ids of all accounts, the bank's first.
    pub fn ids(&self) -> impl Iterator<Item = u128> {
        let first = self.first;
        [self.bank].into_iter().chain((0..self.count).map(move |rank| first + u128::from(rank)))
    }

    /// All accounts, as they are to be made.
    pub fn accounts(&self) -> impl Iterator<Item = NewAccount> {
        let bank = self.bank;
        self.ids().map(move |id| NewAccount { id, debits_must_not_exceed_credits: id != bank })
    }

    /// What gives every account its [`FUNDS`].
    pub fn funding(&self) -> impl Iterator<Item = Transfer> {
        let (bank, mut ids) = (self.bank, self.funding_ids.clone());
        self.ids().skip(1).map(move |account| Transfer {
            id: ids.next(),
            debit_account_id: bank,
            credit_account_id: account,
            amount: FUNDS,
            ..Transfer::default()
        })
    }

    /// An id that none of our transfers has.
    #[must_use]
    pub fn spare_id(&self) -> u128 {
        let mut ids = self.funding_ids.clone();
        for _ in 0..self.count {
            ids.next();
        }
        ids.next()
    }

    /// Where an id stands among [`ids`](Self::ids).
    #[must_use]
    pub fn place(&self, id: u128) -> usize {
        usize::try_from(id - self.bank).expect("an account of ours")
    }

    /// A rank from 0.
    #[inline]
    fn pick(&self, rng: &mut Rng) -> u32 {
        let Some(cumulative) = &self.cumulative else {
            return u32::try_from(rng.below(u64::from(self.count))).expect("below a u32");
        };
        let total = cumulative[cumulative.len() - 1];
        let point = rng.unit() * total;
        let rank = cumulative.partition_point(|&sum| sum <= point);
        u32::try_from(rank).expect("a rank of a u32").min(self.count - 1)
    }
}

/// What one op of a benchmark asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many transfers, in one request.
    Batch(u32),
    /// A transfer that is held and its posting, a request each.
    TwoPhase,
}

impl Shape {
    /// Transfers that one op stores: a hold and its posting are two.
    #[must_use]
    pub fn stored_per_op(self) -> u32 {
        match self {
            Self::Batch(count) => count,
            Self::TwoPhase => 2,
        }
    }
}

/// One client's ops, one after the other. A copy makes the same ones again.
#[derive(Clone, Debug)]
pub struct Stream {
    population: Arc<Population>,
    shape: Shape,
    rng: Rng,
    ids: Ids,
}

impl Stream {
    /// The ops of client number `client`, with ids of its own.
    #[must_use]
    pub fn new(population: Arc<Population>, shape: Shape, seed: u64, client: u64, ids: Ids) -> Self {
        Self { population, shape, rng: Rng::new(seed, client), ids }
    }

    /// Whose accounts it moves money between.
    #[must_use]
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// Puts the transfers of the next op into `transfers`.
    #[inline]
    pub fn next_op(&mut self, transfers: &mut Vec<Transfer>) {
        transfers.clear();
        match self.shape {
            Shape::Batch(count) => transfers.extend((0..count).map(|_| self.transfer(Kind::Plain))),
            Shape::TwoPhase => {
                let hold = self.transfer(Kind::Pending);
                transfers.push(hold);
                transfers.push(Transfer {
                    id: self.ids.next(),
                    kind: Kind::Post,
                    amount: hold.amount,
                    pending_id: hold.id,
                    ..Transfer::default()
                });
            }
        }
    }

    /// Between two different accounts.
    #[inline]
    fn transfer(&mut self, kind: Kind) -> Transfer {
        let debit = self.population.pick(&mut self.rng);
        let credit = loop {
            let credit = self.population.pick(&mut self.rng);
            if credit != debit {
                break credit;
            }
        };
        let id = |rank| self.population.first + u128::from(rank);
        Transfer {
            id: self.ids.next(),
            kind,
            debit_account_id: id(debit),
            credit_account_id: id(credit),
            amount: AMOUNT,
            pending_id: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(count: u32, skew_pct: u32) -> Population {
        Population::new(&mut Source::new(), count, skew_pct)
    }

    /// How often each rank is picked.
    fn picks(population: &Population, times: u32) -> Vec<u32> {
        let mut rng = Rng::new(42, 0);
        let mut picks = vec![0; population.count as usize];
        (0..times).for_each(|_| picks[population.pick(&mut rng) as usize] += 1);
        picks
    }

    /// Pearson's sum over all ranks: for a right generator it is about the number of ranks less
    /// one, and beyond `one in a billion` for a wrong one.
    fn chi_squared(picks: &[u32], weights: &[f64]) -> f64 {
        let (times, total): (u32, f64) = (picks.iter().sum(), weights.iter().sum());
        let terms = picks.iter().zip(weights).map(|(&seen, weight)| {
            let expected = f64::from(times) * weight / total;
            (f64::from(seen) - expected).powi(2) / expected
        });
        terms.sum()
    }

    #[test]
    fn without_skew_all_accounts_are_alike() {
        let picks = picks(&population(20, 0), 100_000);
        // 19 degrees of freedom: one in a billion lies above 82.
        assert!(chi_squared(&picks, &[1.0; 20]) < 82.0, "{picks:?}");
    }

    #[test]
    fn with_skew_ranks_follow_zipf_s_law() {
        // 1/r^1.5 for r = 1..8, written out.
        let weights = [1.0, 0.353_553, 0.192_450, 0.125, 0.089_443, 0.068_041, 0.053_995, 0.044_194];
        let picks = picks(&population(8, 150), 100_000);
        // 7 degrees of freedom: one in a billion lies above 56.
        assert!(chi_squared(&picks, &weights) < 56.0, "{picks:?}");
    }

    #[test]
    fn a_stream_s_copy_makes_the_same_again_and_clients_differ() {
        let mut source = Source::new();
        let population = Arc::new(Population::new(&mut source, 1_000, 99));
        let mut first = Stream::new(Arc::clone(&population), Shape::Batch(50), 7, 0, source.next_client());
        let mut second = Stream::new(population, Shape::Batch(50), 7, 1, source.next_client());
        let mut copy = first.clone();
        let next = |stream: &mut Stream| {
            let mut transfers = Vec::new();
            stream.next_op(&mut transfers);
            transfers
        };
        let made = next(&mut first);
        assert_eq!(made, next(&mut copy));
        let accounts = |made: &[Transfer]| made.iter().map(|one| one.debit_account_id).collect::<Vec<_>>();
        assert_ne!(accounts(&made), accounts(&next(&mut second)));
        assert_ne!(accounts(&made), accounts(&next(&mut first)));
        assert!(made.iter().all(|one| one.debit_account_id != one.credit_account_id && one.amount == 10));
        let known: Vec<u128> = first.population.ids().collect();
        assert!(made.iter().all(|one| known[1..].contains(&one.credit_account_id)));
    }

    #[test]
    fn two_phases_are_a_hold_and_the_posting_of_all_of_it() {
        let mut source = Source::new();
        let population = Arc::new(Population::new(&mut source, 2, 0));
        let mut stream = Stream::new(population, Shape::TwoPhase, 7, 0, source.next_client());
        let mut transfers = Vec::new();
        stream.next_op(&mut transfers);
        let [hold, post] = transfers[..] else { panic!("{transfers:?}") };
        assert_eq!((hold.kind, post.kind), (Kind::Pending, Kind::Post));
        assert_eq!((post.pending_id, post.amount, post.id), (hold.id, hold.amount, hold.id + 1));
        assert_eq!((post.debit_account_id, post.credit_account_id), (0, 0));
    }

    #[test]
    fn every_account_is_funded_once_by_the_bank() {
        let mut source = Source::new();
        let population = Population::new(&mut source, 3, 0);
        let ids: Vec<u128> = population.ids().collect();
        let funding: Vec<Transfer> = population.funding().collect();
        assert!(funding.iter().all(|one| one.debit_account_id == ids[0] && one.amount == FUNDS));
        assert_eq!(funding.iter().map(|one| one.credit_account_id).collect::<Vec<_>>(), ids[1..]);
        let limited: Vec<bool> =
            population.accounts().map(|account| account.debits_must_not_exceed_credits).collect();
        assert_eq!(limited, [false, true, true, true]);
        assert_eq!(ids.iter().map(|&id| population.place(id)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}
