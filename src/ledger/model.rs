//! The words of the ledger suite: accounts, transfers, and what becomes of a transfer. TigerBeetle's
//! model, without what none of the benchmarks uses (user data, timeouts, several ledgers).

use anyhow::Result;

use crate::error::bad_input;

/// The largest amount that all systems can hold: a signed 64-bit integer's.
pub const AMOUNT_MAX: u64 = i64::MAX as u64;

/// What a transfer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Moves its amount.
    #[default]
    Plain,
    /// Holds its amount until it is posted or voided.
    Pending,
    /// Moves what a pending transfer holds, or a part of it; the rest is released.
    Post,
    /// Releases what a pending transfer holds.
    Void,
}

impl Kind {
    /// Its number in requests to Redis and PostgreSQL.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a number; `None` for one that no kind has.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Plain, Self::Pending, Self::Post, Self::Void].into_iter().find(|kind| kind.code() == code)
    }

    /// Whether it ends a pending transfer, whose accounts it takes.
    #[must_use]
    pub fn ends_pending(self) -> bool {
        matches!(self, Self::Post | Self::Void)
    }
}

/// A transfer as it is asked for, and as it is stored: a stored post or void has the accounts of
/// what it ends and the actual amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Makes a retry safe: the same id is never done twice.
    pub id: u128,
    /// What it does.
    pub kind: Kind,
    /// The account that is debited; 0 in a request to post or void, which takes the held one's.
    pub debit_account_id: u128,
    /// The account that is credited; 0 in a request to post or void.
    pub credit_account_id: u128,
    /// At most [`AMOUNT_MAX`]. Of a void: 0 for all that is held.
    pub amount: u64,
    /// What is posted or voided; 0 for the other kinds.
    pub pending_id: u128,
}

/// Refuses a request that not every system understands alike: an amount beyond [`AMOUNT_MAX`], a
/// post or void that names accounts, another kind that names a pending transfer.
pub fn ensure_valid(transfers: &[Transfer]) -> Result<()> {
    transfers.iter().try_for_each(|transfer| {
        let Transfer { id, kind, debit_account_id, credit_account_id, amount, pending_id } = *transfer;
        if amount > AMOUNT_MAX {
            return Err(bad_input(format!(
                "transfer {id:x}: an amount of {amount}: {AMOUNT_MAX} (2^63 - 1) is the most that PostgreSQL's bigint holds"
            )));
        }
        let ends = kind.ends_pending();
        if ends && (debit_account_id, credit_account_id) != (0, 0) || !ends && pending_id != 0 {
            return Err(bad_input(format!(
                "transfer {id:x}: a post or void names a pending transfer and no accounts, others name accounts alone"
            )));
        }
        Ok(())
    })
}

/// A transfer as a ledger gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What was stored.
    pub transfer: Transfer,
    /// Rises with the order in which transfers were stored; no two have the same.
    pub timestamp: u64,
}

/// A transfer of a request that was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its place in the request, from 0.
    pub index: u32,
    /// Why.
    pub outcome: Outcome,
}

/// An account to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAccount {
    /// Neither 0 nor the largest.
    pub id: u128,
    /// Whether a transfer that would overdraw it is refused.
    pub debits_must_not_exceed_credits: bool,
}

macro_rules! outcomes {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        /// What became of a transfer, by TigerBeetle's names and numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "the names are TigerBeetle's, and its documentation explains them")]
        pub enum Outcome { $($name = $code,)* }

        impl Outcome {
            /// TigerBeetle's name for it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The outcome of a number; `None` for one that the model does not have.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }

            /// The outcome of TigerBeetle's name for it.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

outcomes! {
    Ok = 0, "ok";
    AccountsMustBeDifferent = 12, "accounts_must_be_different";
    PendingIdMustNotBeZero = 14, "pending_id_must_not_be_zero";
    PendingIdMustBeDifferent = 16, "pending_id_must_be_different";
    DebitAccountNotFound = 21, "debit_account_not_found";
    CreditAccountNotFound = 22, "credit_account_not_found";
    PendingTransferNotFound = 25, "pending_transfer_not_found";
    PendingTransferNotPending = 26, "pending_transfer_not_pending";
    ExceedsPendingTransferAmount = 31, "exceeds_pending_transfer_amount";
    PendingTransferHasDifferentAmount = 32, "pending_transfer_has_different_amount";
    PendingTransferAlreadyPosted = 33, "pending_transfer_already_posted";
    PendingTransferAlreadyVoided = 34, "pending_transfer_already_voided";
    ExistsWithDifferentFlags = 36, "exists_with_different_flags";
    ExistsWithDifferentDebitAccountId = 37, "exists_with_different_debit_account_id";
    ExistsWithDifferentCreditAccountId = 38, "exists_with_different_credit_account_id";
    ExistsWithDifferentAmount = 39, "exists_with_different_amount";
    ExistsWithDifferentPendingId = 40, "exists_with_different_pending_id";
    Exists = 46, "exists";
    OverflowsDebitsPending = 47, "overflows_debits_pending";
    OverflowsCreditsPending = 48, "overflows_credits_pending";
    OverflowsDebitsPosted = 49, "overflows_debits_posted";
    OverflowsCreditsPosted = 50, "overflows_credits_posted";
    OverflowsDebits = 51, "overflows_debits";
    OverflowsCredits = 52, "overflows_credits";
    ExceedsCredits = 54, "exceeds_credits";
    IdAlreadyFailed = 68, "id_already_failed";
}

impl Outcome {
    /// Depends on what the ledger held at that moment: the id is spent, a retry wants another.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::DebitAccountNotFound
                | Self::CreditAccountNotFound
                | Self::PendingTransferNotFound
                | Self::ExceedsCredits
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_not_all_understand_alike_is_refused_with_the_reason() {
        let refusal =
            |transfer| ensure_valid(&[Transfer::default(), transfer]).map_err(|error| error.to_string());
        let plain = Transfer { id: 171, debit_account_id: 1, credit_account_id: 2, ..Transfer::default() };
        let post = Transfer { id: 171, kind: Kind::Post, pending_id: 7, ..Transfer::default() };
        assert_eq!(refusal(Transfer { amount: AMOUNT_MAX, ..plain }), Ok(()));
        assert_eq!(refusal(post), Ok(()));
        let told = refusal(Transfer { amount: AMOUNT_MAX + 1, ..plain }).expect_err("too large");
        assert!(
            told.starts_with("transfer ab: an amount of 9223372036854775808: ") && told.contains("bigint"),
            "{told}"
        );
        for wrong in [
            Transfer { debit_account_id: 1, ..post },
            Transfer { credit_account_id: 1, ..post },
            Transfer { pending_id: 7, ..plain },
        ] {
            assert!(refusal(wrong).is_err_and(|told| told.contains("names a pending transfer")), "{wrong:?}");
        }
    }
}
