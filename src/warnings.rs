//! What to know before trusting a row. Pure: a row in, sentences out.

use crate::measurement::Measurement;

/// TigerBeetle writes a checkpoint every so many requests (`vsr_checkpoint_ops` of 0.16.78), which
/// can stall it for a second: a sample with few of them may have missed it.
const REQUESTS_PER_CHECKPOINT: u64 = 960;
const CHECKPOINTS_MIN: u64 = 2;
/// One hundredth of all CPU time.
const STEAL_PERMILLE_MAX: u64 = 10;
/// Of the cores that the client's threads can fill.
const CLIENT_SHARE_PERMILLE_MAX: u64 = 900;

/// A row's warnings, from what is in it.
#[must_use]
pub fn of(row: &Measurement) -> Vec<String> {
    [checkpoints(row), steal(row), client(row)].into_iter().flatten().collect()
}

fn checkpoints(row: &Measurement) -> Option<String> {
    // Requests of callers that share a client coalesce, so this is the most.
    let crossed = row.requests? / REQUESTS_PER_CHECKPOINT;
    let is_few = row.system == "tigerbeetle" && crossed < CHECKPOINTS_MIN;
    is_few.then(|| format!("crossed {crossed} TigerBeetle checkpoints at most"))
}

fn steal(row: &Measurement) -> Option<String> {
    let permille = row.cpu_steal_permille.filter(|&permille| permille > STEAL_PERMILLE_MAX)?;
    Some(format!("the hypervisor took {permille} thousandths of the CPU time"))
}

/// A ledger in memory is the client.
fn client(row: &Measurement) -> Option<String> {
    let (permille, cores) = (row.client_cpu_permille?, row.cores?);
    let threads = u64::from(row.clients).min(cores);
    let is_busy = permille * cores > CLIENT_SHARE_PERMILLE_MAX * threads;
    (is_busy && row.system != "memory")
        .then(|| format!("the client itself is out of CPU: {permille} thousandths of {cores} cores"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(system: &str) -> Measurement {
        Measurement {
            system: system.into(),
            clients: 1,
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
    fn few_checkpoints_are_told_of_tigerbeetle_alone() {
        let few = |system: &str| of(&Measurement { requests: Some(2 * 960 - 1), ..row(system) });
        assert_eq!(few("tigerbeetle"), ["crossed 1 TigerBeetle checkpoints at most"]);
        assert_eq!(few("redis"), [""; 0]);
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
        assert!(!busy("memory", 1, 1_000), "it is the client");
    }
}
