//! The tree of a scope as bare numbers: what descends from what, and where a run is recorded.
//!
//! Invariant: pure; a message's number is greater than its parent's. Called by both stores when
//! something is to go for good.

#[cfg(feature = "sqlite")]
mod estate;

use epitome_kernel::types::{CompactionRange, EntryKey, HistoryHash};
use rustc_hash::{FxHashMap, FxHashSet};

#[cfg(feature = "sqlite")]
pub(crate) use self::estate::{DeletionPlan, NOBODY};

/// A message of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessageNode {
    /// Its number.
    pub(crate) id: i64,
    /// The message it follows.
    pub(crate) parent: Option<i64>,
    /// The session that recorded it.
    pub(crate) session: i64,
    /// What it says.
    pub(crate) key: EntryKey,
}

/// All messages of a scope.
#[derive(Debug)]
pub(crate) struct MessageForest {
    knots: Vec<MessageNode>,
    children: FxHashMap<i64, Vec<usize>>,
}

impl MessageForest {
    /// The tree of these messages, in the order of their numbers.
    pub(crate) fn new(knots: Vec<MessageNode>) -> Self {
        let mut children: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
        for (at, knot) in knots.iter().enumerate() {
            if let Some(parent) = knot.parent {
                children.entry(parent).or_default().push(at);
            }
        }
        Self { knots, children }
    }

    /// Whether a run may hold a message that says this: it does, or it is not recorded whole so
    /// that nobody can tell.
    pub(crate) fn may_hold(&self, run: &CompactionRange, key: EntryKey) -> bool {
        let (mut recorded, mut holds) = (false, false);
        self.runs(run, &mut |way| {
            recorded = true;
            holds |= way.iter().any(|&at| self.knots[at].key == key);
        });
        holds || !recorded
    }

    /// The sessions that may have led through a message that says this: those that recorded or lead
    /// to (`heads`) any message of a tree that holds one. Where a session went back to another
    /// branch, nothing tells where it was before.
    pub(crate) fn hearers(&self, key: EntryKey, heads: &[(i64, i64)]) -> FxHashSet<i64> {
        let mut roots: FxHashMap<i64, i64> = FxHashMap::default();
        let mut told = FxHashSet::default();
        for knot in &self.knots {
            let root = knot.parent.and_then(|parent| roots.get(&parent)).copied();
            let root = root.unwrap_or(knot.id);
            roots.insert(knot.id, root);
            told.extend((knot.key == key).then_some(root));
        }
        let recorded = self.knots.iter().map(|knot| (knot.id, knot.session));
        let heard = |(message, session)| {
            roots.get(&message).filter(|root| told.contains(root)).map(|_| session)
        };
        recorded.chain(heads.iter().copied()).filter_map(heard).collect()
    }

    /// Visits every place where a run is recorded.
    fn runs(&self, run: &CompactionRange, visit: &mut impl FnMut(&[usize])) {
        for (at, knot) in self.knots.iter().enumerate() {
            if knot.key == run.first {
                self.descend(run, at, visit);
            }
        }
    }

    /// Walks all ways down from a message, as far as the run is long.
    fn descend(&self, run: &CompactionRange, from: usize, visit: &mut impl FnMut(&[usize])) {
        let length = run.len as usize;
        let mut open = vec![(from, 0, HistoryHash::default())];
        let mut way = Vec::new();
        while let Some((at, depth, before)) = open.pop() {
            let chain = before.append(self.knots[at].key);
            way.truncate(depth);
            way.push(at);
            if way.len() == length {
                if chain == run.chain {
                    visit(&way);
                }
                continue;
            }
            let children = self.children.get(&self.knots[at].id);
            for &child in children.into_iter().flatten().rev() {
                open.push((child, depth + 1, chain));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn key(name: u8) -> EntryKey {
        EntryKey([name; 16])
    }

    /// A tree of `(number, parent, session, key)`; parent 0 is none.
    fn tree(knots: &[(i64, i64, i64, u8)]) -> MessageForest {
        MessageForest::new(
            knots
                .iter()
                .map(|&(id, parent, session, name)| MessageNode {
                    id,
                    parent: (parent > 0).then_some(parent),
                    session,
                    key: key(name),
                })
                .collect(),
        )
    }

    fn run(names: &[u8]) -> CompactionRange {
        let keys: Vec<EntryKey> = names.iter().map(|&name| key(name)).collect();
        let len = u32::try_from(keys.len()).unwrap();
        CompactionRange { first: keys[0], len, chain: HistoryHash::for_entries(&keys) }
    }

    /// 1 ─ 2 ─ 3 ─ 4   of session 7
    ///      └─ 5 ─ 6   of session 8, 7 behind 3 of session 9
    pub(super) fn forked() -> MessageForest {
        tree(&[
            (1, 0, 7, b'a'),
            (2, 1, 7, b'b'),
            (3, 2, 7, b'c'),
            (4, 3, 7, b'd'),
            (5, 2, 8, b'e'),
            (6, 5, 8, b'f'),
            (7, 3, 9, b'g'),
        ])
    }

    #[track_caller]
    fn check_hearers(name: u8, heads: &[(i64, i64)], expected: &[i64]) {
        let tree = tree(&[(1, 0, 7, b'a'), (2, 1, 7, b'b'), (3, 1, 8, b'c'), (4, 0, 9, b'd')]);
        let mut found: Vec<i64> = tree.hearers(key(name), heads).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn whoever_is_in_the_same_tree_may_have_heard_it() {
        check_hearers(b'b', &[], &[7, 8]);
        check_hearers(b'b', &[(3, 5), (4, 6)], &[5, 7, 8]);
        check_hearers(b'd', &[(1, 5), (4, 6)], &[6, 9]);
        check_hearers(b'x', &[(1, 5)], &[]);
    }

    #[test]
    fn runs_are_found_on_their_branch() {
        let tree = forked();
        assert!(tree.may_hold(&run(b"abef"), key(b'e')));
        assert!(!tree.may_hold(&run(b"abcd"), key(b'e')));
        assert!(tree.may_hold(&run(b"xyz"), key(b'e')), "nobody can tell");
    }
}
