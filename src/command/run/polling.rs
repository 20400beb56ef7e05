//! Asks the server for its counters while the clients are at work: by a connection of its own, that no client uses.

use std::{
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::Result;
use crossbeam::channel::{RecvTimeoutError, Sender, bounded};

use crate::{
    ledger::{Counters, Server},
    runner::Sample,
};

/// It is asked so often within an interval, as nobody knows beforehand when the first begins.
const READINGS_PER_INTERVAL: u32 = 4;

/// The server's counters at a moment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    counters: Counters,
}

/// The server again, and what it told.
type Asked = (Box<dyn Server>, Result<Vec<Reading>>);

/// A server that is asked until it is needed again.
pub struct Polling {
    /// Its end ends it.
    stop: Sender<()>,
    asking: JoinHandle<Asked>,
}

impl Polling {
    /// Begins.
    pub fn begin(mut server: Box<dyn Server>, interval_ns: u64) -> Self {
        let (stop, stopped) = bounded(0);
        let pause = Duration::from_nanos(interval_ns) / READINGS_PER_INTERVAL;
        let asking = thread::spawn(move || {
            let mut readings = Vec::new();
            let outcome = loop {
                match server.counters() {
                    Ok(counters) => readings.push(Reading { at: Instant::now(), counters }),
                    Err(error) => break Err(error.context("asking for counters during the sample")),
                }
                if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    break Ok(readings);
                }
            };
            (server, outcome)
        });
        Self { stop, asking }
    }

    /// Ends, with the server, and what it had counted at the start of each interval of the sample and at the end of the last one.
    pub fn end(self, sample: &Sample, interval_ns: u64) -> (Box<dyn Server>, Result<Vec<Counters>>) {
        drop(self.stop);
        let (server, readings) = self.asking.join().expect("it asks, and no more");
        (server, readings.map(|readings| at_ends(&readings, sample, interval_ns)))
    }
}

fn at_ends(readings: &[Reading], sample: &Sample, interval_ns: u64) -> Vec<Counters> {
    let Some(began) = sample.intervals_began else { return Vec::new() };
    let ends = 0..=sample.intervals.len() as u64;
    let moments = ends.map(|end| began + Duration::from_nanos(end * interval_ns));
    moments.filter_map(|moment| nearest(readings, moment)).collect()
}

fn nearest(readings: &[Reading], moment: Instant) -> Option<Counters> {
    let distance = |reading: &&Reading| {
        let (early, late) = (reading.at.min(moment), reading.at.max(moment));
        late.duration_since(early)
    };
    readings.iter().min_by_key(distance).map(|reading| reading.counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reading_that_is_nearest_counts() {
        let began = Instant::now();
        let at_ms = |ms, log_bytes| Reading {
            at: began + Duration::from_millis(ms),
            counters: Counters { log_bytes: Some(log_bytes), ..Counters::default() },
        };
        let readings = [at_ms(3, 1), at_ms(90, 2), at_ms(120, 3), at_ms(198, 4)];
        let found = |ms| nearest(&readings, began + Duration::from_millis(ms)).and_then(|one| one.log_bytes);
        assert_eq!([0, 100, 106, 200].map(found), [Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!(nearest(&[], began), None);
    }
}
