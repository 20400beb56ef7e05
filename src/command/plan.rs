//! `plan`: what `run.sh` needs to know, as `name=value` lines, the samples in their order last.

use anyhow::Result;

use super::{Outcome, print};
use crate::{
    cli::{PlanArgs, plan_path},
    ledger::System,
    plan,
};

pub fn plan(args: &PlanArgs) -> Result<Outcome> {
    let plan = args.check()?;
    let mut samples = plan::schedule(&plan.cases, &plan.settings)?;
    // A server that run.sh does not start is not kept on any core.
    for sample in samples.iter_mut().filter(|sample| !sample.case.system.is_private()) {
        sample.settings.pin = None;
    }
    let mut systems: Vec<_> = plan.cases.iter().map(|case| case.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let systems: Vec<_> = systems.into_iter().map(System::name).collect();

    let mut lines = vec![
        format!("run_id={}", plan.settings.run_id),
        format!("csv={}", plan_path(&plan.csv)?),
        format!("data={}", plan_path(&plan.data)?),
        format!("systems={}", systems.join(" ")),
    ];
    lines.extend(samples.iter().map(|sample| format!("sample={sample}")));
    print(&(lines.join("\n") + "\n"))?;
    Ok(Outcome::Good)
}
