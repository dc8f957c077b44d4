//! What edits make of the messages of a request, kept for the requests that go on from it.
//!
//! Invariant: a layout that has grown by what a client added gives the bytes that the same edits
//! would give, and reads no message but those that are new or that their client wrote anew. Called
//! by `edit`, and by live sessions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use epitome_types::{Edit, EntryId};

use super::changes::{Changes, MessageChange};
use super::order;
use super::patch::{ListItem, Patch, list, splice};
use super::slot::OutputSlot;
use super::{Editor, PARAGRAPH, message};
use crate::json::{self, Cursor, Span};
use crate::site::BracketList;
use crate::{Format, RequestDocument, RequestScan, WireError, read};

/// What becomes of the messages of a request, by place.
#[derive(Clone, Debug)]
pub struct MessageLayout {
    format: Format,
    /// What stands in the list of messages.
    pub(super) items: Vec<ListItem<'static>>,
    /// Of the messages that stay, those that are not as they came.
    pub(super) changes: BTreeMap<usize, MessageChange<'static>>,
    /// How many messages there were.
    messages: usize,
}

impl MessageLayout {
    pub(crate) fn of(document: &RequestDocument<'_>, edits: &[Edit]) -> Result<Self, WireError> {
        let mut changes = Changes::collect(document, edits)?;
        changes.settle(document)?;
        let format = document.format();
        let items = order::arrange(document, &mut changes).into_iter().map(|slot| match slot {
            OutputSlot::Keep(place) => ListItem::Keep(place),
            OutputSlot::New { role, texts } => ListItem::New(match &texts[..] {
                [text] => message(format, role, text).into(),
                texts => message(format, role, &texts.join(PARAGRAPH)).into(),
            }),
        });
        let items = items.collect();
        let messages = changes.messages.len();
        let changed = changes.messages.into_iter().enumerate();
        let changed = changed.filter(|(_, change)| !change.removed && !change.is_empty());
        let changes = changed.map(|(place, it)| (place, it.into_owned(document, place))).collect();
        Ok(Self { format, items, changes, messages })
    }

    /// Whether every message stays as it came.
    pub fn is_plain(&self) -> bool {
        self.changes.is_empty() && self.items.len() == self.messages && self.ends_with_its_last()
    }

    /// Whether messages that follow change nothing of it: nothing was put behind the last one.
    pub fn can_grow(&self) -> bool {
        let last = self.messages.checked_sub(1).and_then(|last| self.changes.get(&last));
        self.ends_with_its_last() && last.is_none_or(|change| change.after.is_empty())
    }

    fn ends_with_its_last(&self) -> bool {
        match (self.messages.checked_sub(1), self.items.last()) {
            (Some(place), Some(ListItem::Keep(last))) => *last == place,
            (None, None) => true,
            _ => false,
        }
    }

    /// Takes in messages behind the last one, which stay as they come.
    pub fn grow(&mut self, messages: usize) {
        self.items.extend((self.messages..self.messages + messages).map(ListItem::Keep));
        self.messages += messages;
    }

    /// Gives a part of a message a new text.
    pub fn set_text(&mut self, place: usize, part: u32, text: &str) {
        let change = self.changes.entry(place).or_default();
        change.texts.insert(part, Cow::Owned(text.to_owned()));
    }

    /// The places of the messages that are not as they came.
    pub fn changed(&self) -> impl Iterator<Item = usize> {
        self.changes.keys().copied()
    }

    /// A message as it is sent, made of the bytes that it came in.
    ///
    /// # Errors
    ///
    /// When they are no message.
    pub fn message(&self, place: usize, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
        let Some(change) = self.changes.get(&place) else { return Ok(bytes.to_vec()) };
        let text = json::text(bytes)?;
        let mut cursor = Cursor::new(text, 0);
        let value = cursor.value()?;
        cursor.end()?;
        let (_, site) = read::value(value, self.format, EntryId(0))?;
        let mut patches = Vec::new();
        Editor { text, format: self.format, site: &site, change }.patch(&mut patches);
        Ok(splice(text, patches).into_bytes())
    }

