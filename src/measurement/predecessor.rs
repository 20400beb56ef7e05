//! The predecessor's table of figures, `benchmark,system,MACHINE_ns_per_op,...`, as rows.
//!
//! A column for each machine (`mac_m4_ns_per_op`) or for each round on one (`go_ns_per_op_r2`); a machine's
//! `..._median` beside its rounds is left out.

use csv::StringRecord;

use super::{Measurement, SCHEMA, read::at};

/// Transfers in the predecessor's batch.
const BATCH: u32 = 1_000;

/// What a column holds: a round on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Figures {
    column: usize,
    machine: String,
    round: u32,
}

/// Whether a file with these columns is such a table.
pub(super) fn is_foreign(names: &StringRecord) -> bool {
    !columns(names).is_empty()
}

/// Empty unless all columns are known.
fn columns(names: &StringRecord) -> Vec<Figures> {
    let mut names_left = names.iter().enumerate();
    if !names_left.by_ref().take(2).map(|(_, name)| name).eq(["benchmark", "system"]) {
        return Vec::new();
    }
    let read: Option<Vec<_>> = names_left.map(|(column, name)| figures(column, name)).collect();
    let mut read = read.unwrap_or_default();
    let has_rounds =
        |machine: &str| read.iter().any(|figures| figures.machine == machine && figures.round > 0);
    let doubled: Vec<bool> =
        read.iter().map(|figures| figures.round == 0 && has_rounds(&figures.machine)).collect();
    let mut doubled = doubled.into_iter();
    read.retain(|_| !doubled.next().unwrap_or_default());
    read
}

/// `NAME_ns_per_op`, `NAME_ns_per_op_median`: round 0; `NAME_ns_per_op_r3`: round 3.
fn figures(column: usize, name: &str) -> Option<Figures> {
    let (machine, rest) = name.split_once("_ns_per_op").filter(|(machine, _)| !machine.is_empty())?;
    let round = match rest {
        "" | "_median" => 0,
        _ => rest.strip_prefix("_r")?.parse().ok().filter(|&round| round > 0)?,
    };
    Some(Figures { column, machine: machine.to_owned(), round })
}

/// Each machine is a run of its own, so that two are never mixed. `records`: those below the header, with a field for each name. A fault comes with its
/// line, and its column where it is of one field.
pub(super) fn rows(
    names: &StringRecord,
    records: impl Iterator<Item = Result<StringRecord, String>>,
) -> Result<Vec<Measurement>, String> {
    let columns = columns(names);
    let mut by_column: Vec<Vec<Measurement>> = vec![Vec::new(); columns.len()];
    for record in records {
        let record = record?;
        for (figures, rows) in columns.iter().zip(&mut by_column) {
            let field = record[figures.column].trim();
            if !field.is_empty() {
                let ns_per_op = field.parse().ok().filter(|&ns_per_op| ns_per_op > 0);
                let ns_per_op = ns_per_op.ok_or_else(|| {
                    let name = &names[figures.column];
                    at(&record, name, field, "is no number of nanoseconds, a whole number above 0")
                })?;
                rows.push(row(&record[0], &record[1], figures, ns_per_op));
            }
        }
    }
    Ok(by_column.into_iter().flatten().collect())
}

/// What the predecessor's sources say of its benchmarks; blank where they do not.
fn row(benchmark: &str, system: &str, figures: &Figures, ns_per_op: u64) -> Measurement {
    Measurement {
        schema: SCHEMA,
        run_id: figures.machine.clone(),
        round: figures.round.max(1),
        suite: "seed".into(),
        benchmark: benchmark.to_owned(),
        system: system.to_owned(),
        durability: "shipped".into(),
        clients: u32::from(benchmark != "basic_parallel"), // 0: as many as cores
        in_flight: 1,
        batch: if benchmark == "basic_batch" { BATCH } else { 1 },
        accounts: 2,
        verified: "yes".into(), // by its own checks
        ns_per_op: Some(ns_per_op),
        host: figures.machine.clone(),
        ..Measurement::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> anyhow::Result<Vec<Measurement>> {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("f.csv");
        std::fs::write(&path, text).expect("written");
        super::super::read(&path)
    }

    fn told(text: &str) -> Vec<(String, u32, String, Option<u64>)> {
        let rows = parsed(text).expect("readable");
        rows.into_iter().map(|row| (row.run_id, row.round, row.benchmark, row.ns_per_op)).collect()
    }

    #[test]
    fn machines_are_runs() {
        let text = "benchmark,system,mac_ns_per_op,amd_ns_per_op\nbasic,redis,10,20\nbasic_batch,redis,30,\n";
        let expected = [("mac", 1, "basic", 10), ("mac", 1, "basic_batch", 30), ("amd", 1, "basic", 20)];
        let expected = expected
            .map(|(run, round, benchmark, ns)| (run.to_owned(), round, benchmark.to_owned(), Some(ns)));
        assert_eq!(told(text), expected);
    }

    #[test]
    fn a_table_that_a_spreadsheet_saved_is_read_too() {
        let text = "benchmark,system,mac_ns_per_op\nbasic,redis,10\n";
        let saved = format!("\u{feff}{}", text.replace(',', ";").replace('\n', ";\r\n"));
        assert_eq!(told(&saved), told(text));
    }

    #[test]
    fn rounds_are_rounds_and_their_median_is_left_out() {
        let text = "benchmark,system,go_ns_per_op_r1,go_ns_per_op_r2,go_ns_per_op_median\r\nbasic_parallel,redis,10,20,15\r\n";
        let expected = [(1, 10), (2, 20)]
            .map(|(round, ns)| ("go".to_owned(), round, "basic_parallel".to_owned(), Some(ns)));
        assert_eq!(told(text), expected);
        let rows = parsed(text).expect("readable");
        assert_eq!((rows[0].clients, rows[0].batch, rows[0].verified.as_str()), (0, 1, "yes"));
        assert_eq!(
            told("benchmark,system,go_ns_per_op_median\nx,y,15\n").len(),
            1,
            "a median alone is a figure"
        );
    }

    #[test]
    fn wrong_tables_are_refused_with_the_place() {
        let refusal = |text: &str| format!("{:#}", parsed(text).expect_err(text));
        let table = "benchmark,system,mac_ns_per_op\nbasic,redis,10\n";
        assert!(refusal(&format!("{table}basic,postgres,fast\n")).ends_with(
            "f.csv: line 3, mac_ns_per_op: \"fast\" is no number of nanoseconds, a whole number above 0"
        ));
        assert!(
            refusal(&format!("{table}basic,postgres,0\n")).contains("line 3, mac_ns_per_op: \"0\" is no")
        );
        assert!(refusal(&format!("{table}basic,postgres\n")).contains("line 3 has 2 fields for 3 columns"));
        for header in [
            "benchmark,system",
            "benchmark,system,mac_ns_per_op,more",
            "system,benchmark,mac_ns_per_op",
            "benchmark,system,_ns_per_op",
        ] {
            assert!(refusal(&format!("{header}\n")).contains("its header is not this program's"), "{header}");
        }
    }
}
