//! Rules of blobs and pieces.
//!
//! Invariant: each rule asks for one promise of [`crate::RecordLog`]. Called by [`super::run_all`].

use epitome_kernel::types::ContentId;

use super::sample::{SCOPE, add, batch, blob, end, piece};
use super::{RuleBreach, TriedStore, holds, same};
use crate::log::{BlobQuery, LinePosition, PieceQuery, StoredBlob};

super::rule_list! {
    blobs_are_found_by_line_and_range
    a_blob_that_is_known_stays_as_it_is
    pieces_are_found_by_line_and_of_all
    a_piece_that_is_known_stays_as_it_is
    no_piece_that_holds_a_term_is_left_out
    all_pieces_of_a_line_are_handed_over_in_order
}

/// A blob under an id of one repeated byte.
fn numbered(line: &str, byte: u8, source: Option<&str>) -> StoredBlob {
    let (id, bytes) = (ContentId([byte; 16]), vec![byte, 0, 0xff]);
    StoredBlob { line: line.to_owned(), id, source: source.map(str::to_owned), bytes }
}

fn blobs_are_found_by_line_and_range(store: &TriedStore) -> Result<(), RuleBreach> {
    let mut first = batch("a", LinePosition::default(), &["1"]);
    first.blobs =
        vec![numbered("a", 9, None), numbered("a", 2, Some("e0")), numbered("a", 5, None)];
    let mut second = batch("b", LinePosition::default(), &["1"]);
    second.blobs = vec![numbered("b", 2, Some("e7")), numbered("b", 0xff, None)];
    add(store, SCOPE, first)?;
    add(store, SCOPE, second)?;
    let id = |byte: u8| ContentId([byte; 16]);
    let check = |line: Option<&str>, ids: &[[u8; 2]], expected: &[(&str, u8)]| {
        let ids: Vec<_> = ids.iter().map(|&[from, to]| id(from)..=id(to)).collect();
        let found = store.blobs(SCOPE, &BlobQuery { line, ids: &ids })?;
        let expected: Vec<_> = expected
            .iter()
            .map(|&(line, byte)| {
                let source = (byte == 2).then_some(if line == "a" { "e0" } else { "e7" });
                numbered(line, byte, source)
            })
            .collect();
        same(&format!("the blobs of {line:?} in {ids:?}"), found, expected)
    };
    check(None, &[[0, 255]], &[("a", 9), ("a", 2), ("a", 5), ("b", 2), ("b", 255)])?;
    check(Some("a"), &[[0, 255]], &[("a", 9), ("a", 2), ("a", 5)])?;
    check(Some("b"), &[[2, 2], [255, 255]], &[("b", 2), ("b", 255)])?;
    check(None, &[[2, 2]], &[("a", 2), ("b", 2)])?;
    check(None, &[[2, 5], [4, 9]], &[("a", 9), ("a", 2), ("a", 5), ("b", 2)])?;
    check(None, &[[6, 8]], &[])?;
    check(Some("c"), &[[0, 255]], &[])?;
    check(None, &[], &[])
}

fn a_blob_that_is_known_stays_as_it_is(store: &TriedStore) -> Result<(), RuleBreach> {
    let known = blob("a", "text");
    let mut first = batch("a", LinePosition::default(), &["1"]);
    first.blobs = vec![known.clone()];
    add(store, SCOPE, first)?;
    let mut again = batch("a", end(store, SCOPE, "a")?, &["2"]);
    again.blobs = vec![StoredBlob { source: Some("another".to_owned()), ..known.clone() }];
    add(store, SCOPE, again)?;
    let query = BlobQuery { line: None, ids: &[known.id..=known.id] };
    same("the blobs", store.blobs(SCOPE, &query)?, vec![known])
}

fn pieces_are_found_by_line_and_of_all(store: &TriedStore) -> Result<(), RuleBreach> {
    let all = [piece("a", "red pears, red apples", "red apples"), piece("b", "", "red plums")];
    for one in &all {
        let mut made = batch(&one.line, LinePosition::default(), &["1"]);
        made.pieces = vec![one.clone()];
        add(store, SCOPE, made)?;
    }
    let found = |line| store.pieces(SCOPE, &PieceQuery { line, text: "red" });
    same("the pieces of all lines", found(None)?, all.to_vec())?;
    same("the pieces of one", found(Some("b"))?, all[1..].to_vec())?;
    same("the pieces of none", found(Some("c"))?, Vec::new())
}

fn a_piece_that_is_known_stays_as_it_is(store: &TriedStore) -> Result<(), RuleBreach> {
    let (known, other) = (piece("a", "red apples", "red"), piece("a", "red pears", "red"));
    let mut made = batch("a", LinePosition::default(), &["1"]);
    made.pieces = vec![known.clone(), other.clone()];
    add(store, SCOPE, made)?;
    let mut again = batch("a", end(store, SCOPE, "a")?, &["2"]);
    again.pieces = vec![other];
    add(store, SCOPE, again)?;
    let query = PieceQuery { line: None, text: "red" };
    same("the pieces", store.pieces(SCOPE, &query)?, vec![known])
}

fn no_piece_that_holds_a_term_is_left_out(store: &TriedStore) -> Result<(), RuleBreach> {
    let text = |at: usize| match at % 500 {
        77 => format!("step {at}: the vault code is read"),
        _ => format!("step {at} of the march"),
    };
    let mut made = batch("a", LinePosition::default(), &["1"]);
    made.pieces = (0..3_000).map(|at| piece("a", "", &text(at))).collect();
    add(store, SCOPE, made)?;
    for query in ["vault", "Vaults?", "what is the code of the vault"] {
        let found = store.pieces(SCOPE, &PieceQuery { line: None, text: query })?;
        let hits: Vec<_> = found.iter().filter(|piece| piece.text.contains("vault")).collect();
        same(&format!("the hits of {query:?}"), hits.len(), 6)?;
        let at = |text: &str| found.iter().position(|piece| piece.text == text);
        let in_order = (0..6).map(|hit| at(&text(hit * 500 + 77))).is_sorted();
        holds("the pieces are not in the order in which they were added", in_order)?;
    }
    Ok(())
}

fn all_pieces_of_a_line_are_handed_over_in_order(store: &TriedStore) -> Result<(), RuleBreach> {
    let of = |line: &str| (0..1_500).map(|at| piece(line, "", &format!("{line} {at}"))).collect();
    let all: [Vec<_>; 2] = ["a", "b"].map(of);
    for one in &all {
        let line = &one[0].line;
        for half in one.chunks(800) {
            let mut made = batch(line, end(store, SCOPE, line)?, &["1"]);
            made.pieces = half.to_vec();
            add(store, SCOPE, made)?;
        }
    }
    let [first, second] = all;
    same("the pieces of one line", store.all_pieces(SCOPE, "a")?, first)?;
    same("the pieces of another", store.all_pieces(SCOPE, "b")?, second)?;
    same("the pieces of none", store.all_pieces(SCOPE, "c")?, Vec::new())
}
