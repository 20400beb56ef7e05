//! A network of one's own: passes on what clients and a server send each other, late by half a round trip each way.
//!
//! Knows connections, bytes and moments, and nothing of what the bytes mean. Each direction of a connection has a reader,
//! which notes when bytes came; one writer for all connections waits until the next are due. As all are as late, they are
//! due in the order in which they came: nothing overtakes, what is under way holds back nothing that follows, and the writer
//! is woken once for many. Without delay a thread copies each direction, as a hand-over would cost more than all else.
//!
//! Whoever does not read what is sent stops the writer of that direction, for all: behind a relay there is one client
//! process and one server. Not delayed is the opening of a connection, which the relay answers itself.

use std::{
    hint,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        // Not crossbeam's: it yields the CPU before it waits, and who yields has it back in 4 ms where another wants it.
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::Duration,
};

use crate::{
    error::say,
    timer::{Clock, MonotonicClock},
};

/// The most that is read at once.
const PIECE_BYTES: usize = 32 << 10;
/// Pieces of one direction that are under way; who sends more waits. With the size of a piece: 64 MiB a direction at most.
const PIECES_MAX: usize = 2_048;
/// Of a thread's stack: there are two a connection, and 1,024 connections.
const STACK_BYTES: usize = 64 << 10;
/// The most that is reckoned with for a wake-up, and so the most that a writer spins for a piece.
const LATE_MAX_NS: u64 = 50_000;
/// By how much one sleep changes what is reckoned with.
const LATE_STEP_NS: u64 = 1_000;

/// A clock whose moments can be waited for.
pub trait Moments: Clock + Copy + Send + 'static {
    /// Returns at that moment, in the clock's nanoseconds, or as soon after it as it can; never before.
    fn wait_until(&self, moment_ns: u64, lateness: &mut Lateness);
}

impl Moments for MonotonicClock {
    /// Sleeps but for the last few microseconds: half of all sleeps end that much too early.
    fn wait_until(&self, moment_ns: u64, lateness: &mut Lateness) {
        let now_ns = self.now_ns();
        if let Some(sleep_ns) = lateness.sleep_ns(moment_ns.saturating_sub(now_ns)) {
            thread::sleep(Duration::from_nanos(sleep_ns));
            lateness.learn(self.now_ns().saturating_sub(now_ns + sleep_ns));
        }
        while self.now_ns() < moment_ns {
            hint::spin_loop();
        }
    }
}

/// How late this machine wakes who waits, as learnt from sleeps: 5 to 50 us on an idle machine, the more the longer it slept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness(u64);

impl Lateness {
    /// When to pass on what is due by the moment at which it was noticed. It had come earlier, as its reader had to be woken
    /// too: that cannot be seen, and is taken to have been as late as sleepers are. Without this an idle machine's round trip
    /// of 1 ms is 30 us longer; with it a single one can be shorter than asked for by as much as two wake-ups differ.
    fn corrected_ns(self, due_ns: u64) -> u64 {
        due_ns.saturating_sub(self.0)
    }

    /// How long to sleep where so much is left; `None`: it is not worth it.
    fn sleep_ns(self, left_ns: u64) -> Option<u64> {
        left_ns.checked_sub(self.0).filter(|&sleep_ns| sleep_ns > 0)
    }

    /// A sleep ended so late: follows the median, as some end far too late, when it is another's turn on the CPU.
    fn learn(&mut self, late_ns: u64) {
        self.0 = if late_ns > self.0 {
            (self.0 + LATE_STEP_NS).min(LATE_MAX_NS)
        } else {
            self.0.saturating_sub(LATE_STEP_NS)
        };
    }
}

/// What is relayed to where.
#[derive(Clone, Copy, Debug)]
pub struct Relay<C> {
    /// The server.
    pub to: SocketAddr,
    /// How late each byte is passed on, in either direction.
    pub one_way_ns: u64,
    /// Tells when.
    pub clock: C,
}

impl<C: Moments> Relay<C> {
    /// Relays every connection that comes, for ever. Returns why no more can be let in.
    pub fn serve(self, listener: &TcpListener) -> io::Error {
        let queues = match [self.queue(), self.queue()] {
            [Ok(forth), Ok(back)] => [forth, back],
            [Err(error), _] | [_, Err(error)] => return error,
        };
        loop {
            match listener.accept() {
                Ok((client, _)) => {
                    let (to, queues) = (self.to, queues.clone());
                    let connection = move || {
                        self.connection(client, queues)
                            .unwrap_or_else(|error| say(&format!("relay to {to}: {error}")));
                    };
                    if let Err(error) = spawn(connection) {
                        return error;
                    }
                }
                // Who has gone before being let in is no reason to leave the others.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return error,
            }
        }
    }

