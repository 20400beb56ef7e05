//! What a line must keep to so that no spreadsheet, of whatever locale, reads anything else in it; pure.

use super::{
    columns::{Column, columns},
    lookalike::is_lookalike,
};

/// A spreadsheet's numbers are doubles, shown with as many digits.
pub(super) const DIGITS_MAX: usize = 15;

/// What is wrong with a row, as it is written: a sentence for each field that a spreadsheet would rewrite or split.
/// Empty where nothing is. The line may have its LF.
#[must_use]
pub fn faults(line: &str) -> Vec<String> {
    faults_under(&columns(), line)
}

/// The same of a line of any other table.
#[must_use]
pub fn faults_under(columns: &[Column], line: &str) -> Vec<String> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let Some(Ok(record)) = reader.records().next() else { return vec!["is no line of fields".into()] };
    if record.len() != columns.len() {
        return vec![format!("has {} fields for {} columns", record.len(), columns.len())];
    }
    let fields = columns.iter().zip(&record);
    let mut faults: Vec<String> = fields.filter_map(|(column, value)| fault(column, value)).collect();
    let quoted: Vec<String> = record.iter().map(quoted).collect();
    if quoted.join(",") != line {
        faults.push(
            "has a field that is not quoted where it holds , ; \" tab CR or LF, or is quoted elsewhere"
                .into(),
        );
    }
    faults
}

