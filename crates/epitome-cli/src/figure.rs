//! Figures and names for tables that are narrow.
//!
//! Invariant: pure functions of their arguments.

use unicode_width::UnicodeWidthChar;

use crate::text::width;

/// At most `most` cells of a text, the middle left out where it is longer.
pub(crate) fn middle(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let head = taken(text.chars(), room / 2);
    let mut tail = taken(text.chars().rev(), room - room / 2);
    tail.reverse();
    head.into_iter().chain(['…']).chain(tail).collect()
}

/// The first characters that take at most so many cells.
fn taken(text: impl Iterator<Item = char>, mut left: usize) -> Vec<char> {
    let fits = |letter: &char| {
        let rest = left.checked_sub(letter.width().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    text.take_while(fits).collect()
}

/// A number in at most five characters: `812`, `41.2k`, `1.23M`.
pub(crate) fn short(number: u64) -> String {
    let units = [(1_000_000_000_u64, "G"), (1_000_000, "M"), (1_000, "k")];
    // What would be rounded up to the next unit is said in it.
    let found = units.into_iter().find(|(unit, _)| number >= unit / 10_000 * 9_995);
    let Some((unit, name)) = found.filter(|_| number >= 1_000) else { return number.to_string() };
    let figure = number as f64 / unit as f64;
    let digits = match figure {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{figure:.digits$}{name}")
}

/// An amount of US dollars: `$12.34`, `-$0.0031`.
pub(crate) fn dollars(amount: f64) -> String {
    let digits = if amount == 0.0 || amount.abs() >= 0.995 { 2 } else { 4 };
    let sign = if amount < 0.0 { "-" } else { "" };
    format!("{sign}${:.digits$}", amount.abs())
}

/// An estimate in dollars by its ends: `$0.31 ±0.08`.
pub(crate) fn about(least: f64, most: f64) -> String {
    let [middle, half] = [least + most, most - least].map(|sum| sum / 2.0);
    let half = if half < 0.005 { String::new() } else { format!(" ±{half:.2}") };
    let sign = if middle <= -0.005 { "-" } else { "" };
    format!("{sign}${:.2}{half}", middle.abs())
}

/// A part of a whole in percent: `38 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        _ => format!("{:.0} %", part as f64 * 100.0 / whole as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_are_left_out() {
        let check = |text: &str, width, cut: &str| assert_eq!(middle(text, width), cut);
        check("abcdef", 6, "abcdef");
        check("abcdefg", 6, "ab…efg");
        check("äöüß", 2, "…ß");
        check("日本語日本語", 6, "日…語");
        check("ab", 0, "");
    }

    #[test]
    fn large_numbers_are_short() {
        let check = |number, text: &str| assert_eq!(short(number), text);
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.00k"),
            (9_994, "9.99k"),
            (9_996, "10.0k"),
            (41_230, "41.2k"),
            (999_400, "999k"),
            (999_600, "1.00M"),
            (12_345_678, "12.3M"),
            (7_000_000_000, "7.00G"),
        ] {
            check(number, text);
        }
    }

    #[test]
    fn amounts_and_shares_are_said() {
        let check = |amount, text: &str| assert_eq!(dollars(amount), text);
        for (amount, text) in
            [(12.339, "$12.34"), (-0.00312, "-$0.0031"), (0.0, "$0.00"), (0.999, "$1.00")]
        {
            check(amount, text);
        }
        assert_eq!((&*percent(1, 3), &*percent(0, 0)), ("33 %", "–"));
    }
}
