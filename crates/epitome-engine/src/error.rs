//! Why a conversation was not compressed, or not looked after.
//!
//! Invariant: on every error nothing was kept and nothing is handed out, so the conversation
//! stands as it was. A host tells by the variant whose move it is.

use epitome_admin::AdminError;
use epitome_config::limits::NotInTokens;
use epitome_extensions::problem::ConfigError;
use epitome_kernel::goals::GoalError;
use epitome_kernel::{PlanError, StoreError};
#[cfg(feature = "lua")]
use epitome_lua::WatchError;
use epitome_plan::PromptFloor;
use epitome_types::{Budget, BudgetUnit};
use epitome_wire::{Format, InputError, RuleViolation, WireError};
use epitome_workspace::augments::AugmentError;

/// So many of the items that cannot shrink are named.
const NAMED: usize = 6;

/// Why a conversation was not compressed, or not looked after.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input cannot be read; the message names the place and what was expected there.
    #[error(transparent)]
    Input(#[from] WireError),
    /// A request of one provider was to be written as another's.
    #[error(
        "a request in the format {from} cannot be written as {to}; \
         only recordings are converted, so leave the target format out"
    )]
    Conversion {
        /// The input's format.
        from: Format,
        /// The format asked for.
        to: Format,
    },
    /// What cannot shrink is larger than the budget.
    #[error("it cannot fit into {budget}: {}", unshrinkable(budget, floor))]
    CannotFit {
        /// The budget.
        budget: Budget,
        /// What cannot shrink, in the budget's unit.
        floor: PromptFloor,
    },
    /// A live conversation was to be held to something else than tokens.
    #[error("a live conversation is held to tokens, not to {unit}; give the budget in tokens")]
    NotInTokens {
        /// What was asked for.
        unit: BudgetUnit,
    },
    /// A message carries a tool result that belongs nowhere.
    #[error("the result answers the call `{call}`, which is not open; {}", waiting(open))]
    NoCall {
        /// The call it names.
        call: String,
        /// The calls that wait for their result.
        open: Vec<String>,
    },
    /// The session is sent whole histories, which a message by itself does not belong to.
    #[error(
        "the session is sent its whole history; give that to `begin` before you push messages, or \
         send it again with the message in it"
    )]
    WholeHistory,
    /// A conversation was to go on in another format.
    #[error("the conversation so far is in the format {history}; it cannot go on in {asked}")]
    OtherFormat {
        /// The format of what was said.
        history: Format,
        /// The format asked for.
        asked: Format,
    },
    /// A prompt was asked for before anything was said.
    #[error("nothing was said yet; push a message first")]
    NothingSaid,
    /// There is nothing in the input to record.
    #[error("holds no message; expected a conversation")]
    Empty,
    /// What was to be done to recorded sessions was not.
    #[error(transparent)]
    Admin(AdminError),
    /// An augment is not there or cannot be used.
    #[error(transparent)]
    Augment(#[from] AugmentError),
    /// A goal cannot be changed so.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A policy of the profile may not run, or cannot be loaded.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// The files of the policies cannot be watched.
    #[cfg(feature = "lua")]
    #[error(transparent)]
    Watch(WatchError),
    /// The store did not keep what was to leave.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The view cannot be written into the input's bytes: a fault of this program.
    #[error(transparent)]
    Edit(WireError),
    /// The plan broke an invariant: a fault of this program.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The result breaks rules of its provider that the input kept: a fault of this program.
    #[error("the result would be refused by its provider: {}", first(.0))]
    Invalid(Vec<RuleViolation>),
    /// The result is larger than its budget: a fault of this program.
    #[error("the result takes {size}, more than the {budget} allowed")]
    Overrun {
        /// The budget.
        budget: Budget,
        /// The size of the result, in the budget's unit.
        size: u64,
    },
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Conversion { from, to } => Self::Conversion { from, to },
            InputError::Unreadable(error) => Self::Input(error),
        }
    }
}

impl From<AdminError> for Error {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Input(error) => error.into(),
            AdminError::Empty => Self::Empty,
            AdminError::Augment(error) => error.into(),
            AdminError::Goal(error) => error.into(),
            AdminError::Policy(error) => error.into(),
            AdminError::Store(error) => error.into(),
            other => Self::Admin(other),
        }
    }
}

impl From<NotInTokens> for Error {
    fn from(NotInTokens(unit): NotInTokens) -> Self {
        Self::NotInTokens { unit }
    }
}

fn unshrinkable(budget: &Budget, floor: &PromptFloor) -> String {
    let named = floor.items.iter().take(NAMED);
    let mut items: Vec<_> = named.map(|(_, what, size)| format!("{what} ({size})")).collect();
    if floor.items.len() > NAMED {
        items.push(format!("{} more", floor.items.len() - NAMED));
    }
    let (size, unit) = (floor.size, budget.unit);
    let items = items.join(", ");
    format!("{size} {unit} cannot shrink, {items}; allow at least {size} {unit} or shorten these")
}

fn waiting(open: &[String]) -> String {
    match open {
        [] => "no call waits for a result".to_owned(),
        open => format!("waiting are {}", open.join(", ")),
    }
}

/// The first violation, and how many there are.
pub(crate) fn first(violations: &[RuleViolation]) -> String {
    let first = violations.first().map_or_else(String::new, ToString::to_string);
    match violations.len() {
        0 | 1 => first,
        all => format!("{first} (and {} more)", all - 1),
    }
}