/// As a field that no spreadsheet splits: `;` and tab separate fields in some of them.
fn quoted(field: &str) -> String {
    if field.contains([',', ';', '"', '\t', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn fault(column: &Column, value: &str) -> Option<String> {
    let why = if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        "is not one line of ASCII"
    } else if !column.is_text {
        why_no_number(value)?
    } else if column.name == "started_utc" {
        (!value.is_empty() && !is_time(value)).then_some("is no time such as 2026-11-30 20:15:30")?
    } else {
        is_lookalike(value).then_some("is a number, a date, a truth value or a formula to a spreadsheet")?
    };
    Some(format!("{}: {value:?} {why}", column.name))
}

/// Why a field is no number that may stand in a row; `None` where it is one, or blank.
pub(super) fn why_no_number(value: &str) -> Option<&'static str> {
    const SEPARATORS: &str = "., '\u{a0}\u{202f}\u{2019}";
    let is_made_of = |more: &str| value.chars().all(|c| c.is_ascii_digit() || more.contains(c));
    let has_digit = value.contains(|c: char| c.is_ascii_digit());
    if is_made_of("") {
        let is_padded = value.len() > 1 && value.starts_with('0');
        return if value.len() > DIGITS_MAX {
            Some("has more digits than the 15 that a spreadsheet keeps")
        } else {
            is_padded.then_some("begins with a 0, which a spreadsheet drops")
        };
    }
    Some(if has_digit && is_made_of(SEPARATORS) {
        "has a separator, of thousands or of decimals"
    } else if has_digit && value.contains(['e', 'E']) && is_made_of(".,eE+-") {
        "has an exponent, and was rounded"
    } else {
        "is no whole number"
    })
}

/// `2026-11-30 20:15:30`: Excel takes it for a time, LibreOffice computes with it.
fn is_time(text: &str) -> bool {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    text.chars().map(shape).eq("0000-00-00 00:00:00".chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Measurement, SCHEMA, csv_lines, plain_text, utc_text};
    use proptest::{prelude::*, test_runner::RngSeed};

    fn line(row: &Measurement) -> String {
        csv_lines(std::slice::from_ref(row), false).expect("serializes")
    }

    #[test]
    fn the_rows_that_were_published_have_none() {
        let text = include_str!("../../results/reference.csv");
        let mut lines = text.lines();
        let named: Vec<String> = lines.next().expect("a header").split(',').map(String::from).collect();
        // Of an older schema, perhaps: the kinds of the columns that are still there.
        let is_text = |name: &String| columns().iter().all(|column| column.name != *name || column.is_text);
        let columns: Vec<Column> =
            named.iter().map(|name| Column { name: name.clone(), is_text: is_text(name) }).collect();
        assert!(lines.clone().count() > 100);
        for line in lines {
            assert_eq!(faults_under(&columns, line), [""; 0], "{line}");
        }
    }

    #[test]
    fn each_fault_is_told_with_its_column() {
        let told = |change: fn(&mut Measurement)| {
            let mut row = Measurement { schema: SCHEMA, ..Measurement::default() };
            change(&mut row);
            faults(&line(&row)).join("; ")
        };
        assert_eq!(told(|_| ()), "");
        for text in ["7e12345", "1-2", "=1", "TRUE", "10:30", "1.5", "\tx"] {
            let row = Measurement { host: text.into(), ..Measurement::default() };
            assert!(faults(&line(&row)).join("; ").starts_with(&format!("host: {text:?} is ")), "{text}");
        }
        assert_eq!(
            told(|row| row.ops = Some(1_000_000_000_000_000)),
            "ops: \"1000000000000000\" has more digits than the 15 that a spreadsheet keeps"
        );
        assert_eq!(told(|row| row.ops = Some(999_999_999_999_999)), "");
        assert_eq!(told(|row| row.cpu = "Caf\u{e9}".into()), "cpu: \"Caf\u{e9}\" is not one line of ASCII");
        assert!(told(|row| row.warnings = "a\nb".into()).starts_with("warnings: \"a\\nb\" is not one line"));
        assert!(told(|row| row.warnings = "a; b".into()).contains("not quoted where it holds"));
        assert_eq!(told(|row| row.warnings = "a, \"b\"".into()), "");
        assert!(told(|row| row.started_utc = "30.11.2026 20:15".into()).contains("is no time such as"));
        assert_eq!(told(|row| row.started_utc = "2026-11-30 20:15:30".into()), "");
    }

    #[test]
    fn a_line_of_another_form_is_none_of_ours() {
        let whole = line(&Measurement { schema: 1, ..Measurement::default() });
        assert_eq!(faults(&whole), [""; 0]);
        assert!(faults("").join("").contains("no line of fields"));
        assert!(faults(&format!("{},\n", whole.trim_end())).join("").contains("fields for"));
        assert!(faults(&whole.replace('\n', "\r\n")).join("").contains("not quoted"));
        assert!(faults(&whole.replacen("1,", "\"1\",", 1)).join("").contains("quoted elsewhere"));
        assert!(faults(&whole.replacen("1,", "01,", 1)).join("").contains("schema: \"01\" begins with a 0"));
        assert!(faults(&whole.replacen("1,", "1.0,", 1)).join("").contains("separator"));
    }

    /// Any text at all, and such as spreadsheets rewrite.
    fn text() -> impl Strategy<Value = String> {
        const PARTS: [&str; 19] = [
            "1", "7", "e", "-", "/", ":", ".", "+", "=", "@", "\t", " ", ";", ",", "\"", "Dec", "AM", "TRUE",
            "\u{e9}",
        ];
        let mixed =
            prop::collection::vec(prop::sample::select(&PARTS[..]), 0..7).prop_map(|parts| parts.concat());
        let any = prop::collection::vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect());
        prop_oneof![mixed, any]
    }

    fn number() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![Just(None), (0..=999_999_999_999_999_u64).prop_map(Some)]
    }

    /// The same choices each time, and no file of those that failed.
    fn config() -> ProptestConfig {
        let rng_seed = RngSeed::Fixed(7);
        ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn whatever_is_made_plain_has_no_fault(
            texts in prop::collection::vec(text(), 8),
            numbers in prop::collection::vec(number(), 4),
            started_unix_s in 0..253_402_300_800_u64,
            (round, clients) in any::<(u32, u32)>(),
        ) {
            let plain: Vec<String> = texts.iter().map(|text| plain_text(text)).collect();
            let row = Measurement {
                schema: SCHEMA,
                started_utc: utc_text(started_unix_s),
                started_unix_s, round, clients,
                ops: numbers[0], elapsed_ns: numbers[1], latency_ns_max: numbers[2], memory_mib: numbers[3],
                run_id: plain[0].clone(), warnings: plain[1].clone(), server_version: plain[2].clone(),
                client_version: plain[3].clone(), server_settings: plain[4].clone(), host: plain[5].clone(),
                cpu: plain[6].clone(), filesystem: plain[7].clone(),
                ..Measurement::default()
            };
            prop_assert_eq!(faults(&line(&row)), [""; 0]);
        }
    }
}
