//! The report as a workbook: the summary, charts, the rows themselves, and what to know beside them; pure.

use anyhow::{Context, Result};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, FormatAlign, Workbook, Worksheet};
use serde_json::Value as Json;

use super::{
    Analysis,
    summary::{self, Value},
    table,
};
use crate::measurement::{self, Measurement};

mod charts;

/// The sheets, from left to right.
pub const SHEETS: [&str; 4] = ["summary", "charts", "rows", "notes"];

/// The file's bytes, the same for the same rows. `analysis`: of these rows.
pub fn render(rows: &[Measurement], analysis: &Analysis) -> Result<Vec<u8>> {
    let mut workbook = Workbook::new();
    let mut properties = DocProperties::new().set_title("ledger-bench");
    // Of the rows, not of the moment of writing.
    if let Some(row) = rows.first() {
        properties = properties.set_creation_datetime(&moment(row.started_unix_s)?);
    }
    workbook.set_properties(&properties);
    let [summary, charts, rows_name, notes] = SHEETS;
    summary_sheet(add(&mut workbook, summary)?, analysis)?;
    charts::sheet(add(&mut workbook, charts)?, analysis)?;
    rows_sheet(add(&mut workbook, rows_name)?, rows)?;
    notes_sheet(add(&mut workbook, notes)?, analysis)?;
    Ok(workbook.save_to_buffer()?)
}

/// A sheet that prints one page wide.
fn add<'a>(workbook: &'a mut Workbook, name: &str) -> Result<&'a mut Worksheet> {
    Ok(workbook.add_worksheet().set_name(name)?.set_landscape().set_print_fit_to_pages(1, 0))
}

fn moment(unix_s: u64) -> Result<ExcelDateTime> {
    Ok(ExcelDateTime::from_timestamp(i64::try_from(unix_s)?)?)
}

/// A heading over each column, which stays in sight, and filters.
fn headings<'a>(sheet: &mut Worksheet, names: impl Iterator<Item = &'a str>, lines: usize) -> Result<()> {
    let bold = Format::new().set_bold().set_text_wrap().set_align(FormatAlign::Top);
    let mut end = 0;
    for (column, name) in (0..).zip(names) {
        sheet.write_string_with_format(0, column, name, &bold)?;
        end = column;
    }
    sheet.set_freeze_panes(1, 0)?;
    sheet.autofilter(0, 0, u32::try_from(lines)?, end)?;
    Ok(())
}

/// As wide as what stands in the column, within reason.
fn width(sheet: &mut Worksheet, column: u16, longest: usize) -> Result<()> {
    const NARROWEST: usize = 9;
    const WIDEST: usize = 32;
    sheet.set_column_width(column, u16::try_from(longest.clamp(NARROWEST, WIDEST) + 2)?)?;
    Ok(())
}

fn summary_sheet(sheet: &mut Worksheet, analysis: &Analysis) -> Result<()> {
    let columns = summary::columns();
    let lines: Vec<_> = summary::lines(analysis).collect();
    headings(sheet, columns.iter().map(|column| column.heading), lines.len())?;
    for (place, column) in (0..).zip(&columns) {
        let mut longest = column.heading.split(' ').map(str::len).max().unwrap_or_default();
        for (row, line) in (1..).zip(&lines) {
            let value = (column.value)(line);
            if let Value::Text(text) = &value {
                longest = longest.max(text.len());
            }
            write(sheet, row, place, &value)?;
        }
        width(sheet, place, longest)?;
    }
    Ok(())
}

/// A number as it is, shown as short as it is of use.
fn write(sheet: &mut Worksheet, row: u32, column: u16, value: &Value) -> Result<()> {
    let shown = |format: &str| Format::new().set_num_format(format);
    match value {
        Value::Blank => return Ok(()),
        Value::Text(text) => sheet.write_string(row, column, text)?,
        Value::Count(count) => sheet.write_number(row, column, number(*count))?,
        Value::Figure(figure) => sheet.write_number_with_format(row, column, *figure, &shown("#,##0"))?,
        Value::Share(share) => sheet.write_number_with_format(row, column, *share, &shown("0.0%"))?,
        Value::Ratio(ratio) => sheet.write_number_with_format(row, column, *ratio, &shown("0.00"))?,
    };
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Each row under the names of its columns, numbers as numbers, the moment as one.
fn rows_sheet(sheet: &mut Worksheet, rows: &[Measurement]) -> Result<()> {
    let time = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss");
    // All digits: Excel's general format shows 12 and more as a power of ten.
    let whole = Format::new().set_num_format("0");
    let columns = measurement::columns();
    let mut longest: Vec<usize> = columns.iter().map(|column| column.name.len()).collect();
    headings(sheet, columns.iter().map(|column| column.name.as_str()), rows.len())?;
    for (line, row) in (1..).zip(rows) {
        for (place, (column, value)) in (0..).zip(measurement::fields(row)) {
            let longest = &mut longest[usize::from(place)];
            match value {
                Json::String(_) if column.name == "started_utc" && row.started_unix_s > 0 => {
                    let moment = moment(row.started_unix_s)?;
                    sheet.write_datetime_with_format(line, place, &moment, &time)?;
                    *longest = "2026-11-30 20:15:30".len();
                }
                Json::String(text) if !text.is_empty() => {
                    *longest = text.len().max(*longest);
                    sheet.write_string(line, place, text)?;
                }
                Json::Number(count) => {
                    let count = count.as_u64().context("a column of numbers holds another kind")?;
                    sheet.write_number_with_format(line, place, number(count), &whole)?;
                }
                _ => {}
            }
        }
    }
    (0..).zip(longest).try_for_each(|(place, longest)| width(sheet, place, longest))
}

/// What the table says around its grid, a sentence a cell.
fn notes_sheet(sheet: &mut Worksheet, analysis: &Analysis) -> Result<()> {
    let page = table::page(analysis);
    let notes = page.notes.into_iter().flat_map(|notes| [notes.title].into_iter().chain(notes.lines));
    let lines = page.alarms.into_iter().chain([page.subject]).chain(notes);
    for (row, line) in (0..).zip(lines) {
        sheet.write_string(row, 0, line)?;
    }
    sheet.set_column_width(0, 120)?;
    Ok(())
}

#[cfg(test)]
mod tests;
