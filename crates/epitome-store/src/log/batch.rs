//! What goes through the port of a store.
//!
//! Invariant: plain data; bodies are for [`crate::RecordStore`] alone to read. Made and read by it,
//! kept by stores.

use std::ops::RangeInclusive;

use epitome_kernel::types::ContentId;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::query::Query;
use crate::terms::TermFilter;

/// One record of a line. It never changes; only erasing takes its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// Its number in its line: the first is 1, and there are no gaps.
    pub seq: u64,
    /// What kind of record it is.
    pub kind: u16,
    /// What it is found by, if by anything.
    pub key: Option<RecordKey>,
    /// The stamp of its batch, as [`super::RecordLog::append`] gave it; 0 before that.
    pub stamp: u64,
    /// What it says, as JSON; none after it was erased.
    pub body: Option<Vec<u8>>,
    /// The checksum of the line up to it.
    pub sum: [u8; 16],
}

impl LogRecord {
    /// A record behind a position, with its checksum. The store stamps it.
    pub(crate) fn behind(
        position: LinePosition,
        kind: u16,
        key: Option<RecordKey>,
        body: Vec<u8>,
    ) -> Self {
        let seq = position.seq + 1;
        let sum = sum(position.sum, seq, kind, key, &body);
        Self { seq, kind, key, stamp: 0, body: Some(body), sum }
    }

    /// Whether it follows a position, unchanged as far as can be told.
    pub(crate) fn follows(&self, position: LinePosition) -> bool {
        self.seq == position.seq + 1 && self.continues(position.sum)
    }

    /// Whether it stands behind a record with this checksum, unchanged as far as can be told: of one that
    /// was erased nothing can.
    pub(crate) fn continues(&self, before: [u8; 16]) -> bool {
        self.body.is_none() || self.sum_behind(before) == Some(self.sum)
    }

    /// The checksum that belongs to it behind another one; none of one that was erased.
    pub(crate) fn sum_behind(&self, before: [u8; 16]) -> Option<[u8; 16]> {
        self.body.as_ref().map(|body| sum(before, self.seq, self.kind, self.key, body))
    }

    /// The position that it ends.
    pub fn position(&self) -> LinePosition {
        LinePosition { seq: self.seq, sum: self.sum }
    }
}

fn sum(before: [u8; 16], seq: u64, kind: u16, key: Option<RecordKey>, body: &[u8]) -> [u8; 16] {
    let mut hash = Xxh3::new();
    hash.update(&before);
    hash.update(&seq.to_le_bytes());
    hash.update(&kind.to_le_bytes());
    if let Some(key) = key {
        hash.update(&key.0);
    }
    hash.update(body);
    hash.digest128().to_be_bytes()
}

/// What records are found by: a hash of a history, or of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordKey(pub [u8; 16]);

impl RecordKey {
    /// The key of something, told from equal words of another domain.
    pub(crate) fn of(domain: &str, what: &[u8]) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&(domain.len() as u64).to_le_bytes());
        hash.update(domain.as_bytes());
        hash.update(what);
        Self(hash.digest128().to_be_bytes())
    }
}

/// Which lines are asked for that have a record under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyQuery {
    /// The key.
    pub key: RecordKey,
    /// How many lines at most.
    pub most: usize,
}

/// A place in a line: the number and the checksum of its last record. The default is the position
/// of a line that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePosition {
    /// How many records the line has up to there.
    pub seq: u64,
    /// The checksum of the last one.
    pub sum: [u8; 16],
}

/// Where a line ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineEnd {
    /// The name of the line.
    pub line: String,
    /// Its last record.
    pub position: LinePosition,
}

/// The end of a line, from a record on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTail<'a> {
    /// The name of the line.
    pub line: &'a str,
    /// The number of the first record.
    pub from: u64,
}

