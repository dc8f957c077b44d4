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

/// Verbs that look after a store, and take a flag that names it.
const OVER_STORES: [&str; 8] =
    ["session", "snapshot", "goal", "pin", "unpin", "recall", "diff", "status"];

/// A text whose commands over a store (`epitome session list`) have flags added, so that they mean the
/// store that this one was about.
pub(crate) fn with_flags(text: &str, flags: &str) -> String {
    let mut is_code = true;
    let pieces = text.split('`').map(|piece| {
        is_code = !is_code;
        let verb = piece.strip_prefix("epitome ").and_then(|rest| rest.split(' ').next());
        let is_command = is_code && verb.is_some_and(|verb| OVER_STORES.contains(&verb));
        match is_command && !piece.contains("--store") {
            true => format!("{piece}{flags}"),
            false => piece.to_owned(),
        }
    });
    pieces.collect::<Vec<_>>().join("`")
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

    #[test]
    fn commands_in_a_text_mean_the_store_that_was_named() {
        let check =
            |text: &str, expected: &str| assert_eq!(with_flags(text, " --store b"), expected);
        check(
            "no session `a`; `epitome session list` shows what there is",
            "no session `a`; `epitome session list --store b` shows what there is",
        );
        let named = "see `epitome recall --store c x`, `epitome policy check` and epitome goal";
        check(named, named);
        check("a `lone tick", "a `lone tick");
    }
}
