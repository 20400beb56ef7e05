//! `sweep`: the plan of a map, noted beside its rows so that it can be resumed; or what is missing of the last one.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{
    Outcome,
    plan::{samples, text},
    print,
};
use crate::{
    cli::{CheckedSweep, SweepArgs},
    error::{bad_input, say},
    machine,
    measurement::{self, Measurement},
    plan::SampleSpec,
    report::units,
};

pub fn sweep(args: &SweepArgs) -> Result<Outcome> {
    if args.resume {
        return resume(&args.csv()?);
    }
    let sweep = args.check()?;
    let plan = &sweep.plan;
    let text = text(&plan.settings.run_id, &plan.csv, &plan.data, &samples(plan)?)?;
    tell(&sweep);
    let note = note(&plan.csv);
    if let Some(folder) = note.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(&note, &text).with_context(|| format!("noting the sweep in {}", note.display()))?;
    print(&text)?;
    Ok(Outcome::Good)
}

/// Where the sweep of a file of rows is noted.
fn note(csv: &Path) -> PathBuf {
    let mut name = OsString::from(csv);
    name.push(".sweep");
    name.into()
}

/// What is measured and what is not, before anything starts.
fn tell(sweep: &CheckedSweep) {
    let CheckedSweep { plan, estimate, left_out, refused } = sweep;
    let samples = plan.cases.len() as u64 * u64::from(plan.settings.rounds);
    say(&format!("{samples} samples of {} cases, about {}", plan.cases.len(), units::span(*estimate)));
    for (why, count) in refused {
        say(&format!("left out ({count} cases): {why}"));
    }
    if !left_out.is_empty() {
        say(&format!("left out, as --budget has no room for them ({} cells):", left_out.len()));
    }
    for line in grouped(left_out) {
        say(&line);
    }
}

/// Cells that differ in their batch alone, a line each.
fn grouped(cells: &[crate::sweep::Cell]) -> Vec<String> {
    let mut by_rest: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for cell in cells {
        by_rest.entry(cell.without_batch()).or_default().push(cell.batch());
    }
    let line = |(rest, mut batches): (String, Vec<u32>)| {
        batches.sort_unstable();
        let batches: Vec<_> = batches.iter().map(u32::to_string).collect();
        format!("  {rest}, batches of {}", batches.join(", "))
    };
    by_rest.into_iter().map(line).collect()
}

/// The samples that have no verified row yet.
fn resume(csv: &Path) -> Result<Outcome> {
    let note = note(csv);
    let told = fs::read_to_string(&note)
        .map_err(|error| bad_input(format!("no sweep to resume is noted in {}: {error}", note.display())))?;
    let broken = || bad_input(format!("{} is not as it was written: begin anew", note.display()));
    let data = told.lines().find_map(|line| line.strip_prefix("data=")).ok_or_else(broken)?;
    let specs = told.lines().filter_map(|line| line.strip_prefix("sample="));
    let specs: Vec<SampleSpec> = specs.map(str::parse).collect::<Result<_>>().map_err(|_| broken())?;
    let first = &specs.first().ok_or_else(broken)?.settings;
    let revision = machine::git_revision();
    if first.git_revision != revision {
        return Err(bad_input(format!(
            "the sweep {} was begun at revision {}, this is {revision}: begin anew",
            first.run_id, first.git_revision
        )));
    }
    measurement::check_appendable(csv)?;
    let rows = if csv.exists() { measurement::read(csv)? } else { Vec::new() };
    let is_missing = |spec: &&SampleSpec| !rows.iter().any(|row| is_of(row, spec));
    let missing = renumbered(specs.iter().filter(is_missing).cloned().collect())?;
    say(&format!(
        "sweep {}: {} of {} samples are there, {} are missing",
        first.run_id,
        specs.len() - missing.len(),
        specs.len(),
        missing.len()
    ));
    print(&text(&first.run_id, csv, Path::new(data), &missing)?)?;
    Ok(Outcome::Good)
}

/// From 1, as progress is told by it.
fn renumbered(mut specs: Vec<SampleSpec>) -> Result<Vec<SampleSpec>> {
    let total = u32::try_from(specs.len()).context("they were numbered before")?;
    for (number, spec) in (1..).zip(&mut specs) {
        (spec.number, spec.total) = (number, total);
    }
    Ok(specs)
}

/// Whether a verified row is of this sample.
fn is_of(row: &Measurement, spec: &SampleSpec) -> bool {
    let SampleSpec { case, settings, round, .. } = spec;
    row.is_verified() && row.run_id == settings.run_id && row.round == *round && row.is_of(case)
}
