//! The compression of a live conversation: proposed over a snapshot of the history, recorded by
//! compare-and-swap.
//!
//! Invariant: a proposal changes nothing; what a failed one leaves behind is an event. After a
//! commit the view is derived from the records, as after a restart.

use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;

use epitome_extract::must_keep;
use epitome_kernel::{ChainRound, Commit, Departure, InForce, epoch_of};
use epitome_plan::{CompressOptions, Compressed, Demands, Envelope, stalled};
use epitome_types::hook::{Budgets, Common, Order, Orders};
use epitome_types::{
    Act, Budget, By, Cause, Classed, Credit, Entry, EntryId, Epoch, Happened, Mark, Op, OpReport,
    Plan, Recorded, Skip, Stage, Unit,
};

use super::Session;
use super::ahead::{Late, in_other_words};
use super::due::{Due, Work};
use super::events::Events;
use super::export::Aside;
use super::ground::{Ground, Whole};
use super::inputs;
use super::mark::Moved;
use super::recalled;
use super::state::State;
use super::tail::Tail;
use super::work;
use crate::Error;
use crate::background::Worded;
use crate::council::Council;
use crate::facts::{ThreadTexts, columns};
use crate::planning::{Planned, Planning, Told, shaped};
use crate::recent::leave_alone;
use crate::target::Held;
use crate::writer::Patience;

/// What the policies said of a request before anything is decided.
pub(crate) struct Brief {
    pub(crate) council: Council,
    pub(crate) common: Common,
    pub(crate) held: Held,
    /// The same bounds, as policies read them.
    pub(crate) budgets: Budgets,
}

/// What is done of a compression that is proposed. One that comes to nothing is no progress; of
/// that it is told why.
const PROPOSED: [Stage; 4] =
    [Stage::Identification, Stage::Preparation, Stage::Summarisation, Stage::CheckpointCreation];

/// What is left of plans that came to nothing, for the one that is made in their place. What they
/// order beside changing the prompt is done.
#[derive(Default)]
struct Passed {
    /// What the policies gave so far.
    round: ChainRound,
    /// The last policy whose plan it was.
    policy: Option<String>,
    /// Where the watermark moves, and who moves it.
    moved: Option<(Moved, By)>,
    /// Whether a restore point is made, where one of them said so.
    snapshot: Option<bool>,
}

/// A compression that could be applied.
pub(crate) struct Proposal {
    pub(crate) epoch: Epoch,
    departure: Departure,
    ops: Vec<OpReport>,
    /// What else happened with it.
    beside: Vec<Happened>,
    /// Where the watermark moves, and who moves it.
    moved: Option<(Moved, By)>,
    /// What a model wrote of its summaries.
    written: Vec<String>,
    /// Whether a restore point is made, where a policy said so.
    snapshot: Option<bool>,
    /// Whether words of models take the place of extracts, and nothing else is done.
    pub(crate) rewords: bool,
    /// What models may write of it, where they write in the background.
    pub(crate) late: Option<Late>,
}

impl Session {
    /// What a compression that is due comes to, if it comes to something. Where a policy's plan
    /// does not, the policies behind it are asked; the last one's always does.
    pub(crate) async fn propose(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        brief: &Brief,
        due: Due,
        state: &mut State,
        events: &mut Events,
    ) -> Result<Option<Proposal>, Error> {
        state.aside = Aside::default();
        let mut passed = Passed::default();
        loop {
            let attempt = self.attempt(ground, whole, brief, (due, &mut passed), state, events);
            if let ControlFlow::Break(proposal) = attempt.await? {
                return Ok(proposal);
            }
        }
    }

