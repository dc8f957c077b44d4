//! A session as a line of turns: how large each prompt was, and what made it smaller.
//!
//! Invariant: worked out of what the journal records, and no text is read but that of summaries. The size
//! of a prompt is the one that its compression recorded, with the messages since; what the journal does
//! not record of a turn is not made up.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{AddAssign, Range};

use epitome_config::BUDGET_VOCABULARY;
use epitome_count::{CachedCounter, for_model};
use epitome_kernel::TokenCounter;
use epitome_types::{
    CompactionId, EntryId, EntryKey, HistoryHash, Op, RecordedAction, RecordedCompaction, Role,
    SessionAction, TokenUsage,
};

use super::holding::HoldGround;
use super::{MessageInfo, SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::regret::EvictionPlace;

/// A session as a line of turns.
#[derive(Clone, Debug)]
pub struct SessionTimeline {
    /// The session.
    pub history: SessionHistory,
    /// Its turns, oldest first.
    pub turns: Vec<TimelineTurn>,
    /// What made its prompts smaller, oldest first.
    pub compactions: Vec<TimelineCompaction>,
    /// The turns before which the client compacted the history by itself, by their places.
    pub client_compactions: Vec<usize>,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineTurn {
    /// Counted from 1.
    pub number: usize,
    /// The messages that came with it, by their places: the answer is the last of them, where it is
    /// recorded.
    pub entries: Range<usize>,
    /// When it was asked, ISO 8601.
    pub at: Option<String>,
    /// Tokens of the prompt as it came.
    pub raw: u64,
    /// Tokens of the prompt as it was sent; of nothing where it came before the first request.
    pub sent: TokenBands,
    /// What the provider counted for its requests, where it said so.
    pub usage: Option<TokenUsage>,
    /// Whether it came with the history of the first request, so that nothing was sent for it.
    pub came_before: bool,
}

/// Tokens of a prompt by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBands {
    /// Definitions of tools, and what else a request has beside its messages.
    pub tools: u64,
    /// System prompts.
    pub system: u64,
    /// Summaries and notes in the place of what left.
    pub summaries: u64,
    /// What people and clients say.
    pub user: u64,
    /// What the model says and calls.
    pub model: u64,
    /// Results of tools.
    pub results: u64,
}

/// A compression on the line.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineCompaction {
    /// As it is recorded.
    pub recorded: RecordedCompaction,
    /// The place of the first entry that it rewrites; none where it is of another branch.
    pub start: Option<usize>,
    /// The turn that it was made in, by its place in the line.
    pub turn: usize,
    /// The turns that it holds in, unless another one does that reaches further: it may be taken back and
    /// done again, and does not hold while something is pinned that it took out.
    pub holds: Vec<Range<usize>>,
}

impl TimelineCompaction {
    /// The first turn that it no longer held in, where it was taken back.
    #[must_use]
    pub fn until(&self) -> Option<usize> {
        let first = self.holds.first().map_or(self.turn, |first| first.end);
        (first < usize::MAX).then_some(first)
    }
}

/// What became of a message in the newest prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryState {
    /// A part of it is shorter, or left.
    Shortened,
    /// A summary stands for it.
    Summarized,
    /// It left without one.
    Dropped,
}

impl TokenBands {
    /// The whole.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.all().iter().map(|(_, tokens)| tokens).sum()
    }

    /// Each by its name, the lowest of a chart first.
    #[must_use]
    pub fn all(&self) -> [(&'static str, u64); 6] {
        let Self { tools, system, summaries, user, model, results } = *self;
        [
            ("tools", tools),
            ("system", system),
            ("summaries", summaries),
            ("people", user),
            ("model", model),
            ("results", results),
        ]
    }

    fn of_message(message: &MessageInfo, tokens: u64) -> Self {
        let mut bands = Self::default();
        *match message.role {
            _ if message.is_result => &mut bands.results,
            Role::System => &mut bands.system,
            Role::Assistant => &mut bands.model,
            Role::User | Role::Tool => &mut bands.user,
        } = tokens;
        bands
    }

    /// Brings the sum to what was recorded: what differs was done to the parts of messages, most of
    /// them results.
    fn brought_to(mut self, recorded: u64) -> Self {
        let sum = self.sum();
        self.results += recorded.saturating_sub(sum);
        let mut over = sum.saturating_sub(recorded);
        for band in [&mut self.results, &mut self.model, &mut self.user, &mut self.summaries] {
            let less = over.min(*band);
            *band -= less;
            over -= less;
        }
        self
    }
}

