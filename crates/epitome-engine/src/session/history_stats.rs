//! The figures of a history that add up: what is known of its beginning and of its end together say
//! what is known of all of it.
//!
//! Invariant: adding the figures of an end that is separate gives the figures of the whole. Made by
//! the turn of a whole request or of what is new, and remembered.

use std::collections::BTreeSet;

use epitome_config::RedactionPatterns;
use epitome_kernel::{PinReason, SystemBlock, Thread, View, identity};
use epitome_types::{Entry, EntryId, Role, TokenBreakdown};

use super::history_tail::HistoryTail;
use super::known_history::KnownHistory;
use crate::facts::intent;
use epitome_admin::records::title;

/// The figures of some messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HistoryStats {
    /// Tokens by category: as they came, and as they are sent.
    by: [TokenBreakdown; 2],
    /// The same in all.
    size: [u64; 2],
    pins: Pins,
    /// The last entry in which a person typed something.
    pub(crate) typed: Option<usize>,
    /// In how many entries one did.
    pub(crate) turns: u32,
    /// The beginning of the first text that a person typed.
    pub(crate) title: Option<String>,
    /// How much of the system prompt there is at their end.
    pub(crate) block: SystemBlock,
}

/// Tokens of the exchanges that cannot shrink, each counted once, by what keeps it so.
#[derive(Clone, Debug, Default, PartialEq)]
struct Pins {
    /// System prompts, what stands for compacted messages, copies of files.
    fixed: u64,
    /// What was pinned by hand.
    by_hand: u64,
    /// Calls without a result, and whether there are any.
    pending: u64,
    open: bool,
    /// What else is kept, until something newer is said.
    latest: Vec<Latest>,
    /// What the notes of clients are about that take the place of others.
    stated: BTreeSet<String>,
}

/// An exchange that is kept as the newest of its kind.
#[derive(Clone, Debug, Default, PartialEq)]
struct Latest {
    tokens: u64,
    /// The last text that a person typed.
    typed: bool,
    /// The last text in the user role behind that.
    note: bool,
    /// The newest message, where there is neither.
    newest: bool,
    /// The newest notes of clients, by what they are about.
    stated: BTreeSet<String>,
}

impl HistoryStats {
    /// The figures of entries. `view` says how they are sent, where that is not as they are.
    pub(crate) fn of(
        tail: &HistoryTail<'_>,
        view: Option<&View<'_>>,
        known: &KnownHistory,
        redaction: &RedactionPatterns,
    ) -> Self {
        let HistoryTail { thread, tokens, .. } = tail;
        let plain = identity(thread);
        // What is sent otherwise than it came are results; with what comes back they may be larger.
        let [before, after] = tail.arrived(known);
        let as_it_came = |size: u64| (size + before).saturating_sub(after);
        let mut came = plain.breakdown(tokens);
        came.tool_results = as_it_came(came.tool_results);
        let view = view.unwrap_or(&plain);
        let without_tools = |by: TokenBreakdown| TokenBreakdown { tools: 0, ..by };
        let messages = |size: u64| size.saturating_sub(tokens.envelope());
        let typed = || thread.entries().iter().filter(|entry| intent(entry).is_some());
        Self {
            by: [came, view.breakdown(tokens)].map(without_tools),
            size: [as_it_came(messages(tokens.total())), messages(view.size(tokens))],
            pins: Pins::of(thread, |entry| tokens.entry(entry.id)),
            turns: typed().count() as u32,
            typed: typed().next_back().map(|entry| tail.place(entry.id).index()),
            title: title(&tail.came, redaction),
            block: thread.block(),
        }
    }

    /// The figures of these messages and of those that follow them, which were read as that.
    pub(crate) fn then(self, end: Self) -> Self {
        let [came, sent] = self.by;
        let [more_came, more_sent] = end.by;
        Self {
            by: [sum(came, more_came), sum(sent, more_sent)],
            size: [self.size[0] + end.size[0], self.size[1] + end.size[1]],
            pins: self.pins.then(end.pins),
            typed: end.typed.or(self.typed),
            turns: self.turns + end.turns,
            title: self.title.or(end.title),
            block: end.block,
        }
    }

