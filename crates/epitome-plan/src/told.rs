//! Messages that leave a prompt, as policies are told of them.
//!
//! Invariant: facts of the messages alone; what they say is read where it is wanted, never copied.

use std::collections::HashMap;
use std::fmt;

use epitome_kernel::types::hook::{Covered, MessageNumber, MessageTexts};
use epitome_kernel::types::{Entry, Part, PartBody, Speaker};

/// Messages that leave, as policies are told of them.
pub fn covered(entries: &[&Entry]) -> Covered {
    let calls = entries.iter().flat_map(|entry| entry.calls());
    let tools: HashMap<_, _> = calls.map(|call| (&*call.id, &*call.tool)).collect();
    let name = |part: &Part| match &part.body {
        PartBody::Call(call) => Some(call.tool.clone()),
        PartBody::Result(result) => tools.get(&*result.call).map(|tool| (*tool).to_owned()),
        _ => None,
    };
    Covered {
        count: entries.len() as u32,
        role: entries.iter().map(|entry| entry.role.into()).collect(),
        speaker: entries.iter().map(|entry| speaker(entry).into()).collect(),
        names: entries.iter().map(|entry| entry.parts.iter().filter_map(name).collect()).collect(),
    }
}

/// Reads what they say.
#[derive(Clone, Copy)]
pub struct SpokenTexts<'a>(pub &'a [&'a Entry]);

impl fmt::Debug for SpokenTexts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpokenTexts").field(&self.0.len()).finish()
    }
}

impl MessageTexts for SpokenTexts<'_> {
    fn text(&self, place: MessageNumber) -> Option<String> {
        Some(self.0.get(place.entry()?.index())?.readable().into_owned())
    }
}

/// How many lines a text has. Each message is asked for that: the ends are counted in one go, where
/// [`str::lines`] searches anew for each.
pub fn line_count(text: &str) -> usize {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Who produced an entry; what a person typed counts before what stands beside it.
pub fn speaker(entry: &Entry) -> Speaker {
    if entry.has_speaker(Speaker::Human) {
        return Speaker::Human;
    }
    entry.parts.first().map_or(Speaker::Harness, |part| part.speaker)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn lines_are_counted_as_they_are_read(text in "[a\n\r\u{e9}]{0,12}") {
            proptest::prop_assert_eq!(line_count(&text), text.lines().count());
        }
    }
}
