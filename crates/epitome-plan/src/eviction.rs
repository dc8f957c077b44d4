//! What leaves the prompt in one compression, gathered for the store.
//!
//! Invariant: every text that a plan removes or shortens is in a blob, under the id that markers
//! and labels name. Called once per compression, when its plan is settled.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{iter, mem};

use epitome_kernel::types::{
    ContentId, Entry, EntryId, OffloadReport, Op, PartBody, PartId, Passage, Plan, ReplaceMethod,
};

use crate::cut::{ShortenedPart, missing};
use crate::input::long_texts;
use crate::leaving::{LeavingText, TextOrigin, copied};
use crate::lines;
use epitome_kernel::Eviction;
use epitome_kernel::Thread;
use epitome_kernel::ThreadSizes;

/// A text in pieces of at most so many bytes, cut at line ends where there are any; blank ones are
/// left out.
pub fn split_passages(text: &str, most: usize) -> impl Iterator<Item = String> {
    let mut rest = text;
    let next = move || {
        let end = rest.floor_char_boundary(most.max(4));
        let line = rest[..end].rfind('\n').filter(|_| end < rest.len());
        let (piece, after) = rest.split_at(line.map_or(end, |line| line + 1));
        rest = after;
        (!piece.is_empty()).then(|| piece.trim_matches('\n').to_owned())
    };
    iter::from_fn(next).filter(|piece| !piece.trim().is_empty())
}

/// What covered entries are kept as: the one entry itself, or a list with a line for each that
/// says what it is and, in front, the address of its own original.
pub(crate) fn original_of<'t>(
    thread: &'t Thread,
    covers: &[EntryId],
    chars: usize,
) -> Cow<'t, str> {
    match alone(thread, covers) {
        Some(text) => text,
        None => listed(thread, covers, chars).collect::<String>().into(),
    }
}

/// The address of what covered entries are kept as. Their list may be as large as they are, so it is not
/// put together.
pub(crate) fn address_of(thread: &Thread, covers: &[EntryId], chars: usize) -> ContentId {
    match alone(thread, covers) {
        Some(text) => ContentId::for_text(&text),
        None => ContentId::of_all(listed(thread, covers, chars)),
    }
}

/// What the one entry that is covered says.
fn alone<'t>(thread: &'t Thread, covers: &[EntryId]) -> Option<Cow<'t, str>> {
    let mut entries = covers.iter().filter_map(|&id| thread.entry(id));
    let (first, more) = (entries.next()?, entries.next());
    let text = more.is_none().then(|| first.readable());
    text.filter(|text| !text.is_empty())
}

/// A line for each covered entry.
fn listed(thread: &Thread, covers: &[EntryId], chars: usize) -> impl Iterator<Item = String> {
    covers.iter().filter_map(|&id| thread.entry(id)).map(move |entry| {
        let (text, name) = (entry.readable(), thread.name(entry));
        if text.is_empty() {
            return format!("{name}\n");
        }
        // What came of its calls is a line of its own.
        let said = lines::said(entry, &lines::Failures::new(), chars);
        format!("{} {name}: {said}\n", ContentId::for_text(&text).short())
    })
}

/// What a plan of a host's own takes out of a thread, cut into pieces of at most `passage_bytes` for
/// search. `tokens` are the thread's sizes in tokens; a list of originals quotes at most
/// `line_chars` of each.
pub fn evicted(
    thread: &Thread,
    tokens: &ThreadSizes<'_>,
    plan: &Plan,
    passage_bytes: usize,
    line_chars: usize,
) -> Eviction {
    let wanted = Wanted { originals: true, passage_bytes: Some(passage_bytes), line_chars };
    let leaving = EvictionCollector::new(thread, tokens, wanted);
    let left = leaving.gather(plan, Vec::new(), Vec::new(), &BTreeSet::new());
    Eviction { blobs: copied(left.texts, thread), ..left.departure }
}

/// Names the texts that a plan takes out of a thread, whose departure holds all but these. A list of
/// originals quotes at most `line_chars` of each.
pub fn leaving(
    thread: &Thread,
    tokens: &ThreadSizes<'_>,
    plan: &Plan,
    departure: &mut Eviction,
    line_chars: usize,
) -> Vec<LeavingText> {
    let wanted = Wanted { originals: true, passage_bytes: None, line_chars };
    let mut collector = EvictionCollector::new(thread, tokens, wanted);
    // Their sources are originals too.
    collector.left.departure.passages = mem::take(&mut departure.passages);
    let left = collector.gather(plan, Vec::new(), Vec::new(), &BTreeSet::new());
    departure.passages = left.departure.passages;
    left.texts
}

