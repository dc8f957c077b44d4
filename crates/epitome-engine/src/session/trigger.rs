//! Whether a compression is due.
//!
//! Invariant: the policies say, but for what the window forces and the user asks for. What somebody
//! asked for is looked at once. Called by the turn.

use epitome_types::hook::{Occasion, OpRequest, Orders, Strength, TriggerAnswer, TriggerJob};
use epitome_types::{Actor, Budget, CompactionCause, EventKind, Role, SessionAction, SkipReason};

use epitome_plan::{CacheMeter, CachePrices, ForcingWindow, Rewrite, SentRequest, states_lines};
use epitome_wire::Format;

use super::Session;
use super::action_state::PendingAsk;
use super::events::TurnEvents;
use super::proposal::{PolicyContext, Proposal};
use super::state::ConversationState;
use super::turn_context::TurnContext;
use crate::facts::answered;
use crate::limits::relieved;
use crate::source::RequestSource;

/// Who asks where the user does.
const USER: &str = "user";

/// A compression that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueCompression {
    pub(super) cause: CompactionCause,
    /// The size to come to, in tokens.
    pub(super) target: u64,
    /// The largest size, in tokens, that is worth what the rewrite costs.
    pub(super) worth: u64,
    /// Whether the window forces it, whoever else wants it.
    pub(super) forced: bool,
    /// What is to be left, in tokens, of a prompt that its model has no room for.
    pub(super) relief: Option<u64>,
    /// How far lines that are kept may fill such a prompt, in tokens, where not all of them have room: as
    /// far as the conversation costs no more than it may, or as what would be left without them.
    pub(super) lines: Option<u64>,
    /// Whether what was taken back stays as it is: neither the window forces it nor the user asks.
    pub(super) holds: bool,
    /// Whether somebody asks by hand, or a model does.
    pub(super) is_asked_for: bool,
    pub(super) work: DueWork,
}

/// What is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DueWork {
    /// The prompt is made smaller.
    Compress,
    /// Words of models take the place of extracts.
    Reword,
    /// It is worked out and not applied.
    Draft,
}

impl DueCompression {
    /// The sizes that the kernel's own way tries to come to, the most wanted first. What comes to
    /// the limit itself is forced again at the next turn: it is the last one. `floor` is what cannot
    /// shrink: where that is more than was aimed at, half of the room beside it is left to the next turns.
    pub(super) fn attempts(self, [floor, hard]: [u64; 2], limit: u64) -> impl Iterator<Item = u64> {
        let mut further = vec![self.target.midpoint(hard), hard, hard.midpoint(limit), limit];
        further.extend(
            Some(floor.midpoint(hard)).filter(|beside| (self.target..hard).contains(beside)),
        );
        further.extend(self.relief);
        further.sort_unstable();
        [self.target].into_iter().chain(further.into_iter().filter(move |_| self.forced))
    }

    /// Holds what a plan asks to be left of a prompt that the window forces to what is aimed at, and to what
    /// lines that are kept may fill of it.
    pub(super) fn hold(&self, orders: &mut Orders) {
        let Some(most) = self.lines.map(|lines| lines.max(self.target)) else { return };
        let fits = orders.ops.iter_mut().filter_map(|op| match op {
            OpRequest::Fit(fit) => fit.max_tokens.as_mut(),
            _ => None,
        });
        fits.for_each(|size| *size = (*size).min(most));
    }

    /// The largest size, in tokens, that is aimed at with a plan.
    pub(super) fn aimed(&self, orders: &Orders) -> u64 {
        let fits = orders.ops.iter().filter_map(|op| match op {
            OpRequest::Fit(fit) => fit.max_tokens,
            _ => None,
        });
        fits.fold(self.target, u64::max)
    }

    /// The budget from which on a plan may leave out what people demanded: that of the last attempt,
    /// and none where nobody asks and nothing forces it.
    pub(super) fn gives_up(self, attempts: &[Budget]) -> u64 {
        match self.cause {
            CompactionCause::Soft if !self.forced => u64::MAX,
            _ => attempts.last().map_or(0, |budget| budget.most),
        }
    }
}

