//! Figures and what they mean, in words; pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    analysis::{Moment, Series, Timeline, Warning},
    case::proper_name,
    units,
};
use crate::stats::{Interval, Ratio, Verdict, rounds::Drift};

/// Above this the spread of the rounds is worth a warning.
pub(super) const SPREAD_MAX: f64 = 0.10;
/// Marks a ratio that so few rounds cannot tell from chance; [`UNPROVEN_NOTE`] says so.
const UNPROVEN: &str = " ?";
/// For below a table with such ratios.
pub const UNPROVEN_NOTE: &str =
    "?: of so few rounds that no difference, however large, could be told from chance.";

/// `828 us`; below 100 ns with one decimal.
#[must_use]
pub fn time(ns: f64) -> String {
    if ns < 99.95 { format!("{ns:.1} ns") } else { units::time(whole(ns)) }
}

/// `0.98-1.20 ms`: both ends in the unit of the upper one.
#[must_use]
pub fn time_interval(ends: Interval) -> String {
    let high = time(ends.high);
    let (_, unit) = high.split_once(' ').unwrap_or_default();
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    };
    format!("{}-{high}", digits(ends.low / scale))
}

/// `0.5`, `12`: milliseconds, as seconds.
#[must_use]
pub fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `checkpoint at 3 s, 5 s; snapshot at 4.5 s (2)`: what a server did inside a sample, by the interval in which it was
/// seen.
#[must_use]
pub fn events(timeline: &Timeline) -> String {
    type Count = fn(&Moment) -> Option<u64>;
    let kinds: [(&str, Count); 3] = [
        ("checkpoint", |moment| moment.checkpoints),
        ("rewrite of its log", |moment| moment.rewrites),
        ("snapshot", |moment| moment.snapshots),
    ];
    let (mut happened, mut never) = (Vec::new(), Vec::new());
    for (what, count) in kinds {
        let counted = timeline.moments.iter().filter_map(|moment| Some((moment.start_ms, count(moment)?)));
        let (times, none): (Vec<_>, Vec<_>) = counted.partition(|(_, count)| *count > 0);
        if !times.is_empty() {
            happened.push(times_of(what, &times));
        } else if !none.is_empty() {
            never.push(format!("no {what}"));
        }
    }
    match (happened.is_empty(), never.is_empty()) {
        (true, true) => "its server told nothing".into(),
        (true, false) => never.join(", "),
        _ => happened.join("; "),
    }
}

/// Intervals that are named one by one.
const TIMES_NAMED: usize = 12;

/// When something happened, each time with how often: the starts of intervals in ms, of which there is one at least.
fn times_of(what: &str, times: &[(u64, u64)]) -> String {
    if times.len() > TIMES_NAMED {
        let total: u64 = times.iter().map(|(_, count)| count).sum();
        let [first, last] = [0, times.len() - 1].map(|place| seconds(times[place].0));
        return format!("{what} {total} times, from {first} s to {last} s");
    }
    let name = |&(start_ms, count): &(u64, u64)| match (seconds(start_ms), count) {
        (at, 1) => format!("{at} s"),
        (at, count) => format!("{at} s ({count})"),
    };
    format!("{what} at {}", times.iter().map(name).collect::<Vec<_>>().join(", "))
}

/// What a relay that was asked for `rtt_us` added to a round trip.
#[must_use]
pub fn relay(rtt_us: u64, measured_ns: f64) -> String {
    let asked = Duration::from_micros(rtt_us);
    let error_ns = measured_ns - asked.as_secs_f64() * 1e9;
    let direction = if error_ns < 0.0 { "too little" } else { "too much" };
    format!(
        "relay of {}: {} measured, {} {direction} (the loopback's p50 with it less that without).",
        humantime::format_duration(asked),
        time(measured_ns.max(0.0)),
        time(error_ns.abs())
    )
}

/// `1,234,567`.
#[must_use]
pub fn rate(per_s: f64) -> String {
    units::grouped(whole(per_s))
}

/// `7.1 %`, `51 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// `7.19x slower (6.90-7.51)`, or that no difference is shown. Above 1 is slower: a ratio of times.
#[must_use]
pub fn ratio(ratio: &Ratio) -> String {
    let interval = ratio.interval.map(|ends| direct(ratio.value, ends)).unwrap_or_default();
    with_verdict(ratio, &interval)
}

/// The same without the interval: `7.19x slower`.
#[must_use]
pub fn short_ratio(ratio: &Ratio) -> String {
    with_verdict(ratio, "")
}

fn with_verdict(ratio: &Ratio, interval: &str) -> String {
    match ratio.verdict {
        Verdict::Difference => times(ratio.value) + interval,
        Verdict::NoDifferenceShown => "no difference shown".into(),
        Verdict::TooFewRounds => times(ratio.value) + UNPROVEN,
    }
}

