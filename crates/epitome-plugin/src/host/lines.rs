//! Lines of a program that nobody trusts.
//!
//! Invariant: never holds more than one line's limit, whatever the program writes. Called by the
//! threads that listen to a child.

use std::io::{self, BufRead, Read};

/// What stood next in a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamLine {
    /// A line, without what ends it.
    Whole(Vec<u8>),
    /// The beginning of a line of more than the limit.
    Cut(Vec<u8>),
    /// Nothing more.
    End,
}

/// Reads on to the end of the line, or to `most` bytes of it.
pub(super) fn next(from: &mut impl BufRead, most: usize) -> io::Result<StreamLine> {
    let mut line = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    if from.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(StreamLine::End);
    }
    if line.pop_if(|byte| *byte == b'\n').is_some() {
        line.pop_if(|byte| *byte == b'\r');
    } else if line.len() > most {
        line.truncate(most);
        return Ok(StreamLine::Cut(line));
    }
    Ok(StreamLine::Whole(line))
}

/// What may be shown of bytes in a message: a short piece of text without control characters.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 80;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST + 4)]);
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut out: String = text.trim().chars().take(MOST).map(clean).collect();
    if text.trim().chars().count() > MOST {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], most: usize, expected: &[StreamLine]) {
        let mut from = bytes;
        for line in expected {
            assert_eq!(&next(&mut from, most).unwrap(), line);
        }
    }

    #[test]
    fn a_line_ends_with_a_newline_or_the_stream() {
        let whole = |text: &str| StreamLine::Whole(text.into());
        check(b"one\ntwo\r\n\nlast", 9, &[whole("one"), whole("two"), whole(""), whole("last")]);
        check(b"", 9, &[StreamLine::End]);
    }

    #[test]
    fn a_line_of_just_the_limit_is_whole() {
        let whole = |text: &str| StreamLine::Whole(text.into());
        check(b"123\n45", 3, &[whole("123"), whole("45"), StreamLine::End]);
        check(b"1234\n", 3, &[StreamLine::Cut(b"123".to_vec())]);
    }

    #[test]
    fn what_is_shown_is_short_and_plain() {
        assert_eq!(shown(b"\x1b[31mred\xff\n"), "\u{fffd}[31mred\u{fffd}");
        assert_eq!(shown("ä".repeat(200).as_bytes()), "ä".repeat(80) + "…");
    }

    proptest! {
        #[test]
        fn no_line_grows_over_the_limit_and_nothing_is_lost_before_one_that_does(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300),
            most in 1_usize..40,
        ) {
            let mut from = &bytes[..];
            let mut read = Vec::new();
            loop {
                match next(&mut from, most).unwrap() {
                    StreamLine::Whole(line) => {
                        prop_assert!(line.len() <= most);
                        read.extend(line);
                        read.push(b'\n');
                    }
                    StreamLine::Cut(line) => {
                        prop_assert_eq!(line.len(), most);
                        read.extend(line);
                        break;
                    }
                    StreamLine::End => break,
                }
            }
            let plain = |bytes: &[u8]| bytes.iter().filter(|b| !b"\r\n".contains(b)).count();
            let consumed = bytes.len() - from.len();
            // A cut line has lost the one byte that showed that it is too long.
            prop_assert!(plain(&bytes[..consumed]) - plain(&read) <= 1);
        }

        #[test]
        fn anything_can_be_shown(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let text = shown(&bytes);
            prop_assert!(text.chars().count() <= 81);
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
