//! What every store promises, as rules with names that a store of a host's own is held to.
//!
//! Invariant: each rule gets a store that nothing was written to, and says what is wrong without a
//! panic. Called by the tests of whoever fills [`RecordLog`].
//!
//! ```
//! use epitome_store::{MemoryLog, conformance};
//!
//! conformance::run_all(MemoryLog::default)?;
//! # Ok::<(), conformance::StoreBreaches>(())
//! ```

mod append;
mod contents;
mod erase;
mod sample;
mod sessions;

use std::fmt;
use std::sync::Arc;

use epitome_kernel::StoreError;

use crate::log::RecordLog;

/// A store that a rule is checked on.
type TriedStore = Arc<dyn RecordLog>;

/// One thing that a store promises.
#[derive(Clone, Copy)]
pub struct StoreRule {
    /// Its name, which says what it is about.
    pub name: &'static str,
    check: fn(&TriedStore) -> Result<(), RuleBreach>,
}

impl fmt::Debug for StoreRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreRule").field(&self.name).finish()
    }
}

impl StoreRule {
    /// Checks a store that nothing was written to.
    ///
    /// # Errors
    ///
    /// What the store did, and what it should have done.
    pub fn check(&self, store: impl RecordLog + 'static) -> Result<(), RuleBreach> {
        let checked = (self.check)(&(Arc::new(store) as TriedStore));
        checked.map_err(|breach| RuleBreach { rule: self.name, ..breach })
    }
}

/// Why a store does not keep to a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {what}")]
pub struct RuleBreach {
    /// The name of the rule.
    pub rule: &'static str,
    /// What it did, and what it should have done.
    pub what: String,
}

impl RuleBreach {
    /// A breach of the rule that is being checked.
    fn of(what: impl Into<String>) -> Self {
        Self { rule: "", what: what.into() }
    }
}

impl From<StoreError> for RuleBreach {
    fn from(error: StoreError) -> Self {
        Self::of(format!("it failed: {error}"))
    }
}

/// The rules that a store does not keep to, in the order of [`rules`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreBreaches(pub Vec<RuleBreach>);

impl fmt::Display for StoreBreaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the store does not keep to {} of the rules:", self.0.len())?;
        self.0.iter().try_for_each(|breach| writeln!(f, "- {breach}"))
    }
}

impl std::error::Error for StoreBreaches {}

/// All rules.
pub fn rules() -> impl Iterator<Item = StoreRule> {
    let all = append::RULES.iter().chain(contents::RULES).chain(erase::RULES);
    all.chain(sessions::RULES).copied()
}

/// Holds a store to all rules; `store` makes one that nothing was written to, for each of them.
///
/// # Errors
///
/// The rules that it does not keep to.
pub fn run_all<L: RecordLog + 'static>(store: impl Fn() -> L) -> Result<(), StoreBreaches> {
    let breaches: Vec<_> = rules().filter_map(|rule| rule.check(store()).err()).collect();
    if breaches.is_empty() { Ok(()) } else { Err(StoreBreaches(breaches)) }
}

/// Makes the list of rules of a file from the names of its functions.
macro_rules! rule_list {
    ($($name:ident)*) => {
        pub(super) const RULES: &[super::StoreRule] =
            &[$(super::StoreRule { name: stringify!($name), check: $name }),*];
    };
}
use rule_list;

/// Refuses what is not as it should be.
fn same<T: PartialEq + fmt::Debug>(of: &str, found: T, expected: T) -> Result<(), RuleBreach> {
    if found == expected {
        return Ok(());
    }
    Err(RuleBreach::of(format!("{of}: expected {expected:?}, found {found:?}")))
}

