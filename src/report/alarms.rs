//! What differs between rows that are set side by side, and ought to be alike; pure.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{CaseKey, is_baseline};
use crate::{machine::Machine, measurement::Measurement, plan::Generator};

/// A sentence for each thing that is not the same in all rows, failed ones included. Blank is
/// unknown, and differs from nothing.
pub(super) fn alarms<'a>(rows: impl IntoIterator<Item = &'a Measurement>) -> Vec<String> {
    let mut seen = Seen::default();
    for row in rows {
        seen.look(row);
    }
    seen.tell()
}

/// Values by what they are values of.
#[derive(Default)]
struct Seen<'a> {
    machine: BTreeMap<&'static str, BTreeSet<String>>,
    versions: BTreeMap<(&'a str, &'static str), BTreeSet<&'a str>>,
    settings: BTreeMap<(CaseKey, &'a str), BTreeSet<&'a str>>,
    /// How cores were shared out, of systems that have a server.
    pins: BTreeSet<String>,
    /// Mostly the same as the next row's.
    last: Option<Machine>,
}

impl<'a> Seen<'a> {
    fn look(&mut self, row: &'a Measurement) {
        let machine = row.machine();
        if self.last.as_ref() != Some(&machine) {
            self.look_at_machine(&machine);
            self.last = Some(machine);
        }
        let system = row.system.as_str();
        let client = if row.generator == Generator::Peer.name() { "load generator" } else { "client" };
        let versions = [
            ((system, "server"), &row.server_version),
            ((system, client), &row.client_version),
            (("ledger-bench", "version"), &row.harness_version),
            (("ledger-bench", "revision"), &row.git_revision),
        ];
        for (of, version) in versions.into_iter().filter(|(_, version)| !version.is_empty()) {
            self.versions.entry(of).or_default().insert(version);
        }
        if !is_baseline(&row.system) && row.cores.is_some() {
            self.pins.insert(match (row.server_cores, row.client_cores) {
                (Some(server), Some(client)) => {
                    format!("{server} for the server and {client} for the client")
                }
                _ => "shared".into(),
            });
        }
        if !row.server_settings.is_empty() {
            self.settings.entry((CaseKey::of(row), system)).or_default().insert(&row.server_settings);
        }
    }

    fn look_at_machine(&mut self, machine: &Machine) {
        for (name, value) in machine.known() {
            self.machine.entry(name).or_default().insert(value);
        }
    }

    fn tell(&self) -> Vec<String> {
        let machine =
            self.machine.iter().filter_map(|(name, values)| Some(format!("{name}: {}", differing(values)?)));
        let machine = machine.collect::<Vec<_>>().join("; ");
        let machine = (!machine.is_empty()).then(|| format!("DIFFERENT MACHINES are compared: {machine}"));
        let version = |(&(name, part), values): (&(&str, &str), &BTreeSet<&str>)| {
            Some(format!("DIFFERENT VERSIONS are compared, {name}'s {part}: {}", differing(values)?))
        };
        let setting = |((case, system), values): (&(CaseKey, &str), &BTreeSet<&str>)| {
            let case = case.label(true);
            Some(format!("DIFFERENT SETTINGS of {system} are compared, {case}: {}", differing(values)?))
        };
        let pins = differing(&self.pins).map(|pins| format!("DIFFERENT USES OF CORES are compared: {pins}"));
        let machine = machine.into_iter().chain(pins);
        let versions = self.versions.iter().filter_map(version);
        machine.chain(versions).chain(self.settings.iter().filter_map(setting)).collect()
    }
}

/// All of them, if they are more than one.
fn differing<T: AsRef<str>>(values: &BTreeSet<T>) -> Option<String> {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    (values.len() > 1).then(|| values.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::row;

    #[test]
    fn cores_that_were_kept_apart_are_told_from_shared_ones() {
        let pinned = |row| Measurement { server_cores: Some(1), client_cores: Some(1), ..row };
        let rows =
            [row("basic", "redis", 1, 1), pinned(row("basic", "redis", 2, 1)), row("basic", "memory", 1, 1)];
        let expected = "DIFFERENT USES OF CORES are compared: 1 for the server and 1 for the client | shared";
        assert_eq!(alarms(&rows), [expected]);
        assert_eq!(alarms(&rows[1..]), [] as [&str; 0], "a ledger in memory has no server");
    }

    #[test]
    fn what_is_alike_or_unknown_raises_no_alarm() {
        let blank = Measurement { cpu: String::new(), cores: None, ..row("basic", "redis", 1, 1) };
        assert_eq!(
            alarms(&[row("basic", "redis", 1, 1), blank, row("basic", "postgres", 2, 7)]),
            [] as [&str; 0]
        );
    }

    #[test]
    fn every_difference_is_named() {
        let told = |change: fn(&mut Measurement)| {
            let rows = ["redis", "redis", "postgres"].map(|system| Measurement {
                host: "a".into(),
                memory_mib: Some(10),
                kernel: "Linux 6".into(),
                filesystem: "ext4".into(),
                server_version: format!("{system} 7"),
                client_version: format!("{system} 1"),
                server_settings: format!("{system}=on"),
                harness_version: "ledger-bench 1".into(),
                git_revision: "g1".into(),
                ..row("basic", system, 1, 1)
            });
            assert_eq!(alarms(&rows), [] as [&str; 0], "systems differ by nature");
            let mut rows = rows;
            change(&mut rows[1]);
            alarms(&rows).join("\n")
        };
        let machine = "DIFFERENT MACHINES are compared: ";
        assert_eq!(told(|row| row.host = "b".into()), format!("{machine}host: a | b"));
        assert_eq!(told(|row| row.cpu = "Ryzen".into()), format!("{machine}cpu: AMD EPYC | Ryzen"));
        assert_eq!(told(|row| row.cores = Some(8)), format!("{machine}cores: 2 | 8"));
        assert_eq!(told(|row| row.memory_mib = Some(20)), format!("{machine}memory in MiB: 10 | 20"));
        assert_eq!(told(|row| row.kernel = "Linux 7".into()), format!("{machine}kernel: Linux 6 | Linux 7"));
        assert_eq!(told(|row| row.filesystem = "xfs".into()), format!("{machine}filesystem: ext4 | xfs"));
        let version = "DIFFERENT VERSIONS are compared, ";
        assert_eq!(
            told(|row| row.server_version = "redis 8".into()),
            format!("{version}redis's server: redis 7 | redis 8")
        );
        assert_eq!(
            told(|row| row.client_version = "redis 2".into()),
            format!("{version}redis's client: redis 1 | redis 2")
        );
        let ours = "ledger-bench 1 | ledger-bench 2";
        assert_eq!(
            told(|row| row.harness_version = "ledger-bench 2".into()),
            format!("{version}ledger-bench's version: {ours}")
        );
        assert_eq!(
            told(|row| row.git_revision = "g2".into()),
            format!("{version}ledger-bench's revision: g1 | g2")
        );
        let settings = "DIFFERENT SETTINGS of redis are compared, seed basic: redis=off | redis=on";
        assert_eq!(told(|row| row.server_settings = "redis=off".into()), settings);
    }

    #[test]
    fn settings_may_differ_from_case_to_case() {
        let of = |benchmark: &str, settings: &str| Measurement {
            server_settings: settings.into(),
            ..row(benchmark, "redis", 1, 1)
        };
        assert_eq!(alarms(&[of("basic", "a"), of("two_phase", "b")]), [] as [&str; 0]);
    }
}
