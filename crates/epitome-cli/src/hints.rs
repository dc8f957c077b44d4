//! Commands that errors name (RULES 14).
//!
//! Invariant: a command in an error looks where what the error is about was looked for.

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
