//! A request, read over its own bytes.
//!
//! Invariant: the bytes are borrowed and never re-encoded; entries are decoded copies of what they
//! say. Called by the facade for every compression.

use std::borrow::Cow;
use std::sync::Arc;

use epitome_types::{Entry, EntryId, Role};

use crate::json::{self, Cursor, JsonValue, JsonValueKind, Objects, Span};
use crate::opaque::kind;
use crate::site::{BracketList, Site};
use crate::{Format, WireError, anthropic, file_copy, read, responses};

/// A request of a provider format.
#[derive(Debug)]
pub struct RequestDocument<'a> {
    text: &'a str,
    format: Format,
    /// Shared with the thread that is made of them.
    entries: Arc<Vec<Entry>>,
    /// One for each message; the top-level system prompt is an entry without a site.
    sites: Vec<Site>,
    messages: BracketList,
    /// The message that the whole input is the text of, where it is one text and no list.
    bare: Option<String>,
    /// Whether the history, or part of it, is kept by the provider.
    continued: bool,
    context_size: Option<u64>,
    /// Whether the model is granted a budget to think (Anthropic's `enabled`).
    budgeted: bool,
    /// The top-level system prompt, where it is an entry.
    system: Option<Span>,
    tools: Option<&'a str>,
    model: Option<Cow<'a, str>>,
}

impl<'a> RequestDocument<'a> {
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
        let BodyOutline { messages: input, members } = BodyOutline::of(text, format)?;
        let member = |name: &str| {
            let found = members
                .iter()
                .rev()
                .find(|(key, value)| key == name && value.kind() != JsonValueKind::Null);
            found.map(|(_, value)| *value)
        };
        let mut entries = Vec::new();
        let system = format.system().and_then(member);
        if let Some(system) = system {
            entries.push(anthropic::system(system, EntryId(0))?);
        }
        let mut sites = Vec::new();
        let mut continued = format == Format::Responses
            && (member("previous_response_id").is_some() || member("conversation").is_some());
        let mut bare = None;
        let messages = match input {
            MessagesInput::Text(text) => {
                let (entry, site) = read::value(text, format, next_id(&entries))?;
                entries.push(entry);
                sites.push(site);
                bare = Some(responses::bare_message(text.raw()));
                BracketList { span: text.span(), items: vec![text.span()] }
            }
            MessagesInput::List(items) => {
                // What a list grows by beyond its items is as much again.
                entries.reserve_exact(items.items.len());
                sites.reserve_exact(items.items.len());
                let list = BracketList::of(&items);
                // The members of each are let go of once it is read.
                for item in items.items {
                    let (entry, site) = read::message(&item, format, next_id(&entries))?;
                    entries.push(entry);
                    sites.push(site);
                    continued |= format == Format::Responses && kind(&item) == "item_reference";
                }
                list
            }
        };
        let tools = member("tools").or_else(|| member("functions")).map(JsonValue::raw);
        file_copy::find(&mut entries, tools);
        let model = member("model").and_then(JsonValue::as_str);
        let context_size = member("options").filter(|_| format == Format::Ollama);
        let context_size = context_size.and_then(|it| it.as_object()?.get("num_ctx"));
        let context_size = context_size.and_then(|size| size.raw().parse().ok());
        let thinking = member("thinking").filter(|_| format == Format::Anthropic);
        let thinking = thinking.and_then(|it| it.as_object()?.text("type"));
        let budgeted = thinking.is_some_and(|kind| kind == "enabled");
        let system = system.map(JsonValue::span);
        Ok(Self {
            text,
            format,
            entries: Arc::new(entries),
            sites,
            messages,
            bare,
            continued,
            context_size,
            budgeted,
            system,
            tools,
            model,
        })
    }

    /// The same request, its messages stamped with the times a recording gave them
    /// ([`crate::Transcript::at`]).
    #[must_use]
    pub fn with_times(mut self, at: &[Option<String>]) -> Self {
        let first = self.entries.len() - self.sites.len();
        if at.iter().any(Option::is_some) {
            let entries = Arc::make_mut(&mut self.entries).iter_mut().skip(first);
            entries.zip(at).for_each(|(entry, at)| entry.at.clone_from(at));
        }
        self
    }

    /// The same request as one that does not go on: whatever stands in the role of the system is
    /// its prompt, wherever it stands, and no note that a later one takes the place of.
    #[must_use]
    pub fn standing_alone(mut self) -> Self {
        let is_noted = |entry: &Entry| {
            entry.role == Role::System && entry.parts.iter().any(|part| part.note.is_some())
        };
        if self.entries.iter().any(is_noted) {
            let entries = Arc::make_mut(&mut self.entries).iter_mut();
            let noted = entries.filter(|entry| is_noted(entry));
            noted.flat_map(|entry| &mut entry.parts).for_each(|part| part.note = None);
        }
        self
    }

    /// The conversation, decoded. A system prompt that is no message (Anthropic's `system`, the
    /// `instructions` of the Responses API), where there is one, is `e0`.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same, for a thread of them.
    pub fn shared_entries(&self) -> Arc<Vec<Entry>> {
        self.entries.clone()
    }

    /// The tool schemas, as they stand in the body.
    pub fn tools(&self) -> Option<&str> {
        self.tools
    }

    /// The tool schemas one by one, each as it stands in the body.
    pub fn tool_schemas(&self) -> Vec<&str> {
        let schemas = self.tools.and_then(|tools| json::parse(tools).ok()?.items().ok());
        schemas.unwrap_or_default().into_iter().map(JsonValue::raw).collect()
    }

    /// The model asked for.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The context size that the request asks for, in tokens (Ollama's `options.num_ctx`).
    pub fn context_size(&self) -> Option<u64> {
        self.context_size
    }

    /// Whether the request grants its model a budget to think: then the reasoning of a tool loop has
    /// to come back (RULES 107), and models that bind theirs refuse it (RULES 139).
    pub fn has_thinking_budget(&self) -> bool {
        self.budgeted
    }

    /// Whether the provider keeps the history, or part of it, and the request only refers to it:
    /// such a request is to be left as it is (RULES 126).
    pub fn is_continued(&self) -> bool {
        self.continued
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The request as it came.
    pub fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// A message as it came; of the top-level system prompt, its value. Where the whole input is
    /// one text, the message that says the same. Empty for an id that this document does not have.
    /// [`crate::assemble`] is the way back.
    pub fn message_bytes(&self, id: EntryId) -> &[u8] {
        if let Some(bare) = self.bare.as_ref().filter(|_| id.index() == self.lead()) {
            return bare.as_bytes();
        }
        let span = match id.index().checked_sub(self.lead()) {
            Some(place) => self.messages.items.get(place).copied(),
            None => self.system,
        };
        span.map_or(&[], |span| span.of(self.text).as_bytes())
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
    pub(crate) fn messages(&self) -> &BracketList {
        &self.messages
    }

    /// Whether the input is one text, not a list of messages.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare.is_some()
    }

    /// How many entries stand before the first message: 1 with a top-level system prompt.
    pub fn lead(&self) -> usize {
        self.entries.len() - self.sites.len()
    }
}

