//! Numbers the references and words of texts as it meets them.
//!
//! Invariant: one spelling has one number for the reader's whole life. Called by [`crate::weigh`].

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::refs::{self, RefKind};
use crate::words;

/// What one unit mentions, by number. There are as many as units: of each one list is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features {
    /// References, each once, behind them content words, each once, and behind these of a row the keys of
    /// the fields that the references stand in: 0 where there is none, else one more than its number.
    numbers: Box<[u32]>,
    references: u32,
    /// Content words that are no part of a reference, as far as they are counted.
    pub(crate) plain: u16,
    is_row: bool,
}

impl Features {
    /// Those of what mentions references alone.
    #[cfg(test)]
    pub(crate) fn from_refs(refs: &[u32]) -> Self {
        Self { numbers: refs.into(), references: refs.len() as u32, ..Self::default() }
    }

    /// References, each once.
    pub(crate) fn refs(&self) -> &[u32] {
        &self.numbers[..self.references as usize]
    }

    /// Content words, each once.
    pub(crate) fn words(&self) -> &[u32] {
        let end = self.numbers.len() - self.keys().len();
        &self.numbers[self.references as usize..end]
    }

    /// References, each with the key of the field it stands in.
    pub(crate) fn keyed_refs(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        let key = |place: usize| self.keys().get(place)?.checked_sub(1);
        self.refs().iter().enumerate().map(move |(place, id)| (*id, key(place)))
    }

    fn keys(&self) -> &[u32] {
        let keys = if self.is_row { self.references as usize } else { 0 };
        &self.numbers[self.numbers.len() - keys..]
    }

    /// The same without references.
    pub(crate) fn without_refs(self) -> Self {
        Self { numbers: self.words().into(), references: 0, is_row: false, ..self }
    }
}

/// A reference as its first mention showed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstMention {
    /// What it names.
    pub(crate) kind: RefKind,
    /// Whether it is a date.
    pub(crate) date: bool,
}

/// Numbers references, words and keys.
#[derive(Debug, Default)]
pub(crate) struct FeatureReader {
    refs: FxHashMap<String, u32>,
    words: FxHashMap<String, u32>,
    keys: FxHashMap<String, u32>,
    /// The references, by number.
    pub(crate) references: Vec<FirstMention>,
    /// The keys of fields, by number.
    pub(crate) key_names: Vec<String>,
    stem: String,
    /// What the text that is read mentions.
    found: Vec<u32>,
    found_keys: Vec<u32>,
}

impl FeatureReader {
    /// How many words there are so far.
    pub(crate) fn word_count(&self) -> usize {
        self.words.len()
    }

    /// Reads a text. `fields` says where the values of a row stand; `whole` counts the words of
    /// references as words too.
    pub(crate) fn read(
        &mut self,
        text: &str,
        fields: &[(String, Range<usize>)],
        whole: bool,
    ) -> Features {
        self.found.clear();
        self.found_keys.clear();
        let mentions = refs::mentions(text);
        for mention in &mentions {
            let id = self.reference(mention.canonical(text), mention.kind);
            if !self.found.contains(&id) {
                let key = self.key(fields, mention.range.start);
                self.found.push(id);
                self.found_keys.push(key.map_or(0, |key| key + 1));
            }
        }
        let references = self.found.len();
        let mut plain = 0_u16;
        let mut next = mentions.iter().peekable();
        for range in words::words(text) {
            while next.peek().is_some_and(|mention| mention.range.end <= range.start) {
                next.next();
            }
            let referred = next
                .peek()
                .is_some_and(|m| m.range.start <= range.start && m.kind != RefKind::Name);
            words::stem_into(&text[range.clone()], &mut self.stem);
            if self.stem.is_empty() || words::is_stop_word(&text[range].to_lowercase()) {
                continue;
            }
            plain = plain.saturating_add(u16::from(!referred));
            if referred && !whole {
                continue;
            }
            let id = self.word();
            if !self.found[references..].contains(&id) {
                self.found.push(id);
            }
        }
        let is_row = !fields.is_empty();
        if is_row {
            self.found.append(&mut self.found_keys);
        }
        Features {
            numbers: self.found.as_slice().into(),
            references: references as u32,
            plain,
            is_row,
        }
    }

    fn reference(&mut self, name: &str, kind: RefKind) -> u32 {
        if let Some(id) = self.refs.get(name) {
            return *id;
        }
        let id = self.references.len() as u32;
        self.refs.insert(name.to_owned(), id);
        self.references.push(FirstMention { kind, date: refs::is_date(name) });
        id
    }

    fn word(&mut self) -> u32 {
        if let Some(id) = self.words.get(&self.stem) {
            return *id;
        }
        let id = self.words.len() as u32;
        self.words.insert(self.stem.clone(), id);
        id
    }

    fn key(&mut self, fields: &[(String, Range<usize>)], at: usize) -> Option<u32> {
        let (key, _) = fields.iter().find(|(key, range)| !key.is_empty() && range.contains(&at))?;
        if let Some(id) = self.keys.get(key) {
            return Some(*id);
        }
        let id = self.key_names.len() as u32;
        self.keys.insert(key.clone(), id);
        self.key_names.push(key.clone());
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_meet_and_fields_name_their_key() {
        let mut reader = FeatureReader::default();
        let first = reader.read("open /srv/app/src/lib.rs", &[], false);
        let again = reader.read("src/lib.rs opens", &[], false);
        assert_eq!(first.refs(), again.refs());
        assert_eq!(first.words(), again.words());
        let row = reader.read("id AB12, to X9Y8", &[("id".into(), 3..7)], false);
        assert!(row.keyed_refs().map(|(_, key)| key).eq([Some(0), None]));
    }
}
