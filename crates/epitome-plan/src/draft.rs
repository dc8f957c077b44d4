//! The shape of a plan before its summary is written: what stays, what is cut, what is covered.
//!
//! Invariant: what a draft keeps, with its cuts and stubs, fits the budget; `left` is what remains
//! of it. Called by the ladder, once per rung.

use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::types::{
    Checkpoint, CheckpointLevel, CheckpointPlacement, ContentId, EntryId, PartBody, PartId, Role,
};

use crate::budget::rewritable;
use crate::constraints::{StatementRoom, WorkStatement};
use crate::cut::{ShortenedPart, close};
use crate::files;
use crate::ground::{PlanGround, ids};
use crate::kept::UnsentTexts;
use crate::lines;
use crate::pressure::Pressure;
use crate::wording::address;

/// So great a part of JSON is quotes, braces and commas, which rows do without.
const QUOTING: u64 = 4;

/// A plan without its summary.
#[derive(Clone, Debug)]
pub(crate) struct PlanDraft {
    pub(crate) cuts: Vec<ShortenedPart>,
    pub(crate) stubs: Vec<Checkpoint>,
    /// What leaves, oldest first.
    pub(crate) covers: Vec<EntryId>,
    /// The address of what they said.
    pub(crate) id: ContentId,
    /// What remains of the budget for a checkpoint's whole message.
    pub(crate) left: u64,
    /// The state of the work.
    pub(crate) state: WorkStatement,
}

impl PlanDraft {
    /// What leaves the prompt, with or without a stub in its place.
    fn leaving(&self) -> BTreeSet<EntryId> {
        let stubbed = self.stubs.iter().flat_map(|stub| &stub.covers);
        self.covers.iter().chain(stubbed).copied().collect()
    }
}

impl PlanGround<'_> {
    /// Drafts a plan; `None` where not even the floor fits, or what was demanded beside it.
    /// `outdated` says of each exchange whether all it says is said anew by a newer one.
    pub(crate) fn draft(&self, outdated: &[bool], pressure: Pressure) -> Option<PlanDraft> {
        let lead = self.lead().filter(|_| !pressure.checkpoint).map_or(0, |(_, size)| size);
        let mut drafting = Drafting::of_pinned(*self, lead)?;
        drafting.take_tail(outdated, pressure);
        // Where what is older fits as it is, nothing needs to leave but what is cut from the rest.
        let older = drafting.older();
        if older > 0 && older <= drafting.room() {
            drafting.relax(drafting.room() - older);
            drafting.keep_older();
        }
        if !pressure.checkpoint {
            drafting.lead_with_user();
        }
        let draft = drafting.finish(pressure.checkpoint)?;
        self.stating().allows(&draft.state, self.budget.most).then_some(draft)
    }
}

/// One exchange, as a draft keeps it. There may be as many as messages, and few have a stub.
struct DraftExchange {
    cuts: Vec<ShortenedPart>,
    size: u64,
    stub: Option<Box<Checkpoint>>,
}

impl DraftExchange {
    /// Whether little of a text is left: it has no room for a digest.
    fn is_poor(&self) -> bool {
        self.stub.is_some() || self.cuts.iter().any(|cut| !cut.digest)
    }
}

struct Drafting<'a> {
    ground: PlanGround<'a>,
    /// By exchange.
    kept: Vec<Option<DraftExchange>>,
    /// By exchange.
    pinned: Vec<bool>,
    used: u64,
    /// What of that is held free for what was demanded and what the profile keeps.
    reserve: StatementRoom,
    /// What of it is held free for the first message.
    lead: u64,
    /// Whether a label leads: no message of the user's side is kept that could.
    labelled: bool,
}

