//! Ranks the lines of source code.
//!
//! Invariant: a line's rank depends on its shape and on its neighbours', never on its place in the
//! text. Called by the crate.

use epitome_plugin::text::outline::{DigestOutline, OutlineItem, RankCap, clip, counted};
use epitome_plugin::text::query::QueryWords;
use epitome_plugin::text::{code, shape};
use epitome_plugin::{DigestInput, DigestOutput};

use crate::KIND;

/// Bodies are shown too up to this size, by the measure of the job.
pub(crate) const WHOLE: u64 = 1500;
/// A line has at most about so many bytes.
const LINE: usize = 400;
/// A signature has at most so many lines.
const SIGNATURE: usize = 8;
/// A note takes as much room as a line of so many bytes.
const SHORT: usize = 24;
/// Lines around one that was asked for.
const AROUND: usize = 2;

/// Ranks: what is declared at the margin, what was asked for, what is unfinished, what is declared
/// within, what these are documented with, imports, what stands around what was asked for, bodies.
const TOP: u32 = 0;
const ASKED: u32 = 1;
const ODD: u32 = 2;
const INNER: u32 = 3;
const DOC: u32 = 4;
const IMPORT: u32 = 5;
const NEAR: u32 = 6;
const BODY: u32 = 7;

pub(crate) fn digest(job: &DigestInput<'_>) -> Option<DigestOutput> {
    let spans: Vec<_> =
        shape::lines(job.text).filter(|span| !job.text[span.clone()].trim().is_empty()).collect();
    let lines: Vec<&str> = spans.iter().map(|span| &job.text[span.clone()]).collect();
    let ranks = ranks(&lines, &QueryWords::of(job.arguments, lines.iter().copied()));
    let items =
        spans.iter().zip(&lines).zip(ranks).enumerate().map(|(like, ((span, line), rank))| {
            let text = clip(line, LINE);
            let whole = text.len() == line.len();
            OutlineItem { text, span: span.clone(), rank, like, whole }
        });
    let outline = DigestOutline {
        head: format!("[… outline of source code, {}]", counted(lines.len(), "lines")),
        items: items.collect(),
        caps: vec![RankCap { rank: NEAR, most: job.number("whole", WHOLE) }],
        noun: Some("lines"),
        must: false,
    };
    let digested = outline.fill(job, KIND)?;
    (digested.text.len() < job.text.len()).then_some(digested)
}

fn ranks(lines: &[&str], asked: &QueryWords) -> Vec<u32> {
    let bare: Vec<&str> = lines.iter().map(|line| code::unnumbered(line)).collect();
    let mut ranks: Vec<u32> = bare.iter().map(|line| of_line(line, asked)).collect();
    for index in 0..bare.len() {
        match ranks[index] {
            TOP | INNER if code::declares(bare[index]) => declaration(&bare, &mut ranks, index),
            ASKED => {
                let end = (index + AROUND + 1).min(ranks.len());
                let near = &mut ranks[index.saturating_sub(AROUND)..end];
                near.iter_mut().for_each(|rank| *rank = (*rank).min(NEAR));
            }
            _ => {}
        }
    }
    // What the file says of itself.
    let about = bare.iter().take_while(|line| code::comments(line)).position(|line| says(line));
    if let Some(about) = about {
        ranks[about] = ranks[about].min(DOC);
    }
    for index in 1..ranks.len().saturating_sub(1) {
        let beside = ranks[index - 1].max(ranks[index + 1]);
        if ranks[index] == BODY && bare[index].len() <= SHORT {
            ranks[index] = beside;
        }
    }
    ranks
}

/// What a line is by itself.
fn of_line(line: &str, asked: &QueryWords) -> u32 {
    let margin = !line.starts_with([' ', '\t']);
    match () {
        () if asked.says(line) => ASKED,
        () if margin && code::imports(line) => IMPORT,
        () if code::is_odd(line) => ODD,
        () if code::comments(line) => BODY,
        () if code::declares(line) => {
            if margin {
                TOP
            } else {
                INNER
            }
        }
        () => BODY,
    }
}

/// A declaration: the rest of its signature, and the first line of what documents it.
fn declaration(lines: &[&str], ranks: &mut [u32], index: usize) {
    let rank = ranks[index];
    let depth = |line: &str| {
        let count = |signs: [char; 2]| line.matches(signs).count() as i64;
        count(['(', '[']) - count([')', ']'])
    };
    let mut open = depth(lines[index]);
    let mut end = index + 1;
    while open > 0 && end < lines.len().min(index + SIGNATURE) {
        open += depth(lines[end]);
        ranks[end] = ranks[end].min(rank);
        end += 1;
    }
    let goes_on =
        |line: &&str| ["throws ", "-> "].iter().any(|sign| line.trim_start().starts_with(sign));
    if lines.get(end).is_some_and(goes_on) {
        ranks[end] = ranks[end].min(rank);
        end += 1;
    }
    // A docstring stands below what it documents, any other text above.
    if lines
        .get(end)
        .is_some_and(|line| line.trim_start().starts_with(['"', '\'']) && code::comments(line))
    {
        ranks[end] = ranks[end].min(DOC);
    }
    let about = lines[..index]
        .iter()
        .rev()
        .take_while(|line| code::decorates(line) || code::comments(line));
    let first = index - about.count();
    let first = (first..index).find(|at| says(lines[*at]));
    if let Some(first) = first {
        ranks[first] = ranks[first].min(DOC);
    }
}

/// Whether a comment says something: `/**` alone does not.
fn says(line: &str) -> bool {
    code::comments(line) && !line.starts_with("#!") && line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, arguments: &str, expected: &[u32]) {
        let lines: Vec<&str> = text.lines().collect();
        let asked = QueryWords::of(arguments, lines.iter().copied());
        let found = ranks(&lines, &asked);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn signatures_are_whole_and_documented_by_a_line() {
        check(
            "//! About.\nuse std::io;\n/// Reads it.\n/// In full.\n#[inline]\npub fn read(\n    a: u8,\n) -> u8 {\n    a + 1\n}",
            "",
            &[DOC, IMPORT, DOC, BODY, BODY, TOP, TOP, TOP, BODY, BODY],
        );
        check(
            "class A:\n    \"\"\"An A.\"\"\"\n    def get(self):\n        # TODO: more\n        return self.a",
            "",
            &[TOP, DOC, INNER, ODD, BODY],
        );
        check(
            "/**\n * Says.\n */\nfunction say() {\n  go();\n}",
            "",
            &[BODY, DOC, DOC, TOP, BODY, BODY],
        );
    }

    #[test]
    fn what_was_asked_for_is_shown_with_its_neighbours() {
        check(
            "fn a() {\n  one();\n  two();\n  limit(3);\n  four();\n  five();\n  six();\n}",
            r#"{"question": "which limit"}"#,
            &[TOP, NEAR, NEAR, ASKED, NEAR, NEAR, BODY, BODY],
        );
    }
}
