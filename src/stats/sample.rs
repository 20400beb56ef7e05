//! One sample: its nanoseconds in, its figures out; pure.

/// The figures of one sample's latencies. Blank (`None`) where the sample is too small to have
/// them, never a 0 that stands for "unknown".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Shortest latency.
    pub min_ns: Option<u64>,
    /// Arithmetic mean, rounded half up.
    pub mean_ns: Option<u64>,
    /// Sample standard deviation (n - 1), rounded half up; wants 2 values.
    pub stddev_ns: Option<u64>,
    /// Median; wants 2 values.
    pub p50_ns: Option<u64>,
    /// 90th percentile; wants 10.
    pub p90_ns: Option<u64>,
    /// 99th percentile; wants 100.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile; wants 1,000.
    pub p999_ns: Option<u64>,
    /// Longest latency.
    pub max_ns: Option<u64>,
}

/// Sorts the latencies and reads the figures off.
#[must_use]
pub fn summarize(mut latencies_ns: Vec<u64>) -> Summary {
    latencies_ns.sort_unstable();
    let sorted = latencies_ns.as_slice();
    Summary {
        min_ns: sorted.first().copied(),
        mean_ns: mean(sorted),
        stddev_ns: stddev(sorted),
        p50_ns: percentile(sorted, 500),
        p90_ns: percentile(sorted, 900),
        p99_ns: percentile(sorted, 990),
        p999_ns: percentile(sorted, 999),
        max_ns: sorted.last().copied(),
    }
}

/// Nearest rank, rounded up: the smallest value that at least `permille` of the values do not
/// exceed. `None` unless the sample has at least one value above that rank's share, that is
/// `1000 / (1000 - permille)` values.
#[must_use]
pub fn percentile(sorted: &[u64], permille: usize) -> Option<u64> {
    assert!((1..1_000).contains(&permille), "a percentile lies between the ends");
    if sorted.len() < 1_000_usize.div_ceil(1_000 - permille) {
        return None;
    }
    let rank = (sorted.len() * permille).div_ceil(1_000);
    Some(sorted[rank - 1])
}

/// The middle of the values, or the mean of the two middle ones rounded half up.
#[must_use]
pub fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted[sorted.len() / 2 - 1];
    Some(lower + (upper - lower).div_ceil(2))
}

/// `total / count`, rounded half up. `None` for no count.
#[must_use]
pub fn quotient(total: u64, count: u64) -> Option<u64> {
    let rounded = (u128::from(total) + u128::from(count / 2)).checked_div(u128::from(count))?;
    u64::try_from(rounded).ok()
}

/// `count` in `elapsed_ns` as so many a second, rounded half up. `None` for no time.
#[must_use]
pub fn rate_per_s(count: u64, elapsed_ns: u64) -> Option<u64> {
    let scaled = u128::from(count) * 1_000_000_000 + u128::from(elapsed_ns / 2);
    u64::try_from(scaled.checked_div(u128::from(elapsed_ns))?).ok()
}

fn mean(values: &[u64]) -> Option<u64> {
    let total: u128 = values.iter().copied().map(u128::from).sum();
    let count = values.len() as u128;
    u64::try_from((total + count / 2).checked_div(count)?).ok()
}

/// By squared differences from the exact mean: nanoseconds of an hour squared still fit a
/// double's exponent, and 15 digits are more than a standard deviation has.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn stddev(values: &[u64]) -> Option<u64> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let total: u128 = values.iter().copied().map(u128::from).sum();
    let mean = total as f64 / count;
    let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt().round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_rounds_up() {
        // The worked example of "Percentile", nearest-rank method: 15 20 35 40 50.
        let sorted = [15, 20, 35, 40, 50];
        assert_eq!(percentile(&sorted, 300), Some(20));
        assert_eq!(percentile(&sorted, 400), Some(20));
        assert_eq!(percentile(&sorted, 500), Some(35));
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 990), Some(99));
        assert_eq!(percentile(&hundred, 900), Some(90));
        let thousand: Vec<u64> = (1..=1000).collect();
        assert_eq!(percentile(&thousand, 999), Some(999));
    }

    #[test]
    fn a_percentile_that_the_sample_cannot_have_is_blank() {
        let sorted: Vec<u64> = (1..=999).collect();
        assert_eq!(percentile(&sorted, 999), None);
        assert_eq!(percentile(&sorted[..99], 990), None);
        assert_eq!(percentile(&sorted[..9], 900), None);
        assert_eq!(percentile(&sorted[..1], 500), None);
        assert_eq!(percentile(&sorted[..2], 500), Some(1));
    }

    #[test]
    fn no_values_have_no_figures() {
        assert_eq!(summarize(Vec::new()), Summary::default());
    }

    #[test]
    fn figures_of_a_known_sample() {
        // numpy 1.26: mean 5.0, std(ddof=1) 2.138089935299395 of this list.
        let summary = summarize(vec![9, 2, 4, 4, 5, 7, 5, 4]);
        assert_eq!(summary.mean_ns, Some(5));
        assert_eq!(summary.stddev_ns, Some(2));
        assert_eq!((summary.min_ns, summary.p50_ns, summary.max_ns), (Some(2), Some(4), Some(9)));
        assert_eq!(summary.p90_ns, None);
        let one = summarize(vec![7]);
        assert_eq!((one.min_ns, one.stddev_ns, one.max_ns), (Some(7), None, Some(7)));
    }

    #[test]
    fn spread_of_large_values_is_exact_enough() {
        let hour_ns = 3_600_000_000_000;
        assert_eq!(stddev(&[hour_ns, hour_ns + 20_000]), Some(14_142));
        assert_eq!(stddev(&[hour_ns; 5]), Some(0));
    }

    #[test]
    fn order_of_figures_holds() {
        let mut rng = crate::rng::Rng::new(1, 1);
        for len in 1..1_200 {
            let summary = summarize((0..len).map(|_| rng.below(1_000_000)).collect());
            let figures = [
                summary.min_ns,
                summary.p50_ns,
                summary.p90_ns,
                summary.p99_ns,
                summary.p999_ns,
                summary.max_ns,
            ];
            let known: Vec<_> = figures.into_iter().flatten().collect();
            assert!(known.is_sorted(), "{len}: {known:?}");
        }
    }

    #[test]
    fn medians_and_quotients() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3]), Some(3));
        assert_eq!(median(&[9, 1, 5]), Some(5));
        assert_eq!(median(&[1, 4]), Some(3));
        assert_eq!(median(&[u64::MAX, u64::MAX]), Some(u64::MAX));
        assert_eq!(quotient(7, 2), Some(4));
        assert_eq!(quotient(7, 0), None);
        assert_eq!(quotient(u64::MAX, 1), Some(u64::MAX));
        assert_eq!(rate_per_s(3, 2_000_000_000), Some(2));
        assert_eq!(rate_per_s(1 << 40, 1_000_000_000), Some(1 << 40));
        assert_eq!(rate_per_s(1, 0), None);
    }

    #[test]
    fn each_percentile_is_its_own_and_means_round_half_up() {
        let summary = summarize((1..=1_000).rev().collect());
        let percentiles = [summary.p50_ns, summary.p90_ns, summary.p99_ns, summary.p999_ns];
        assert_eq!(percentiles, [Some(500), Some(900), Some(990), Some(999)]);
        assert_eq!(summary.mean_ns, Some(501), "500.5");
        assert_eq!(stddev(&[1, 2, 4]), Some(2), "1.53");
    }
}
