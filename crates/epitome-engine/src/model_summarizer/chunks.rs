//! Messages in pieces, for a model whose window does not take them at once.
//!
//! Invariant: the pieces are the messages in their order, nothing left out, each within its room; a
//! message that has no room by itself is cut between lines, or words where there are none. Called
//! by the writer.

use std::ops::Range;

use epitome_kernel::TextMeasure;

/// What stands between two messages.
pub(super) const BETWEEN: &str = "\n\n";

/// Messages in pieces.
pub(super) struct MessagePieces {
    /// The pieces, in order.
    pub(super) texts: Vec<String>,
    /// For each message the places of the pieces that hold it.
    pub(super) holders: Vec<Range<usize>>,
}

/// Messages in as few pieces as take them in order, each no larger than `most` by `measure`.
pub(super) fn pieces(messages: &[String], most: u64, measure: &dyn TextMeasure) -> MessagePieces {
    let (mut pieces, mut piece, mut size) = (Vec::new(), String::new(), 0);
    let mut holders: Vec<Range<usize>> = Vec::new();
    let between = measure.size(BETWEEN);
    for (place, message) in messages.iter().enumerate() {
        for part in parts(message, most, measure) {
            let more = measure.size(part) + between;
            if size + more > most && !piece.is_empty() {
                pieces.push(std::mem::take(&mut piece));
                size = 0;
            }
            if !piece.is_empty() {
                piece.push_str(BETWEEN);
            }
            piece.push_str(part);
            size += more;
            let at = pieces.len();
            match holders.get_mut(place) {
                Some(holders) => holders.end = at + 1,
                None => holders.push(at..at + 1),
            }
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    MessagePieces { texts: pieces, holders }
}

/// A message, cut where it has no room.
fn parts<'t>(message: &'t str, most: u64, measure: &dyn TextMeasure) -> Vec<&'t str> {
    let (mut parts, mut rest) = (Vec::new(), message);
    // What stands between messages is paid for, too.
    let most = most.saturating_sub(measure.size(BETWEEN)).max(1);
    loop {
        let size = measure.size(rest);
        if size <= most {
            parts.push(rest);
            return parts;
        }
        let cut = cut(rest, (rest.len() as u128 * u128::from(most) / u128::from(size)) as usize);
        let (part, after) = rest.split_at(cut);
        match measure.size(part) <= most || part.chars().nth(1).is_none() {
            true => parts.push(part),
            // The beginning is denser than the whole.
            false => parts.extend(self::parts(part, most, measure)),
        }
        rest = after;
    }
}

/// Where to cut a text at this byte or shortly before: behind a line, else a word.
fn cut(text: &str, at: usize) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let at = text.floor_char_boundary(at.min(text.len() - 1)).max(first);
    let half = text.floor_char_boundary(at / 2);
    let behind = |sign: char| text[half..at].rfind(sign).map(|found| half + found + 1);
    behind('\n').or_else(|| behind(' ')).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A token for every four bytes.
    struct Quarters;

    impl TextMeasure for Quarters {
        fn size(&self, text: &str) -> u64 {
            text.len().div_ceil(4) as u64
        }
    }

    #[track_caller]
    fn check(messages: &[&str], most: u64, expected: &[&str]) {
        let messages: Vec<_> = messages.iter().map(|one| (*one).to_owned()).collect();
        let found = pieces(&messages, most, &Quarters);
        assert_eq!(found.texts, expected);
        assert_eq!(found.holders.len(), messages.len());
        for (message, holders) in messages.iter().zip(found.holders) {
            let held: String = found.texts[holders].concat();
            assert!(held.contains(message.as_str()), "{message:?} {held:?}");
        }
    }

    #[test]
    fn messages_stay_together_where_there_is_room() {
        check(&[], 10, &[]);
        check(&["user: hi", "tool: ok"], 10, &["user: hi\n\ntool: ok"]);
        check(&["user: hi", "tool: ok"], 5, &["user: hi", "tool: ok"]);
        let lines = "first line is here\nsecond line is here";
        check(&[lines], 6, &["first line is here\n", "second line is here"]);
        check(&["abcdefghijkl"], 2, &["abcd", "efgh", "ijkl"]);
    }

    proptest! {
        #[test]
        fn nothing_is_left_out_and_every_piece_has_room(
            messages in proptest::collection::vec("[a-zä日 \n]{0,60}", 0..8),
            most in 2u64..30,
        ) {
            let pieces = pieces(&messages, most, &Quarters).texts;
            let plain = |all: &[String]| all.concat().replace('\n', "");
            prop_assert_eq!(plain(&pieces), plain(&messages));
            for piece in &pieces {
                prop_assert!(Quarters.size(piece) <= most, "{piece:?}");
            }
        }
    }
}
