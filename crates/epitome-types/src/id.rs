//! Names of things: an entry by its place, a part inside it, a text by its content.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The place of an entry in its thread, counted from 0 and written `e4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(pub u32);

impl EntryId {
    /// The place as an index into the thread's entries.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// One part of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartId {
    /// The entry that holds the part.
    pub entry: EntryId,
    /// The part's place inside the entry, counted from 0.
    pub part: u32,
}

/// The address of a text in the blob store: the first 128 bits of its BLAKE3 hash, written as 32
/// hexadecimal digits. References shown to people and models may shorten it (see
/// [`ContentId::short`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub [u8; 16]);

impl ContentId {
    /// The id of a text.
    pub fn for_text(text: &str) -> Self {
        Self::for_bytes(text.as_bytes())
    }

    /// The id of what need not be a text: an encoded message.
    pub fn for_bytes(bytes: &[u8]) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        Self(id)
    }

    /// The id of the text that these make one after the other, without putting it together.
    pub fn of_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = blake3::Hasher::new();
        texts.into_iter().for_each(|text| _ = hash.update(text.as_bytes()));
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        Self(id)
    }

    /// The first eight hexadecimal digits: enough to name a text inside one conversation.
    pub fn short(self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        digits(deserializer).map(Self)
    }
}

/// Reads what [`ContentId`] and the keys are written as.
pub(crate) fn digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 16], D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || de::Error::custom(format!("`{text}` is no id: 32 hexadecimal digits are"));
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    u128::from_str_radix(&text, 16).map(u128::to_be_bytes).map_err(|_| wrong())
}
