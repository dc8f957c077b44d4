//! The lines of a replay: what happened, turn by turn.
//!
//! Invariant: one line for each event, within the columns there are, colours not counted; a
//! warning is said once for as long as it lasts. Called by `replay`.

use anstyle::{AnsiColor, Style};
use epitome::types::{Cause, Event, Happened, Skip};
use epitome_lab::Turn;

use crate::figure::percent;
use crate::text::{clipped, grouped, on_one_line, plain as harmless};

/// Width of the turn that stands before each line.
const TURN: usize = 11;

/// What was told so far.
#[derive(Default)]
pub(crate) struct Told {
    /// Whether the last turn was warned of.
    warned: bool,
}

impl Told {
    /// The lines of a turn.
    pub(crate) fn lines(&mut self, turn: &Turn, columns: usize) -> Vec<String> {
        let is_warning = |event: &Event| matches!(event.what, Happened::ContextWarning { .. });
        let warned = turn.events.iter().any(is_warning);
        let is_news = |event: &&Event| !(self.warned && is_warning(event));
        // A snapshot before each compression is what people expect; only others are news.
        let is_routine =
            |event: &&Event| matches!(event.what, Happened::AutoSnapshotCreated { .. });
        let news = turn.events.iter().filter(|event| is_news(event) && !is_routine(event));
        let told = news.map(what);
        let refused = turn
            .refused
            .iter()
            .map(|reason| (AnsiColor::Red, format!("refused: {}", on_one_line(reason))));
        let lines = told.chain(refused);
        let lines = lines.map(|(color, text)| line(turn.turn, color.on_default(), &text, columns));
        let lines = lines.collect();
        self.warned = warned;
        lines
    }
}

/// The line of a turn in which nothing happened.
pub(crate) fn plain(turn: &Turn, columns: usize) -> String {
    let (raw, sent) = (grouped(turn.tokens_raw), grouped(turn.tokens_sent));
    let text = format!(
        "{raw} tokens, {sent} sent, {} of the limit",
        percent(turn.tokens_sent, turn.limit)
    );
    line(turn.turn, Style::new().dimmed(), &text, columns)
}

fn line(turn: usize, style: Style, text: &str, columns: usize) -> String {
    let turn = format!("turn {turn}");
    let text = clipped(&harmless(text), columns.saturating_sub(TURN + 1));
    format!("{turn:TURN$}{style}{text}{style:#}")
}

fn what(event: &Event) -> (AnsiColor, String) {
    let [before, after] = event.tokens;
    match &event.what {
        Happened::Compressed { number, cause, .. } => {
            let (cause, kept) = (reason(*cause), percent(after, before));
            let (before, after) = (grouped(before), grouped(after));
            let text =
                format!("compressed ({number}), {cause}: {before} → {after} tokens, {kept} kept");
            (AnsiColor::Green, text)
        }
        Happened::CompressionSkipped { reason } => (
            AnsiColor::Yellow,
            format!("not compressed at {}: {}", grouped(before), skipped(*reason)),
        ),
        Happened::CompressionError { stage, cause, remedy } => {
            let cause = on_one_line(cause);
            (AnsiColor::Red, format!("compression failed ({stage}): {cause}; {remedy}"))
        }
        Happened::SnapshotCreated { id, .. } | Happened::AutoSnapshotCreated { id, .. } => {
            (AnsiColor::Cyan, format!("snapshot {}", clipped(id, 12)))
        }
        Happened::SnapshotError { cause } => {
            (AnsiColor::Yellow, format!("no snapshot: {}", on_one_line(cause)))
        }
        Happened::ContextWarning { percent } => {
            (AnsiColor::Yellow, format!("{percent} % of the limit in use"))
        }
        Happened::ToolResultOffloaded { entry, tool, .. } => {
            (AnsiColor::Cyan, arrived("offloaded", entry, tool, event.tokens))
        }
        Happened::ToolResultDigested { entry, tool, .. } => {
            (AnsiColor::Cyan, arrived("digested", entry, tool, event.tokens))
        }
        Happened::Branched { at } => {
            (AnsiColor::Magenta, format!("history differs from {at} on: a branch"))
        }
        Happened::EpochChanged { epoch: Some(epoch) } => {
            (AnsiColor::Magenta, format!("compression {} in force again", clipped(epoch, 12)))
        }
        Happened::EpochChanged { epoch: None } => {
            (AnsiColor::Magenta, "compression taken back; none is in force".to_owned())
        }
        _ => (AnsiColor::White, "something else happened; `--json` has it".to_owned()),
    }
}

fn arrived(how: &str, entry: &str, tool: &str, [before, after]: [u64; 2]) -> String {
    let (before, after) = (grouped(before), grouped(after));
    format!("{how} {entry} of {tool}: {before} → {after} tokens")
}

fn reason(cause: Cause) -> &'static str {
    match cause {
        Cause::Soft => "soft",
        Cause::Hard => "hard",
        Cause::Manual => "asked for",
    }
}

fn skipped(reason: Skip) -> &'static str {
    match reason {
        Skip::NotNeeded => "within its bounds",
        Skip::NothingToCompress => "what could leave is pinned or held",
        Skip::NotSmaller => "it would not be smaller",
        Skip::Stalled => "it would free too little",
        Skip::Disabled => "the profile forbids it",
    }
}
