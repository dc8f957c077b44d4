//! Words of others, made visible.
//!
//! Invariant: what a terminal would act on is left out, and what a reader would not see is shown by its
//! number: nothing turns a line around or hides in it. HTML is escaped where the text is written.

use std::fmt::Write;

/// A text as people may look at it.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_parameters(&mut rest),
            '\n' | '\t' => out.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            c if c.is_control() => out.push('·'),
            c if is_hidden(c) => {
                // Writing to a string does not fail.
                write!(out, "⟨U+{:04X}⟩", u32::from(c)).unwrap_or_default();
            }
            c => out.push(c),
        }
    }
    out
}

/// The same on one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    // A text may be as large as a file; a character of it takes few bytes in the line.
    let text = &text[..text.floor_char_boundary(text.len().min(most * 16 + 256))];
    let mut words = shown(text).split_whitespace().fold(String::new(), |mut line, word| {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        line
    });
    if let Some((end, _)) = words.char_indices().nth(most) {
        words.truncate(end);
        words.push('…');
    }
    words
}

/// Leaves the rest of a sequence out that begins with an escape.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => skip_parameters(rest),
        // A string goes on to its end.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = rest.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    break;
                }
                if c == '\u{1b}' {
                    rest.next_if_eq(&'\\');
                    break;
                }
            }
        }
        _ => {}
    }
}

fn skip_parameters(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    rest.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

/// Whether a character takes no place, or turns the direction of those beside it.
fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn colours_and_commands_of_terminals_are_left_out() {
        check("\u{1b}[1;31mred\u{1b}[0m text", "red text");
        check("\u{1b}]8;;http://a.example\u{7}link\u{1b}]8;;\u{1b}\\ end", "link end");
        check("\u{9b}2Ja\u{1b}cb", "ab");
        check("a\u{8}b\r\nc", "a·b\nc");
    }

    #[test]
    fn what_hides_or_turns_is_shown_by_its_number() {
        check("user\u{202e}txt.exe", "user⟨U+202E⟩txt.exe");
        check("pass\u{200b}word\u{feff}", "pass⟨U+200B⟩word⟨U+FEFF⟩");
        check("日本語 – naïve 🙂", "日本語 – naïve 🙂");
    }

    #[test]
    fn a_line_is_cut_at_its_length() {
        assert_eq!(line("one\n  two\tthree", 9), "one two t…");
        assert_eq!(line(" one ", 9), "one");
    }
}
