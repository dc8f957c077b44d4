//! The baseline that everyone knows: the newest messages that fit.
//!
//! Invariant: exchanges stay or go whole, what is pinned stays, and no rule of the provider is
//! broken that was kept before.

use epitome::types::{Budget, Edit, Entry, EntryId, Op, Plan, Role};
use epitome::{
    Error, Eviction, RequestDocument, SizeGauge, Thread, ThreadSizes, apply, evicted, validate,
};

/// Leads where the first message that stays would be an assistant's: a user begins (RULES 106).
const NOTE: &str = "[Earlier messages are left out.]";

/// The largest piece that is cut for search, in bytes, and the most that one line quotes.
const PASSAGE: usize = 800;
const LINE: usize = 120;

/// A conversation and its sizes.
pub(crate) struct Truncation<'a> {
    document: &'a RequestDocument<'a>,
    thread: Thread,
    envelope: u64,
}

/// What is left of a conversation.
pub(crate) struct Truncated {
    pub(crate) bytes: Vec<u8>,
    /// What went, oldest first.
    pub(crate) gone: Vec<EntryId>,
    pub(crate) departure: Eviction,
}

impl<'a> Truncation<'a> {
    /// `envelope` is what the request takes beside its messages.
    pub(crate) fn new(document: &'a RequestDocument<'a>, envelope: u64) -> Self {
        Self { document, thread: Thread::new(document.shared_entries(), &[]), envelope }
    }

    /// The newest exchanges that fit; none where what is pinned exceeds the budget by itself.
    pub(crate) fn within(
        &self,
        budget: Budget,
        gauge: SizeGauge<'_>,
    ) -> Result<Option<Truncated>, Error> {
        let gauge = SizeGauge { unit: budget.unit, ..gauge };
        let sizes = ThreadSizes::measure(self.thread.entries(), gauge, self.envelope);
        if sizes.total() <= budget.most {
            let bytes = self.document.bytes().to_vec();
            let (gone, departure) = (Vec::new(), Eviction::default());
            return Ok(Some(Truncated { bytes, gone, departure }));
        }
        let room = gauge.message(NOTE);
        let Some(mut kept) = self.kept(&sizes, budget.most, room) else { return Ok(None) };
        let known = validate(self.document.format(), self.document.bytes());
        let known = known.err().map_or(0, |all| all.len());
        loop {
            let gone = self.gone(&kept);
            let mut ops = vec![Op::Drop { entries: gone.clone() }];
            ops.extend(self.lead(&gone));
            let plan = Plan { ops, reason: "oldest".to_owned() };
            let view = apply(&self.thread, &sizes, &plan)?;
            let edits: Vec<Edit> = view.edits();
            let bytes = self.document.edited(&edits).map_err(Error::Edit)?;
            let broken = validate(self.document.format(), &bytes).err().unwrap_or_default();
            let oldest = kept.iter().position(|&(exchange, pinned)| {
                !pinned && !self.thread.exchanges()[exchange].broken
            });
            match oldest {
                // Whatever rule it is that breaks, it holds where less is kept.
                Some(oldest) if broken.len() > known => _ = kept.remove(oldest),
                None if broken.len() > known => return Err(Error::Invalid(broken)),
                _ => {
                    let departure = evicted(&self.thread, &sizes, &plan, PASSAGE, LINE);
                    return Ok(Some(Truncated { bytes, gone, departure }));
                }
            }
        }
    }

    /// A message of the user, where the conversation began with one and would not any more.
    fn lead(&self, gone: &[EntryId]) -> Option<Op> {
        let talk = |entry: &&Entry| entry.role != Role::System;
        let entries = self.thread.entries();
        let opening = entries.iter().find(talk)?;
        let first = entries.iter().filter(talk).find(|entry| !gone.contains(&entry.id))?;
        let turned = opening.role == Role::User && first.role != Role::User;
        let before = first.id.index().checked_sub(1).map(|place| entries[place].id);
        turned.then(|| Op::Insert { after: before, role: Role::User, text: NOTE.to_owned() })
    }

