//! Cuts plain text: prose into sentences, also over lines that were cut at a width, everything else into
//! lines.
//!
//! Invariant: pieces come in order and every word of the text is in exactly one of them.

use std::borrow::Cow;
use std::rc::Rc;

use epitome_kernel::types::sentence_ends;

use crate::turn_mark::{TurnMark, TurnMarks};
use crate::words::{self, word_count};
use crate::wrapped;

/// A piece of plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProsePiece<'a> {
    /// A sentence rather than a line.
    pub(crate) prose: bool,
    /// The text; lines are trimmed.
    pub(crate) text: Cow<'a, str>,
    /// Who says it and when, where the text says so before it.
    pub(crate) mark: Option<Rc<TurnMark>>,
}

/// Sentences longer than this are cut at a clause or a space.
const SENTENCE_WORDS: usize = 40;
/// Lines longer than this are cut, shorter ones are joined up to about half of it.
const LINE_WORDS: usize = 24;
/// A sentence of a script without spaces is cut at the clause that makes it longer than so many signs.
const CLAUSE_SIGNS: usize = 160;

/// Cuts a text. `output` says that a tool printed it, so that it is taken as lines even where it
/// reads like prose.
pub(crate) fn pieces(text: &str, output: bool) -> Vec<ProsePiece<'_>> {
    Splitter::new(output).pieces(text)
}

/// Cuts one text after another, between which something else stands: a fence that one opens may be
/// closed by the next.
pub(crate) struct Splitter {
    output: bool,
    fenced: bool,
}

impl Splitter {
    pub(crate) fn new(output: bool) -> Self {
        Self { output, fenced: false }
    }

    /// One that takes all for lines up to a fence.
    pub(crate) fn of_code() -> Self {
        Self { output: true, fenced: true }
    }

    /// The pieces of the next text.
    pub(crate) fn pieces<'t>(&mut self, text: &'t str) -> Vec<ProsePiece<'t>> {
        let Self { output, ref mut fenced } = *self;
        let mut marks = if output { TurnMarks::default() } else { TurnMarks::from_text(text) };
        let mut out = Vec::new();
        let mut lines: Vec<&str> = Vec::new();
        let mut done = 0;
        for line in text.split_inclusive('\n') {
            let start = line.as_ptr() as usize - text.as_ptr() as usize;
            let trimmed = line.trim();
            if start < done {
                continue;
            }
            if trimmed.starts_with("```") {
                *fenced = !*fenced;
                flush(&mut lines, &marks, &mut out);
                marks.close();
                continue;
            }
            let is_said = !*fenced && !output;
            // What stands on a line of its own to be read there stays on it.
            if is_said && is_marker(trimmed) {
                flush(&mut lines, &marks, &mut out);
                marks.close();
                out.push(ProsePiece { prose: false, text: trimmed.into(), mark: None });
                continue;
            }
            // Lines before are of the turn before.
            let held = marks.current();
            let opened = if is_said { marks.open(trimmed) } else { None };
            let marked = opened.unwrap_or_default();
            if opened.is_some() || held.is_some() && marks.current().is_none() {
                flush_of(&mut lines, held.as_ref(), &mut out);
            }
            let is_turn = opened.is_some() && has_few_signs(&trimmed[marked..]);
            if is_turn || !*fenced && is_prose(&trimmed[marked..], output) {
                flush(&mut lines, &marks, &mut out);
                done = match output {
                    true => start + line.len(),
                    false => wrapped::end(text, start, start + line.trim_end().len()),
                };
                let whole = &text[start..done].trim()[marked..];
                for sentence in sentences(whole.trim()) {
                    let mark = marks.current();
                    out.push(ProsePiece { prose: true, text: sentence.into(), mark });
                }
            } else if trimmed.is_empty() {
                flush(&mut lines, &marks, &mut out);
                marks.pause();
            } else {
                lines.push(&trimmed[marked..]);
            }
        }
        flush(&mut lines, &marks, &mut out);
        out
    }
}

/// The words by which a model marks goals and what was decided, one a line (RULES 57).
const MARKERS: [&str; 5] = ["GOAL", "CHECKPOINT", "DECISION", "ARTIFACT", "NEXT"];
/// A marker that is longer is prose.
const MARKER_WORDS: usize = 120;

/// Whether a line is a marker of goals: one that is joined to another says something else.
pub(crate) fn is_marker(line: &str) -> bool {
    let marked = line.strip_prefix('[').and_then(|line| line.split_once(']'));
    marked.is_some_and(|(word, rest)| {
        MARKERS.contains(&word)
            && rest.starts_with(char::is_whitespace)
            && word_count(rest) <= MARKER_WORDS
    })
}

/// Joins short neighbouring lines and cuts long ones.
fn flush<'a>(lines: &mut Vec<&'a str>, marks: &TurnMarks, out: &mut Vec<ProsePiece<'a>>) {
    flush_of(lines, marks.current().as_ref(), out);
}

/// As [`flush`], of lines of one turn.
fn flush_of<'a>(
    lines: &mut Vec<&'a str>,
    mark: Option<&Rc<TurnMark>>,
    out: &mut Vec<ProsePiece<'a>>,
) {
    let piece = |text: Cow<'a, str>| ProsePiece { prose: false, text, mark: mark.cloned() };
    let mut text = Cow::Borrowed("");
    let mut held = 0;
    for line in lines.drain(..) {
        let count = word_count(line);
        if held > 0 && held + count > LINE_WORDS / 2 {
            out.push(piece(std::mem::take(&mut text)));
            held = 0;
        }
        if count > LINE_WORDS {
            let cuts = at_most(line, LINE_WORDS);
            out.extend(cuts.into_iter().map(|cut| piece(cut.into())));
            continue;
        }
        if text.is_empty() {
            text = line.into();
        } else {
            text.to_mut().extend(["\n", line]);
        }
        held += count.max(1);
    }
    if !text.is_empty() {
        out.push(piece(text));
    }
}

