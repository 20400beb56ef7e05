//! Rows read back: as they were written, or as a spreadsheet saved them, if what they say cannot be mistaken.

use std::{
    borrow::Cow,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    os::unix::fs::FileTypeExt,
    path::Path,
};

use anyhow::Result;
use csv::StringRecord;

use super::{
    Measurement, SCHEMA, UTC_END_S,
    columns::{self, Column, columns},
    dialect::{self, Header},
    header, predecessor,
    sheet::why_no_number,
    utc_text,
};
use crate::error::bad_input;

/// Far more than a header of ours has.
const HEADER_BYTES_MAX: u64 = 1 << 16;
/// What to do about a field that is not as it was measured.
const HINT: &str = "take the file as it was measured, or save its columns as plain text";

/// All rows of a file, ours or the predecessor's table. A spreadsheet may have saved it: with a byte order mark, CRLF,
/// semicolons or tabs, quotes, blank columns and lines, and `started_utc` in any form, which is made anew from
/// `started_unix_s`. Whatever could be mistaken is wrong input, named with its line and column.
pub fn read(path: &Path) -> Result<Vec<Measurement>> {
    let bad = |why: String| bad_input(format!("{}: {why}", path.display()));
    // A device may have no end.
    if fs::metadata(path).is_ok_and(|kind| kind.file_type().is_char_device() || kind.is_dir()) {
        return Err(bad("is no file".into()));
    }
    if let Some(rows) = untouched(path) {
        return Ok(rows);
    }
    rows(&fs::read(path).map_err(|error| bad(error.to_string()))?).map_err(bad)
}

/// The rows of a file that is as it was written, without holding its text, which is a third of what they take. `None`
/// for any other, which is then looked at as a whole: that says what is odd, and where.
fn untouched(path: &Path) -> Option<Vec<Measurement>> {
    let mut text = BufReader::new(File::open(path).ok()?);
    let mut first = String::new();
    text.by_ref().take(HEADER_BYTES_MAX).read_line(&mut first).ok()?;
    let ours = header().ok()?;
    if first.strip_suffix('\n') != Some(&ours) {
        return None;
    }
    let names = StringRecord::from(ours.split(',').collect::<Vec<_>>());
    let columns = columns();
    let mut records = csv::ReaderBuilder::new().has_headers(false).from_reader(text);
    let mut record = StringRecord::new();
    let mut rows = Vec::new();
    while records.read_record(&mut record).ok()? {
        if record.len() != names.len() {
            return None;
        }
        check_schema(&names, &record, SCHEMA).ok()?;
        rows.push(row(&columns, &names, &record).ok()?);
    }
    (!rows.is_empty()).then_some(rows)
}

fn rows(bytes: &[u8]) -> Result<Vec<Measurement>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| why_no_text(bytes, error.valid_up_to()))?;
    // The csv crate counts a line too few where lines end in CRLF. The others are not copied: there may be many.
    let text =
        if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let is_known = |names: &StringRecord| dialect::is_ours(names) || predecessor::is_foreign(names);
    let Some(header) = dialect::header(&text, is_known) else { return Err(why_foreign(bytes)) };
    let is_blank = |record: &StringRecord| record.iter().all(str::is_empty);
    let records = dialect::records(&text, header.separator).skip(1);
    let records = records.filter(|record| !record.as_ref().is_ok_and(is_blank));
    let (schema, columns) = columns::known(&header.names).unwrap_or_default();
    let mut records =
        records.map(|record| sized(&record.map_err(|error| error.to_string())?, &header, schema));
    if predecessor::is_foreign(&header.names) {
        return predecessor::rows(&header.names, records);
    }
    let now = self::columns::columns();
    let names: StringRecord = now.iter().map(|column| column.name.as_str()).collect();
    records.try_fold(Vec::new(), |mut rows, record| {
        rows.push(row(&now, &names, &widened(record?, &columns, &now))?);
        Ok(rows)
    })
}

/// A record of an older schema with all of today's fields, those that it lacks being blank.
fn widened(record: StringRecord, columns: &[Column], now: &[Column]) -> StringRecord {
    if columns.len() == now.len() {
        return record;
    }
    let mut fields = columns.iter().zip(&record).peekable();
    let mut field =
        |column: &Column| fields.next_if(|(known, _)| *known == column).map_or("", |(_, field)| field);
    let mut wide: StringRecord = now.iter().map(&mut field).collect();
    wide.set_position(record.position().cloned());
    wide
}

fn why_no_text(bytes: &[u8], valid: usize) -> String {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return "is UTF-16: save it as CSV in UTF-8".into();
    }
    let line = 1 + String::from_utf8_lossy(&bytes[..valid]).matches('\n').count();
    format!("line {line} is no UTF-8 text: save it as CSV in UTF-8")
}