impl<'a> Drafting<'a> {
    /// Keeps what is pinned, with its results cut where it would not fit otherwise.
    fn of_pinned(ground: PlanGround<'a>, lead: u64) -> Option<Self> {
        let thread = ground.thread;
        let exchanges = thread.exchanges();
        let pinned: Vec<_> = exchanges
            .iter()
            .map(|exchange| ids(exchange).any(|id| thread.pinned(id).is_some()))
            .collect();
        let held = || exchanges.iter().zip(&pinned).filter(|(_, pinned)| **pinned);
        let whole: u64 = held().map(|(exchange, _)| ground.sizes.sum(ids(exchange))).sum();
        let reserve = ground.stating().room(ground.budget.most, || ground.floor().size);
        let used = ground.stating().rest() + reserve.total() + lead;
        let over = ground.sizes.request(whole + used).saturating_sub(ground.budget.most);
        let mut cuts = Vec::new();
        if over > 0 {
            let parts: Vec<_> = held()
                .flat_map(|(exchange, _)| ids(exchange))
                .flat_map(|id| rewritable(thread, id))
                .collect();
            let parts_size: u64 = parts.iter().map(|&part| ground.sizes.part(part)).sum();
            cuts = ground.cutter().fit(&parts, parts_size.checked_sub(over)?)?;
        }
        let kept = exchanges.iter().map(|_| None).collect();
        let labelled = false;
        let mut drafting = Self { ground, kept, pinned, used, reserve, lead, labelled };
        for at in 0..drafting.kept.len() {
            if drafting.pinned[at] {
                let kept = drafting.with_cuts(at, &cuts);
                drafting.put(at, kept);
            }
        }
        Some(drafting)
    }

    fn put(&mut self, at: usize, kept: DraftExchange) {
        self.used += kept.size;
        self.kept[at] = Some(kept);
    }

    fn whole(&self, at: usize) -> u64 {
        self.ground.sizes.sum(ids(&self.ground.thread.exchanges()[at]))
    }

    /// How large the recent part is wished to be.
    fn want(&self, share: Option<f64>) -> u64 {
        let room = self.room();
        share.map_or(room, |share| ((room as f64 * share).ceil() as u64).min(room))
    }

    /// Walks back from the newest exchange until the recent part is as large as wished.
    fn take_tail(&mut self, outdated: &[bool], pressure: Pressure) {
        let options = self.ground.options;
        let wish = options.keep_recent_messages.filter(|_| pressure.checkpoint);
        let wish = wish.map(|count| (count as f64 * pressure.tail) as usize);
        let by_share = pressure.checkpoint && wish.is_none();
        let want = self.want(by_share.then_some(options.keep_recent_share * pressure.tail));
        let slack = if by_share { want as f64 * options.keep_recent_slack } else { 0.0 } as u64;
        // An exchange that cannot be cut small enough may take up to half of the summary's room.
        let mut most = want + (self.room() - want) / 2;
        let (mut reached, mut messages, mut newest) = (0, 0, true);
        let results = self.newest_results();
        for at in (0..self.kept.len()).rev() {
            let exchange = &self.ground.thread.exchanges()[at];
            if self.pinned[at] {
                messages += exchange.entries.len();
                reached += if by_share { self.said(at) } else { 0 };
                continue;
            }
            if exchange.broken || outdated[at] || self.has_left(at) {
                continue;
            }
            let mut left = want.saturating_sub(reached);
            let is_results = results == Some(at);
            // To keep more of results that have to be cut takes more from the summary than it tells.
            let told = self.told(at);
            if is_results && told <= self.want(Some(options.newest_results_share)) {
                left = left.max(told);
                most = most.max(left);
            }
            let enough = close(reached, want) && self.whole(at) > left;
            if enough || wish.is_some_and(|wish| messages >= wish) {
                break;
            }
            let Some(kept) = self.fitted(at, left, slack, most) else { break };
            let says_little = kept.is_poor() && !is_results;
            if says_little && (left <= slack || self.is_eaten_by_markers(at, want)) {
                break;
            }
            // The recent part does not reach further back for what the ladder presses out of it.
            reached += kept.size;
            most -= kept.size;
            messages += exchange.entries.len();
            let kept = if newest { kept } else { self.pressed(at, kept, pressure) };
            // A merged checkpoint tells of it, in less room than a line of its own takes.
            if newest || kept.stub.is_none() || !pressure.merges() {
                self.put(at, kept);
            }
            newest = false;
        }
    }

    /// What an exchange takes with all that it says, where JSON is told as rows.
    fn told(&self, at: usize) -> u64 {
        let PlanGround { thread, sizes, .. } = self.ground;
        let is_json = |part: &PartId| {
            let text = thread.part(*part).and_then(|part| part.text()).unwrap_or_default();
            text.trim_start().starts_with(['{', '['])
        };
        let json = self.parts(at).into_iter().filter(is_json).map(|part| sizes.part(part));
        self.whole(at).saturating_sub(json.sum::<u64>() / QUOTING)
    }

