//! The normal distribution's tail; pure.

use std::f64::consts::{PI, SQRT_2};

/// The chance that a standard normal variable lies `z` or more from 0, on either side.
pub fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The complementary error function of `x >= 0`, to 10 digits: by the series for erf
/// (Abramowitz and Stegun 7.1.6) below 3, by the continued fraction (7.1.14) above.
fn erfc(x: f64) -> f64 {
    if x < 3.0 { 1.0 - erf_series(x) } else { erfc_fraction(x) }
}

fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    let mut odd = 1.0;
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

fn erfc_fraction(x: f64) -> f64 {
    const DEPTH: u32 = 60;
    let fraction = (1..=DEPTH).rev().fold(x, |below, level| x + f64::from(level) / 2.0 / below);
    (-x * x).exp() / PI.sqrt() / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values: `scipy.special.erfc` of scipy 1.17.1.
    #[test]
    fn erfc_is_scipy_s() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.001, 0.998_871_621_209_030_7),
            (0.5, 0.479_500_122_186_953_5),
            (1.5, 0.033_894_853_524_689_27),
            (2.9, 4.109_787_809_945_884e-5),
            (3.1, 1.164_865_736_719_958_4e-5),
            (4.0, 1.541_725_790_028_002e-8),
            (10.0, 2.088_487_583_762_544_6e-45),
            (26.0, 5.663_192_408_856_145e-296),
        ] {
            let found = erfc(x);
            assert!((found / expected - 1.0).abs() < 1e-10, "erfc({x}) = {found:e}, not {expected:e}");
        }
    }

    #[test]
    fn both_sides_count() {
        assert!((two_sided(1.959_963_984_540_054) - 0.05).abs() < 1e-12, "the usual quantile");
        assert!((two_sided(-1.959_963_984_540_054) - 0.05).abs() < 1e-12);
    }
}
