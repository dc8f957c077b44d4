//! Identities by content: of an entry, of a history, of a covered run.
//!
//! Invariant: an identity depends on what was said and nothing else, so that it is the same after
//! a restart, in a fork, and under another name of the session. Marks that a client moves every
//! turn (`cache_control`) are not part of an entry (RULES 115), nor are the words of a client's
//! note that change by themselves ([`Part::known_as`]).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::HexDigits;
use crate::{Entry, Part, PartBody, Role, ToolCall};

/// What an entry says: role and parts, without its place and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey(pub [u8; 16]);

/// A sequence of entries, as a hash over their keys in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryHash(pub [u8; 16]);

impl EntryKey {
    /// The key of an entry.
    pub fn for_entry(entry: &Entry) -> Self {
        let mut hash = Hash::default();
        hash.field(match entry.role {
            Role::System => b"system",
            Role::User => b"user",
            Role::Assistant => b"assistant",
            Role::Tool => b"tool",
        });
        for part in entry.parts.iter().filter(|part| !is_known_by_nothing(part)) {
            hash.field(&part.within.map_or([u8::MAX; 4], u32::to_le_bytes));
            match &part.body {
                PartBody::Text(text) => hash.fields([b"text", known(part, text)]),
                PartBody::Call(call) => {
                    let ToolCall { id, tool, arguments } = call;
                    let arguments = known(part, arguments);
                    hash.fields([b"call", id.as_bytes(), tool.as_bytes(), arguments]);
                }
                PartBody::Result(result) => {
                    let error = [u8::from(result.error)];
                    hash.fields([
                        b"result",
                        result.call.as_bytes(),
                        result.text.as_bytes(),
                        &error,
                    ]);
                }
                PartBody::Thinking(text) => hash.fields([b"thinking", known(part, text)]),
                PartBody::Image(image) => hash.fields([b"image", &image.content.0]),
                PartBody::Opaque(opaque) => hash.fields([b"opaque", &opaque.content.0]),
            }
        }
        Self(hash.end())
    }

    /// The first eight hexadecimal digits: enough to name an entry of one conversation.
    pub fn short(self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl HistoryHash {
    /// The chain of these entries.
    pub fn for_entries(keys: &[EntryKey]) -> Self {
        keys.iter().fold(Self::default(), |chain, &key| chain.append(key))
    }

    /// This sequence and one more entry.
    #[must_use]
    pub fn append(self, key: EntryKey) -> Self {
        let mut hash = blake3::Hasher::new();
        hash.update(&self.0).update(&key.0);
        Self(half(&hash))
    }
}

/// Whether clients send a part back or leave it out, and the message is the same.
fn is_known_by_nothing(part: &Part) -> bool {
    part.known_as.as_deref() == Some("")
}

/// What a part that says `text` is known by.
fn known<'p>(part: &'p Part, text: &'p str) -> &'p [u8] {
    part.known_as.as_deref().unwrap_or(text).as_bytes()
}

/// A hash over fields that cannot run into each other.
#[derive(Default)]
pub(crate) struct Hash(blake3::Hasher);

impl Hash {
    pub(crate) fn field(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    pub(crate) fn fields<const N: usize>(&mut self, fields: [&[u8]; N]) {
        fields.into_iter().for_each(|bytes| self.field(bytes));
    }

    pub(crate) fn end(&self) -> [u8; 16] {
        half(&self.0)
    }
}

fn half(hash: &blake3::Hasher) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    half
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HexDigits::new(self.0).as_str())
    }
}

impl Serialize for EntryKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HexDigits::new(self.0).as_str())
    }
}

impl<'de> Deserialize<'de> for EntryKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::id::digits(deserializer).map(Self)
    }
}

impl Serialize for HistoryHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HexDigits::new(self.0).as_str())
    }
}

impl<'de> Deserialize<'de> for HistoryHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::id::digits(deserializer).map(Self)
    }
}

impl fmt::Display for HistoryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HexDigits::new(self.0).as_str())
    }
}
