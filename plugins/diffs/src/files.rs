//! What is left of a diff without room for its lines: its files, the most changed ones first.
//!
//! Invariant: a file that is not named is counted; what tells of a conflict or a failure is shown
//! before any of them. Called by the crate's digest.

use std::cmp::Reverse;

use epitome_plugin::text::outline::{DigestOutline, OutlineItem, clip};
use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput};

use crate::KIND;
use crate::diff::{DiffRow, DiffRowKind, DiffSection, ParsedDiff};
use crate::render::{head, is_conflict, sums};

/// A line beside the diff has at most about so many bytes.
const LINE: usize = 200;

/// Ranks: conflicts and failures, what else is said beside the diff, files.
const TOLD: u32 = 0;
const BESIDE: u32 = 1;
const FILE: u32 = 2;

/// The files of a diff as far as there is room; `None` where there is none for any.
pub(crate) fn digest(job: &DigestInput<'_>, diff: &ParsedDiff<'_>) -> Option<DigestOutput> {
    let changes = |section: &DiffSection| {
        let [added, removed, _] = diff.counts(section.rows.clone());
        added + removed
    };
    let mut order: Vec<usize> =
        (0..diff.sections.len()).filter(|at| diff.sections[*at].is_file).collect();
    order.sort_by_key(|at| (Reverse(changes(&diff.sections[*at])), *at));
    let mut ranks = vec![BESIDE; diff.sections.len()];
    for (place, section) in (FILE..).zip(order) {
        ranks[section] = place;
    }
    let mut items = Vec::new();
    for (section, rank) in diff.sections.iter().zip(ranks) {
        let rows = &diff.rows[section.rows.clone()];
        if let Some(first) = rows.first().filter(|_| section.is_file) {
            let span = first.span.start..rows.last().map_or(first.span.end, |row| row.span.end);
            let text = named(diff, section, first).into();
            items.push(OutlineItem { text, span, rank, like: items.len(), whole: false });
        }
        let told = |row: &&DiffRow<'_>| is_conflict(&row.text) || shape::fails(&row.text);
        let other =
            |row: &&DiffRow<'_>| row.what == DiffRowKind::Other && !row.text.trim().is_empty();
        for row in rows.iter().filter(|row| is_conflict(&row.text) || other(row)) {
            let rank = if told(&row) { TOLD } else { BESIDE };
            let text = if rank == TOLD { row.text.clone() } else { clip(&row.text, LINE) };
            let whole = text.len() == row.text.len();
            items.push(OutlineItem {
                text,
                span: row.span.clone(),
                rank,
                like: items.len(),
                whole,
            });
        }
    }
    let head = head(diff, ", the most changed");
    DigestOutline { head, items, caps: Vec::new(), noun: Some("parts"), must: true }.fill(job, KIND)
}

/// The path of a file with what became of it and its sums.
fn named(diff: &ParsedDiff<'_>, section: &DiffSection, first: &DiffRow<'_>) -> String {
    let rows = diff.rows[section.rows.clone()].iter();
    let fate = rows.filter(|row| row.what == DiffRowKind::Fate).find_map(|row| {
        let fates = ["new", "deleted", "rename", "copy", "Binary"];
        fates.into_iter().find(|fate| row.text.starts_with(fate))
    });
    let fate = fate.map_or(String::new(), |fate| format!("{}, ", fate.to_lowercase()));
    let [added, removed, _] = diff.counts(section.rows.clone());
    format!("{} [… {fate}{}]", first.path(), sums(added, removed))
}
