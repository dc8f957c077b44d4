//! What becomes of the messages of a session that is deleted.
//!
//! Invariant: what another session leads to, or descends from, stays. Called by the store on disk, in
//! which older versions recorded once what several sessions have.

use epitome_kernel::types::EntryKey;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{MessageForest, MessageNode};

/// The session of a message that is on the way of others and that none of them recorded.
pub(crate) const NOBODY: i64 = 0;

/// What becomes of the messages that a session recorded.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DeletionPlan {
    /// Those that nobody needs.
    pub(crate) gone: FxHashSet<i64>,
    /// Those that somebody needs, with the session that has them from now on.
    pub(crate) left: Vec<(i64, i64)>,
}

impl MessageForest {
    /// What a session leaves behind. `needed` are messages that other sessions lead to.
    pub(crate) fn estate(&self, session: i64, needed: &[(i64, i64)]) -> DeletionPlan {
        let mut claims: FxHashMap<i64, i64> = FxHashMap::default();
        let claim = |claims: &mut FxHashMap<i64, i64>, message, session: i64| {
            claims
                .entry(message)
                .and_modify(|first| *first = session.min(*first))
                .or_insert(session);
        };
        for &(message, session) in needed {
            claim(&mut claims, message, session);
        }
        let mut estate = DeletionPlan::default();
        for knot in self.knots.iter().rev() {
            let heir = match claims.get(&knot.id) {
                _ if ![session, NOBODY].contains(&knot.session) => Some(knot.session),
                heir => heir.copied(),
            };
            match heir {
                None => {
                    estate.gone.insert(knot.id);
                }
                Some(heir) => {
                    if knot.session == session {
                        estate.left.push((knot.id, heir));
                    }
                    if let Some(parent) = knot.parent {
                        claim(&mut claims, parent, heir);
                    }
                }
            }
        }
        estate.left.reverse();
        estate
    }

    /// The tree after a session left.
    pub(crate) fn after(self, estate: &DeletionPlan) -> Self {
        let heirs: FxHashMap<i64, i64> = estate.left.iter().copied().collect();
        let knots = self.knots.into_iter().filter(|knot| !estate.gone.contains(&knot.id));
        let moved = |knot: MessageNode| {
            let session = heirs.get(&knot.id).copied().unwrap_or(knot.session);
            MessageNode { session, ..knot }
        };
        Self::new(knots.map(moved).collect())
    }

    /// What is said, with the session that recorded it first.
    pub(crate) fn sayers(&self) -> FxHashMap<EntryKey, i64> {
        self.knots.iter().rev().map(|knot| (knot.key, knot.session)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::forked;

    #[track_caller]
    fn check(session: i64, needed: &[(i64, i64)], gone: &[i64], left: &[(i64, i64)]) {
        let estate = forked().estate(session, needed);
        let mut found: Vec<i64> = estate.gone.iter().copied().collect();
        found.sort_unstable();
        assert_eq!((found.as_slice(), estate.left.as_slice()), (gone, left));
    }

    #[test]
    fn what_others_descend_from_stays() {
        check(7, &[], &[4], &[(1, 8), (2, 8), (3, 9)]);
        check(8, &[], &[5, 6], &[]);
        check(9, &[], &[7], &[]);
    }

    #[test]
    fn what_others_lead_to_stays() {
        check(7, &[(4, 9)], &[], &[(1, 8), (2, 8), (3, 9), (4, 9)]);
        check(8, &[(5, 3)], &[6], &[(5, 3)]);
    }
}