    /// The exchange with the newest results, where they came behind what a person typed last.
    fn newest_results(&self) -> Option<usize> {
        let thread = self.ground.thread;
        let exchanges = thread.exchanges();
        let has_results = |at: &usize| {
            let entries = &thread.entries()[exchanges[*at].entries.clone()];
            entries.iter().any(|entry| entry.calls().next().is_some())
        };
        let newest = (0..exchanges.len()).rev().find(has_results)?;
        let first = EntryId(exchanges[newest].entries.start as u32);
        (Some(first) > thread.typed()).then_some(newest)
    }

    /// Whether so small a recent part would hold little beside the markers of its cuts.
    fn is_eaten_by_markers(&self, at: usize, want: u64) -> bool {
        let cutter = self.ground.cutter();
        let markers: u64 = self.parts(at).iter().map(|&part| cutter.least(part)).sum();
        want < 3 * markers
    }

    /// What a pinned exchange adds to the recent part: a system prompt is none of it.
    fn said(&self, at: usize) -> u64 {
        let first = self.ground.thread.exchanges()[at].entries.start;
        let system = self.ground.thread.entries()[first].role == Role::System;
        self.kept[at].as_ref().filter(|_| !system).map_or(0, |kept| kept.size)
    }

    /// The exchanges that nothing is decided about, but for broken ones: those leave.
    fn undecided(&self) -> impl Iterator<Item = usize> {
        let exchanges = self.ground.thread.exchanges();
        let open = |at: &usize| self.kept[*at].is_none() && !exchanges[*at].broken;
        (0..exchanges.len()).filter(move |at| open(at) && !self.has_left(*at))
    }

    fn has_left(&self, at: usize) -> bool {
        self.ground.has_left(&self.ground.thread.exchanges()[at])
    }

    fn older(&self) -> u64 {
        self.undecided().map(|at| self.whole(at)).sum()
    }

    /// Cuts the recent part anew, so that it takes up to `spare` more.
    fn relax(&mut self, spare: u64) {
        let recent: Vec<_> = (0..self.kept.len())
            .filter(|&at| !self.pinned[at])
            .filter(|&at| self.kept[at].as_ref().is_some_and(|kept| kept.stub.is_none()))
            .collect();
        let size = |kept: &Option<DraftExchange>| kept.as_ref().map_or(0, |kept| kept.size);
        let now: u64 = recent.iter().map(|&at| size(&self.kept[at])).sum();
        let cut: u64 = recent.iter().map(|&at| self.whole(at)).sum::<u64>() - now;
        let parts: Vec<_> = recent.iter().flat_map(|&at| self.parts(at)).collect();
        let parts_size: u64 = parts.iter().map(|&part| self.ground.sizes.part(part)).sum();
        let room = (parts_size + spare).saturating_sub(cut);
        if let Some(cuts) = self.ground.cutter().fit(&parts, room) {
            self.used -= now;
            recent.iter().for_each(|&at| self.put(at, self.with_digests(at, &cuts)));
        }
    }

    fn keep_older(&mut self) {
        for at in self.undecided().collect::<Vec<_>>() {
            if self.whole(at) <= self.room() {
                self.put(at, self.with_cuts(at, &[]));
            }
        }
    }

    fn room(&self) -> u64 {
        self.ground.budget.most.saturating_sub(self.ground.sizes.request(self.used))
    }

    /// An exchange in about `want` and never more than `most`: whole, also where that is larger by
    /// `slack`, shortened, or as a stub.
    fn fitted(&self, at: usize, want: u64, slack: u64, most: u64) -> Option<DraftExchange> {
        let (whole, parts, cutter) = (self.whole(at), self.parts(at), self.ground.cutter());
        // A cut that saves less than its marker takes is not worth its loss.
        let marker = parts.iter().map(|&part| cutter.least(part)).max().unwrap_or(0);
        if whole <= most.min(want.saturating_add(marker.max(slack))) {
            return Some(self.with_cuts(at, &[]));
        }
        let fixed = whole - parts.iter().map(|&part| self.ground.sizes.part(part)).sum::<u64>();
        let least = fixed + parts.iter().map(|&part| cutter.least(part)).sum::<u64>();
        // The markers are no part of what was really said.
        let room = want.saturating_add(marker).max(least).min(most).checked_sub(fixed);
        match room.and_then(|room| cutter.fit(&parts, room)) {
            Some(cuts) => Some(self.with_digests(at, &cuts)),
            None => self.stub(at).filter(|stub| stub.size <= most),
        }
    }

