//! Commands as they are shown: whoever copies one gets what was meant (RULES 14).
//!
//! Invariant: a path or a name in a command is one word of a shell, whatever stands in it. Called by
//! all verbs that show commands.

use std::path::Path;

use crate::store;

/// A word as a shell takes it for one.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What has to be added to a command so that it means the store that was named, if one was.
pub(crate) fn store_flag(named: Option<&Path>) -> String {
    named.map(|path| format!(" --store {}", quoted(&store::shown(path)))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_part_them() {
        let check = |word: &str, expected: &str| assert_eq!(quoted(word), expected);
        check("a/b-c.db", "a/b-c.db");
        check("my store.db", "'my store.db'");
        check("it's", "'it'\\''s'");
        check("", "''");
        assert_eq!(store_flag(Some(Path::new("my store.db"))), " --store 'my store.db'");
        assert_eq!(store_flag(None), "");
    }
}
