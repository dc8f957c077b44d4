//! A conversation that the host gives message by message.
//!
//! Invariant: a message is in the journal before `push` returns, and a prompt is made at the same
//! door as that of a whole history. Called by hosts.

use std::slice;

use epitome_kernel::{AppendBatch, Beginning, MessageRecord, SizeGauge, StoreError, ThreadSizes};
use epitome_types::{BudgetUnit, Entry, EntryId, EntryKey, HistoryHash};
use epitome_wire::{Format, RequestDocument};

use super::known_history::chains;
use super::notes::HostNotes;
use super::pushed_history::Pushed;
use super::state::PushedHistory;
use super::{HistorySource, Session};
use crate::error::Error;
use crate::prompt::Prompt;
use crate::request::ParsedRequest;
use crate::source::RequestSource;
use epitome_admin::admin::pages;
use epitome_admin::records::{MessageName, WireMessage, said, title};

impl Session {
    /// Begins with a request: system prompt, tools, model and parameters of all prompts from now
    /// on. Where it holds messages these are the history; where it holds none, the history goes on
    /// as it was said so far. Without this a prompt is a request with nothing but messages.
    ///
    /// Where a policy puts a system prompt together (`staged` does), prompts have that one, with all
    /// that this request's own says in it.
    ///
    /// # Errors
    ///
    /// When the request cannot be read, is of another format than the history, or the journal
    /// cannot be written.
    pub fn begin(&mut self, request: &[u8]) -> Result<(), Error> {
        let request = ParsedRequest::read(
            request,
            self.settings.formats.input,
            self.settings.formats.output,
        )?;
        let document = request.document()?;
        let mut pushed = Pushed::of(&document);
        if pushed.is_empty() {
            pushed = match &self.given {
                HistorySource::Pushed(known) => pushed.with_messages_of(known)?,
                _ => pushed.with_messages_of(&self.read_back()?)?,
            };
        }
        let moves = self.record.journal.moves();
        match self.record(&pushed) {
            // The session goes on elsewhere, where less of it may be known.
            Err(Error::Store(_)) if self.record.journal.moves() > moves => self.record(&pushed)?,
            done => done?,
        }
        self.given = HistorySource::Pushed(Box::new(pushed));
        Ok(())
    }

    /// Adds one encoded message of the conversation, whoever said it: in the format of the request
    /// that it began with, or of the builder, or else OpenAI's. It is recorded on return.
    ///
    /// A session by the name of one that the journal knows goes on with the messages recorded
    /// there; without a name it is a new one.
    ///
    /// # Errors
    ///
    /// When it is no message of the format, answers a call that is not open ([`Error::NoCall`]),
    /// follows a whole history ([`Error::WholeHistory`]), or the journal cannot be written. Then
    /// it is not part of the conversation.
    pub fn push(&mut self, message: &[u8]) -> Result<(), Error> {
        let bytes = message.trim_ascii();
        let pushed = self.opened()?;
        let entry = epitome_wire::message(bytes, pushed.format)?;
        pushed.check(&entry)?;
        let (format, after, place) = (pushed.format, pushed.chain, pushed.len());
        let model = pushed.model.clone();
        let key = EntryKey::for_entry(&entry);
        let name = MessageName { key, chain: after.append(key), text: None };
        let tokens = self.sizes(slice::from_ref(&entry), model.as_deref());
        let placed = Entry { id: EntryId(place as u32), ..entry };
        let said = said(WireMessage { format, bytes }, &placed, name, tokens[0], self.redaction());
        let title = title(slice::from_ref(&placed), self.redaction()).unwrap_or_default();
        let batch = AppendBatch { after, model, title, ..batch(format, vec![said]) };
        let moves = self.record.journal.moves();
        match self.append(batch.clone()) {
            Err(Error::Store(_)) if self.record.journal.moves() > moves => {
                let so_far = self.opened()?.clone();
                self.record(&so_far)?;
                self.append(batch)?;
            }
            done => done?,
        }
        self.opened()?.add(bytes, key, &placed);
        self.settle_goals();
        Ok(())
    }

    /// The prompt to send now.
    ///
    /// # Errors
    ///
    /// When nothing was said yet, and as [`prompt_for`].
    pub async fn prompt(&mut self) -> Result<Prompt, Error> {
        if !self.opens_with_system().await? {
            self.note()?;
        }
        let pushed = self.opened()?;
        if pushed.is_empty() {
            return Err(Error::NothingSaid);
        }
        let (request, format, known) = (pushed.request()?, pushed.format, pushed.known());
        let prompt = self.ask(&RequestSource::of(&request, format, &[])?, Some(known)).await?;
        self.opened()?.was_sent();
        Ok(prompt)
    }

