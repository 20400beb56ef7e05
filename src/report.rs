//! Rows in, text out; pure.

pub mod table;
pub mod units;