    /// An exchange as the ladder leaves it.
    fn pressed(&self, at: usize, kept: DraftExchange, pressure: Pressure) -> DraftExchange {
        if kept.stub.is_some() {
            return kept;
        }
        if pressure.stubs
            && let Some(stub) = self.stub(at).filter(|stub| stub.size < kept.size)
        {
            return stub;
        }
        let cutter = self.ground.cutter();
        let mut cuts: BTreeMap<_, _> =
            kept.cuts.iter().map(|cut| (cut.part, cut.clone())).collect();
        for part in self.parts(at).into_iter().filter(|&part| self.is_squeezed(part, pressure)) {
            cuts.extend(cutter.cut(part, 2 * cutter.least(part)).map(|cut| (part, cut)));
        }
        if pressure.inputs {
            let inputs = self.inputs(at).filter_map(|part| cutter.input(part));
            cuts.extend(inputs.map(|cut| (cut.part, cut)));
        }
        let pressed = self.with_cuts(at, &cuts.into_values().collect::<Vec<_>>());
        if pressed.size < kept.size { pressed } else { kept }
    }

    fn parts(&self, at: usize) -> Vec<PartId> {
        let thread = self.ground.thread;
        ids(&thread.exchanges()[at]).flat_map(|id| rewritable(thread, id)).collect()
    }

    /// The calls of an exchange of which all that they wrote is on disk.
    fn inputs(&self, at: usize) -> impl Iterator<Item = PartId> {
        let PlanGround { thread, options, .. } = self.ground;
        let entries = &thread.exchanges()[at].entries;
        let inputs = options.inputs.iter().copied();
        inputs
            .filter(|part| entries.contains(&part.entry.index()))
            .filter(|&part| thread.frozen_input(part).is_none())
    }

    /// An exchange with those of the cuts that are its own.
    fn with_cuts(&self, at: usize, cuts: &[ShortenedPart]) -> DraftExchange {
        let entries = &self.ground.thread.exchanges()[at].entries;
        let own = |cut: &&ShortenedPart| entries.contains(&cut.part.entry.index());
        let cuts: Vec<_> = cuts.iter().filter(own).cloned().collect();
        let size = |cut: &ShortenedPart| self.ground.sizes.part(cut.part).saturating_sub(cut.size);
        let saved: u64 = cuts.iter().map(size).sum();
        DraftExchange { cuts, size: self.whole(at).saturating_sub(saved), stub: None }
    }

    /// The same with digests wished for, where there is room for good ones.
    fn with_digests(&self, at: usize, cuts: &[ShortenedPart]) -> DraftExchange {
        let mut kept = self.with_cuts(at, cuts);
        let cutter = self.ground.cutter();
        let digest = kept.cuts.iter().all(|cut| cutter.holds_digest(cut));
        kept.cuts.iter_mut().for_each(|cut| cut.digest = digest);
        kept
    }

    fn is_squeezed(&self, part: PartId, pressure: Pressure) -> bool {
        let Some(entry) = self.ground.thread.entry(part.entry) else { return false };
        let part = &entry.parts[part.part as usize];
        let result = part.within.is_some() || matches!(part.body, PartBody::Result(_));
        if result { pressure.results } else { pressure.fold_user && entry.role == Role::User }
    }

