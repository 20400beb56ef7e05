use std::path::PathBuf;

use super::*;
use crate::measurement::{append, header};

/// A row with a field of each kind.
fn a_row(round: u32) -> Measurement {
    Measurement {
        schema: SCHEMA,
        run_id: "20261130T201530Z-3f2a".into(),
        started_utc: "2026-11-30 20:15:30".into(),
        started_unix_s: 1_796_069_730,
        round,
        benchmark: "basic".into(),
        verified: "yes".into(),
        ns_per_op: Some(828_047),
        warnings: "said \"no\", twice".into(),
        server_settings: "fsync=on, jit=on".into(),
        git_revision: "g7e12345".into(),
        ..Measurement::default()
    }
}

/// A file of two rows as this program writes it.
fn written() -> String {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("r.csv");
    for round in 1..=2 {
        append(&path, &a_row(round)).expect("appended");
    }
    fs::read_to_string(path).expect("readable")
}

/// Each field changed, and written down as a spreadsheet does.
fn saved(
    separator: u8,
    quotes: csv::QuoteStyle,
    crlf: bool,
    change: impl Fn(&str, &str) -> String,
) -> String {
    let terminator = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(separator).quote_style(quotes).terminator(terminator);
    let mut writer = builder.from_writer(Vec::new());
    let text = written();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().expect("a header").clone();
    writer.write_record(&names).expect("written");
    for record in reader.records() {
        let record = record.expect("a record");
        writer
            .write_record(names.iter().zip(&record).map(|(name, field)| change(name, field)))
            .expect("written");
    }
    String::from_utf8(writer.into_inner().expect("flushed")).expect("text")
}

fn with(name: &'static str, value: &'static str) -> String {
    let change = |column: &str, field: &str| if column == name { value } else { field }.to_owned();
    saved(b';', csv::QuoteStyle::Necessary, true, change)
}

fn read_text(text: impl AsRef<[u8]>) -> Result<Vec<Measurement>> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path: PathBuf = folder.path().join("r.csv");
    fs::write(&path, text).expect("written");
    read(&path)
}

fn refusal(text: impl AsRef<[u8]>) -> String {
    let error = read_text(text).expect_err("refused");
    assert!(error.downcast_ref::<crate::error::BadInput>().is_some());
    let told = crate::error::one_line(&error);
    told.split_once("r.csv: ").expect("the file is named").1.to_owned()
}

