//! Which columns there are and what each holds, as the fields of [`Measurement`] say.

use csv::StringRecord;
use serde_json::Value;

use super::{Measurement, SCHEMA, header};

/// What schema 3 added to schema 2.
pub(super) const SINCE_SCHEMA_3: [&str; 21] = [
    "arrivals",
    "style",
    "preload",
    "messages",
    "message_transfers_mean_permille",
    "message_transfers_max",
    "syncs",
    "log_bytes",
    "stored_before",
    "stored_after",
    "disk_bytes_before",
    "disk_bytes_after",
    "offered_ops",
    "late_ops",
    "backlog_ops",
    "saturated",
    "latency_error_permille",
    "service_ns_mean",
    "service_ns_p50",
    "service_ns_p99",
    "service_ns_max",
];

/// A column of a file that spreadsheets open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// As the header has it.
    pub name: String,
    /// Text, or else a whole number.
    pub is_text: bool,
}

/// The columns of a row, from left to right.
#[must_use]
pub fn columns() -> Vec<Column> {
    let row = serde_json::to_value(Measurement::default()).expect("a row serializes");
    let column = |name: &str| Column { name: name.to_owned(), is_text: row[name].is_string() };
    header().expect("a row serializes").split(',').map(column).collect()
}

/// The schema whose header this is, with its columns: the present one, or the one before, whose rows are read too.
#[must_use]
pub(super) fn known(names: &StringRecord) -> Option<(u64, Vec<Column>)> {
    let all = columns();
    let older: Vec<_> =
        all.iter().filter(|column| !SINCE_SCHEMA_3.contains(&column.name.as_str())).cloned().collect();
    let is_header =
        |columns: &Vec<Column>| names.iter().eq(columns.iter().map(|column| column.name.as_str()));
    [(SCHEMA, all), (2, older)].into_iter().find(|(_, columns)| is_header(columns))
}

/// Each field of a row under its column: text, a number, or null for unknown.
#[must_use]
pub fn fields(row: &Measurement) -> Vec<(Column, Value)> {
    let mut values = serde_json::to_value(row).expect("a row serializes");
    let field = |column: Column| {
        let value = values[&column.name].take();
        (column, value)
    };
    columns().into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_what_its_field_is() {
        let columns = columns();
        let is_text =
            |name: &str| columns.iter().find(|column| column.name == name).map(|found| found.is_text);
        for name in ["run_id", "started_utc", "verified", "warnings", "filesystem"] {
            assert_eq!(is_text(name), Some(true), "{name}");
        }
        for name in ["schema", "round", "rate_per_s", "ns_per_op", "cores"] {
            assert_eq!(is_text(name), Some(false), "{name}");
        }
        assert_eq!(is_text("nothing"), None);
    }

    #[test]
    fn fields_stand_under_their_columns() {
        let row = Measurement { round: 3, ops: Some(4), host: "lab".into(), ..Measurement::default() };
        let value =
            |name: &str| fields(&row).into_iter().find(|(column, _)| column.name == name).map(|(_, v)| v);
        assert_eq!(value("round"), Some(3.into()));
        assert_eq!(value("ops"), Some(4.into()));
        assert_eq!(value("requests"), Some(Value::Null));
        assert_eq!(value("host"), Some("lab".into()));
    }
}