fn row(columns: &[Column], names: &StringRecord, record: &StringRecord) -> Result<Measurement, String> {
    for (column, field) in columns.iter().zip(record).filter(|(column, _)| !column.is_text) {
        if let Some(why) = why_no_number(field) {
            return Err(at(record, &column.name, field, &format!("{why}: {HINT}")));
        }
    }
    let row: Measurement =
        record.deserialize(Some(names)).map_err(|error| why_no_row(names, record, &error))?;
    if !["yes", "no"].contains(&row.verified.as_str()) {
        let why = format!("is neither yes nor no: {HINT}");
        return Err(at(record, "verified", &row.verified, &why));
    }
    with_time(row, record)
}

/// The moment is what `started_unix_s` says: spreadsheets rewrite the other column, each locale in its own way.
fn with_time(mut row: Measurement, record: &StringRecord) -> Result<Measurement, String> {
    if row.started_unix_s >= UTC_END_S {
        let field = row.started_unix_s.to_string();
        return Err(at(record, "started_unix_s", &field, "is after the year 9999"));
    }
    if row.started_unix_s > 0 {
        row.started_utc = utc_text(row.started_unix_s);
    }
    Ok(row)
}

/// A record with a field for each name, the blank ones beyond them being dropped.
fn sized(record: &StringRecord, header: &Header, schema: u64) -> Result<StringRecord, String> {
    let (line, names) = (line_of(record), &header.names);
    if record.iter().zip(names).all(|(field, name)| field == name) {
        return Err(format!("line {line} is a header again: give each file by itself"));
    }
    check_schema(names, record, schema)?;
    let cut = dialect::without_blank_end(record, names.len());
    let why = match cut.len() {
        len if len < names.len() => "it was cut off",
        // A field too many that is followed by a blank one would move all between them.
        len if len > names.len() || record.len() > header.width => "one of them was split",
        _ => return Ok(cut),
    };
    let (fields, columns) = (record.len(), header.width);
    Err(format!(
        "line {line} has {fields} fields for {columns} columns, as if {why}: mend it, or take it out"
    ))
}

/// Rows of another version than the header may have more fields, or fewer.
fn check_schema(names: &StringRecord, record: &StringRecord, expected: u64) -> Result<(), String> {
    let field = names.iter().position(|name| name == "schema").and_then(|column| record.get(column));
    match field.map(|field| (field, field.parse::<u64>())) {
        Some((field, Ok(schema))) if schema != expected => {
            let why =
                format!("is not {expected}, as the header has it: keep rows of different versions apart");
            Err(at(record, "schema", field, &why))
        }
        _ => Ok(()),
    }
}

/// A field that cannot be taken, with its place.
pub(super) fn at(record: &StringRecord, name: &str, field: &str, why: &str) -> String {
    format!("line {}, {name}: {field:?} {why}", line_of(record))
}

fn line_of(record: &StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// A number is blank that must not be, or too large for its column.
fn why_no_row(names: &StringRecord, record: &StringRecord, error: &csv::Error) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else { return error.to_string() };
    let column = err.field().and_then(|field| usize::try_from(field).ok()).unwrap_or_default();
    let field = record.get(column).unwrap_or_default();
    let why = if field.is_empty() { "is blank, and must not be".into() } else { err.kind().to_string() };
    at(record, names.get(column).unwrap_or_default(), field, &format!("{why}: {HINT}"))
}

/// Why a file is not one whose rows are read, or that rows are appended to, by how it starts.
pub(super) fn why_foreign(start: &[u8]) -> String {
    let text = String::from_utf8_lossy(start);
    if text.trim_start_matches(dialect::BYTE_ORDER_MARK).trim().is_empty() {
        return "holds no header and no rows".into();
    }
    if let Some(traces) = dialect::traces(&text) {
        return format!("a spreadsheet saved it, with {traces}, and rows are not appended to such");
    }
    match schema(&text) {
        Some(schema) if schema != SCHEMA => {
            format!("its rows are of schema {schema}, this program writes schema {SCHEMA}")
        }
        _ => "its header is not this program's".into(),
    }
}

/// What the first row of any version's file says.
fn schema(text: &str) -> Option<u64> {
    let header = dialect::header(text, |names| names.iter().any(|name| name == "schema"))?;
    let column = header.names.iter().position(|name| name == "schema")?;
    dialect::records(text, header.separator).nth(1)?.ok()?.get(column)?.parse().ok()
}

#[cfg(test)]
mod tests;
