//! What Redis counts of its log, from INFO's section on persistence.
//!
//! It counts no syncs: `appendfsync always` syncs once for each pass of its event loop that wrote, whose number it does not
//! tell (7.0); `aof_delayed_fsync` and the latency monitor know the slow ones alone.

use std::collections::HashMap;

use crate::ledger::Counters;

/// The log's size stands for what was written to it but while it is written anew, and for two moments only if it was
/// not between them: see [`Counters::since`].
pub fn read(info: &HashMap<String, String>) -> Counters {
    let count = |name: &str| info.get(name)?.trim().parse().ok();
    let is_at_rest = count("aof_enabled") == Some(1)
        && count("aof_rewrite_in_progress") == Some(0)
        && count("aof_rewrite_scheduled") == Some(0);
    Counters {
        syncs: None,
        log_bytes: count("aof_current_size").filter(|_| is_at_rest),
        checkpoints: None,
        rewrites: count("aof_rewrites"),
        snapshots: count("rdb_saves"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_log_at_rest_tells_its_size() {
        let told = |in_progress| {
            read(&info(&[
                ("aof_enabled", "1"),
                ("aof_rewrite_in_progress", in_progress),
                ("aof_rewrite_scheduled", "0"),
                ("aof_rewrites", "3"),
                ("rdb_saves", "2"),
                ("aof_current_size", "4711\r"),
            ]))
        };
        let expected =
            Counters { log_bytes: Some(4_711), rewrites: Some(3), snapshots: Some(2), ..Counters::default() };
        assert_eq!(told("0"), expected);
        assert_eq!(told("1"), Counters { log_bytes: None, ..expected });
    }

    #[test]
    fn without_a_log_or_an_answer_nothing_is_told() {
        assert_eq!(read(&info(&[("aof_enabled", "0"), ("aof_current_size", "7")])), Counters::default());
        assert_eq!(read(&HashMap::new()), Counters::default());
    }
}
