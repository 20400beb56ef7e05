//! `relay`: stands between a client and a server and delays what passes, in a process of its own, so that it costs the
//! client nothing.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
};

use anyhow::{Context, Result};

use super::Outcome;
use crate::{cli::RelayArgs, error::say, relay::Relay, timer::MonotonicClock};

pub fn relay(args: &RelayArgs) -> Result<Outcome> {
    // The kernel may wake a sleeper 50 us late, unless it is asked not to; threads inherit that.
    fs::write("/proc/self/timerslack_ns", "1").unwrap_or_else(|error| {
        say(&format!("relay: each delay may be 50 us too long: timerslack_ns: {error}"));
    });
    let address = (Ipv4Addr::LOCALHOST, args.port);
    let listener =
        TcpListener::bind(address).with_context(|| format!("listening at 127.0.0.1:{}", args.port))?;
    let one_way_ns = u64::from(args.rtt_us) * 1_000 / 2;
    let ended = Relay { to: args.to, one_way_ns, clock: MonotonicClock::start() }.serve(&listener);
    Err(ended).context("no more connections can be relayed")
}
