//! Patterns for the names of tools, in which `*` stands for any letters; clients spell one tool
//! `Bash` and `bash`, so case means nothing.
//!
//! Invariant: pure. Called where a digest is asked for, and for the rules of a profile.

/// Whether a pattern means a name.
pub fn means(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase(), name.to_ascii_lowercase());
    let mut pieces = pattern.split('*');
    let Some(rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    let mut rest = rest;
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// How much a pattern says: its letters, and before all others a name without a `*`.
pub fn precision(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.chars().filter(|letter| *letter != '*').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(means(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        check("bash", "Bash", true);
        check("bash", "bashful", false);
        check("web_*", "web_search", true);
        check("web_*", "my_web_search", false);
        check("*web*", "my_web_search", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c", false);
        check("ab*ba", "aba", false);
        check("*", "", true);
        check("", "x", false);
    }

    #[test]
    fn a_name_says_more_than_any_pattern() {
        let mut patterns = ["*", "read_*", "web_*", "web_search", "*_search_*"];
        patterns.sort_by_key(|pattern| precision(pattern));
        assert_eq!(patterns, ["*", "web_*", "read_*", "*_search_*", "web_search"]);
    }
}
