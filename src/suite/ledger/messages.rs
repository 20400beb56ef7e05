//! Which transfers came in one message, read from the timestamps that they were stored with. Pure.
//!
//! TigerBeetle (0.16.78) gives the transfers of one message consecutive nanoseconds, whoever's calls its client put into
//! it: `StateMachine.prepare` advances the clock by the number of events, and event `i` of `n` gets `timestamp - n + i + 1`.
//! Before that `Replica.primary_pipeline_prepare` has set the clock to the time of day or to one more than it was, whichever
//! is later. So at least one nanosecond lies unused between the transfers of two messages: they never run together, and the
//! count is exact. Look-ups have that nanosecond alone, accounts one each, an expiry (`pulse`) 8,189: gaps only widen.
//! A transfer that was refused would leave a gap inside its message; in a sample that is verified none was.

/// Timestamps are kept for so many transfers at most (128 MiB); of longer samples nothing is told.
const TIMES_MAX: u64 = 1 << 24;

/// How many messages transfers came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Messages.
    pub count: u64,
    /// Transfers in all of them; a hold and its posting are two.
    pub transfers: u64,
    /// Transfers in the largest.
    pub transfers_max: u64,
}

impl Messages {
    /// Counts runs of consecutive values in what rises; none of nothing.
    #[must_use]
    pub fn of(times: &[u64]) -> Option<Self> {
        let runs = times.chunk_by(|before, after| before + 1 == *after);
        let sizes = runs.map(|run| run.len() as u64);
        let (count, transfers_max) =
            sizes.fold((0, 0), |(count, largest), size| (count + 1, size.max(largest)));
        (count > 0).then_some(Self { count, transfers: times.len() as u64, transfers_max })
    }

    /// Thousandths of a transfer a message, rounded.
    #[must_use]
    pub fn transfers_mean_permille(self) -> u64 {
        (self.transfers * 1_000 + self.count / 2) / self.count
    }
}

/// When the transfers of a sample were stored.
pub struct Times {
    /// None where they tell nothing, or are too many.
    kept: Option<Vec<u64>>,
    per_op: u32,
}

impl Times {
    /// Of `ops` ops that stored `per_op` transfers each; it keeps none unless they tell messages.
    pub fn new(tells_messages: bool, per_op: u32, ops: u64) -> Self {
        let is_kept = tells_messages && ops.saturating_mul(per_op.into()) <= TIMES_MAX;
        Self { kept: is_kept.then(Vec::new), per_op }
    }

    /// One more transfer, in any order.
    pub fn add(&mut self, timestamp: u64) {
        if let Some(kept) = &mut self.kept {
            kept.push(timestamp);
        }
    }

    /// Of all but the first `warmup_ops` ops: nothing is in flight when the warm-up ends, so that its transfers are the
    /// oldest, and no message holds some of both.
    pub fn messages_after(self, warmup_ops: u64) -> Option<Messages> {
        let mut times = self.kept?;
        times.sort_unstable();
        let warmup = usize::try_from(warmup_ops * u64::from(self.per_op)).ok()?;
        Messages::of(times.get(warmup..)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(times: &[u64], per_op: u32, warmup_ops: u64) -> Option<Messages> {
        let mut kept = Times::new(true, per_op, times.len() as u64 / u64::from(per_op));
        for &time in times {
            kept.add(time);
        }
        kept.messages_after(warmup_ops)
    }

    #[test]
    fn a_message_is_a_run_of_consecutive_times() {
        let found = messages(&[12, 10, 11, 30, 20, 21, 22, 23, 24], 1, 0).expect("told");
        assert_eq!(found, Messages { count: 3, transfers: 9, transfers_max: 5 });
        assert_eq!(found.transfers_mean_permille(), 3_000);
        assert_eq!(messages(&[u64::MAX - 1, u64::MAX], 1, 0).map(|all| all.count), Some(1));
    }

    #[test]
    fn messages_as_close_as_they_can_be_stay_apart() {
        // The clock at 102 becomes 103 and then 105: 104 and 105, after 100 to 102.
        let found = messages(&[100, 101, 102, 104, 105], 1, 0);
        assert_eq!(found, Some(Messages { count: 2, transfers: 5, transfers_max: 3 }));
    }

    #[test]
    fn the_warm_up_s_are_the_oldest_and_do_not_count() {
        // Two clients' ops of two transfers, one of each before the clock.
        let found = messages(&[1, 2, 8, 9, 4, 5, 10, 11], 2, 2);
        assert_eq!(found, Some(Messages { count: 1, transfers: 4, transfers_max: 4 }));
        assert_eq!(messages(&[1, 2], 1, 2), None, "nothing was measured");
        assert_eq!(messages(&[1, 2], 1, 3), None);
    }

    #[test]
    fn the_mean_is_rounded() {
        let of = |count, transfers| {
            Messages { count, transfers, transfers_max: transfers }.transfers_mean_permille()
        };
        assert_eq!([of(3, 5), of(3, 4), of(1, 8_189)], [1_667, 1_333, 8_189_000]);
    }

    #[test]
    fn too_many_and_those_of_other_systems_are_not_kept() {
        let keeps = |tells, per_op, ops| Times::new(tells, per_op, ops).kept.is_some();
        assert!(keeps(true, 1, TIMES_MAX) && keeps(true, 2, TIMES_MAX / 2));
        assert!(!keeps(true, 1, TIMES_MAX + 1) && !keeps(true, 2, u64::MAX) && !keeps(false, 1, 1));
    }
}