    /// Tokens by category, with those of the tools: as the request came, and as it is sent.
    pub(crate) fn by(&self, tools: u64) -> [TokenBreakdown; 2] {
        self.by.map(|by| TokenBreakdown { tools, ..by })
    }

    /// Tokens of the request, with those of the tools: as it came, and as it is sent.
    pub(crate) fn size(&self, tools: u64) -> [u64; 2] {
        self.size.map(|size| size + tools)
    }

    /// What cannot shrink, in tokens, with those of the tools.
    pub(crate) fn floor(&self, tools: u64) -> u64 {
        let Pins { fixed, by_hand, pending, latest, .. } = &self.pins;
        tools + fixed + by_hand + pending + latest.iter().map(|one| one.tokens).sum::<u64>()
    }

    /// What was pinned by hand, in tokens.
    pub(crate) fn pinned(&self) -> u64 {
        self.pins.by_hand
    }

    /// Whether something waits for what comes next.
    pub(crate) fn is_open(&self) -> bool {
        self.pins.open
    }
}

impl Pins {
    fn of(thread: &Thread, size: impl Fn(&Entry) -> u64) -> Self {
        let [typed, note] = [thread.typed(), thread.note()];
        let newest = thread.entries().iter().rfind(|entry| entry.role != Role::System);
        let newest = newest.map(|entry| entry.id).filter(|_| typed.is_none() && note.is_none());
        let stated = thread.subjects().map(str::to_owned).collect();
        let mut pins = Self { stated, ..Self::default() };
        for exchange in thread.exchanges() {
            let entries = &thread.entries()[exchange.entries.clone()];
            let has = |pin| entries.iter().any(|entry| thread.pinned(entry.id) == Some(pin));
            let holds =
                |id: Option<EntryId>| id.is_some_and(|id| exchange.entries.contains(&id.index()));
            let mut tokens = entries.iter().map(&size).sum::<u64>();
            // One that is kept for more than one reason counts once, for the reason that lasts.
            let mut count = || std::mem::take(&mut tokens);
            // A copy of a file counts until a newer one comes, and then all is read.
            let holds_file = entries.iter().any(|entry| thread.files(entry.id).next().is_some());
            let lasts =
                [PinReason::System, PinReason::Compacted, PinReason::Unshown, PinReason::Rule];
            if lasts.into_iter().any(has) || holds_file {
                pins.fixed += count();
            }
            if has(PinReason::ByHand) {
                pins.by_hand += count();
            }
            if has(PinReason::Pending) {
                pins.pending += count();
                pins.open = true;
            }
            let latest = Latest {
                tokens: count(),
                typed: holds(typed),
                note: holds(note),
                newest: holds(newest),
                stated: thread.stated(exchange).map(str::to_owned).collect(),
            };
            pins.latest.extend(latest.stays());
        }
        pins
    }

    fn then(mut self, end: Self) -> Self {
        let has = |kind: fn(&Latest) -> bool| end.latest.iter().any(kind);
        let (typed, note) = (has(|it| it.typed), has(|it| it.note));
        let newest = has(|it| it.newest);
        for one in &mut self.latest {
            one.typed &= !typed;
            one.note &= !typed && !note;
            one.newest &= !typed && !note && !newest;
            one.stated.retain(|subject| !end.stated.contains(subject));
        }
        let said = self.latest.iter().any(|one| one.typed || one.note);
        let latest =
            end.latest.into_iter().map(|one| Latest { newest: one.newest && !said, ..one });
        let latest = self.latest.into_iter().chain(latest).filter_map(Latest::stays).collect();
        self.stated.extend(end.stated);
        Self {
            fixed: self.fixed + end.fixed,
            by_hand: self.by_hand + end.by_hand,
            pending: self.pending + end.pending,
            open: self.open || end.open,
            latest,
            stated: self.stated,
        }
    }
}

