//! How two cases compare: a ratio, how far it can be trusted, and whether there is a difference at all. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Interval,
    mann_whitney::{mann_whitney, smallest_p},
    rounds::{self, ROUNDS_MIN},
};
use crate::rng::Rng;

/// A difference is shown where chance alone would show one as large less often than this.
pub const SIGNIFICANT_P: f64 = 0.05;
/// Where the bootstrap's choices start: the same rows give the same interval.
const SEED: u64 = 42;
/// Values drawn for one interval, and within it resamples, at least and at most: a report of
/// 100,000 rows must not take minutes.
const DRAWS_MAX: usize = 400_000;
const RESAMPLES_MIN: usize = 200;
const RESAMPLES_MAX: usize = 10_000;

/// Whether there is a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The rank test says that chance is no explanation (p below 0.05).
    Difference,
    /// Chance explains what there is.
    NoDifferenceShown,
    /// So few rounds could not show a difference however large.
    TooFewRounds,
}

/// The first side's median over the second's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Above 1 where the first side is the larger.
    pub value: f64,
    /// Its 95 % interval; `None` where a side has fewer than six rounds.
    pub interval: Option<Interval>,
    /// Of the rank test by Mann and Whitney, two-sided.
    pub p: f64,
    /// What that says.
    pub verdict: Verdict,
}

/// Compares two sides, each a value a round. Rounds of one key on both sides were measured side by
/// side and are drawn as pairs. `None` where a side is empty or the second's median is 0.
#[must_use]
pub fn ratio<K: Ord>(first: &[(K, f64)], second: &[(K, f64)]) -> Option<Ratio> {
    let values = |side: &[(K, f64)]| side.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    let difference = difference(&values(first), &values(second))?;
    let interval = if first.len().min(second.len()) < ROUNDS_MIN { None } else { bootstrap(first, second) };
    Some(Ratio { interval, ..difference })
}

/// The same but for the interval, which takes a thousand times longer.
#[must_use]
pub fn difference(firsts: &[f64], seconds: &[f64]) -> Option<Ratio> {
    let value = quotient(rounds::median(firsts)?, rounds::median(seconds)?)?;
    let p = mann_whitney(firsts, seconds)?.p;
    let verdict = if p < SIGNIFICANT_P {
        Verdict::Difference
    } else if smallest_p(firsts.len(), seconds.len()) >= SIGNIFICANT_P {
        Verdict::TooFewRounds
    } else {
        Verdict::NoDifferenceShown
    };
    Some(Ratio { value, interval: None, p, verdict })
}

impl Ratio {
    /// The same seen from the other side. `None` from a side whose median is 0.
    #[must_use]
    pub fn turned(&self) -> Option<Self> {
        let value = quotient(1.0, self.value)?;
        let turn = |ends: Interval| {
            Some(Interval { low: quotient(1.0, ends.high)?, high: quotient(1.0, ends.low)? })
        };
        Some(Self { value, interval: self.interval.and_then(turn), ..*self })
    }
}

