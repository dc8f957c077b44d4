//! Cuts a text into the pieces that byte-pair merges never cross: hand-written equals of the
//! patterns of o200k_base and cl100k_base. Invariant: a piece is never empty and the work is linear
//! in the text, whatever the text. Called by the tokenizer.

use crate::class::bits::{LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UNCASED, UPPER};
use crate::class::{class_at, run};

#[cfg(feature = "cl100k")]
const LETTER: u8 = UPPER | LOWER | UNCASED;
const BLANK: u8 = SPACE | NEWLINE;
const SYMBOL: u8 = OTHER | MARK;

/// The end of the o200k_base piece that starts at `start`, which must be before the end.
#[cfg(feature = "o200k")]
#[inline]
pub(crate) fn o200k(text: &str, start: usize) -> usize {
    let (first, len) = class_at(text, start);
    // `[^\r\n\p{L}\p{N}]?` before a word. A mark also fits, but it may open the word itself, which
    // comes to the same end.
    let body = if first & (SPACE | OTHER) == 0 { start } else { start + len };
    if let Some(end) = cased_word(text, body) {
        return end + contraction(text, end);
    }
    if first & NUMBER != 0 {
        return digits(text, start);
    }
    symbols(text, start, |byte| matches!(byte, b'\r' | b'\n' | b'/'))
        .unwrap_or_else(|| blanks(text, start, false))
}

/// The end of the cl100k_base piece that starts at `start`, which must be before the end.
#[cfg(feature = "cl100k")]
#[inline]
pub(crate) fn cl100k(text: &str, start: usize) -> usize {
    let (first, len) = class_at(text, start);
    let contracted = contraction(text, start);
    if contracted > 0 {
        return start + contracted;
    }
    let body = if first & (LETTER | NUMBER | NEWLINE) == 0 { start + len } else { start };
    let end = run(text, body, LETTER);
    if end > body {
        return end;
    }
    if first & NUMBER != 0 {
        return digits(text, start);
    }
    symbols(text, start, |byte| matches!(byte, b'\r' | b'\n'))
        .unwrap_or_else(|| blanks(text, start, true))
}

/// The first two alternatives of o200k_base from after their prefix: upper case then at least one
/// lower, else at least one upper. Uncased letters and marks are both, so where no lower case
/// follows, the first alternative backs up to the last of them.
#[cfg(feature = "o200k")]
fn cased_word(text: &str, start: usize) -> Option<usize> {
    let mut end = start;
    let mut uncased = None;
    loop {
        let (class, len) = class_at(text, end);
        match class {
            UPPER => end += len,
            UNCASED | MARK => {
                end += len;
                uncased = Some(end);
            }
            LOWER => return Some(run(text, end + len, LOWER | UNCASED | MARK)),
            _ => return uncased.or((end > start).then_some(end)),
        }
    }
}

/// The length of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, or 0.
fn contraction(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'\'') {
        return 0;
    }
    let lower = |ahead: usize| bytes.get(at + ahead).map_or(0, u8::to_ascii_lowercase);
    match (lower(1), lower(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        // The long s, which folds to s.
        (0xC5, 0xBF) => 3,
        _ => 0,
    }
}

/// `\p{N}{1,3}`, of which the first is known.
fn digits(text: &str, start: usize) -> usize {
    let mut end = start;
    for _ in 0..3 {
        let (class, len) = class_at(text, end);
        if class & NUMBER == 0 {
            break;
        }
        end += len;
    }
    end
}

/// ` ?[^\s\p{L}\p{N}]+`, then any bytes of `tail`.
fn symbols(text: &str, start: usize, tail: impl Fn(u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let body = if bytes.get(start) == Some(&b' ') { start + 1 } else { start };
    let end = run(text, body, SYMBOL);
    (end > body).then(|| end + bytes[end..].iter().take_while(|&&byte| tail(byte)).count())
}

/// A run of white space: up to its last line end (unless it is the text's end and `whole_tail`),
/// else all but its last character (which goes to what follows), else that one.
fn blanks(text: &str, start: usize, whole_tail: bool) -> usize {
    let mut end = start;
    let mut last = start;
    let mut newline = None;
    loop {
        let (class, len) = class_at(text, end);
        if class & BLANK == 0 {
            break;
        }
        last = end;
        end += len;
        if class == NEWLINE {
            newline = Some(end);
        }
    }
    match newline {
        _ if whole_tail && end == text.len() => end,
        Some(newline) => newline,
        None if end == text.len() || last == start => end,
        None => last,
    }
}

#[cfg(test)]
#[cfg(all(feature = "o200k", feature = "cl100k"))]
mod tests {
    use super::*;

    fn check(piece: fn(&str, usize) -> usize, expected: &[&str]) {
        let text = expected.concat();
        let mut found = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = piece(&text, start);
            found.push(&text[start..end]);
            start = end;
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn words_take_what_stands_before_them() {
        for piece in [o200k, cl100k] {
            check(piece, &["one", " two", "\tthree", "(four", ")", " five", "  ", " six"]);
            check(piece, &["\n", "seven", " ", "8", " ", "901", "2", "e"]);
        }
    }

    #[test]
    fn case_divides_words_in_o200k_only() {
        check(o200k, &["get", "Element", "HTMLtext", "XML"]);
        check(o200k, &["中", "ABC", " 中ABC中d", "DÉ"]);
        check(cl100k, &["getElementHTMLtextXML"]);
    }

    #[test]
    fn contractions_end_words_in_o200k_and_stand_alone_in_cl100k() {
        check(o200k, &["don't", " WE'LL", " it'\u{17F}", " o", "'clock"]);
        check(cl100k, &["don", "'t", " WE", "'LL", " it", "'\u{17F}", " o", "'clock"]);
    }

    #[test]
    fn marks_belong_to_words_in_o200k_only() {
        check(o200k, &["e\u{301}a", "!\u{301}b"]);
        check(cl100k, &["e", "\u{301}a", "!\u{301}", "b"]);
    }

    #[test]
    fn symbols_take_line_ends() {
        check(o200k, &[" //\n/\r\n", "a", " {}\n\n", " b"]);
        check(cl100k, &[" //\n", "/\r\n", "a", " {}\n\n", " b"]);
    }

    #[test]
    fn white_space_leaves_its_last_character() {
        for piece in [o200k, cl100k] {
            check(piece, &["a", " \t", " b", " \n \n", "  ", " c", "   "]);
        }
        check(o200k, &["a", "\n\n", "  "]);
        check(cl100k, &["a", "\n\n  "]);
    }
}
