//! The summary as CSV, by the rules of the rows: whole numbers with their units in their names, blank for unknown, and
//! no text that a spreadsheet takes for anything else. Pure.

use anyhow::Result;

use super::{
    Analysis,
    summary::{Value, columns, lines},
};
use crate::measurement::plain_text;

/// A header, then a line a case and system; shares and ratios in thousandths, rounded.
pub fn render(analysis: &Analysis) -> Result<String> {
    let columns = columns();
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| column.name))?;
    for line in lines(analysis) {
        writer.write_record(columns.iter().map(|column| field((column.value)(&line))))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn field(value: Value) -> String {
    match value {
        Value::Blank => String::new(),
        Value::Text(text) => plain_text(&text),
        Value::Count(count) => count.to_string(),
        Value::Figure(figure) => format!("{:.0}", figure.round()),
        Value::Share(ratio) | Value::Ratio(ratio) => format!("{:.0}", (ratio * 1_000.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measurement::{Column, Measurement, faults_under},
        report::{analyze, samples},
    };

    /// What each line breaks of the rules of the rows.
    fn faults(analysis: &Analysis) -> Vec<String> {
        let is_text = |name: &str| {
            let column = columns().into_iter().find(|column| column.name == name).expect("a column");
            lines(analysis).any(|line| matches!((column.value)(&line), Value::Text(_)))
        };
        let text = render(analysis).expect("written");
        let (header, rest) = text.split_once('\n').expect("a header");
        let columns: Vec<Column> =
            header.split(',').map(|name| Column { name: name.into(), is_text: is_text(name) }).collect();
        rest.lines().flat_map(|line| faults_under(&columns, line)).collect()
    }

    #[test]
    fn a_run_as_csv() {
        let analysis = analyze(&samples::run(), false);
        assert_eq!(render(&analysis).expect("written"), include_str!("../../tests/snapshots/run.csv"));
        assert_eq!(faults(&analysis), [""; 0]);
    }

    #[test]
    fn words_of_others_are_made_plain() {
        let rows = [
            Measurement { host: "=cmd()".into(), clients: 0, ..samples::row("1/2", "redis", 1, 1) },
            Measurement {
                cpu: "a;b".into(),
                warnings: "\"x\",\ty".into(),
                ..samples::row("TRUE", "redis", 1, 1)
            },
        ];
        let analysis = analyze(&rows, false);
        let text = render(&analysis).expect("written");
        assert_eq!(faults(&analysis), [""; 0]);
        assert!(
            text.contains("cmd()") && !text.contains("=cmd") && text.contains("\"\"\"x\"\", y\""),
            "{text}"
        );
        assert!(text.contains("seed,_1/2,shipped,,1,"), "as many clients as cores are not known: {text}");
    }

    #[test]
    fn numbers_are_whole() {
        for (value, text) in [
            (Value::Figure(828_046.5), "828047"),
            (Value::Share(0.0514), "51"),
            (Value::Ratio(6.9434), "6943"),
            (Value::Count(7), "7"),
            (Value::Blank, ""),
        ] {
            assert_eq!(field(value), text);
        }
    }

    #[test]
    fn nobody_is_the_fastest_of_one() {
        let text = render(&analyze(&samples::rows("basic", "redis", &[1, 2, 3]), false)).expect("written");
        assert!(!text.contains("yes"), "{text}");
    }
}