    /// The calls of tools that nothing has answered yet.
    pub(crate) fn open_calls(&mut self) -> Result<&[String], Error> {
        Ok(self.opened()?.open())
    }

    /// What messages are pushed onto: the history so far, or what the journal has of it.
    pub(super) fn opened(&mut self) -> Result<&mut Pushed, Error> {
        if let HistorySource::Nothing = self.given {
            self.given = HistorySource::Pushed(Box::new(self.read_back()?));
        }
        match &mut self.given {
            HistorySource::Pushed(pushed) => Ok(pushed),
            _ => Err(Error::WholeHistory),
        }
    }

    fn read_back(&mut self) -> Result<Pushed, Error> {
        let asked = self.settings.formats.input.map(Format::nearest);
        let empty = || Pushed::empty(asked.unwrap_or(Format::OpenAi));
        let Some(name) = &self.record.name else { return Ok(empty()) };
        let info = match self.record.journal.session(&self.record.scope, name) {
            Err(StoreError::NoSession { .. }) => return Ok(empty()),
            info => info?,
        };
        let recorded = info.format.parse().map_or(Format::OpenAi, Format::nearest);
        if let Some(asked) = asked.filter(|asked| *asked != recorded) {
            return Err(Error::OtherFormat { history: recorded, asked });
        }
        let (journal, scope) = (&*self.record.journal, &*self.record.scope);
        self.notes = HostNotes::until(&info.last, name, journal, scope, &self.settings)?;
        let mut said = Vec::with_capacity(info.figures.messages as usize);
        pages(&*self.record.journal, &self.record.scope, &info, |page| {
            said.extend_from_slice(page);
            Ok(())
        })?;
        Ok(Pushed::recorded(recorded, info.model.as_deref(), &said)?)
    }

    /// Records what of a history is not recorded yet.
    fn record(&mut self, pushed: &Pushed) -> Result<(), Error> {
        let request = pushed.request()?;
        let document = RequestDocument::parse(&request, pushed.format)?;
        let (entries, PushedHistory { keys, .. }) = (document.entries(), pushed.known());
        let chains = chains(&keys);
        let Some(&head) = chains.last() else { return Ok(()) };
        let known = match &self.record.name {
            Some(name) => self.record.journal.find_deepest(&self.record.scope, name, &chains)?,
            None => None,
        };
        let known = known.map_or(0, |index| index + 1);
        let stands = |name: &String| {
            self.record
                .journal
                .session(&self.record.scope, name)
                .is_ok_and(|info| info.head == head)
        };
        if known == entries.len() && self.record.name.as_ref().is_some_and(stands) {
            return Ok(());
        }
        let sizes = self.sizes(entries, document.model());
        let new = entries.iter().skip(known).map(|entry| {
            let at = entry.id.index();
            let bytes = document.message_bytes(entry.id);
            let message = WireMessage { format: pushed.format, bytes };
            let name = MessageName { key: keys[at], chain: chains[at], text: None };
            said(message, entry, name, sizes[at], self.redaction())
        });
        let batch = AppendBatch {
            after: known.checked_sub(1).map_or_else(HistoryHash::default, |last| chains[last]),
            model: pushed.model.clone(),
            title: title(entries, self.redaction()).unwrap_or_default(),
            ..batch(pushed.format, new.collect())
        };
        self.append(batch)
    }

    /// Records messages under the session's name. A new one without a name gets one that nobody has.
    fn append(&mut self, batch: AppendBatch) -> Result<(), Error> {
        let name = match &self.record.name {
            Some(name) => name.clone(),
            None => self.begin_session(&Beginning::default())?,
        };
        let label = self.record.named.then(|| name.clone());
        let batch = AppendBatch { at: self.now(), label, ..batch };
        self.record.journal.append(&self.record.scope, &name, &batch)?;
        (self.record.name, self.record.named) = (Some(name), true);
        Ok(())
    }

    pub(super) fn is_taken(&self, name: &str) -> Result<bool, StoreError> {
        match self.record.journal.session(&self.record.scope, name) {
            Ok(_) => Ok(true),
            Err(StoreError::NoSession { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The sizes of entries in tokens.
    fn sizes(&mut self, entries: &[Entry], model: Option<&str>) -> Vec<u64> {
        let counter = self.counter_for(model);
        let gauge = SizeGauge { counter: &*counter, unit: BudgetUnit::Tokens };
        let sizes = ThreadSizes::measure(entries, gauge, 0);
        entries.iter().map(|entry| sizes.entry(entry.id)).collect()
    }
}

fn batch(format: Format, said: Vec<MessageRecord>) -> AppendBatch {
    AppendBatch { format: format.to_string(), said, ..AppendBatch::default() }
}
