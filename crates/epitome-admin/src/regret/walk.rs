//! The walk over a history that finds what left and came again.

use std::collections::{BTreeMap, HashMap, HashSet};

use epitome_types::{Entry, Op, PartBody, ReplaceMethod, Role, ToolName, ToolResult};

use super::known::{KnownText, PartText, texts_of};
use super::lines::{lines, plain, shared};
use super::{BroughtBack, CompactionRegret, EvictionPlace, FetchedText};
use crate::same_call::same_subject;

/// The least share of the lines of a result that has to stand in the text that left.
const ALIKE: f64 = 0.8;
/// The least length of a line by which excerpts are found again, in bytes: shorter ones stand anywhere.
const TELLING: usize = 8;

/// How an agent asks for removed text in a shell, where it stands as files, and what the tool for it is
/// called.
const RECALL: [&str; 2] = ["epitome recall", ".epitome/offloaded/"];
const RECALL_TOOL: &str = "recall";

/// Whether a call asks for text that left the prompt.
pub(crate) fn is_recall(tool: &str, arguments: &str) -> bool {
    ToolName::new(tool).has(&[RECALL_TOOL]) || RECALL.iter().any(|it| arguments.contains(it))
}

/// Walks over the messages of a history, whose sizes in tokens these are; gives what came of each
/// compression, in their order.
pub(crate) fn regrets(
    entries: &[Entry],
    sizes: &[u64],
    evictions: &[EvictionPlace<'_>],
    brought: &[BroughtBack<'_>],
) -> Vec<CompactionRegret> {
    let found = evictions.iter().map(|eviction| CompactionRegret {
        compaction: eviction.compaction.id,
        left: 0,
        left_tokens: 0,
        refreshed: 0,
        again: Vec::new(),
    });
    let found = found.collect();
    let mut walk = RegretWalk { evictions, found, ..RegretWalk::default() };
    let mut was_answer = false;
    for (place, entry) in entries.iter().enumerate() {
        walk.hold(place);
        for back in brought.iter().filter(|back| back.place == place) {
            walk.recalled(place, back.text);
        }
        let is_answer = entry.role == Role::Assistant;
        walk.turn += u32::from(is_answer && !was_answer);
        was_answer = is_answer;
        if entry.role != Role::System {
            walk.entry(place, entry, sizes.get(place).copied().unwrap_or_default());
        }
    }
    walk.hold(entries.len());
    walk.found
}

/// A call that has no result yet.
struct OpenCall<'e> {
    tool: &'e str,
    arguments: &'e str,
    subject: String,
}

#[derive(Default)]
struct RegretWalk<'e> {
    evictions: &'e [EvictionPlace<'e>],
    found: Vec<CompactionRegret>,
    turn: u32,
    texts: Vec<KnownText<'e>>,
    /// By the message, its texts by their parts.
    by_entry: BTreeMap<(usize, u32), usize>,
    /// By what a call is about, the text that it brought last.
    by_subject: HashMap<String, usize>,
    /// By lines of texts that left, those texts.
    by_line: HashMap<u64, Vec<usize>>,
    open: HashMap<&'e str, OpenCall<'e>>,
}

impl<'e> RegretWalk<'e> {
    /// Lets compressions take hold and end that do so before the message at this place.
    fn hold(&mut self, place: usize) {
        let evictions = self.evictions;
        for (at, eviction) in evictions.iter().enumerate() {
            if eviction.until.is_some_and(|until| until == place) {
                let own = |text: &&mut KnownText<'_>| text.left.is_some_and(|left| left.0 == at);
                self.texts.iter_mut().filter(own).for_each(|text| text.left = None);
            }
            if eviction.made == place && eviction.until.is_none_or(|until| until > place) {
                self.evict(at, eviction);
            }
        }
    }

    fn evict(&mut self, at: usize, eviction: &EvictionPlace<'_>) {
        let mut gone = Vec::new();
        for op in &eviction.compaction.plan.ops {
            match op {
                Op::Replace { how: ReplaceMethod::TruncateInput, .. } => {}
                Op::Replace { part, .. } => {
                    let key = (eviction.start + part.entry.index(), part.part);
                    gone.extend(self.by_entry.get(&key));
                }
                Op::Strip { parts } => {
                    let key = parts.iter().map(|it| (eviction.start + it.entry.index(), it.part));
                    gone.extend(key.filter_map(|key| self.by_entry.get(&key)));
                }
                Op::Drop { entries } => {
                    let all = entries.iter().map(|id| eviction.start + id.index());
                    gone.extend(all.flat_map(|entry| self.of_entry(entry)));
                }
                Op::Summarize(checkpoint) => {
                    let all = checkpoint.covers.iter().map(|id| eviction.start + id.index());
                    gone.extend(all.flat_map(|entry| self.of_entry(entry)));
                }
                Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
            }
        }
        let mut gone: Vec<usize> = gone.into_iter().copied().collect();
        gone.sort_unstable();
        gone.dedup();
        for at_text in gone {
            let text = &mut self.texts[at_text];
            if text.left.is_some() {
                continue;
            }
            text.left = Some((at, self.turn));
            self.found[at].left += 1;
            self.found[at].left_tokens += text.tokens;
            let telling = lines(&text.text).filter(|(_, len)| *len >= TELLING);
            for (hash, _) in telling {
                let known = self.by_line.entry(hash).or_default();
                if known.last() != Some(&at_text) {
                    known.push(at_text);
                }
            }
        }
    }

