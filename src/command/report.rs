//! `report`: what rows say, in the format that is asked for.

use std::{
    fs,
    io::IsTerminal,
    os::unix::fs::{FileTypeExt, MetadataExt},
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
        Analysis, analyze, csv, gobench, html, markdown, seed,
        select::{Choice, select},
        table, text,
        timeline::add_timelines,
        xlsx,
    },
};

/// Columns where there is no terminal.
const WIDTH_DEFAULT: usize = 120;

pub fn report(args: &ReportArgs) -> Result<Outcome> {
    let choice = Choice::of(args.run.as_deref(), args.pool);
    if let Some(output) = &args.output {
        check_output(output, args)?;
    }
    let rows = rows(&args.paths(), choice)?;
    let mut analysis = analyze(&rows, args.pool);
    let lines: Vec<_> =
        args.paths().iter().map(|csv| measurement::read_series(csv)).collect::<Result<_>>()?;
    add_timelines(&mut analysis, &lines.concat());
    if args.against_seed {
        if !seed::has_seed_rows(&rows) {
            return Err(bad_input(
                "--against-seed: no row of these is of the seed suite: ./run.sh --suite seed",
            ));
        }
        analysis.against_seed = Some(seed::against_seed(&analysis));
    }
    let bytes = written(&rows, &analysis, args.format)?;
    match &args.output {
        Some(path) => fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))?,
        None => print(&bytes)?,
    }
    Ok(Outcome::Good)
}

/// Refuses what must not be written over, before anything is read.
fn check_output(path: &Path, args: &ReportArgs) -> Result<()> {
    let refuse = |why: &str| {
        Err(bad_input(format!("{} is left as it is: {why}: name another file by --output", path.display())))
    };
    // A file has many names: links of either kind lead to the same one.
    let file = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    if file(path).is_some_and(|output| args.paths().iter().any(|csv| file(csv) == Some(output))) {
        return refuse("the rows are read from it");
    }
    // `run.sh` writes the HTML without being asked for it, so only over one of ours.
    let is_foreign = |text: String| !text.contains(html::MARK);
    if args.format == Format::Html && path.exists() && fs::read_to_string(path).map_or(true, is_foreign) {
        return refuse("it is no report of this program");
    }
    if args.format == Format::Xlsx && is_terminal(path) {
        return refuse("it is a terminal, and a workbook is no text");
    }
    Ok(())
}

/// Opens only a device: another file might wait for its reader, or be made.
fn is_terminal(path: &Path) -> bool {
    let is_device = fs::metadata(path).is_ok_and(|kind| kind.file_type().is_char_device());
    is_device && fs::OpenOptions::new().write(true).open(path).is_ok_and(|file| file.is_terminal())
}

fn written(rows: &[Measurement], analysis: &Analysis, format: Format) -> Result<Vec<u8>> {
    let text = match format {
        Format::Xlsx => return xlsx::render(rows, analysis).context("making the workbook"),
        Format::Table => text::render(&table::page(analysis), width()),
        Format::Markdown => markdown::render(&table::page(analysis)),
        Format::Html => html::render(analysis),
        Format::Gobench => gobench::render(analysis),
        Format::Json => json(analysis)?,
        Format::Csv => csv::render(analysis)?,
    };
    Ok(text.into_bytes())
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
