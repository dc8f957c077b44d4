//! All that a plan is made from: what policies are told of a conversation, what they order, and how
//! that is to be worded.
//!
//! Invariant: the conversation is as it was; what policies noted and order beside is taken up. Called
//! once for each policy whose plan is tried.

use std::mem;

use epitome_kernel::{ActiveCompaction, Summarizer, Thread};
use epitome_plan::{CompressOptions, ConstraintState, RequestEnvelope, freed_little, let_go};
use epitome_types::hook::{MessageTexts, Orders};
use epitome_types::{Actor, Budget, EntryId};

use super::{AbandonedPlan, Proposing, in_tokens};
use crate::background::WordedPlan;
use crate::error::Error;
use crate::facts::columns;
use crate::keep_recent::leave_alone;
use crate::plan_notes::PlanNotes;
use crate::plan_wording::{GivenOrders, shaped};
use crate::planning::{PlanHistory, PlanRequest, PlanSizes, StandingPlan, SummaryWriters};
use crate::session::inputs;
use crate::session::pinning::granted_pins;
use crate::session::state::ConversationState;
use crate::session::trigger::DueWork;
use crate::session::watermark::WatermarkMove;
use crate::session::work_state::{self, WantedWork};
use crate::time_budget::ModelTimeBudget;

/// What a policy ordered.
pub(super) struct Ordered {
    pub(super) orders: Orders,
    pub(super) policy: Option<String>,
    /// What it said beside that.
    pub(super) told: PlanNotes,
    /// Where the watermark moves, and who moves it.
    pub(super) moved: Option<(WatermarkMove, Actor)>,
}

/// Words of models that wrote in the background.
pub(super) struct Words {
    /// In what is in force.
    pub(super) standing: WordedPlan,
    /// In what was drafted for this compression.
    pub(super) draft: Option<WordedPlan>,
}

/// Everything that a plan is made from.
pub(super) struct Prepared<'p> {
    pub(super) planning: PlanRequest<'p, 'p>,
    pub(super) ordered: Ordered,
    pub(super) options: CompressOptions,
    pub(super) words: Words,
    /// The place of the first message that the recent part begins with.
    pub(super) older: usize,
    /// The last message that the goals come from.
    pub(super) goals_until: Option<EntryId>,
}

impl Proposing<'_, '_> {
    /// The conversation as a plan sees it, with what it may not touch. Copies of files may leave that
    /// no prompt within the limit would hold.
    pub(super) fn thread(&self, state: &ConversationState) -> Thread {
        let mut pins = state.history.pinned(0);
        pins.extend(granted_pins(state));
        if self.due.holds {
            let in_force = self.whole.in_force.as_ref();
            let left = state.acts.as_ref().map_or(&[][..], |acts| &acts.facts.left);
            pins.extend(self.whole.lineage.held(&self.ground.incoming.keys, in_force, left));
        }
        let thread = self.ground.tail.to_sum_up(&pins, &state.history);
        // Tools, and a system prompt of Epitome's own, take their part of it.
        let beside = self.ground.lead.tokens() + self.ground.tail.hidden;
        let limit = self.ground.live.limit.saturating_sub(beside);
        let again =
            self.whole.in_force.as_ref().is_some_and(|it| freed_little(it.epoch.outcome.tokens));
        let_go(&thread, &self.ground.tail.tokens, limit, again).unwrap_or(thread)
    }

