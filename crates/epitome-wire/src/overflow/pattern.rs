//! A wording with figures in it.
//!
//! Invariant: one pass from left to right, no backtracking but for the place where it begins.
//! Called by `overflow`.

/// The figures of a wording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OverflowFigures {
    /// Tokens that may be asked for.
    pub(super) limit: Option<u64>,
    /// Tokens of the prompt.
    pub(super) size: Option<u64>,
    /// Tokens that were to be kept free for the answer.
    pub(super) room: u64,
}

/// The figures of the first place where a text reads like the pattern.
///
/// In a pattern `{limit}`, `{size}`, `{room}` and `{}` stand for a number (several of a kind add
/// up), `…` for any text; everything else stands for itself.
pub(super) fn find(pattern: &str, text: &str) -> Option<OverflowFigures> {
    let first = pattern.find(['{', '…']).map_or(pattern, |end| &pattern[..end]);
    let starts = text.match_indices(first).map(|(at, _)| &text[at..]);
    starts.into_iter().find_map(|text| matched(pattern, text))
}

/// The figures, where a text begins like the pattern.
fn matched(pattern: &str, text: &str) -> Option<OverflowFigures> {
    let (mut pattern, mut text) = (pattern, text);
    let mut found = OverflowFigures::default();
    while !pattern.is_empty() {
        if let Some(rest) = pattern.strip_prefix('…') {
            let literal = rest.find(['{', '…']).map_or(rest, |end| &rest[..end]);
            text = &text[text.find(literal)?..];
            pattern = rest;
        } else if let Some(slot) = pattern.strip_prefix('{') {
            let (name, rest) = slot.split_once('}')?;
            let (number, behind) = number(text)?;
            let sum = |old: Option<u64>| Some(old.unwrap_or(0).saturating_add(number));
            match name {
                "limit" => found.limit = Some(number),
                "size" => found.size = sum(found.size),
                "room" => found.room = number,
                _ => {}
            }
            (pattern, text) = (rest, behind);
        } else {
            let end = pattern.find(['{', '…']).unwrap_or(pattern.len());
            text = text.strip_prefix(&pattern[..end])?;
            pattern = &pattern[end..];
        }
    }
    Some(found)
}

/// The number that a text begins with (`200000`, `200,000`), and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let mut value: Option<u64> = None;
    let mut end = 0;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
            }
            b',' | b'_' if bytes.get(end + 1).is_some_and(u8::is_ascii_digit) => {}
            _ => break,
        }
        end += 1;
    }
    Some((value?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: Option<(Option<u64>, Option<u64>, u64)>) {
        let found = find(pattern, text).map(|found| (found.limit, found.size, found.room));
        assert_eq!(found, expected, "{pattern} in {text}");
    }

    #[test]
    fn figures_are_read_where_the_words_fit() {
        check("too long", "it is too long.", Some((None, None, 0)));
        check(
            "most {limit} of {size}",
            "most x; most 1,000 of 2000!",
            Some((Some(1000), Some(2000), 0)),
        );
        check(
            "({size} in, {room} out)…<{limit}",
            "(1 in, 2 out) is <3",
            Some((Some(3), Some(1), 2)),
        );
        check("{size} and {size} of {}", "7 and 8 of 9", Some((None, Some(15), 0)));
        check("most {limit}", "most of all", None);
        check("a…b", "b a", None);
        check("most {limit}", "most 99999999999999999999999", None);
        check("most {limit}", "most ", None);
    }
}
