//! A recording or a request becomes a session, as if its client had sent it turn by turn.
//!
//! Invariant: what is recorded already is not recorded again, so that a file can be imported as
//! often as one likes, also after it grew.

use epitome_config::{BUDGET_VOCABULARY, tool_format};
use epitome_count::{CachedCounter, for_model, tools};
use epitome_kernel::{
    AppendBatch, Claim, Clue, Holder, Identity, RequestRecord, SizeGauge, StoreError, ThreadSizes,
    TokenCounter, identify,
};
use epitome_types::{
    Actor, BudgetUnit, Entry, EntryKey, HistoryHash, MeterReading, RecordedAction, Role,
    SessionAction,
};
use epitome_wire::{Format, ParsedRequest, RequestDocument};
use serde::Serialize;

use super::SessionAdmin;
use crate::error::AdminError;
use crate::records::{
    MessageName, WireMessage, answer, evidence, imported_compressions, said, title,
};

/// The session of a recording that has no name.
const UNNAMED: &str = "session";

/// What an import recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The session.
    pub session: String,
    /// The format that was read.
    pub format: String,
    /// How many messages it holds.
    pub messages: usize,
    /// How many of them are new to the journal.
    pub new: usize,
    /// What of the file was not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What of an input is in no message, a line for each kind.
fn not_read(request: &ParsedRequest<'_>) -> Vec<String> {
    let accounts = match request.left_out {
        0 => None,
        1 => Some("1 part is only told of (thinking or an image) and was not read".to_owned()),
        count => {
            Some(format!("{count} parts are only told of (thinking or images) and were not read"))
        }
    };
    request.torn.iter().map(ToString::to_string).chain(accounts).collect()
}

/// A recording beside what the journal knows of it.
struct IncomingRecording<'a> {
    document: &'a RequestDocument<'a>,
    keys: Vec<EntryKey>,
    /// The history up to each entry.
    chains: Vec<HistoryHash>,
    /// How many entries are recorded, and the session that leads to the last of them.
    known: usize,
    session: Option<String>,
}

impl SessionAdmin {
    /// Records a conversation: any recording or request in a format known here. `name` is used
    /// where the journal does not know it by another one; `now` where it does not say when
    /// something was said (ISO 8601).
    ///
    /// # Errors
    ///
    /// When the input cannot be read, holds no message, or the journal cannot be written.
    pub fn import(
        &self,
        input: &[u8],
        format: Option<Format>,
        name: Option<&str>,
        now: &str,
    ) -> Result<ImportReport, AdminError> {
        let request = ParsedRequest::read(input, format, None)?;
        let document = request.document()?;
        let entries = document.entries();
        if entries.is_empty() {
            return Err(AdminError::Empty);
        }
        let incoming = self.meet(&document, name)?;
        let session = self.name_for(&incoming, name)?;
        let imported = ImportReport {
            session: session.clone(),
            format: request.from.to_string(),
            messages: entries.len(),
            new: entries.len() - incoming.known,
            warnings: not_read(&request),
        };
        // What is there already changes nothing: the session may have gone on since.
        if imported.new > 0 {
            for batch in self.batches(&incoming, now) {
                self.journal.append(&self.scope, &session, &batch)?;
            }
            if let Some(compressions) = request.compressions {
                self.note_compressions(&incoming, &session, compressions, now)?;
            }
        }
        Ok(imported)
    }

    /// Records how often the recording says that its client compressed it. A session that began here
    /// counts its own.
    fn note_compressions(
        &self,
        incoming: &IncomingRecording<'_>,
        session: &str,
        compressions: u32,
        now: &str,
    ) -> Result<(), AdminError> {
        let known = imported_compressions(&self.acts_in_force(session)?);
        let is_from_elsewhere = incoming.session.is_none() || known.is_some();
        let Some(&said_in) = incoming.keys.last() else { return Ok(()) };
        if !is_from_elsewhere || known == Some(compressions) {
            return Ok(());
        }
        let act = SessionAction::Imported { compressions, said_in };
        let acted = RecordedAction { act, by: Actor::User, at: now.to_owned() };
        Ok(self.journal.act(&self.scope, session, &[acted])?)
    }

