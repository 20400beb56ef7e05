//! Counts round trips: for the row, and for the watchdog, which sees by it that a client moves.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crossbeam::utils::CachePadded;

/// One client's count, on a cache line of its own and written by that client alone.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<CachePadded<AtomicU64>>);

impl Meter {
    /// One more round trip begins.
    #[inline]
    pub fn count(&self) {
        // One writer: a plain load and store cost less than an atomic addition.
        self.0.store(self.total() + 1, Ordering::Relaxed);
    }

    /// Round trips so far.
    #[inline]
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
