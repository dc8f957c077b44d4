//! The beginning and the end of a text, in whole lines, sentences or words.
//!
//! Invariant: neither is longer than what was asked for, and neither ends or begins within a word that has
//! an ordinary length. Of a line of sentences only whole ones are taken. Called by [`crate::cut`].

use epitome_kernel::types::{sentence_ends, time_stamp};

/// The length of an ordinary line, in bytes.
const LINE: usize = 120;
/// A name before what somebody says is no longer, in bytes.
const NAME: usize = 32;

/// At most so many bytes of the beginning.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    if bytes >= text.len() {
        return text;
    }
    let piece = &text[..text.floor_char_boundary(bytes)];
    let line = piece.rfind('\n').map_or(0, |end| end + 1);
    if is_whole(&text[..piece.len()], &text[piece.len()..]) {
        return piece;
    }
    if line > 0 && is_near(piece.len() - line, piece.len()) {
        return &text[..line];
    }
    let whole = text[line..].split('\n').next().unwrap_or_default();
    let held = piece.len() - line;
    if let Some(ends) = of_sentences(whole) {
        return &text[..line + ends.into_iter().rfind(|end| *end <= held).unwrap_or_default()];
    }
    // A key stands with its value.
    let is_close = |end: &usize| piece.len() - end <= LINE;
    let field = piece.rfind(',').filter(|end| is_close(end) && !is_plain(whole));
    let word = || piece.rfind(is_between).filter(|end| is_close(end) && !is_json(whole));
    match field.or_else(word) {
        Some(end) => piece[..=end].trim_end(),
        None if is_json(whole) && held <= LINE => &text[..line],
        None => piece,
    }
}

/// At most so many bytes of the end.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    if bytes >= text.len() {
        return text;
    }
    let start = text.ceil_char_boundary(text.len() - bytes);
    let piece = &text[start..];
    if is_whole(&text[..start], piece) {
        return piece.trim_start_matches('\n');
    }
    let own = piece.find('\n').map_or(piece.len(), |end| end + 1);
    if own < piece.len() && is_near(own, piece.len()) {
        return &piece[own..];
    }
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let whole = text[line..].split('\n').next().unwrap_or_default();
    if let Some(ends) = of_sentences(whole) {
        // Without who says it, the end of what is said reads as another's.
        let ends = ends.into_iter().filter(|_| !is_marked(whole));
        let begin = ends.map(|end| line + end).find(|end| *end >= start);
        return text[begin.unwrap_or(start + own)..].trim_start_matches(' ');
    }
    let field = piece.find(',').filter(|end| *end <= LINE && !is_plain(whole));
    let word = || piece.find(is_between).filter(|end| *end <= LINE && !is_json(whole));
    match field.or_else(word) {
        Some(end) => piece[end + 1..].trim_start(),
        None if is_json(whole) && piece.len() <= LINE => "",
        None => piece,
    }
}

/// Whether a line begins with who says it or when.
fn is_marked(line: &str) -> bool {
    let head = &line[..line.floor_char_boundary(NAME)];
    let name = head.split_once([':', '：']).map_or("", |(name, _)| name);
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase());
    let is_named = !name.is_empty() && name.split(' ').all(is_name);
    is_named || line.starts_with('[') && time_stamp(line) > 0
}

/// Whether a text is cut between two lines there.
fn is_whole(before: &str, behind: &str) -> bool {
    before.is_empty() || before.ends_with('\n') || behind.is_empty() || behind.starts_with('\n')
}

/// Whether words or fields end there.
fn is_between(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ',')
}

/// Whether a line is language, as far as its signs tell.
fn is_plain(line: &str) -> bool {
    let is_sign = |b: &u8| b"{}[];=<>|\\".contains(b);
    !is_json(line) && line.bytes().filter(is_sign).count() * 12 <= line.len()
}

/// Whether a line is JSON: of that a key stands with its value, or neither does.
fn is_json(line: &str) -> bool {
    ["{", "[{", "[\"", "[["].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// Where the sentences of a line end, where it is made of any.
fn of_sentences(line: &str) -> Option<Vec<usize>> {
    let is_plain = is_plain(line);
    let is_ended =
        line.trim_end().ends_with(['.', '!', '?', '。', '！', '？', '؟', '۔', '।', ')', '"']);
    let ends = if is_plain { sentence_ends(line) } else { Vec::new() };
    let has_words = || line.split_whitespace().count() > 2 || !line.is_ascii();
    (is_plain && (!ends.is_empty() || is_ended && has_words())).then_some(ends)
}

/// Whether the end of a line is worth what is lost up to it: an ordinary line of a short piece,
/// little of a long one.
fn is_near(lost: usize, piece: usize) -> bool {
    lost <= piece / 2 && lost <= LINE.max(piece / 50)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes: usize, expected: [&str; 2]) {
        assert_eq!([head(text, bytes), tail(text, bytes)], expected);
    }

    #[test]
    fn no_field_is_torn() {
        let json = r#"{"service": "web", "ok": true, "summary": {"code": 0}}"#;
        check(json, 7, ["", ""]);
        check(json, 30, [r#"{"service": "web", "ok": true,"#, r#""summary": {"code": 0}}"#]);
        check(json, 20, [r#"{"service": "web","#, ""]);
    }

    #[test]
    fn sentences_stay_whole() {
        let said =
            "It is 3.1, still above 3. He had soup and half a slice of bread. All is well here.";
        check(said, 40, ["It is 3.1, still above 3.", "All is well here."]);
        check(
            said,
            70,
            [
                "It is 3.1, still above 3. He had soup and half a slice of bread.",
                "He had soup and half a slice of bread. All is well here.",
            ],
        );
        check(said, 10, ["", ""]);
        check(
            "我四号出发，住四晚。不要早餐。谢谢你们。",
            48,
            ["我四号出发，住四晚。不要早餐。", "不要早餐。谢谢你们。"],
        );
    }

    #[test]
    fn nothing_stands_without_who_says_it() {
        let talk =
            "[18:03] Ada: The oven came. It has a crack.\n[18:05] Bo: Poor you. My knee is bad.";
        check(talk, 20, ["", ""]);
        check(
            talk,
            50,
            [
                "[18:03] Ada: The oven came. It has a crack.\n",
                "[18:05] Bo: Poor you. My knee is bad.",
            ],
        );
        check("Ada: The oven came. It has a crack.", 20, ["Ada: The oven came.", ""]);
    }

    #[test]
    fn lines_and_words_stay_whole() {
        let lines = "one two three\nfour five six\nseven eight nine\n";
        check(lines, 18, ["one two three\n", "seven eight nine\n"]);
        let json =
            r#"{"service": "worker", "zone": "prod-b", "steps": [{"name": "push"}], "ok": true}"#;
        check(json, 30, [r#"{"service": "worker","#, r#""ok": true}"#]);
        let blob = "x".repeat(400);
        check(&blob, 200, [&blob[..200], &blob[..200]]);
    }
}
