//! One system's rows of a case to its figures; pure.

use std::collections::{BTreeMap, BTreeSet};

use super::analysis::{Latencies, OpenLoop, Round, Series, Warning};
use crate::{
    measurement::Measurement,
    stats::rounds::{drift, median, median_interval, outliers, spread},
};

/// Wall time over ops of a verified row, exact where the row has both. `None` for a row that counts in no figure.
#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
pub(super) fn time_ns(row: &Measurement) -> Option<f64> {
    let exact = row.elapsed_ns.zip(row.ops).filter(|&(_, ops)| ops > 0);
    let exact = exact.map(|(elapsed_ns, ops)| elapsed_ns as f64 / ops as f64);
    let rounded = row.ns_per_op.map(|ns_per_op| ns_per_op as f64);
    exact.or(rounded).filter(|_| row.is_verified())
}

/// The times of its rounds, each with what its partner in another series has too.
pub(super) fn keyed_times(series: &Series) -> Vec<((String, u32), f64)> {
    series.rounds.iter().map(|round| ((round.run_id.clone(), round.round), round.ns_per_op)).collect()
}

/// `rows`: of one machine, with one set of versions and settings; at least one. `style`, and what tells it from others;
/// `planned`: rounds by run.
pub(super) fn series(
    mut rows: Vec<&Measurement>,
    (style, distinction): (&str, String),
    machine: usize,
    planned: &BTreeMap<&str, usize>,
) -> Series {
    rows.sort_by_key(|row| (row.started_unix_s, row.round));
    let rounds: Vec<Round> = rows.iter().map(|row| round(row)).collect();
    let times: Vec<f64> = rounds.iter().map(|round| round.ns_per_op).collect();
    let runs: BTreeSet<&str> = rows.iter().map(|row| row.run_id.as_str()).collect();
    let first = rows[0];
    Series {
        system: first.system.clone(),
        distinction,
        style: style.into(),
        machine,
        server_version: first.server_version.clone(),
        client_version: first.client_version.clone(),
        generator: first.generator.clone(),
        server_settings: first.server_settings.clone(),
        server_cores: first.server_cores,
        client_cores: first.client_cores,
        replicas: first.replicas,
        rounds_planned: runs.iter().filter_map(|run_id| planned.get(run_id)).sum(),
        ns_per_op: median(&times).expect("a series has a row"),
        ns_per_op_interval: median_interval(&times),
        transfers_per_s: median_of(&rounds, |round| round.transfers_per_s),
        latency_ns: latencies(&rounds),
        open_loop: open_loop(&rows),
        spread: spread(&times),
        outliers: outliers(&times),
        drift: drift(&times),
        is_fastest: false,
        to_fastest: None,
        tigerbeetle_to_this: None,
        requests_per_op: per_op(&rows, |row| row.requests),
        commits_per_op: per_op(&rows, |row| row.commits),
        transfers_per_message: quotient_of(&rows, message_transfers),
        commits_per_sync: quotient_of(&rows, synced_commits),
        disk_bytes_per_transfer: quotient_of(&rows, growth),
        floor: None,
        timeline: None,
        warnings: warnings(&rows),
        rounds,
    }
}

fn open_loop(rows: &[&Measurement]) -> Option<OpenLoop> {
    rows[0].rate_per_s?;
    Some(OpenLoop {
        saturated_rounds: rows.iter().filter(|row| row.saturated == "yes").count(),
        late_ops: median_of(rows, |row| row.late_ops),
        backlog_ops: median_of(rows, |row| row.backlog_ops),
    })
}

/// The sum of one count over that of another, of all rows together; `None` where a row does not tell.
fn quotient_of(rows: &[&Measurement], counts: fn(&Measurement) -> Option<[f64; 2]>) -> Option<f64> {
    let counts: Option<Vec<[f64; 2]>> = rows.iter().map(|row| counts(row)).collect();
    let [of, by] =
        counts?.into_iter().fold([0.0; 2], |sums, counts| [sums[0] + counts[0], sums[1] + counts[1]]);
    (by > 0.0).then_some(of / by)
}

/// Transfers, and the messages that they came in.
#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
fn message_transfers(row: &Measurement) -> Option<[f64; 2]> {
    let messages = row.messages? as f64;
    Some([row.message_transfers_mean_permille? as f64 / 1_000.0 * messages, messages])
}

