//! What went wrong with a plugin from outside.
//!
//! Invariant: each error names the plugin, the call, what was wrong and what happens now. Given by
//! programs and modules, shown by hosts.

use std::time::Duration;

use thiserror::Error;

use crate::PluginFailure;
use crate::protocol::PROTOCOL;

/// A call that brought no answer.
#[derive(Debug, Error)]
#[error("plugin `{plugin}`, {call}: {cause}; {}", self.remedy())]
#[non_exhaustive]
pub struct PluginError {
    /// What profiles call it.
    pub plugin: String,
    /// What was asked: `hello`, `digest`, or the name of a hook.
    pub call: String,
    /// What was wrong.
    pub cause: PluginErrorCause,
    /// What happens now.
    pub now: PluginErrorEffect,
}

/// What was wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PluginErrorCause {
    /// There is no such program, or it may not be run.
    #[error("`{program}` cannot be started: {error}")]
    Start {
        /// As the manifest names it.
        program: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// What it should be asked cannot be said in JSON.
    #[error("the call cannot be said in JSON: {error}")]
    Unsayable {
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It is gone.
    #[error("it ended ({status}){}", last(.said))]
    Ended {
        /// How, as far as is known.
        status: String,
        /// Its last line on standard error.
        said: Option<String>,
    },
    /// It took too long.
    #[error("no answer within {}{}", time(*.deadline), last(.said))]
    Late {
        /// How long it had.
        deadline: Duration,
        /// Its last line on standard error.
        said: Option<String>,
    },
    /// It speaks another version of the protocol.
    #[error("it speaks version {theirs} of the protocol, and this host version {PROTOCOL}")]
    Version {
        /// What its hello says.
        theirs: u32,
    },
    /// It wrote something else than a line of the protocol.
    #[error("expected a line of the protocol on standard output, found `{line}`")]
    Garbage {
        /// The beginning of what it wrote.
        line: String,
    },
    /// The file of a module cannot be read, or is none that may run.
    #[error("`{file}` cannot be loaded: {reason}")]
    Unloadable {
        /// The file, as its folder calls it.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A module stopped by itself or did what no module may.
    #[error("it trapped: {reason}")]
    Trapped {
        /// What the engine says.
        reason: String,
    },
    /// A module took too many steps.
    #[error("no answer within {} million steps", most.div_ceil(1_000_000))]
    Fuel {
        /// So many it had.
        most: u64,
    },
    /// A module wanted too much memory.
    #[error("it wants more than {} MiB of memory", most >> 20)]
    Memory {
        /// So many bytes it could have.
        most: usize,
    },
    /// A module names a place that is not in its memory.
    #[error("it names {len} bytes at {at}, which are not in its memory of {size} bytes")]
    Outside {
        /// Where they would begin.
        at: u32,
        /// So many they would be.
        len: u32,
        /// The size of its memory, in bytes.
        size: usize,
    },
    /// It answered something else than it was asked for.
    #[error("expected an answer of the protocol, found `{found}`")]
    NoMessage {
        /// The beginning of what it answered.
        found: String,
    },
    /// It wrote a line without end.
    #[error("its line is longer than {most} bytes: `{line}`")]
    TooLong {
        /// The limit.
        most: usize,
        /// The beginning of the line.
        line: String,
    },
    /// It answered what was not asked.
    #[error("asked for the answer to call {asked}, it answered call {answered}")]
    Stray {
        /// What was asked.
        asked: u64,
        /// What was answered.
        answered: u64,
    },
    /// It is no plugin for this.
    #[error("its hello does not name {what}")]
    Lacks {
        /// `digest`, or a hook.
        what: String,
    },
    /// It says itself that it could not answer.
    #[error("it reports: {message}")]
    Reported {
        /// What it says.
        message: String,
    },
    /// Its answer has the wrong shape.
    #[error("its answer is no digest: {reason}")]
    Misshapen {
        /// What is wrong with it.
        reason: String,
    },
    /// It failed not long ago.
    #[error("it failed and rests")]
    Resting,
    /// It failed too often.
    #[error("it is off")]
    Off,
}

/// What happens now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PluginErrorEffect {
    /// It goes on.
    GoesOn,
    /// It is stopped; a call after this time starts it again.
    Restart {
        /// How long no call starts it.
        after: Duration,
    },
    /// It stays off until it is loaded anew.
    Off,
}

impl PluginError {
    /// What helps, and what happens now.
    #[must_use]
    pub fn remedy(&self) -> String {
        let now = match self.now {
            PluginErrorEffect::GoesOn => "it goes on".to_owned(),
            PluginErrorEffect::Restart { after: Duration::ZERO } => {
                "the next call tries again".to_owned()
            }
            PluginErrorEffect::Restart { after } => {
                format!("a call after {} tries again", time(after))
            }
            PluginErrorEffect::Off => "it stays off until it is loaded anew".to_owned(),
        };
        match self.cause.advice() {
            "" => now,
            advice => format!("{advice}; {now}"),
        }
    }
}

impl PluginErrorCause {
    /// What the author or the user can do.
    fn advice(&self) -> &'static str {
        match self {
            Self::Start { .. } => "check `command` in its `plugin.toml`",
            Self::Fuel { .. } => "make it faster, or raise `fuel` in its `plugin.toml`",
            Self::Memory { .. } => "make it smaller, or raise `memory_mb` in its `plugin.toml`",
            Self::Late { .. } => "make it faster, or raise `deadline_ms` in its `plugin.toml`",
            Self::Version { .. } => "use a release of the plugin for this version",
            Self::Garbage { .. } => "only answers may go there, logs go to standard error",
            Self::Stray { .. } => "answer each call once, in order",
            Self::TooLong { .. } => "an answer is one line within the limit",
            Self::Lacks { .. } => "its `plugin.toml` says more than it does",
            Self::Unsayable { .. }
            | Self::Ended { .. }
            | Self::Unloadable { .. }
            | Self::Trapped { .. }
            | Self::Outside { .. }
            | Self::NoMessage { .. }
            | Self::Reported { .. }
            | Self::Misshapen { .. }
            | Self::Resting
            | Self::Off => "",
        }
    }

    /// Whether nothing that it says from here on could be trusted, so that a program is stopped.
    pub(super) fn is_fatal(&self) -> bool {
        !matches!(
            self,
            Self::Unsayable { .. }
                | Self::Lacks { .. }
                | Self::Reported { .. }
                | Self::Misshapen { .. }
        )
    }

    /// Whether starting it again would change nothing.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Version { .. })
    }
}

impl From<PluginError> for PluginFailure {
    fn from(error: PluginError) -> Self {
        let remedy = error.remedy();
        Self::new(format!("{}: {}", error.call, error.cause)).with_remedy(remedy)
    }
}

fn last(said: &Option<String>) -> String {
    said.as_ref().map(|line| format!(", its log ends with `{line}`")).unwrap_or_default()
}

/// A time as people read it; of seconds no parts.
fn time(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        millis => format!("{} s", millis.div_ceil(1000)),
    }
}
