//! What ends the program early, and the exit code that says whose move it is.
//!
//! Invariant: the codes are a contract with scripts: 1 internal fault, 2 usage or an output that
//! cannot be written, 3 input that cannot be read, 4 it cannot fit, 5 the proxy cannot start or a
//! model does not answer, 6 a check found something.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use anstyle::{AnsiColor, Style};
use epitome::{ConfigError, Error, SEALED, StoreError};

use crate::hints::{self, stored, with_commands};
use crate::text;

const INTERNAL: u8 = 1;
const USAGE: u8 = 2;
const UNREADABLE: u8 = 3;
const CANNOT_FIT: u8 = 4;
const UNAVAILABLE: u8 = 5;
const FOUND: u8 = 6;

/// Whether nothing but errors is said, as the flags of the verb have it.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// The flags by which other commands mean the store that this one is about.
static STORE_FLAGS: OnceLock<String> = OnceLock::new();

/// Has the commands in errors mean a store.
pub(crate) fn name_store(flags: String) {
    // It is the same for the whole program: a verb has one store.
    STORE_FLAGS.get_or_init(|| flags);
}

/// One line for people, and a code for scripts.
#[derive(Debug)]
pub(crate) struct CliError {
    code: u8,
    line: String,
    /// Whether it is that of a client that `run` was to start.
    client: bool,
}

impl CliError {
    fn new(code: u8, line: impl Display) -> Self {
        Self { code, line: line.to_string(), client: false }
    }

    /// The arguments make no sense, or name an output that cannot be written.
    pub(crate) fn usage(line: impl Display) -> Self {
        Self::new(USAGE, line)
    }

    /// The input cannot be read.
    pub(crate) fn unreadable(line: impl Display) -> Self {
        Self::new(UNREADABLE, line)
    }

    /// This program is at fault.
    pub(crate) fn internal(line: impl Display) -> Self {
        Self::new(INTERNAL, line)
    }

    /// What cannot shrink is larger than its limit.
    pub(crate) fn cannot_fit(line: impl Display) -> Self {
        Self::new(CANNOT_FIT, line)
    }

    /// The proxy cannot start, or a model does not answer.
    pub(crate) fn unavailable(line: impl Display) -> Self {
        Self::new(UNAVAILABLE, line)
    }

    /// What was wrong when the proxy was to start.
    pub(crate) fn at_start(self) -> Self {
        Self { code: UNAVAILABLE, line: format!("the proxy cannot start: {}", self.line), ..self }
    }

    /// The client cannot be started.
    pub(crate) fn of_client(line: impl Display) -> Self {
        Self { client: true, ..Self::usage(line) }
    }

    /// Whether it is the client that cannot be started.
    pub(crate) fn is_of_the_client(&self) -> bool {
        self.client
    }

    /// A check found something.
    pub(crate) fn found(line: impl Display) -> Self {
        Self::new(FOUND, line)
    }

    /// What the compression of `input` ended with.
    pub(crate) fn of_compression(error: impl Into<Error>, input: &str) -> Self {
        let error = error.into();
        match error {
            Error::Input(error) => Self::unreadable(format!("{input}: {error}")),
            Error::Empty => Self::unreadable(format!("{input}: {error}")),
            Error::Conversion { .. } => Self::usage(error),
            Error::CannotFit { .. } => Self::cannot_fit(format!("{input}: {error}")),
            Error::Store(error) => Self::of_output(error),
            Error::Policy(error) => error.into(),
            _ => Self::internal(format!("{input}: {error}; nothing was written")),
        }
    }

    /// What a store said that was to be written.
    pub(crate) fn of_output(error: StoreError) -> Self {
        match error {
            StoreError::Newer { .. }
            | StoreError::Damaged { .. }
            | StoreError::Broken { what: SEALED, .. } => Self::unreadable(stored(&error)),
            _ => Self::usage(stored(&error)),
        }
    }

    /// What looking after the journal ended with.
    pub(crate) fn of(error: impl Into<Error>) -> Self {
        match error.into() {
            Error::Store(error) => Self::of_store(&error),
            Error::Policy(error) => error.into(),
            error @ (Error::Admin(_)
            | Error::Augment(_)
            | Error::Goal(_)
            | Error::NothingSaid
            | Error::OtherFormat { .. }) => Self::usage(with_commands(&error)),
            error => Self::internal(error),
        }
    }

    /// What a store said that was to be read.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        let line = stored(error);
        match error {
            StoreError::Ambiguous { .. }
            | StoreError::NoSession { .. }
            | StoreError::NoSnapshot { .. }
            | StoreError::NotOffered { .. }
            | StoreError::NothingToMark { .. } => Self::usage(line),
            StoreError::Broken { what: "cannot be written" | "cannot be created", .. } => {
                Self::usage(line)
            }
            _ => Self::unreadable(line),
        }
    }

    /// What it says.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Says it, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let flags = STORE_FLAGS.get().map_or("", String::as_str);
        say("error", AnsiColor::Red, &hints::with_flags(&self.line, flags));
        ExitCode::from(self.code)
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::UnknownProfile { .. } | ConfigError::UnknownStore { .. } => {
                Self::usage(error)
            }
            _ => Self::unreadable(error),
        }
    }
}

/// Warns of something that did not stop the program.
pub(crate) fn warn(line: &str) {
    say("warning", AnsiColor::Yellow, line);
}

/// Warns of something that did not stop the program, unless it said so before or is to say errors
/// alone.
pub(crate) fn warn_once(line: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(line.to_owned());
    if is_new && !IS_QUIET.load(Ordering::Relaxed) {
        warn(line);
    }
}

/// Has [`warn_once`] say nothing.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Tells of something that is as it should be.
pub(crate) fn note(line: &str) {
    say("note", AnsiColor::Cyan, line);
}

/// One line on standard error. Nobody is left to tell when that fails.
fn say(kind: &str, color: AnsiColor, line: &str) {
    let style = Style::new().fg_color(Some(color.into())).bold();
    let line = text::on_one_line(line);
    drop(writeln!(anstream::stderr(), "epitome: {style}{kind}:{style:#} {line}"));
}
