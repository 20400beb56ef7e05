//! The rank test by Mann and Whitney: whether chance alone would set two samples this far apart. Pure.

use super::normal;

/// Up to so many values on a side, and without ties, p is exact; R's `wilcox.test` goes to 49,
/// scipy's `mannwhitneyu` to 8. Here the counts fit 64 bits, and the approximation is good beyond.
const EXACT_MAX: usize = 25;

/// Outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// In how many pairs the first sample's value is the larger; ties count a half.
    pub u: f64,
    /// The chance of a U as far from the middle, either way, were both samples of one distribution.
    pub p: f64,
}

/// Two-sided. `None` where a sample is empty. Source: Mann and Whitney, "On a test of whether one of two random
/// variables is stochastically larger than the other" (1947). With ties or many values by the normal
/// approximation with tie correction and continuity correction (Hollander and Wolfe,
/// "Nonparametric Statistical Methods", 4.1), as R and scipy have it.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<Test> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let Ranks { first_sum, tie_term } = rank(first, second);
    let (n1, n2) = (count(first.len()), count(second.len()));
    let u = first_sum - n1 * (n1 + 1.0) / 2.0;
    let is_exact = tie_term == 0.0 && first.len().max(second.len()) <= EXACT_MAX;
    let p = if is_exact {
        exact(u.min(n1 * n2 - u), first.len(), second.len())
    } else {
        approximate((u - n1 * n2 / 2.0).abs(), n1, n2, tie_term)
    };
    Some(Test { u, p })
}

/// The smallest p that samples of these sizes can have, all values of one above all of the other:
/// `2 / (n1 + n2 choose n1)`.
#[must_use]
pub fn smallest_p(first: usize, second: usize) -> f64 {
    let (fewer, total) = (first.min(second), first + second);
    let orders: f64 = (1..=fewer).map(|taken| count(total - fewer + taken) / count(taken)).product();
    (2.0 / orders).min(1.0)
}

struct Ranks {
    /// Sum of the first sample's ranks, from 1; equal values share the mean of theirs.
    first_sum: f64,
    /// Sum of t^3 - t over all groups of t equal values.
    tie_term: f64,
}

fn rank(first: &[f64], second: &[f64]) -> Ranks {
    let tagged = first.iter().map(|&value| (value, true)).chain(second.iter().map(|&value| (value, false)));
    let mut sorted: Vec<(f64, bool)> = tagged.collect();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = Ranks { first_sum: 0.0, tie_term: 0.0 };
    let mut before = 0;
    for equal in sorted.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let ties = count(equal.len());
        let mean_rank = count(before) + f64::midpoint(ties, 1.0);
        ranks.first_sum += mean_rank * count(equal.iter().filter(|(_, is_first)| *is_first).count());
        ranks.tie_term += ties.powi(3) - ties;
        before += equal.len();
    }
    ranks
}

/// How many of all orders have a U of at most `u_less`, of both tails. The numbers of orders by U
/// are the coefficients of the Gaussian binomial, the product over i = 1..n1 of
/// `(1 - q^(n2 + i)) / (1 - q^i)`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn exact(u_less: f64, n1: usize, n2: usize) -> f64 {
    let mut orders = vec![0_i64; n1 * n2 + 1];
    orders[0] = 1;
    for factor in 1..=n1 {
        for power in (n2 + factor..orders.len()).rev() {
            orders[power] -= orders[power - n2 - factor];
        }
        for power in factor..orders.len() {
            orders[power] += orders[power - factor];
        }
    }
    let all: i64 = orders.iter().sum();
    let tail: i64 = orders[..=u_less as usize].iter().sum();
    (2.0 * tail as f64 / all as f64).min(1.0)
}

fn approximate(distance: f64, n1: f64, n2: f64, tie_term: f64) -> f64 {
    let n = n1 + n2;
    let variance = n1 * n2 / 12.0 * (n + 1.0 - tie_term / (n * (n - 1.0)));
    if variance <= 0.0 {
        return 1.0; // all values are equal
    }
    normal::two_sided((distance - 0.5).max(0.0) / variance.sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "no sample has 2^53 values")]
