//! What a summary leaves out, cut into pieces for a search.
//!
//! Invariant: every unit that was left is in exactly one passage, in order, and a passage never
//! crosses an entry.

use epitome_kernel::types::{Entry, Passage};

use crate::unit::Unit;
use crate::words::word_count;

/// A passage ends at the first unit that fills it up to this many words.
const WORDS: usize = 80;

/// The passages of the units that are not `chosen` (ascending places).
pub(crate) fn left(entries: &[&Entry], units: &[Unit], chosen: &[usize]) -> Vec<Passage> {
    let mut out: Vec<Passage> = Vec::new();
    let mut chosen = chosen.iter().copied().peekable();
    let mut words = 0;
    let mut open = None;
    for (index, unit) in units.iter().enumerate() {
        if chosen.next_if_eq(&index).is_some() {
            continue;
        }
        let more = word_count(&unit.text);
        match out.last_mut() {
            Some(passage) if open == Some(unit.entry) && words + more <= WORDS => {
                passage.text.push('\n');
                passage.text.push_str(&unit.text);
                words += more;
            }
            _ => {
                out.push(Passage { entry: entries[unit.entry].id, text: unit.text.clone() });
                open = Some(unit.entry);
                words = more;
            }
        }
    }
    out
}