impl Session {
    /// What the cache takes of a request's model; nothing on a server of one's own.
    pub(super) fn prices(&self, source: &RequestSource<'_>) -> CachePrices {
        let (profile, hour) = (&self.settings.profile, source.scan.keeps_an_hour());
        match source.format {
            Format::Ollama => profile.unpaid(),
            _ => profile.cache_prices(source.model(), hour),
        }
    }

    /// Whether a compression is due, as the policies and the bounds say.
    pub(crate) async fn due(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Option<DueCompression> {
        if ground.source.scan.continued {
            // What it stands for is kept by the provider.
            return None;
        }
        let ([_, size], new) = (ground.size(), ground.tail.from(ground.incoming.sent));
        let acts = state.acts.as_ref();
        let pending = acts.and_then(|acts| acts.asked.clone());
        let is_pending = pending.is_some();
        let by_user = || PendingAsk { who: USER.to_owned(), by_policy: false };
        let asked = self.next.asked.then(by_user).or(pending);
        let is_asked = asked.as_ref().is_some_and(|asked| !asked.by_policy);
        let manual = asked.is_some().then_some(CompactionCause::Manual);
        let cache = state.meter.look(size, ground.cold, &brief.budgets, ground.prices);
        let mut job = TriggerJob {
            common: brief.common.clone(),
            cause: self.occasion(asked.is_some(), state),
            new_model_message: brings_reply(ground) || self.next.waits,
            floor: ground.floor(),
            budgets: brief.budgets.clone(),
            cache,
            stalled_at: state.meter.stalled_at(),
            new_results: answered(&ground.tail.thread, new),
            watermark: acts
                .and_then(|acts| acts.mark(&ground.incoming.keys))
                .flatten()
                .map(Into::into),
            requested_by: asked.map(|asked| asked.who),
            recall_pending: acts.is_some_and(|acts| !acts.returning.is_empty()),
        };
        let said = brief.council.ask(&mut job).await;
        if is_pending {
            let by = Actor::Policy(said.policy());
            state.work.doing.push((SessionAction::Met, by));
        }
        let (cause, target) = wanted(said.value, size, events);
        let forced = (size > brief.held.hard).then_some(CompactionCause::Hard);
        let target = target.unwrap_or(brief.held.target).min(brief.held.hard);
        let by_user = is_asked && job.requested_by.as_deref() == Some(USER);
        let cause = cause.max(forced).max(manual)?;
        // The bounds and wishes of a policy are no window: what it asks for must pay for itself as well.
        let window = window(ground, brief);
        let must_pay = size <= window.most && !is_asked && job.cause != Occasion::Overflow;
        let relief = (size > window.most).then_some(window.left);
        let kept = relief.filter(|_| !by_user).map(|_| self.most_kept(ground, brief, state));
        // Where a policy aims above the bounds that hold, that costs as lines do that are kept.
        let most = kept.map_or(u64::MAX, |kept| kept.max(brief.held.target));
        let target = relief.map_or(target, |left| target.min(left).min(most));
        let worth = match must_pay {
            true => state.meter.most_worth(&rewrite(ground, brief, window)),
            false => u64::MAX,
        };
        // What it comes to shows when it is made, as what ends a task does. It is not made again before
        // that is worth it, or what came is smaller, as behind a summary of the client's.
        let is_plain = cause != CompactionCause::Manual;
        let in_vain = |came_to| worth < came_to && came_to < size;
        if is_plain && state.meter.came_to().is_some_and(in_vain) {
            events
                .add([size, size], EventKind::CompressionSkipped { reason: SkipReason::NotWorth });
            return None;
        }
        let forced = forced.is_some() || cause == CompactionCause::Hard;
        Some(DueCompression {
            cause,
            target,
            worth,
            forced,
            relief,
            lines: kept,
            holds: !forced && !by_user,
            is_asked_for: is_asked,
            work: DueWork::Compress,
        })
    }

    /// Why it is asked whether a compression is due.
    fn occasion(&self, is_asked: bool, state: &ConversationState) -> Occasion {
        match self.told.refused {
            Some(_) => Occasion::Overflow,
            None if is_asked => Occasion::Manual,
            None if state.work.rested => Occasion::Idle,
            None => Occasion::Turn,
        }
    }

    /// How far lines that are kept, and what else policies choose to leave, may fill a prompt that the window
    /// forces to be made smaller.
    fn most_kept(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
    ) -> u64 {
        let window = self.window_without_lines(ground, brief);
        window.aimed.max(state.meter.most_kept(&rewrite(ground, brief, window)))
    }

    /// The window, with what a compression comes to that nothing is kept for: no policy's bounds make what
    /// its lines cost any cheaper.
    fn window_without_lines(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
    ) -> ForcingWindow {
        let built_in = self.settings.bounds(ground.live.limit).target;
        let window = window(ground, brief);
        ForcingWindow { aimed: window.aimed.min(built_in.unwrap_or(u64::MAX)), ..window }
    }

    /// The meter, once a request is sent with so many tokens.
    pub(crate) fn metered(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        sent: u64,
        proposal: Option<&Proposal>,
        state: &ConversationState,
    ) -> CacheMeter {
        let bare = self.window_without_lines(ground, brief);
        let aims_high = |it: &Proposal| it.target.min(bare.left) > bare.aimed;
        let keeps = proposal.is_some_and(|it| it.ops.iter().any(states_lines) || aims_high(it));
        let mut meter = state.meter;
        if proposal.is_some_and(|proposal| !proposal.rewords) {
            meter.compressed();
        }
        meter.sent(&SentRequest {
            tokens: [ground.size()[0], sent],
            head: head(brief),
            window: if keeps { bare } else { window(ground, brief) },
            cold: ground.cold,
            rewritten: proposal.is_some() || self.next.unsent,
            keeps,
            prices: ground.prices,
        })
    }
}

/// What policies want done about a prompt of so many tokens, and the size they aim at. What they pass
/// over is told.
fn wanted(
    said: Option<TriggerAnswer>,
    size: u64,
    events: &mut TurnEvents,
) -> (Option<CompactionCause>, Option<u64>) {
    match said {
        Some(TriggerAnswer::Compress(due)) => {
            let cause = match due.level {
                Strength::Soft => CompactionCause::Soft,
                Strength::Hard => CompactionCause::Hard,
                Strength::Asked => CompactionCause::Manual,
            };
            (Some(cause), due.target)
        }
        Some(TriggerAnswer::Pass(passed)) => {
            let told = EventKind::CompressionSkipped { reason: passed.skip };
            events.add([size, size], told);
            (None, None)
        }
        Some(TriggerAnswer::Wait(_)) | None => (None, None),
    }
}

/// A compression of the request.
fn rewrite(ground: &TurnContext<'_, '_>, brief: &PolicyContext, window: ForcingWindow) -> Rewrite {
    let (tokens, head) = (ground.size(), head(brief));
    Rewrite { tokens, head, window, cold: ground.cold, prices: ground.prices }
}

/// The most that a prompt may take, in tokens, so that there is room for its answer.
fn window(ground: &TurnContext<'_, '_>, brief: &PolicyContext) -> ForcingWindow {
    let most = ground.live.limit.saturating_sub(brief.budgets.reserve.unwrap_or(0));
    let left = relieved(most);
    ForcingWindow { most, aimed: left.min(brief.held.target), left }
}

/// Whether a message of the model is new.
pub(super) fn brings_reply(ground: &TurnContext<'_, '_>) -> bool {
    let new = ground.tail.from(ground.incoming.sent);
    new.iter().any(|entry| entry.role == Role::Assistant)
}

/// Tokens of the system prompt and the tools, which stay as they are.
fn head(brief: &PolicyContext) -> u64 {
    brief.common.tokens.system + brief.common.tokens.tools
}
