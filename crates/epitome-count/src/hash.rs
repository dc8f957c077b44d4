//! The hash of the perfect hash tables, shared by the build script that lays them out and the
//! reader that looks into them. Invariant: both sides compute the same slot for the same key.

/// Spreads a key over 64 bits; injective enough that no two keys of a vocabulary collide, which
/// the build script checks.
pub(crate) const fn mix(key: u128) -> u64 {
    let folded = (key as u64) ^ ((key >> 64) as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let product = (folded as u128) * 0x9E37_79B9_7F4A_7C15;
    (product as u64) ^ ((product >> 64) as u64)
}

/// The bucket of a mixed key: its upper half, scaled to the number of buckets.
pub(crate) const fn bucket(mixed: u64, buckets: usize) -> usize {
    scale((mixed >> 32) as u32, buckets)
}

/// The slot of a mixed key under the displacement of its bucket.
pub(crate) const fn slot(mixed: u64, displacement: u16, slots: usize) -> usize {
    let moved = (mixed as u32) ^ (displacement as u32).wrapping_mul(0x9E37_79B1);
    scale(moved.wrapping_mul(0x85EB_CA6B), slots)
}

/// Maps a 32-bit hash onto `0..range` without a division.
const fn scale(hash: u32, range: usize) -> usize {
    ((hash as u64 * range as u64) >> 32) as usize
}

/// The key of a piece of at most 7 bytes: its bytes, its length on top.
pub(crate) const fn short_key(bytes: u64, len: usize) -> u64 {
    bytes & ((1 << (8 * len)) - 1) | (len as u64) << 56
}

/// The key of a piece of 8 to 15 bytes: its bytes, its length on top.
pub(crate) const fn long_key(bytes: u128, len: usize) -> u128 {
    bytes & ((1 << (8 * len)) - 1) | (len as u128) << 120
}

/// Bits that a token id takes.
pub(crate) const ID_BITS: u32 = 18;

/// The key of two neighbouring tokens.
pub(crate) const fn pair_key(left: u32, right: u32) -> u64 {
    (left as u64) << ID_BITS | right as u64
}