/// What is wanted of what leaves.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Whether its texts are.
    pub(crate) originals: bool,
    /// The largest piece cut here for search, in bytes; `None` where none are wanted.
    pub(crate) passage_bytes: Option<usize>,
    /// The most that a line of a list quotes, in characters.
    pub(crate) line_chars: usize,
}

/// Gathers what a plan takes out.
pub(crate) struct EvictionCollector<'a> {
    thread: &'a Thread,
    tokens: &'a ThreadSizes<'a>,
    wanted: Wanted,
    /// The originals of the parts that were shortened.
    shortened: BTreeMap<EntryId, Vec<ContentId>>,
    seen: BTreeSet<ContentId>,
    left: GatheredEviction,
}

/// What leaves. It is as large as the conversation, so that its texts are named and not copied.
#[derive(Default)]
pub(crate) struct GatheredEviction {
    /// All but the texts.
    pub(crate) departure: Eviction,
    pub(crate) texts: Vec<LeavingText>,
    pub(crate) offloaded: Vec<OffloadReport>,
}

impl<'a> EvictionCollector<'a> {
    pub(crate) fn new(thread: &'a Thread, tokens: &'a ThreadSizes<'a>, wanted: Wanted) -> Self {
        Self {
            thread,
            tokens,
            wanted,
            shortened: BTreeMap::new(),
            seen: BTreeSet::new(),
            left: GatheredEviction::default(),
        }
    }

    /// What a plan takes out. `told` are the pieces that the summariser already cut; entries it
    /// covers without pieces are cut here. `cuts` are what the plan's replacements were made from.
    pub(crate) fn gather(
        mut self,
        plan: &Plan,
        mut cuts: Vec<ShortenedPart>,
        told: Vec<Passage>,
        told_of: &BTreeSet<EntryId>,
    ) -> GatheredEviction {
        self.told(told);
        for op in &plan.ops {
            match op {
                Op::Summarize(checkpoint) => {
                    let covers = &checkpoint.covers;
                    let ends = covers.first().zip(covers.last());
                    let name = ends.map_or_else(String::new, |(a, b)| format!("{a}-{b}"));
                    covers.iter().for_each(|&id| self.entry(id, told_of));
                    self.list(checkpoint.id, name, covers);
                }
                Op::Drop { entries } => entries.iter().for_each(|&id| self.entry(id, told_of)),
                Op::Strip { parts } => self.strip(parts),
                Op::Replace { part, with, how } => {
                    let Some(entry) = self.thread.entry(part.entry) else { continue };
                    let Some(said) = entry.parts.get(part.part as usize) else { continue };
                    let text = said.original().unwrap_or_default();
                    let id = ContentId::for_text(text);
                    self.text(id, self.thread.name(entry), text, TextOrigin::Part(*part));
                    match cuts.iter_mut().find(|cut| cut.part == *part) {
                        // No search brings back what a mask stands for.
                        _ if *how == ReplaceMethod::Mask => {}
                        Some(cut) if !cut.left.is_empty() => {
                            self.told(Arc::unwrap_or_clone(mem::take(&mut cut.left)));
                        }
                        _ if matches!(said.body, PartBody::Call(_)) => {
                            long_texts(text).iter().for_each(|it| self.pieces(part.entry, it));
                        }
                        _ => self.pieces(part.entry, missing(text, with)),
                    }
                    if let Some(tool) = self.thread.tool_of(*part) {
                        self.offload(id, tool, self.tokens.part(*part));
                    }
                    self.shortened.entry(part.entry).or_default().push(id);
                }
                Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
            }
        }
        self.sources();
        self.left
    }

    fn told(&mut self, pieces: Vec<Passage>) {
        if self.wanted.passage_bytes.is_some() {
            self.left.departure.passages.extend(pieces);
        }
    }

