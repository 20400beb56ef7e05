//! Numbers in, figures out; pure. A file for each question:
//! [`sample`] what one sample's latencies say, [`rounds`] what the rounds of a case say together,
//! [`ratio`] how two of them compare, [`mann_whitney`] whether chance alone would explain it.

pub mod mann_whitney;
mod normal;
pub mod ratio;
pub mod rounds;
pub mod sample;

pub use ratio::{Ratio, Verdict, difference, ratio};
pub use rounds::Interval;
pub use sample::{Summary, median, percentile, quotient, rate_per_s, summarize};
