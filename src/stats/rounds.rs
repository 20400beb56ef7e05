//! What the rounds of one case say together: middle, interval, spread, outliers, drift. Pure.
//!
//! Values are of any one unit, finite, in the order of their rounds.

use serde::Serialize;

use super::mann_whitney::mann_whitney;

/// Fewer rounds have no 95 % interval of their median: 1 - 2 (1/2)^5 is 93.75 % only. Nothing is
/// said of their outliers or their drift either.
pub const ROUNDS_MIN: usize = 6;
/// A drift is named from this change on, either way.
const DRIFT_MIN: f64 = 0.05;
/// And where chance alone would show it this seldom at most: 3 rounds against 3 that do not
/// overlap have 0.1 and no p below it exists for them.
const DRIFT_P_MAX: f64 = 0.101;

/// From `low` to `high`, both included; unit of the values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The middle value, or the mean of the two middle ones. `None` of no values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    middle(&mut values.to_vec())
}

/// The same, free to reorder the values.
pub(super) fn middle(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let half = values.len() / 2;
    let is_odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *upper;
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(lower.filter(|_| !is_odd).map_or(upper, |lower| f64::midpoint(lower, upper)))
}

/// The median's 95 % interval by order statistics: from the d-th smallest value to the d-th largest
/// with the largest d for which a binomial of n and 1/2 lies below d with a chance of 2.5 % at most
/// (Conover, "Practical Nonparametric Statistics", 3.2). It holds for any distribution, and for 95 % or more.
/// `None` below [`ROUNDS_MIN`] values.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let depth = interval_depth(values.len())?;
    let sorted = sorted(values);
    Some(Interval { low: sorted[depth - 1], high: sorted[sorted.len() - depth] })
}

/// That d, from 1.
#[expect(clippy::cast_precision_loss, reason = "no case has 2^53 rounds")]
fn interval_depth(count: usize) -> Option<usize> {
    let mut ln_chance = count as f64 * 0.5_f64.ln();
    let mut below = 0.0;
    for depth in 0..count {
        below += ln_chance.exp();
        if below > 0.025 {
            return (depth > 0).then_some(depth);
        }
        ln_chance += ((count - depth) as f64 / (depth + 1) as f64).ln();
    }
    None
}

/// (Largest - smallest) / median. `None` below two values, or around a median of 0.
#[must_use]
pub fn spread(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let [smallest, .., largest] = sorted[..] else { return None };
    median(values).filter(|&median| median > 0.0).map(|median| (largest - smallest) / median)
}

/// Positions, from 0, of values outside Tukey's fences: more than 1.5 interquartile ranges below the
/// lower or above the upper quartile (Tukey, "Exploratory Data Analysis", 2D). Quartiles by linear
/// interpolation, the default of R (type 7) and numpy. None below [`ROUNDS_MIN`] values.
#[must_use]
pub fn outliers(values: &[f64]) -> Vec<usize> {
    if values.len() < ROUNDS_MIN {
        return Vec::new();
    }
    let sorted = sorted(values);
    let (lower, upper) = (quartile(&sorted, 1), quartile(&sorted, 3));
    let reach = 1.5 * (upper - lower);
    let is_outside = |value: f64| value < lower - reach || value > upper + reach;
    (0..values.len()).filter(|&index| is_outside(values[index])).collect()
}

/// `number`: 1 the lower, 3 the upper.
#[expect(clippy::cast_precision_loss, reason = "a remainder of 4")]
fn quartile(sorted: &[f64], number: usize) -> f64 {
    let quarters = (sorted.len() - 1) * number;
    let (index, rest) = (quarters / 4, quarters % 4);
    let next = sorted[(index + 1).min(sorted.len() - 1)];
    sorted[index] + (next - sorted[index]) * rest as f64 / 4.0
}

/// A change over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// Median of the second half over that of the first.
    pub ratio: f64,
    /// Of the rank test between the halves.
    pub p: f64,
}

