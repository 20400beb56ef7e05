//! `ping`: waits until a server answers in its own protocol.

use std::{thread, time::Duration};

use anyhow::Result;

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
    let mut refusal = None;
    loop {
        let (answer, took_us) = time_us(|| try_once(args.system, left));
        match answer {
            Some(Ok(())) => return Ok(Outcome::Good),
            Some(Err(error)) if error.downcast_ref::<BadInput>().is_some() => return Err(error),
            Some(Err(error)) => refusal = Some(error),
            None => {}
        }
        left = left.saturating_sub(Duration::from_micros(took_us) + PAUSE);
        if left.is_zero() {
            // The last try had little time: what an earlier one was told says more than its silence.
            return Err(
                refusal.unwrap_or_else(|| watchdog::no_reply(args.timeout).context(args.system.place()))
            );
        }
        thread::sleep(PAUSE);
    }
}

/// Connects on a thread of its own: a server that accepts and stays silent blocks it for ever.
/// `None`: it was silent. A driver's own deadline comes first: it says more.
fn try_once(system: System, timeout: Duration) -> Option<Result<()>> {
    let connect = move || ledger::connect(system, timeout * 9 / 10).map(drop);
    watchdog::supervise(&Board::new(0), timeout, connect)
}
