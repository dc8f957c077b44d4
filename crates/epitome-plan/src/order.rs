//! Why an order of a policy cannot be carried out.

/// An order names what is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// There is no message in this place.
    #[error("no message {place}; `job.entries` has 1 to {count}")]
    NoEntry {
        /// The place.
        place: u32,
        /// How many there are.
        count: usize,
    },
    /// There is no such checkpoint.
    #[error("no checkpoint `{name}` stands in the prompt; {}", there(known))]
    NoCheckpoint {
        /// What was asked for.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// There is no such level.
    #[error("no level {number}; there is 3 (detailed), 2 (moderate), 1 (compact), 0 (merged)")]
    NoLevel {
        /// The number.
        number: u8,
    },
    /// The message has nothing that may be replaced.
    #[error("message {place} has no text that may be replaced: it is pinned, a call, or reasoning")]
    NoText {
        /// The place.
        place: u32,
    },
    /// The message has several texts.
    #[error("message {place} has several texts; leave `text` out and each is shortened by itself")]
    ManyTexts {
        /// The place.
        place: u32,
    },
    /// There is no such call.
    #[error("message {place} has no call {number}; it has {count}, counted from 1")]
    NoCall {
        /// The place.
        place: u32,
        /// Which was asked for.
        number: u32,
        /// How many there are.
        count: usize,
    },
    /// Nothing was given to stand in the place of arguments.
    #[error("`truncate_input` of message {place} needs `text`: what the call wrote, and where")]
    NoWith {
        /// The place.
        place: u32,
    },
    /// `fit` makes the whole plan.
    #[error(
        "`fit` makes a whole plan; beside it there may be `pin`, `warn`, `write_file` and `handover` only"
    )]
    FitIsNotAlone,
}

fn there(known: &[String]) -> String {
    match known {
        [] => "there is none".to_owned(),
        known => format!("there is {}", known.join(", ")),
    }
}
