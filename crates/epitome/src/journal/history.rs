//! A recorded session with its messages in short.
//!
//! Invariant: no text is held, so a session of any length fits into memory; what it says is read
//! page by page.

use epitome_kernel::{Archive, Lineage, Said, StoreError};
use epitome_types::{
    Chain, ContentId, Entry, EntryId, EntryKey, Epoch, Recorded, Role, SessionInfo,
};

use super::PAGE;
use super::decode::decode;
use crate::Error;

/// A recorded message, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What it says.
    pub key: EntryKey,
    /// Its role.
    pub role: Role,
    /// The address of its readable text.
    pub text: ContentId,
    /// Its size in tokens, as it came.
    pub tokens: u64,
    /// When it was said, ISO 8601.
    pub at: Option<String>,
    /// Whether its content was erased.
    pub erased: bool,
}

/// A recorded session: its facts, its messages, and what was made of them.
#[derive(Clone, Debug)]
pub struct History {
    /// The facts.
    pub info: SessionInfo,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    keys: Vec<EntryKey>,
    lineage: Lineage,
    pins: Vec<EntryKey>,
}

impl History {
    pub(crate) fn read(
        journal: &dyn Archive,
        scope: &str,
        info: SessionInfo,
    ) -> Result<Self, StoreError> {
        let mut messages = Vec::with_capacity(info.messages as usize);
        pages(journal, scope, info.head, info.messages, |page| {
            messages.extend(page.iter().map(|said| Message {
                key: said.key,
                role: said.role,
                text: said.text,
                tokens: said.tokens,
                at: said.at.clone(),
                erased: said.bytes.is_none(),
            }));
            Ok(())
        })?;
        let keys: Vec<_> = messages.iter().map(|message| message.key).collect();
        let epochs = journal.epochs(scope, &keys)?;
        Ok(Self { info, messages, keys, lineage: Lineage::new(epochs.recorded), pins: epochs.pins })
    }

    /// The keys of its messages.
    pub fn keys(&self) -> &[EntryKey] {
        &self.keys
    }

    /// The epoch that reaches furthest into it: the one in force, unless something that it covers
    /// was pinned since.
    pub fn in_force(&self) -> Option<&Epoch> {
        self.lineage.furthest(&self.keys)
    }

    /// The epochs that may apply to it.
    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Its epochs, oldest first, those taken back included, whichever session made them.
    pub fn epochs(&self) -> &[Recorded] {
        self.lineage.recorded()
    }

    /// How many compressions are in force.
    pub fn compressions(&self) -> u32 {
        self.lineage.compressions(self.in_force().map(|epoch| epoch.id))
    }

    /// The entries that are pinned by hand.
    pub fn pinned(&self) -> Vec<EntryId> {
        let places = (0..).zip(&self.keys).filter(|(_, key)| self.pins.contains(key));
        places.map(|(place, _)| EntryId(place)).collect()
    }

    /// The entry that a person names: by its place (`e4`), or by a beginning of its key.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntry`], [`Error::ManyEntries`].
    pub fn entry(&self, named: &str) -> Result<(EntryId, EntryKey), Error> {
        let of = |place: usize| Some((EntryId(place as u32), *self.keys.get(place)?));
        let no_entry = || Error::NoEntry {
            named: named.to_owned(),
            session: self.info.name.clone(),
            messages: self.keys.len(),
        };
        // `e4` is a beginning of a key too; a place is what people mean by it.
        if let Some(place) = named.strip_prefix('e').and_then(|digits| digits.parse().ok())
            && let Some(found) = of(place)
        {
            return Ok(found);
        }
        let is_key = !named.is_empty() && named.bytes().all(|byte| byte.is_ascii_hexdigit());
        let named_so = named.to_ascii_lowercase();
        let mut found: Vec<(usize, EntryKey)> = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            let first = found.iter().all(|(_, other)| other != key);
            if is_key && first && key.to_string().starts_with(&named_so) {
                found.push((place, *key));
            }
        }
        match found[..] {
            [] => Err(no_entry()),
            [(place, key)] => Ok((EntryId(place as u32), key)),
            _ => Err(Error::ManyEntries {
                named: named.to_owned(),
                session: self.info.name.clone(),
                entries: found.iter().map(|(place, _)| format!("e{place}")).collect(),
            }),
        }
    }

    /// What was said, all of it.
    pub(crate) fn entries(
        &self,
        journal: &dyn Archive,
        scope: &str,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::with_capacity(self.keys.len());
        pages(journal, scope, self.info.head, self.info.messages, |page| {
            entries.extend(decode(&self.info.format, page)?);
            Ok(())
        })?;
        Ok(entries)
    }
}

/// Reads a history page by page.
pub(crate) fn pages(
    journal: &dyn Archive,
    scope: &str,
    head: Chain,
    messages: u32,
    mut read: impl FnMut(&[Said]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut from = 0;
    while from < messages {
        let page = journal.history(scope, head, from, PAGE)?;
        if page.is_empty() {
            break;
        }
        read(&page)?;
        from += page.len() as u32;
    }
    Ok(())
}
