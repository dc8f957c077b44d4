//! A recorded session with its messages in short.
//!
//! Invariant: no text is held, so a session of any length fits into memory; what it says is read
//! page by page.

use std::collections::BTreeMap;

use epitome_config::RedactionPatterns;
use epitome_kernel::{CompactionLineage, MessageRecord, StoreError};

use epitome_store::SessionArchive;
use epitome_types::{
    Compaction, CompactionId, CompactionRange, ContentId, Entry, EntryId, EntryKey, HistoryHash,
    PlacedMark, RecordedCompaction, Role, SessionInfo,
};

use super::PAGE;
use crate::decode::decode;
use crate::error::AdminError;
use crate::undo::taken_back_last;

/// The length of a key in short.
const KEY: usize = 8;
/// The least that is taken for the beginning of a key.
const LEAST: usize = 4;

/// A recorded message, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageInfo {
    /// What it says.
    pub key: EntryKey,
    /// The history that ends with it.
    pub chain: HistoryHash,
    /// Its role.
    pub role: Role,
    /// Whether it brings results of tools, in a role of their own or on the user's side.
    pub is_result: bool,
    /// The address of its readable text.
    pub text: ContentId,
    /// Its size in tokens, as it came.
    pub tokens: u64,
    /// When it was said, ISO 8601.
    pub at: Option<String>,
    /// Whether its content was erased.
    pub erased: bool,
    /// Whether the store keeps other bytes of it than were recorded.
    pub damaged: bool,
    /// How many texts in it were masked before it was recorded.
    pub masked: u64,
}

/// A recorded session: its facts, its messages, and what was made of them.
#[derive(Clone, Debug)]
pub struct SessionHistory {
    /// The facts.
    pub info: SessionInfo,
    /// Its messages, oldest first.
    pub messages: Vec<MessageInfo>,
    /// The answer to the newest message, where nobody went on from it yet. It is not among the
    /// messages: what the client makes of it is one, once it sends it back.
    pub answer: Option<MessageInfo>,
    keys: Vec<EntryKey>,
    lineage: CompactionLineage,
    pins: Vec<EntryKey>,
    marks: Vec<PlacedMark>,
}

impl From<&MessageRecord> for MessageInfo {
    fn from(said: &MessageRecord) -> Self {
        Self {
            key: said.key,
            chain: said.chain,
            role: said.role,
            is_result: is_result(said),
            text: said.text,
            tokens: said.tokens,
            at: said.at.clone(),
            erased: said.bytes.is_none(),
            damaged: said.bytes.as_ref().is_some_and(Vec::is_empty),
            masked: said.bytes.as_deref().map_or(0, RedactionPatterns::masks),
        }
    }
}

/// Whether a message brings results of tools. Its bytes are searched and not read: in a text that
/// quotes the word, the quotation marks are escaped.
fn is_result(said: &MessageRecord) -> bool {
    const BLOCK: &[u8] = br#""tool_result""#;
    let bytes = said.bytes.as_deref().unwrap_or_default();
    let holds = || bytes.windows(BLOCK.len()).any(|found| found == BLOCK);
    said.role == Role::Tool || said.role == Role::User && holds()
}

impl SessionHistory {
    pub(crate) fn read(
        journal: &dyn SessionArchive,
        scope: &str,
        info: SessionInfo,
    ) -> Result<Self, StoreError> {
        let mut messages = Vec::with_capacity(info.figures.messages as usize);
        pages(journal, scope, &info, |page| {
            messages.extend(page.iter().map(MessageInfo::from));
            Ok(())
        })?;
        Self::of_messages(journal, scope, info, messages)
    }

    /// The session with these messages, which were read already.
    pub(crate) fn of_messages(
        journal: &dyn SessionArchive,
        scope: &str,
        info: SessionInfo,
        messages: Vec<MessageInfo>,
    ) -> Result<Self, StoreError> {
        let keys: Vec<_> = messages.iter().map(|message| message.key).collect();
        let epochs = journal.compactions(scope, &info.name, &keys)?;
        let answer = journal.answer_to(scope, &info.name, info.head)?;
        let answer = answer.as_ref().map(MessageInfo::from);
        let marks = journal.marks(scope, &info.name)?;
        let (lineage, pins) = (CompactionLineage::new(epochs.recorded), epochs.pins);
        Ok(Self { info, messages, answer, keys, lineage, pins, marks })
    }

