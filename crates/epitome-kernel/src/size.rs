//! Sizes of texts, entries and conversations in the unit of a budget.
//!
//! Invariant: every text of a thread is counted once, when [`ThreadSizes`] is built; afterwards only
//! texts that are new are. A size never understates what will be sent; what no model is shown takes no
//! tokens (RULES 125).

use epitome_types::{BudgetUnit, Entry, EntryId, Part, PartBody, PartId, Role, TokenBreakdown};

use crate::compacted::{is_prompt, unshown};
use crate::port::{SizeGauge, TextMeasure};
use crate::strip::StrippedExchange;
use crate::thread::Thread;

/// What an inserted message takes beside its escaped text, at most: a content block of its own,
/// and its neighbour's text wrapped into one.
const FRAME_BYTES: u64 = 64;

impl TextMeasure for SizeGauge<'_> {
    fn size(&self, text: &str) -> u64 {
        match self.unit {
            BudgetUnit::Tokens => self.counter.count(text),
            BudgetUnit::Chars => text.chars().count() as u64,
            BudgetUnit::Bytes => escaped(text),
        }
    }
}

impl SizeGauge<'_> {
    /// What an inserted message takes beside its text.
    pub fn frame(&self) -> u64 {
        match self.unit {
            BudgetUnit::Tokens => self.counter.message(),
            BudgetUnit::Chars => 1,
            BudgetUnit::Bytes => FRAME_BYTES,
        }
    }

    /// The size of an inserted message with this text.
    pub fn message(&self, text: &str) -> u64 {
        self.frame() + self.size(text)
    }

    fn parts(&self, parts: &[&Part]) -> Vec<u64> {
        let mut texts = Vec::new();
        let mut owner = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let mut push = |text| {
                texts.push(text);
                owner.push(at);
            };
            match &part.body {
                PartBody::Text(text) | PartBody::Thinking(text) => push(text.as_str()),
                PartBody::Result(result) => push(&result.text),
                PartBody::Opaque(opaque) => push(&opaque.text),
                PartBody::Call(call) => {
                    if self.unit == BudgetUnit::Tokens {
                        push(&call.tool);
                    }
                    push(&call.arguments);
                }
                PartBody::Image(_) => {}
            }
        }
        let counts = match self.unit {
            BudgetUnit::Tokens => self.counter.count_all(&texts),
            BudgetUnit::Chars | BudgetUnit::Bytes => {
                texts.iter().map(|text| self.size(text)).collect()
            }
        };
        let mut sizes = vec![0; parts.len()];
        for (at, count) in owner.into_iter().zip(counts) {
            sizes[at] += count;
        }
        if self.unit == BudgetUnit::Tokens {
            for (size, part) in sizes.iter_mut().zip(parts) {
                match &part.body {
                    PartBody::Image(image) => *size = self.counter.image(image),
                    PartBody::Opaque(block) if block.pages > 0 => {
                        *size += self.counter.page() * u64::from(block.pages);
                    }
                    _ => {}
                }
            }
        }
        sizes
    }

    /// An entry with its share of the separators between messages.
    fn entry(&self, entry: &Entry, parts: &[u64]) -> u64 {
        let sum: u64 = parts.iter().sum();
        match self.unit {
            BudgetUnit::Tokens => self.counter.message() + sum,
            BudgetUnit::Chars => sum + (parts.len() as u64).max(1),
            BudgetUnit::Bytes => u64::from(entry.bytes) + 1,
        }
    }
}

/// The sizes of all parts and entries of one thread, in one unit.
#[derive(Clone, Debug)]
pub struct ThreadSizes<'g> {
    gauge: SizeGauge<'g>,
    envelope: u64,
    parts: Vec<u64>,
    starts: Vec<usize>,
    entries: Vec<u64>,
}

impl<'g> ThreadSizes<'g> {
    /// Measures a conversation. `envelope` is what the request takes beside its messages, in the
    /// gauge's unit: tool schemas, the JSON around the messages.
    pub fn measure(entries: &[Entry], gauge: SizeGauge<'g>, envelope: u64) -> Self {
        let all: Vec<_> = entries.iter().flat_map(|entry| &entry.parts).collect();
        let mut parts = gauge.parts(&all);
        let mut starts = Vec::with_capacity(entries.len());
        let mut sizes = Vec::with_capacity(entries.len());
        let mut start = 0;
        let unshown = match gauge.unit {
            BudgetUnit::Tokens => unshown(entries),
            BudgetUnit::Chars | BudgetUnit::Bytes => 0..0,
        };
        for (place, entry) in entries.iter().enumerate() {
            let end = start + entry.parts.len();
            starts.push(start);
            if unshown.contains(&place) && !is_prompt(entry) {
                parts[start..end].fill(0);
                sizes.push(0);
            } else {
                sizes.push(gauge.entry(entry, &parts[start..end]));
            }
            start = end;
        }
        Self { gauge, envelope, parts, starts, entries: sizes }
    }

