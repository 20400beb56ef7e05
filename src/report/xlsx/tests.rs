use std::io::{Cursor, Read};

use calamine::{Data, Range, Reader, Xlsx};

use super::*;
use crate::report::{analyze, samples};

/// What a run leaves, with moments, and words and numbers that are hard on a spreadsheet.
fn run() -> Vec<Measurement> {
    let mut rows = samples::run();
    for (index, row) in (0..).zip(&mut rows) {
        row.started_unix_s = 1_796_069_730 + index;
        row.started_utc = measurement::utc_text(row.started_unix_s);
        row.server_settings = "save=, maxmemory=0".into();
    }
    rows[0].elapsed_ns = Some(999_999_999_999_999);
    rows[0].warnings = "=1+2 <&> \"quoted\"".into();
    rows[2].git_revision = "7e12345".into();
    rows
}

fn opened(bytes: &[u8]) -> Xlsx<Cursor<&[u8]>> {
    Xlsx::new(Cursor::new(bytes)).expect("a workbook")
}

fn sheet(bytes: &[u8], name: &str) -> Range<Data> {
    opened(bytes).worksheet_range(name).expect("the sheet")
}

fn cell(range: &Range<Data>, row: usize, column: usize) -> Data {
    let place = (u32::try_from(row).expect("fits"), u32::try_from(column).expect("fits"));
    range.get_value(place).cloned().unwrap_or(Data::Empty)
}

/// A part of the file as text.
fn part(bytes: &[u8], name: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip");
    let mut text = String::new();
    archive.by_name(name).expect("a part").read_to_string(&mut text).expect("XML");
    text
}

#[test]
fn every_cell_of_the_rows_is_the_row_s() {
    let rows = run();
    let range = sheet(&render(&rows, &analyze(&rows, false)).expect("made"), "rows");
    let columns = measurement::columns();
    assert_eq!(range.get_size(), (rows.len() + 1, columns.len()));
    for (place, column) in columns.iter().enumerate() {
        assert_eq!(cell(&range, 0, place), Data::String(column.name.clone()));
    }
    for (line, row) in rows.iter().enumerate() {
        for (place, (column, value)) in measurement::fields(row).into_iter().enumerate() {
            let shown = cell(&range, line + 1, place);
            let expected = match value {
                Json::String(text) if column.name == "started_utc" => {
                    let Data::DateTime(moment) = shown else { panic!("{shown:?} is no moment") };
                    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
                    let told = format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
                    assert_eq!(told, text);
                    continue;
                }
                Json::String(text) if text.is_empty() => Data::Empty,
                Json::String(text) => Data::String(text),
                Json::Number(count) => Data::Float(count.as_f64().expect("a number")),
                _ => Data::Empty,
            };
            assert_eq!(shown, expected, "{} of row {line}", column.name);
        }
    }
    // No moment is known of the predecessor's figures.
    let unknown = [samples::row("basic", "redis", 1, 1)];
    let range = sheet(&render(&unknown, &analyze(&unknown, false)).expect("made"), "rows");
    assert_eq!(cell(&range, 1, 2), Data::String(unknown[0].started_utc.clone()));
}

#[test]
fn every_cell_of_the_summary_is_the_analysis_s() {
    let rows = run();
    let analysis = analyze(&rows, false);
    let range = sheet(&render(&rows, &analysis).expect("made"), "summary");
    let series: Vec<_> = analysis.cases.iter().flat_map(|case| &case.series).collect();
    let columns = summary::columns();
    assert_eq!(range.height(), series.len() + 1);
    for (place, column) in columns.iter().enumerate() {
        assert_eq!(cell(&range, 0, place), Data::String(column.heading.into()));
        for (row, line) in summary::lines(&analysis).enumerate() {
            let expected = match (column.value)(&line) {
                Value::Blank => Data::Empty,
                Value::Text(text) => Data::String(text),
                Value::Count(count) => Data::Float(number(count)),
                Value::Figure(figure) | Value::Share(figure) | Value::Ratio(figure) => Data::Float(figure),
            };
            assert_eq!(cell(&range, row + 1, place), expected, "{} of line {row}", column.name);
        }
    }
    // And by hand, not by way of the columns.
    let place = |name: &str| columns.iter().position(|column| column.name == name).expect("a column");
    for (row, series) in series.iter().enumerate() {
        assert_eq!(cell(&range, row + 1, place("system")), Data::String(series.system.clone()));
        assert_eq!(cell(&range, row + 1, place("ns_per_op")), Data::Float(series.ns_per_op));
        let ratio = series.to_fastest.map_or(Data::Empty, |ratio| Data::Float(ratio.value));
        assert_eq!(cell(&range, row + 1, place("to_fastest_permille")), ratio);
    }
}