    /// A body laid out like this. `with` gives the bytes of the messages that are not as they came.
    ///
    /// # Errors
    ///
    /// When the body is not UTF-8, which a scan has checked.
    pub fn body<'b>(
        &self,
        body: &[u8],
        scan: &RequestScan,
        with: impl Fn(usize) -> Option<&'b [u8]>,
    ) -> Result<Vec<u8>, WireError> {
        let text = json::text(body)?;
        let spans = scan.messages.iter().map(|it| Span::new(it.range.start, it.range.end));
        let items =
            BracketList { span: Span::new(scan.list.start, scan.list.end), items: spans.collect() };
        let mut patches = Vec::new();
        list(text, &items, self.items.iter().map(ListItem::borrowed), &mut patches);
        for place in self.changed() {
            let (Some(span), Some(with)) = (items.items.get(place), with(place)) else { continue };
            let with = json::text(with)?.into();
            patches.push(Patch { span: *span, with });
        }
        Ok(splice(text, patches).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use epitome_types::{PartId, Role};

    use super::*;
    use crate::scan;

    const MESSAGES: [&str; 5] = [
        r#"{"role":"user","content":"one"}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":{}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"long","cache_control":{"type":"ephemeral"}}]}"#,
        r#"{"role":"assistant","content":"two"}"#,
        r#"{"role":"user", "content":"three"}"#,
    ];

    fn body(messages: &[&str]) -> String {
        format!("{{\"messages\":[ {} ] ,\"m\":1.0}}", messages.join(" ,\n"))
    }

    #[track_caller]
    fn check(edits: &[Edit]) {
        let short = body(&MESSAGES[..4]);
        let short = RequestDocument::parse(short.as_bytes(), Format::Anthropic).unwrap();
        let mut layout = short.layout(edits).unwrap();
        assert_eq!(short.laid_out(&layout), short.edited(edits).unwrap());
        assert_eq!(layout.is_plain(), edits.is_empty());
        assert!(layout.can_grow());
        layout.grow(1);
        // The client moves its mark.
        let moved: Vec<_> = MESSAGES
            .iter()
            .map(|message| message.replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
            .collect();
        let long = body(&moved.iter().map(String::as_str).collect::<Vec<_>>());
        let all = scan(long.as_bytes(), Format::Anthropic).unwrap();
        let changed: BTreeMap<_, _> = layout
            .changed()
            .map(|at| {
                let bytes = &long.as_bytes()[all.messages[at].range.clone()];
                (at, layout.message(at, bytes).unwrap())
            })
            .collect();
        let with = |at: usize| changed.get(&at).map(Vec::as_slice);
        let laid = layout.body(long.as_bytes(), &all, with).unwrap();
        let long = RequestDocument::parse(long.as_bytes(), Format::Anthropic).unwrap();
        assert_eq!(laid, long.edited(edits).unwrap());
    }

    #[test]
    fn a_layout_that_grew_gives_the_bytes_of_its_edits() {
        let part = PartId { entry: EntryId(2), part: 0 };
        let set = Edit::SetText { part, text: "short \"x\"".to_owned() };
        let gone = |id| Edit::RemoveEntry(EntryId(id));
        let insert = |after, role| Edit::Insert { after, role, text: "so far".to_owned() };
        check(&[]);
        check(std::slice::from_ref(&set));
        check(&[gone(0), gone(1), gone(2)]);
        check(&[insert(Some(EntryId(0)), Role::User), gone(3)][..1]);
        check(&[insert(Some(EntryId(1)), Role::User), set.clone()]);
        check(&[gone(1), gone(2), insert(Some(EntryId(0)), Role::Assistant)]);
        check(&[gone(0), insert(None, Role::Assistant), set]);
    }

    #[test]
    fn what_stands_behind_the_last_message_keeps_a_layout_from_growing() {
        let short = body(&MESSAGES[..3]);
        let short = RequestDocument::parse(short.as_bytes(), Format::Anthropic).unwrap();
        for role in [Role::User, Role::Assistant] {
            let insert = Edit::Insert { after: Some(EntryId(2)), role, text: "x".to_owned() };
            assert!(!short.layout(&[insert]).unwrap().can_grow());
        }
        assert!(!short.layout(&[Edit::RemoveEntry(EntryId(2))]).unwrap().can_grow());
    }
}
