//! Commands beside errors (RULES 14): the library says what is wrong, and here it is said which command
//! helps.
//!
//! Invariant: a command looks where what the error is about was looked for.

use epitome::{AdminError, Error, GoalError, StoreError};

/// Verbs that look after a store, and take a flag that names it.
const OVER_STORES: [&str; 8] =
    ["session", "snapshot", "goal", "pin", "unpin", "recall", "diff", "status"];

/// An error, and the commands that help where some do.
pub(crate) fn with_commands(error: &Error) -> String {
    let helps = match error {
        Error::Store(error) | Error::Admin(AdminError::Store(error)) => return stored(error),
        Error::Goal(error) | Error::Admin(AdminError::Goal(error)) => of_goal(error),
        Error::Admin(error) => of_admin(error),
        _ => None,
    };
    joined(error, helps)
}

/// The same for what a store said.
pub(crate) fn stored(error: &StoreError) -> String {
    let helps = match error {
        StoreError::NoSession { nearest: None, .. } => {
            Some("`epitome session list` shows what there is")
        }
        StoreError::NoSnapshot { .. } => Some("`epitome snapshot list` shows what there is"),
        StoreError::Damaged { .. } => Some(
            "`epitome session verify` tells more, `epitome store salvage STORE NEW` saves what can be \
             read",
        ),
        _ => None,
    };
    joined(error, helps.map(str::to_owned))
}

fn of_goal(error: &GoalError) -> Option<String> {
    match error {
        GoalError::NoneActive => Some("`epitome goal set TEXT` sets one".to_owned()),
        GoalError::Completed { id } => Some(format!("`epitome goal resume {id}` does so")),
        GoalError::NoDecision { .. } => Some(
            "`epitome goal list` shows all, `epitome goal decide TEXT --lock` decides it"
                .to_owned(),
        ),
        _ => None,
    }
}

fn of_admin(error: &AdminError) -> Option<String> {
    match error {
        AdminError::NoSessions => Some("`epitome session import FILE` records one".to_owned()),
        AdminError::NoBranch { session, .. } => {
            Some(format!("`epitome session branches {session}` lists them"))
        }
        AdminError::NotBegun { nearest: None, .. } => {
            Some("`epitome session list` shows those that there are".to_owned())
        }
        _ => None,
    }
}

fn joined(error: &dyn std::fmt::Display, helps: Option<String>) -> String {
    helps.map_or_else(|| error.to_string(), |helps| format!("{error}; {helps}"))
}

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
