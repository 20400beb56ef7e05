//! The commands, a file each where they are more than a line.

use std::{io::Write, process::ExitCode};

use anyhow::Result;

use crate::{
    cli::{Command, PlanArgs, plan_path},
    error::EXIT_FAILED,
    ledger::System,
    plan,
};

mod overhead;
mod ping;
mod report;
mod run;

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
        Command::Plan(args) => print_plan(&args),
        Command::Run(args) => run::run(&args),
        Command::Ping(args) => ping::ping(&args),
        Command::Report(args) => report::report(&args),
        Command::Overhead(args) => overhead::overhead(&args),
    }
}

/// What `run.sh` needs to know, as `name=value` lines, the samples in their order last.
fn print_plan(args: &PlanArgs) -> Result<Outcome> {
    let plan = args.check()?;
    let samples = plan::schedule(&plan.cases, &plan.settings)?;
    let mut systems: Vec<_> = plan.cases.iter().map(|case| case.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let systems: Vec<_> = systems.into_iter().map(System::name).collect();

    let mut lines = vec![
        format!("run_id={}", plan.settings.run_id),
        format!("csv={}", plan_path(&plan.csv)?),
        format!("data={}", plan_path(&plan.data)?),
        format!("systems={}", systems.join(" ")),
    ];
    lines.extend(samples.iter().map(|sample| format!("sample={sample}")));
    print(&(lines.join("\n") + "\n"))?;
    Ok(Outcome::Good)
}

/// Results to stdout, at once and with an error when nobody can read them.
fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}
