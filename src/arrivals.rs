//! When ops are due at a fixed rate; pure.

use crate::rng::Rng;

/// Keeps the gaps of arrivals apart from the choice of accounts, which has the same seed.
const STREAM: u64 = 1 << 40;

/// Ops that are due in a second, of all clients together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// More than 0.
    pub per_s: u32,
    /// How they are spaced.
    pub spacing: Spacing,
}

/// How arrivals follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Each as long after the one before, the clients taking turns.
    Even,
    /// Independently of each other: each client's are a Poisson process, and so are all together.
    Poisson {
        /// Where its choices start.
        seed: u64,
    },
}

impl Rate {
    /// When the ops of client number `client` (from 0) of `clients` are due. `part`: the warm-up and what is measured
    /// have gaps of their own.
    #[must_use]
    pub fn schedule(self, client: usize, clients: usize, part: u64) -> Schedule {
        let (client, clients) = (client as u64, clients as u64);
        match self.spacing {
            Spacing::Even => Schedule::Even { turn: client, clients, per_s: self.per_s },
            Spacing::Poisson { seed } => Schedule::Poisson {
                gaps: Rng::new(seed, STREAM + client * 2 + part),
                last_ns: 0.0,
                mean_gap_ns: mean_gap_ns(clients, self.per_s),
            },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a thousand clients or so")]
fn mean_gap_ns(clients: u64, per_s: u32) -> f64 {
    clients as f64 * 1e9 / f64::from(per_s)
}

/// The moments at which one client's ops are due, in nanoseconds from its start, rising; without an end.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// See [`Spacing::Even`].
    Even {
        /// The next, counted over all clients.
        turn: u64,
        /// Of all clients.
        clients: u64,
        /// Of all clients together.
        per_s: u32,
    },
    /// See [`Spacing::Poisson`].
    Poisson {
        /// Where gaps come from.
        gaps: Rng,
        /// The last moment.
        last_ns: f64,
        /// Of this client.
        mean_gap_ns: f64,
    },
}

impl Schedule {
    /// The next moment. A gap is `-ln(1 - u)` times their mean, `u` being uniform from 0 to 1 (inversion of the exponential
    /// distribution).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and years at most"
    )]
    pub fn next_ns(&mut self) -> u64 {
        match self {
            Self::Even { turn, clients, per_s } => {
                let due_ns = u128::from(*turn) * 1_000_000_000 / u128::from(*per_s);
                *turn += *clients;
                u64::try_from(due_ns).unwrap_or(u64::MAX)
            }
            Self::Poisson { gaps, last_ns, mean_gap_ns } => {
                *last_ns -= (-gaps.unit()).ln_1p() * *mean_gap_ns;
                *last_ns as u64
            }
        }
    }
}

/// What became of the ops that were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Due within the measured time.
    pub offered: u64,
    /// Those that began late, as their client was still busy with an earlier one.
    pub late: u64,
    /// Those that had not begun when the time was over; they never do.
    pub backlog: u64,
}

impl Arrived {
    /// Whether ops came faster than they were done: at the end more of them waited than the clients have in hand, and more
    /// than one in a hundred.
    #[must_use]
    pub fn is_saturated(self, clients: u64) -> bool {
        self.backlog > clients.max(self.offered / 100)
    }
}

impl std::iter::Sum for Arrived {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            offered: sum.offered + one.offered,
            late: sum.late + one.late,
            backlog: sum.backlog + one.backlog,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(rate: Rate, client: usize, clients: usize, count: usize) -> Vec<u64> {
        let mut schedule = rate.schedule(client, clients, 0);
        (0..count).map(|_| schedule.next_ns()).collect()
    }

    #[test]
    fn even_arrivals_take_turns() {
        let rate = Rate { per_s: 3, spacing: Spacing::Even };
        assert_eq!(moments(rate, 0, 2, 3), [0, 666_666_666, 1_333_333_333]);
        assert_eq!(moments(rate, 1, 2, 3), [333_333_333, 1_000_000_000, 1_666_666_666]);
        let far = Rate { per_s: 10_000_000, spacing: Spacing::Even };
        assert_eq!(moments(far, 1_023, 1_024, 2), [102_300, 204_700]);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let rate = Rate { per_s: 1_000, spacing: Spacing::Poisson { seed: 42 } };
        let all = moments(rate, 3, 4, 100_000);
        let gaps_ns = all.windows(2).map(|pair| pair[1] - pair[0]);
        // Ten classes that one gap in ten falls into each: the upper ends are -ln(1 - k/10) means, of 4 ms each.
        let ends_us = [421, 893, 1_427, 2_043, 2_773, 3_665, 4_816, 6_438, 9_210];
        let mut counts = [0_u32; 10];
        for gap_ns in gaps_ns {
            counts[ends_us.partition_point(|&end_us| end_us <= gap_ns / 1_000)] += 1;
        }
        let chi_squared: f64 =
            counts.iter().map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0).sum();
        // 9 degrees of freedom: one in a billion lies above 61.
        assert!(chi_squared < 61.0, "{counts:?}");
    }

    #[test]
    fn a_seed_makes_the_same_gaps_and_clients_and_parts_differ() {
        let rate = |seed| Rate { per_s: 1_000, spacing: Spacing::Poisson { seed } };
        assert_eq!(moments(rate(7), 0, 4, 5), moments(rate(7), 0, 4, 5));
        assert_ne!(moments(rate(7), 0, 4, 5), moments(rate(8), 0, 4, 5));
        assert_ne!(moments(rate(7), 0, 4, 5), moments(rate(7), 1, 4, 5));
        assert_ne!(rate(7).schedule(0, 4, 0).next_ns(), rate(7).schedule(0, 4, 1).next_ns());
    }

    #[test]
    fn a_backlog_beyond_what_is_in_hand_is_saturation() {
        let arrived = |offered, backlog| Arrived { offered, late: 0, backlog };
        for (arrived, clients, expected) in [
            (arrived(10_000, 100), 64, false),
            (arrived(10_000, 101), 64, true),
            (arrived(1_000, 64), 64, false),
            (arrived(1_000, 65), 64, true),
            (arrived(0, 0), 1, false),
        ] {
            assert_eq!(arrived.is_saturated(clients), expected, "{arrived:?}");
        }
    }
}
