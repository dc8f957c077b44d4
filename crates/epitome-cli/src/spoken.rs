//! What policies say to their authors, on standard error.
//!
//! Invariant: standard output is never written to; whoever logs by another way (`serve`, `run`) is
//! not spoken over. Set up before a verb runs.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::ArgMatches;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::text::plain;

/// What policies in Lua say.
const TARGET: &str = "policy";

/// What policies said since somebody began to collect it; none where nobody does.
static COLLECTED: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn collected() -> MutexGuard<'static, Option<Vec<String>>> {
    COLLECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Collects what policies say from now on, which is said all the same; gives what was collected before.
pub(crate) fn collect() -> Vec<String> {
    collected().replace(Vec::new()).unwrap_or_default()
}

/// How much policies say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing but errors.
    Quiet,
    /// What they say to whoever uses them.
    Usual,
    /// All of it.
    Verbose,
}

impl Verbosity {
    /// As the flags of the verb say that was parsed; a verb without such flags says nothing of it.
    pub(crate) fn of(parsed: &ArgMatches) -> Self {
        let verb = std::iter::successors(Some(parsed), |at| Some(at.subcommand()?.1)).last();
        let is_set = |flag| {
            let value = verb.and_then(|verb| verb.try_get_one::<bool>(flag).ok().flatten());
            value.is_some_and(|set| *set)
        };
        match (is_set("quiet"), is_set("verbose")) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Usual,
        }
    }
}

/// Has lines of policies stand on standard error.
pub(crate) fn begin(verbosity: Verbosity) {
    let level = match verbosity {
        Verbosity::Quiet => LevelFilter::ERROR,
        Verbosity::Usual => LevelFilter::INFO,
        Verbosity::Verbose => LevelFilter::TRACE,
    };
    let only = Targets::new().with_target(TARGET, level);
    drop(tracing_subscriber::registry().with(only).with(Lines).try_init());
}

/// A line for each event.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut said = Said::default();
        event.record(&mut said);
        let level = event.metadata().level().as_str().to_lowercase();
        let Said { policy, at, text } = said;
        let line = plain(&format!("policy {policy} ({at}): {text}"));
        // Where nobody reads any more there is nobody to tell.
        drop(writeln!(io::stderr(), "epitome: {level}: {line}"));
        if let Some(lines) = &mut *collected() {
            lines.push(line);
        }
    }
}

/// The fields of an event.
#[derive(Default)]
struct Said {
    policy: String,
    at: String,
    text: String,
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "policy" => value.clone_into(&mut self.policy),
            "at" => value.clone_into(&mut self.at),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let into = match field.name() {
            "message" => &mut self.text,
            "policy" => &mut self.policy,
            "at" => &mut self.at,
            _ => return,
        };
        into.push_str(&format!("{value:?}"));
    }
}
