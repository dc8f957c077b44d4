//! References: the strings that a reader cannot guess (paths, names in code, ids, numbers).
//!
//! Invariant: one pass over the text, no backtracking. Called by the ranking, which prefers
//! passages that hold many of them and such that were not returned yet.

/// Calls `each` with every reference of a text, in order.
pub(crate) fn each_reference<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    for run in text.split(is_delimiter) {
        let word = run.trim_matches(is_edge);
        if is_reference(word) {
            each(word);
        }
    }
}

/// White space, quotes, brackets, and the signs of code and JSON.
fn is_delimiter(c: char) -> bool {
    const SIGNS: u128 = signs("\"'`<>()[]{}|,;=\\");
    match u32::from(c) {
        code @ 0..128 => c.is_ascii_whitespace() || c == '\x0b' || SIGNS >> code & 1 == 1,
        _ => c.is_whitespace(),
    }
}

/// A bit for each of these characters, which are ASCII.
const fn signs(all: &str) -> u128 {
    let (mut bits, mut at) = (0, 0);
    while at < all.len() {
        bits |= 1 << all.as_bytes()[at];
        at += 1;
    }
    bits
}

/// Punctuation that clings to a word without belonging to it.
fn is_edge(c: char) -> bool {
    matches!(c, '.' | ':' | '!' | '?' | '*' | '#' | '&' | '-' | '+' | '/')
}

/// Whether a word is a reference.
pub(crate) fn is_reference(word: &str) -> bool {
    if word.len() < 3 || word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let (mut letters, mut digits, mut joints, mut humps) = (0, 0, 0, 0);
    let (mut slashes, mut sign) = (0, false);
    let mut before = ' ';
    for c in word.chars() {
        match c {
            '0'..='9' => digits += 1,
            '_' => joints += 1,
            '.' if before.is_alphanumeric() => joints += 1,
            '/' => slashes += 1,
            '@' | '$' => sign = true,
            _ if c.is_alphabetic() => {
                letters += 1;
                humps += usize::from(c.is_uppercase() && before.is_lowercase());
            }
            _ => {}
        }
        before = c;
    }
    let code = letters > 0 && digits > 0 && letters + digits >= 4;
    let number = digits >= 3 || (digits > 0 && (sign || joints > 0));
    let name = letters > 0 && (joints > 0 || humps > 0 || slashes > 1 || sign);
    code || number || name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        each_reference(text, |reference| found.push(reference));
        assert_eq!(found, expected, "references of {text:?}");
    }

    #[test]
    fn prose_has_none() {
        check("Yes, please go ahead and read/write it. I don't mind!", &[]);
        check("", &[]);
        check("... --- ///", &[]);
    }

    #[test]
    fn names_in_code_and_paths() {
        check(
            "call `parse_body(x)` in ./src/lib.rs, then theme.fg and getTheme",
            &["parse_body", "src/lib.rs", "theme.fg", "getTheme"],
        );
        check("see https://example.org/a?b", &["https://example.org/a?b"]);
        check("mail anna.b@example.org.", &["anna.b@example.org"]);
    }

    #[test]
    fn ids_and_numbers() {
        check(r#"{"id": "HAT084", "price": 112, "paid": "$5"}"#, &["HAT084", "112"]);
        check("on 2024-05-15 for $54.20", &["2024-05-15", "$54.20"]);
    }
}
