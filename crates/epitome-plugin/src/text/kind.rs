//! What lines have in common: their kind, and the numbers in which those of one kind differ.
//!
//! Invariant: lines of one kind hold the same words; a span names two numbers of these lines as
//! they are spelled there. Called by outlines and plugins.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::FxHasher;

use super::shape;

/// A span says at most so many numbers, and takes about so many bytes.
const NUMBERS: usize = 4;
const BYTES: usize = 90;
/// What stands before a number is said up to this many bytes.
const LABEL: usize = 20;
/// Signs between names; those of the first sort do not belong to what stands before them.
const OPENING: [char; 5] = ['(', '[', '{', '"', '\''];
const CLOSING: [char; 5] = ['/', ']', '.', ',', ';'];

/// What kind of line it is: all of it but numbers, and how it begins.
pub fn of(line: &str) -> (u64, u64) {
    // A log says of each thing by itself that it went well.
    if shape::passes(line) && !shape::is_stamped(line) {
        let mut passes = FxHasher::default();
        "passes".hash(&mut passes);
        return (passes.finish(), passes.finish());
    }
    let (mut exact, mut begin) = (FxHasher::default(), FxHasher::default());
    let mut words = 0;
    let mut rest = line.trim();
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (run, after) = rest.split_at(word);
        if is_number(run) {
            '#'.hash(&mut exact);
        } else {
            run.hash(&mut exact);
            if words < 2 && !run.is_empty() {
                run.hash(&mut begin);
                words += 1;
            }
        }
        let signs = after.find(char::is_alphanumeric).unwrap_or(after.len());
        after[..signs].split_whitespace().for_each(|sign| sign.hash(&mut exact));
        rest = &after[signs..];
    }
    if words < 2 {
        return (exact.finish(), exact.finish());
    }
    "begins".hash(&mut begin);
    (exact.finish(), begin.finish())
}

/// Whether a word is a number, an id or part of one.
fn is_number(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
        || word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The numbers in which lines differ, each with the least and the largest: `batch 0–799, 10–90ms`.
/// Empty where the lines are not the same but for their numbers.
pub fn spans<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = lines.next() else { return String::new() };
    let slots: Vec<Range<usize>> = numbers(first).collect();
    let mut ends: Vec<[&str; 2]> = slots.iter().map(|slot| [&first[slot.clone()]; 2]).collect();
    for line in lines {
        let mut behind = [0, 0];
        let mut places = numbers(line);
        for (slot, ends) in slots.iter().zip(&mut ends) {
            let Some(place) = places.next() else { return String::new() };
            if first[behind[0]..slot.start] != line[behind[1]..place.start] {
                return String::new();
            }
            let number = &line[place.clone()];
            match compare(number, ends[0]) {
                Some(Ordering::Less) => ends[0] = number,
                _ if compare(number, ends[1]) == Some(Ordering::Greater) => ends[1] = number,
                _ => {}
            }
            behind = [slot.end, place.end];
        }
        if places.next().is_some() || first[behind[0]..] != line[behind[1]..] {
            return String::new();
        }
    }
    let mut out = String::new();
    let differ = slots.iter().zip(&ends).filter(|(_, [least, most])| least != most);
    for (slot, [least, most]) in differ.filter(|(slot, _)| !is_compound(first, slot)).take(NUMBERS)
    {
        let unit = letters(&first[slot.end..]);
        let said = format!("{}{least}–{most}{unit}", label(&first[..slot.start]));
        if out.len() + said.len() > BYTES {
            break;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&said);
    }
    out
}

/// Where the numbers of a line stand, with sign and fraction.
fn numbers(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = line.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut start = (at..bytes.len()).find(|at| digit(*at))?;
        let mut end = start;
        while digit(end) || bytes.get(end) == Some(&b'.') && end > start && digit(end + 1) {
            end += 1;
        }
        // A sign, not what joins a number to a name.
        let signed = start > at && bytes[start - 1] == b'-';
        let joined =
            |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_-)]".contains(&byte);
        let bare = start < 2 || !joined(bytes[start - 2]);
        start -= usize::from(signed && bare);
        at = end;
        Some(start..end)
    })
}

