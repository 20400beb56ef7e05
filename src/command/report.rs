//! `report`: the table of one run, from its rows.

use anyhow::Result;

use super::{Outcome, print};
use crate::{cli::ReportArgs, error::bad_input, measurement, report::table};

pub fn report(args: &ReportArgs) -> Result<Outcome> {
    let mut rows = measurement::read(&args.csv)?;
    let wanted = args.run.clone().or_else(|| rows.last().map(|row| row.run_id.clone()));
    rows.retain(|row| Some(&row.run_id) == wanted.as_ref());
    if rows.is_empty() {
        let run = args.run.as_deref().unwrap_or("any run");
        return Err(bad_input(format!("{}: no rows of {run}", args.csv.display())));
    }
    print(&table::render(&rows))?;
    Ok(Outcome::Good)
}
