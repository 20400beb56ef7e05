//! The answer in three sentences: who is the fastest where, the largest difference, and how far to
//! trust them. From the data alone.

use super::name;
use crate::{
    report::{
        analysis::{Analysis, Case, Series},
        case::is_baseline,
        table, words,
    },
    stats::Verdict,
};

pub fn sentences(analysis: &Analysis) -> Vec<String> {
    // A map has sentences of its own.
    let cases = table::outside_the_map(analysis);
    [winners(&cases), largest(&cases), Some(trust(analysis))].into_iter().flatten().collect()
}

/// `TigerBeetle is the fastest in 1 of 8 cases, Redis in 5; in 2 no difference between the first is shown.`
fn winners(cases: &[&Case]) -> Option<String> {
    let compared: Vec<&Case> = cases.iter().copied().filter(|case| rivals(case) > 1).collect();
    let mut wins: Vec<(String, usize)> = Vec::new();
    let mut undecided = 0;
    for case in &compared {
        match winner(case) {
            Some(series) => match wins.iter_mut().find(|(system, _)| *system == name(series)) {
                Some((_, count)) => *count += 1,
                None => wins.push((name(series), 1)),
            },
            None => undecided += 1,
        }
    }
    wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (system, count) = wins.first()?;
    let others = wins[1..].iter().map(|(system, count)| format!(", {system} in {count}"));
    let others = others.collect::<Vec<_>>().concat();
    let open = match undecided {
        0 => String::new(),
        _ => format!("; in {undecided} no difference between the first two is shown"),
    };
    Some(format!("{system} is the fastest in {count} of {} cases{others}{open}.", compared.len()))
}

fn rivals(case: &Case) -> usize {
    case.series.iter().filter(|series| !is_baseline(&series.system)).count()
}

/// The fastest, if chance does not explain its lead over anybody.
fn winner(case: &Case) -> Option<&Series> {
    let others = case.series.iter().filter_map(|series| series.to_fastest.as_ref());
    let is_shown = others.into_iter().all(|ratio| ratio.verdict == Verdict::Difference);
    case.series.iter().find(|series| series.is_fastest && is_shown)
}

/// `The largest difference: PostgreSQL is 118x slower than Redis at seed basic_batch of 1000.`
fn largest(cases: &[&Case]) -> Option<String> {
    let shown = cases.iter().flat_map(|case| {
        let fastest = case.series.iter().find(|series| series.is_fastest);
        let ratios = case.series.iter().filter_map(move |series| Some((series, series.to_fastest.as_ref()?)));
        ratios.filter_map(move |(series, ratio)| Some((case, fastest?, series, ratio)))
    });
    let shown = shown.filter(|(.., ratio)| ratio.verdict == Verdict::Difference);
    let (case, fastest, slowest, ratio) = shown.max_by(|a, b| a.3.value.total_cmp(&b.3.value))?;
    let (slow, fast, times) = (name(slowest), name(fastest), words::short_ratio(ratio));
    Some(format!("The largest difference: {slow} is {times} than {fast} at {}.", case.label))
}

/// `All 144 samples passed their checks; the widest spread over the rounds is 38 % (...).`
fn trust(analysis: &Analysis) -> String {
    let samples: usize = analysis.runs.iter().map(|run| run.samples).sum();
    let checks = match analysis.failed.len() {
        0 => format!("All {samples} samples passed their checks"),
        failed => format!("{failed} of {samples} samples failed and are in no figure"),
    };
    let all = analysis.cases.iter().flat_map(|case| case.series.iter().map(move |series| (case, series)));
    let all = all.filter(|(_, series)| !is_baseline(&series.system));
    let spreads = all.filter_map(|(case, series)| Some((series.spread?, case, series)));
    match spreads.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((spread, case, series)) => {
            let (spread, system) = (words::percent(spread), name(series));
            format!("{checks}; the widest spread over the rounds is {spread} ({system}, {}).", case.label)
        }
        None => checks + ".",
    }
}
