//! A history that grows message by message.
//!
//! Invariant: what a request holds of it is the envelope that the host gave and the messages as
//! they were pushed, byte for byte. Called by `push`.

use epitome_kernel::MessageRecord;
use epitome_types::{Entry, EntryKey, HistoryHash, Role};
use epitome_wire::{Format, RequestDocument, WireError, assemble};
use serde_json::{Map, Value};

use super::state::PushedHistory;
use crate::error::Error;
use epitome_admin::admin::wire_bytes;

/// What was pushed so far.
#[derive(Clone, Debug)]
pub(crate) struct Pushed {
    pub(crate) format: Format,
    /// The model that the envelope asks for.
    pub(crate) model: Option<String>,
    /// The request without its messages.
    envelope: Vec<u8>,
    /// The top-level system prompt, where the envelope has one.
    system: Option<EntryKey>,
    messages: Vec<(Vec<u8>, EntryKey)>,
    /// How many of the messages a request held already.
    sent: usize,
    /// Whether something of it was erased.
    erased: bool,
    /// The history so far.
    pub(crate) chain: HistoryHash,
    /// The calls that nothing has answered yet.
    open: Vec<String>,
}

impl Pushed {
    /// The history that a request holds.
    pub(crate) fn of(document: &RequestDocument<'_>) -> Self {
        let (lead, messages) = document.entries().split_at(lead(document));
        let system = lead.first().map(EntryKey::for_entry);
        let mut pushed = Self {
            format: document.format(),
            model: document.model().map(str::to_owned),
            envelope: document.prefix(0),
            system,
            messages: Vec::new(),
            sent: 0,
            erased: false,
            chain: HistoryHash::for_entries(system.as_slice()),
            open: Vec::new(),
        };
        for entry in messages {
            let (bytes, key) = (document.message_bytes(entry.id), EntryKey::for_entry(entry));
            pushed.add(bytes, key, entry);
        }
        pushed
    }

    /// The envelope with the messages of another history.
    ///
    /// # Errors
    ///
    /// [`Error::OtherFormat`] where those are in another format.
    pub(crate) fn with_messages_of(self, other: &Self) -> Result<Self, Error> {
        if other.format != self.format && !other.is_empty() {
            return Err(Error::OtherFormat { history: other.format, asked: self.format });
        }
        let (messages, open) = (other.messages.clone(), other.open.clone());
        let chain = messages.iter().fold(self.chain, |chain, (_, key)| chain.append(*key));
        let (sent, erased) = (other.sent, other.erased);
        Ok(Self { messages, sent, erased, chain, open, ..self })
    }

    /// The same history, asked for with the model and the parameters of a request that holds none.
    ///
    /// # Errors
    ///
    /// When the request is none, or of another format.
    pub(crate) fn under(self, request: &[u8]) -> Result<Self, Error> {
        let document = RequestDocument::parse(request, self.format)?;
        let (model, envelope) = (document.model().map(str::to_owned), document.prefix(0));
        let envelope = match (self.system, self.format.system()) {
            (Some(_), Some(key)) => with_member_of(&envelope, &self.envelope, key),
            _ => envelope,
        };
        Ok(Self { model, envelope, ..self })
    }

    /// A history that nothing was said in.
    pub(crate) fn empty(format: Format) -> Self {
        Self {
            format,
            model: None,
            envelope: assemble(format, None, None, &[]),
            system: None,
            messages: Vec::new(),
            sent: 0,
            erased: false,
            chain: HistoryHash::default(),
            open: Vec::new(),
        }
    }

