//! This machine itself: a process that sends back what it is sent, and no ledger.

use std::{
    io::{Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{Data, Description, Durability, Ledger, SeedLedger, Server, Style};
use crate::{error::bad_input, meter::Meter};

/// Bytes of a request and of its reply: one transfer of TigerBeetle's.
pub const ECHO_BYTES: usize = 128;

/// A connection to the process that echoes.
#[derive(Debug)]
pub struct Echo {
    stream: TcpStream,
    bytes: [u8; ECHO_BYTES],
}

impl Echo {
    /// Connects to `IP:PORT`. `timeout` bounds every wait.
    pub fn connect(address: &str, timeout: Duration) -> Result<Self> {
        let wrong = || bad_input(format!("LOOPBACK_ADDRESS is not an address: {address}; name IP:PORT"));
        let address = address.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or_else(wrong)?;
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self { stream, bytes: [7; ECHO_BYTES] })
    }

    /// One round trip.
    #[inline]
    pub fn round_trip(&mut self) -> Result<()> {
        self.stream.write_all(&self.bytes).context("sending")?;
        self.stream.read_exact(&mut self.bytes).context("receiving")
    }
}

/// The process is there.
struct Machine;

/// Connects and has one echo.
pub fn connect(address: &str, timeout: Duration) -> Result<Box<dyn Server>> {
    Echo::connect(address, timeout)?.round_trip()?;
    Ok(Box::new(Machine))
}

impl Server for Machine {
    fn check_durability(&mut self, _: Durability) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, _: Data) -> Result<bool> {
        Ok(true)
    }

    fn seed_client(&mut self, _: Meter) -> Result<Box<dyn SeedLedger>> {
        bail!("a machine is no ledger")
    }

    fn ledger_client(&mut self, _: Style, _: Meter) -> Result<Box<dyn Ledger>> {
        bail!("a machine is no ledger")
    }

    /// Its disk is written past every cache but its own.
    fn describe(&mut self) -> Result<Description> {
        Ok(Description {
            server_version: format!("ledger-bench {}", env!("CARGO_PKG_VERSION")),
            waits_for_disk: Some(true),
            ..Description::default()
        })
    }

    fn clean_up(&mut self) -> Result<()> {
        Ok(())
    }
}