    /// Where what comes in one direction waits, with its writer; none without delay.
    fn queue(self) -> io::Result<Option<SyncSender<Piece>>> {
        if self.one_way_ns == 0 {
            return Ok(None);
        }
        let (sender, receiver) = mpsc::sync_channel(PIECES_MAX);
        spawn(move || write(&receiver, self.clock))?;
        Ok(Some(sender))
    }

    /// One client's, until both directions have ended.
    fn connection(self, client: TcpStream, [forth, back]: [Option<SyncSender<Piece>>; 2]) -> io::Result<()> {
        let server = TcpStream::connect(self.to)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let direction = Direction { from: Arc::new(client), to: Arc::new(server) };
        let reversed = direction.reversed();
        spawn(move || self.pass(&reversed, back.as_ref()))?;
        self.pass(&direction, forth.as_ref());
        Ok(())
    }

    /// One direction, until it has ended.
    fn pass(self, direction: &Direction, queue: Option<&SyncSender<Piece>>) {
        match queue {
            Some(queue) => self.read(direction, queue),
            None => direction.copy(),
        }
    }

    /// Puts all that comes into the queue.
    fn read(self, direction: &Direction, queue: &SyncSender<Piece>) {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let received = direction.receive(&mut buffer);
            let due_ns = self.clock.now_ns() + self.one_way_ns;
            let event = received.map_or_else(|last| last, |length| Event::Bytes(buffer[..length].into()));
            let is_last = event.is_last();
            let piece = Piece { due_ns, event, direction: direction.clone() };
            if queue.send(piece).is_err() || is_last {
                return;
            }
        }
    }
}

/// Passes on all of the queue, each when it is due.
fn write(queue: &Receiver<Piece>, clock: impl Moments) {
    let mut lateness = Lateness::default();
    for Piece { due_ns, event, direction } in queue {
        clock.wait_until(lateness.corrected_ns(due_ns), &mut lateness);
        match event {
            Event::Bytes(bytes) => direction.write(&bytes).unwrap_or_else(|lost| direction.end(&lost)),
            last => direction.end(&last),
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map(drop)
}

/// What comes out of a connection.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Bytes(Box<[u8]>),
    /// Nothing more comes; the other direction may go on.
    End,
    /// The connection is no more.
    Lost,
}

impl Event {
    fn is_last(&self) -> bool {
        !matches!(self, Self::Bytes(_))
    }
}

/// What is under way.
#[derive(Debug)]
struct Piece {
    /// When it is to be passed on.
    due_ns: u64,
    event: Event,
    direction: Direction,
}

/// From one connection to the other. Both are shared with the opposite direction.
#[derive(Clone, Debug)]
struct Direction {
    from: Arc<TcpStream>,
    to: Arc<TcpStream>,
}

impl Direction {
    fn reversed(&self) -> Self {
        Self { from: Arc::clone(&self.to), to: Arc::clone(&self.from) }
    }

    /// Waits for what comes next: so many bytes, or how it ended.
    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Event> {
        match self.from.as_ref().read(buffer) {
            Ok(0) => Err(Event::End),
            Ok(length) => Ok(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.receive(buffer),
            Err(_) => Err(Event::Lost),
        }
    }

    /// Has the other side see how it ended: as half-closed, or as gone, both ways.
    fn end(&self, last: &Event) {
        // Who has gone already needs not be told.
        if *last == Event::End {
            let _ = self.to.shutdown(Shutdown::Write);
        } else {
            let _ = self.to.shutdown(Shutdown::Both);
            let _ = self.from.shutdown(Shutdown::Both);
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Event> {
        self.to.as_ref().write_all(bytes).map_err(|_| Event::Lost)
    }

    /// Without delay.
    fn copy(&self) {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let passed = self.receive(&mut buffer).and_then(|length| self.write(&buffer[..length]));
            if let Err(last) = passed {
                return self.end(&last);
            }
        }
    }
}

#[cfg(test)]
mod tests;
