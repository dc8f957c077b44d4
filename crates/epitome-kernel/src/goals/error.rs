//! Why an act about a goal is not taken.
//!
//! Invariant: an error says what was expected and what to do.

use super::LONGEST;

/// Why an act about a goal is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GoalError {
    /// Nothing is said.
    #[error("{what} is empty; say it in a few words")]
    Empty {
        /// What is missing.
        what: &'static str,
    },
    /// More is said than a prompt should carry for ever.
    #[error("{what} has {long} characters, {LONGEST} are the most; say it shorter")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// How long it is, in characters.
        long: usize,
    },
    /// No goal has this id.
    #[error("no goal `{id}`; {}", there_are(known))]
    NoGoal {
        /// What was asked for.
        id: String,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// It is about the active goal, and there is none.
    #[error("no goal is active; set one, or name one by its id")]
    NoneActive,
    /// A goal is to be resumed, and none is paused.
    #[error("no goal is paused; name the one to resume by its id")]
    NonePaused,
    /// The goal is reached.
    #[error("the goal `{id}` is completed; resume it first")]
    Completed {
        /// Its id.
        id: String,
    },
    /// The decision is locked.
    #[error("the decision `{decision}` is locked and cannot be changed")]
    Locked {
        /// What was decided.
        decision: String,
    },
    /// Nothing was decided in these words.
    #[error("no decision `{decision}`; decide it first, or say it as it was decided")]
    NoDecision {
        /// What was asked for.
        decision: String,
    },
    /// A policy found something in a state that its kind does not have.
    #[error("{kind} cannot be `{state}`: {expected}")]
    State {
        /// The kind, with its article.
        kind: &'static str,
        /// The state.
        state: String,
        /// The states that there are.
        expected: &'static str,
    },
}

fn there_are(known: &[String]) -> String {
    match known {
        [] => "none was set yet".to_owned(),
        [one] => format!("there is {one} only"),
        [first @ .., last] => format!("there are {} and {last}", first.join(", ")),
    }
}
