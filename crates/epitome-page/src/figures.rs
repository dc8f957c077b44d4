//! Numbers as pages write them, and text for pages that are written without a template.
//!
//! Invariant: pure; whatever comes from a request passes through [`EscapedText`] on its way into such a
//! page.

use std::fmt::{self, Write};
use std::time::{Duration, SystemTime};

use crate::shown::shown;

/// A text on a line, with what HTML would read as its own escaped, and what hides in it or turns it around
/// shown by its number.
#[derive(Clone, Copy, Debug)]
pub struct EscapedText<'a>(pub &'a str);

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in shown(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// `1 turn`, `2 turns`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number that is read at a glance: `9,999`, `41.2 k`, `3.40 M`.
pub fn compact(number: f64) -> String {
    let sign = if number < 0.0 { "−" } else { "" };
    let size = number.abs();
    let scaled = |by: f64, unit: &str| {
        let scaled = size / by;
        let decimals = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
        format!("{sign}{scaled:.decimals$} {unit}")
    };
    match size {
        _ if size < 9_999.5 => format!("{sign}{}", grouped(size.round() as u64)),
        _ if size < 999_500.0 => scaled(1e3, "k"),
        _ if size < 999_500_000.0 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in percent. All and nothing are said of all and nothing only.
pub fn percent(share: f64) -> String {
    let percent = (share * 100.0).round();
    let percent = match share {
        _ if share > 0.0 && share < 1.0 => percent.clamp(1.0, 99.0),
        _ if share < 0.0 => percent.min(-1.0),
        _ => percent,
    };
    let sign = if percent < 0.0 { "−" } else { "" };
    format!("{sign}{} %", percent.abs())
}

/// A share or a change in percent, with a tenth of one.
pub fn tenths(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    let sign = if tenths < 0.0 { "−" } else { "" };
    format!("{sign}{:.1} %", tenths.abs())
}

/// US dollars.
pub fn dollars(amount: f64) -> String {
    let sign = if amount <= -0.005 { "−" } else { "" };
    format!("{sign}${:.2}", amount.abs())
}

/// How long ago something was.
pub fn ago(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match seconds {
        0..=1 => "now".to_owned(),
        2..=99 => format!("{seconds} s ago"),
        100..=5_999 => format!("{} min ago", seconds / 60),
        6_000..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_read_as_html() {
        let text = EscapedText("<script>\"a\" & 'b'\u{1b}[1m\n</script>\u{202e}").to_string();
        assert_eq!(text, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39; &lt;/script&gt;⟨U+202E⟩");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        let shown = [0.0, 999.0, 9_999.0, 10_000.0, 41_230.0, 999_499.0, 999_500.0, 3.4e6, 2.5e9]
            .map(compact);
        let expected =
            ["0", "999", "9,999", "10.0 k", "41.2 k", "999 k", "1.00 M", "3.40 M", "2.50 G"];
        assert_eq!(shown, expected);
        assert_eq!(compact(-6_750.0), "−6,750");
    }

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        let shown = [0.0, 0.001, 0.714, 0.999, 1.0, -0.001, -0.54].map(percent);
        assert_eq!(shown, ["0 %", "1 %", "71 %", "99 %", "100 %", "−1 %", "−54 %"]);
    }

    #[test]
    fn amounts_show_their_sign() {
        assert_eq!([3.414, -0.5, -0.001].map(dollars), ["$3.41", "−$0.50", "$0.00"]);
    }

    #[test]
    fn times_are_told_from_now() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let shown = [0, 30, 600, 7_200, 400_000].map(|s| ago(now - Duration::from_secs(s), now));
        assert_eq!(shown, ["now", "30 s ago", "10 min ago", "2 h ago", "4 days ago"]);
        assert_eq!(ago(now + Duration::from_secs(9), now), "now");
    }
}
