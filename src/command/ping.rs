//! `ping`: waits until a server answers in its own protocol.

use std::{thread, time::Duration};

use anyhow::{Context, Result};

use super::Outcome;
use crate::{
    cli::PingArgs,
    error::BadInput,
    ledger::{self, System},
    timer::time_us,
    watchdog::{self, Board},
};

/// Between two tries at a server that refuses connections: it costs the starting server nothing
/// and the user no time that could be seen.
const PAUSE: Duration = Duration::from_millis(10);

pub fn ping(args: &PingArgs) -> Result<Outcome> {
    let mut left = args.timeout;
    loop {
        let (answer, took_us) = time_us(|| try_once(args.system, left));
        let Err(error) = answer else {
            return Ok(Outcome::Good);
        };
        left = left.saturating_sub(Duration::from_micros(took_us) + PAUSE);
        if left.is_zero() || error.downcast_ref::<BadInput>().is_some() {
            return Err(error);
        }
        thread::sleep(PAUSE);
    }
}

/// Connects on a thread of its own: a server that accepts and stays silent blocks it for ever.
fn try_once(system: System, timeout: Duration) -> Result<()> {
    let connect = move || ledger::connect(system, timeout).map(drop);
    watchdog::supervise(&Board::new(0), timeout, connect)
        .unwrap_or_else(|| Err(watchdog::no_reply(timeout)).with_context(|| system.place()))
}
