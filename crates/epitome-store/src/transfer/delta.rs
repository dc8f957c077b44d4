//! What one copy of a session has beyond another, in portions.
//!
//! Invariant: a store only ever gets what it lacks; of two copies that went on apart neither goes on
//! from the other. Called by [`super::run`].

use epitome_kernel::types::ContentId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::KeptTexts;
use crate::copied::SessionCopy;

/// So much is taken up at once, in bytes and in records: nobody waits for the store longer.
const BYTES: usize = 4 << 20;
const RECORDS: usize = 2_000;

/// What `whole` has beyond `known`; `None` where it does not go on from there.
pub(super) fn beyond(whole: &SessionCopy, known: &SessionCopy) -> Option<SessionCopy> {
    let all: FxHashMap<_, _> =
        whole.said.iter().map(|it| (it.said.chain, it.said.bytes.is_some())).collect();
    let mut has: FxHashSet<_> = FxHashSet::default();
    for it in &known.said {
        if all.get(&it.said.chain) != Some(&it.said.bytes.is_some()) {
            return None;
        }
        has.insert(it.said.chain);
    }
    let rewritten: FxHashSet<_> =
        known.rewrites.iter().map(|rewrite| (rewrite.key, rewrite.part)).collect();
    let new = |rewrite: &&epitome_kernel::types::ArrivalRewrite| {
        !rewritten.contains(&(rewrite.key, rewrite.part))
    };
    let answers = behind(&whole.answers, &known.answers, |a, b| a.answer == b.answer)?;
    let epochs = behind(&whole.epochs, &known.epochs, |a, b| a.1.epoch.id == b.1.epoch.id)?;
    Some(SessionCopy {
        facts: whole.facts.clone(),
        said: whole.said.iter().filter(|it| !has.contains(&it.said.chain)).cloned().collect(),
        answers,
        rewrites: whole.rewrites.iter().filter(new).cloned().collect(),
        epochs,
        acts: behind(&whole.acts, &known.acts, |a, b| a == b)?,
        marks: behind(&whole.marks, &known.marks, |a, b| a == b)?,
        kept: texts(&whole.kept, &known.kept),
    })
}

/// The texts that `known` lacks.
pub(super) fn texts(whole: &KeptTexts, known: &KeptTexts) -> KeptTexts {
    let originals: FxHashSet<ContentId> = known.originals.iter().map(|text| text.id).collect();
    let pieces: FxHashSet<ContentId> = known.pieces.iter().map(|piece| piece.id).collect();
    let new = whole.originals.iter().filter(|text| !originals.contains(&text.id));
    let cut = whole.pieces.iter().filter(|piece| !pieces.contains(&piece.id));
    KeptTexts { originals: new.cloned().collect(), pieces: cut.cloned().collect() }
}

/// What stands behind the first ones; `None` where those are others.
fn behind<T: Clone>(whole: &[T], known: &[T], same: impl Fn(&T, &T) -> bool) -> Option<Vec<T>> {
    let first = whole.get(..known.len())?;
    let is_same = first.iter().zip(known).all(|(one, other)| same(one, other));
    is_same.then(|| whole[known.len()..].to_vec())
}

/// A copy in parts that are taken up one after the other; the last one says what holds of all.
pub(super) fn portions(copy: SessionCopy) -> Vec<SessionCopy> {
    let mut parts = Portions::default();
    for it in copy.said {
        parts.add(it.said.bytes.as_ref().map_or(0, Vec::len), |part| part.said.push(it));
    }
    for it in copy.answers {
        parts.add(it.answer.bytes.as_ref().map_or(0, Vec::len), |part| part.answers.push(it));
    }
    for text in copy.kept.originals {
        parts.add(text.text.len(), |part| part.kept.originals.push(text));
    }
    for piece in copy.kept.pieces {
        parts.add(piece.text.len(), |part| part.kept.pieces.push(piece));
    }
    let last = &mut parts.current;
    last.facts = copy.facts;
    last.rewrites = copy.rewrites;
    last.epochs = copy.epochs;
    last.acts = copy.acts;
    last.marks = copy.marks;
    parts.full.push(parts.current);
    parts.full
}

#[derive(Default)]
struct Portions {
    full: Vec<SessionCopy>,
    current: SessionCopy,
    bytes: usize,
    records: usize,
}

impl Portions {
    fn add(&mut self, bytes: usize, put: impl FnOnce(&mut SessionCopy)) {
        if self.records >= RECORDS || (self.records > 0 && self.bytes + bytes > BYTES) {
            self.full.push(std::mem::take(&mut self.current));
            (self.bytes, self.records) = (0, 0);
        }
        put(&mut self.current);
        self.bytes += bytes;
        self.records += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copied::SessionFacts;
    use epitome_kernel::StoredText;

    #[test]
    fn portions_bring_all_and_only_the_last_one_says_what_holds() {
        let original = |at: usize| {
            let text = format!("{at} {}", "x".repeat(BYTES / 3));
            StoredText { id: ContentId::for_text(&text), source: String::new(), text }
        };
        let originals: Vec<_> = (0..8).map(original).collect();
        let copy = SessionCopy {
            facts: Some(SessionFacts::default()),
            kept: KeptTexts { originals: originals.clone(), pieces: Vec::new() },
            ..SessionCopy::default()
        };
        let parts = portions(copy);
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().rev().skip(1).all(|part| part.facts.is_none()));
        assert!(parts.last().is_some_and(|last| last.facts.is_some()));
        let all: Vec<_> = parts.into_iter().flat_map(|part| part.kept.originals).collect();
        assert_eq!(all, originals);
    }
}
