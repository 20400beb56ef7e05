//! The table at the end of a run, after the predecessor's: a line for each benchmark and system,
//! and how TigerBeetle stands against it.

use std::{collections::BTreeMap, fmt::Write};

use super::units;
use crate::{measurement::Measurement, stats};

/// What makes rows comparable samples of one thing: all but the system and the round.
type Group<'a> = (&'a str, &'a str, &'a str, u32, u32);

fn group(row: &Measurement) -> Group<'_> {
    (&row.suite, &row.benchmark, &row.durability, row.clients, row.batch)
}

/// The rows of one run as a table; rows that failed their checks are listed below it and never
/// averaged in.
#[must_use]
pub fn render(rows: &[Measurement]) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        if !groups.contains(&group(row)) {
            groups.push(group(row));
        }
    }
    groups.sort_unstable();
    let planned = rows.iter().map(|row| row.round as usize).max().unwrap_or(0);
    let mut lines =
        vec![["benchmark", "system", "ns/op", "time/op", "TigerBeetle is", "rounds"].map(String::from)];
    for group in groups {
        lines.extend(group_lines(group, rows, planned));
    }
    let failed: Vec<_> = rows.iter().filter(|row| !row.is_verified()).collect();
    let mut text =
        if lines.len() > 1 { align(&lines) } else { "No sample was measured and found right.\n".into() };
    if !failed.is_empty() {
        let _ = writeln!(text, "\nFailed, and in no figure above:");
        for row in failed {
            let _ =
                writeln!(text, "  round {}  {}  {}  {}", row.round, row.benchmark, row.system, row.warnings);
        }
    }
    text
}

fn group_lines(wanted: Group, rows: &[Measurement], planned: usize) -> Vec<[String; 6]> {
    let mut by_system: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| group(row) == wanted && row.is_verified()) {
        by_system.entry(&row.system).or_default().extend(row.ns_per_op);
    }
    let median = |system: &str| stats::median(by_system.get(system)?);
    let tigerbeetle = median("tigerbeetle");
    // The predecessor's order, then what it did not have.
    let order = |system: &&str| {
        ["tigerbeetle", "redis", "postgres"].iter().position(|known| known == system).unwrap_or(3)
    };
    let mut systems: Vec<&str> = by_system.keys().copied().collect();
    systems.sort_by_key(order);
    let mut name = title(wanted);
    let mut lines = Vec::new();
    for system in systems {
        let Some(ns_per_op) = median(system) else { continue };
        let standing = match tigerbeetle {
            Some(ours) if system != "tigerbeetle" => units::times(ours, ns_per_op),
            _ => String::new(),
        };
        lines.push([
            std::mem::take(&mut name),
            system.to_owned(),
            units::grouped(ns_per_op),
            units::time(ns_per_op),
            standing,
            rounds(by_system[system].len(), planned),
        ]);
    }
    lines
}

/// How many samples the median is of; those that failed or have no row are missing.
fn rounds(measured: usize, planned: usize) -> String {
    if measured == planned { measured.to_string() } else { format!("{measured} of {planned}") }
}

/// The benchmark, and whatever else tells it from its neighbours.
fn title((_, benchmark, _, clients, batch): Group) -> String {
    let mut title = benchmark.to_owned();
    if batch > 1 {
        let _ = write!(title, " of {batch}");
    }
    if clients > 1 {
        let _ = write!(title, ", {clients} clients");
    }
    title
}

/// Columns as wide as their widest field: numbers to the right, text to the left.
fn align(lines: &[[String; 6]]) -> String {
    const TO_THE_RIGHT: [bool; 6] = [false, false, true, true, false, true];
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        if number > 0 && !line[0].is_empty() {
            text.push('\n');
        }
        let mut aligned = String::new();
        for ((field, width), right) in line.iter().zip(widths).zip(TO_THE_RIGHT) {
            let _ = if right {
                write!(aligned, "{field:>width$}   ")
            } else {
                write!(aligned, "{field:<width$}   ")
            };
        }
        text.push_str(aligned.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(benchmark: &str, system: &str, round: u32, ns_per_op: u64) -> Measurement {
        Measurement {
            suite: "seed".into(),
            benchmark: benchmark.into(),
            system: system.into(),
            round,
            clients: if benchmark == "basic_parallel" { 2 } else { 1 },
            batch: if benchmark == "basic_batch" { 1000 } else { 1 },
            ns_per_op: Some(ns_per_op),
            verified: "yes".into(),
            ..Measurement::default()
        }
    }

    #[test]
    fn shows_medians_and_where_tigerbeetle_stands() {
        let failed = Measurement {
            verified: "no".into(),
            warnings: "10 too low".into(),
            ..row("basic", "redis", 2, 1)
        };
        let rows = [
            row("basic_batch", "postgres", 1, 143_643_593),
            row("basic", "redis", 1, 186_726),
            row("basic", "tigerbeetle", 1, 715_147),
            row("basic", "tigerbeetle", 2, 978_682),
            row("basic", "tigerbeetle", 3, 828_047),
            failed,
            row("basic_batch", "tigerbeetle", 1, 3_344_849),
            row("basic_parallel", "redis", 1, 29_445),
        ];
        let expected = "\
benchmark                   system              ns/op   time/op   TigerBeetle is   rounds

basic                       tigerbeetle       828,047    828 us                         3
                            redis             186,726    187 us   4.43x slower     1 of 3

basic_batch of 1000         tigerbeetle     3,344,849   3.34 ms                    1 of 3
                            postgres      143,643,593    144 ms   42.9x faster     1 of 3

basic_parallel, 2 clients   redis              29,445   29.4 us                    1 of 3

Failed, and in no figure above:
  round 2  basic  redis  10 too low
";
        assert_eq!(render(&rows), expected);
    }

    #[test]
    fn nothing_to_show_is_said() {
        assert_eq!(render(&[]), "No sample was measured and found right.\n");
    }

    #[test]
    fn batches_and_clients_are_not_mixed() {
        let sized = |batch, clients, ns_per_op| Measurement {
            clients,
            batch,
            ..row("basic_batch", "redis", 1, ns_per_op)
        };
        let table = render(&[sized(10, 1, 10), sized(1000, 1, 30), sized(10, 2, 50)]);
        let figures: Vec<_> = table.lines().filter(|line| line.starts_with("basic_batch")).collect();
        assert_eq!(figures.len(), 3, "{table}");
        let expected = [("of 10 ", " 10 "), ("of 1000 ", " 30 "), ("of 10, 2 clients", " 50 ")];
        for (line, (title, figure)) in figures.iter().zip(expected) {
            assert!(line.contains(title) && line.contains(figure), "{table}");
        }
    }
}
