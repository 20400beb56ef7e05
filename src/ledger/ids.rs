//! Ids for accounts and transfers, the same in every system: time-ordered, as TigerBeetle asks for
//! (random ids cost any index throughput), and fresh in every process, so that a server that keeps its file never sees one
//! again. The crate's `id()` gives the time and the randomness; it takes a lock that all clients
//! share and reads the clock, so it is called once a process, and each client counts on from it
//! in a range of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use tigerbeetle_unofficial as tb;

/// Low bits that count within a client.
const COUNTER_BITS: u32 = 40;
/// Bits above them that tell the clients apart; range 0 holds the accounts.
const CLIENT_BITS: u32 = 16;

/// Hands out one range of ids after the other.
#[derive(Debug)]
pub struct Source {
    base: u128,
    clients: u128,
}

/// The ids of one client. A copy gives out the same ones again.
#[derive(Clone, Debug)]
pub struct Ids {
    next: u128,
    end: u128,
}

impl Source {
    /// A base that no other process has, nor any other source of this one: within a millisecond
    /// the crate's ids differ in low bits alone.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "no two are alike")]
    pub fn new() -> Self {
        static SOURCES: AtomicU64 = AtomicU64::new(0);
        let bits = COUNTER_BITS + CLIENT_BITS;
        let number = u128::from(SOURCES.fetch_add(1, Ordering::Relaxed));
        Self { base: ((tb::id() >> bits) + number) << bits, clients: 0 }
    }

    /// The id of our `number`th account.
    #[must_use]
    pub fn account(&self, number: u32) -> u128 {
        assert!(u64::from(number) < 1 << COUNTER_BITS, "accounts fit their range");
        self.base + 1 + u128::from(number)
    }

    /// A range that no other client has.
    pub fn next_client(&mut self) -> Ids {
        self.clients += 1;
        assert!(self.clients < 1 << CLIENT_BITS, "clients fit their bits");
        let start = self.base + (self.clients << COUNTER_BITS);
        Ids { next: start, end: start + (1 << COUNTER_BITS) }
    }
}

impl Ids {
    /// The next one.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u128 {
        assert!(self.next < self.end, "a client's range of ids is used up");
        let id = self.next;
        self.next += 1;
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_do_not_touch_and_ids_rise() {
        let mut source = Source::new();
        let accounts = [source.account(0), source.account(1)];
        let (mut first, mut second) = (source.next_client(), source.next_client());
        assert!(accounts[0] < accounts[1] && accounts[1] < first.next);
        assert_eq!(first.end, second.next);
        let ids = [first.next(), first.next(), second.next(), second.next()];
        assert!(ids.is_sorted() && ids[1] - ids[0] == 1);
    }

    #[test]
    #[should_panic(expected = "used up")]
    fn a_range_has_an_end() {
        let mut ids = Ids { next: 7, end: 8 };
        assert_eq!(ids.next(), 7);
        ids.next();
    }

    #[test]
    #[should_panic(expected = "clients fit")]
    fn clients_have_an_end() {
        let mut source = Source { base: 0, clients: (1 << CLIENT_BITS) - 1 };
        source.next_client();
    }

    #[test]
    fn sources_share_no_id() {
        let bases: std::collections::BTreeSet<u128> = (0..100).map(|_| Source::new().base).collect();
        assert_eq!(bases.len(), 100);
    }

    #[test]
    fn ids_count_from_nought() {
        assert_eq!(Source::new().base % (1 << (COUNTER_BITS + CLIENT_BITS)), 0);
    }
}
