//! A network of one's own: passes on what clients and a server send each other, late by half a round trip each way.
//!
//! Knows connections, bytes and moments, and nothing of what the bytes mean. Each direction of a connection has a reader,
//! which notes when bytes came, and a writer, which waits until they are due: the delay is of every byte, however many are
//! under way, and does not hold back the next. Without delay one thread copies, as a hand-over would cost more than all else.
//!
//! Not delayed: the opening of a connection, which the relay answers itself.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use crossbeam::channel::{self, Receiver, Sender};

use crate::{
    error::say,
    timer::{Clock, MonotonicClock},
};

/// The most that is read at once.
const PIECE_BYTES: usize = 32 << 10;
/// Pieces of one direction that are under way; who sends more waits. With the size of a piece: 2 MiB a direction, which in
/// half of 5 ms is 800 MB/s.
const PIECES_MAX: usize = 64;
/// Of a thread's stack: there are four a connection, and 1,024 connections.
const STACK_BYTES: usize = 64 << 10;

/// The most that is reckoned with for a wake-up, and so the most that a writer spins for a piece.
const LATE_MAX_NS: u64 = 50_000;

/// A clock whose moments can be waited for.
pub trait Moments: Clock + Copy + Send + 'static {
    /// Returns at that moment, in the clock's nanoseconds, or as soon after it as it can; never before.
    fn wait_until(&self, moment_ns: u64, lateness: &mut Lateness);
}

impl Moments for MonotonicClock {
    /// Sleeps but for the last few microseconds, in which whoever else wants the CPU has it.
    fn wait_until(&self, moment_ns: u64, lateness: &mut Lateness) {
        let now_ns = self.now_ns();
        if let Some(sleep_ns) = lateness.sleep_ns(moment_ns.saturating_sub(now_ns)) {
            thread::sleep(Duration::from_nanos(sleep_ns));
            lateness.learn(self.now_ns().saturating_sub(now_ns + sleep_ns));
        }
        while self.now_ns() < moment_ns {
            thread::yield_now();
        }
    }
}

/// How late this machine wakes who waits, as learnt from sleeps: 5 to 50 us, the more the longer it was idle.
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

    /// A sleep ended so late. What is far too late was another's turn on the CPU, and is not made up for.
    fn learn(&mut self, late_ns: u64) {
        self.0 = (self.0 * 7 + late_ns.min(LATE_MAX_NS)) / 8;
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
        loop {
            match listener.accept() {
                Ok((client, _)) => {
                    let to = self.to;
                    let connection = move || {
                        self.connection(client)
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

    /// One client's, until both directions have ended.
    fn connection(self, client: TcpStream) -> io::Result<()> {
        let server = TcpStream::connect(self.to)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let forth = Direction { from: Arc::new(client), to: Arc::new(server) };
        let back = forth.reversed();
        spawn(move || self.pass(&back))?;
        self.pass(&forth);
        Ok(())
    }

    /// One direction, until it has ended.
    fn pass(self, direction: &Direction) {
        if self.one_way_ns == 0 {
            return direction.copy();
        }
        let (sender, receiver) = channel::bounded(PIECES_MAX);
        let writer = direction.clone();
        match spawn(move || writer.write(&receiver, self.clock)) {
            Ok(()) => direction.read(&sender, self),
            Err(_) => direction.end(&Event::Lost),
        }
    }

    /// When what has arrived is to be passed on. As late for all, so that nothing overtakes.
    fn due_ns(&self, arrived_ns: u64) -> u64 {
        arrived_ns + self.one_way_ns
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

    /// Without delay.
    fn copy(&self) {
        let mut buffer = vec![0; PIECE_BYTES];
        let last = loop {
            match self.receive(&mut buffer) {
                Ok(length) => {
                    if self.to.as_ref().write_all(&buffer[..length]).is_err() {
                        break Event::Lost;
                    }
                }
                Err(last) => break last,
            }
        };
        self.end(&last);
    }

    /// Puts all that comes into the queue, each with the moment when it is due.
    fn read<C: Moments>(&self, queue: &Sender<(u64, Event)>, relay: Relay<C>) {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let received = self.receive(&mut buffer);
            let due_ns = relay.due_ns(relay.clock.now_ns());
            let event = received.map_or_else(|last| last, |length| Event::Bytes(buffer[..length].into()));
            let is_last = event.is_last();
            // A writer that is no more has ended both connections.
            if queue.send((due_ns, event)).is_err() || is_last {
                return;
            }
        }
    }

    /// Passes on all of the queue, each when it is due.
    fn write(&self, queue: &Receiver<(u64, Event)>, clock: impl Moments) {
        let mut lateness = Lateness::default();
        for (due_ns, event) in queue {
            clock.wait_until(lateness.corrected_ns(due_ns), &mut lateness);
            let Event::Bytes(bytes) = event else { return self.end(&event) };
            if self.to.as_ref().write_all(&bytes).is_err() {
                return self.end(&Event::Lost);
            }
        }
    }
}

#[cfg(test)]
mod tests;