    fn meet<'a>(
        &self,
        document: &'a RequestDocument<'a>,
        name: Option<&str>,
    ) -> Result<IncomingRecording<'a>, StoreError> {
        let keys: Vec<_> = document.entries().iter().map(EntryKey::for_entry).collect();
        let chains: Vec<_> = keys
            .iter()
            .scan(HistoryHash::default(), |chain, &key| {
                *chain = chain.append(key);
                Some(*chain)
            })
            .collect();
        let session = self.same(document, &chains, name)?;
        let known = match &session {
            Some(session) => self.journal.find_deepest(&self.scope, session, &chains)?,
            None => None,
        };
        let known = known.map_or(0, |index| index + 1);
        Ok(IncomingRecording { document, keys, chains, known, session })
    }

    /// The session that a recording is of: the one that was imported under its name, or one that it
    /// proves to go on from. An opening in common is no proof (RULES 13).
    fn same(
        &self,
        document: &RequestDocument<'_>,
        chains: &[HistoryHash],
        name: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        let said = document.entries();
        let answers = |place: usize| answer(said, place);
        let clue = Clue {
            chains,
            format: document.format().name(),
            label: None,
            least: 1,
            answers: &answers,
        };
        let evidence: Vec<_> = said.iter().map(evidence).collect();
        // In a recording a model said what a model says.
        let holders = self.journal.holders(&self.scope, &clue)?;
        let holders: Vec<_> = holders.into_iter().map(|it| Holder { opened: 0, ..it }).collect();
        let name = name.unwrap_or(UNNAMED);
        let is_named = |it: &&Holder| {
            let rest = it.session.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let mut named = holders.iter().filter(is_named);
        if let Some(whole) = named.find(|holder| holder.shared == chains.len()) {
            return Ok(Some(whole.session.clone()));
        }
        let counter = for_model(document.model().unwrap_or(BUDGET_VOCABULARY));
        let size = |place: usize| said.get(place).map_or(0, |it| counter.count(&it.readable()));
        let named = holders.iter().filter(is_named).map(|holder| Some(&*holder.session));
        for session in named.chain([None]) {
            let found = identify(Claim { label: None, session }, &evidence, size, &holders);
            if let Identity::Continue(from) | Identity::Branch { from, .. } = found {
                return Ok(Some(from.session.clone()));
            }
        }
        Ok(None)
    }

    /// The session that a recording belongs to: the one whose history it repeats or goes on from,
    /// else one of its own name. A name that another conversation has is made another.
    fn name_for(
        &self,
        incoming: &IncomingRecording<'_>,
        name: Option<&str>,
    ) -> Result<String, AdminError> {
        let find = |name: &str| match self.journal.session(&self.scope, name) {
            Ok(info) => Ok(Some(info)),
            Err(StoreError::NoSession { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        if let Some(session) = &incoming.session {
            return Ok(session.clone());
        }
        let head = incoming.chains.last().copied().unwrap_or_default().to_string();
        let Some(name) = name else { return Ok(format!("{UNNAMED}-{}", &head[..8])) };
        match find(name)? {
            Some(_) => Ok(format!("{name}-{}", &head[..8])),
            None => Ok(name.to_owned()),
        }
    }

    /// One batch for each request that the client made.
    fn batches(&self, incoming: &IncomingRecording<'_>, now: &str) -> Vec<AppendBatch> {
        let IncomingRecording { document, chains, known, .. } = incoming;
        let entries = document.entries();
        let counter = CachedCounter::new(for_model(document.model().unwrap_or(BUDGET_VOCABULARY)));
        let gauge = SizeGauge { counter: &counter, unit: BudgetUnit::Tokens };
        let schemas = tools(&counter, tool_format(document.format()), &document.tool_schemas());
        let sizes = ThreadSizes::measure(entries, gauge, schemas);
        let lead = document.lead();
        let mut ends: Vec<_> = document.turns().iter().map(|count| count + lead).collect();
        // The last reply was the answer to the last request; there is no request behind it.
        ends.pop();
        ends.push(entries.len());
        ends.retain(|end| end > known || *end == entries.len());

        // Where nobody answers, nobody is known to have been asked.
        let is_asked = entries.iter().any(|entry| entry.role == Role::Assistant);
        let mut from = *known;
        let mut tokens = sizes.envelope() + sizes.sum(entries[..from].iter().map(|it| it.id));
        let recorded = |entry: &Entry| {
            let place = entry.id.index();
            let name = MessageName { key: incoming.keys[place], chain: chains[place], text: None };
            let bytes = document.message_bytes(entry.id);
            let message = WireMessage { format: document.format(), bytes };
            said(message, entry, name, sizes.entry(entry.id), &self.profile.redaction)
        };
        let mut batch = |end: usize| {
            let said: Vec<_> = entries[from..end].iter().map(recorded).collect();
            let after = from.checked_sub(1).map_or_else(HistoryHash::default, |last| chains[last]);
            tokens += said.iter().map(|said| said.tokens).sum::<u64>();
            let at = entries[..end].iter().rev().find_map(|entry| entry.at.clone());
            from = end;
            AppendBatch {
                after,
                said,
                format: document.format().to_string(),
                model: document.model().map(str::to_owned),
                title: title(entries, &self.profile.redaction).unwrap_or_default(),
                turn: is_asked.then(|| RequestRecord {
                    tokens: [tokens, tokens],
                    limit: self.profile.limit(document.format()),
                    meter: MeterReading::default(),
                }),
                at: at.unwrap_or_else(|| now.to_owned()),
                ..AppendBatch::default()
            }
        };
        ends.into_iter().map(&mut batch).collect()
    }
}