/// Commits and syncs, of warm-up and sample: the syncs of either are not known by themselves.
#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
fn synced_commits(row: &Measurement) -> Option<[f64; 2]> {
    let (commits, ops, warmup_ops) = (row.commits? as f64, row.ops? as f64, row.warmup_ops? as f64);
    (ops > 0.0).then_some([commits * (1.0 + warmup_ops / ops), row.syncs? as f64])
}

/// Bytes on the disk and transfers that came to be there meanwhile.
#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
fn growth(row: &Measurement) -> Option<[f64; 2]> {
    let bytes = row.disk_bytes_after?.checked_sub(row.disk_bytes_before?)?;
    Some([bytes as f64, row.stored_after?.checked_sub(row.stored_before?)? as f64])
}

/// Of all rows together; `None` where one does not tell.
#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
fn per_op(rows: &[&Measurement], count: fn(&Measurement) -> Option<u64>) -> Option<f64> {
    let counts: Option<u64> = rows.iter().map(|row| count(row)).sum();
    let ops: Option<u64> = rows.iter().map(|row| row.ops).sum();
    ops.filter(|&ops| ops > 0).zip(counts).map(|(ops, count)| count as f64 / ops as f64)
}

fn round(row: &Measurement) -> Round {
    Round {
        run_id: row.run_id.clone(),
        round: row.round,
        started_unix_s: row.started_unix_s,
        ops: row.ops,
        ns_per_op: time_ns(row).expect("only rows with a time come here"),
        transfers_per_s: row.transfers_per_s,
        latency_ns: Latencies {
            min: row.latency_ns_min,
            mean: row.latency_ns_mean,
            p50: row.latency_ns_p50,
            p90: row.latency_ns_p90,
            p99: row.latency_ns_p99,
            p999: row.latency_ns_p999,
            max: row.latency_ns_max,
        },
    }
}

fn latencies(rounds: &[Round]) -> Latencies<f64> {
    Latencies {
        min: median_of(rounds, |round| round.latency_ns.min),
        mean: median_of(rounds, |round| round.latency_ns.mean),
        p50: median_of(rounds, |round| round.latency_ns.p50),
        p90: median_of(rounds, |round| round.latency_ns.p90),
        p99: median_of(rounds, |round| round.latency_ns.p99),
        p999: median_of(rounds, |round| round.latency_ns.p999),
        max: median_of(rounds, |round| round.latency_ns.max),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a row's numbers have 15 digits at most")]
fn median_of<T>(rounds: &[T], figure: fn(&T) -> Option<u64>) -> Option<f64> {
    let known: Vec<f64> = rounds.iter().filter_map(figure).map(|value| value as f64).collect();
    median(&known)
}

fn warnings(rows: &[&Measurement]) -> Vec<Warning> {
    let mut by_text: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, row) in rows.iter().enumerate() {
        for text in row.warnings.split(", ").filter(|text| !text.is_empty()) {
            by_text.entry(text).or_default().push(position);
        }
    }
    by_text.into_iter().map(|(text, rounds)| Warning { text: text.to_owned(), rounds }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_rounds_are_summed_before_they_are_divided() {
        let row = |messages, mean_permille| Measurement {
            messages: Some(messages),
            message_transfers_mean_permille: Some(mean_permille),
            ..Measurement::default()
        };
        let (one, two) = (row(1, 8_000), row(3, 4_000));
        assert_eq!(quotient_of(&[&one, &two], message_transfers), Some(5.0));
        assert_eq!(quotient_of(&[&one, &Measurement::default()], message_transfers), None);
    }

    #[test]
    fn syncs_are_of_the_warm_up_s_commits_too() {
        let row = |syncs| Measurement {
            ops: Some(100),
            warmup_ops: Some(50),
            commits: Some(200),
            syncs: Some(syncs),
            ..Measurement::default()
        };
        assert_eq!(quotient_of(&[&row(30)], synced_commits), Some(10.0));
        assert_eq!(quotient_of(&[&row(0)], synced_commits), None, "nothing was synced");
    }

    #[test]
    fn what_shrank_or_stored_nothing_tells_no_bytes_of_a_transfer() {
        let row = |disk_bytes_after, stored_after| Measurement {
            disk_bytes_before: Some(1_000),
            disk_bytes_after: Some(disk_bytes_after),
            stored_before: Some(10),
            stored_after: Some(stored_after),
            ..Measurement::default()
        };
        let found = |row: Measurement| quotient_of(&[&row], growth);
        assert_eq!(
            [found(row(2_500, 15)), found(row(900, 15)), found(row(2_500, 10))],
            [Some(300.0), None, None]
        );
    }
}
