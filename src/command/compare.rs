//! `compare`: two sets of rows, case by case; a slowdown may be made to fail.

use anyhow::Result;

use super::{
    Outcome, print,
    report::{json, rows, width},
};
use crate::{
    cli::{CompareArgs, ComparisonFormat},
    error::say,
    report::{self, markdown, select::Choice, text, words},
};

pub fn compare(args: &CompareArgs) -> Result<Outcome> {
    let choice = |run| Choice::of(run, args.pool);
    let old = rows(std::slice::from_ref(&args.old), choice(args.old_run.as_deref()))?;
    let new = rows(std::slice::from_ref(&args.new), choice(args.new_run.as_deref()))?;
    let comparison = report::compare(&old, &new, args.pool);
    print(&match args.format {
        ComparisonFormat::Table => text::render(&comparison.page(), width()),
        ComparisonFormat::Markdown => markdown::render(&comparison.page()),
        ComparisonFormat::Json => json(&comparison)?,
    })?;
    let slowdowns = args.fail_above.map(|share| comparison.slowdowns(share)).unwrap_or_default();
    for line in &slowdowns {
        say(&format!("too slow: {}, {}: {}", line.case, line.system, words::ratio(&line.ratio)));
    }
    Ok(if slowdowns.is_empty() { Outcome::Good } else { Outcome::Failed })
}
