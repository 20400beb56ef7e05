//! `report`: what rows say, in the format that is asked for.

use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Serialize;

use super::{Outcome, print};
use crate::{
    cli::{Format, ReportArgs},
    error::bad_input,
    measurement::{self, Measurement},
    report::{
        Analysis, analyze, gobench, html, markdown, seed,
        select::{Choice, select},
        table, text,
    },
};

/// Columns where there is no terminal.
const WIDTH_DEFAULT: usize = 120;

pub fn report(args: &ReportArgs) -> Result<Outcome> {
    let choice = Choice::of(args.run.as_deref(), args.pool);
    let rows = rows(&args.paths(), choice)?;
    let mut analysis = analyze(&rows, args.pool);
    if args.against_seed {
        if !seed::has_seed_rows(&rows) {
            return Err(bad_input(
                "--against-seed: no row of these is of the seed suite: ./run.sh --suite seed",
            ));
        }
        analysis.against_seed = Some(seed::against_seed(&analysis));
    }
    let text = written(&analysis, args.format)?;
    match &args.output {
        Some(path) => write(path, &text, args.format)?,
        None => print(&text)?,
    }
    Ok(Outcome::Good)
}

/// `run.sh` writes the HTML without being asked for it, so only over one of ours.
fn write(path: &Path, text: &str, format: Format) -> Result<()> {
    let is_foreign = |text: String| !text.contains(html::MARK);
    if format == Format::Html && path.exists() && fs::read_to_string(path).map_or(true, is_foreign) {
        return Err(bad_input(format!(
            "{} is left as it is: it is no report of this program: name another file by --output",
            path.display()
        )));
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn written(analysis: &Analysis, format: Format) -> Result<String> {
    Ok(match format {
        Format::Table => text::render(&table::page(analysis), width()),
        Format::Markdown => markdown::render(&table::page(analysis)),
        Format::Html => html::render(analysis),
        Format::Gobench => gobench::render(analysis),
        Format::Json => json(analysis)?,
    })
}

/// The chosen rows of some files.
pub(super) fn rows(paths: &[PathBuf], choice: Choice) -> Result<Vec<Measurement>> {
    let read = |path: &PathBuf| Ok((path.display().to_string(), measurement::read(path)?));
    select(paths.iter().map(read).collect::<Result<_>>()?, choice)
}

/// Any value for programs.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).context("writing the report as JSON")? + "\n")
}

/// COLUMNS, else as wide as the terminal is.
pub(super) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let stdout = std::io::stdout();
    let seen = || {
        let (width, _) = terminal_size::terminal_size_of(&stdout).filter(|_| stdout.is_terminal())?;
        Some(usize::from(width.0))
    };
    told.filter(|&columns| columns > 0).or_else(seen).unwrap_or(WIDTH_DEFAULT)
}