    fn entry(&mut self, id: EntryId, told_of: &BTreeSet<EntryId>) {
        let Some(entry) = self.thread.entry(id) else { return };
        let text = entry.readable();
        let address = ContentId::for_text(&text);
        if !told_of.contains(&id) {
            self.pieces(id, &text);
        }
        for (at, outer) in (0..).zip(&entry.parts) {
            if matches!(outer.body, PartBody::Result(_)) {
                let size = |part| self.tokens.part(PartId { entry: id, part });
                let inner = (0..).zip(&entry.parts).filter(|(_, part)| part.within == Some(at));
                let tokens = size(at) + inner.map(|(part, _)| size(part)).sum::<u64>();
                let tool = self.thread.tool_of(PartId { entry: id, part: at });
                self.offload(address, tool.unwrap_or_default(), tokens);
            }
        }
        self.text(address, self.thread.name(entry), &text, TextOrigin::Entry(id));
    }

    /// What stands in the place of covered entries: the one entry itself, or a list of them.
    fn list(&mut self, id: ContentId, name: String, covers: &[EntryId]) {
        let alone = covers.first().filter(|_| covers.len() == 1);
        let said = alone.and_then(|id| self.thread.entry(*id)).map(Entry::readable);
        match (alone, said) {
            (Some(&entry), Some(text)) if !text.is_empty() => {
                self.text(id, name, &text, TextOrigin::Entry(entry));
            }
            _ => {
                let text = original_of(self.thread, covers, self.wanted.line_chars).into_owned();
                self.made(id, name, text);
            }
        }
    }

    /// Calls and results that leave messages which stay, of each message as one text.
    fn strip(&mut self, parts: &[PartId]) {
        for parts in parts.chunk_by(|one, next| one.entry == next.entry) {
            let Some(entry) = self.thread.entry(parts[0].entry) else { continue };
            let gone = parts.iter().flat_map(|&part| self.thread.with_inner(part));
            let gone = gone.filter_map(|part| self.thread.part(part).cloned()).collect();
            let Entry { id, role, bytes, .. } = *entry;
            let gone = Entry { id, role, parts: gone, bytes, at: None };
            let text = gone.readable();
            let address = ContentId::for_text(&text);
            self.pieces(entry.id, &text);
            for &part in parts {
                let tokens = self.thread.with_inner(part).map(|part| self.tokens.part(part)).sum();
                if let Some(tool) = self.thread.tool_of(part) {
                    self.offload(address, tool, tokens);
                }
            }
            let (name, text) = (self.thread.name(entry), text.into_owned());
            self.made(address, name, text);
            self.shortened.entry(entry.id).or_default().push(address);
        }
    }

    fn offload(&mut self, id: ContentId, tool: &str, tokens: u64) {
        self.left.offloaded.push(OffloadReport {
            id: id.to_string(),
            tool: tool.to_owned(),
            tokens,
        });
    }

    /// A text that stands nowhere as it is.
    fn made(&mut self, id: ContentId, source: String, text: String) {
        if self.wanted.originals && !text.is_empty() && self.seen.insert(id) {
            self.left.texts.push(LeavingText { id, source, from: TextOrigin::Made(text) });
        }
    }

    fn text(&mut self, id: ContentId, source: String, text: &str, from: TextOrigin) {
        if self.wanted.originals && !text.is_empty() && self.seen.insert(id) {
            self.left.texts.push(LeavingText { id, source, from });
        }
    }

    /// Cuts a text into pieces at line ends.
    fn pieces(&mut self, entry: EntryId, text: &str) {
        let Some(most) = self.wanted.passage_bytes else { return };
        let cut = split_passages(text, most).map(|text| Passage { entry, text });
        self.left.departure.passages.extend(cut);
    }

    /// Where the passages come from. An entry of which one part was shortened is kept as that
    /// part, for what else it says is still in the prompt.
    fn sources(&mut self) {
        let entries: BTreeSet<_> =
            self.left.departure.passages.iter().map(|one| one.entry).collect();
        for entry in entries.into_iter().filter_map(|id| self.thread.entry(id)) {
            let name = self.thread.name(entry);
            let address = match self.shortened.get(&entry.id).map(Vec::as_slice) {
                Some(&[part]) => part,
                _ => {
                    let text = entry.readable();
                    let address = ContentId::for_text(&text);
                    let from = TextOrigin::Entry(entry.id);
                    self.text(address, name.clone(), &text, from);
                    address
                }
            };
            self.left.departure.sources.push((entry.id, address, name));
        }
    }
}
