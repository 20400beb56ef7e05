//! The flags of the commands that only read rows.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where `run.sh` puts the rows.
const CSV_DEFAULT: &str = "results/results.csv";

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For the terminal, as wide as it is (or COLUMNS says; 120 where there is none).
    Table,
    /// With the tables of GitHub's flavour.
    Markdown,
    /// One file with charts, for a browser.
    Html,
    /// Go's benchmark text, a line a sample, for benchstat.
    Gobench,
    /// Every figure, for programs.
    Json,
    /// A line a case and system, to paste into a spreadsheet.
    Csv,
    /// A workbook with the rows, the summary and charts; --output names it.
    Xlsx,
}

/// The flags of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The files to read [default: results/results.csv].
    #[arg(value_name = "CSV")]
    pub files: Vec<PathBuf>,
    /// The same as a flag, as the other commands have it.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub csv: Option<PathBuf>,
    /// The run to show [default: the last of each file].
    #[arg(long, value_name = "RUN_ID")]
    pub run: Option<String>,
    /// All runs together: rounds of the same case, machine, versions and settings count as one run's.
    #[arg(long, conflicts_with = "run")]
    pub pool: bool,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Where it goes, in place of stdout.
    #[arg(long, value_name = "FILE", required_if_eq("format", "xlsx"))]
    pub output: Option<PathBuf>,
    /// The seed suite beside its predecessor's published figures, as ratios of systems.
    #[arg(long)]
    pub against_seed: bool,
}

impl ReportArgs {
    /// The files to read; one at least.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        match (&self.csv, &self.files[..]) {
            (Some(csv), _) => vec![csv.clone()],
            (None, []) => vec![CSV_DEFAULT.into()],
            (None, files) => files.to_vec(),
        }
    }
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ComparisonFormat {
    /// For the terminal.
    Table,
    /// With the tables of GitHub's flavour.
    Markdown,
    /// Every figure, for programs.
    Json,
}

/// The flags of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The rows before.
    #[arg(value_name = "OLD.csv")]
    pub old: PathBuf,
    /// The rows after; may be the same file.
    #[arg(value_name = "NEW.csv")]
    pub new: PathBuf,
    /// The run of the old file [default: its last].
    #[arg(long, value_name = "RUN_ID")]
    pub old_run: Option<String>,
    /// The run of the new file [default: its last].
    #[arg(long, value_name = "RUN_ID")]
    pub new_run: Option<String>,
    /// All runs of each file together.
    #[arg(long, conflicts_with_all = ["old_run", "new_run"])]
    pub pool: bool,
    /// Exit with 1 where a time per op grew by more than this, and not by chance.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = share)]
    pub fail_above: Option<f64>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = ComparisonFormat::Table)]
    pub format: ComparisonFormat,
}

/// Parses `10%`, or `10`, as 0.1.
fn share(text: &str) -> Result<f64, String> {
    const PERCENT_MAX: f64 = 10_000.0;
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percent = number.parse().ok().filter(|percent| is_plain && (0.0..=PERCENT_MAX).contains(percent));
    percent
        .map(|percent: f64| percent / 100.0)
        .ok_or_else(|| "wants a percentage from 0 to 10000, such as 10%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        for (text, expected) in [("10%", 0.1), ("10", 0.1), ("2.5 %", 0.025), ("0%", 0.0), ("10000%", 100.0)]
        {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for text in ["", "%", "-1%", "x", "10001", "1e2", "inf", "NaN", "10%%", "+1"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
