//! How an error reaches the user: one line on stderr, and an exit status that says whose fault it is.

use std::{fmt, io::Write, process::ExitCode};

/// Work failed: a server, a disk, a check.
pub const EXIT_FAILED: u8 = 1;
/// The input was wrong; nothing was started and nothing written.
pub const EXIT_BAD_INPUT: u8 = 2;

/// Marks an error as wrong input. It may stand anywhere in an error's chain.
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// Shorthand for an error that is the user's to mend.
pub fn bad_input(message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(BadInput(message.into()))
}

/// The status to exit with.
#[must_use]
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<BadInput>().is_some() { EXIT_BAD_INPUT.into() } else { EXIT_FAILED.into() }
}

/// The whole chain as one line. A cause that the error before it ends with is not said again.
#[must_use]
pub fn one_line(error: &anyhow::Error) -> String {
    let mut told: Vec<String> = Vec::new();
    for cause in error.chain() {
        let cause = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if told.last().is_none_or(|before| !before.ends_with(&cause)) {
            told.push(cause);
        }
    }
    told.join(": ")
}

/// Prints the error. A closed stderr is no reason to fail differently.
pub fn print(error: &anyhow::Error) {
    say(&format!("error: {}", one_line(error)));
}

/// Writes one line to stderr; a closed terminal must not end a measurement.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn bad_input_is_found_under_contexts() {
        let error = Err::<(), _>(bad_input("no")).context("reading the plan").unwrap_err();
        assert_eq!(exit_code(&error), ExitCode::from(2));
        assert_eq!(one_line(&error), "reading the plan: no");
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("refused").context("connecting: refused").context("redis");
        assert_eq!(one_line(&error), "redis: connecting: refused");
    }

    #[test]
    fn other_errors_are_failures_and_stay_on_one_line() {
        let error = anyhow::anyhow!("first\n  second");
        assert_eq!(exit_code(&error), ExitCode::from(1));
        assert_eq!(one_line(&error), "first second");
    }
}