    /// The gauge they were measured with.
    pub fn gauge(&self) -> &SizeGauge<'g> {
        &self.gauge
    }

    /// What the request takes beside its messages.
    pub fn envelope(&self) -> u64 {
        self.envelope
    }

    /// The size of a part of the thread.
    pub fn part(&self, id: PartId) -> u64 {
        self.parts[self.starts[id.entry.index()] + id.part as usize]
    }

    /// The size of a part of the thread with another text in the place of its own. Some formats
    /// write arguments as they are and some escaped: in bytes the larger of both counts.
    pub fn rewritten(&self, thread: &Thread, id: PartId, text: &str) -> u64 {
        let size = self.gauge.size(text);
        match (thread.part(id).map(|part| &part.body), self.gauge.unit) {
            (Some(PartBody::Call(call)), BudgetUnit::Tokens) => size + self.gauge.size(&call.tool),
            (Some(PartBody::Call(call)), BudgetUnit::Bytes) => {
                let bare = self.part(id) + text.len() as u64;
                size.max(bare.saturating_sub(call.arguments.len() as u64))
            }
            _ => size,
        }
    }

    /// What an entry of the thread is smaller without a part, separator included; what the format
    /// puts around a part is not known and not counted.
    pub fn share(&self, id: PartId) -> u64 {
        let separator = match self.gauge.unit {
            BudgetUnit::Chars => 1,
            BudgetUnit::Tokens | BudgetUnit::Bytes => 0,
        };
        self.part(id) + separator
    }

    /// The size of an entry of the thread, with its share of the separators.
    pub fn entry(&self, id: EntryId) -> u64 {
        self.entries[id.index()]
    }

    /// The size of entries taken together, without the envelope.
    pub fn sum(&self, ids: impl IntoIterator<Item = EntryId>) -> u64 {
        ids.into_iter().map(|id| self.entry(id)).sum()
    }

    /// The same sizes where these parts, entries and pieces of texts have left.
    #[must_use]
    pub fn without(mut self, gone: &StrippedExchange) -> Self {
        for &part in &gone.parts {
            let share = self.share(part);
            let entry = &mut self.entries[part.entry.index()];
            *entry = entry.saturating_sub(share);
            self.parts[self.starts[part.entry.index()] + part.part as usize] = 0;
        }
        for text in &gone.texts {
            let (id, size) = (text.part, self.gauge.size(&text.with));
            let less = self.part(id).saturating_sub(size);
            self.parts[self.starts[id.entry.index()] + id.part as usize] -= less;
            self.entries[id.entry.index()] = self.entry(id.entry).saturating_sub(less);
        }
        gone.entries.iter().for_each(|id| self.entries[id.index()] = 0);
        self
    }

    /// The size of a request whose messages add up to `messages`.
    pub fn request(&self, messages: u64) -> u64 {
        let last_separator = match self.gauge.unit {
            BudgetUnit::Tokens => 0,
            BudgetUnit::Chars | BudgetUnit::Bytes => 1,
        };
        self.envelope + messages.saturating_sub(last_separator)
    }

    /// The size of the whole request.
    pub fn total(&self) -> u64 {
        self.request(self.entries.iter().sum())
    }

    /// Adds an entry to a breakdown. Meaningful in tokens, where the parts add up to the entry.
    pub fn add_to(&self, by: &mut TokenBreakdown, entry: &Entry) {
        let mut rest = self.entry(entry.id);
        for (at, part) in entry.parts.iter().enumerate() {
            let size = self.part(PartId { entry: entry.id, part: at as u32 });
            *category(by, entry, Some(part)) += size;
            rest = rest.saturating_sub(size);
        }
        *category(by, entry, None) += rest;
    }
}

/// Where a part counts, or (`None`) what the protocol adds to its message.
pub(crate) fn category<'b>(
    by: &'b mut TokenBreakdown,
    entry: &Entry,
    part: Option<&Part>,
) -> &'b mut u64 {
    match (entry.role, part.map(|part| (&part.body, part.within))) {
        (Role::System, _) => &mut by.system,
        (_, Some((PartBody::Image(_), _))) => &mut by.images,
        (_, Some((PartBody::Call(_), _))) => &mut by.tool_calls,
        (_, Some((PartBody::Result(_), _) | (_, Some(_)))) => &mut by.tool_results,
        (_, Some((PartBody::Opaque(opaque), _))) if opaque.answers.is_some() => {
            &mut by.tool_results
        }
        (_, Some((PartBody::Opaque(opaque), _))) if opaque.calls.is_some() => &mut by.tool_calls,
        (Role::Assistant, _) => &mut by.assistant,
        (Role::Tool, _) => &mut by.tool_results,
        (Role::User, None) if entry.results().next().is_some() => &mut by.tool_results,
        (Role::User, _) => &mut by.user,
    }
}

/// The length of a text as the inside of a JSON string, in its shortest encoding.
fn escaped(text: &str) -> u64 {
    let extra: u64 = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum();
    text.len() as u64 + extra
}