    /// The keys of its messages.
    pub fn keys(&self) -> &[EntryKey] {
        &self.keys
    }

    /// The epoch in force.
    pub fn in_force(&self) -> Option<&Compaction> {
        self.lineage.furthest(&self.keys, &self.pins)
    }

    /// Where the run of each of its epochs begins; of those on other branches nothing is said.
    pub(crate) fn starts(&self) -> BTreeMap<CompactionId, usize> {
        let mut places = BTreeMap::<EntryKey, Vec<usize>>::new();
        for (place, key) in self.keys.iter().enumerate() {
            places.entry(*key).or_default().push(place);
        }
        let start = |recorded: &RecordedCompaction| {
            let CompactionRange { first, len, chain } = recorded.epoch.covered;
            let is_it = |start: &usize| {
                let run = self.keys.get(*start..*start + len as usize)?;
                let end = run.iter().fold(HistoryHash::default(), |end, key| end.append(*key));
                (end == chain).then_some(*start)
            };
            Some((recorded.epoch.id, places.get(&first)?.iter().find_map(is_it)?))
        };
        self.epochs().iter().filter_map(start).collect()
    }

    /// The compressions that led to one, itself included, oldest first.
    pub(crate) fn way_to(&self, mut epoch: Option<ContentId>) -> Vec<ContentId> {
        let mut way = Vec::new();
        for recorded in self.epochs().iter().rev() {
            if Some(recorded.epoch.id) == epoch {
                way.push(recorded.epoch.id);
                epoch = recorded.epoch.parent;
            }
        }
        way.reverse();
        way
    }

    /// The epochs that may apply to it.
    pub(crate) fn lineage(&self) -> &CompactionLineage {
        &self.lineage
    }

    /// Its epochs, oldest first, those taken back included, whichever session made them.
    pub fn epochs(&self) -> &[RecordedCompaction] {
        self.lineage.recorded()
    }

    /// How many compressions are in force.
    pub fn compressions(&self) -> u32 {
        self.lineage.compressions(self.in_force().map(|epoch| epoch.id))
    }

