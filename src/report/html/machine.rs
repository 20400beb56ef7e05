//! The machines, as tables: what is known of each, and how it was used.

use std::collections::BTreeSet;

use super::escaped;
use crate::{
    machine::Machine,
    report::analysis::{Analysis, Series},
};

/// A section for each, named as the series' distinctions name it.
pub fn sections(analysis: &Analysis) -> String {
    let section = |(place, machine): (usize, &Machine)| {
        let name = match analysis.machines.len() {
            1 => "The machine".to_owned(),
            _ => format!("Machine {}", place + 1),
        };
        let used: Vec<&Series> = all_series(analysis).filter(|series| series.machine == place).collect();
        let own = [("kept on cores", pinned(&used)), ("load before the run", load(analysis, &used))];
        let own = own.into_iter().filter(|(_, value)| !value.is_empty());
        let lines: String = machine.known().into_iter().chain(own).map(line).collect();
        format!(
            "<section>\n<h2>{name}</h2>\n<div class=\"wide\"><table class=\"machine\">\n{lines}</table></div>\n</section>\n"
        )
    };
    analysis.machines.iter().enumerate().map(section).collect()
}

fn all_series(analysis: &Analysis) -> impl Iterator<Item = &Series> {
    let calibrated = analysis.calibration.iter().flat_map(|calibration| &calibration.cases);
    analysis.cases.iter().chain(calibrated).flat_map(|case| &case.series)
}

fn line((name, value): (&str, String)) -> String {
    format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escaped(&value))
}

/// `1 for the server, 1 for the client`, for each way in which the cores were shared out.
fn pinned(used: &[&Series]) -> String {
    let ways: BTreeSet<_> =
        used.iter().filter_map(|series| series.server_cores.zip(series.client_cores)).collect();
    let words =
        ways.into_iter().map(|(server, client)| format!("{server} for the server, {client} for the client"));
    words.collect::<Vec<_>>().join("; ")
}

/// `0.12`, or of several runs from the lowest to the highest: `0.12-0.50`.
fn load(analysis: &Analysis, used: &[&Series]) -> String {
    let rounds = used.iter().flat_map(|series| &series.rounds);
    let run_ids: BTreeSet<&str> = rounds.map(|round| round.run_id.as_str()).collect();
    let runs = analysis.runs.iter().filter(|run| run_ids.contains(run.run_id.as_str()));
    let loads: BTreeSet<u64> = runs.filter_map(|run| run.load_before_pct).collect();
    let ends: BTreeSet<_> = loads.first().into_iter().chain(loads.last()).collect();
    let words = ends.into_iter().map(|pct| format!("{}.{:02}", pct / 100, pct % 100));
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measurement::Measurement,
        report::{analyze, samples},
    };

    #[test]
    fn how_the_machine_was_used_is_told_where_it_is_known() {
        let of = |run_id: &str, load_before_pct, pinned: Option<u64>| Measurement {
            run_id: run_id.into(),
            load_before_pct,
            server_cores: pinned,
            client_cores: pinned,
            ..samples::row("basic", "redis", 1, 1)
        };
        let plain = sections(&analyze(&[of("a", None, None)], false));
        assert!(plain.contains(">The machine</h2>") && plain.contains(">AMD EPYC</td>"), "{plain}");
        assert!(!plain.contains("kept on") && !plain.contains("load"), "{plain}");
        let told = sections(&analyze(&[of("a", Some(5), Some(1)), of("b", Some(120), Some(1))], false));
        assert!(told.contains(">1 for the server, 1 for the client</td>"), "{told}");
        assert!(told.contains(">0.05-1.20</td>"), "{told}");
        let one = sections(&analyze(&[of("a", Some(5), None)], false));
        assert!(one.contains(">0.05</td>"), "{one}");
    }

    #[test]
    fn machines_are_numbered_as_in_the_lines() {
        let other = Measurement { cpu: "Ryzen".into(), ..samples::row("basic", "redis", 1, 1) };
        let told = sections(&analyze(&[samples::row("basic", "redis", 1, 1), other], false));
        assert!(told.contains(">Machine 1</h2>") && told.contains(">Machine 2</h2>"), "{told}");
    }
}