/// The second half of the rounds against the first, the middle round of an odd number left out;
/// `None` below [`ROUNDS_MIN`], under 5 %, or where chance explains it (Mann-Whitney, p above 0.1:
/// of six rounds, where the halves overlap).
#[must_use]
pub fn drift(values: &[f64]) -> Option<Drift> {
    if values.len() < ROUNDS_MIN {
        return None;
    }
    let half = values.len() / 2;
    let (first, second) = (&values[..half], &values[values.len() - half..]);
    let ratio = median(second)? / median(first).filter(|&median| median > 0.0)?;
    let p = mann_whitney(first, second)?.p;
    ((ratio - 1.0).abs() >= DRIFT_MIN && p <= DRIFT_P_MAX).then_some(Drift { ratio, p })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUGE: [f64; 6] = [1.0, 1e3, 1e6, 1e9, 1e12, 1e15];

    fn counted(count: u32) -> Vec<f64> {
        (1..=count).rev().map(f64::from).collect()
    }

    /// `numpy.median`, numpy 2.4.6.
    #[test]
    fn medians_as_numpy_s() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[115.0, 117.0, 119.0, 121.0, 118.0, 140.0]), Some(118.5));
        assert_eq!(median(&[10.0, 10.0, 11.0, 12.0, 12.0, 13.0]), Some(11.5));
        assert_eq!(median(&[100.0, 101.0, 102.0, 103.0, 104.0, 200.0, 50.0]), Some(102.0));
        assert_eq!(median(&HUGE), Some(500_500_000.0));
    }

    /// `scipy.stats.quantile_test(range(1, n + 1), q, p=0.5).confidence_interval(0.95)`, scipy 1.17.1.
    #[test]
    fn intervals_as_scipy_s() {
        for few in 0..ROUNDS_MIN {
            assert_eq!(median_interval(&counted(u32::try_from(few).expect("few"))), None);
        }
        for (count, low, high) in [
            (6, 1, 6),
            (7, 1, 7),
            (8, 1, 8),
            (9, 2, 8),
            (10, 2, 9),
            (11, 2, 10),
            (12, 3, 10),
            (13, 3, 11),
            (15, 4, 12),
            (20, 6, 15),
            (25, 8, 18),
            (50, 18, 33),
            (100, 40, 61),
            (1_000, 469, 532),
            (2_000, 956, 1_045),
        ] {
            let expected = Interval { low: f64::from(low), high: f64::from(high) };
            assert_eq!(median_interval(&counted(count)), Some(expected), "{count}");
        }
    }

    /// By `(max - min) / numpy.median`.
    #[test]
    fn spreads() {
        let close = |values: &[f64], expected: f64| {
            let found = spread(values).expect("two values");
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        };
        close(&[115.0, 117.0, 119.0, 121.0, 118.0, 140.0], 0.210_970_464_135_021_1);
        close(&HUGE, 1_998_001.998_001_996);
        close(&[5.0; 6], 0.0);
        close(&[4.0, 1.0], 1.2);
        assert_eq!(spread(&[7.0]), None);
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[0.0, 0.0]), None);
    }

    /// Quartiles by `numpy.percentile(values, [25, 75])`, numpy 2.4.6, the fences from them.
    #[test]
    fn outliers_lie_outside_the_fences() {
        assert_eq!(outliers(&[115.0, 117.0, 119.0, 121.0, 118.0, 140.0]), [5], "fences 112.4 and 125.4");
        assert_eq!(outliers(&[115.0, 117.0, 119.0, 121.0, 118.0, 125.3]), [] as [usize; 0]);
        assert_eq!(outliers(&[115.0, 117.0, 119.0, 121.0, 118.0, 125.4]), [5]);
        assert_eq!(outliers(&[10.0, 10.0, 11.0, 12.0, 12.0, 13.0]), [] as [usize; 0]);
        assert_eq!(outliers(&[5.0; 6]), [] as [usize; 0]);
        assert_eq!(outliers(&HUGE), [5]);
        assert_eq!(outliers(&[100.0, 101.0, 102.0, 103.0, 104.0, 200.0, 50.0]), [5, 6]);
        assert_eq!(outliers(&[7.0, 1.0, 3.0, 9.0, 4.0, 8.0, 2.0, 30.0]), [7], "fences -5.5 and 16.5");
        assert_eq!(outliers(&[7.0, 1.0, 3.0, 9.0, 4.0, 8.0, 2.0, 16.4]), [] as [usize; 0]);
        assert_eq!(outliers(&[1.0, 2.0, 3.0, 4.0, 100.0]), [] as [usize; 0], "too few to say");
    }

    #[test]
    fn a_drift_wants_halves_apart_and_a_change_that_matters() {
        let up = drift(&[100.0, 101.0, 102.0, 112.0, 111.0, 113.0]).expect("a drift");
        assert!((up.ratio - 112.0 / 101.0).abs() < 1e-12 && (up.p - 0.1).abs() < 1e-12, "{up:?}");
        let down = drift(&[112.0, 111.0, 113.0, 100.0, 101.0, 102.0]).expect("a drift");
        assert!((down.ratio - 101.0 / 112.0).abs() < 1e-12, "{down:?}");
        assert_eq!(drift(&[100.0, 101.0, 112.0, 111.0, 113.0, 114.0]), None, "the halves overlap");
        assert_eq!(drift(&[100.0, 101.0, 102.0, 103.0, 104.0, 105.0]), None, "3 % only");
        assert_eq!(drift(&[100.0, 100.0, 200.0, 200.0]), None, "too few");
        assert_eq!(drift(&[0.0; 6]), None);
        let odd = drift(&[100.0, 101.0, 102.0, 1.0, 112.0, 111.0, 113.0]).expect("a drift");
        assert_eq!(odd, up, "the middle round is left out");
    }
}
