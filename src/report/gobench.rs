//! Go's benchmark text, which `benchstat` reads: a line a sample. Pure.
//!
//! The format: golang.org/design/14313-benchmark-format. What is the same on a whole machine stands in configuration
//! lines; what tells cases apart stands in the name, as benchstat sets only lines of equal configuration side by side.

use std::fmt::Write;

use super::{
    analysis::{Analysis, Case, Round, Series},
    case::CaseKey,
};
use crate::{machine::Machine, plan::Generator};

/// All verified samples; failed ones have no line.
#[must_use]
pub fn render(analysis: &Analysis) -> String {
    let mut text = String::from("pkg: ledger-bench\nUnit transfers/s better=higher\n");
    let mut shown: Option<usize> = None;
    for case in analysis.all_cases() {
        for series in &case.series {
            let machine = &analysis.machines[series.machine];
            if shown.replace(series.machine) != Some(series.machine) {
                text += &configuration(machine);
            }
            let name = name(case, series, machine);
            for round in &series.rounds {
                let _ = writeln!(text, "{name} {}", figures(round));
            }
        }
    }
    text
}

/// All keys each time, as a blank value takes back the machine's before.
fn configuration(machine: &Machine) -> String {
    let os = machine.kernel.split(' ').next().unwrap_or_default().to_lowercase();
    let fields =
        [("goos", &os), ("cpu", &machine.cpu), ("host", &machine.host), ("filesystem", &machine.filesystem)];
    fields
        .iter()
        .map(|(key, value)| if value.is_empty() { format!("{key}:\n") } else { format!("{key}: {value}\n") })
        .collect()
}

/// `BenchmarkLedger/suite=seed/bench=basic/system=redis-2`, with a setting for each that is not the plainest.
fn name(case: &Case, series: &Series, machine: &Machine) -> String {
    let CaseKey {
        suite,
        benchmark,
        durability,
        clients,
        in_flight,
        batch,
        accounts,
        skew_pct,
        arrivals,
        rate_per_s,
        rtt_us,
        preload,
        transport,
    } = &case.key;
    let mut name = format!(
        "BenchmarkLedger/suite={}/bench={}/system={}",
        word(suite),
        word(benchmark),
        word(&series.system)
    );
    if durability != "shipped" && !durability.is_empty() {
        let _ = write!(name, "/durability={}", word(durability));
    }
    let plainest = [
        ("clients", clients, 1),
        ("in_flight", in_flight, 1),
        ("batch", batch, 1),
        ("accounts", accounts, 2),
        ("skew_pct", skew_pct, 0),
    ];
    for (key, value, _) in plainest.into_iter().filter(|&(_, &value, plain)| value != plain) {
        let _ = if *value == 0 { write!(name, "/{key}=cores") } else { write!(name, "/{key}={value}") };
    }
    for (key, value) in [("rate_per_s", rate_per_s), ("rtt_us", rtt_us), ("preload", preload)] {
        value.map(|value| write!(name, "/{key}={value}"));
    }
    if !arrivals.is_empty() {
        let _ = write!(name, "/arrivals={}", word(arrivals));
    }
    if !transport.is_empty() {
        let _ = write!(name, "/transport={}", word(transport));
    }
    if series.generator == Generator::Peer.name() {
        name += "/generator=peer";
    }
    if !series.distinction.is_empty() {
        let _ = write!(name, "/of={}", word(&series.distinction));
    }
    // Go's suffix is what GOMAXPROCS was.
    name + &machine.cores.map(|cores| format!("-{cores}")).unwrap_or_default()
}

/// Without what would end a name or begin its next part.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c == '/' { '_' } else { c }).collect()
}

fn figures(round: &Round) -> String {
    let mut text = format!("{} {} ns/op", round.ops.unwrap_or(1), number(round.ns_per_op));
    let latency = &round.latency_ns;
    let more = [(round.transfers_per_s, "transfers/s"), (latency.p50, "p50-ns"), (latency.p99, "p99-ns")];
    for (value, unit) in more {
        value.map(|value| write!(text, " {value} {unit}"));
    }
    text
}

/// To a thousandth of a nanosecond, without idle zeros.
fn number(ns: f64) -> String {
    let text = format!("{ns:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measurement::Measurement,
        report::{analyze, samples},
    };

    #[test]
    fn a_line_a_sample() {
        let rows = [
            Measurement {
                ops: Some(3),
                elapsed_ns: Some(1_000),
                transfers_per_s: Some(9),
                latency_ns_p50: Some(7),
                latency_ns_p99: Some(8),
                kernel: "Linux 6.1".into(),
                ..samples::row("basic", "redis", 1, 333)
            },
            Measurement { kernel: "Linux 6.1".into(), ..samples::row("basic", "redis", 2, 400) },
            Measurement {
                durability: "os-cache".into(),
                in_flight: 4,
                accounts: 10_000,
                skew_pct: 99,
                transport: "unix".into(),
                rate_per_s: Some(5),
                rtt_us: Some(6),
                preload: Some(7),
                arrivals: "even".into(),
                cores: None,
                cpu: String::new(),
                host: "lab".into(),
                ..samples::row("basic_batch", "postgres", 1, 500)
            },
            Measurement { verified: "no".into(), ..samples::row("basic", "redis", 3, 1) },
        ];
        let expected = "\
pkg: ledger-bench
Unit transfers/s better=higher
goos: linux
cpu: AMD EPYC
host:
filesystem:
BenchmarkLedger/suite=seed/bench=basic/system=redis-2 3 333.333 ns/op 9 transfers/s 7 p50-ns 8 p99-ns
BenchmarkLedger/suite=seed/bench=basic/system=redis-2 1 400 ns/op
goos:
cpu:
host: lab
filesystem:
BenchmarkLedger/suite=seed/bench=basic_batch/system=postgres/durability=os-cache/in_flight=4/batch=1000/accounts=10000/skew_pct=99/rate_per_s=5/rtt_us=6/preload=7/arrivals=even/transport=unix 1 500 ns/op
";
        assert_eq!(render(&analyze(&rows, false)), expected);
    }

    #[test]
    fn a_run_as_go_s_text() {
        let expected = include_str!("../../tests/snapshots/run.gobench");
        assert_eq!(render(&analyze(&samples::run_with_floor(), false)), expected);
    }

    #[test]
    fn runs_that_are_not_pooled_have_names_of_their_own() {
        let other = Measurement { run_id: "run 2/b".into(), ..samples::row("basic", "redis", 1, 2) };
        let text = render(&analyze(&[samples::row("basic", "redis", 1, 1), other], false));
        assert!(text.contains("/of=run-1-2 1 1 ns/op") && text.contains("/of=run_2_b-2 1 2 ns/op"), "{text}");
    }
}
