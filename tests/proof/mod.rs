//! What every system must pass, and what every broken one must not: sequences held against the
//! oracle, and many clients at once.

use std::time::Duration;

use ledger_bench::{
    ledger::{self, Data, Ledger, Server, Style, System},
    meter::Meter,
};

pub mod crowd;
pub mod sequence;

/// Makes a client of the system that is to be proven.
pub type Connect<'a> = dyn FnMut() -> Box<dyn Ledger> + 'a;

/// A system's server with an empty ledger of ours, in the first tier that it can keep.
pub fn server(system: System) -> Box<dyn Server> {
    let mut server = ledger::connect(system, Duration::from_secs(30)).expect("it answers");
    let durability = system.durabilities()[0];
    server.prepare(Data::Ledger(durability)).expect("prepared");
    server
}

pub fn client(server: &mut dyn Server) -> Box<dyn Ledger> {
    client_in(Style::OneCall, server)
}

pub fn client_in(style: Style, server: &mut dyn Server) -> Box<dyn Ledger> {
    server.ledger_client(style, Meter::default()).expect("a client")
}
