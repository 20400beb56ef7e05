//! A logarithmic axis of nanoseconds.

/// From the power of ten below the smallest value to the one above the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Decimal logarithms of both ends.
    low: f64,
    high: f64,
    /// Where they are drawn.
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that all values, above 0, are on; `None` without any.
    pub fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let logs = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) =
            logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
        if low > high {
            return None;
        }
        let low = low.floor();
        Some(Self { low, high: high.ceil().max(low + 1.0), from, to })
    }

    /// From the smallest of some values, above 0, to the largest; `None` without any.
    pub fn tight(values: &[f64], from: f64, to: f64) -> Option<Self> {
        let logs = || values.iter().filter(|value| **value > 0.0).map(|value| value.log10());
        let (low, high) = (logs().min_by(f64::total_cmp)?, logs().max_by(f64::total_cmp)?);
        // One value stands in the middle.
        let margin = if low < high { 0.0 } else { 1.0 };
        Some(Self { low: low - margin, high: high + margin, from, to })
    }

    /// Where a value is drawn.
    pub fn place(self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Powers of ten on it.
    pub fn ticks(self) -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut log = self.low;
        while log <= self.high {
            ticks.push(10_f64.powf(log));
            log += 1.0;
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded<const N: usize>(values: [f64; N]) -> [String; N] {
        values.map(|value| format!("{value:.3}"))
    }

    #[test]
    fn values_are_between_powers_of_ten() {
        let axis = Axis::around([200.0, 5_000.0].into_iter(), 0.0, 200.0).expect("values");
        let ticks: [f64; 3] = axis.ticks().try_into().expect("three");
        assert_eq!(rounded(ticks), ["100.000", "1000.000", "10000.000"]);
        assert_eq!(rounded(ticks.map(|value| axis.place(value))), ["0.000", "100.000", "200.000"]);
        assert!(axis.place(200.0) > 0.0 && axis.place(5_000.0) < 200.0);
        let outside = [1.0, 1e9].map(|value| axis.place(value));
        assert_eq!(rounded(outside), ["0.000", "200.000"], "nothing is drawn outside");
    }

    #[test]
    fn a_tight_axis_ends_at_its_values() {
        let axis = Axis::tight(&[4.0, 1.0, 16.0], 0.0, 200.0).expect("values");
        assert_eq!(rounded([1.0, 4.0, 16.0].map(|value| axis.place(value))), ["0.000", "100.000", "200.000"]);
        let one = Axis::tight(&[7.0], 0.0, 200.0).expect("a value");
        assert_eq!(rounded([one.place(7.0)]), ["100.000"]);
        assert_eq!(Axis::tight(&[], 0.0, 1.0), None);
    }

    #[test]
    fn one_value_has_an_axis_and_none_has_not() {
        let axis = Axis::around([1_000.0].into_iter(), 10.0, 0.0).expect("a value");
        assert_eq!(rounded([axis.place(1_000.0), axis.place(10_000.0)]), ["10.000", "0.000"]);
        assert_eq!(Axis::around([0.0].into_iter(), 0.0, 1.0), None);
    }
}
