//! What a summary leaves out, cut into pieces for a search.
//!
//! Invariant: every unit that was left is in exactly one passage, in order, and a passage never
//! crosses an entry.

use epitome_kernel::types::{Entry, Passage};

use crate::unit::TextUnit;
use crate::words::word_count;

/// A passage of tool output or code ends before it grows over this many words.
const WORDS: usize = 80;
/// The same for talk, where what belongs together stands further apart.
const TALK_WORDS: usize = 120;

/// The passages of the units that were not `said`. In a `chat`, sentences live by their neighbours:
/// there, what was said is part of the passages of its entry too.
pub(crate) fn left(
    entries: &[&Entry],
    units: &[TextUnit<'_>],
    said: &[bool],
    chat: bool,
) -> Vec<Passage> {
    let most = if chat { TALK_WORDS } else { WORDS };
    let mut broken = vec![false; entries.len()];
    units
        .iter()
        .zip(said)
        .filter(|(_, said)| !**said)
        .for_each(|(unit, _)| broken[unit.entry()] = true);
    let wanted = |index: usize| if chat { broken[units[index].entry()] } else { !said[index] };
    let mut out: Vec<Passage> = Vec::new();
    let mut words = 0;
    let mut before: Option<&TextUnit<'_>> = None;
    for unit in (0..units.len()).filter(|index| wanted(*index)).map(|index| &units[index]) {
        let more = word_count(&unit.text);
        let entry = entries[unit.entry()].id;
        let goes_on = before.replace(unit).is_some_and(|before| before.is_same_turn(unit));
        match out.last_mut() {
            Some(passage) if passage.entry == entry && words + more <= most => {
                passage.text.push('\n');
                match goes_on {
                    true => passage.text.push_str(&unit.text),
                    false => passage.text.push_str(&unit.marked()),
                }
                words += more;
            }
            last => {
                // Its text grew by doubling, and there are as many as fill the conversation.
                last.into_iter().for_each(|passage| passage.text.shrink_to_fit());
                out.push(Passage { entry, text: unit.marked().into_owned() });
                words = more;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;
    use crate::cut::units;

    fn check(said: [bool; 4], chat_mode: bool, expected: &[&str]) {
        let entries = chat()
            .user("One is here. Two is there. Three is gone.")
            .assistant("Four is new.")
            .entries();
        let entries: Vec<&Entry> = entries.iter().collect();
        let found: Vec<String> = left(&entries, &units(&entries), &said, chat_mode)
            .into_iter()
            .map(|p| p.text)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_not_chosen_can_be_found() {
        check(
            [false, true, false, false],
            false,
            &["One is here.\nThree is gone.", "Four is new."],
        );
        check([true; 4], false, &[]);
    }

    #[test]
    fn talk_keeps_its_neighbours() {
        check([false, true, false, true], true, &["One is here.\nTwo is there.\nThree is gone."]);
    }
}
