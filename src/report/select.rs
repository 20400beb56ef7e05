//! Which rows of the files are looked at; pure.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::{error::bad_input, measurement::Measurement};

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// Of each file the run that its last row is of.
    Last,
    /// One run, from whatever file.
    Run(&'a str),
    /// All rows.
    Pool,
}

impl<'a> Choice<'a> {
    /// By flags of which one at most is given.
    #[must_use]
    pub fn of(run: Option<&'a str>, pool: bool) -> Self {
        if pool { Self::Pool } else { run.map_or(Self::Last, Self::Run) }
    }
}

/// The chosen rows of all files, in their order. A run that is in none of them, a file without
/// rows, and a sample that stands twice are wrong input.
pub fn select(files: Vec<(String, Vec<Measurement>)>, choice: Choice) -> Result<Vec<Measurement>> {
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let mut chosen = Vec::new();
    for (name, mut rows) in files {
        let Some(last) = rows.last().map(|row| row.run_id.clone()) else {
            return Err(bad_input(format!("{name}: no rows of any run")));
        };
        match choice {
            Choice::Last => rows.retain(|row| row.run_id == last),
            Choice::Run(wanted) => rows.retain(|row| row.run_id == wanted),
            Choice::Pool => {}
        }
        // Of one file, which may be long, nothing is moved.
        if chosen.is_empty() {
            chosen = rows;
        } else {
            chosen.append(&mut rows);
        }
    }
    if let (Choice::Run(wanted), true) = (choice, chosen.is_empty()) {
        return Err(bad_input(format!("{}: no rows of {wanted}", names.join(", "))));
    }
    refuse_doubles(&chosen)?;
    Ok(without_retried(chosen))
}

/// What makes a row the row of one sample: the run, the round and the case.
fn sample(row: &Measurement) -> impl Ord + '_ {
    let sample = (&row.run_id, row.round, &row.suite, &row.benchmark, &row.system, &row.durability);
    let sizes = [row.clients, row.in_flight, row.batch, row.accounts, row.skew_pct];
    let load = (&row.arrivals, row.rate_per_s, row.rtt_us, &row.style, row.preload);
    (sample, sizes, load, &row.transport, &row.generator)
}

/// The same sample counted twice would look like agreement between rounds.
fn refuse_doubles(rows: &[Measurement]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for row in rows {
        if !seen.insert((sample(row), row.started_unix_s, row.is_verified())) {
            return Err(bad_input(format!(
                "round {} of run {}, {} on {}, is given twice: name each file once, and remove the copy",
                row.round, row.run_id, row.benchmark, row.system
            )));
        }
    }
    Ok(())
}

/// A sample that failed and was measured again, as a resumed sweep does, did not fail.
fn without_retried(rows: Vec<Measurement>) -> Vec<Measurement> {
    if rows.iter().all(Measurement::is_verified) {
        return rows;
    }
    let verified: BTreeSet<_> = rows.iter().filter(|row| row.is_verified()).map(sample).collect();
    let is_kept: Vec<bool> =
        rows.iter().map(|row| row.is_verified() || !verified.contains(&sample(row))).collect();
    drop(verified);
    rows.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(row, _)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::row;

    fn of(run_id: &str, round: u32) -> Measurement {
        Measurement { run_id: run_id.into(), ..row("basic", "redis", round, 1) }
    }

    fn chosen(files: &[&[Measurement]], choice: Choice) -> Result<Vec<(String, u32)>> {
        let files = files.iter().zip(["x.csv", "y.csv"]).map(|(rows, name)| (name.to_owned(), rows.to_vec()));
        let rows = select(files.collect(), choice)?;
        Ok(rows.into_iter().map(|row| (row.run_id, row.round)).collect())
    }

    fn named(rows: &[(&str, u32)]) -> Vec<(String, u32)> {
        rows.iter().map(|&(run_id, round)| (run_id.to_owned(), round)).collect()
    }

    #[test]
    fn the_last_run_of_each_file_one_run_or_all() {
        let (first, second) = ([of("a", 1), of("b", 1), of("b", 2)], [of("c", 1), of("d", 1)]);
        let files = [&first[..], &second[..]];
        assert_eq!(chosen(&files, Choice::Last).expect("rows"), named(&[("b", 1), ("b", 2), ("d", 1)]));
        assert_eq!(chosen(&files, Choice::Run("c")).expect("rows"), named(&[("c", 1)]));
        assert_eq!(chosen(&files, Choice::Pool).expect("rows").len(), 5);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let refusal =
            |files: &[&[Measurement]], choice| format!("{:#}", chosen(files, choice).expect_err("refused"));
        assert_eq!(refusal(&[&[of("a", 1)]], Choice::Run("z")), "x.csv: no rows of z");
        assert_eq!(refusal(&[&[of("a", 1)], &[]], Choice::Last), "y.csv: no rows of any run");
    }

    #[test]
    fn a_sample_counts_once() {
        let by = |transport: &str, generator: &str| Measurement {
            transport: transport.into(),
            generator: generator.into(),
            ..of("a", 1)
        };
        let all_ways = [by("tcp", "own"), by("unix", "own"), by("tcp", "peer")];
        assert_eq!(chosen(&[&all_ways], Choice::Last).expect("rows").len(), 3);
        let rows = [of("a", 1)];
        let refused = chosen(&[&rows, &rows], Choice::Last).expect_err("twice");
        assert!(
            refused.to_string().starts_with("round 1 of run a, basic on redis, is given twice"),
            "{refused}"
        );
        let failed = |started_unix_s| Measurement { verified: "no".into(), started_unix_s, ..of("a", 1) };
        let retried = Measurement { started_unix_s: 7, ..of("a", 1) };
        assert_eq!(chosen(&[&[failed(5), failed(6)]], Choice::Last).expect("rows").len(), 2, "both failed");
        let rows = [failed(6), failed(7), retried, Measurement { round: 2, ..failed(8) }];
        assert_eq!(chosen(&[&rows], Choice::Last).expect("rows"), named(&[("a", 1), ("a", 2)]));
        let sizes = |batch| Measurement { batch, ..of("a", 1) };
        chosen(&[&[sizes(1), sizes(2)]], Choice::Last).expect("two cases");
    }
}