    /// What the store does not have any more of what was said, in words; nothing where it has all.
    pub fn missing(&self) -> Option<String> {
        let all = (0..).map(EntryId).zip(&self.messages);
        let damaged = all.filter(|(_, message)| message.damaged).map(|(id, _)| id.to_string());
        let damaged: Vec<_> = damaged.collect();
        let (there, said) = (self.messages.len(), self.info.figures.messages as usize);
        let cut = (there < said).then(|| format!("the {} from e{there} on", said - there));
        let all: Vec<_> = damaged.into_iter().chain(cut).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// What is pinned by hand, on whatever branch.
    pub fn pins(&self) -> &[EntryKey] {
        &self.pins
    }

    /// What was done to it by hand, oldest first.
    pub(crate) fn marks(&self) -> &[PlacedMark] {
        &self.marks
    }

    /// The entries that are pinned by hand.
    pub fn pinned(&self) -> Vec<EntryId> {
        let places = (0..).zip(&self.keys).filter(|(_, key)| self.pins.contains(key));
        places.map(|(place, _)| EntryId(place)).collect()
    }

    /// What was done to it by now, as a text: it changes with each compression, undo and pin, and with
    /// each message only where `head` says so. Whoever acts on what they saw can tell whether it holds.
    pub fn place(&self, head: bool) -> String {
        let mut all = format!("{:?} {:?}", self.in_force().map(|epoch| epoch.id), self.pins);
        for recorded in self.epochs() {
            all.push_str(&format!(" {} {}", recorded.epoch.id, recorded.undone));
        }
        if head {
            all.push_str(&format!(" {:?}", self.info.head));
        }
        ContentId::for_text(&all).to_string()
    }

    /// The compression that an undo took back last and a redo puts in force again.
    pub fn redoable(&self) -> Option<CompactionId> {
        let in_force = self.in_force().map(|epoch| epoch.id);
        taken_back_last(self.lineage.redoable(&self.keys, in_force), &self.marks)
    }

    /// A message by its place; the answer stands behind the newest message.
    pub fn message(&self, id: EntryId) -> Option<&MessageInfo> {
        let answer = self.answer.as_ref().filter(|_| id.index() == self.messages.len());
        self.messages.get(id.index()).or(answer)
    }

    /// The entry that a person names: by its place (`e4`), or by its key or the beginning of it,
    /// four digits at least. What may be a place is one, unless it is as long as a key in short.
    ///
    /// # Errors
    ///
    /// [`AdminError::NoEntry`], [`AdminError::ManyEntries`].
    pub fn entry(&self, named: &str) -> Result<(EntryId, EntryKey), AdminError> {
        let session = || self.info.name.clone();
        let no_entry = || AdminError::NoEntry {
            named: named.to_owned(),
            session: session(),
            messages: self.keys.len() + usize::from(self.answer.is_some()),
        };
        let place = named.strip_prefix('e').filter(|_| named.len() < KEY);
        if let Some(place) = place.and_then(|digits| digits.parse::<u32>().ok()) {
            let message = self.message(EntryId(place)).ok_or_else(no_entry)?;
            return Ok((EntryId(place), message.key));
        }
        if named.len() < LEAST || !named.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(no_entry());
        }
        let named_so = named.to_ascii_lowercase();
        let mut found: Vec<(EntryId, EntryKey)> = Vec::new();
        let answer = self.answer.as_ref().map(|answer| &answer.key);
        for (place, key) in (0..).zip(self.keys.iter().chain(answer)) {
            let first = found.iter().all(|(_, other)| other != key);
            if first && key.to_string().starts_with(&named_so) {
                found.push((EntryId(place), *key));
            }
        }
        match found[..] {
            [] => Err(no_entry()),
            [one] => Ok(one),
            _ => Err(AdminError::ManyEntries {
                named: named.to_owned(),
                session: session(),
                entries: found.iter().map(|(entry, _)| entry.to_string()).collect(),
            }),
        }
    }

    /// What was said, all of it.
    pub fn entries(
        &self,
        journal: &dyn SessionArchive,
        scope: &str,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::with_capacity(self.keys.len() + 1);
        pages(journal, scope, &self.info, |page| {
            entries.extend(decode(&self.info.format, page)?);
            Ok(())
        })?;
        Ok(entries)
    }

    /// What was said and what was answered to it, all of it.
    pub(crate) fn entries_and_answer(
        &self,
        journal: &dyn SessionArchive,
        scope: &str,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.entries(journal, scope)?;
        if let Some(answer) = journal.answer_to(scope, &self.info.name, self.info.head)?
            && self.answer.as_ref().is_some_and(|known| known.key == answer.key)
        {
            entries.extend(decode(&self.info.format, &[answer])?);
        }
        Ok(entries)
    }
}

/// Reads the history of a session page by page.
pub fn pages(
    journal: &dyn SessionArchive,
    scope: &str,
    info: &SessionInfo,
    mut read: impl FnMut(&[MessageRecord]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut from = 0;
    while from < info.figures.messages {
        let page = journal.history(scope, &info.name, info.head, from, PAGE)?;
        if page.is_empty() {
            break;
        }
        read(&page)?;
        from += page.len() as u32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_that_several_keys_share_names_none() {
        let key = |last| EntryKey([[0xab; 15].as_slice(), &[last]].concat().try_into().unwrap());
        let info = SessionInfo { name: "a".into(), ..SessionInfo::default() };
        let keys = vec![key(1), key(2), key(1)];
        let (lineage, messages, answer, pins, marks) = <_>::default();
        let history = SessionHistory { info, messages, answer, keys, lineage, pins, marks };
        let error = history.entry("ABAB").unwrap_err().to_string();
        let expected = "`ABAB` is ambiguous in session `a`: the keys of e0, e1 begin with it; ";
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(history.entry(&key(2).to_string()).unwrap(), (EntryId(1), key(2)));
    }
}