impl Latest {
    /// The same, where something keeps it.
    fn stays(self) -> Option<Self> {
        let stays = self.typed || self.note || self.newest || !self.stated.is_empty();
        stays.then_some(self)
    }
}

fn sum(one: TokenBreakdown, other: TokenBreakdown) -> TokenBreakdown {
    TokenBreakdown {
        system: one.system + other.system,
        tools: one.tools + other.tools,
        user: one.user + other.user,
        assistant: one.assistant + other.assistant,
        tool_calls: one.tool_calls + other.tool_calls,
        tool_results: one.tool_results + other.tool_results,
        images: one.images + other.images,
        checkpoints: one.checkpoints + other.checkpoints,
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::{Before, SizeGauge, ThreadSizes};
    use epitome_plan::prompt_floor;
    use epitome_testkit::{Chat, FixedCounter, chat, conversation};
    use epitome_types::BudgetUnit;
    use proptest::prelude::*;

    use epitome_config::profile::ProfileRules;

    use super::super::history_tail::RecordedHistory;
    use super::*;

    /// The figures of the beginning of a conversation and of its end together, and those of all of
    /// it, where the end can be looked at by itself.
    fn both(entries: &[Entry], at: usize) -> Option<[HistoryStats; 2]> {
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let state = KnownHistory::default();
        let of = |entries: &[Entry], before| {
            let redaction = &RedactionPatterns::default();
            let rules = &ProfileRules::default();
            let recorded = RecordedHistory { known: &state, redaction, rules };
            let tail = HistoryTail::of(entries, before, recorded, gauge, 7);
            let tally = HistoryStats::of(&tail, None, &state, &RedactionPatterns::default());
            let floor =
                prompt_floor(&tail.thread, &tail.tokens, |part| tail.tokens.part(part)).size;
            assert_eq!(tally.floor(7), floor);
            assert_eq!(tally.size(7), [tail.tokens.total(); 2]);
            let breakdown = ThreadSizes::measure(tail.thread.entries(), gauge, 7);
            assert_eq!(tally.by(7)[1], identity(&tail.thread).breakdown(&breakdown));
            (tally, tail.thread.exchanges().iter().all(|exchange| !exchange.broken))
        };
        let (whole, sound) = of(entries, Before::default());
        let (start, _) = of(&entries[..at], Before::default());
        let (end, separate) = of(&entries[at..], Before { entries: at, block: start.block });
        let adds = sound && separate && !start.is_open();
        adds.then(|| [start.then(end), whole])
    }

    proptest! {
        // Most conversations cannot be parted at most places.
        #![proptest_config(ProptestConfig { max_global_rejects: 1 << 16, ..<_>::default() })]

        #[test]
        fn figures_add_up(entries in conversation(24), at in any::<prop::sample::Index>()) {
            let ids = entries.iter().zip(0..).all(|(entry, at)| entry.id == EntryId(at));
            prop_assert!(ids);
            let found = both(&entries, at.index(entries.len() + 1));
            prop_assume!(found.is_some());
            let [added, whole] = found.unwrap();
            prop_assert_eq!(added, whole);
        }
    }

    #[track_caller]
    fn check(talk: Chat) {
        let entries = talk.entries();
        for at in 0..=entries.len() {
            let [added, whole] = both(&entries, at).unwrap();
            assert_eq!(added, whole, "{at}");
        }
    }

    #[test]
    fn the_first_block_of_the_system_may_stand_in_the_end() {
        // Nobody said anything in the role of the system before: that is no note yet.
        let talk = chat().user("look").and_states("s0", "parser").assistant("so");
        let talk = talk.states(Role::System, "s0", "fails in tests").user("go on");
        check(talk.states(Role::System, "s0", "fixed").assistant("done"));
        // The end goes on with the block that the beginning ends with.
        let talk = chat().system("be brief").states(Role::System, "s1", "the tests");
        check(talk.user("look").states(Role::System, "s1", "of the parser").assistant("so"));
    }
}
