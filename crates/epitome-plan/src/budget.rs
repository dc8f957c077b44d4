//! The arithmetic of budgets: ratios, floors, gains.
//!
//! Invariant: pure functions of sizes; what they return is stated in the unit of the sizes.

use epitome_kernel::types::{Budget, BudgetUnit, Entry, EntryId, PartBody, PartId, Role};

use epitome_kernel::ThreadSizes;
use epitome_kernel::{PinReason, Thread};

/// What cannot shrink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFloor {
    /// Its size, envelope included.
    pub size: u64,
    /// The entries it is made of, largest first: what each is, and its size.
    pub items: Vec<(EntryId, String, u64)>,
}

impl PromptFloor {
    /// The same with something else that cannot shrink.
    pub(crate) fn and(mut self, id: EntryId, what: &str, size: u64) -> Self {
        self.size += size;
        let at = self.items.partition_point(|item| item.2 >= size);
        self.items.insert(at, (id, what.to_owned(), size));
        self
    }
}

/// The budget that `--ratio` stands for: what is pinned, and the `ratio`th part of the rest,
/// rounded up. Pinned are here the system messages, the last text that a person typed and the
/// envelope. `tokens` are the thread's sizes in tokens.
pub fn budget_for_ratio(thread: &Thread, tokens: &ThreadSizes<'_>, ratio: f64) -> Budget {
    let systems = thread.entries().iter().filter(|entry| entry.role == Role::System);
    let systems = tokens.sum(systems.map(|entry| entry.id));
    let typed = thread.typed().map_or(0, |id| typed_size(thread, tokens, id));
    let pinned = tokens.request(systems + typed);
    let rest = tokens.total().saturating_sub(pinned);
    Budget { unit: BudgetUnit::Tokens, most: pinned + (rest as f64 / ratio.max(1.0)).ceil() as u64 }
}

/// An entry without the tool results that share it with the person's text.
fn typed_size(thread: &Thread, sizes: &ThreadSizes<'_>, id: EntryId) -> u64 {
    let parts = thread.entry(id).map_or(&[][..], |entry| &entry.parts);
    let foreign = parts
        .iter()
        .zip(0..)
        .filter(|(part, _)| part.within.is_some() || matches!(part.body, PartBody::Result(_)));
    let foreign: u64 = foreign.map(|(_, part)| sizes.part(PartId { entry: id, part })).sum();
    sizes.entry(id).saturating_sub(foreign)
}

/// What cannot shrink: the envelope and the pinned entries. `least` is the size to which a part of
/// them that may be rewritten can be cut.
pub fn prompt_floor(
    thread: &Thread,
    sizes: &ThreadSizes<'_>,
    least: impl Fn(PartId) -> u64,
) -> PromptFloor {
    let mut items = Vec::new();
    for entry in thread.entries() {
        let Some(pin) = thread.pinned(entry.id) else { continue };
        let excess = rewritable(thread, entry.id)
            .map(|part| sizes.part(part).saturating_sub(least(part)))
            .sum();
        let size = sizes.entry(entry.id).saturating_sub(excess);
        items.push((entry.id, what(thread, entry, pin), size));
    }
    let size = sizes.request(items.iter().map(|item| item.2).sum());
    items.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
    PromptFloor { size, items }
}

/// The parts of an entry whose text may be replaced.
pub(crate) fn rewritable(thread: &Thread, entry: EntryId) -> impl Iterator<Item = PartId> {
    let parts = thread.entry(entry).map_or(0, |entry| entry.parts.len() as u32);
    (0..parts).map(move |part| PartId { entry, part }).filter(|&part| thread.frozen(part).is_none())
}

fn what(thread: &Thread, entry: &Entry, pin: PinReason) -> String {
    let name = thread.name(entry);
    let why = match pin {
        PinReason::System => "the system prompt",
        PinReason::Rule => "kept whole by `never` of the profile",
        PinReason::ByHand => "pinned by hand",
        PinReason::Unshown => "before what the provider compacted",
        PinReason::Compacted => "what the provider compacted",
        PinReason::Typed => "the last text that a person typed",
        PinReason::Note => "the last text in the user role",
        PinReason::File => return format!("{name}: the newest copy of {}", paths(thread, entry)),
        PinReason::State => "the newest note of the client on it",
        PinReason::Pending => "a tool call without its result",
        PinReason::Newest => "the newest message",
        PinReason::Partner => "in one exchange with a pinned message",
    };
    format!("{name}: {why}")
}

/// The files of which an entry holds the newest copies.
fn paths(thread: &Thread, entry: &Entry) -> String {
    let mut paths: Vec<_> = thread.files(entry.id).map(|(_, copy)| &*copy.path).collect();
    paths.dedup();
    paths.join(", ")
}

/// Whether a compression freed less than the stated share of what was there (RULES 8).
pub fn frees_too_little(before: u64, after: u64, minimum_gain: f64) -> bool {
    (before.saturating_sub(after) as f64) < before as f64 * minimum_gain
}