    fn of_entry(&self, entry: usize) -> impl Iterator<Item = &usize> {
        self.by_entry.range((entry, 0)..=(entry, u32::MAX)).map(|(_, text)| text)
    }

    /// Reads a message.
    fn entry(&mut self, place: usize, entry: &'e Entry, tokens: u64) {
        for part in &entry.parts {
            if let PartBody::Call(call) = &part.body {
                let subject = same_subject(&call.tool, &call.arguments);
                let (tool, arguments) = (&*call.tool, &*call.arguments);
                self.open.insert(&call.id, OpenCall { tool, arguments, subject });
            }
        }
        for text in texts_of(entry, tokens) {
            let part = text.part;
            let call = match &entry.parts[part as usize].body {
                PartBody::Result(ToolResult { call, .. }) => self.open.remove(&**call),
                _ => None,
            };
            let number = self.texts.len();
            self.by_entry.insert((place, part), number);
            // What stands within a result leaves with it.
            let within = (0..).zip(&entry.parts).filter(|(_, it)| it.within == Some(part));
            self.by_entry.extend(within.map(|(inner, _)| ((place, inner), number)));
            let PartText { text, tokens, .. } = text;
            let known =
                |call| KnownText { entry: place, text, tokens, call, role: entry.role, left: None };
            let Some(call) = call else {
                self.texts.push(known(None));
                continue;
            };
            let known = known(Some((call.tool, call.arguments)));
            match is_recall(call.tool, call.arguments) {
                true => self.recalled(place, &known.text),
                false => self.called(place, &call.subject, &known.text),
            }
            self.texts.push(known);
            self.by_subject.insert(call.subject, number);
        }
    }

    /// A call brought a text.
    fn called(&mut self, place: usize, subject: &str, text: &str) {
        let Some(before) = self.by_subject.get(subject).copied() else { return };
        let Some((at, _)) = self.texts[before].left else { return };
        let (share, of_old) = shared(text, &self.texts[before].text);
        match share >= ALIKE {
            true => self.fetched(place, before, of_old, false),
            // Whoever asks now has what is true now.
            false => self.found[at].refreshed += 1,
        }
    }

    /// Excerpts came back: each text that left, by the lines that they hold of it, the one that they
    /// hold most of first.
    fn recalled(&mut self, place: usize, answer: &str) {
        let mut held = BTreeMap::<usize, usize>::new();
        let mut told = HashMap::<u64, usize>::new();
        for text in plain(answer) {
            told.extend(lines(&text).filter(|(_, len)| *len >= TELLING));
        }
        for (hash, len) in &told {
            for text in self.by_line.get(hash).into_iter().flatten() {
                if self.texts[*text].left.is_some() {
                    *held.entry(*text).or_default() += len;
                }
            }
        }
        let mut held: Vec<_> = held.into_iter().collect();
        held.sort_by_key(|(text, bytes)| (usize::MAX - bytes, usize::MAX - text));
        for (text, _) in held {
            let mut own = HashSet::new();
            let of_text = lines(&self.texts[text].text).filter(|(hash, _)| own.insert(*hash));
            let of_text: Vec<_> = of_text.collect();
            let whole: usize = of_text.iter().map(|(_, len)| len).sum();
            let taken = of_text.iter().filter_map(|(hash, _)| told.remove(hash));
            let taken: usize = taken.sum();
            if taken > 0 {
                self.fetched(place, text, taken as f64 / whole.max(1) as f64, true);
            }
        }
    }

    /// A share of a text that left came again.
    fn fetched(&mut self, by: usize, text: usize, share: f64, recalled: bool) {
        let known = &mut self.texts[text];
        let Some((at, turn)) = known.left.take() else { return };
        self.found[at].again.push(FetchedText {
            entry: known.entry,
            by,
            name: known.name(),
            recalled,
            tokens: (known.tokens as f64 * share.min(1.0)).round() as u64,
            turns: self.turn - turn,
        });
    }
}