/// `2.35x slower`, `1.41x faster`; below half a percent `the same`.
#[must_use]
pub fn times(ratio: f64) -> String {
    let (times, word) = if ratio >= 1.0 { (ratio, "slower") } else { (1.0 / ratio, "faster") };
    let times = digits(times);
    if times == "1.00" { "the same".into() } else { format!("{times}x {word}") }
}

/// `0.42`, `3.1`, `27`: two significant digits.
#[must_use]
pub fn multiple(value: f64) -> String {
    let decimals = if value < 0.995 { 2 } else { usize::from(value < 9.95) };
    format!("{value:.decimals$}")
}

/// The interval as the words' direction has it.
fn direct(value: f64, ends: Interval) -> String {
    let Interval { low, high } =
        if value >= 1.0 { ends } else { Interval { low: 1.0 / ends.high, high: 1.0 / ends.low } };
    format!(" ({}-{})", digits(low), digits(high))
}

/// Three significant digits, two decimals at most.
fn digits(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and never below 0")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A system, and what tells its line from others.
#[must_use]
pub fn series_name(series: &Series) -> String {
    distinct(&series.system, series)
}

/// Another name of a series, and what tells its line from others.
#[must_use]
pub fn distinct(name: &str, series: &Series) -> String {
    if series.distinction.is_empty() { name.to_owned() } else { format!("{name} ({})", series.distinction) }
}

/// What to know before trusting a series: its spread, outliers, drift and its rows' warnings, but for those that are
/// told already.
#[must_use]
pub fn remarks(series: &Series, told: &BTreeSet<&str>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(spread) = series.spread.filter(|&spread| spread > SPREAD_MAX) {
        remarks.push(format!("spread {}", percent(spread)));
    }
    if !series.outliers.is_empty() {
        remarks.push(format!("{} outside the fences", round_names(series, &series.outliers)));
    }
    if let Some(Drift { ratio, .. }) = series.drift {
        remarks.push(format!("drift: the second half of the rounds is {}", times(ratio)));
    }
    let mut kinds: Vec<(String, Vec<&Warning>)> = Vec::new();
    for warning in series.warnings.iter().filter(|warning| !told.contains(warning.text.as_str())) {
        let kind = kind(&warning.text);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, warnings)) => warnings.push(warning),
            None => kinds.push((kind, vec![warning])),
        }
    }
    remarks.extend(kinds.iter().map(|(_, warnings)| warned(series, warnings)));
    remarks
}

/// What many series warn of: how many of them, and the words of the worst; but for what is told already.
pub(super) fn kinds(all: &[&Series], told: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let mut kinds: BTreeMap<String, (BTreeSet<usize>, BTreeSet<&str>)> = BTreeMap::new();
    for (place, series) in all.iter().enumerate() {
        for warning in series.warnings.iter().filter(|warning| !told.contains(warning.text.as_str())) {
            let (places, texts) = kinds.entry(kind(&warning.text)).or_default();
            places.insert(place);
            texts.insert(&warning.text);
        }
    }
    let kinds = kinds.into_values().map(|(places, texts)| {
        let up_to = if texts.len() > 1 { "up to: " } else { "" };
        (places.len(), format!("{up_to}{}", most(texts.into_iter())))
    });
    kinds.collect()
}

/// A warning without its figures.
fn kind(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "")
}

/// Of texts that differ in their figures alone the longest, then the largest.
fn most<'a>(texts: impl Iterator<Item = &'a str>) -> &'a str {
    texts.max_by_key(|text| (text.len(), *text)).unwrap_or_default()
}

/// `rounds 1, 4: what they warn of`; where they differ in their figures alone, the longest, then largest of them stands
/// for all, after `up to`.
fn warned(series: &Series, warnings: &[&Warning]) -> String {
    let mut rounds: Vec<usize> = warnings.iter().flat_map(|warning| warning.rounds.clone()).collect();
    rounds.sort_unstable();
    let most = most(warnings.iter().map(|warning| warning.text.as_str()));
    let up_to = if warnings.len() > 1 { "up to: " } else { "" };
    format!("{}: {up_to}{most}", round_names(series, &rounds))
}

