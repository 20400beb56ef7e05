//! What a single flag's value may be.

use std::{str::FromStr, time::Duration};

use crate::measurement::is_lookalike;

const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);
/// The most that a relay adds to a round trip.
pub const RTT_MAX_US: u64 = 1_000_000;

/// Parses a whole number from `min` to `max`.
pub fn number<T>(min: u64, max: u64) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    move |text| {
        let value = u64::from_str(text).ok().filter(|value| (min..=max).contains(value));
        value
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| format!("wants a whole number from {min} to {max}"))
    }
}

/// Parses a time span above 0.
pub fn duration(text: &str) -> Result<Duration, String> {
    match duration_or_zero(text)? {
        Duration::ZERO => Err("wants more than 0".into()),
        duration => Ok(duration),
    }
}

/// Parses the length of an interval: a server that is asked more often is disturbed.
pub fn interval(text: &str) -> Result<Duration, String> {
    const INTERVAL_MIN: Duration = Duration::from_millis(100);
    duration(text).and_then(|interval| {
        if interval < INTERVAL_MIN { Err("wants 100ms or more".into()) } else { Ok(interval) }
    })
}

/// Parses a time span that may be 0.
pub fn duration_or_zero(text: &str) -> Result<Duration, String> {
    let hint = "wants a number with its unit, such as 500ms, 1s or 2m";
    let duration = humantime::parse_duration(text).map_err(|_| hint.to_owned())?;
    if text.trim().parse::<f64>().is_ok() {
        return Err(hint.into());
    }
    if duration > DURATION_MAX {
        return Err("wants a day at most".into());
    }
    Ok(duration)
}

/// Parses what is added to a round trip, as whole microseconds.
pub fn rtt_us(text: &str) -> Result<u32, String> {
    if text == "0" {
        return Ok(0);
    }
    let rtt = duration_or_zero(text)?;
    let is_even = rtt.as_nanos().is_multiple_of(2_000);
    let rtt_us = u32::try_from(rtt.as_micros()).ok().filter(|&us| is_even && u64::from(us) <= RTT_MAX_US);
    rtt_us.ok_or_else(|| "wants an even number of microseconds, a second at most".into())
}

/// Parses a label that no spreadsheet takes for anything else.
pub fn label(text: &str) -> Result<String, String> {
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if text.is_empty() || (starts_well && is_plain && text.len() <= 64 && !is_lookalike(text)) {
        Ok(text.to_owned())
    } else {
        Err("wants a letter, then at most 63 letters, digits, dots, dashes or underscores, and no date such as dec-1".into())
    }
}

/// Parses Zipf's exponent, of two decimals at most, as percent.
pub fn skew_pct(text: &str) -> Result<u32, String> {
    const SKEW_PCT_MAX: u32 = 300;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok());
    let hundredths = match decimals.len() {
        1 => digits(decimals).flatten().map(|tenths| tenths * 10),
        2 => digits(decimals).flatten(),
        _ => None,
    };
    let percent = digits(whole).flatten().zip(hundredths);
    percent
        .and_then(|(whole, hundredths)| whole.checked_mul(100)?.checked_add(hundredths))
        .filter(|&percent| percent <= SKEW_PCT_MAX)
        .ok_or_else(|| "wants a number from 0 to 3 with two decimals at most, such as 0.99".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_nothing_else_to_a_spreadsheet() {
        for text in ["", "lab-7", "a1", "epyc.2_x"] {
            assert_eq!(label(text).as_deref(), Ok(text));
        }
        for text in ["7", "-x", "a b", "dec-1", "Mar2026", "true", "a;b"] {
            assert!(label(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_round_trip_is_kept_in_microseconds() {
        for (text, us) in
            [("0", 0), ("0s", 0), ("250us", 250), ("1ms", 1_000), ("1ms 2us", 1_002), ("1s", 1_000_000)]
        {
            assert_eq!(rtt_us(text), Ok(us), "{text}");
        }
        for text in ["", "1", "-1ms", "1us", "999ns", "2s", "1001ms"] {
            assert!(rtt_us(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_skew_is_kept_as_percent() {
        for (text, percent) in [("0", 0), ("1", 100), ("0.5", 50), ("0.99", 99), ("1.07", 107), ("3.00", 300)]
        {
            assert_eq!(skew_pct(text), Ok(percent), "{text}");
        }
        for text in
            ["", ".", "1.", ".5", "-1", "+1", "0.+5", "0.999", "3.01", "4", "1e0", "0,5", "nan", "99999999"]
        {
            assert!(skew_pct(text).is_err(), "{text}");
        }
    }
}