    /// The same by the first policy behind those that were passed over.
    async fn attempt(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        brief: &Brief,
        (due, passed): (Due, &mut Passed),
        state: &mut State,
        events: &mut Events,
    ) -> Result<ControlFlow<Option<Proposal>>, Error> {
        let ([_, size], Tail { tokens, .. }) = (ground.size(), ground.tail);
        let in_force = whole.in_force.as_ref();
        let mut pins = state.pinned(0);
        if due.holds {
            pins.extend(whole.lineage.held(&ground.incoming.keys, in_force));
        }
        let thread = ground.tail.to_sum_up(&pins, state);
        let texts = ThreadTexts(&thread);
        let summarizers: Vec<_> = self.settings.summarizers.iter().map(|one| &**one).collect();
        let checkpoints = whole.checkpoints(ground.tail);
        let in_tokens = |most| Budget { unit: Unit::Tokens, most };
        let keys = &ground.incoming.keys;
        let mut columns = columns(&thread, whole.view(), tokens, &checkpoints, keys);
        let alone = self.settings.profile.options.compress.keep_recent_messages;
        leave_alone(&mut columns, &thread, alone);
        if let Some(offload) = &self.offload {
            inputs::look_up(&mut columns, &thread, offload.workspace());
        }
        let models = if self.defers() { &[][..] } else { &brief.council.models.all };
        let mut planning = Planning {
            council: &brief.council,
            common: &brief.common,
            budgets: &brief.budgets,
            thread: &thread,
            texts: &texts,
            counter: tokens.gauge().counter,
            summarizers: &summarizers,
            models,
            standing: in_force.map(InForce::plan).unwrap_or_default(),
            credits: in_force.map(|it| it.epoch.credits.clone()).unwrap_or_default(),
            prepared: None,
            columns,
            checkpoints,
            cause: due.cause,
            target: due.target,
            most: in_tokens(brief.held.hard),
            floor: ground.floor(),
            goals: state.acts.as_ref().map(|acts| acts.goals.clone()).unwrap_or_default(),
            mark: state.acts.as_ref().and_then(|acts| acts.mark(&ground.incoming.keys)),
            terms: &self.settings.profile.options.summaries,
            patience: Patience::new(&self.clock, self.settings.patience()),
            underway: match due.work {
                Work::Reword => None,
                Work::Compress | Work::Draft => self.underway(ground, whole, state)?,
            },
        };
        let mut told = Told::default();
        let (orders, policy) = match due.work {
            Work::Reword => (Orders::default(), None),
            Work::Compress | Work::Draft => {
                planning.orders(&passed.round, passed.policy.as_deref(), &mut told).await
            }
        };
        state.aside.add(mem::take(&mut told.exports), told.handover.take());
        passed.policy.clone_from(&policy);
        passed.snapshot = passed.snapshot.or(orders.snapshot);
        let (acts, keys) = (state.acts.as_ref(), &ground.incoming.keys);
        let by = || By::Policy(policy.clone().unwrap_or_default());
        let moved = passed.moved.take();
        let moved = moved.or_else(|| Moved::to(&orders, acts, keys).map(|moved| (moved, by())));
        // The prompt is made with the system prompt that moves into its place with it.
        state.drafted = self.drafted(ground, brief, state).await;
        let drafted = state.drafted.as_ref().map(|(drafted, _)| drafted);
        let grown = ground.growth(drafted).unwrap_or(ground.assembled);
        let envelope = Envelope { tokens: ground.schemas + grown, bytes: 0 };
        let back = self.way_back(ground);
        let options = (self.settings.profile.compress(back, envelope), back);
        let options = shaped(options, &brief.council, &brief.common, (&orders, policy)).await;
        let unbind = self.settings.profile.unbinds(ground.source.document()?);
        let inputs = planning.inputs();
        let options = CompressOptions { inputs, unbind, passages: true, ..options };
        let standing = mem::take(&mut planning.standing);
        let standing = self.with_words(standing, ground, &options);
        planning.standing.clone_from(&standing.plan);
        if due.work == Work::Reword && standing.used.is_empty() {
            return Ok(ControlFlow::Break(None));
        }
        let ahead = self.drafted_plan(ground, due, &orders, state);
        let ahead = ahead.map(|plan| self.with_words(plan, ground, &options));
        planning.prepared = match (due.work, &ahead) {
            (Work::Reword, _) => Some((standing.plan.clone(), brief.held.hard)),
            (_, Some(ahead)) => Some((ahead.plan.clone(), due.target.midpoint(brief.held.hard))),
            (_, None) => None,
        };
        let attempts = due.attempts(brief.held.hard, ground.live.limit).map(in_tokens);
        let attempts: Vec<_> = attempts.collect();
        let chosen = acts.map_or(&[][..], |acts| &acts.augments);
        let returning = acts.map_or(&[][..], |acts| &acts.returning);
        let older = work::older(ground, &planning, options.keep_recent_share);
        let (stated, demands) =
            self.stated(ground, &planning, (&orders, drafted), (chosen, returning), older).await;
        // What was demanded is left out only where nothing else is left to leave out.
        let least = due.gives_up(&attempts);
        let whole_below =
            (0..stated.len()).rev().map(|more| if more > 0 { u64::MAX } else { least });
        let stated = stated.into_iter().zip(whole_below).map(|(state, whole_below)| {
            let demands = Demands { whole_below, ..demands.clone() };
            CompressOptions { state, demands, ..options.clone() }
        });
        let stated: Vec<_> = stated.collect();
        let mut planned = Planned::Skipped(Skip::NotNeeded);
        let mut made = Told::default();
        // Where there is no room for all of the state, what no prompt may lack stays of it.
        for options in &stated {
            made = Told::default();
            planned = match due.work {
                Work::Reword => match planning.resumed(options).await {
                    Some(mut made) => {
                        planning.credit(&mut made, &options.policy, &[]);
                        Planned::Made(made)
                    }
                    None => return Ok(ControlFlow::Break(None)),
                },
                _ => planning.make(&orders, options, &attempts, &mut made).await,
            };
            match &planned {
                Planned::Made(made) if self.refusal(made, size, due).is_some() => {}
                Planned::Made(made) if lacks_summary(&made.plan, &orders) => {}
                Planned::CannotFit { .. } | Planned::Passed => {}
                _ => break,
            }
        }
        let happened = told.happened.into_iter().chain(made.happened);
        happened.for_each(|one| events.add([size, size], one));
        state.to_pin.extend(told.pins);
        let skip = match planned {
            Planned::Passed => {
                passed.moved = moved;
                return Ok(ControlFlow::Continue(()));
            }
            Planned::Made(compressed) => match self.refusal(&compressed, size, due) {
                None => {
                    let mark = moved.as_ref().map(|(moved, _)| moved.place());
                    let told = work::told(&compressed.plan, &ground.tail.came, older);
                    let tells = [mark.map(|mark| [mark; 2]), told].into_iter().flatten();
                    let tells = tells.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]);
                    let epoch = self.epoch(&compressed, tells, ground, whole, due);
                    let Some(epoch) = epoch else { return Ok(ControlFlow::Break(None)) };
                    let epoch = Epoch { tokens: [size, compressed.size[1]], ..epoch };
                    let epoch = match in_force.filter(|_| due.work == Work::Reword) {
                        Some(in_force) => in_other_words(epoch, in_force.epoch),
                        None => epoch,
                    };
                    let views = [whole.view(), &compressed.view];
                    let moved = moved.map(|(it, by)| (it.taking(views, epoch.tokens), by));
                    let truncated = inputs::truncated(&compressed.plan, &planning, tokens);
                    let late = self.late(ground, &planning, &orders, &compressed, &options);
                    let standing = standing.within(&compressed.plan);
                    let ahead = ahead.unwrap_or_default().within(&compressed.plan);
                    let words = [&standing, &ahead].map(Worded::confidence).into_iter();
                    let confidence = words.chain([made.confidence]).flatten().reduce(f64::min);
                    let told = (passed.snapshot, confidence);
                    let mut proposal = self.proposal(ground, *compressed, epoch, told);
                    (proposal.moved, proposal.written, proposal.late) = (moved, made.written, late);
                    proposal
                        .written
                        .extend([&standing, &ahead].into_iter().flat_map(Worded::texts));
                    proposal.beside.extend(standing.events());
                    if due.work == Work::Reword {
                        proposal.rewords = true;
                        return Ok(ControlFlow::Break(Some(proposal)));
                    }
                    proposal.beside.splice(0..0, kinds(&proposal.epoch, brief, &orders));
                    proposal.beside.extend(truncated);
                    PROPOSED.into_iter().for_each(|stage| events.stage([size; 2], stage));
                    return Ok(ControlFlow::Break(Some(proposal)));
                }
                // The window forces it; that it brings little is no news.
                Some(Skip::Stalled) if due.cause == Cause::Hard => {
                    return Ok(ControlFlow::Break(None));
                }
                Some(skip) => skip,
            },
            Planned::Skipped(skip) => skip,
            Planned::CannotFit { budget, floor } if due.forced && ground.live.enforced => {
                return Err(Error::CannotFit { budget, floor });
            }
            Planned::CannotFit { .. } => Skip::NothingToCompress,
            Planned::Refused(error) => {
                let cause = error.to_string();
                let remedy = "the conversation goes on as it was; please report this".to_owned();
                let stage = Stage::Validation;
                events.add([size, size], Happened::CompressionError { stage, cause, remedy });
                return Ok(ControlFlow::Break(None));
            }
        };
        state.meter.stalled(size);
        events.add([size, size], Happened::CompressionSkipped { reason: skip });
        if let Some((moved, by)) = moved {
            events.add([size, size], moved.event());
            state.doing.push((moved.act(), by));
        }
        Ok(ControlFlow::Break(None))
    }

    /// Why a compression is not applied.
    fn refusal(&self, compressed: &Compressed<'_>, size: u64, due: Due) -> Option<Skip> {
        let (after, options) = (compressed.size[1], &self.settings.profile.options.compress);
        match () {
            () if due.work == Work::Reword => None,
            () if after >= size => Some(Skip::NotSmaller),
            () if after > due.worth => Some(Skip::NotWorth),
            () if due.cause == Cause::Soft && stalled(size, after, options.minimum_gain) => {
                Some(Skip::Stalled)
            }
            () => None,
        }
    }

    fn epoch(
        &self,
        compressed: &Compressed<'_>,
        tells: Option<[EntryId; 2]>,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        due: Due,
    ) -> Option<Epoch> {
        let (in_force, number) = (whole.in_force.as_ref(), ground.standing.compressions + 1);
        let keys = &ground.incoming.keys;
        epoch_of(&compressed.plan, keys, tells, in_force, number, due.cause)
    }

    fn proposal(
        &self,
        ground: &Ground<'_, '_>,
        compressed: Compressed<'_>,
        mut epoch: Epoch,
        (snapshot, confidence): (Option<bool>, Option<f64>),
    ) -> Proposal {
        let mut departure = compressed.departure;
        let sent = compressed.view.entries();
        let [all, sent] =
            [ground.tail.thread.entries(), &sent].map(|all| all.iter().collect::<Vec<&Entry>>());
        epoch.must_keep = must_keep(&all, &sent, &departure.passages);
        epoch.confidence = epoch.must_keep.share().min(confidence.unwrap_or(1.0));
        epoch.profile = self.settings.profile.name().to_owned();
        epoch.config = self.settings.profile.config();
        ground.at.clone_into(&mut epoch.at);
        self.departing(&mut departure, ground.name);
        self.redaction.plan(&mut epoch.plan);
        epoch.credits = compressed.ops.iter().map(credit).collect();
        epoch.id = epoch.hash();
        let beside = compressed.warnings.into_iter().map(unwritten).chain(compressed.events);
        let (ops, beside) = (compressed.ops, beside.collect());
        let (moved, written, rewords, late) = (None, Vec::new(), false, None);
        Proposal { epoch, departure, ops, beside, moved, written, snapshot, rewords, late }
    }

    /// Records a proposal, if what it was made from still stands. Gives whether it was recorded;
    /// otherwise it is discarded.
    pub(crate) fn commit(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        state: &mut State,
        proposal: Proposal,
        events: &mut Events,
    ) -> Result<bool, Error> {
        let Proposal { epoch, departure, ops, beside, moved, written, snapshot, rewords, .. } =
            proposal;
        if !rewords && snapshot.unwrap_or(self.settings.profile.options.snapshots.auto) {
            self.snapshot_before(ground, whole, &epoch, events);
        }
        if self.has_moved(ground.name) {
            return Ok(false);
        }
        let (journal, scope) = (&*self.journal, &*self.scope);
        loop {
            match journal.commit(scope, ground.name, &epoch, &departure, state.seen)? {
                Commit::Done(seen) => {
                    state.seen = seen;
                    break;
                }
                Commit::Behind => {
                    let pinned = state.pinned(0);
                    let erased = Arc::clone(&state.erased);
                    state.reread(journal, scope)?;
                    // What was made of it must not come back.
                    if state.erased != erased {
                        return Ok(false);
                    }
                    let now = self.read_whole(
                        ground.source,
                        &state.lineage,
                        ground.tail,
                        &ground.incoming.keys,
                    )?;
                    if now.standing().epoch != whole.standing().epoch || state.pinned(0) != pinned {
                        return Ok(false);
                    }
                }
            }
        }
        if let (true, Some(same)) = (rewords, whole.standing().epoch) {
            // It is said anew: whoever takes the one back takes back both.
            journal.mark(scope, ground.name, &Mark::Undo(same), ground.at)?;
        }
        state.written = written;
        if !rewords {
            events.stage(epoch.tokens, Stage::ContextUpdate);
            events.add(
                epoch.tokens,
                Happened::Compressed {
                    epoch: epoch.id.short(),
                    number: epoch.number,
                    cause: epoch.cause,
                    ops,
                    must_keep: epoch.must_keep,
                },
            );
        }
        beside.into_iter().for_each(|one| events.add(epoch.tokens, one));
        if let Some((moved, by)) = moved {
            events.add(epoch.tokens, moved.event());
            state.doing.push((moved.act(), by));
        }
        let returning = state.acts.as_ref().map_or(&[][..], |acts| &acts.returning);
        if !returning.is_empty() && recalled::says(&epoch.plan, returning) {
            state.doing.push((Act::Returned, By::Policy(epoch.profile.clone())));
        }
        Arc::make_mut(&mut state.lineage).extend([Recorded::from(epoch)]);
        Ok(true)
    }
}

