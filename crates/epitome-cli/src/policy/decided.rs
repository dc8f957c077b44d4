//! Who decided what, a line each, as a conversation goes on.
//!
//! Invariant: what is decided as it was the last time is not said again.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use epitome::types::EventKind;
use epitome_lab::ReplayTurn;

use super::short_form::words;
use super::trace::happened;
use super::watcher::{Note, TracedAnswer, TracedOutcome};
use crate::columns::output_width;
use crate::fault::CliError;
use crate::files;
use crate::text::{clipped, on_one_line, plain};

/// Cells of a turn, and of a hook.
const TURN: usize = 9;
const HOOK: usize = 14;

/// The most cells of a line, where nobody clips it sooner.
const WIDEST: usize = 160;

/// The hooks of which it is shown who decides, whoever that is; of the others only what the policy that
/// is tried says.
const ALWAYS: [&str; 2] = ["trigger", "plan"];

/// What was decided last, by hook.
pub(super) struct DecisionLines {
    /// The policy that is tried.
    policy: String,
    said: BTreeMap<&'static str, String>,
}

impl DecisionLines {
    /// Nothing was decided yet.
    pub(super) fn new(policy: &str) -> Self {
        Self { policy: policy.to_owned(), said: BTreeMap::new() }
    }

    /// Shows what was decided in a turn otherwise than before, and what came of it.
    pub(super) fn show(&mut self, turn: &ReplayTurn, notes: &[Note]) -> Result<(), CliError> {
        let decided = notes.iter().filter_map(|note| self.news(note)).collect::<Vec<_>>();
        let events = turn.events.iter().filter_map(|event| {
            let style = match &event.what {
                EventKind::Compressed { .. } => AnsiColor::Green.on_default(),
                EventKind::CompressionError { .. } | EventKind::PolicyError { .. } => {
                    AnsiColor::Red.on_default()
                }
                EventKind::CompressionSkipped { .. }
                | EventKind::AnswerBounded { .. }
                | EventKind::PolicyWarning { .. } => AnsiColor::Yellow.on_default(),
                _ => return None,
            };
            let (name, what) = happened(event);
            Some((style, name, what))
        });
        let refused = turn
            .refused
            .iter()
            .map(|why| (AnsiColor::Red.on_default(), "refused".to_owned(), why.clone()));
        let lines: Vec<_> = decided.into_iter().chain(events).chain(refused).collect();
        files::to_stdout(|out| write(out, turn.turn, &lines))
    }

    /// What is new of a hook: what was decided and by whom, and what failed on the way.
    fn news(&mut self, note: &Note) -> Option<(Style, String, String)> {
        let is_its = note.winner.as_ref() == Some(&self.policy);
        let failed = |said: &TracedAnswer| matches!(said.what, TracedOutcome::Error(_));
        let is_shown = is_its || ALWAYS.contains(&note.hook) || note.asked.iter().any(failed);
        if !is_shown {
            return None;
        }
        let said = note.asked.iter().filter_map(|said| {
            let what = match &said.what {
                TracedOutcome::Answer(answer) if note.winner.as_ref() == Some(&said.policy) => {
                    format!("→ {}", words(answer))
                }
                TracedOutcome::Ask(id) => format!("asks a model: {id}"),
                TracedOutcome::Error(what) => format!("failed: {what}"),
                TracedOutcome::Answer(_) | TracedOutcome::Passed(_) => return None,
            };
            Some(format!("{} {what}", plain(&said.policy)))
        });
        let mut said = said.collect::<Vec<_>>();
        said.dedup();
        let said = said.join("; ");
        let is_known = self.said.get(note.hook) == Some(&said);
        // That nothing is done at first is no news.
        let is_idle = !is_its && said.ends_with("→ false") && !self.said.contains_key(note.hook);
        (!said.is_empty() && !is_known && !is_idle).then(|| {
            self.said.insert(note.hook, said.clone());
            (AnsiColor::Cyan.on_default(), note.hook.to_owned(), said)
        })
    }
}

fn write(out: &mut dyn Write, turn: usize, lines: &[(Style, String, String)]) -> io::Result<()> {
    let room = output_width().min(WIDEST).saturating_sub(TURN);
    for (at, (style, name, what)) in lines.iter().enumerate() {
        let turn = if at == 0 { format!("turn {turn}") } else { String::new() };
        let line = clipped(&format!("{name:HOOK$} {}", plain(&on_one_line(what))), room);
        writeln!(out, "{turn:TURN$}{style}{line}{style:#}")?;
    }
    Ok(())
}
