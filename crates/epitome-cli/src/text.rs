//! Small matters of wording and width.
//!
//! Invariant: pure functions of their arguments.

use epitome::types::TokenUsage;
pub(crate) use epitome_page::figures::{counted, grouped};
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text without line breaks: every run of white space is one space.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a provider counted for so many answers, in words.
pub(crate) fn usage(answers: u64, usage: &TokenUsage) -> String {
    let [prompt, read, output] = [usage.prompt(), usage.cache_read, usage.output].map(grouped);
    let answers = counted(answers, "answer");
    format!("{prompt} tokens in, {read} of them from its cache, {output} out, in {answers}")
}

/// How often something was done, for a cell of a table: nothing where it was not.
pub(crate) fn often(count: u64) -> String {
    if count == 0 { String::new() } else { counted(count, "time") }
}

/// The cells that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// At most `most` cells of a text, the last one an ellipsis where it is longer.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fits = |c: &char| {
        let wide = c.width().unwrap_or(0);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    kept + "…"
}

/// A text in lines of at most `most` cells, broken between words; the lines after the first stand
/// `indent` cells to the right.
pub(crate) fn wrapped(text: &str, most: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (place, word) in text.split(' ').enumerate() {
        let cells = width(word);
        if at > indent && at + 1 + cells > most {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent;
        } else if place > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += cells;
    }
    out
}

/// A time as people read it: `2025-03-01 10:30`, in UTC as it was recorded.
pub(crate) fn moment(iso: &str) -> String {
    match iso.get(..16) {
        Some(minute) if minute.as_bytes()[10] == b'T' => minute.replace('T', " "),
        _ => iso.to_owned(),
    }
}

/// A text on a line that no terminal takes for a command: tabs and line ends are spaces, other
/// control characters are left out. What would turn the line around, or hide in it, is shown by its
/// number.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' => out.push(' '),
            c if c.is_control() => {}
            c if turns_or_hides(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A text with what would turn a line around, or hide in it, shown by its number.
pub(crate) fn without_turns(text: &str) -> Cow<'_, str> {
    if !text.chars().any(turns_or_hides) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| match turns_or_hides(c) {
        true => format!("⟨U+{:04X}⟩", u32::from(c)),
        false => c.to_string(),
    });
    Cow::Owned(shown.collect())
}

/// Whether a character turns the direction of those beside it, or takes no place. Those that join
/// letters and signs of a script are none.
fn turns_or_hides(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// Numbered names in short: `e1 e4-e9`.
pub(crate) fn ranges(names: &[String]) -> String {
    let number = |name: &str| name.trim_start_matches('e').parse::<u64>().ok();
    let mut out: Vec<(String, String)> = Vec::new();
    for name in names {
        match out.last_mut() {
            Some((_, last)) if number(last).map(|last| last + 1) == number(name) => {
                last.clone_from(name);
            }
            _ => out.push((name.clone(), name.clone())),
        }
    }
    let range = |(first, last): (String, String)| {
        if first == last { first } else { format!("{first}-{last}") }
    };
    out.into_iter().map(range).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_a_line_around_is_shown() {
        for (text, expected) in [
            ("user\u{202e}txt.exe", "user⟨U+202E⟩txt.exe"),
            ("a\u{2066}b\u{2069}\u{200b}", "a⟨U+2066⟩b⟨U+2069⟩⟨U+200B⟩"),
            ("می\u{200c}خواهم 👩\u{200d}🚒\tx\u{7}", "می\u{200c}خواهم 👩\u{200d}🚒 x"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (41_230_000, "41,230,000")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!((&*counted(1, "message"), &*counted(2, "message")), ("1 message", "2 messages"));
    }

    #[test]
    fn long_texts_are_clipped() {
        let check = |text: &str, width, clip: &str| assert_eq!(clipped(text, width), clip);
        check("abc", 3, "abc");
        check("abcd", 3, "ab…");
        check("äöüß", 2, "ä…");
        check("日本語", 5, "日本…");
        check("日本語", 4, "日…");
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let check = |text: &str, most, lines: &str| assert_eq!(wrapped(text, most, 4), lines);
        check("  a one two", 99, "  a one two");
        check("  a one two three", 11, "  a one two\n    three");
        check("  a one two three", 10, "  a one\n    two\n    three");
        check("  abc overlongword x", 8, "  abc\n    overlongword\n    x");
    }

    #[test]
    fn a_cell_tells_how_often() {
        assert_eq!([0, 1, 10, 200].map(often), ["", "1 time", "10 times", "200 times"]);
    }

    #[test]
    fn times_are_shown_to_the_minute() {
        assert_eq!(moment("2025-03-01T10:30:59.123Z"), "2025-03-01 10:30");
        assert_eq!((&*moment("today"), &*moment("")), ("today", ""));
    }

    #[test]
    fn nothing_recorded_commands_a_terminal() {
        assert_eq!(plain("a\x1b[2Jb\u{7}\u{9b}c\td"), "a[2Jbc d");
    }

    #[test]
    fn neighbours_make_a_range() {
        let check = |names: &[&str], text: &str| {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            assert_eq!(ranges(&names), text);
        };
        check(&[], "");
        check(&["e4"], "e4");
        check(&["e4", "e5", "e6", "e9"], "e4-e6 e9");
    }
}