    /// A history as it was recorded. What precedes the last reply of the model was sent; of what
    /// follows it nobody knows.
    ///
    /// # Errors
    ///
    /// When a message cannot be read.
    pub(crate) fn recorded(
        format: Format,
        model: Option<&str>,
        said: &[MessageRecord],
    ) -> Result<Self, WireError> {
        let bytes: Vec<_> = said.iter().map(|said| wire_bytes(format, said)).collect();
        let bytes: Vec<_> = bytes.iter().map(|bytes| &**bytes).collect();
        let request = assemble(format, model, None, &bytes);
        let document = RequestDocument::parse(&request, format)?;
        let lead = lead(&document).min(said.len());
        let mut pushed = Self {
            model: model.map(str::to_owned),
            envelope: document.prefix(0),
            erased: said.iter().any(|said| said.bytes.is_none()),
            system: said[..lead].first().map(|said| said.key),
            chain: HistoryHash::for_entries(
                &said[..lead].iter().map(|said| said.key).collect::<Vec<_>>(),
            ),
            ..Self::empty(format)
        };
        for ((entry, said), bytes) in document.entries().iter().zip(said).zip(bytes).skip(lead) {
            pushed.add(bytes, said.key, entry);
            if entry.role == Role::Assistant {
                pushed.sent = pushed.messages.len();
            }
        }
        Ok(pushed)
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, bytes: &[u8], key: EntryKey, entry: &Entry) {
        self.open.retain(|call| entry.results().all(|result| result.call != *call));
        self.open.extend(entry.calls().map(|call| call.id.clone()));
        self.messages.push((bytes.to_vec(), key));
        self.chain = self.chain.append(key);
    }

    /// That each result in a message answers a call.
    ///
    /// # Errors
    ///
    /// [`Error::NoCall`] for the first that does not.
    pub(crate) fn check(&self, entry: &Entry) -> Result<(), Error> {
        let stray = entry.results().find(|result| !self.open.contains(&result.call));
        stray.map_or(Ok(()), |result| {
            Err(Error::NoCall { call: result.call.clone(), open: self.open.clone() })
        })
    }

    /// The calls that wait for their results.
    pub(crate) fn open(&self) -> &[String] {
        &self.open
    }

    /// Whether a call waits for its result.
    pub(crate) fn awaits(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many entries it has.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.system.is_some()) + self.messages.len()
    }

    /// Whether it has messages, and no request held any of them.
    pub(crate) fn is_unsent(&self) -> bool {
        self.sent == 0 && !self.is_empty()
    }

    /// Whether it has no message.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The whole of it as a request.
    ///
    /// # Errors
    ///
    /// When the envelope cannot be read, which it was before: a fault of this program.
    pub(crate) fn request(&self) -> Result<Vec<u8>, WireError> {
        let envelope = RequestDocument::parse(&self.envelope, self.format)?;
        Ok(envelope.extended(self.messages.iter().map(|(bytes, _)| bytes.as_slice())))
    }

    /// What is known of its entries.
    pub(crate) fn known(&self) -> PushedHistory {
        let keys: Vec<_> =
            self.system.into_iter().chain(self.messages.iter().map(|(_, key)| *key)).collect();
        let messages = keys.len() - self.messages.len();
        let sent = if self.sent == 0 { 0 } else { messages + self.sent };
        PushedHistory { keys, sent, erased: self.erased, in_pause: false }
    }

    /// A request held all of it.
    pub(crate) fn was_sent(&mut self) {
        self.sent = self.messages.len();
    }
}

/// How many entries of a request are no message of it.
fn lead(document: &RequestDocument<'_>) -> usize {
    let all = document.entries();
    let is_system = all.first().is_some_and(|first| first.role == Role::System);
    let bytes = all.first().map(|first| document.message_bytes(first.id)).unwrap_or_default();
    usize::from(is_system && !is_object(bytes))
}

/// A request with a member as another has it. Both were read before.
fn with_member_of(request: &[u8], other: &[u8], key: &str) -> Vec<u8> {
    let read = |bytes| serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
    let (mut members, mut known) = (read(request), read(other));
    members.extend(known.remove(key).map(|value| (key.to_owned(), value)));
    Value::Object(members).to_string().into_bytes()
}

fn is_object(value: &[u8]) -> bool {
    value.trim_ascii_start().starts_with(b"{")
}
