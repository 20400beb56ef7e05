//! Notices that nothing moves any more: a server that holds its connections open and never
//! answers would otherwise keep a blocking client for ever.
//!
//! It knows threads and time, and nothing of databases. A blocked thread cannot be interrupted,
//! so it is left behind: the caller reports and lets the process end.

use std::{
    panic,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crossbeam::{
    channel::{RecvTimeoutError, bounded},
    utils::CachePadded,
};

use crate::timer::Progress;

/// One counter for each client, each on a cache line of its own and written by that client
/// alone, and one for the thread that coordinates them.
#[derive(Debug)]
pub struct Board {
    slots: Vec<CachePadded<AtomicU64>>,
}

impl Board {
    /// A board for this many clients.
    #[must_use]
    pub fn new(clients: usize) -> Arc<Self> {
        let slots = (0..=clients).map(|_| CachePadded::default()).collect();
        Arc::new(Self { slots })
    }

    /// The place of one client.
    #[must_use]
    pub fn client(&self, client: usize) -> Slot<'_> {
        Slot(&self.slots[client + 1])
    }

    /// The coordinating thread has come one step further.
    pub fn step(&self) {
        Slot(&self.slots[0]).step();
    }

    /// Grows whenever anybody has moved.
    fn total(&self) -> u64 {
        self.slots.iter().fold(0, |total, slot| total.wrapping_add(slot.load(Ordering::Relaxed)))
    }
}

/// One client's place on the board.
#[derive(Debug)]
pub struct Slot<'a>(&'a AtomicU64);

impl Progress for Slot<'_> {
    #[inline]
    fn step(&self) {
        // One writer: a plain load and store cost less than an atomic addition.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// Compares the board with what it showed at the last look.
struct Watch<'a> {
    board: &'a Board,
    seen: u64,
}

impl<'a> Watch<'a> {
    fn new(board: &'a Board) -> Self {
        Self { board, seen: board.total() }
    }

    /// Nothing has moved since the last look.
    fn stalled(&mut self) -> bool {
        let total = self.board.total();
        total == std::mem::replace(&mut self.seen, total)
    }
}

/// Runs `work` on a thread of its own. `None`: for `timeout` nothing has moved on the board; the
/// thread is left behind.
pub fn supervise<T: Send + 'static>(
    board: &Board,
    timeout: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, results) = bounded(1);
    let worker = thread::spawn(move || {
        // The receiver is gone only when the work was given up.
        let _ = done.send(work());
    });
    let mut watch = Watch::new(board);
    loop {
        match results.recv_timeout(timeout) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Disconnected) => {
                let panic = worker.join().expect_err("it ended without a result");
                panic::resume_unwind(panic);
            }
            Err(RecvTimeoutError::Timeout) if watch.stalled() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// What a stall is called.
#[must_use]
pub fn no_reply(timeout: Duration) -> anyhow::Error {
    anyhow::anyhow!("no reply within {} (--timeout): is the server up?", humantime::format_duration(timeout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn returns_what_the_work_returns() {
        assert_eq!(supervise(&Board::new(1), LONG, || 7), Some(7));
    }

    #[test]
    fn gives_up_when_nothing_moves() {
        let (release, wait) = mpsc::channel::<()>();
        let stuck = move || wait.recv().is_ok();
        assert_eq!(supervise(&Board::new(1), SHORT, stuck), None);
        drop(release);
    }

    #[test]
    fn one_mover_among_many_keeps_it_going() {
        let board = Board::new(2);
        let mut watch = Watch::new(&board);
        assert!(watch.stalled());
        board.client(1).step();
        assert!(!watch.stalled());
        board.step();
        assert!(!watch.stalled());
        assert!(watch.stalled());
    }

    #[test]
    #[should_panic(expected = "broken")]
    fn a_panic_is_passed_on() {
        supervise(&Board::new(1), LONG, || panic!("broken"));
    }
}
