//! What a question says of the goal, so that a summary keeps what the goal needs.
//!
//! Invariant: the active goal and what is decided for good stand in every question of every profile,
//! word for word (RULES 56). Made by the writer.

use epitome_config::profile::GoalOptions;
use epitome_kernel::TokenCounter;
use epitome_kernel::goals::{GoalWording, render};
use epitome_types::Goals;

use super::question::{GOALS, fill};

/// What stands where the goal's priority and its status belong.
const PRIORITY: &str = "{priority}";
const STATUS: &str = "{status}";

/// What a question says of goals, in the words of the profile. Where no goal is active that is what was
/// decided for good; empty where there is neither, or where the profile has no words for it.
pub(super) fn steering(goals: &Goals, terms: &GoalOptions, counter: &dyn TokenCounter) -> String {
    let words = terms.prompt.trim();
    if words.is_empty() {
        return String::new();
    }
    let all = render(goals, terms.max_tokens, counter, &GoalWording::ENGLISH);
    match goals.active().filter(|_| !all.is_empty()) {
        None => all,
        Some(goal) => fill(
            words,
            &[
                (PRIORITY, goal.priority.word().to_owned()),
                (STATUS, goal.status.word().to_owned()),
                (GOALS, all),
            ],
        ),
    }
}