#[test]
fn every_form_that_a_spreadsheet_saves_is_read() {
    let times =
        ["2026-11-30 20:15:30", "30.11.2026 20:15", "2026-11-30 20:15", "11/30/26 8:15 PM", "46356.844", ""];
    for separator in [b',', b';', b'\t'] {
        for quotes in [csv::QuoteStyle::Necessary, csv::QuoteStyle::NonNumeric, csv::QuoteStyle::Always] {
            for time in times {
                let change =
                    |name: &str, field: &str| if name == "started_utc" { time } else { field }.to_owned();
                for crlf in [true, false] {
                    let text = saved(separator, quotes, crlf, change);
                    for mark in ["", "\u{feff}"] {
                        let rows = read_text(format!("{mark}{text}")).expect(&text);
                        assert_eq!(rows, [a_row(1), a_row(2)], "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn blank_columns_and_lines_are_no_fields_and_no_rows() {
    let blank = ";".repeat(columns().len() + 2);
    let text = with("nothing", "").replace("\r\n", ";;;\r\n");
    let lines: Vec<&str> = text.lines().collect();
    let text = format!("{}\r\n{}\r\n{blank}\r\n\r\n{}\r\n{blank}\r\n\r\n", lines[0], lines[1], lines[2]);
    assert_eq!(read_text(text).expect("readable"), [a_row(1), a_row(2)]);
}

#[test]
fn a_field_that_could_be_mistaken_is_named() {
    let separator = "has a separator, of thousands or of decimals: take the file as it was measured, or save";
    for (name, value, why) in [
        ("ns_per_op", "828.047", separator),
        ("ns_per_op", "828,047", separator),
        ("ns_per_op", "828 047", separator),
        ("ns_per_op", "828\u{202f}047", separator),
        ("ns_per_op", "8,28E+05", "has an exponent, and was rounded"),
        ("elapsed_ns", "1,8E+308", "has an exponent, and was rounded"),
        ("ns_per_op", "fast", "is no whole number"),
        ("ns_per_op", "0x10", "is no whole number"),
        ("ns_per_op", "-5", "is no whole number"),
        ("ns_per_op", "+5", "is no whole number"),
        ("ns_per_op", " 5", "has a separator"),
        ("ns_per_op", "1234567890123456", "has more digits than the 15"),
        ("round", "TRUE", "is no whole number"),
        ("round", "", "is blank, and must not be"),
        ("round", "4294967296", "number too large"),
        ("schema", "", "is blank, and must not be"),
        ("verified", "WAHR", "is neither yes nor no"),
        ("verified", "TRUE", "is neither yes nor no"),
        ("verified", "Yes", "is neither yes nor no"),
        ("verified", "", "is neither yes nor no"),
        ("started_unix_s", "253402300800", "is after the year 9999"),
        ("started_unix_s", "30.11.2026", "has a separator"),
    ] {
        let told = refusal(with(name, value));
        assert!(told.starts_with(&format!("line 2, {name}: {value:?} {why}")), "{told}");
    }
}

#[test]
fn a_line_that_is_no_row_is_named() {
    let text = written();
    let lines: Vec<&str> = text.lines().collect();
    let count = columns().len();
    let file = |lines: &[&str]| lines.join("\n") + "\n";
    let [header, one, two] = lines[..] else { panic!("{text}") };
    let cut = &two[..two.len() / 2];
    assert!(refusal(file(&[header, one, cut])).starts_with("line 3 has "));
    assert!(
        refusal(file(&[header, one, cut]))
            .contains(&format!(" fields for {count} columns, as if it was cut off"))
    );
    let split = two.replace("828047", "828,047");
    let why = format!("line 3 has {} fields for {count} columns, as if one of them was split", count + 1);
    assert!(refusal(file(&[header, one, &split])).starts_with(&why), "though its last field is blank");
    let why = why.replacen('3', "2", 1);
    assert!(refusal(file(&[header, &split])).starts_with(&why), "in the only row too");
    assert!(refusal(file(&[header, one, header, two])).starts_with("line 3 is a header again"));
    let other = SCHEMA + 1;
    let newer = format!("{other}{},more", two.trim_start_matches(|c: char| c.is_ascii_digit()));
    let why = format!("line 3, schema: \"{other}\" is not {SCHEMA}, as the header has it");
    assert!(refusal(file(&[header, one, &newer])).starts_with(&why));
}

#[test]
fn a_file_of_other_columns_is_not_read() {
    let header = header().expect("serializes");
    let fewer = header.replace(",filesystem", "");
    let other = SCHEMA + 1;
    for (text, why) in [
        ("name,age\nx,1\n".to_owned(), "its header is not this program's".to_owned()),
        (
            format!("schema\n{other}\n"),
            format!("its rows are of schema {other}, this program writes schema {SCHEMA}"),
        ),
        (
            format!("\u{feff}schema;more\r\n{other};1\r\n"),
            format!("its rows are of schema {other}, this program writes schema {SCHEMA}"),
        ),
        (format!("{fewer}\n"), "its header is not this program's".into()),
        (
            header.replacen("run_id,started_utc", "started_utc,run_id", 1),
            "its header is not this program's".into(),
        ),
        (header.replacen("round", "Runde", 1), "its header is not this program's".into()),
        (String::new(), "holds no header and no rows".into()),
        ("\u{feff}\r\n\r\n".into(), "holds no header and no rows".into()),
    ] {
        assert_eq!(refusal(text), why);
    }
    assert_eq!(read_text(header + "\n").expect("no rows is no fault of a row"), []);
}

#[test]
fn other_encodings_are_refused() {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(written().bytes().flat_map(|byte| [byte, 0])).collect();
    assert_eq!(refusal(wide), "is UTF-16: save it as CSV in UTF-8");
    let latin = written().into_bytes().into_iter().map(|byte| if byte == b'"' { 0xe9 } else { byte });
    assert_eq!(refusal(latin.collect::<Vec<u8>>()), "line 2 is no UTF-8 text: save it as CSV in UTF-8");
    assert!(read(Path::new("/dev/full")).expect_err("no end").to_string().ends_with("is no file"));
    assert!(read(Path::new("/dev")).expect_err("a folder").to_string().ends_with("is no file"));
}

/// A line of `text` with the field under `name` gone, or its header.
fn without(text: &str, names: &[&str]) -> String {
    let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
    let keep = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let kept =
            header.iter().zip(fields).filter(|(name, _)| !names.contains(name)).map(|(_, field)| field);
        kept.collect::<Vec<_>>().join(",") + "\n"
    };
    text.lines().map(keep).collect()
}

#[test]
fn rows_of_the_schema_before_are_read_with_blanks_for_what_it_lacks() {
    let row = Measurement {
        schema: 2,
        verified: "yes".into(),
        rate_per_s: Some(4),
        commits: Some(5),
        latency_ns_max: Some(6),
        filesystem: "ext4".into(),
        ..Measurement::default()
    };
    let now = crate::measurement::csv_lines(std::slice::from_ref(&row), true).expect("written");
    let before = without(&now, &columns::SINCE_SCHEMA_3);
    assert_eq!(rows(before.as_bytes()).expect("read"), [row]);
    let told = rows(before.replacen("\n2,", "\n3,", 1).as_bytes()).expect_err("another schema");
    assert!(told.contains("is not 2, as the header has it"), "{told}");
    let cut = before.trim_end().strip_suffix(",ext4").expect("its last field");
    assert!(rows(cut.as_bytes()).expect_err("cut").contains("it was cut off"));
}
