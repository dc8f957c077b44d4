//! Where a message and its parts stand in the bytes: what an edit needs to know.
//!
//! Invariant: parts and their sites are parallel; every span lies inside the message's span.
//! Written by the readers of the provider formats, read by `edit`.

use epitome_types::{Entry, EntryId, Part, PartBody, Role, Speaker};

use crate::canonical::canonical;
use crate::json::{Objects, Span};
use crate::{WireError, note, volatile};

/// One message in the bytes.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) role: Role,
    pub(crate) content: Content,
    /// The message itself: its members, from key to end of value.
    pub(crate) members: BracketList,
    // Few messages have any, and a conversation may have more messages than words in each.
    pub(crate) calls: Option<Box<Beside>>,
    pub(crate) images: Option<Box<Beside>>,
    pub(crate) parts: Vec<PartSite>,
}

/// A message's `content`.
#[derive(Debug)]
pub(crate) enum Content {
    Absent,
    Null(Span),
    /// One string literal, quotes included.
    Text(Span),
    Blocks(BracketList),
}

/// What stands beside the content: calls (`tool_calls`, the older `function_call`), images.
#[derive(Debug)]
pub(crate) struct Beside {
    /// The places among the message's members of the keys that hold them.
    pub(crate) keys: Vec<usize>,
    /// The array; absent for the single `function_call`.
    pub(crate) list: Option<BracketList>,
}

/// An array or object and what stands between its brackets.
#[derive(Debug)]
pub(crate) struct BracketList {
    pub(crate) span: Span,
    pub(crate) items: Vec<Span>,
}

/// One part in the bytes.
#[derive(Debug)]
pub(crate) struct PartSite {
    pub(crate) home: Home,
    pub(crate) text: TextSite,
    /// The blocks of a tool result whose content is a list.
    pub(crate) inner: Option<Box<BracketList>>,
}

/// What a part is an item of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The content is one string, and this is it.
    Content,
    /// An item of the content's list.
    Block(usize),
    /// An item of the list inside another part.
    Inner { outer: u32, item: usize },
    /// An item of the calls beside the content.
    Call(usize),
    /// An item of the images beside the content.
    Image(usize),
    /// A member of the message by itself, by its place among them.
    Member(usize),
    /// The message exists for this part alone (the result in an OpenAI tool message, an item of the
    /// Responses API).
    Message,
}

/// What a new text would replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextSite {
    /// Nothing: the part has no text that may change.
    Fixed,
    /// A string literal, quotes included.
    Literal(Span),
    /// The arguments of a call: an object, or a string literal that holds one.
    Arguments { span: Span, literal: bool },
}

impl BracketList {
    /// Where an array and its items stand.
    pub(crate) fn of(array: &Objects<'_>) -> Self {
        let items = array.items.iter().map(|item| item.value.span());
        Self { span: array.span, items: items.collect() }
    }
}

/// Collects the parts of one message.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) parts: Vec<Part>,
    pub(crate) sites: Vec<PartSite>,
}

impl Parts {
    /// Adds a part; its place is returned.
    pub(crate) fn push(
        &mut self,
        body: PartBody,
        speaker: Speaker,
        home: Home,
        text: TextSite,
    ) -> u32 {
        let within = match home {
            Home::Inner { outer, .. } => Some(outer),
            _ => None,
        };
        let known_as = match (&body, text) {
            (PartBody::Text(text), _) if speaker == Speaker::Harness => volatile::known_as(text),
            (PartBody::Call(call), TextSite::Arguments { literal: false, .. }) => {
                canonical(&call.arguments)
            }
            _ => None,
        };
        self.parts.push(Part {
            body,
            speaker,
            within,
            known_as,
            note: None,
            files: Box::default(),
        });
        self.sites.push(PartSite { home, text, inner: None });
        self.parts.len() as u32 - 1
    }

    /// Notes by which other text part `part` is known.
    pub(crate) fn set_known(&mut self, part: u32, known_as: Option<String>) {
        if let Some(part) = self.parts.get_mut(part as usize) {
            part.known_as = known_as;
        }
    }

    /// Notes the list that later parts within part `outer` stand in.
    pub(crate) fn set_inner(&mut self, outer: u32, list: BracketList) {
        if let Some(site) = self.sites.get_mut(outer as usize) {
            site.inner = Some(Box::new(list));
        }
    }

    /// The entry these parts make, with the sites beside it.
    pub(crate) fn entry(mut self, id: EntryId, role: Role, span: Span) -> (Entry, Vec<PartSite>) {
        note::find(role, &mut self.parts);
        // Most messages have one part: what a list has in reserve would be more than all they say.
        self.parts.shrink_to_fit();
        self.sites.shrink_to_fit();
        let bytes = u32::try_from(span.len()).unwrap_or(u32::MAX);
        (Entry { id, role, parts: self.parts, bytes, at: None }, self.sites)
    }
}

/// A message, read: the entry and where it stands.
pub(crate) type ReadMessage = Result<(Entry, Site), WireError>;