/// The place of the next entry.
fn next_id(entries: &[Entry]) -> EntryId {
    EntryId(u32::try_from(entries.len()).unwrap_or(u32::MAX))
}

/// The top of a body: one pass over the bytes finds the messages and checks all of it.
struct BodyOutline<'a> {
    messages: MessagesInput<'a>,
    /// The other members of the body.
    members: Vec<(Cow<'a, str>, JsonValue<'a>)>,
}

/// What the messages are given as.
enum MessagesInput<'a> {
    List(Objects<'a>),
    /// One text of the user (Responses API).
    Text(JsonValue<'a>),
}

impl<'a> BodyOutline<'a> {
    fn of(text: &'a str, format: Format) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(text, 0);
        let mut messages = None;
        let mut members = Vec::new();
        match cursor.peek_kind()? {
            JsonValueKind::Array if format == Format::OpenAi => {
                messages = Some(MessagesInput::List(cursor.objects()?))
            }
            JsonValueKind::Object => cursor.members(|key, cursor| {
                match key.str()? {
                    key if key == format.messages() => {
                        let bare = format == Format::Responses
                            && cursor.peek_kind()? == JsonValueKind::String;
                        messages = Some(match bare {
                            true => MessagesInput::Text(cursor.value()?),
                            false => MessagesInput::List(cursor.objects()?),
                        });
                    }
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
            None => Err(json::parse(text)?.unexpected(match format {
                Format::Responses => "an object with `input`",
                _ => "an object with `messages`",
            })),
        }
    }
}
