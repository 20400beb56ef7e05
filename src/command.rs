//! The commands, a file each.

use std::{io::Write, process::ExitCode};

use anyhow::Result;

use crate::{cli::Command, error::EXIT_FAILED};

mod compare;
mod echo;
mod overhead;
mod ping;
mod plan;
mod relay;
mod report;
mod run;
mod sweep;

/// How a command ended when nothing went wrong with the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Good,
    /// The work was done and found wrong; it was reported already.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Good => Self::SUCCESS,
            Outcome::Failed => EXIT_FAILED.into(),
        }
    }
}

/// Does what the command line asks for.
pub fn execute(command: Command) -> Result<Outcome> {
    match command {
        Command::Plan(args) => plan::plan(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Run(args) => run::run(&args),
        Command::Ping(args) => ping::ping(&args),
        Command::Echo(args) => echo::echo(&args),
        Command::Relay(args) => relay::relay(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Overhead(args) => overhead::overhead(&args),
    }
}

/// Results to stdout, at once and with an error when nobody can read them.
fn print(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_ref())?;
    Ok(stdout.flush()?)
}