/// What a compression is besides: by the class of its window, by whoever wanted it, by its reach
/// (SPEC 10).
fn kinds(epoch: &Epoch, brief: &Brief, orders: &Orders) -> Vec<Happened> {
    let id = || epoch.id.short();
    let classed = || Classed { epoch: id(), strategy: brief.budgets.strategy.clone() };
    let class = brief.common.class.and_then(|class| Happened::of_class(class, classed()));
    let own = epoch.cause != Cause::Manual;
    let own = own.then(|| Happened::AutoSummaryCreated { epoch: id(), cause: epoch.cause });
    let over = orders.ops.iter().any(|order| matches!(order, Order::Rollover(_)));
    let over = over.then(|| Happened::RolloverComplete { epoch: id() });
    class.into_iter().chain(own).chain(over).collect()
}

/// Who ordered an op, as its report says.
fn credit(op: &OpReport) -> Credit {
    Credit { policy: op.policy.clone(), hook: op.hook.clone(), line: op.line }
}

/// Whether talk was to be summed up, and leaves with nothing that stands for it.
fn lacks_summary(plan: &Plan, orders: &Orders) -> bool {
    let sums_up = |order: &Order| {
        matches!(
            order,
            Order::Fit(_)
                | Order::Summarize(_)
                | Order::Merge(_)
                | Order::FoldUser(_)
                | Order::Rollover(_)
        )
    };
    let drops = plan.ops.iter().any(|op| matches!(op, Op::Drop { .. }));
    drops
        && orders.ops.iter().any(sums_up)
        && !plan.ops.iter().any(|op| matches!(op, Op::Summarize(_)))
}

/// A summary that came to nothing; another one was made.
fn unwritten(cause: String) -> Happened {
    let remedy = "the next summariser was asked in its place".to_owned();
    Happened::CompressionError { stage: Stage::Summarisation, cause, remedy }
}
