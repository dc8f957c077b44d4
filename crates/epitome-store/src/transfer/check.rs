//! When two copies of a session are equal.
//!
//! Invariant: what one store derives and another does not (whether the search knows a message, what an
//! original is called that several sessions keep) is left out. Called by [`super::run`].

use epitome_kernel::types::ContentId;
use epitome_kernel::{StoreError, StoredText};
use rustc_hash::FxHashSet;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::KeptTexts;
use crate::copied::SessionCopy;
use crate::log::SearchPiece;

/// What stands for a session: equal where two stores say the same of it.
pub(super) fn session(copy: &SessionCopy) -> Result<u128, StoreError> {
    let said: Vec<_> = copy.said.iter().map(|it| (it.after, &it.said)).collect();
    let answers: Vec<_> = copy.answers.iter().map(|it| &it.answer).collect();
    let mut rewrites: Vec<_> = copy.rewrites.iter().collect();
    rewrites.sort_by_key(|rewrite| (rewrite.key, rewrite.part));
    let facts = copy.facts.as_ref().map(|facts| {
        let info = &facts.info;
        (info, info.head, &info.label, facts.opened, facts.meter, &facts.memos)
    });
    let done = (&copy.epochs, &copy.acts, &copy.marks);
    // Another session may keep one of these as an original by now, and then all that hold it do.
    let sent = rewrites.iter().map(|rewrite| ContentId::for_text(&rewrite.with)).collect();
    digest(&(facts, said, answers, &rewrites, done, kept(&copy.kept, &sent)))
}

/// What stands for texts that are kept.
pub(super) fn texts(texts: &KeptTexts) -> Result<u128, StoreError> {
    digest(&kept(texts, &FxHashSet::default()))
}

/// What stands for a value.
pub(super) fn digest(value: &impl Serialize) -> Result<u128, StoreError> {
    let written = serde_json::to_vec(value);
    let written = written.map_err(|error| StoreError::Damaged { what: error.to_string() })?;
    Ok(xxh3_128(&written))
}

/// What is kept, without the originals that are `sent` in the place of others: those are told of there.
fn kept(texts: &KeptTexts, sent: &FxHashSet<ContentId>) -> impl Serialize {
    let own = texts.originals.iter().filter(|original| !sent.contains(&original.id));
    let mut originals: Vec<(ContentId, String)> = own.map(named).collect();
    originals.sort();
    (originals, texts.pieces.iter().map(placed).collect::<Vec<_>>())
}

fn named(original: &StoredText) -> (ContentId, String) {
    (original.id, original.text.clone())
}

/// A piece, told from others. One that is an original of its own stands in that as a whole.
fn placed(piece: &SearchPiece) -> (ContentId, ContentId, String, Option<[u64; 2]>) {
    let is_own = piece.original == piece.id;
    let span = if is_own { Some([0, piece.text.len() as u64]) } else { piece.span };
    (piece.id, piece.original, piece.source.clone(), span)
}