    /// A tool exchange as one line, where that is smaller.
    fn stub(&self, at: usize) -> Option<DraftExchange> {
        let exchange = &self.ground.thread.exchanges()[at];
        let entries = &self.ground.thread.entries()[exchange.entries.clone()];
        entries.iter().find(|entry| entry.calls().next().is_some())?;
        let covers: Vec<_> = ids(exchange).collect();
        let id = self.address(&covers);
        let text = lines::stub(
            entries,
            &self.ground.options.texts,
            self.ground.tokens.sum(covers.iter().copied()),
            &id.short(),
        );
        let size = self.ground.sizes.gauge().message(&text);
        let stub = Checkpoint {
            id,
            covers,
            text,
            level: CheckpointLevel::Merged,
            stand: CheckpointPlacement::default(),
            model: None,
        };
        let smaller = size < self.whole(at);
        smaller.then(|| DraftExchange { cuts: Vec::new(), size, stub: Some(stub.into()) })
    }

    /// Gives up the oldest messages of the recent part until one of the user's side leads, and has
    /// one, or else a label, lead a pinned message of the assistant (RULES 106).
    fn lead_with_user(&mut self) {
        self.used -= std::mem::take(&mut self.lead);
        let entries = self.ground.thread.entries();
        let opening = entries.iter().find(|entry| entry.role != Role::System);
        if opening.is_none_or(|entry| entry.role != Role::User) {
            return;
        }
        for (at, exchange) in self.ground.thread.exchanges().iter().enumerate() {
            let leads = entries[exchange.entries.start].role;
            let Some(kept) = &self.kept[at] else { continue };
            if leads == Role::System {
                continue;
            }
            if leads == Role::User || kept.stub.is_some() {
                break;
            }
            if self.pinned[at] {
                self.labelled = !self.keep_user_before(at);
                break;
            }
            self.used -= kept.size;
            self.kept[at] = None;
        }
    }

    /// Keeps the newest message of the user's side before an exchange that there is room for.
    fn keep_user_before(&mut self, at: usize) -> bool {
        let (ground, room) = (self.ground, self.room());
        let before = ground.thread.exchanges()[..at].iter().enumerate().rev();
        let mut fitting = before
            .filter(|(_, one)| ground.leads(one))
            .filter_map(|(before, _)| Some((before, self.fitted(before, room, 0, room)?)));
        let Some((before, kept)) = fitting.next() else { return false };
        self.put(before, kept);
        true
    }

    /// The state of the work beside a draft.
    fn state(&self, draft: &PlanDraft) -> WorkStatement {
        let unsent = UnsentTexts::of_draft(self.ground.thread, draft.leaving(), &draft.cuts);
        let state = self.ground.stating().state(&unsent, self.reserve);
        // Lines that give way so that the next compression is not due at once refuse nothing.
        let bounded = self.ground.options.demands.kept.fills.is_some();
        let without = state.without - if bounded { state.unkept.len() } else { 0 };
        WorkStatement { without, ..state }
    }

    fn address(&self, covers: &[EntryId]) -> ContentId {
        address(covers, &self.ground)
    }

    /// `None` where a label would have to lead that is no smaller than what it stands for. Without a
    /// `checkpoint` nothing else tells of files that leave.
    fn finish(mut self, checkpoint: bool) -> Option<PlanDraft> {
        let (mut cuts, mut stubs, mut covers) = (Vec::new(), Vec::new(), Vec::new());
        let left: Vec<_> = (0..self.kept.len()).map(|at| self.has_left(at)).collect();
        let exchanges = self.ground.thread.exchanges().iter().zip(&mut self.kept);
        for ((exchange, kept), left) in exchanges.zip(left) {
            match kept {
                None if left => {}
                None => covers.extend(ids(exchange)),
                Some(kept) => {
                    cuts.append(&mut kept.cuts);
                    stubs.extend(kept.stub.take().map(|stub| *stub));
                }
            }
        }
        let (id, state) = (self.address(&covers), WorkStatement::default());
        // A file never leaves without a word.
        let is_named = checkpoint || files::named(self.ground.thread, &covers).is_empty();
        if self.labelled || !is_named {
            let label = self.ground.label(id, &covers)?;
            self.used += self.ground.sizes.gauge().message(&label.text);
            covers.clear();
            stubs.insert(0, label);
        }
        let mut draft = PlanDraft { cuts, stubs, id, covers, left: 0, state };
        draft.state = self.state(&draft);
        self.used -= self.ground.stating().rest() + self.reserve.total();
        let text = draft.state.text.as_deref();
        self.used += text.map_or(0, |text| self.ground.sizes.gauge().message(text));
        draft.left = self.room();
        Some(draft)
    }
}
