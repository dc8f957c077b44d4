//! What policies are told of a conversation, whether it goes on or not.
//!
//! Invariant: facts of the thread and of what is sent of it alone.

use epitome_extract::ledger::written;
use epitome_kernel::{Thread, ThreadSizes, View};
use epitome_plan::speaker;
use epitome_types::hook::{Columns, Input, MessageNumber, MessageTexts, Tokens};
use epitome_types::{Entry, EntryKey, Part, PartBody, PartId, Speaker, TokenBreakdown, ToolCall};

use crate::checkpoints::KnownCheckpoint;

/// The sizes of a prompt.
pub(crate) fn sizes(by: &TokenBreakdown) -> Tokens {
    let (total, aside) = (by.sum(), by.system + by.tools + by.checkpoints);
    Tokens {
        total,
        system: by.system,
        tools: by.tools,
        checkpoints: by.checkpoints,
        conversation: total - aside,
    }
}

/// The messages of a thread with these entries and keys, a list for each property.
pub(crate) fn columns(
    thread: &Thread,
    view: &View<'_>,
    tokens: &ThreadSizes<'_>,
    checkpoints: &[KnownCheckpoint],
    keys: &[EntryKey],
) -> Columns {
    let entries = thread.entries();
    let mut exchange = Vec::with_capacity(entries.len());
    for (number, one) in (1..).zip(thread.exchanges()) {
        exchange.resize(one.entries.end, number);
    }
    let mut checkpoint = vec![0; entries.len()];
    for (number, (covers, _)) in (1..).zip(checkpoints) {
        covers.iter().for_each(|id| checkpoint[id.index()] = number);
    }
    Columns {
        count: entries.len() as u32,
        role: entries.iter().map(|entry| entry.role.into()).collect(),
        speaker: entries.iter().map(|entry| speaker(entry).into()).collect(),
        tokens: entries.iter().map(|entry| tokens.entry(entry.id)).collect(),
        sent: entries.iter().map(|entry| view.sent(tokens, entry.id)).collect(),
        exchange,
        pinned: entries.iter().map(|entry| thread.pinned(entry.id).is_some()).collect(),
        tools: entries.iter().map(has_tools).collect(),
        names: entries.iter().map(|entry| names(thread, entry).collect()).collect(),
        key: keys.iter().map(|key| key.short()).collect(),
        checkpoint,
        inputs: entries.iter().map(|entry| inputs(thread, view, tokens, entry)).collect(),
    }
}

/// The calls of an entry that write files. Whether what they wrote is there is for whoever has the
/// client's folder to say.
fn inputs(thread: &Thread, view: &View<'_>, tokens: &ThreadSizes<'_>, entry: &Entry) -> Vec<Input> {
    let calls = entry.parts.iter().zip(0..).filter_map(|(part, at)| match &part.body {
        PartBody::Call(call) => Some((call, PartId { entry: entry.id, part: at })),
        _ => None,
    });
    let input = |(number, (call, part)): (u32, (&ToolCall, PartId))| {
        let path = written(call).into_iter().next()?.path;
        let tool = call.tool.clone();
        let tokens = view.sent_part(tokens, part);
        Some(Input { call: number, tool, path, tokens, persisted: false, ok: thread.is_done(part) })
    };
    (1..).zip(calls).filter_map(input).collect()
}

/// Reads what the messages of a thread say.
pub(crate) struct ThreadTexts<'a>(pub(crate) &'a Thread);

impl MessageTexts for ThreadTexts<'_> {
    fn text(&self, place: MessageNumber) -> Option<String> {
        Some(self.0.entry(place.entry()?)?.readable().into_owned())
    }
}

/// What a person typed in an entry.
pub(crate) fn intent(entry: &Entry) -> Option<&str> {
    let typed = entry.parts.iter().filter(|part| part.speaker == Speaker::Human);
    typed.filter_map(|part| part.text()).next()
}

/// The tools that an entry calls or answers.
fn names<'t>(thread: &'t Thread, entry: &'t Entry) -> impl Iterator<Item = String> + use<'t> {
    let name = |(part, at): (&'t Part, u32)| match &part.body {
        PartBody::Call(call) => Some(call.tool.clone()),
        PartBody::Result(_) => {
            thread.tool_of(PartId { entry: entry.id, part: at }).map(str::to_owned)
        }
        _ => None,
    };
    entry.parts.iter().zip(0..).filter_map(name)
}

/// The tools that entries of a thread answer for, each once.
pub(crate) fn answered(thread: &Thread, entries: &[Entry]) -> Vec<String> {
    let results = entries.iter().filter(|entry| entry.results().next().is_some());
    let mut answered = Vec::new();
    for name in results.flat_map(|entry| names(thread, entry)) {
        if !answered.contains(&name) {
            answered.push(name);
        }
    }
    answered
}

fn has_tools(entry: &Entry) -> bool {
    entry.parts.iter().any(|part| part.body.is_tool())
}
