//! Writes chosen units down as the text of a summary.
//!
//! Invariant: units keep their order, every change of speaker is named, and a marker of goals keeps
//! its line.

use epitome_kernel::types::Speaker;

use crate::split::is_marker;
use crate::unit::{TextUnit, UnitKind};

/// The chosen units (ascending places) as text. `labels` names the speakers.
pub(crate) fn render(units: &[TextUnit<'_>], chosen: &[usize], labels: bool) -> String {
    let mut out = String::new();
    let mut last: Option<&TextUnit<'_>> = None;
    for unit in chosen.iter().map(|index| &units[*index]) {
        if let Some(last) = last {
            let flows = last.entry == unit.entry
                && last.kind == UnitKind::Sentence
                && unit.kind == UnitKind::Sentence;
            out.push(if flows { ' ' } else { '\n' });
        }
        if labels && last.is_none_or(|last| last.speaker != unit.speaker) {
            let label = label(unit.speaker);
            // A marker is read at the beginning of a line, and only there.
            match is_marker(&unit.text) {
                true => out.extend([label.trim_end(), "\n"]),
                false => out.push_str(label),
            }
        }
        out.push_str(&unit.text);
        last = Some(unit);
    }
    out
}

fn label(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Human => "User: ",
        Speaker::Model => "Assistant: ",
        Speaker::Tool => "Tool: ",
        Speaker::Harness => "Note: ",
    }
}