#[test]
fn charts_show_the_medians_of_each_benchmark() {
    let rows = run();
    let analysis = analyze(&rows, false);
    let bytes = render(&rows, &analysis).expect("made");
    let range = sheet(&bytes, "charts");
    let mut top = 0;
    for (number, case) in (1..).zip(&analysis.cases) {
        let title = format!("seed {}, median time/op in ns", case.key.benchmark);
        top = (top..range.height())
            .find(|&row| cell(&range, row, 0) == Data::String(title.clone()))
            .expect(&title);
        assert_eq!(cell(&range, top + 1, 0), Data::String(case.label.clone()));
        for (column, series) in (1..).zip(&case.series) {
            assert_eq!(cell(&range, top, column), Data::String(series.system.clone()));
            assert_eq!(cell(&range, top + 1, column), Data::Float(series.ns_per_op));
        }
        let chart = part(&bytes, &format!("xl/charts/chart{number}.xml"));
        for wanted in [
            "<c:barDir val=\"bar\"/>",
            "<c:logBase val=\"10\"/>",
            "time/op in ns, logarithmic",
            "<a:t>case</a:t>",
            &format!("<a:t>seed {}: median time per op</a:t>", case.key.benchmark),
            &format!("<c:f>charts!$B${}</c:f>", top + 1),
            &format!("<c:f>charts!$B${}</c:f>", top + 2),
            &format!("<c:f>charts!$A${}</c:f>", top + 2),
        ] {
            assert!(chart.contains(wanted), "{wanted}: {chart}");
        }
        assert_eq!(chart.matches("<c:ser>").count(), case.series.len());
    }
    assert!(part(&bytes, "xl/charts/chart1.xml").contains("<c:min val=\"100000\"/>"), "below 118,500 ns");
    assert_eq!(analysis.cases.len(), 2);
}

#[test]
fn a_system_has_its_place_in_every_chart() {
    let row = |(durability, system): (&str, &str)| Measurement {
        durability: durability.into(),
        ..samples::row("basic", system, 1, 5)
    };
    let rows = [("shipped", "redis"), ("os-cache", "redis"), ("os-cache", "tigerbeetle")].map(row);
    let range = sheet(&render(&rows, &analyze(&rows, false)).expect("made"), "charts");
    let (redis, tigerbeetle) = (Data::String("redis".into()), Data::String("tigerbeetle".into()));
    assert_eq!(
        (cell(&range, 0, 1), cell(&range, 0, 2)),
        (tigerbeetle, redis),
        "though the first case has one alone"
    );
    assert_eq!((cell(&range, 1, 1), cell(&range, 1, 2)), (Data::Empty, Data::Float(5.0)));
    assert_eq!((cell(&range, 2, 1), cell(&range, 2, 2)), (Data::Float(5.0), Data::Float(5.0)));
}

#[test]
fn headings_stay_in_sight_and_filter() {
    let rows = run();
    let bytes = render(&rows, &analyze(&rows, false)).expect("made");
    for (sheet, lines) in [(1, 5), (3, rows.len())] {
        let text = part(&bytes, &format!("xl/worksheets/sheet{sheet}.xml"));
        assert!(text.contains("state=\"frozen\"") && text.contains("ySplit=\"1\""), "{text}");
        let filter = text.split_once("<autoFilter ref=\"A1:").expect("a filter").1;
        let end = filter.split_once('"').expect("a range").0;
        assert_eq!(end.trim_start_matches(|c: char| c.is_ascii_uppercase()), (lines + 1).to_string());
    }
}

#[test]
fn the_notes_stand_beside_the_figures() {
    let rows = run();
    let range = sheet(&render(&rows, &analyze(&rows, false)).expect("made"), "notes");
    let told: Vec<String> = range.rows().map(|row| row[0].to_string()).collect();
    assert!(told.iter().any(|line| line.starts_with("Run run-1, 21 samples")), "{told:?}");
    assert!(told.iter().any(|line| line.ends_with("redis: 10 too low")), "the failed one: {told:?}");
}

#[test]
fn nothing_measured_is_a_workbook_too_and_the_same_rows_are_the_same_file() {
    let failed = [Measurement { verified: "no".into(), ..samples::row("basic", "redis", 1, 1) }];
    let bytes = render(&failed, &analyze(&failed, false)).expect("made");
    assert_eq!(opened(&bytes).sheet_names(), SHEETS);
    assert_eq!(sheet(&bytes, "summary").height(), 1);
    assert!(bytes == render(&failed, &analyze(&failed, false)).expect("made"));
    let made = ">1970-01-01T00:00:00Z</dcterms:created>";
    assert!(part(&bytes, "docProps/core.xml").contains(made), "of the rows' time, not of now");
}