/// Refuses what does not hold.
fn holds(what: &str, it_does: bool) -> Result<(), RuleBreach> {
    if it_does { Ok(()) } else { Err(RuleBreach::of(what)) }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;
    use crate::log::{
        AppendOutcome, BlobQuery, Erasure, KeyQuery, LineTail, LogBatch, LogRecord, MemoryLog,
        PieceQuery, SearchPiece, StoredBlob,
    };

    #[test]
    fn the_log_in_memory_keeps_to_the_rules() {
        run_all(MemoryLog::default).unwrap();
    }

    /// What a store may do wrong.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        TakesWhatMoved,
        TakesWhatRestsOnNothing,
        ReadsFromTheStart,
        StampsNothing,
        ListsBackwards,
        FindsTheOldest,
        FindsInAllLines,
        ForgetsPieces,
        LeavesPiecesOut,
        KeepsErasedBodies,
        KeepsErasedBlobs,
        KeepsErasedLines,
        MixesScopes,
    }

    #[derive(Debug)]
    struct Faulty(MemoryLog, Fault);

    impl Faulty {
        fn scope<'a>(&self, scope: &'a str) -> &'a str {
            if self.1 == Fault::MixesScopes { "all" } else { scope }
        }
    }

    impl RecordLog for Faulty {
        fn append(&self, scope: &str, mut batch: LogBatch) -> Result<AppendOutcome, StoreError> {
            let scope = self.scope(scope);
            if self.1 == Fault::TakesWhatMoved {
                let tail = LineTail { line: &batch.line, from: 1 };
                let records = self.0.read(scope, &[tail])?.concat();
                batch.after = records.last().map(LogRecord::position).unwrap_or_default();
            }
            if self.1 == Fault::TakesWhatRestsOnNothing {
                batch.given = None;
            }
            match self.0.append(scope, batch)? {
                AppendOutcome::Done { .. } if self.1 == Fault::StampsNothing => {
                    Ok(AppendOutcome::Done { stamp: 0 })
                }
                done => Ok(done),
            }
        }

        fn read(
            &self,
            scope: &str,
            tails: &[LineTail<'_>],
        ) -> Result<Vec<Vec<LogRecord>>, StoreError> {
            let mut tails = tails.to_vec();
            if self.1 == Fault::ReadsFromTheStart {
                tails.iter_mut().for_each(|tail| tail.from = 1);
            }
            self.0.read(self.scope(scope), &tails)
        }

        fn scopes(&self) -> Result<Vec<String>, StoreError> {
            self.0.scopes()
        }

        fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
            let mut lines = self.0.lines(self.scope(scope))?;
            if self.1 == Fault::ListsBackwards {
                lines.reverse();
            }
            Ok(lines)
        }

        fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
            let oldest = self.1 == Fault::FindsTheOldest;
            let all: Vec<_> =
                keys.iter().map(|asked| KeyQuery { most: usize::MAX, ..*asked }).collect();
            let mut found = self.0.find(self.scope(scope), &all)?;
            for (lines, asked) in found.iter_mut().zip(keys) {
                if oldest {
                    lines.reverse();
                }
                lines.truncate(asked.most);
            }
            Ok(found)
        }

        fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
            let line = query.line.filter(|_| self.1 != Fault::FindsInAllLines);
            self.0.blobs(self.scope(scope), &BlobQuery { line, ..*query })
        }

        fn pieces(
            &self,
            scope: &str,
            query: &PieceQuery<'_>,
        ) -> Result<Vec<SearchPiece>, StoreError> {
            let mut found = self.0.pieces(self.scope(scope), query)?;
            if self.1 == Fault::ForgetsPieces {
                found.truncate(1);
            }
            Ok(found)
        }

        fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
            let mut found = self.0.all_pieces(self.scope(scope), line)?;
            if self.1 == Fault::LeavesPiecesOut {
                found.truncate(1);
            }
            Ok(found)
        }

        fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
            let mut what = what.clone();
            match &mut what {
                Erasure::Line if self.1 == Fault::KeepsErasedLines => return Ok(()),
                Erasure::Contents { records, .. } if self.1 == Fault::KeepsErasedBodies => {
                    records.clear();
                }
                Erasure::Contents { blobs, .. } if self.1 == Fault::KeepsErasedBlobs => {
                    *blobs = vec![ContentId([0; 16])];
                }
                _ => {}
            }
            self.0.erase(self.scope(scope), line, &what)
        }
    }

    #[test]
    fn each_fault_is_found_by_a_rule_that_names_it() {
        for (fault, rule) in [
            (Fault::TakesWhatMoved, "a_batch_behind_another_end_changes_nothing"),
            (Fault::TakesWhatRestsOnNothing, "a_batch_that_rests_on_another_line_needs_its_end"),
            (Fault::ReadsFromTheStart, "records_are_read_from_a_number_on"),
            (Fault::StampsNothing, "stamps_grow_from_batch_to_batch"),
            (Fault::ListsBackwards, "lines_come_in_the_order_in_which_they_began"),
            (Fault::FindsTheOldest, "keys_lead_to_the_lines_that_began_last"),
            (Fault::FindsInAllLines, "blobs_are_found_by_line_and_range"),
            (Fault::ForgetsPieces, "no_piece_that_holds_a_term_is_left_out"),
            (Fault::LeavesPiecesOut, "all_pieces_of_a_line_are_handed_over_in_order"),
            (Fault::KeepsErasedBodies, "an_erased_body_leaves_its_record"),
            (Fault::KeepsErasedBlobs, "erased_blobs_take_their_pieces_along"),
            (Fault::KeepsErasedLines, "an_erased_line_begins_anew"),
            (Fault::MixesScopes, "scopes_share_nothing"),
        ] {
            let breaches = run_all(|| Faulty(MemoryLog::default(), fault)).unwrap_err();
            let found = breaches.0.iter().any(|breach| breach.rule == rule);
            assert!(found, "{fault:?}: {breaches}");
        }
    }
}