    /// What a policy is told of it.
    pub(super) fn planning<'p>(
        &'p self,
        thread: &'p Thread,
        texts: &'p dyn MessageTexts,
        summarizers: &'p [&'p dyn Summarizer],
        state: &ConversationState,
    ) -> Result<PlanRequest<'p, 'p>, Error> {
        let Self { session, ground, whole, brief, due } = *self;
        let (in_force, tokens) = (whole.in_force.as_ref(), &ground.tail.tokens);
        let checkpoints = whole.checkpoints(ground.tail);
        let keys = &ground.incoming.keys;
        let mut columns = columns(thread, whole.view(), tokens, &checkpoints, keys);
        let alone = session.settings.profile.options.compress.keep_recent_messages;
        leave_alone(&mut columns, thread, alone);
        if let Some(offload) = &session.offload {
            inputs::look_up(&mut columns, thread, offload.workspace());
        }
        Ok(PlanRequest {
            council: &brief.council,
            common: &brief.common,
            budgets: &brief.budgets,
            history: PlanHistory { thread, texts, columns, counter: tokens.gauge().counter },
            writers: SummaryWriters {
                summarizers,
                models: if session.defers() { &[][..] } else { &brief.council.models.all },
                known: Vec::new(),
                terms: &session.settings.profile.options,
                patience: ModelTimeBudget::new(
                    &session.settings.clock,
                    session.settings.patience(),
                ),
                underway: match due.work {
                    DueWork::Reword => None,
                    DueWork::Compress | DueWork::Draft => session.underway(ground, whole, state)?,
                },
            },
            standing: StandingPlan {
                plan: in_force.map(ActiveCompaction::plan).unwrap_or_default(),
                credits: in_force.map(|it| it.epoch.credits.clone()).unwrap_or_default(),
                checkpoints,
            },
            prepared: None,
            cause: due.cause,
            forced: due.forced,
            sizes: PlanSizes {
                target: due.target,
                most: in_tokens(brief.held.hard),
                floor: ground.floor(),
            },
            goals: state.acts.as_ref().map(|acts| acts.goals.clone()).unwrap_or_default(),
            mark: state.acts.as_ref().and_then(|acts| acts.mark(keys)),
        })
    }

    /// Asks the policies, and adds what follows from their orders; `None` where models were to word
    /// anew what stands, and wrote nothing.
    pub(super) async fn prepared<'p>(
        &self,
        mut planning: PlanRequest<'p, 'p>,
        passed: &mut AbandonedPlan,
        state: &mut ConversationState,
    ) -> Result<Option<Prepared<'p>>, Error> {
        let ordered = self.ordered(&planning, passed, state).await;
        // The prompt is made with the system prompt that moves into its place with it.
        state.work.drafted = self.session.drafted(self.ground, self.brief, state).await;
        let options = self.options(&planning, &ordered, state).await?;
        let words = self.words(&mut planning, &ordered.orders, &options, state);
        if self.due.work == DueWork::Reword && words.standing.used.is_empty() {
            return Ok(None);
        }
        let older = work_state::older(self.ground, &planning, options.keep_recent_share);
        let keys = &self.ground.incoming.keys;
        let goals_until = state.acts.as_ref().and_then(|acts| acts.goals_until(keys));
        Ok(Some(Prepared { planning, ordered, options, words, older, goals_until }))
    }

    /// What the policies order. What they order beside changing the prompt is taken up.
    async fn ordered(
        &self,
        planning: &PlanRequest<'_, '_>,
        passed: &mut AbandonedPlan,
        state: &mut ConversationState,
    ) -> Ordered {
        let mut told = PlanNotes::default();
        let (mut orders, policy) = match self.due.work {
            DueWork::Reword => (Orders::default(), None),
            DueWork::Compress | DueWork::Draft => {
                planning.orders(&passed.round, passed.policy.as_deref(), &mut told).await
            }
        };
        self.due.hold(&mut orders);
        state.work.aside.add(mem::take(&mut told.exports), told.handover.take());
        passed.policy.clone_from(&policy);
        passed.snapshot = passed.snapshot.or(orders.snapshot);
        let to = {
            let (acts, keys) = (state.acts.as_ref(), &self.ground.incoming.keys);
            WatermarkMove::to(&orders, acts, keys, planning.history.thread)
        };
        let by = || Actor::Policy(policy.clone().unwrap_or_default());
        let moved = passed.moved.take().or_else(|| to.map(|moved| (moved, by())));
        Ordered { orders, policy, told, moved }
    }

    /// The options as the orders and the wording of the policies change them.
    async fn options(
        &self,
        planning: &PlanRequest<'_, '_>,
        ordered: &Ordered,
        state: &ConversationState,
    ) -> Result<CompressOptions, Error> {
        let Self { session, ground, brief, .. } = *self;
        let drafted = state.work.drafted.as_ref().map(|(drafted, _)| drafted);
        let grown = ground.growth(drafted).unwrap_or(ground.lead.assembled);
        let tokens = ground.lead.schemas + grown + ground.tail.hidden;
        let envelope = RequestEnvelope { tokens, ..RequestEnvelope::default() };
        let back = session.way_back(ground);
        let options = session.settings.profile.compress(back, envelope);
        let given = GivenOrders { orders: &ordered.orders, policy: ordered.policy.clone() };
        let options = shaped(options, back, &brief.council, &brief.common, given).await;
        let unbind = session.settings.profile.unbinds(ground.source.document()?);
        let inputs = planning.history.inputs();
        Ok(CompressOptions { inputs, unbind, passages: true, ..options })
    }

    /// Has the words of models stand in what is in force and in what was drafted, and the plan begin
    /// with that.
    fn words(
        &self,
        planning: &mut PlanRequest<'_, '_>,
        orders: &Orders,
        options: &CompressOptions,
        state: &ConversationState,
    ) -> Words {
        let Self { session, ground, brief, due, .. } = *self;
        let worded = |plan| session.with_words(plan, ground, options);
        let standing = worded(mem::take(&mut planning.standing.plan));
        planning.standing.plan.clone_from(&standing.plan);
        planning.writers.known = session.known_words(&standing.plan, ground, options);
        let draft = session.drafted_plan(ground, due, orders, state).map(worded);
        planning.prepared = match (due.work, &draft) {
            (DueWork::Reword, _) => Some((standing.plan.clone(), brief.held.hard)),
            (_, Some(draft)) => Some((draft.plan.clone(), due.target.midpoint(brief.held.hard))),
            (_, None) => None,
        };
        Words { standing, draft }
    }

    /// The options with as much of the state of the work as there may be room for, the most first.
    pub(super) async fn variants(
        &self,
        prepared: &Prepared<'_>,
        attempts: &[Budget],
        state: &ConversationState,
    ) -> Vec<CompressOptions> {
        let Prepared { planning, ordered, options, older, .. } = prepared;
        let acts = state.acts.as_ref();
        let chosen = acts.map_or(&[][..], |acts| &acts.augments);
        let returning = acts.map_or(&[][..], |acts| &acts.returning);
        let drafted = state.work.drafted.as_ref().map(|(drafted, _)| drafted);
        let system = drafted;
        let (orders, lines) = (&ordered.orders, self.due.lines);
        let wanted = WantedWork { orders, system, chosen, returning, lines };
        let stated = self.session.stated(self.ground, planning, &wanted, *older);
        let (stated, demands) = stated.await;
        // What was demanded is left out only where nothing else is left to leave out.
        let least = self.due.gives_up(attempts);
        let below = (0..stated.len()).rev().map(|more| if more > 0 { u64::MAX } else { least });
        let variants = stated.into_iter().zip(below).map(|(state, whole_below)| {
            let demands = ConstraintState { whole_below, ..demands.clone() };
            CompressOptions { state, demands, ..options.clone() }
        });
        variants.collect()
    }
}
