//! Rows in, text or a workbook out; pure. [`analyze`](fn@analyze) makes the one [`Analysis`] that all formats show.

mod alarms;
pub mod analysis;
mod analyze;
pub mod calibration;
pub mod case;
pub mod comparison;
mod comparison_page;
pub mod csv;
pub mod floor;
pub mod gobench;
pub mod html;
pub mod map;
pub mod markdown;
pub mod page;
#[cfg(test)]
mod samples;
pub mod seed;
pub mod select;
mod series;
pub mod summary;
pub mod table;
pub mod text;
pub mod timeline;
pub mod units;
pub mod words;
pub mod xlsx;

pub use analysis::Analysis;
pub use analyze::analyze;
pub use comparison::{Comparison, compare};
