//! The texts that leave a prompt, named by where they stand in it.
//!
//! Invariant: what is made of a name is the text that was there when it was named, whether it is copied
//! or taken. Named by the eviction, read where the texts go to a store.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use epitome_kernel::types::{ContentId, Entry, EntryId, Part, PartBody, PartId};
use epitome_kernel::{StoredText, Thread};

/// A text that leaves. The texts together are as large as the conversation: a host that has no more
/// use for that takes them out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LeavingText {
    /// Its address.
    pub(crate) id: ContentId,
    /// What a person is told it is.
    pub(crate) source: String,
    pub(crate) from: TextOrigin,
}

/// Where a text stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextOrigin {
    /// It is what an entry says.
    Entry(EntryId),
    /// It is a part.
    Part(PartId),
    /// Nowhere as it is.
    Made(String),
}

impl TextOrigin {
    fn entry(&self) -> Option<EntryId> {
        match self {
            Self::Entry(entry) => Some(*entry),
            Self::Part(part) => Some(part.entry),
            Self::Made(_) => None,
        }
    }
}

/// Copies of the texts of a thread.
pub(crate) fn copied(leaving: Vec<LeavingText>, thread: &Thread) -> Vec<StoredText> {
    leaving.into_iter().map(|one| one.stored(thread.entries())).collect()
}

/// The texts, taken out of their entries: nothing is copied where nobody else has these.
pub fn taken(leaving: Vec<LeavingText>, entries: Arc<Vec<Entry>>) -> Vec<StoredText> {
    let mut entries = match Arc::try_unwrap(entries) {
        Ok(entries) => entries,
        Err(shared) => return leaving.into_iter().map(|one| one.stored(&shared)).collect(),
    };
    let mut uses: BTreeMap<EntryId, usize> = BTreeMap::new();
    for entry in leaving.iter().filter_map(|one| one.from.entry()) {
        *uses.entry(entry).or_default() += 1;
    }
    let mut take = |one: LeavingText| {
        let entry = one.from.entry();
        let left = entry.and_then(|entry| uses.get_mut(&entry));
        let is_last = left.is_some_and(|left| {
            *left -= 1;
            *left == 0
        });
        match entry.filter(|_| is_last).and_then(|entry| entries.get_mut(entry.index())) {
            Some(entry) => one.out_of(entry),
            None => one.stored(&entries),
        }
    };
    leaving.into_iter().map(&mut take).collect()
}

impl LeavingText {
    fn stored(self, entries: &[Entry]) -> StoredText {
        let Self { id, source, from } = self;
        let entry = |id: EntryId| entries.get(id.index());
        let text = match from {
            TextOrigin::Made(text) => Some(text),
            TextOrigin::Entry(id) => entry(id).map(|entry| entry.readable().into_owned()),
            TextOrigin::Part(PartId { entry: id, part }) => {
                let part = entry(id).and_then(|entry| entry.parts.get(part as usize));
                part.and_then(Part::original).map(str::to_owned)
            }
        };
        StoredText { id, source, text: text.unwrap_or_default() }
    }

    /// The same out of an entry that nobody reads any more, which is empty then.
    fn out_of(self, entry: &mut Entry) -> StoredText {
        let mut parts = mem::take(&mut entry.parts);
        let text = match self.from {
            TextOrigin::Part(PartId { part, .. }) => parts.get_mut(part as usize).map(body),
            TextOrigin::Entry(_) => match &mut parts[..] {
                [Part { body: PartBody::Text(text), .. }] => Some(trimmed(mem::take(text))),
                [Part { body: PartBody::Result(it), .. }] => Some(trimmed(mem::take(&mut it.text))),
                _ => None,
            },
            TextOrigin::Made(_) => None,
        };
        if let Some(text) = text {
            return StoredText { id: self.id, source: self.source, text };
        }
        entry.parts = parts;
        let stored = self.stored_of(entry);
        entry.parts = Vec::new();
        stored
    }

    fn stored_of(self, entry: &Entry) -> StoredText {
        let text = entry.readable().into_owned();
        StoredText { id: self.id, source: self.source, text }
    }
}

/// The text of a part that a replacement stands for.
fn body(part: &mut Part) -> String {
    match &mut part.body {
        PartBody::Text(text) => mem::take(text),
        PartBody::Result(result) => mem::take(&mut result.text),
        PartBody::Call(call) => mem::take(&mut call.arguments),
        _ => String::new(),
    }
}

/// A text without the line ends behind it.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end_matches('\n').len());
    text
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    #[test]
    fn what_is_taken_is_what_would_be_copied() {
        let entries = chat()
            .user("one\n\n")
            .call("read", "{\"path\":\"a.rs\"}")
            .result("two\n")
            .assistant("three")
            .entries();
        let part = |entry| TextOrigin::Part(PartId { entry: EntryId(entry), part: 0 });
        let of = |entry| TextOrigin::Entry(EntryId(entry));
        let from = [of(0), part(1), of(1), part(2), of(2), of(2), part(3), of(9)];
        let made = TextOrigin::Made("four".to_owned());
        let named = from.into_iter().chain([made]).zip(0..);
        let named = named.map(|(from, number)| LeavingText {
            id: ContentId([number; 16]),
            source: number.to_string(),
            from,
        });
        let named: Vec<_> = named.collect();
        let copies: Vec<_> = named.iter().map(|one| one.clone().stored(&entries)).collect();
        let texts: Vec<_> = copies.iter().map(|copy| copy.text.as_str()).collect();
        let call = "{\"path\":\"a.rs\"}";
        let whole = format!("read({call})");
        assert_eq!(texts, ["one", call, &whole, "two\n", "two", "two", "three", "", "four"]);
        let shared = Arc::new(entries);
        assert_eq!(taken(named.clone(), shared.clone()), copies);
        assert_eq!(taken(named, shared), copies);
    }
}