/// What is added to a line at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogBatch {
    /// The name of the line.
    pub line: String,
    /// The position that it follows.
    pub after: LinePosition,
    /// Where another line of the scope has to end, too, since the batch rests on what that one says.
    pub given: Option<LineEnd>,
    /// The records, numbered from there on; one at least.
    pub records: Vec<LogRecord>,
    /// The blobs that the line has from now on.
    pub blobs: Vec<StoredBlob>,
    /// The pieces that a search finds from now on.
    pub pieces: Vec<SearchPiece>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// It is there, under this stamp.
    Done {
        /// The stamp.
        stamp: u64,
    },
    /// The line, or the one that the batch rests on, ends elsewhere: somebody else added to it, or
    /// removed it. Nothing was added.
    Moved,
}

/// Bytes that a line holds, by their address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredBlob {
    /// The line.
    pub line: String,
    /// The address; a line holds each once.
    pub id: ContentId,
    /// What a person is told it is; none of what nobody asks for by its id.
    pub source: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Which blobs are asked for.
#[derive(Clone, Copy, Debug)]
pub struct BlobQuery<'a> {
    /// The line that holds them; none asks for those of all lines.
    pub line: Option<&'a str>,
    /// The ranges that their ids lie in.
    pub ids: &'a [RangeInclusive<ContentId>],
}

impl BlobQuery<'_> {
    /// Whether it asks for a blob of a line.
    pub fn wants(&self, line: &str, id: ContentId) -> bool {
        self.line.is_none_or(|wanted| wanted == line)
            && self.ids.iter().any(|range| range.contains(&id))
    }
}

/// A piece of an original, as a search finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPiece {
    /// The line whose it is.
    pub line: String,
    /// The address of its text; a line holds each once.
    pub id: ContentId,
    /// The original it was cut from.
    pub original: ContentId,
    /// What the original is called.
    pub source: String,
    /// Where it stands in the original, in bytes: from where, and up to where. None if it was
    /// reworded.
    pub span: Option<[u64; 2]>,
    /// Its text.
    pub text: String,
}

impl SearchPiece {
    /// Whether its text is the one that its address says.
    pub(crate) fn is_whole(&self) -> bool {
        self.id == ContentId::for_text(&self.text)
    }

    /// The terms of its text, for an index: each as often as it stands there.
    pub fn terms(&self) -> Vec<String> {
        terms(&self.text)
    }
}

/// Which pieces are asked for.
#[derive(Clone, Copy, Debug)]
pub struct PieceQuery<'a> {
    /// The line whose they are; none asks for those of all lines.
    pub line: Option<&'a str>,
    /// What is looked for, in the words of whoever asks.
    pub text: &'a str,
}

impl PieceQuery<'_> {
    /// Whether it asks for the pieces of a line.
    pub fn wants(&self, line: &str) -> bool {
        self.line.is_none_or(|wanted| wanted == line)
    }

    /// The terms that an answer holds some of: of its phrases where it has any, else of all of it.
    pub fn terms(&self) -> Vec<String> {
        let phrases = Query::of(self.text).phrases().join(" ");
        terms(if phrases.is_empty() { self.text } else { &phrases })
    }
}

/// The terms of a text, compounds left to their parts.
fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    TermFilter::new().each(text, |term| {
        if term.chars().all(char::is_alphanumeric) {
            found.push(term.to_owned());
        }
    });
    found
}

/// What is removed of a line for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// All of it: records, blobs and pieces. Its name is free again.
    Line,
    /// The bodies of some records, which stay in their places; and some blobs, with the pieces that
    /// are part of them ([`Erasure::takes_piece`]).
    Contents {
        /// The numbers of the records.
        records: Vec<u64>,
        /// The ids of the blobs.
        blobs: Vec<ContentId>,
    },
}

impl Erasure {
    /// Whether it takes the body of a record.
    pub fn takes_record(&self, seq: u64) -> bool {
        match self {
            Self::Line => true,
            Self::Contents { records, .. } => records.contains(&seq),
        }
    }

    /// Whether it takes a blob.
    pub fn takes_blob(&self, id: ContentId) -> bool {
        match self {
            Self::Line => true,
            Self::Contents { blobs, .. } => blobs.contains(&id),
        }
    }

    /// Whether it takes a piece: with the blob that it is part of, or by its own address where it
    /// was reworded.
    pub fn takes_piece(&self, piece: &SearchPiece) -> bool {
        self.takes_blob(piece.original) || (piece.span.is_none() && self.takes_blob(piece.id))
    }
}
