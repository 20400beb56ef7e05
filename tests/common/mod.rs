//! What the tests of the whole binary share.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use ledger_bench::measurement::{self, Measurement};
use tempfile::TempDir;

/// A folder for one test, with the CSV that its samples go to.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        // On the disk of the build: a plan refuses to keep its data in memory, as scratch folders are on some machines.
        Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch folder") }
    }

    pub fn csv(&self) -> PathBuf {
        self.folder.path().join("results.csv")
    }

    /// The binary, in the scratch folder.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ledger-bench"));
        command.current_dir(self.folder.path()).args(words);
        command
    }

    /// The samples that flags are planned into.
    pub fn plan(&self, flags: &str) -> Vec<String> {
        let words: Vec<_> =
            ["plan", "--csv", "results.csv"].into_iter().chain(flags.split_whitespace()).collect();
        let output = self.command(&words).output().expect("it runs");
        assert!(output.status.success(), "{}", stderr(&output));
        let lines = String::from_utf8(output.stdout).expect("text");
        lines.lines().filter_map(|line| line.strip_prefix("sample=")).map(String::from).collect()
    }

    /// One sample's process.
    pub fn sample(&self, line: &str, more: &[&str]) -> Command {
        let mut words = vec!["run", "--csv", "results.csv"];
        words.extend(more);
        words.push(line);
        self.command(&words)
    }

    pub fn rows(&self) -> Vec<Measurement> {
        measurement::read(&self.csv()).expect("our own rows")
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
