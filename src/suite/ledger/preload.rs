//! Transfers that are stored before the sample (`--preload`): a ledger that has grown behaves otherwise than a fresh one.
//! At batch speed, between the accounts of the sample and with its skew. Off the clock.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use anyhow::Result;

use super::{Client, receive_done};
use crate::{
    error::say,
    ledger::{EVENTS_MAX, Ledger, ids::Source, model::Transfer},
    plan::Case,
    timer,
    workload::{Population, Shape, Stream},
};

/// Clients that fill the ledger, each on a thread of its own.
const CLIENTS_MAX: u32 = 4;
/// Requests that each has in flight, where its system takes several.
const IN_FLIGHT: usize = 4;
/// What is stored is told each time that it has grown by so many.
const TOLD_EACH: u64 = 1_000_000;
/// Numbers of random streams: far beyond those of the sample's clients.
const STREAM_FIRST: u64 = 1 << 32;

/// One client's share.
#[derive(Clone, Debug)]
pub struct Preload {
    /// Makes it again.
    beginning: Stream,
    count: u64,
    in_flight: usize,
}

/// A share for each client of the case, for most of them of nothing.
pub fn shares(case: &Case, population: &Arc<Population>, seed: u64, source: &mut Source) -> Vec<Preload> {
    let fillers = u64::from(case.clients.min(CLIENTS_MAX));
    let in_flight = if case.system.takes_several_in_flight() { IN_FLIGHT } else { 1 };
    let shape = Shape::Batch(u32::try_from(EVENTS_MAX).expect("it fits"));
    let of_client = |client: u64| {
        let (ids, population) = (source.next_client(), Arc::clone(population));
        Preload {
            beginning: Stream::new(population, shape, seed, STREAM_FIRST + client, ids),
            count: if client < fillers { timer::share(case.preload, client, fillers) } else { 0 },
            in_flight,
        }
    };
    (0..u64::from(case.clients)).map(of_client).collect()
}

impl Preload {
    /// Transfers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In requests as full as can be.
    pub fn requests(&self) -> impl Iterator<Item = Vec<Transfer>> {
        let (mut stream, mut left) = (self.beginning.clone(), self.count);
        std::iter::from_fn(move || {
            let size = usize::try_from(left.min(EVENTS_MAX as u64)).ok().filter(|&size| size > 0)?;
            let mut transfers = Vec::with_capacity(EVENTS_MAX);
            stream.next_op(&mut transfers);
            transfers.truncate(size);
            left -= size as u64;
            Some(transfers)
        })
    }

    /// An id that it comes to only after its last.
    pub fn id_beyond(&self) -> u128 {
        let mut stream = self.beginning.clone();
        let mut transfers = Vec::new();
        // The ids of a stream rise by one.
        stream.next_op(&mut transfers);
        transfers[0].id + u128::from(self.count)
    }
}

/// Stores all shares at once; each transfer must succeed.
pub fn fill(clients: &mut [Client]) -> Result<()> {
    let total = clients.iter().map(|client| client.preload.count).sum();
    let progress = Progress { total, stored: AtomicU64::new(0) };
    thread::scope(|scope| {
        let mut handles = Vec::new();
        for Client { ledger, preload, .. } in clients.iter_mut().filter(|client| client.preload.count > 0) {
            let progress = &progress;
            handles.push(scope.spawn(move || fill_one(ledger.as_mut(), preload, progress)));
        }
        // All are waited for, whatever the first of them came to.
        let results: Vec<Result<()>> =
            handles.into_iter().map(|handle| handle.join().expect("a filling thread panicked")).collect();
        results.into_iter().collect()
    })
}

/// One client's share, with its requests in flight.
fn fill_one(ledger: &mut dyn Ledger, preload: &Preload, progress: &Progress) -> Result<()> {
    let mut in_flight = VecDeque::with_capacity(preload.in_flight);
    for request in preload.requests() {
        if in_flight.len() == preload.in_flight {
            progress.add(receive(ledger, in_flight.pop_front())?);
        }
        ledger.prepare(&request)?;
        ledger.submit()?;
        in_flight.push_back(request.len());
    }
    while !in_flight.is_empty() {
        progress.add(receive(ledger, in_flight.pop_front())?);
    }
    Ok(())
}

/// The reply to the request that was sent first, and how many transfers it had.
fn receive(ledger: &mut dyn Ledger, sent: Option<usize>) -> Result<u64> {
    receive_done(ledger)?;
    Ok(sent.map_or(0, |sent| sent as u64))
}

/// How far all are.
struct Progress {
    total: u64,
    stored: AtomicU64,
}

impl Progress {
    /// Tells each million, as it takes seconds.
    fn add(&self, count: u64) {
        let before = self.stored.fetch_add(count, Ordering::Relaxed);
        let millions = (before + count) / TOLD_EACH;
        if millions > before / TOLD_EACH {
            say(&format!(
                "{millions} of {} million transfers stored before the sample",
                self.total.div_ceil(TOLD_EACH)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ledger::System,
        plan::{Benchmark, Suite},
    };

    fn preloads(clients: u32, preload: u64) -> Vec<Preload> {
        let plainest = Case::plainest(Suite::Ledger, Benchmark::Parallel, System::Memory);
        let case = Case { clients, preload, ..plainest };
        let mut source = Source::new();
        let population = Arc::new(Population::new(&mut source, 10, 0));
        shares(&case, &population, 7, &mut source)
    }

    #[test]
    fn shares_add_up_and_few_clients_have_one() {
        let counts = |clients, preload| -> Vec<u64> {
            preloads(clients, preload).iter().map(Preload::count).collect()
        };
        assert_eq!(counts(6, 10), [3, 3, 2, 2, 0, 0]);
        assert_eq!(counts(1, 8_190), [8_190]);
        assert_eq!(counts(2, 0), [0, 0]);
    }

    #[test]
    fn requests_are_full_but_the_last_and_no_id_is_twice() {
        let preloads = preloads(2, 2 * (EVENTS_MAX as u64 + 3));
        let sizes = |preload: &Preload| preload.requests().map(|one| one.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&preloads[0]), [EVENTS_MAX, 3]);
        let ids: Vec<u128> =
            preloads.iter().flat_map(Preload::requests).flatten().map(|one| one.id).collect();
        let distinct: std::collections::BTreeSet<&u128> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
        assert_eq!(preloads[0].id_beyond(), ids[EVENTS_MAX + 2] + 1);
    }
}