/// Words separated by single spaces, few signs: a line that a person or model wrote as language.
fn is_prose(line: &str, output: bool) -> bool {
    if words::is_unspaced(line) {
        let ends = line.ends_with(['。', '！', '？', '：', '”', '」']);
        return has_few_signs(line) && (!output || ends);
    }
    let count = line.split(' ').filter(|word| word.chars().any(char::is_alphabetic)).count();
    if count < 3 || line.contains("  ") && output {
        return false;
    }
    let plain = has_few_signs(line);
    if !output {
        return plain;
    }
    plain
        && count >= 6
        && line.ends_with(['.', '!', '?', ':'])
        && line.starts_with(|c: char| c.is_uppercase())
}

/// Whether a line is no code, as far as its signs tell.
pub(crate) fn has_few_signs(line: &str) -> bool {
    let is_sign =
        |b: &u8| matches!(b, b'{' | b'}' | b'[' | b']' | b';' | b'=' | b'<' | b'>' | b'|' | b'\\');
    line.bytes().filter(is_sign).count() * 12 <= line.len()
}

/// The sentences of a line, none longer than [`SENTENCE_WORDS`].
pub(crate) fn sentences(line: &str) -> Vec<&str> {
    whole_sentences(line).into_iter().flat_map(|one| at_most(one, SENTENCE_WORDS)).collect()
}

/// The sentences of a line, however long, in order and without the spaces around them.
pub fn whole_sentences(line: &str) -> Vec<&str> {
    let mut start = 0;
    let ends = sentence_ends(line).into_iter().chain([line.len()]);
    let sentences = ends.map(|end| line[std::mem::replace(&mut start, end)..end].trim());
    sentences.filter(|sentence| !sentence.is_empty()).collect()
}

/// Cuts a text into pieces of at most `most` words, where it can behind a comma or semicolon. A script
/// without spaces tells no words apart: there only the end of a clause is a place for a cut.
fn at_most(text: &str, most: usize) -> Vec<&str> {
    if words::is_unspaced(text) {
        return clauses(text, CLAUSE_SIGNS);
    }
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        let mut starts = words::words(rest).map(|word| word.start);
        let half = starts.nth(most / 2).unwrap_or_default();
        let Some(limit) = starts.nth(most - most / 2 - 1) else { break };
        let cut = cut_point(rest, half, limit);
        if cut == 0 || cut >= rest.len() {
            break;
        }
        out.push(rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
    if !rest.is_empty() {
        out.push(rest);
    }
    out
}

/// Cuts a text without spaces behind the clauses with which it grows over `most` signs, brackets whole.
fn clauses(text: &str, most: usize) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut signs, mut depth) = (0, 0, 0usize);
    for (at, c) in text.char_indices() {
        signs += 1;
        match c {
            '（' | '(' | '「' | '“' | '《' => depth += 1,
            '）' | ')' | '」' | '”' | '》' => depth = depth.saturating_sub(1),
            '，' | '；' | '、' | ';' if depth == 0 && signs >= most => {
                let end = at + c.len_utf8();
                out.push(text[start..end].trim());
                (start, signs) = (end, 0);
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out.retain(|piece| !piece.is_empty());
    out
}

/// Where a text is cut before `limit`: behind the last clause past `half`, else at a space.
fn cut_point(text: &str, half: usize, limit: usize) -> usize {
    let head = &text[..limit];
    let clause = head[half..].rfind([',', ';', '|', ')', '}']).map(|at| half + at + 1);
    clause.or_else(|| head.rfind(' ')).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<Cow<'_, str>> =
            pieces(text, false).into_iter().map(|piece| piece.text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn prose_becomes_sentences() {
        check(
            "Use port 80, e.g. for tests. Never touch main.rs! Is that clear?",
            &["Use port 80, e.g. for tests.", "Never touch main.rs!", "Is that clear?"],
        );
    }

    /// RULES 57: "Markers that a summary holds keep their lines".
    #[test]
    fn a_marker_keeps_its_line() {
        check(
            "I begin with it now. [GOAL] is a word here.\n[GOAL] Ship the importer today.\n\
             [DECISION] Use SQLite for the store. No server - LOCKED\n[NEXT] a\nGo on with it now.",
            &[
                "I begin with it now.",
                "[GOAL] is a word here.",
                "[GOAL] Ship the importer today.",
                "[DECISION] Use SQLite for the store. No server - LOCKED",
                "[NEXT] a",
                "Go on with it now.",
            ],
        );
        for line in ["[goal] x", "[GOAL]x", "[WISH] x", "GOAL x"] {
            assert!(!is_marker(line), "{line}");
        }
    }

    #[test]
    fn code_becomes_lines_and_short_ones_join() {
        check(
            "```rust\nlet a = 1;\nlet b = 2;\n```\nAll of that is fine now.",
            &["let a = 1;\nlet b = 2;", "All of that is fine now."],
        );
    }

    #[test]
    fn long_sentences_are_cut_at_a_clause() {
        let long = format!("{}, {}", "word ".repeat(30).trim(), "more ".repeat(30).trim());
        let cut = sentences(&long);
        assert_eq!(cut.len(), 2);
        assert!(cut[0].ends_with(','), "{cut:?}");
    }
}
