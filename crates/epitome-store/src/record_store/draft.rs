//! What is to be added to a line, before it is.
//!
//! Invariant: events stand in the order in which they hold; a blob that an event names stands beside
//! it. Filled by the writers of this folder, sealed and handed to the log by [`super`].

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, StoreError, StoredText};
use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::ScopeBans;
use super::event::{KeptBody, SaidBody, SessionEvent};
use super::fold::SessionFold;
use crate::copied::KeptTexts;
use crate::log::{LineEnd, LogBatch, LogRecord, RecordKey, SearchPiece, StoredBlob};
use crate::passage::arrivals;

/// Events of one line with the blobs and pieces that come with them.
#[derive(Debug, Default)]
pub(super) struct LineDraft {
    events: Vec<SessionEvent>,
    blobs: Vec<StoredBlob>,
    pieces: Vec<SearchPiece>,
    given: Option<LineEnd>,
    /// As [`crate::RecordLog::passing_seed`] says.
    seed: Option<u64>,
}

impl LineDraft {
    /// Nothing yet, for a log of this seed.
    pub(super) fn seeded(seed: Option<u64>) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Has it hold only as long as nothing more is banned.
    pub(super) fn rest_on(&mut self, bans: &ScopeBans) {
        self.given.clone_from(&bans.end);
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: SessionEvent) {
        self.events.push(event);
    }

    /// Adds several.
    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = SessionEvent>) {
        self.events.extend(events);
    }

    /// Whether nothing is to be added.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The address of bytes of a line that nobody asks for by their id.
    pub(super) fn put_bytes(&mut self, line: &str, bytes: &[u8]) -> ContentId {
        let id = packed(bytes, self.seed);
        let line = line.to_owned();
        self.blobs.push(StoredBlob { line, id, source: None, bytes: bytes.to_vec() });
        id
    }

    /// Keeps an original in a line.
    fn put(&mut self, line: &str, StoredText { id, source, text }: &StoredText) -> KeptBody {
        self.blobs.push(StoredBlob {
            line: line.to_owned(),
            id: *id,
            source: Some(source.clone()),
            bytes: text.clone().into_bytes(),
        });
        KeptBody { id: *id, source: source.clone() }
    }

    /// Keeps what left the prompt, and has the search know its pieces.
    pub(super) fn keep(&mut self, fold: &SessionFold, departure: &Eviction) {
        let (line, mut kept) = (fold.name(), Vec::new());
        let mut known: FxHashSet<ContentId> = FxHashSet::default();
        let is_new =
            |id, known: &mut FxHashSet<ContentId>| !fold.kept.contains_key(&id) && known.insert(id);
        for blob in &departure.blobs {
            if is_new(blob.id, &mut known) {
                kept.push(self.put(line, blob));
            }
        }
        for arrival in arrivals(departure) {
            if arrival.original == arrival.id
                && arrival.range.is_none()
                && is_new(arrival.id, &mut known)
            {
                let (source, text) = (arrival.source.clone(), arrival.text.to_owned());
                kept.push(self.put(line, &StoredText { id: arrival.id, source, text }));
            }
            self.pieces.push(SearchPiece {
                line: line.to_owned(),
                id: arrival.id,
                original: arrival.original,
                source: arrival.source,
                span: arrival.range.map(|range| [range.start as u64, range.end as u64]),
                text: arrival.text.to_owned(),
            });
        }
        if !kept.is_empty() || (self.events.is_empty() && !self.pieces.is_empty()) {
            self.push(SessionEvent::Kept(kept));
        }
    }

    /// Keeps texts of another store that the line does not have.
    pub(super) fn put_texts(&mut self, fold: &SessionFold, texts: &KeptTexts) {
        let new = texts.originals.iter().filter(|text| !fold.kept.contains_key(&text.id));
        let kept: Vec<KeptBody> = new.map(|text| self.put(fold.name(), text)).collect();
        let line = fold.name();
        let own = texts.pieces.iter().cloned();
        self.pieces.extend(own.map(|piece| SearchPiece { line: line.to_owned(), ..piece }));
        if !kept.is_empty() || (self.events.is_empty() && !self.pieces.is_empty()) {
            self.push(SessionEvent::Kept(kept));
        }
    }

    /// Hands over blobs of another line.
    pub(super) fn take_over(&mut self, line: &str, blobs: Vec<StoredBlob>) {
        let named = blobs.iter().filter_map(|blob| {
            let source = blob.source.clone()?;
            Some(KeptBody { id: blob.id, source })
        });
        let kept: Vec<KeptBody> = named.collect();
        if !kept.is_empty() {
            self.push(SessionEvent::Kept(kept));
        }
        let own = blobs.into_iter().map(|blob| StoredBlob { line: line.to_owned(), ..blob });
        self.blobs.extend(own);
    }

    /// The batch behind the end of a line, and its events.
    pub(super) fn sealed(self, fold: &SessionFold) -> Result<SealedDraft, StoreError> {
        let Self { events, blobs, pieces, given, .. } = self;
        let format = match fold.info().format.as_str() {
            "" => events.iter().find_map(brought_format).unwrap_or_default(),
            known => known,
        };
        let (mut position, mut records) = (fold.position, Vec::with_capacity(events.len()));
        for event in &events {
            let key = match event {
                SessionEvent::Said(SaidBody { chain, .. }) => Some(history_key(format, chain.0)),
                SessionEvent::Begun(begun) => begun.label.as_deref().map(label_key),
                _ => None,
            };
            let record = LogRecord::behind(position, event.kind(), key, event.written()?);
            position = record.position();
            records.push(record);
        }
        let (line, after) = (fold.name().to_owned(), fold.position);
        let batch = LogBatch { line, after, given, records, blobs, pieces };
        Ok(SealedDraft { batch, position, events })
    }
}

/// A draft that is ready for the log.
pub(super) struct SealedDraft {
    pub(super) batch: LogBatch,
    /// Where the line ends with it.
    pub(super) position: crate::log::LinePosition,
    pub(super) events: Vec<SessionEvent>,
}

fn brought_format(event: &SessionEvent) -> Option<&str> {
    match event {
        SessionEvent::Brought(brought) => Some(&brought.format),
        _ => None,
    }
}

/// What a message is found by that ends a history of an API.
pub(super) fn history_key(format: &str, chain: [u8; 16]) -> RecordKey {
    RecordKey::of(format, &chain)
}

/// What a session is found by under the label of its client.
pub(super) fn label_key(label: &str) -> RecordKey {
    RecordKey::of("label", label.as_bytes())
}

/// The address of bytes that are no original: another one than that of an original which says the
/// same, so that neither is taken for the other. `seed` is that of their log.
pub(super) fn packed(bytes: &[u8], seed: Option<u64>) -> ContentId {
    match seed {
        Some(seed) => ContentId(xxh3_128_with_seed(bytes, seed).to_be_bytes()),
        None => ContentId::of_all([bytes, b"\0record"]),
    }
}

impl StoredBlob {
    /// Whether its bytes are those that its address says; `seed` is that of its log. Memory keeps what it
    /// was given.
    pub(super) fn is_whole(&self, seed: Option<u64>) -> bool {
        let own = || match self.source {
            Some(_) => ContentId::for_bytes(&self.bytes),
            None => packed(&self.bytes, seed),
        };
        seed.is_some() || self.id == own()
    }
}
