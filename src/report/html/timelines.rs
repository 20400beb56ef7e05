//! What happened inside one sample of each system: by seconds, as charts, and what the servers did meanwhile.

use std::collections::BTreeSet;

use super::{
    charts::{self, lines},
    curves, escaped, name,
};
use crate::report::{
    analysis::{Case, Moment, Series, Timeline},
    words,
};

/// Of the samples that kept intervals; nothing where none did.
pub fn section(case: &Case) -> String {
    let starts_ms: BTreeSet<u64> =
        case.series.iter().flat_map(whole_moments).map(|moment| moment.start_ms).collect();
    if starts_ms.is_empty() {
        return String::new();
    }
    let names: Vec<String> = starts_ms.iter().map(|&start_ms| words::seconds(start_ms)).collect();
    let place = |moment: &Moment| starts_ms.range(..moment.start_ms).count();
    let points = |value: fn(&Moment) -> Option<u64>| {
        move |series: &Series| {
            let moments = whole_moments(series).iter();
            moments.filter_map(|moment| Some((place(moment), float(value(moment)?)))).collect()
        }
    };
    let rates = points(|moment| moment.transfers_per_s);
    let latencies = points(|moment| moment.latency_ns_p99);
    format!(
        "<div class=\"charts\">\n{}{}</div>\n{}{}",
        lines("Inside a sample: transfers/s, by seconds", curves::tick, case, &names, rates),
        lines("Inside a sample: latency p99, by seconds", words::time, case, &names, latencies),
        charts::legend(case),
        events(case),
    )
}

/// The intervals of its timeline that were not cut short by the sample's end.
fn whole_moments(series: &Series) -> &[Moment] {
    let moments = series.timeline.as_ref().map(|timeline| timeline.moments.as_slice()).unwrap_or_default();
    moments.split_last().map_or(moments, |(_, whole)| if whole.is_empty() { moments } else { whole })
}

/// Which sample of each system it is, and what its server did when.
fn events(case: &Case) -> String {
    let line = |series: &Series| {
        let timeline = series.timeline.as_ref()?;
        let told = words::events(timeline);
        let Timeline { run_id, round, .. } = timeline;
        Some(format!(
            "<li>{}</li>\n",
            escaped(&format!("{}, round {round} of {run_id}: {told}", name(series)))
        ))
    };
    let lines: String = case.series.iter().filter_map(line).collect();
    format!("<ul class=\"events\">\n{lines}</ul>\n")
}

#[expect(clippy::cast_precision_loss, reason = "a chart is less exact")]
fn float(number: u64) -> f64 {
    number as f64
}
