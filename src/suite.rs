//! What one op of each benchmark is, and what it must leave behind.

pub mod seed;

/// A sum of one account: what the acknowledged ops must have made of it, and what was found.
/// Plain values, so that a check that holds allocates nothing inside the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Check {
    account: &'static str,
    sum: &'static str,
    expected: i64,
    found: i64,
}

impl Check {
    fn holds(&self) -> bool {
        self.expected == self.found
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { account, sum, expected, found } = self;
        let by = found.abs_diff(*expected);
        let direction = if found < expected { "too low" } else { "too high" };
        write!(f, "the {account} account's {sum} is {found} instead of {expected}: {by} {direction}")
    }
}

/// An error that names every check that does not hold, and by how much.
fn ensure_all_hold(checks: &[Check]) -> anyhow::Result<()> {
    if checks.iter().all(Check::holds) {
        return Ok(());
    }
    let wrong = checks.iter().filter(|check| !check.holds()).map(Check::to_string);
    anyhow::bail!("{}", wrong.collect::<Vec<_>>().join("; "))
}
