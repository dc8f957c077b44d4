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

    /// The id of a text, and of the same without the ends of lines that it ends with, which is how
    /// what is readable of a message goes by it. What both begin with is hashed once.
    pub fn with_readable(text: &str) -> [Self; 2] {
        let readable = text.trim_end_matches('\n');
        let mut hash = blake3::Hasher::new();
        let short = Self::of_hasher(hash.update(readable.as_bytes()));
        if readable.len() == text.len() {
            return [short; 2];
        }
        [Self::of_hasher(hash.update(&text.as_bytes()[readable.len()..])), short]
    }

    fn of_hasher(hash: &blake3::Hasher) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        Self(id)
    }

    /// The id of what need not be a text: an encoded message.
    pub fn for_bytes(bytes: &[u8]) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        Self(id)
    }

    /// The id of what these make one after the other, without putting it together.
    pub fn of_all<T: AsRef<[u8]>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let mut hash = blake3::Hasher::new();
        pieces.into_iter().for_each(|piece| _ = hash.update(piece.as_ref()));
        Self::of_hasher(&hash)
    }

    /// The first eight hexadecimal digits: enough to name a text inside one conversation.
    pub fn short(self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HexDigits::new(self.0).as_str())
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HexDigits::new(self.0).as_str())
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        digits(deserializer).map(Self)
    }
}

/// An id as it is written. Records hold several of them, so they are made in one pass and without
/// memory of their own.
pub(crate) struct HexDigits([u8; 32]);

impl HexDigits {
    pub(crate) fn new(id: [u8; 16]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 32];
        for (two, byte) in digits.chunks_exact_mut(2).zip(id) {
            two.copy_from_slice(&[byte >> 4, byte & 0xF].map(|digit| DIGITS[usize::from(digit)]));
        }
        Self(digits)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_in_32_digits_and_read_again() {
        let id = ContentId(*b"\x00\x01\x0f\x10\x9a\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe7");
        let written = "00010f109aff000000000000000000e7";
        assert_eq!((id.to_string(), id.short()), (written.to_owned(), "00010f10".to_owned()));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{written}\""));
        assert_eq!(serde_json::from_str::<ContentId>(&json).unwrap(), id);
    }

    #[test]
    fn a_text_and_what_is_readable_of_it_have_the_ids_of_each() {
        for text in ["", "\n", "one", "one\n", "one\ntwo\n\n", &"a line\n".repeat(200)] {
            let expected = [text, text.trim_end_matches('\n')].map(ContentId::for_text);
            assert_eq!(ContentId::with_readable(text), expected, "{text:?}");
        }
    }

    #[test]
    fn pieces_have_the_id_of_what_they_make() {
        assert_eq!(ContentId::of_all(["one ", "two"]), ContentId::for_text("one two"));
    }
}