    /// The exchanges that stay, oldest first, and whether each is pinned. Beside the pinned ones
    /// there is `room` for a message that leads.
    fn kept(&self, sizes: &ThreadSizes<'_>, most: u64, room: u64) -> Option<Vec<(usize, bool)>> {
        let exchanges = self.thread.exchanges();
        let size = |exchange: usize| {
            let entries = &self.thread.entries()[exchanges[exchange].entries.clone()];
            sizes.sum(entries.iter().map(|entry| entry.id))
        };
        let pinned = |exchange: usize| {
            let entries = &self.thread.entries()[exchanges[exchange].entries.clone()];
            entries.iter().any(|entry| self.thread.pinned(entry.id).is_some())
        };
        let mut kept: Vec<_> =
            (0..exchanges.len()).filter(|&it| pinned(it)).map(|it| (it, true)).collect();
        let mut sum: u64 = kept.iter().map(|&(it, _)| size(it)).sum();
        if sizes.request(sum) > most {
            return None;
        }
        for exchange in (0..exchanges.len()).rev().filter(|&it| !pinned(it)) {
            if exchanges[exchange].broken {
                continue;
            }
            sum += size(exchange);
            if sizes.request(sum) + room > most {
                break;
            }
            kept.push((exchange, false));
        }
        kept.sort_unstable();
        Some(kept)
    }

    fn gone(&self, kept: &[(usize, bool)]) -> Vec<EntryId> {
        let exchanges = self.thread.exchanges().iter().enumerate();
        let gone = exchanges.filter(|(number, _)| kept.iter().all(|(kept, _)| kept != number));
        let entries = gone.flat_map(|(_, exchange)| exchange.entries.clone());
        entries.map(|place| self.thread.entries()[place].id).collect()
    }
}

#[cfg(test)]
mod tests {
    use epitome::types::BudgetUnit;
    use epitome::{Format, MemoryStore, OriginalStore};
    use epitome_testkit::FixedCounter;

    use super::*;
    use crate::ab::plain_text::said;

    const OPENAI: &str = r#"[{"role":"system","content":"be brief"},
        {"role":"user","content":"one two three"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","content":"four five"},
        {"role":"assistant","content":"six"},
        {"role":"user","content":"go on"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"2","content":"seven"}]"#;

    fn check(text: &str, format: Format, most: u64, expected: Option<&[&str]>) {
        let document = RequestDocument::parse(text.as_bytes(), format).unwrap();
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let budget = Budget { unit: BudgetUnit::Tokens, most };
        let truncated = Truncation::new(&document, 0).within(budget, gauge).unwrap();
        let left = truncated.as_ref().map(|it| {
            let after = RequestDocument::parse(&it.bytes, format).unwrap();
            let sizes = ThreadSizes::measure(after.entries(), gauge, 0);
            assert!(sizes.total() <= most, "{} of {most}", sizes.total());
            said(&after).iter().map(|one| one.content.clone()).collect::<Vec<_>>()
        });
        assert_eq!(
            left.as_deref(),
            expected.map(|it| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).as_deref()
        );
        if let Some(Truncated { departure, .. }) = truncated {
            assert_eq!(departure.blobs.is_empty(), expected.is_none_or(|it| it.len() == 8));
        }
    }

    #[test]
    fn exchanges_stay_whole_and_pinned_ones_stay() {
        let all = ["be brief", "one two three", "", "four five", "six", "go on", "", "seven"];
        check(OPENAI, Format::OpenAi, 999, Some(&all));
        // Pinned are 6 and 6, the newest exchange takes 6 and 5; 9 are for a message that leads.
        check(OPENAI, Format::OpenAi, 32, Some(&["be brief", "go on", "", "seven"]));
        check(OPENAI, Format::OpenAi, 37, Some(&["be brief", NOTE, "six", "go on", "", "seven"]));
        check(OPENAI, Format::OpenAi, 13, Some(&["be brief", "go on"]));
        check(OPENAI, Format::OpenAi, 11, None);
    }

    #[test]
    fn a_user_begins() {
        let text = r#"{"model":"m","max_tokens":9,"system":"s","messages":[
            {"role":"user","content":"one"},{"role":"assistant","content":"two"},
            {"role":"user","content":"three"},{"role":"assistant","content":"four"},
            {"role":"user","content":"five"}]}"#;
        check(text, Format::Anthropic, 29, Some(&["s", "three", "four", "five"]));
        check(text, Format::Anthropic, 24, Some(&["s", NOTE, "four", "five"]));
        check(text, Format::Anthropic, 18, Some(&["s", "five"]));
    }

    #[test]
    fn what_went_is_found() {
        let document = RequestDocument::parse(OPENAI.as_bytes(), Format::OpenAi).unwrap();
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let budget = Budget { unit: BudgetUnit::Tokens, most: 32 };
        let truncated = Truncation::new(&document, 0).within(budget, gauge).unwrap().unwrap();
        let store = MemoryStore::new();
        store.keep("s", &truncated.departure).unwrap();
        let found = store.search("s", "five", 100, &FixedCounter::Words).unwrap();
        assert!(found.iter().any(|excerpt| excerpt.text.contains("four five")), "{found:?}");
    }
}