impl AddAssign for TokenBands {
    fn add_assign(&mut self, other: Self) {
        self.tools += other.tools;
        self.system += other.system;
        self.summaries += other.summaries;
        self.user += other.user;
        self.model += other.model;
        self.results += other.results;
    }
}

impl SessionAdmin {
    /// A session as a line of turns.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn timeline(&self, name: Option<&str>) -> Result<SessionTimeline, AdminError> {
        let history = self.history(name)?;
        let saved = self.saved_on_arrival(&history)?;
        let said: u64 = history.messages.iter().map(|message| message.tokens).sum();
        let beside = history.info.figures.tokens[0].saturating_sub(said);
        let bands = history.messages.iter().map(|message| {
            let less = saved.get(&message.key).copied().unwrap_or_default();
            TokenBands::of_message(message, message.tokens.saturating_sub(less))
        });
        let line = LineOfTurns { bands: bands.collect(), beside, history: &history };
        let mut turns = line.turns();
        let compactions = line.compactions(&turns);
        let model = history.info.model.as_deref().unwrap_or(BUDGET_VOCABULARY);
        let counter = CachedCounter::new(for_model(model));
        line.size(&mut turns, &compactions, &counter);
        line.count(&mut turns, &self.journal.answer_usage(&self.scope, &history.info.name)?);
        let client_compactions = self.client_compactions(&history, &turns)?;
        Ok(SessionTimeline { turns, compactions, client_compactions, history })
    }

    /// The turns that begin with a summary of the client's own.
    fn client_compactions(
        &self,
        history: &SessionHistory,
        turns: &[TimelineTurn],
    ) -> Result<Vec<usize>, AdminError> {
        let acts = self.journal.acts_in_force(&self.scope, &history.info.name)?;
        let turn = |acted: &RecordedAction| match &acted.act {
            SessionAction::ClientCompaction { summary, .. } => {
                let place = history.keys().iter().position(|key| key == summary)?;
                turns.iter().position(|turn| turn.entries.contains(&place))
            }
            _ => None,
        };
        Ok(acts.iter().filter_map(turn).collect())
    }

    /// Tokens that each message lost before it was first sent.
    fn saved_on_arrival(
        &self,
        history: &SessionHistory,
    ) -> Result<BTreeMap<EntryKey, u64>, AdminError> {
        let mut saved = BTreeMap::new();
        for rewrite in self.journal.rewrites(&self.scope, &history.info.name, history.keys())? {
            let [before, after] = rewrite.tokens;
            *saved.entry(rewrite.key).or_default() += before.saturating_sub(after);
        }
        Ok(saved)
    }
}

impl SessionTimeline {
    /// The compression that was in force for a turn.
    #[must_use]
    pub fn in_force(&self, turn: usize) -> Option<&TimelineCompaction> {
        in_force(&self.compactions, turn)
    }

    /// The compression that the next prompt is made by.
    #[must_use]
    pub fn newest(&self) -> Option<&TimelineCompaction> {
        let id = self.history.in_force()?.id;
        self.compactions.iter().find(|it| it.recorded.epoch.id == id)
    }

