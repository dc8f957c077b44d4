//! Lines that were cut at a width: which line of a text goes on in the next.
//!
//! Invariant: what is joined is one slice of the text, line ends and all; nothing is reworded. Called
//! by whoever reads lines that somebody wrote.

use crate::turn_mark;

/// Nobody cuts lines at a smaller width (characters); shorter ones end where their writer ended them.
const NARROWEST: usize = 48;

/// Where the line from `start` to `end` ends with those that go on in it (bytes), the last line end left
/// out. `end` is behind the line and before its line end.
pub(crate) fn end(text: &str, start: usize, mut end: usize) -> usize {
    let (mut line, mut is_wrapped) = (&text[start..end], false);
    while let Some(next) = next_line(text, end) {
        let behind = end_of(text, next);
        match goes_on(line, next) {
            GoingOn::Surely => is_wrapped = true,
            // A name or a noun, where the lines around it are cut at a width.
            GoingOn::Maybe if is_wrapped || is_cut_again(text, next, behind) => {}
            GoingOn::Maybe | GoingOn::No => break,
        }
        (line, end) = (next, behind);
    }
    end
}

/// Whether a line goes on in the one behind it for sure.
fn is_cut_again(text: &str, line: &str, end: usize) -> bool {
    next_line(text, end).is_some_and(|next| goes_on(line, next) == GoingOn::Surely)
}

/// The line behind a line end at `end`.
fn next_line(text: &str, end: usize) -> Option<&str> {
    let rest = text[end..].strip_prefix("\r\n").or_else(|| text[end..].strip_prefix('\n'))?;
    rest.lines().next()
}

/// Where a line of a text ends in it.
fn end_of(text: &str, line: &str) -> usize {
    line.as_ptr() as usize - text.as_ptr() as usize + line.len()
}

/// Whether a line goes on in the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoingOn {
    No,
    /// The next may as well begin a sentence.
    Maybe,
    Surely,
}

/// Whether a line was cut because the first word of the next had no room on it.
fn goes_on(line: &str, next: &str) -> GoingOn {
    let (line, next) = (line.trim(), next.trim());
    let width = line.chars().count();
    let said = line.trim_end_matches(['*', '_', '"', '\'', ')', '”', '»']);
    if width < NARROWEST || said.is_empty() || said.ends_with(ENDS) || begins_anew(line, next) {
        return GoingOn::No;
    }
    let Some(word) = next.split_whitespace().next() else { return GoingOn::No };
    if width + 1 + word.chars().count() <= next.chars().count() {
        return GoingOn::No;
    }
    let begins = word.trim_start_matches(['*', '_', '"', '\'', '(', '“', '«']).chars().next();
    let is_sentence = begins.is_some_and(char::is_uppercase) && !said.ends_with(',');
    if is_sentence { GoingOn::Maybe } else { GoingOn::Surely }
}

/// What a sentence, a heading or a line of code ends with.
const ENDS: [char; 16] =
    ['.', '!', '?', ':', ';', '…', '。', '！', '？', '：', '；', '|', '{', '}', '`', '>'];

/// Whether a line is neither a heading, quoted, a row of a table or code, nor a point of a list, nor opened
/// by who says it.
pub(crate) fn is_of_prose(line: &str) -> bool {
    !begins_anew(line, line)
}

/// Whether one of two lines is a heading, quoted, a fence, a row of a table or code, or the second a
/// point of a list, or opened by who says it or what it is.
fn begins_anew(line: &str, next: &str) -> bool {
    let own = ["#", ">", "|", "```", "~~~", "@@", "+++", "---", "$ ", "<", "[", "//", "{"];
    let is_own = |line: &str| own.iter().any(|mark| line.starts_with(mark));
    let is_point = next.starts_with('/') || without_bullet(next).len() < next.len();
    is_own(line) || is_own(next) || is_point || is_labelled(next) || turn_mark::opens(next)
}

/// Whether a line opens with a label: `User:`, `Note:`, `Tool (read a.rs):`.
fn is_labelled(line: &str) -> bool {
    let label = line.split_whitespace().next().and_then(|word| word.strip_suffix(':'));
    label.is_some_and(|label| label.starts_with(char::is_uppercase)) || line.starts_with("Tool (")
}

/// A line without `- `, `* `, `1. ` or `2) ` before it.
pub(crate) fn without_bullet(line: &str) -> &str {
    if let Some(rest) = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return rest.trim_start();
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < line.len() && line.len() - rest.len() < 3;
    let point = [". ", ") "].iter().find_map(|mark| rest.strip_prefix(mark));
    point.filter(|_| numbered).map_or(line, str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, paragraphs: &[&str]) {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let line = at + text[at..].find('\n').unwrap_or(text.len() - at);
            let until = end(text, at, line);
            found.push(&text[at..until]);
            at = until + 1;
        }
        assert_eq!(found, paragraphs);
    }

    #[test]
    fn a_line_cut_at_a_width_goes_on() {
        let order = "Never write to the production database from a test, and never run the\n\
                     migration script without asking me about it before.";
        check(order, &[order]);
        check(&format!("{order}\nThe build is slow."), &[order, "The build is slow."]);
        let name = "When a migration has to be run against the live tables, please ask\n\
                    Marie Curie or me before, because we know which of these tables are\n\
                    locked.";
        check(name, &[name]);
        let point = "- Do not touch the lock file, whatever the resolver says about it, and\n  do \
                     not commit anything.";
        check(
            &format!("{point}\n- Keep port 8443."),
            &[
                "- Do not touch the lock file, whatever the resolver says about it, and\n  do not commit anything.",
                "- Keep port 8443.",
            ],
        );
    }

    #[test]
    fn a_line_that_its_writer_ended_stays() {
        for text in [
            "fix the parser\nnever touch the lock file\nadd tests",
            "Use tabs for indentation everywhere in this repository\nNever touch the lock file",
            "Set the timeout to 45 seconds. Keep every answer under 80 words\nI saw a ValueError here",
            "This is a whole sentence that stands on a long line.\nand this is another",
            "The following has to hold for each of the modules that we ship:\nnever panic",
            "We want each of these to be done before the end of the week\n- parser\n- printer",
            "A line with a good deal of room behind what was written on it\nfollowed by one that is so much longer that the first word of it would have fitted",
            "We want each of these to be done before the end of the week\n\nand then some",
            "Assistant: read_file(path services/billing/stage_0.py, start 0)\nUser: Do not log card numbers, not even masked ones.\nAssistant: read_file(path services/billing/stage_1.py, start 1)",
            "let a_long_line_of_code = another_function(with_arguments, and_more);\nlet b = 2",
        ] {
            let lines: Vec<&str> = text.split('\n').collect();
            check(text, &lines);
        }
    }
}
