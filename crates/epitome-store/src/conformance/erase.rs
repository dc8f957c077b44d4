//! Rules of what is removed for good.
//!
//! Invariant: each rule asks for one promise of [`crate::RecordLog`]. Called by [`super::run_all`].

use super::sample::{SCOPE, add, batch, blob, bodies, end, find, key, keyed, piece, read};
use super::{RuleBreach, TriedStore, holds, same};
use crate::log::{BlobQuery, Erasure, LinePosition, PieceQuery};

super::rule_list! {
    an_erased_body_leaves_its_record
    erased_blobs_take_their_pieces_along
    an_erased_line_begins_anew
    an_erasure_touches_no_other_line
    an_erasure_may_be_made_again
}

/// A line with two records, a blob with two pieces, and a piece that was reworded.
fn filled(store: &TriedStore, line: &str) -> Result<(), RuleBreach> {
    let mut made = batch(line, LinePosition::default(), &["1", "2"]);
    made.blobs = vec![blob(line, "red apples, red pears"), blob(line, "plums")];
    made.pieces = vec![
        piece(line, "red apples, red pears", "red apples"),
        piece(line, "red apples, red pears", "red pears"),
        piece(line, "plums", "plums are red"),
    ];
    add(store, SCOPE, made)?;
    add(store, SCOPE, keyed(line, end(store, SCOPE, line)?, "k"))?;
    Ok(())
}

/// Refuses a line that is not as [`filled`] made it.
fn is_filled(store: &TriedStore, line: &str) -> Result<(), RuleBreach> {
    let all = ["1", "2", "k"].map(|body| Some(body.to_owned())).to_vec();
    same(&format!("the bodies of `{line}`"), bodies(store, SCOPE, line)?, all)?;
    same(&format!("the blobs of `{line}`"), blobs(store, line)?, 2)?;
    same(&format!("the pieces of `{line}`"), pieces(store, line)?.len(), 3)
}

fn blobs(store: &TriedStore, line: &str) -> Result<usize, RuleBreach> {
    let ids = ["red apples, red pears", "plums"].map(|text| blob(line, text).id);
    let query = BlobQuery { line: Some(line), ids: &ids.map(|id| id..=id) };
    Ok(store.blobs(SCOPE, &query)?.len())
}

fn pieces(store: &TriedStore, line: &str) -> Result<Vec<String>, RuleBreach> {
    let found = store.pieces(SCOPE, &PieceQuery { line: Some(line), text: "red" })?;
    Ok(found.into_iter().map(|piece| piece.text).collect())
}

fn contents(records: &[u64], texts: &[&str]) -> Erasure {
    let blobs = texts.iter().map(|text| blob("", text).id).collect();
    Erasure::Contents { records: records.to_vec(), blobs }
}

fn an_erased_body_leaves_its_record(store: &TriedStore) -> Result<(), RuleBreach> {
    filled(store, "a")?;
    let before = read(store, SCOPE, "a", 1)?;
    store.erase(SCOPE, "a", &contents(&[2], &[]))?;
    let mut expected = before;
    expected[1].body = None;
    same("the records", read(store, SCOPE, "a", 1)?, expected)?;
    add(store, SCOPE, batch("a", end(store, SCOPE, "a")?, &["4"]))?;
    same("how many there are", read(store, SCOPE, "a", 1)?.len(), 4)
}

fn erased_blobs_take_their_pieces_along(store: &TriedStore) -> Result<(), RuleBreach> {
    filled(store, "a")?;
    store.erase(SCOPE, "a", &contents(&[], &["red apples, red pears"]))?;
    same("the blobs", blobs(store, "a")?, 1)?;
    same("the pieces", pieces(store, "a")?, vec!["plums are red".to_owned()])?;
    // Reworded, it has an address of its own.
    store.erase(SCOPE, "a", &contents(&[], &["plums are red"]))?;
    same("the blobs", blobs(store, "a")?, 1)?;
    same("the pieces", pieces(store, "a")?, Vec::new())
}

fn an_erased_line_begins_anew(store: &TriedStore) -> Result<(), RuleBreach> {
    filled(store, "a")?;
    filled(store, "b")?;
    store.erase(SCOPE, "a", &Erasure::Line)?;
    same("the records", read(store, SCOPE, "a", 1)?, Vec::new())?;
    same("the lines", store.lines(SCOPE)?, vec!["b".to_owned()])?;
    let found = find(store, SCOPE, &[key("k")], 9)?;
    same("the lines of its key", found, vec![vec!["b".to_owned()]])?;
    same("the blobs", blobs(store, "a")?, 0)?;
    same("the pieces", pieces(store, "a")?, Vec::new())?;
    filled(store, "a")?;
    is_filled(store, "a")?;
    same("the lines", store.lines(SCOPE)?, ["b", "a"].map(str::to_owned).to_vec())
}

fn an_erasure_touches_no_other_line(store: &TriedStore) -> Result<(), RuleBreach> {
    for line in ["a", "b", "c"] {
        filled(store, line)?;
    }
    store.erase(SCOPE, "a", &contents(&[1, 2, 3], &["red apples, red pears", "plums"]))?;
    store.erase(SCOPE, "b", &Erasure::Line)?;
    store.erase("elsewhere", "c", &Erasure::Line)?;
    is_filled(store, "c")
}

fn an_erasure_may_be_made_again(store: &TriedStore) -> Result<(), RuleBreach> {
    filled(store, "a")?;
    for _ in 0..2 {
        store.erase(SCOPE, "a", &contents(&[2, 99], &["plums", "never said"]))?;
    }
    same("the blobs", blobs(store, "a")?, 1)?;
    for _ in 0..2 {
        store.erase(SCOPE, "a", &Erasure::Line)?;
    }
    holds("the line is there again", store.lines(SCOPE)?.is_empty())
}