fn count(values: usize) -> f64 {
    values as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_test(first: &[f64], second: &[f64], u: f64, p: f64) {
        let found = mann_whitney(first, second).expect("both have values");
        assert!((found.u - u).abs() < 1e-9, "{first:?} {second:?}: {found:?}, not U {u}");
        assert!((found.p / p - 1.0).abs() < 1e-9, "{first:?} {second:?}: {found:?}, not p {p}");
        let turned = mann_whitney(second, first).expect("both have values");
        assert!((turned.p / p - 1.0).abs() < 1e-9, "p has no direction: {turned:?}");
    }

    /// `scipy.stats.mannwhitneyu(a, b, method="exact")`, scipy 1.17.1.
    #[test]
    fn exact_as_scipy_s() {
        assert_test(
            &[115.0, 117.0, 119.0, 121.0, 118.0, 140.0],
            &[596.0, 580.0, 640.0, 610.0, 590.0, 700.0],
            0.0,
            0.002_164_502_164_502_164_5,
        );
        assert_test(
            &[101.0, 103.0, 99.0, 110.0, 104.0, 98.0],
            &[102.0, 100.0, 105.0, 97.0, 111.0, 108.0],
            15.0,
            0.699_134_199_134_199,
        );
        assert_test(&[3.0], &[4.0], 0.0, 1.0);
        assert_test(&[3.0], &[4.0, 5.0], 0.0, 0.666_666_666_666_666_6);
        assert_test(&[1.0, 2.0], &[3.0, 4.0], 0.0, 0.333_333_333_333_333_3);
        assert_test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.0, 0.1);
        assert_test(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 0.0, 0.028_571_428_571_428_57);
        assert_test(
            &[1.0, 1e3, 1e6, 1e9, 1e12, 1e15],
            &[2.0, 2e3, 2e6, 2e9, 2e12, 2e14],
            16.0,
            0.818_181_818_181_818_2,
        );
        assert_test(
            &[12.0, 15.0, 11.0, 19.0, 14.0],
            &[13.0, 21.0, 22.0, 25.0, 16.0, 28.0, 17.0],
            5.0,
            0.047_979_797_979_797_98,
        );
    }

    fn scattered(step: u32, modulus: u32, offset: f64, len: u32) -> Vec<f64> {
        (0..len).map(|index| f64::from(index * step % modulus) + offset).collect()
    }

    #[test]
    fn exact_up_to_25_then_approximate() {
        let (first, second) = (scattered(37, 101, 0.0, 20), scattered(53, 103, 12.5, 25));
        assert_test(&first, &second, 219.0, 0.489_794_706_578_086_4);
        // method="asymptotic"
        let (first, second) = (scattered(37, 101, 0.0, 30), scattered(53, 103, 12.5, 30));
        assert_test(&first, &second, 352.0, 0.149_448_706_230_463_16);
    }

    /// `scipy.stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)`, scipy 1.17.1.
    #[test]
    fn ties_as_scipy_s() {
        assert_test(
            &[10.0, 10.0, 11.0, 12.0, 12.0, 13.0],
            &[11.0, 12.0, 12.0, 13.0, 14.0, 14.0],
            8.0,
            0.118_789_365_155_630_04,
        );
        assert_test(&[5.0; 6], &[5.0; 6], 18.0, 1.0);
        assert_test(&[1.0, 2.0], &[2.0, 3.0], 0.5, 0.414_216_178_242_525_2);
        assert_test(
            &[1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 6.0],
            &[3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0, 7.0, 8.0, 9.0, 9.0],
            15.5,
            0.003_422_437_447_722_230_8,
        );
    }

    #[test]
    fn nothing_is_tested_against_nothing() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[]), None);
    }

    #[test]
    fn the_smallest_p_is_that_of_samples_apart() {
        for (n1, n2) in [(1_u32, 1_u32), (1, 2), (2, 2), (3, 3), (4, 4), (5, 7), (6, 6), (1, 25)] {
            let second: Vec<f64> = (n1..n1 + n2).map(f64::from).collect();
            let first: Vec<f64> = (0..n1).map(f64::from).collect();
            let test = mann_whitney(&first, &second).expect("both have values");
            let smallest = smallest_p(n1 as usize, n2 as usize);
            assert!((test.p / smallest - 1.0).abs() < 1e-12, "{n1} {n2}: {} {smallest}", test.p);
        }
        assert!(smallest_p(50_000, 50_000) < 1e-300, "no overflow to NaN");
    }
}
