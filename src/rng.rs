//! A small generator whose sequence never changes between versions, since rows store its seed.

/// `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for a seed and a stream of its own (a round, a client).
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = Self(seed);
        Self(mixed.next_u64() ^ Self(stream).next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by the multiply-shift method (Lemire 2019); its bias is below
    /// `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a number below 0 does not exist");
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("a 128-bit product shifted by 64 fits")
    }

    /// A number from 0 up to, not including, 1: a multiple of 2^-53.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Fisher-Yates: every order equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1);
            items.swap(last, usize::try_from(other).expect("an index fits"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567 as published with the reference implementation
    /// (Vigna, `splitmix64.c`; the values stand in Rosetta Code's "Pseudo-random numbers/Splitmix64").
    #[test]
    fn matches_the_reference() {
        let mut rng = Rng(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(rng.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn shuffle_keeps_every_item_and_depends_on_the_stream() {
        let shuffled = |stream| {
            let mut items: Vec<u32> = (0..12).collect();
            Rng::new(42, stream).shuffle(&mut items);
            items
        };
        let (first, second) = (shuffled(1), shuffled(2));
        assert_ne!(first, second);
        assert_eq!(first, shuffled(1));
        let mut sorted = first;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn shuffle_is_uniform_over_positions() {
        let mut counts = [[0_u32; 3]; 3];
        for stream in 0..6_000 {
            let mut items = [0_usize, 1, 2];
            Rng::new(7, stream).shuffle(&mut items);
            for (position, &item) in items.iter().enumerate() {
                counts[item][position] += 1;
            }
        }
        // 2000 expected in each cell, standard deviation 37: five of them are allowed.
        assert!(counts.iter().flatten().all(|count| (1815..2185).contains(count)), "{counts:?}");
    }

    /// The value was computed apart from this code, in Python.
    #[test]
    fn a_seed_and_stream_stay_what_they_are() {
        assert_eq!(Rng::new(42, 1).next_u64(), 15_753_111_256_889_434_642);
    }
}
