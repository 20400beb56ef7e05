//! `echo`: sends back whatever comes, a thread a connection: what the floor of a round trip is measured against.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};

use anyhow::{Context, Result};

use super::Outcome;
use crate::{cli::EchoArgs, error::say, ledger::ECHO_BYTES};

pub fn echo(args: &EchoArgs) -> Result<Outcome> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .with_context(|| format!("listening at 127.0.0.1:{}", args.port))?;
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                thread::spawn(move || serve(stream).unwrap_or_else(|error| say(&format!("echo: {error}"))));
            }
            // Who has gone before being let in is no reason to leave the others.
            Err(error) => say(&format!("echo: {error}")),
        }
    }
    Ok(Outcome::Good)
}

/// Until the other side has gone.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = [0; ECHO_BYTES];
    loop {
        match stream.read(&mut bytes)? {
            0 => return Ok(()),
            read => stream.write_all(&bytes[..read])?,
        }
    }
}
