//! Words and figures as the page writes them.
//!
//! Invariant: every name that comes from outside passes through [`escaped`] on its way into the
//! page.

use epitome_lab::MeanInterval;

/// A text with what HTML would read as its own escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A mean with its interval, as one reads it aloud.
pub(super) fn spoken(estimate: MeanInterval) -> String {
    let mean = estimate.mean;
    match estimate.interval {
        Some([low, high]) => format!("{mean:.3}, 95 % between {low:.2} and {high:.2}"),
        None => format!("{mean:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_read_as_html() {
        assert_eq!(escaped("<i>\"a\" & b\n"), "&lt;i&gt;&quot;a&quot; &amp; b ");
    }

    #[test]
    fn an_interval_is_said_where_there_is_one() {
        let estimate = |interval| MeanInterval { mean: 0.5, interval };
        assert_eq!(spoken(estimate(Some([0.25, 0.75]))), "0.500, 95 % between 0.25 and 0.75");
        assert_eq!(spoken(estimate(None)), "0.500");
    }
}
