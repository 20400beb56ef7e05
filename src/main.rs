//! Parses the command line, dispatches, and turns the outcome into an exit status.

use std::process::ExitCode;

use ledger_bench::{cli, command, error};

fn main() -> ExitCode {
    let result = cli::parse().and_then(command::execute);
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            error::print(&error);
            error::exit_code(&error)
        }
    }
}
