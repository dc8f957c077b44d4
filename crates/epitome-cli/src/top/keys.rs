//! The keys that bytes of a terminal stand for.
//!
//! Invariant: a key is whole before it is told, so that nothing that happens meanwhile can fall between
//! its bytes. Pure: bytes come from a source that says when none follow.

/// What the user pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopKey {
    Character(u8),
    Up,
    Down,
    Escape,
    /// One that means nothing here.
    Other,
}

/// Where bytes come from.
pub(super) trait TypedBytes {
    /// The next byte, however long it takes; none where there are no more.
    fn wait(&mut self) -> Option<u8>;

    /// The next byte of the same key; none where the key is at its end.
    fn follow(&mut self) -> Option<u8>;
}

/// Escape, with which the keys up and down begin as well.
const ESCAPE: u8 = 27;

/// The next key; none where there are no more.
pub(super) fn next(source: &mut impl TypedBytes) -> Option<TopKey> {
    match source.wait()? {
        ESCAPE => Some(match source.follow() {
            Some(b'[') => sequence(source),
            Some(b'O') => source.follow().map_or(TopKey::Other, arrow),
            _ => TopKey::Escape,
        }),
        byte => Some(TopKey::Character(byte)),
    }
}

/// What ends a control sequence says which key it is; numbers before that tell of Shift and the like.
fn sequence(source: &mut impl TypedBytes) -> TopKey {
    loop {
        match source.follow() {
            Some(0x20..=0x3f) => {}
            Some(end) => return arrow(end),
            None => return TopKey::Other,
        }
    }
}

fn arrow(end: u8) -> TopKey {
    match end {
        b'A' => TopKey::Up,
        b'B' => TopKey::Down,
        _ => TopKey::Other,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Bytes that were typed; a pause is a space between them.
    struct Typed<'a>(&'a [u8]);

    impl TypedBytes for Typed<'_> {
        fn wait(&mut self) -> Option<u8> {
            let pauses = self.0.iter().take_while(|byte| **byte == b' ').count();
            self.0 = &self.0[pauses..];
            self.follow()
        }

        fn follow(&mut self) -> Option<u8> {
            let (first, rest) = self.0.split_first().filter(|(first, _)| **first != b' ')?;
            self.0 = rest;
            Some(*first)
        }
    }

    /// The keys of bytes; spaces are pauses.
    pub(in crate::top) fn keys(bytes: &[u8]) -> Vec<TopKey> {
        let mut typed = Typed(bytes);
        std::iter::from_fn(|| next(&mut typed)).collect()
    }

    #[test]
    fn bytes_are_whole_keys() {
        let check = |bytes: &[u8], expected: &[TopKey]| assert_eq!(keys(bytes), expected);
        let letter = TopKey::Character(b'j');
        check(b"", &[]);
        check(b"jj", &[letter, letter]);
        check(b"\x03", &[TopKey::Character(3)]);
        check(b"\x1b", &[TopKey::Escape]);
        check(b"\x1b j", &[TopKey::Escape, letter]);
        check(b"\x1bj", &[TopKey::Escape]);
        check(b"\x1b\x1b", &[TopKey::Escape]);
        check(b"\x1b[A\x1b[Bj", &[TopKey::Up, TopKey::Down, letter]);
        check(b"\x1bOA\x1bOB", &[TopKey::Up, TopKey::Down]);
        check(b"\x1b[1;5Aj", &[TopKey::Up, letter]);
        check(b"\x1b[5~j\x1bOPj", &[TopKey::Other, letter, TopKey::Other, letter]);
        check(b"\x1b[ j", &[TopKey::Other, letter]);
        check(b"\x1bO", &[TopKey::Other]);
    }
}