/// How two numbers stand to each other; `None` where one is none (`1.2.3`).
pub fn compare(one: &str, other: &str) -> Option<Ordering> {
    match (one.parse::<i128>(), other.parse::<i128>()) {
        (Ok(one), Ok(other)) => Some(one.cmp(&other)),
        _ => one.parse::<f64>().ok()?.partial_cmp(&other.parse::<f64>().ok()?),
    }
}

/// Whether a number is only part of a date, a time, an address, an id or the like.
fn is_compound(line: &str, slot: &Range<usize>) -> bool {
    let joins = |c: char| matches!(c, '-' | ':' | '.' | '/' | ',' | '+');
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let holds = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let (before, after) = (&line[..slot.start], &line[slot.end..]);
    let own = before.trim_end_matches(word);
    let other = own.strip_suffix(joins).unwrap_or_default();
    let other = &other[other.trim_end_matches(word).len()..];
    // The number of a line in front of a hit.
    if before.is_empty() && after.starts_with(':') {
        return true;
    }
    let rest = after.trim_start_matches(word);
    let next = rest.strip_prefix(joins).unwrap_or_default();
    let next = &next[..next.len() - next.trim_start_matches(word).len()];
    line[slot.clone()].parse::<f64>().is_err()
        || [&before[own.len()..], other, &after[..after.len() - rest.len()], next]
            .into_iter()
            .any(holds)
}

/// The letters with which a text begins, such as a unit.
fn letters(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_alphabetic).count()]
}

/// What names a number, of the text before it.
fn label(before: &str) -> String {
    let word = |text: &str| text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let mut start = word(before);
    if start == before.len() {
        start = word(before.trim_end());
    }
    let label = before[start..].trim_end_matches(OPENING);
    // Of a path or a call only the last name.
    let last = label.trim_end_matches(|c: char| !c.is_alphanumeric());
    let begin = last.rfind(|c: char| OPENING.contains(&c) || CLOSING.contains(&c));
    let label = &label[begin.map_or(0, |at| at + 1)..];
    let is_clear = label.len() <= LABEL && !label.contains([']', '…']);
    if !is_clear || label.bytes().any(|byte| byte.is_ascii_digit()) {
        return String::new();
    }
    let space = if before.ends_with(OPENING) && !label.is_empty() { " " } else { "" };
    format!("{label}{space}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &str) {
        assert_eq!(spans(lines.iter().copied()), expected);
    }

    #[test]
    fn numbers_are_said_with_their_names() {
        check(
            &[
                "2024-05-01 10:00:09 INFO w-3 batch 17 took 0.5ms of 9",
                "2024-05-01 10:00:10 INFO w-1 batch 4 took 12.25ms of 9",
                "2024-05-01 10:00:11 INFO w-2 batch 5 took 3ms of 9",
            ],
            "w-1–3, batch 4–17, took 0.5–12.25ms",
        );
        check(&["let h_1 = get(\"s_1\");", "let h_20 = get(\"s_20\");"], "h_1–20, s_1–20");
        check(&["call(1);", "call(3);"], "call 1–3");
        check(&["at -5 deg", "at 3 deg"], "at -5–3");
        check(&["x=-5", "x=-9"], "x=-9–-5");
    }

    #[test]
    fn parts_of_dates_and_ids_are_no_numbers() {
        check(&["10:00:01 up", "10:00:02 up"], "");
        check(&["id 7f-3", "id 7f-4"], "");
        check(&["v1.2.3", "v1.2.4"], "");
        check(&["10.0.0.1 in", "10.0.0.2 in"], "");
        check(&["x 1e-5", "x 1e-6"], "");
    }

    #[test]
    fn lines_with_other_words_have_no_span() {
        check(&["one 1", "two 2"], "");
        check(&["one 1", "one 2 3"], "");
        check(&["one 1"], "");
        check(&[], "");
    }
}