    /// What became of messages, by their places; what goes whole is not among them.
    #[must_use]
    pub fn entry_states(&self) -> BTreeMap<usize, EntryState> {
        let mut states = BTreeMap::new();
        let Some((it, start)) = self.newest().and_then(|it| Some((it, it.start?))) else {
            return states;
        };
        let mut note = |entry: EntryId, state: EntryState| {
            let known = states.entry(start + entry.index()).or_insert(state);
            *known = state.max(*known);
        };
        for op in &it.recorded.epoch.plan.ops {
            match op {
                Op::Replace { part, .. } => note(part.entry, EntryState::Shortened),
                Op::Strip { parts } => {
                    parts.iter().for_each(|part| note(part.entry, EntryState::Shortened));
                }
                Op::Unbind { replies } => {
                    replies.iter().for_each(|reply| note(reply.entry, EntryState::Shortened));
                }
                Op::Drop { entries } => {
                    entries.iter().for_each(|entry| note(*entry, EntryState::Dropped));
                }
                Op::Summarize(checkpoint) => {
                    checkpoint.covers.iter().for_each(|it| note(*it, EntryState::Summarized));
                }
                Op::Insert { .. } | Op::State { .. } => {}
            }
        }
        states
    }
}

/// Where the compressions of a history took hold, oldest first; those of other branches are left out.
pub(crate) fn eviction_places(history: &SessionHistory) -> Vec<EvictionPlace<'_>> {
    let line = LineOfTurns { history, bands: Vec::new(), beside: 0 };
    let turns = line.turns();
    let end = history.messages.len();
    let mut places = Vec::new();
    for (it, recorded) in line.compactions(&turns).iter().zip(history.epochs()) {
        let Some(start) = it.start else { continue };
        let made = turns.get(it.turn).map_or(end, |turn| line.prompt(turn));
        let until = it.until().map(|until| turns.get(until).map_or(end, |turn| turn.entries.start));
        places.push(EvictionPlace { compaction: &recorded.epoch, start, made, until });
    }
    places
}

fn in_force(compactions: &[TimelineCompaction], turn: usize) -> Option<&TimelineCompaction> {
    let holds = |it: &&TimelineCompaction| {
        it.start.is_some() && it.holds.iter().any(|turns| turns.contains(&turn))
    };
    compactions.iter().rev().find(holds)
}

/// What a line of turns is made of.
struct LineOfTurns<'h> {
    history: &'h SessionHistory,
    /// What each message is sent as where no compression touches it.
    bands: Vec<TokenBands>,
    /// Tokens beside the messages.
    beside: u64,
}

