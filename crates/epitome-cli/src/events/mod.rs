//! What there is to tell of a conversation that goes on: which events are news, and their words.
//!
//! Invariant: a warning is said once for as long as it lasts; what is expected is not said at all.
//! Called by `replay`, by `chat` and by the log of the proxy.

mod log;
mod words;

use anstyle::AnsiColor;
use epitome::types::{Event, EventKind};

pub(crate) use log::logged;
pub(crate) use words::cause;

/// What is said beside an event; the reason stands at its end.
pub(crate) const ASIDE: AnsiColor = AnsiColor::BrightBlack;

/// What was told so far.
#[derive(Default)]
pub(crate) struct EventPrinter {
    /// Whether the stages of a compression are told, too.
    stages: bool,
    /// Whether the last turn was warned of.
    warned: bool,
}

impl EventPrinter {
    /// Nothing was told yet. Where people want to know more, the stages of a compression are told.
    pub(crate) fn new(stages: bool) -> Self {
        Self { stages, warned: false }
    }

    /// What there is to tell of the events of one turn, in words.
    pub(crate) fn news(&mut self, events: &[Event]) -> Vec<(AnsiColor, String)> {
        let is_warning = |event: &Event| matches!(event.what, EventKind::ContextWarning { .. });
        let warned = events.iter().any(is_warning);
        let is_news = |event: &&Event| !(self.warned && is_warning(event));
        // A snapshot before each compression is what people expect, and its other names say
        // nothing new.
        let stages = self.stages;
        let is_routine = |event: &&Event| {
            use EventKind::*;
            let is_stage = matches!(event.what, CheckpointProgress { .. });
            is_stage && !stages
                || matches!(
                    event.what,
                    AutoSnapshotCreated { .. }
                        | AutoSummaryCreated { .. }
                        | Tier1Compressed(_)
                        | Tier2Compressed(_)
                        | Tier3Compressed(_)
                        | Tier4Compressed(_)
                        | Tier5Compressed(_)
                )
        };
        let told = events.iter().filter(|event| is_news(event) && !is_routine(event));
        let news = told.flat_map(|event| [Some(words::of(event)), words::writer(event, events)]);
        let news = news.flatten().collect();
        self.warned = warned;
        news
    }
}