/// `round 3`, `rounds 1, 4`; of several runs with the run.
fn round_names(series: &Series, positions: &[usize]) -> String {
    let one_run = series.rounds.iter().all(|round| round.run_id == series.rounds[0].run_id);
    let name = |&position: &usize| {
        let round = &series.rounds[position];
        if one_run { round.round.to_string() } else { format!("{} of {}", round.round, round.run_id) }
    };
    let names: Vec<String> = positions.iter().map(name).collect();
    format!("round{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

/// `TigerBeetle is`: the head of the column that says how it stands.
#[must_use]
pub fn stands(system: &str) -> String {
    format!("{} is", proper_name(system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measurement::Measurement,
        report::{analyze, samples},
    };

    fn a_ratio(value: f64, ends: Option<(f64, f64)>, verdict: Verdict) -> Ratio {
        let interval = ends.map(|(low, high)| Interval { low, high });
        Ratio { value, interval, p: 0.5, verdict }
    }

    #[test]
    fn events_are_told_when_they_were_seen() {
        let told = |moments: &[(u64, Option<u64>, Option<u64>)]| {
            let moment = |&(start_ms, checkpoints, snapshots)| Moment {
                start_ms,
                checkpoints,
                snapshots,
                ..Moment::default()
            };
            events(&Timeline {
                run_id: String::new(),
                round: 1,
                moments: moments.iter().map(moment).collect(),
            })
        };
        let (none, some) = (Some(0), Some(1));
        assert_eq!(
            told(&[(0, none, none), (1_000, some, none), (1_500, some, Some(2))]),
            "checkpoint at 1 s, 1.5 s; snapshot at 1.5 s (2)"
        );
        assert_eq!(told(&[(0, none, None)]), "no checkpoint");
        assert_eq!(told(&[(0, none, none)]), "no checkpoint, no snapshot");
        let often: Vec<_> = (0..13).map(|place| (place * 500, Some(2), None)).collect();
        assert_eq!(told(&often), "checkpoint 26 times, from 0 s to 6 s");
        assert_eq!(told(&[(0, None, None)]), "its server told nothing");
    }

    #[test]
    fn times_suit_their_size() {
        for (ns, text) in [
            (0.0, "0.0 ns"),
            (33.42, "33.4 ns"),
            (99.94, "99.9 ns"),
            (99.96, "100 ns"),
            (828_047.4, "828 us"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn intervals_have_one_unit() {
        let shown = |low, high| time_interval(Interval { low, high });
        assert_eq!(shown(980_000.0, 1_200_000.0), "0.98-1.20 ms");
        assert_eq!(shown(33.0, 34.56), "33.0-34.6 ns");
        assert_eq!(shown(812_345.0, 835_000.0), "812-835 us");
        assert_eq!(shown(2e9, 3e9), "2.00-3.00 s");
    }

    #[test]
    fn ratios_say_their_direction_and_their_doubt() {
        let slower = a_ratio(7.194, Some((6.899, 7.512)), Verdict::Difference);
        assert_eq!(ratio(&slower), "7.19x slower (6.90-7.51)");
        assert_eq!(short_ratio(&slower), "7.19x slower");
        let faster = a_ratio(0.5, Some((0.4, 0.8)), Verdict::Difference);
        assert_eq!(ratio(&faster), "2.00x faster (1.25-2.50)");
        assert_eq!(ratio(&a_ratio(0.5, None, Verdict::Difference)), "2.00x faster");
        assert_eq!(ratio(&a_ratio(7.194, None, Verdict::TooFewRounds)), "7.19x slower ?");
        let none = a_ratio(1.2, Some((0.9, 1.3)), Verdict::NoDifferenceShown);
        assert_eq!(
            (ratio(&none), short_ratio(&none)),
            ("no difference shown".into(), "no difference shown".into())
        );
    }

    #[test]
    fn times_have_three_digits() {
        for (value, text) in [
            (2.35, "2.35x slower"),
            (9.996, "10.0x slower"),
            (41.14, "41.1x slower"),
            (99.96, "100x slower"),
            (1234.5, "1234x slower"),
            (1.004, "the same"),
            (0.996_1, "the same"),
            (1.006, "1.01x slower"),
            (0.01, "100x faster"),
        ] {
            assert_eq!(times(value), text);
        }
    }

    #[test]
    fn warnings_of_one_kind_are_one_remark() {
        let of = |round, warnings: &str| Measurement {
            warnings: warnings.into(),
            ..samples::row("basic", "redis", round, 1)
        };
        let rows = [of(1, "stolen: 9 of it, busy"), of(2, "stolen: 10 of it"), of(3, "busy"), of(4, "")];
        let analysis = analyze(&rows, false);
        let series = &analysis.cases[0].series[0];
        assert_eq!(
            remarks(series, &BTreeSet::new()),
            ["rounds 1, 3: busy", "rounds 1, 2: up to: stolen: 10 of it"]
        );
        assert_eq!(remarks(series, &BTreeSet::from(["busy"])).len(), 1);
    }

    #[test]
    fn multiples_have_two_digits() {
        assert_eq!(
            [0.416, 0.994, 0.999, 3.12, 9.94, 9.96, 27.4].map(multiple),
            ["0.42", "0.99", "1.0", "3.1", "9.9", "10", "27"]
        );
    }

    #[test]
    fn shares_are_percents() {
        assert_eq!(
            [percent(0.0), percent(0.071), percent(0.099_6), percent(0.514)],
            ["0.0 %", "7.1 %", "10 %", "51 %"]
        );
    }
}
