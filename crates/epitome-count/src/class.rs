//! Classes of characters from a table made at build time, and runs of them in a text. Invariant:
//! positions are byte offsets on character boundaries. Called by the scanners.

pub(crate) mod bits;

const INDEX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.index"));
const BLOCKS: &[[u8; 256]] =
    include_bytes!(concat!(env!("OUT_DIR"), "/classes.blocks")).as_chunks().0;

/// The class of the character at `at` and its length in bytes; no class and 0 at the end.
#[inline]
pub(crate) fn class_at(text: &str, at: usize) -> (u8, usize) {
    match text.as_bytes().get(at) {
        Some(&byte) if byte < 0x80 => (BLOCKS[0][usize::from(byte)], 1),
        Some(_) => wide_class_at(text, at),
        None => (0, 0),
    }
}

fn wide_class_at(text: &str, at: usize) -> (u8, usize) {
    text[at..].chars().next().map_or((0, 0), |c| {
        let code = c as usize;
        (BLOCKS[usize::from(INDEX[code >> 8])][code & 0xFF], c.len_utf8())
    })
}

/// The end of the run of characters from `at` whose class is in `mask`.
#[inline]
pub(crate) fn run(text: &str, mut at: usize, mask: u8) -> usize {
    loop {
        let (class, len) = class_at(text, at);
        if class & mask == 0 {
            return at;
        }
        at += len;
    }
}
