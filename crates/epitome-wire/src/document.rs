//! A request, read over its own bytes.
//!
//! Invariant: the bytes are borrowed and never re-encoded; entries are decoded copies of what they
//! say. Called by the facade for every compression.

use std::borrow::Cow;

use epitome_types::{Edit, Entry, EntryId};

use crate::json::{self, Cursor, Kind, Objects, Span, Value};
use crate::site::{List, Site};
use crate::{Format, WireError, anthropic, edit, openai};

/// A request of a provider format.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    format: Format,
    entries: Vec<Entry>,
    /// One for each message; the top-level system prompt is an entry without a site.
    sites: Vec<Site>,
    messages: List,
    /// The top-level system prompt, where it is an entry.
    system: Option<Span>,
    tools: Option<&'a str>,
    model: Option<Cow<'a, str>>,
}

impl<'a> Document<'a> {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// When the bytes are not UTF-8 JSON of the format's shape (the error names the byte and the
    /// path), or the format is a recording's: [`crate::convert`] makes a request of one.
    pub fn parse(bytes: &'a [u8], format: Format) -> Result<Self, WireError> {
        if format.is_recording() {
            let expected = "a provider's request; convert the recording first";
            return Err(WireError::WrongKind { format, is: "a recording", expected });
        }
        let text = json::text(bytes)?;
        let Outline { messages, members } = Outline::of(text, format)?;
        let member = |name: &str| {
            let found =
                members.iter().rev().find(|(key, value)| key == name && value.kind() != Kind::Null);
            found.map(|(_, value)| *value)
        };
        let mut entries = Vec::with_capacity(messages.items.len() + 1);
        let system = member("system").filter(|_| format == Format::Anthropic);
        if let Some(system) = system {
            entries.push(anthropic::system(system, EntryId(0))?);
        }
        let mut sites = Vec::with_capacity(messages.items.len());
        for item in &messages.items {
            let id = EntryId(u32::try_from(entries.len()).unwrap_or(u32::MAX));
            let (entry, site) = match format {
                Format::Anthropic => anthropic::message(item, id)?,
                _ => openai::message(item, id)?,
            };
            entries.push(entry);
            sites.push(site);
        }
        let tools = member("tools").or_else(|| member("functions")).map(Value::raw);
        let model = member("model").and_then(Value::as_str);
        let (system, messages) = (system.map(Value::span), List::of(&messages));
        Ok(Self { text, format, entries, sites, messages, system, tools, model })
    }

    /// The same request, its messages stamped with the times a recording gave them
    /// ([`crate::Transcript::at`]).
    #[must_use]
    pub fn with_times(mut self, at: &[Option<String>]) -> Self {
        let first = self.entries.len() - self.sites.len();
        for (entry, at) in self.entries.iter_mut().skip(first).zip(at) {
            entry.at.clone_from(at);
        }
        self
    }

    /// The conversation, decoded. Anthropic's top-level `system`, where there is one, is `e0`.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The tool schemas, as they stand in the body.
    pub fn tools(&self) -> Option<&str> {
        self.tools
    }

    /// The tool schemas one by one, each as it stands in the body.
    pub fn tool_schemas(&self) -> Vec<&str> {
        let schemas = self.tools.and_then(|tools| json::parse(tools).ok()?.items().ok());
        schemas.unwrap_or_default().into_iter().map(Value::raw).collect()
    }

    /// The model asked for.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The request as it came.
    pub fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// A message as it came; of the top-level system prompt, the value of `system`. Empty for an
    /// id that this document does not have. [`crate::assemble`] is the way back.
    pub fn message_bytes(&self, id: EntryId) -> &'a [u8] {
        let span = match id.index().checked_sub(self.lead()) {
            Some(place) => self.messages.items.get(place).copied(),
            None => self.system,
        };
        span.map_or(&[], |span| span.of(self.text).as_bytes())
    }

    /// The request with edits applied; without edits, the very same bytes. Everything that no edit
    /// aims at keeps its bytes. A text for the user that would stand next to a message of the user
    /// is folded into it (SPEC 2.11, hazard 6).
    ///
    /// # Errors
    ///
    /// When an edit aims at nothing, at the top-level system prompt or at reasoning (hazard 7), or
    /// when two edits contradict each other. Then none is made.
    pub fn edited(&self, edits: &[Edit]) -> Result<Vec<u8>, WireError> {
        edit::apply(self, edits)
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The messages' places.
    pub(crate) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The array that holds the messages.
    pub(crate) fn messages(&self) -> &List {
        &self.messages
    }

    /// How many entries stand before the first message: 1 with a top-level system prompt.
    pub(crate) fn lead(&self) -> usize {
        self.entries.len() - self.sites.len()
    }
}

/// The top of a body: one pass over the bytes finds the messages and checks all of it.
struct Outline<'a> {
    messages: Objects<'a>,
    /// The other members of the body.
    members: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Outline<'a> {
    fn of(text: &'a str, format: Format) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(text, 0);
        let mut messages = None;
        let mut members = Vec::new();
        match cursor.peek_kind()? {
            Kind::Array if format == Format::OpenAi => messages = Some(cursor.objects()?),
            Kind::Object => cursor.members(|key, cursor| {
                match key.str()? {
                    key if key == "messages" => messages = Some(cursor.objects()?),
                    key => members.push((key, cursor.value()?)),
                }
                Ok(())
            })?,
            _ => {}
        }
        match messages {
            Some(messages) => {
                cursor.end()?;
                Ok(Self { messages, members })
            }
            None => Err(json::parse(text)?.unexpected("an object with `messages`")),
        }
    }
}
