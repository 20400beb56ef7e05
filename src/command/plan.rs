//! `plan`: what `run.sh` needs to know, as `name=value` lines, the samples in their order last.

use std::path::Path;

use anyhow::Result;

use super::{Outcome, print};
use crate::{
    cli::{CheckedPlan, PlanArgs, plan_path},
    ledger::System,
    plan::{self, SampleSpec},
};

pub fn plan(args: &PlanArgs) -> Result<Outcome> {
    let plan = args.check()?;
    print(&text(&plan.settings.run_id, &plan.csv, &plan.data, &samples(&plan)?)?)?;
    Ok(Outcome::Good)
}

/// All samples of a plan, in their order.
pub fn samples(plan: &CheckedPlan) -> Result<Vec<SampleSpec>> {
    let mut samples = plan::schedule(&plan.cases, &plan.settings)?;
    // A server that run.sh does not start is not kept on any core.
    for sample in samples.iter_mut().filter(|sample| !sample.case.system.is_private()) {
        sample.settings.pin = None;
    }
    Ok(samples)
}

/// The lines.
pub fn text(run_id: &str, csv: &Path, data: &Path, samples: &[SampleSpec]) -> Result<String> {
    let mut systems: Vec<_> = samples.iter().map(|sample| sample.case.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let systems: Vec<_> = systems.into_iter().map(System::name).collect();
    let mut lines = vec![
        format!("run_id={run_id}"),
        format!("csv={}", plan_path(csv)?),
        format!("data={}", plan_path(data)?),
        format!("systems={}", systems.join(" ")),
    ];
    lines.extend(samples.iter().map(|sample| format!("sample={sample}")));
    Ok(lines.join("\n") + "\n")
}
