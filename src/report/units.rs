//! Figures for people.

use std::time::Duration;

/// A time with three significant digits and the unit that suits it: `828 us`, `1.34 ms`.
#[must_use]
pub fn time(ns: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    // 999.6 us rounds up to 1000 us: the next unit then says it better.
    UNITS
        .into_iter()
        .map(|(name, unit)| (three_digits(ns, unit, if unit == 1 { 0 } else { 2 }), name))
        .find(|(digits, name)| *name == "s" || digits.len() < 4 || digits.contains('.'))
        .map(|(digits, name)| format!("{digits} {name}"))
        .unwrap_or_default()
}

/// `numerator / denominator` with three significant digits, or all that stand before the point;
/// with `decimals_max` at most.
fn three_digits(numerator: u64, denominator: u64, decimals_max: u32) -> String {
    // By the rounded value: 9.996 is 10.0, not 10.00.
    let fits = |decimals: &u32| fixed(numerator, denominator, *decimals).len() <= 4;
    let decimals = (0..=decimals_max).rev().find(fits).unwrap_or(0);
    fixed(numerator, denominator, decimals)
}

/// How many times `ours` is of `theirs`, in words with direction, to three significant digits:
/// `4.43x slower`.
#[must_use]
pub fn times(ours_ns: u64, theirs_ns: u64) -> String {
    let (more, less, word) =
        if ours_ns >= theirs_ns { (ours_ns, theirs_ns, "slower") } else { (theirs_ns, ours_ns, "faster") };
    if less == 0 {
        return String::new();
    }
    let ratio = three_digits(more, less, 2);
    if ratio == "1.00" { "the same".into() } else { format!("{ratio}x {word}") }
}

/// A whole number with a comma every three digits.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A time span in its two largest units: `2m10s`, `1h5m`, `8s`.
#[must_use]
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, _) => format!("{hours}h{minutes}m"),
    }
}

/// `numerator / denominator` with a fixed number of decimals, rounded half up.
fn fixed(numerator: u64, denominator: u64, decimals: u32) -> String {
    let scale = 10_u128.pow(decimals);
    let denominator = u128::from(denominator);
    let scaled = (u128::from(numerator) * scale + denominator / 2) / denominator;
    if decimals == 0 {
        return scaled.to_string();
    }
    let width = decimals as usize;
    format!("{}.{:0width$}", scaled / scale, scaled % scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (9_999, "10.0 us"),
            (99_960, "100 us"),
            (41_234, "41.2 us"),
            (828_047, "828 us"),
            (999_600, "1.00 ms"),
            (1_343_344, "1.34 ms"),
            (136_818_091, "137 ms"),
            (25_000_000_000, "25.0 s"),
            (5_000_000_000_000, "5000 s"),
        ];
        for (ns, text) in shown {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn ratios_say_their_direction() {
        assert_eq!(times(828_047, 186_726), "4.43x slower");
        assert_eq!(times(3_344_849, 143_643_593), "42.9x faster");
        assert_eq!(times(1, 100_000), "100000x faster");
        assert_eq!(times(9_996, 1_000), "10.0x slower");
        assert_eq!(times(1_001, 1_000), "the same");
        assert_eq!(times(235, 100), "2.35x slower");
        assert_eq!(times(1, 0), "");
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(143_643_593), "143,643,593");
    }

    #[test]
    fn spans_have_two_units() {
        let shown =
            [(0, "0s"), (8, "8s"), (130, "2m10s"), (3_599, "59m59s"), (3_900, "1h5m"), (90_000, "25h0m")];
        for (seconds, text) in shown {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }
}
