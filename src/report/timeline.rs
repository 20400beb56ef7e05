//! What happened inside samples, set beside the figures that were made of them; pure.

use super::{
    analysis::{Analysis, Moment, Series, Timeline},
    analyze::style,
    case::CaseKey,
};
use crate::measurement::{Measurement, SeriesLine};

/// One sample's intervals.
struct Sample<'a> {
    row: Measurement,
    lines: &'a [SeriesLine],
}

/// Gives each series the last of its samples that are in `lines`, which may hold others'.
pub fn add_timelines(analysis: &mut Analysis, lines: &[SeriesLine]) {
    // The intervals of a sample stand together: they are written at once.
    let samples = lines.chunk_by(|a, b| a.interval < b.interval && a.sample() == b.sample());
    let samples: Vec<Sample> = samples.map(|lines| Sample { row: lines[0].sample(), lines }).collect();
    for case in &mut analysis.cases {
        let of_case: Vec<_> = samples.iter().filter(|sample| CaseKey::of(&sample.row) == case.key).collect();
        for series in &mut case.series {
            series.timeline = of_case.iter().rev().find_map(|sample| timeline(series, sample));
        }
    }
}

/// `None` where the sample is none of the series'.
fn timeline(series: &Series, Sample { row, lines }: &Sample) -> Option<Timeline> {
    let (run_id, round) = (&row.run_id, row.round);
    let is_of_series = (series.system.as_str(), series.style.as_str()) == (&row.system, style(row))
        && series.rounds.iter().any(|kept| (&kept.run_id, kept.round) == (run_id, round));
    let moments = || lines.iter().map(moment).collect();
    is_of_series.then(|| Timeline { run_id: run_id.clone(), round, moments: moments() })
}

fn moment(line: &SeriesLine) -> Moment {
    Moment {
        start_ms: line.start_ms,
        transfers_per_s: line.transfers_per_s,
        latency_ns_p99: line.latency_ns_p99,
        checkpoints: line.checkpoints,
        rewrites: line.rewrites,
        snapshots: line.snapshots,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{analyze, samples};

    /// Intervals of a round of `basic`, at these transfers/s.
    fn lines(system: &str, round: u32, rates_per_s: &[u64]) -> Vec<SeriesLine> {
        let line = |(interval, &rate_per_s): (u64, &u64)| SeriesLine {
            run_id: "run-1".into(),
            round,
            suite: "seed".into(),
            benchmark: "basic".into(),
            system: system.into(),
            durability: "shipped".into(),
            clients: 1,
            in_flight: 1,
            batch: 1,
            accounts: 2,
            arrivals: "closed".into(),
            interval,
            start_ms: (interval - 1) * 1_000,
            transfers_per_s: Some(rate_per_s),
            ..SeriesLine::default()
        };
        (1..).zip(rates_per_s).map(line).collect()
    }

    /// What `redis` and `postgres` got, as round and transfers/s.
    fn found(lines: &[SeriesLine]) -> [Option<(u32, Vec<u64>)>; 2] {
        let mut rows = samples::rows("basic", "redis", &[100, 110, 120]);
        rows.extend(samples::rows("basic", "postgres", &[100, 110, 120]));
        let mut analysis = analyze(&rows, false);
        add_timelines(&mut analysis, lines);
        ["redis", "postgres"].map(|system| {
            let series = analysis.cases[0].series.iter().find(|series| series.system == system)?;
            let timeline = series.timeline.as_ref()?;
            let rates_per_s = timeline.moments.iter().filter_map(|moment| moment.transfers_per_s).collect();
            Some((timeline.round, rates_per_s))
        })
    }

    #[test]
    fn each_system_gets_its_last_round() {
        let all = [
            lines("redis", 1, &[5, 6]),
            lines("postgres", 2, &[1]),
            lines("redis", 2, &[7, 8, 9]),
            lines("tigerbeetle", 2, &[3]),
        ];
        assert_eq!(found(&all.concat()), [Some((2, vec![7, 8, 9])), Some((2, vec![1]))]);
    }

    #[test]
    fn a_sample_that_stands_after_its_like_is_one_of_its_own() {
        let all = [lines("redis", 1, &[5, 6]), lines("redis", 1, &[7])];
        assert_eq!(found(&all.concat())[0], Some((1, vec![7])));
    }

    #[test]
    fn another_case_s_run_s_or_style_s_lines_are_nobody_s() {
        let changes: [fn(&mut SeriesLine); 5] = [
            |line| line.round = 4,
            |line| line.run_id = "run-2".into(),
            |line| line.rtt_us = Some(1_000),
            |line| line.clients = 2,
            |line| line.style = "interactive".into(),
        ];
        for change in changes {
            let mut all = lines("redis", 1, &[5]);
            change(&mut all[0]);
            assert_eq!(found(&all), [None, None]);
        }
    }
}
