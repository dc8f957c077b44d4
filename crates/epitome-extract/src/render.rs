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
                && last.answer.is_none()
                && last.kind == UnitKind::Sentence
                && unit.kind == UnitKind::Sentence;
            out.push(if flows { ' ' } else { '\n' });
        }
        if labels {
            head(unit, last, &mut out);
        }
        // Without its name it would be taken for a row of the object before.
        if let Some(object) = unit.object.as_deref().filter(|object| !begins_with(unit, object))
            && !last.is_some_and(|last| (last.entry, &last.object) == (unit.entry, &unit.object))
        {
            out.extend([object, ", "]);
        }
        out.push_str(&unit.text);
        if let Some(answer) = &unit.answer {
            out.extend(["\n", if labels { label(Speaker::Human) } else { "" }, answer]);
        }
        last = Some(unit);
    }
    out
}

/// Whether the first field of a row is that which names its object.
fn begins_with(unit: &TextUnit<'_>, object: &str) -> bool {
    let first = unit.fields.first().and_then(|(_, value)| unit.text.get(value.clone()));
    first == Some(object)
}

/// Says who speaks, where that is somebody else than before or another tool's result. Behind a call,
/// the result of another one says which.
fn head(unit: &TextUnit<'_>, last: Option<&TextUnit<'_>>, out: &mut String) {
    let is_of_call = |last: &TextUnit<'_>| unit.call.is_some() && last.call == unit.call;
    let is_result = unit.speaker == Speaker::Tool;
    // An answer is to one question, not to all that were asked before.
    let is_own = is_result || unit.answer.is_some();
    let goes_on = |last: &TextUnit<'_>| {
        let is_same = last.speaker == unit.speaker && last.answer.is_none();
        is_same && (!is_own || last.entry == unit.entry && (!is_result || is_of_call(last)))
    };
    if last.is_some_and(goes_on) {
        return;
    }
    let misleads = |last: &TextUnit<'_>| last.kind == UnitKind::Call && !is_of_call(last);
    let label = label(unit.speaker);
    match &unit.call {
        Some(call) if is_result && last.is_some_and(misleads) => {
            out.extend([label.trim_end_matches(": "), " ", call, ":\n"]);
        }
        // A marker is read at the beginning of a line, and only there.
        _ if is_marker(&unit.text) => out.extend([label.trim_end(), "\n"]),
        _ => out.push_str(label),
    }
}

fn label(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Human => "User: ",
        Speaker::Model => "Assistant: ",
        Speaker::Tool => "Tool: ",
        Speaker::Harness => "Note: ",
    }
}
