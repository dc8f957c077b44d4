//! Which results answer which calls.
//!
//! Invariant: each result answers at most one call, and each call has at most one result. Read by the
//! thread, once, and wherever a call is told with what came of it.

use std::collections::BTreeMap;
use std::ops::Range;

use epitome_types::{Entry, OpenCalls, PartBody, PartId, Role};

/// A run of entries that stay or go together: an assistant entry with its calls and every entry
/// that holds a result of them, or a single message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The entries, as indexes into the thread.
    pub entries: Range<usize>,
    /// Whether it holds a result without a call, or a call that was given up: no provider takes
    /// either (RULES 101 and 104), so a compression never keeps it.
    pub broken: bool,
}

/// Which entry's calls are answered where.
pub(crate) struct Links {
    /// For each entry, the last entry that answers one of its calls, or itself.
    reach: Vec<usize>,
    broken: Vec<bool>,
    /// The entries with calls that still wait for a result.
    pub(crate) pending: Vec<usize>,
    /// The call of each result.
    pub(crate) answers: BTreeMap<PartId, PartId>,
}

impl Links {
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut links = Self {
            reach: (0..entries.len()).collect(),
            broken: vec![false; entries.len()],
            pending: Vec::new(),
            answers: BTreeMap::new(),
        };
        let mut open = OpenCalls::default();
        for (place, entry) in entries.iter().enumerate() {
            for (part, body) in (0..).zip(&entry.parts) {
                let at = PartId { entry: entry.id, part };
                match &body.body {
                    PartBody::Call(call) => open.add(&call.id, at),
                    PartBody::Result(result) => links.close(&mut open, &result.call, at),
                    PartBody::Opaque(opaque) => {
                        opaque.calls.iter().for_each(|id| open.add(id, at));
                        if let Some(id) = &opaque.answers {
                            links.close(&mut open, id, at);
                        }
                    }
                    PartBody::Text(_) | PartBody::Thinking(_) | PartBody::Image(_) => {}
                }
            }
            if is_bare_thinking(entry) && place + 1 < entries.len() {
                links.reach[place] = end_of_reply(entries, place).max(place + 1);
            }
        }
        let turn = latest_turn(entries);
        for place in open.into_calls().map(|call| call.entry.index()) {
            if place >= turn { links.pending.push(place) } else { links.broken[place] = true }
        }
        links
    }

    /// Links a result to the call that it answers.
    fn close(&mut self, open: &mut OpenCalls<'_>, id: &str, result: PartId) {
        match open.close(id) {
            Some(caller) => {
                let reach = &mut self.reach[caller.entry.index()];
                *reach = (*reach).max(result.entry.index());
                self.answers.insert(result, caller);
            }
            None => self.broken[result.entry.index()] = true,
        }
    }

    pub(crate) fn exchanges(&self, entries: &[Entry]) -> Vec<Exchange> {
        let mut exchanges = Vec::new();
        let mut start = 0;
        while start < entries.len() {
            let (mut at, mut end) = (start, start);
            while at <= end {
                end = end.max(self.reach[at]);
                at += 1;
            }
            let broken = self.broken[start..at].contains(&true);
            exchanges.push(Exchange { entries: start..at, broken });
            start = at;
        }
        exchanges
    }
}

/// The last entry of the row of assistant entries that this one stands in.
fn end_of_reply(entries: &[Entry], place: usize) -> usize {
    let row = entries[place..].iter().take_while(|entry| entry.role == Role::Assistant);
    place + row.count().saturating_sub(1)
}

/// A reasoning item that stands alone belongs to what the reply says after it (RULES 105): where
/// the items of a reply are entries of their own, none of them may stay without it.
fn is_bare_thinking(entry: &Entry) -> bool {
    !entry.parts.is_empty()
        && entry.parts.iter().all(|part| matches!(part.body, PartBody::Thinking(_)))
}

/// Where the model's latest turn begins: the last unbroken row of assistant entries. An open call
/// before it was given up, one within it still waits for its result.
fn latest_turn(entries: &[Entry]) -> usize {
    let Some(last) = entries.iter().rposition(|entry| entry.role == Role::Assistant) else {
        return entries.len();
    };
    let before = entries[..last].iter().rposition(|entry| entry.role != Role::Assistant);
    before.map_or(0, |at| at + 1)
}
