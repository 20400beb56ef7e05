//! Notices that nothing moves any more: a server that holds its connections open and never
//! answers would otherwise keep a blocking client for ever.
//!
//! It knows threads and time, and nothing of databases. A blocked thread cannot be interrupted,
//! so it is left behind: the caller reports and lets the process end.

use std::{panic, thread, time::Duration};

use crossbeam::channel::{RecvTimeoutError, bounded};

use crate::meter::Meter;

/// Looks at the meters within the patience: a stall is noticed a tenth too late at most.
const LOOKS: u32 = 10;

/// Everybody whose moves count as a sign of life.
#[derive(Clone, Debug)]
pub struct Board {
    meters: Vec<Meter>,
}

impl Board {
    /// A board for this many clients, and for the thread that coordinates them.
    #[must_use]
    pub fn new(clients: usize) -> Self {
        Self { meters: (0..=clients).map(|_| Meter::default()).collect() }
    }

    /// The meter of one client.
    #[must_use]
    pub fn client(&self, client: usize) -> Meter {
        self.meters[client + 1].clone()
    }

    /// The coordinating thread has come one step further.
    pub fn step(&self) {
        self.meters[0].count();
    }

    /// Grows whenever anybody has moved.
    fn total(&self) -> u64 {
        self.meters.iter().fold(0, |total, meter| total.wrapping_add(meter.total()))
    }
}

/// Compares the board with what it showed at the last look.
struct Watch<'a> {
    board: &'a Board,
    seen: u64,
    idle_looks: u32,
}

impl<'a> Watch<'a> {
    fn new(board: &'a Board) -> Self {
        Self { board, seen: board.total(), idle_looks: 0 }
    }

    /// At so many looks in a row nothing had moved that the patience is over.
    fn has_stalled(&mut self) -> bool {
        let total = self.board.total();
        self.idle_looks = if total == self.seen { self.idle_looks + 1 } else { 0 };
        self.seen = total;
        self.idle_looks >= LOOKS
    }
}

/// Runs `work` on a thread of its own. `None`: for as long as `patience` nothing has moved on
/// the board; the thread is left behind.
pub fn supervise<T: Send + 'static>(
    board: &Board,
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, results) = bounded(1);
    let worker = thread::spawn(move || {
        // The receiver is gone only when the work was given up.
        let _ = done.send(work());
    });
    let mut watch = Watch::new(board);
    loop {
        match results.recv_timeout(patience / LOOKS) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Disconnected) => {
                let panic = worker.join().expect_err("it ended without a result");
                panic::resume_unwind(panic);
            }
            Err(RecvTimeoutError::Timeout) if watch.has_stalled() => return None,
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
        let mut idle = |looks| (0..looks).any(|_| watch.has_stalled());
        assert!(!idle(LOOKS - 1));
        board.client(1).count();
        assert!(!idle(LOOKS));
        board.step();
        assert!(!idle(LOOKS));
        assert!(idle(1));
    }

    #[test]
    #[should_panic(expected = "broken")]
    fn a_panic_is_passed_on() {
        supervise(&Board::new(1), LONG, || panic!("broken"));
    }

    #[test]
    fn everybody_has_a_meter_of_their_own() {
        let board = Board::new(2);
        board.step();
        board.client(0).count();
        assert_eq!([board.client(0).total(), board.client(1).total(), board.total()], [1, 0, 2]);
    }
}
