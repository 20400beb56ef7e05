//! What to know before trusting a row. Pure: a row in, sentences out.

use crate::{
    ledger::{EVENTS_MAX, Tally},
    measurement::Measurement,
};

/// TigerBeetle writes a checkpoint every so many requests (`vsr_checkpoint_ops` of 0.16.78), which
/// can stall it for a second: a sample with few of them may have missed it.
const REQUESTS_PER_CHECKPOINT: u64 = 960;
const CHECKPOINTS_MIN: u64 = 2;
/// One hundredth of all CPU time.
const STEAL_PERMILLE_MAX: u64 = 10;
/// Of the cores that the client's threads can fill.
const CLIENT_SHARE_PERMILLE_MAX: u64 = 900;
/// Half a process, or a tenth of one for each core, is what an idle machine's own services take.
const LOAD_PCT_MAX: u64 = 50;
const LOAD_PCT_MAX_A_CORE: u64 = 10;

/// A row's warnings, from what is in it. None has a comma, which is between them.
#[must_use]
pub fn of(row: &Measurement) -> Vec<String> {
    [saturated(row), checkpoints(row), steal(row), client(row), frequency(row), load(row)]
        .into_iter()
        .flatten()
        .collect()
}

/// What a sample's requests brought about beside their answers.
#[must_use]
pub fn of_tally(tally: Tally) -> Vec<String> {
    let counts = [
        (tally.retries, "retries by the server"),
        (tally.early_releases, "transfers could be read before they were on disk"),
    ];
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

/// Where the messages were not counted, it is the least that they can have been: calls that wait for the same client are
/// sent as one message, as many as it holds, and at worst each message has all that are in flight.
fn checkpoints(row: &Measurement) -> Option<String> {
    let in_flight = u64::from(row.clients) * u64::from(row.in_flight);
    let fit = EVENTS_MAX as u64 / u64::from(row.batch).max(1);
    let coalesced = in_flight.min(fit).max(1);
    let messages = row.messages.or(row.requests.map(|requests| requests / coalesced))?;
    let crossed = messages / REQUESTS_PER_CHECKPOINT;
    let is_few = row.system == "tigerbeetle" && crossed < CHECKPOINTS_MIN;
    let least = if row.messages.is_none() && coalesced > 1 { " for certain" } else { "" };
    is_few.then(|| format!("crossed {crossed} TigerBeetle checkpoints{least}"))
}

/// What never began has no latency.
fn saturated(row: &Measurement) -> Option<String> {
    let (backlog, offered) = (row.backlog_ops?, row.offered_ops?);
    (row.saturated == "yes").then(|| {
        format!("saturated: {backlog} of {offered} ops that were due had not begun at the end and are in no latency")
    })
}

fn steal(row: &Measurement) -> Option<String> {
    let permille = row.cpu_steal_permille.filter(|&permille| permille > STEAL_PERMILLE_MAX)?;
    Some(format!("the hypervisor took {permille} thousandths of the CPU time"))
}

/// A ledger in memory and a floor are the client.
fn client(row: &Measurement) -> Option<String> {
    let (permille, cores) = (row.client_cpu_permille?, row.cores?);
    // Of the other load generators pgbench alone is told to use several threads.
    let is_single = row.generator == "peer" && row.system != "postgres";
    let clients = if is_single { 1 } else { u64::from(row.clients) };
    let threads = clients.min(row.client_cores.unwrap_or(cores));
    let is_busy = permille * cores > CLIENT_SHARE_PERMILLE_MAX * threads;
    let is_server_s = !["memory", "machine"].contains(&row.system.as_str());
    (is_busy && is_server_s)
        .then(|| format!("the client itself is out of CPU: {permille} thousandths of {cores} cores"))
}

/// Others let the CPU rest, and it needs time to be fast again.
fn frequency(row: &Measurement) -> Option<String> {
    let is_steady = row.cpu_governor.is_empty() || row.cpu_governor == "performance";
    (!is_steady).then(|| format!("the CPU's frequency moves: its governor is {}", row.cpu_governor))
}

/// What was busy before the run may have been so during it.
fn load(row: &Measurement) -> Option<String> {
    let bearable_pct = LOAD_PCT_MAX.max(row.cores? * LOAD_PCT_MAX_A_CORE);
    let pct = row.load_before_pct.filter(|&pct| pct > bearable_pct)?;
    Some(format!("the machine was busy before the run (load {}.{:02})", pct / 100, pct % 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(system: &str) -> Measurement {
        Measurement {
            system: system.into(),
            clients: 1,
            in_flight: 1,
            batch: 1,
            load_before_pct: Some(50),
            cpu_governor: "performance".into(),
            requests: Some(2 * 960),
            cores: Some(4),
            cpu_steal_permille: Some(10),
            client_cpu_permille: Some(225),
            ..Measurement::default()
        }
    }

    #[test]
    fn a_sound_row_has_none() {
        for system in ["tigerbeetle", "redis", "memory"] {
            assert_eq!(of(&row(system)), [""; 0]);
        }
        assert_eq!(of(&Measurement::default()), [""; 0], "what is unknown warns of nothing");
    }

    #[test]
    fn what_a_server_did_besides_is_counted() {
        assert_eq!(of_tally(Tally::default()), [""; 0]);
        assert_eq!(
            of_tally(Tally { retries: 1, early_releases: 32 }),
            ["1 retries by the server", "32 transfers could be read before they were on disk"]
        );
    }

    #[test]
    fn few_checkpoints_are_told_of_tigerbeetle_alone() {
        let few = |system: &str| of(&Measurement { requests: Some(2 * 960 - 1), ..row(system) });
        assert_eq!(few("tigerbeetle"), ["crossed 1 TigerBeetle checkpoints"]);
        assert_eq!(few("redis"), [""; 0]);
    }

    #[test]
    fn calls_that_may_have_been_one_message_count_once() {
        let crossed = |clients, in_flight, batch| {
            let row = Measurement {
                clients,
                in_flight,
                batch,
                requests: Some(64 * 960),
                cores: None,
                ..row("tigerbeetle")
            };
            of(&row).concat()
        };
        assert_eq!(crossed(8, 4, 1), "", "two at least");
        assert_eq!(crossed(64, 1, 1), "crossed 1 TigerBeetle checkpoints for certain");
        assert_eq!(crossed(64, 1, 8_189), "", "a batch that fills a message is one");
        assert_eq!(crossed(64, 1, 200), "crossed 1 TigerBeetle checkpoints for certain");
    }

    #[test]
    fn messages_that_were_counted_decide_whatever_was_in_flight() {
        let crossed = |messages| {
            let (clients, requests, cores) = (64, Some(64 * 960), None);
            let row =
                Measurement { clients, requests, cores, messages: Some(messages), ..row("tigerbeetle") };
            of(&row).concat()
        };
        assert_eq!(crossed(2 * 960), "");
        assert_eq!(crossed(2 * 960 - 1), "crossed 1 TigerBeetle checkpoints");
    }

    #[test]
    fn a_frequency_that_moves_and_a_busy_machine_are_told() {
        let told = |change: fn(&mut Measurement)| {
            let mut row = row("redis");
            change(&mut row);
            of(&row).concat()
        };
        assert_eq!(
            told(|row| row.cpu_governor = "performance powersave".into()),
            "the CPU's frequency moves: its governor is performance powersave"
        );
        assert_eq!(told(|row| row.cpu_governor.clear()), "");
        let busy = "the machine was busy before the run (load 0.51)";
        assert_eq!(told(|row| row.load_before_pct = Some(51)), busy);
        assert_eq!(
            told(
                |row| (row.load_before_pct, row.cores, row.client_cpu_permille) = (Some(640), Some(64), None)
            ),
            ""
        );
    }

    #[test]
    fn what_never_began_is_told_where_it_is_much() {
        let row = |saturated: &str| Measurement {
            offered_ops: Some(900),
            backlog_ops: Some(70),
            saturated: saturated.into(),
            ..row("redis")
        };
        let told = "saturated: 70 of 900 ops that were due had not begun at the end and are in no latency";
        assert_eq!(of(&row("yes")), [told]);
        assert_eq!(of(&row("no")), [""; 0]);
    }

    #[test]
    fn stolen_time_is_told() {
        let row = Measurement { cpu_steal_permille: Some(11), ..row("redis") };
        assert_eq!(of(&row), ["the hypervisor took 11 thousandths of the CPU time"]);
    }

    #[test]
    fn a_client_at_its_limit_is_told_by_the_cores_that_it_can_fill() {
        let busy = |system: &str, clients, permille| {
            !of(&Measurement { clients, client_cpu_permille: Some(permille), ..row(system) }).is_empty()
        };
        assert!(busy("redis", 1, 226) && !busy("redis", 2, 226) && busy("redis", 2, 451));
        assert!(busy("redis", 64, 901) && !busy("redis", 64, 900));
        assert!(!busy("memory", 1, 1_000) && !busy("machine", 1, 1_000), "they are the client");
        let peer = |system: &str| {
            let row = Measurement {
                clients: 64,
                generator: "peer".into(),
                client_cpu_permille: Some(226),
                ..row(system)
            };
            !of(&row).is_empty()
        };
        assert!(peer("redis") && !peer("postgres"), "one thread of four cores is full");
        let pinned = |permille| {
            let row = Measurement {
                clients: 64,
                client_cores: Some(2),
                client_cpu_permille: Some(permille),
                ..row("redis")
            };
            !of(&row).is_empty()
        };
        assert!(pinned(451) && !pinned(450));
    }
}
