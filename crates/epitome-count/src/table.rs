//! The vocabularies as static tables made at build time, read where they lie in the binary.
//! Invariant: a look-up touches one displacement and one slot, whether or not the key is there.
//! Called by the tokenizer and the merger.

use crate::hash;

/// A perfect hash table with slots of `N` bytes.
struct PerfectHashTable<const N: usize> {
    slots: &'static [[u8; N]],
    displacements: &'static [[u8; 2]],
}

impl<const N: usize> PerfectHashTable<N> {
    /// The slot where the key is if it is anywhere.
    #[inline]
    fn slot(&self, key: u128) -> [u8; N] {
        let mixed = hash::mix(key);
        let displacement = self.displacements[hash::bucket(mixed, self.displacements.len())];
        self.slots[hash::slot(mixed, u16::from_le_bytes(displacement), self.slots.len())]
    }
}

/// One vocabulary.
pub(crate) struct VocabularyTables {
    /// The tokens of the 256 bytes.
    bytes: &'static [[u8; 4]],
    /// Two tokens and what they merge to.
    pairs: PerfectHashTable<8>,
    /// The tokens of 2 to 7 bytes.
    short: PerfectHashTable<8>,
    /// The tokens of 8 to 15 bytes.
    long: PerfectHashTable<16>,
}

macro_rules! table {
    ($name:literal) => {
        PerfectHashTable {
            slots: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".slots")).as_chunks().0,
            displacements: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".displacements"))
                .as_chunks()
                .0,
        }
    };
}

/// o200k_base.
#[cfg(feature = "o200k")]
pub(crate) static O200K: VocabularyTables = VocabularyTables {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/o200k.bytes")).as_chunks().0,
    pairs: table!("o200k.pairs"),
    short: table!("o200k.short"),
    long: table!("o200k.long"),
};

/// cl100k_base.
#[cfg(feature = "cl100k")]
pub(crate) static CL100K: VocabularyTables = VocabularyTables {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.bytes")).as_chunks().0,
    pairs: table!("cl100k.pairs"),
    short: table!("cl100k.short"),
    long: table!("cl100k.long"),
};

impl VocabularyTables {
    /// The token of a byte.
    #[inline]
    pub(crate) fn byte(&self, byte: u8) -> u32 {
        u32::from_le_bytes(self.bytes[usize::from(byte)])
    }

    /// What two neighbouring tokens merge to; its id is its rank, the smallest merges first.
    #[inline]
    pub(crate) fn pair(&self, left: u32, right: u32) -> Option<u32> {
        let key = hash::pair_key(left, right);
        let slot = u64::from_le_bytes(self.pairs.slot(key.into()));
        (slot >> hash::ID_BITS == key).then_some(slot as u32 & ((1 << hash::ID_BITS) - 1))
    }

    /// Whether the bytes `start..end` are one token. `false` above 15 bytes means nothing: such
    /// tokens are rare enough to be merged from their bytes.
    #[inline]
    pub(crate) fn is_token(&self, text: &[u8], start: usize, end: usize) -> bool {
        let len = end - start;
        match len {
            ..2 => true,
            2..8 => {
                let key = hash::short_key(u64::from_le_bytes(load(text, start, end)), len);
                u64::from_le_bytes(self.short.slot(key.into())) == key
            }
            8..16 => {
                let key = hash::long_key(u128::from_le_bytes(load(text, start, end)), len);
                u128::from_le_bytes(self.long.slot(key)) == key
            }
            _ => false,
        }
    }
}

/// `N` bytes from `start`, of which those from `end` on mean nothing.
#[inline]
fn load<const N: usize>(text: &[u8], start: usize, end: usize) -> [u8; N] {
    if let Some(bytes) = text[start..].first_chunk() {
        return *bytes;
    }
    let mut bytes = [0; N];
    bytes[..end - start].copy_from_slice(&text[start..end]);
    bytes
}
