//! What spreadsheets are given, and what they give back: the rows that samples leave, files that were saved.

use std::fs;

use common::{Bench, stderr};
use ledger_bench::measurement::faults;

mod common;

const SHORT: &str = "--system memory --rounds 1 --warmup 1ms --ops 50 --clients 3 --host lab-7";

/// A row of each case, as lines of the file, below its header.
fn measured() -> (Bench, Vec<String>) {
    let bench = Bench::new();
    for line in bench.plan(SHORT) {
        let output = bench.sample(&line, &[]).output().expect("it runs");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    let text = fs::read_to_string(bench.csv()).expect("written");
    assert!(text.ends_with('\n') && !text.contains('\r'));
    let lines = text.lines().skip(1).map(String::from).collect();
    (bench, lines)
}

#[test]
fn no_row_of_a_sample_is_misread_by_a_spreadsheet() {
    let (bench, lines) = measured();
    assert_eq!(lines.len(), bench.rows().len());
    for line in lines {
        assert_eq!(faults(&line), [""; 0], "{line}");
    }
}

#[test]
fn a_label_that_a_spreadsheet_takes_for_a_date_is_wrong_input() {
    let bench = Bench::new();
    let words = ["plan", "--csv", "results.csv", "--system", "memory", "--host", "dec-1"];
    let output = bench.command(&words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("no date such as dec-1") && output.stdout.is_empty());
}

/// As a spreadsheet saves it where the comma is for decimals.
fn with_semicolons(text: &str) -> String {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut builder = csv::WriterBuilder::new();
    let mut writer = builder.delimiter(b';').terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for record in reader.records() {
        writer.write_record(&record.expect("a record")).expect("written");
    }
    String::from_utf8(writer.into_inner().expect("flushed")).expect("text")
}

#[test]
fn a_file_that_a_spreadsheet_saved_is_reported_alike_and_not_appended_to() {
    let (bench, _) = measured();
    let report = |name: &str| {
        let output = bench.command(&["report", name]).output().expect("it runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let saved = format!("\u{feff}{}", with_semicolons(&fs::read_to_string(bench.csv()).expect("written")));
    let path = bench.csv().with_file_name("saved.csv");
    fs::write(&path, &saved).expect("written");
    assert_eq!(report("saved.csv"), report("results.csv"));

    let plan = ["plan", "--csv", "saved.csv", "--system", "memory"];
    let line = bench.plan(SHORT).remove(0);
    for words in [&plan[..], &["run", "--csv", "saved.csv", &line]] {
        let output = bench.command(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(
            told.contains("saved.csv is left as it is: a spreadsheet saved it, with a byte order"),
            "{told}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    assert_eq!(fs::read_to_string(&path).expect("there"), saved);
}

#[test]
fn a_workbook_goes_to_a_file_and_nowhere_else() {
    let (bench, _) = measured();
    let report = |words: &[&str]| {
        let words = [&["report", "results.csv", "--format"], words].concat();
        bench.command(&words).output().expect("it runs")
    };
    let twin = bench.csv().with_file_name("twin.xlsx");
    fs::hard_link(bench.csv(), &twin).expect("linked");
    // The kernel's terminal maker is a terminal itself.
    for (words, why) in [
        (&["xlsx"][..], "--output <FILE>"),
        (&["xlsx", "--output", "/dev/ptmx"], "/dev/ptmx is left as it is: it is a terminal"),
        (&["xlsx", "--output", "results.csv"], "results.csv is left as it is: the rows are read from it"),
        (&["xlsx", "--output", "twin.xlsx"], "twin.xlsx is left as it is: the rows are read from it"),
        (&["csv", "--output", "./results.csv"], "results.csv is left as it is: the rows are read from it"),
    ] {
        let before = fs::read(bench.csv()).expect("there");
        let output = report(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why) && output.stdout.is_empty(), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(fs::read(bench.csv()).expect("there") == before);
    }
    let output = report(&["xlsx", "--output", "report.xlsx"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    let book = fs::read(bench.csv().with_file_name("report.xlsx")).expect("written");
    assert!(book.starts_with(b"PK"));
    let output = report(&["csv"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 1 + bench.rows().len(), "one round is a line a case: {text}");
}
