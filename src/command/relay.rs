//! `relay`: stands between a client and a server and delays what passes, in a process of its own, so that it costs the
//! client nothing.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

use super::Outcome;
use crate::{cli::RelayArgs, machine, relay::Relay, timer::MonotonicClock};

pub fn relay(args: &RelayArgs) -> Result<Outcome> {
    machine::wake_sleepers_sharply();
    let address = (Ipv4Addr::LOCALHOST, args.port);
    let listener =
        TcpListener::bind(address).with_context(|| format!("listening at 127.0.0.1:{}", args.port))?;
    let one_way_ns = u64::from(args.rtt_us) * 1_000 / 2;
    let ended = Relay { to: args.to, one_way_ns, clock: MonotonicClock::start() }.serve(&listener);
    Err(ended).context("no more connections can be relayed")
}