impl LineOfTurns<'_> {
    /// The turns, as they came.
    fn turns(&self) -> Vec<TimelineTurn> {
        let messages = &self.history.messages;
        let (mut turns, mut start, mut raw) = (Vec::new(), 0, self.beside);
        let mut asked = false;
        for (place, message) in messages.iter().enumerate() {
            let is_answer = message.role == Role::Assistant;
            // An answer in several messages is one answer.
            let goes_on = messages.get(place + 1).is_some_and(|it| it.role == Role::Assistant);
            let is_last = place + 1 == messages.len();
            if !is_answer {
                raw += message.tokens;
                asked = true;
            }
            if is_answer && !goes_on && asked || is_last && (asked || !is_answer) {
                let at = messages[start..=place].iter().rev();
                let at = at.filter(|it| it.role != Role::Assistant).find_map(|it| it.at.clone());
                let entries = start..place + 1;
                let number = turns.len() + 1;
                let sent = TokenBands { tools: self.beside, ..TokenBands::default() };
                turns.push(TimelineTurn {
                    number,
                    entries,
                    at,
                    raw,
                    sent,
                    usage: None,
                    came_before: false,
                });
                (start, asked) = (place + 1, false);
            }
            if is_answer {
                raw += message.tokens;
            }
        }
        turns
    }

    /// The compressions, each with its turn.
    fn compactions(&self, turns: &[TimelineTurn]) -> Vec<TimelineCompaction> {
        let keys = self.history.keys();
        let starts = self.history.starts();
        let last = turns.len().saturating_sub(1);
        let turn_starts = turns.iter().map(|turn| turn.entries.start).collect();
        let ground = HoldGround { history: self.history, turn_starts };
        let one = |recorded: &RecordedCompaction| {
            let epoch = &recorded.epoch;
            let start = starts.get(&epoch.id).copied();
            let end = start.map_or(0, |start| start + epoch.covered.len as usize);
            let least = turns.partition_point(|turn| turn.entries.end < end.min(keys.len()));
            // The request that it was made for had come when it was made.
            let is_before =
                |turn: &TimelineTurn| turn.at.as_deref().is_some_and(|at| at <= epoch.at.as_str());
            let by_time = turns.iter().rposition(is_before).unwrap_or(0);
            let turn = by_time.max(least).min(last);
            let holds = ground.holds(recorded, turn, start);
            TimelineCompaction { recorded: recorded.clone(), start, turn, holds }
        };
        self.history.epochs().iter().map(one).collect()
    }

    /// Says how large each prompt was as it was sent.
    fn size(
        &self,
        turns: &mut [TimelineTurn],
        compactions: &[TimelineCompaction],
        counter: &dyn TokenCounter,
    ) {
        let mut before: Option<(CompactionId, usize, TokenBands)> = None;
        let mut plain = TokenBands { tools: self.beside, ..TokenBands::default() };
        let mut known = 0;
        for place in 0..turns.len() {
            let prompt = self.prompt(&turns[place]);
            (known..prompt).for_each(|at| plain += self.bands[at]);
            known = prompt;
            let Some(it) = in_force(compactions, place) else {
                (turns[place].sent, before) = (plain, None);
                continue;
            };
            let id = it.recorded.epoch.id;
            let (base, mut bands) = match before {
                Some((known, base, bands)) if known == id => (base, bands),
                // Where another one was taken back it holds again, with all that came since.
                _ => {
                    let base = self.prompt(&turns[it.turn]);
                    (base, self.compacted(it, base, counter))
                }
            };
            (base..prompt).for_each(|at| bands += self.bands[at]);
            before = Some((id, prompt.max(base), bands));
            turns[place].sent = bands;
        }
    }

    /// Says what the provider counted for each turn, and which came before the first request: those
    /// before the first one that anything came back for.
    fn count(&self, turns: &mut [TimelineTurn], usage: &BTreeMap<HistoryHash, TokenUsage>) {
        for turn in turns.iter_mut() {
            let end = self.prompt(turn);
            // A client may have asked again with more.
            let messages = self.history.messages[..end].iter().skip(turn.entries.start);
            let own = messages.filter_map(|message| usage.get(&message.chain));
            turn.usage = own.copied().reduce(|sum, one| {
                let mut sum = sum;
                sum += one;
                sum
            });
        }
        let first = match turns.iter().position(|turn| turn.usage.is_some()) {
            Some(first) => first,
            // Nothing came back at all: it was imported, or nobody counts.
            None if self.history.info.figures.turns == 0 => turns.len(),
            None => 0,
        };
        for turn in &mut turns[..first] {
            (turn.came_before, turn.sent) = (true, TokenBands::default());
        }
    }

    /// How many messages the prompt of a turn has.
    fn prompt(&self, turn: &TimelineTurn) -> usize {
        let messages = &self.history.messages[turn.entries.clone()];
        let answer = messages.iter().rev().take_while(|it| it.role == Role::Assistant).count();
        turn.entries.end - if answer == messages.len() { 0 } else { answer }
    }

    /// The prompt that a compression made of so many messages.
    fn compacted(
        &self,
        it: &TimelineCompaction,
        messages: usize,
        counter: &dyn TokenCounter,
    ) -> TokenBands {
        let epoch = &it.recorded.epoch;
        let start = it.start.unwrap_or_default();
        let mut bands = TokenBands { tools: self.beside, ..TokenBands::default() };
        let mut gone = BTreeSet::new();
        for op in &epoch.plan.ops {
            match op {
                Op::Summarize(checkpoint) => {
                    gone.extend(checkpoint.covers.iter().map(|id| start + id.index()));
                    bands.summaries += counter.count(&checkpoint.text);
                }
                Op::Drop { entries } => gone.extend(entries.iter().map(|id| start + id.index())),
                Op::Insert { text, .. } | Op::State { text, .. } => {
                    bands.summaries += counter.count(text);
                }
                Op::Replace { .. } | Op::Strip { .. } | Op::Unbind { .. } => {}
            }
        }
        let stays = (0..messages.min(self.bands.len())).filter(|place| !gone.contains(place));
        stays.for_each(|place| bands += self.bands[place]);
        bands.brought_to(epoch.outcome.tokens[1])
    }
}