fn quotient(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

/// Rounds that both sides have, and those of one side alone.
struct Strata {
    pairs: Vec<(f64, f64)>,
    first_alone: Vec<f64>,
    second_alone: Vec<f64>,
}

impl Strata {
    fn of<K: Ord>(first: &[(K, f64)], second: &[(K, f64)]) -> Self {
        let mut partners: BTreeMap<&K, f64> = second.iter().map(|(key, value)| (key, *value)).collect();
        let mut strata = Self { pairs: Vec::new(), first_alone: Vec::new(), second_alone: Vec::new() };
        for (key, value) in first {
            match partners.remove(key) {
                Some(partner) => strata.pairs.push((*value, partner)),
                None => strata.first_alone.push(*value),
            }
        }
        strata.second_alone.extend(partners.into_values());
        strata
    }

    /// As many rounds again, drawn with replacement, each from its own stratum.
    fn redraw(&self, rng: &mut Rng, first: &mut Vec<f64>, second: &mut Vec<f64>) {
        first.clear();
        second.clear();
        for _ in 0..self.pairs.len() {
            let (one, other) = pick(&self.pairs, rng);
            first.push(one);
            second.push(other);
        }
        first.extend((0..self.first_alone.len()).map(|_| pick(&self.first_alone, rng)));
        second.extend((0..self.second_alone.len()).map(|_| pick(&self.second_alone, rng)));
    }
}

fn pick<T: Copy>(items: &[T], rng: &mut Rng) -> T {
    items[usize::try_from(rng.below(items.len() as u64)).expect("an index fits")]
}

/// The percentile interval of the ratio of medians (Efron and Tibshirani, "An Introduction to the
/// Bootstrap", chapter 13), rounds being what is drawn.
fn bootstrap<K: Ord>(first: &[(K, f64)], second: &[(K, f64)]) -> Option<Interval> {
    let strata = Strata::of(first, second);
    let resamples = (DRAWS_MAX / (first.len() + second.len())).clamp(RESAMPLES_MIN, RESAMPLES_MAX);
    let mut rng = Rng::new(SEED, 0);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let mut ratios = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        strata.redraw(&mut rng, &mut one, &mut other);
        ratios.push(quotient(rounds::middle(&mut one)?, rounds::middle(&mut other)?)?);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = resamples / 40;
    Some(Interval { low: ratios[tail], high: ratios[resamples - 1 - tail] })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: [f64; 6] = [115.0, 117.0, 119.0, 121.0, 118.0, 140.0];
    const SLOW: [f64; 6] = [596.0, 580.0, 640.0, 610.0, 590.0, 700.0];

    fn keyed(run: u32, values: &[f64]) -> Vec<((u32, usize), f64)> {
        values.iter().enumerate().map(|(round, &value)| ((run, round), value)).collect()
    }

    fn assert_near(interval: Option<Interval>, low: f64, high: f64) {
        let Interval { low: found_low, high: found_high } = interval.expect("six rounds");
        let is_near = (found_low / low - 1.0).abs() < 0.005 && (found_high / high - 1.0).abs() < 0.005;
        assert!(is_near, "{interval:?}, not {low} to {high}");
    }

    /// The ends were computed apart from this code, in Python, over all 6^6 draws of pairs.
    #[test]
    fn pairs_are_drawn_together() {
        let ratio = ratio(&keyed(1, &SLOW), &keyed(1, &FAST)).expect("values");
        assert!((ratio.value - 603.0 / 118.5).abs() < 1e-12);
        assert_eq!(ratio.verdict, Verdict::Difference);
        assert_near(ratio.interval, 5.0, 5.378_151_260_504_202);
    }

    /// And these over all 6^6 times 6^6 draws.
    #[test]
    fn rounds_of_different_runs_are_drawn_apart() {
        let ratio = ratio(&keyed(2, &SLOW), &keyed(1, &FAST)).expect("values");
        assert_near(ratio.interval, 4.602_316_602_316_602, 5.630_252_100_840_337);
    }

    #[test]
    fn a_drift_that_both_sides_share_leaves_the_ratio_sharp() {
        let drifting = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0];
        let doubled = drifting.map(|value| value * 2.0);
        let paired = ratio(&keyed(1, &doubled), &keyed(1, &drifting)).expect("values");
        assert_eq!(paired.interval, Some(Interval { low: 2.0, high: 2.0 }));
        let apart = ratio(&keyed(2, &doubled), &keyed(1, &drifting)).expect("values");
        let Interval { low, high } = apart.interval.expect("six rounds");
        assert!(low < 1.0 && high > 3.5, "{apart:?}");
    }

    #[test]
    fn a_round_of_one_side_alone_still_counts() {
        let mut fast = keyed(1, &FAST);
        fast.push(((9, 9), 1_000.0));
        let more = ratio(&keyed(1, &SLOW), &fast).expect("values");
        assert!((more.value - 603.0 / 119.0).abs() < 1e-12);
        assert!(more.interval.expect("six rounds").low < 4.9, "{more:?}");
    }

    #[test]
    fn the_same_rows_give_the_same_interval() {
        let once = ratio(&keyed(1, &SLOW), &keyed(2, &FAST));
        assert_eq!(once, ratio(&keyed(1, &SLOW), &keyed(2, &FAST)));
    }

    #[test]
    fn few_rounds_have_no_interval_and_fewer_no_verdict() {
        let of = |count: usize| ratio(&keyed(1, &SLOW[..count]), &keyed(1, &FAST[..count])).expect("values");
        let verdicts = [1, 2, 3, 4, 5, 6].map(|count| of(count).verdict);
        let (few, difference) = (Verdict::TooFewRounds, Verdict::Difference);
        assert_eq!(verdicts, [few, few, few, difference, difference, difference]);
        let has_interval = [1, 2, 3, 4, 5, 6].map(|count| of(count).interval.is_some());
        assert_eq!(has_interval, [false, false, false, false, false, true]);
        assert!((of(1).value - 596.0 / 115.0).abs() < 1e-12);
    }

    #[test]
    fn what_overlaps_shows_no_difference() {
        let (one, other) =
            ([101.0, 103.0, 99.0, 110.0, 104.0, 98.0], [102.0, 100.0, 105.0, 97.0, 111.0, 108.0]);
        let found = ratio(&keyed(1, &one), &keyed(1, &other)).expect("values");
        assert_eq!(found.verdict, Verdict::NoDifferenceShown);
        let Interval { low, high } = found.interval.expect("six rounds");
        assert!(low < 1.0 && high > 1.0);
        let equal = ratio(&keyed(1, &[5.0; 6]), &keyed(2, &[5.0; 6])).expect("values");
        let one = Some(Interval { low: 1.0, high: 1.0 });
        assert_eq!((equal.value, equal.interval, equal.verdict), (1.0, one, Verdict::NoDifferenceShown));
    }

    #[test]
    fn a_huge_spread_is_no_obstacle() {
        let huge = [1.0, 1e3, 1e6, 1e9, 1e12, 1e15];
        let other = [2.0, 2e3, 2e6, 2e9, 2e12, 2e14];
        let found = ratio(&keyed(1, &huge), &keyed(2, &other)).expect("values");
        let Interval { low, high } = found.interval.expect("six rounds");
        assert!(found.verdict == Verdict::NoDifferenceShown && low < 1e-3 && high > 1e3, "{found:?}");
    }

    #[test]
    fn nothing_has_no_ratio() {
        assert_eq!(ratio(&keyed(1, &[]), &keyed(1, &FAST)), None);
        assert_eq!(ratio(&keyed(1, &FAST), &keyed(1, &[])), None);
        assert_eq!(ratio(&keyed(1, &FAST), &keyed(1, &[0.0; 6])), None);
    }

    #[test]
    fn a_turned_ratio_is_the_other_side_s() {
        let slower = ratio(&keyed(1, &SLOW), &keyed(1, &FAST)).expect("values");
        let faster = slower.turned().expect("not 0");
        assert!((faster.value * slower.value - 1.0).abs() < 1e-12);
        let (slow, fast) = (slower.interval.expect("six"), faster.interval.expect("six"));
        assert!((fast.low * slow.high - 1.0).abs() < 1e-12 && (fast.high * slow.low - 1.0).abs() < 1e-12);
        assert_eq!(faster.verdict, slower.verdict);
    }
}
