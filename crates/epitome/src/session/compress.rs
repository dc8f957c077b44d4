//! The compression of a live conversation: proposed over a snapshot of the history, recorded by
//! compare-and-swap.
//!
//! Invariant: a proposal changes nothing; what a failed one leaves behind is an event. After a
//! commit the view is derived from the records, as after a restart.

use epitome_extract::Facts;
use epitome_kernel::{Commit, Departure, InForce, Sizes, Thread, View, epoch_of, identity};
use epitome_plan::{Compressed, Envelope, floor, stalled};
use epitome_types::hook::{
    Budgets, Common, Occasion, Order, Orders, Strength, Trigger, TriggerJob,
};
use epitome_types::{
    Breakdown, Budget, Cause, Classed, Entry, Epoch, EpochId, Happened, MustKeep, OpReport,
    Recorded, Role, Skip, Unit,
};
use epitome_wire::Document;

use super::Session;
use super::events::Events;
use super::state::{Incoming, State};
use crate::Error;
use crate::council::Council;
use crate::facts::{ThreadTexts, columns};
use crate::planning::{Planned, Planning, Told, shaped};
use crate::target::{Held, Live};

/// A request, as far as it is known before anything is done to it.
pub(crate) struct Ground<'a> {
    pub(crate) document: &'a Document<'a>,
    /// The history with what was made smaller on arrival.
    pub(crate) thread: &'a Thread,
    pub(crate) tokens: &'a Sizes<'a>,
    pub(crate) incoming: &'a Incoming,
    pub(crate) live: &'a Live,
    /// Tokens of the request as it came.
    pub(crate) raw: u64,
    pub(crate) name: &'a str,
    /// When it came, ISO 8601.
    pub(crate) at: &'a str,
}

/// What the policies said of a request before anything is decided.
pub(crate) struct Brief {
    pub(crate) council: Council,
    pub(crate) common: Common,
    pub(crate) held: Held,
    /// The same bounds, as policies read them.
    pub(crate) budgets: Budgets,
}

/// A compression that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    cause: Cause,
    /// The size to come to, in tokens.
    target: u64,
}

impl Due {
    /// The sizes that the kernel's own way tries to come to, the most wanted first.
    fn attempts(self, hard: u64, limit: u64) -> impl Iterator<Item = u64> {
        let further = [self.target.midpoint(hard), hard, limit];
        let forced = self.cause == Cause::Hard;
        [self.target].into_iter().chain(further.into_iter().filter(move |_| forced))
    }
}

/// A compression that could be applied.
pub(crate) struct Proposal {
    pub(crate) epoch: Epoch,
    departure: Departure,
    ops: Vec<OpReport>,
    /// What else happened with it.
    beside: Vec<Happened>,
    /// Whether a restore point is made, where a policy said so.
    snapshot: Option<bool>,
}

impl<'a> Ground<'a> {
    /// The history as the records say it is sent, and the epoch that says so.
    pub(crate) fn standing(&self, state: &State) -> (View<'a>, Option<EpochId>) {
        match state.lineage.in_force(self.thread, &self.incoming.keys) {
            Some(in_force) => (in_force.view, Some(in_force.epoch.id)),
            None => (identity(self.thread), None),
        }
    }

    /// Tokens by category: of the history as it came, and as the records say it is sent.
    pub(crate) fn by_category(&self, state: &State) -> [Breakdown; 2] {
        let mut came = identity(self.thread).breakdown(self.tokens);
        // What is made smaller on arrival are results.
        let saved = state.arrived().map(|(_, one)| one.tokens[0].saturating_sub(one.tokens[1]));
        came.tool_results += saved.sum::<u64>();
        [came, self.standing(state).0.breakdown(self.tokens)]
    }

    /// Whether the provider has no prefix of the prompt to read.
    fn is_cold(&self) -> bool {
        !self.incoming.extends() && self.incoming.sent == self.incoming.reconciled.shared()
    }
}

impl Session {
    /// The compression that is due, if one is.
    pub(crate) async fn propose(
        &self,
        ground: &Ground<'_>,
        brief: &Brief,
        state: &mut State,
        events: &mut Events,
    ) -> Result<Option<Proposal>, Error> {
        let size = ground.standing(state).0.size(ground.tokens);
        let Some(due) = self.due(ground, brief, state, size, events).await else {
            return Ok(None);
        };
        // What was taken back stays as it is, unless the window forces it or the user asks.
        let in_force = state.lineage.in_force(ground.thread, &ground.incoming.keys);
        let mut pins = state.pinned();
        if due.cause == Cause::Soft {
            pins.extend(state.lineage.held(&ground.incoming.keys, in_force.as_ref()));
        }
        let thread = Thread::new(ground.thread.entries().to_vec(), &pins);
        let texts = ThreadTexts(&thread);
        let summarizers: Vec<_> = self.settings.summarizers.iter().map(|one| &**one).collect();
        let checkpoints = ground.checkpoints(state);
        let view = ground.standing(state).0;
        let in_tokens = |most| Budget { unit: Unit::Tokens, most };
        let planning = Planning {
            council: &brief.council,
            common: &brief.common,
            budgets: &brief.budgets,
            thread: &thread,
            texts: &texts,
            counter: ground.tokens.gauge().counter,
            summarizers: &summarizers,
            standing: in_force.as_ref().map(InForce::plan).unwrap_or_default(),
            columns: columns(&thread, &view, ground.tokens, &checkpoints),
            checkpoints,
            cause: due.cause,
            target: due.target,
            most: in_tokens(brief.held.hard),
            floor: self.floor(ground),
        };
        let mut told = Told::default();
        let (orders, policy) = planning.orders(&mut told).await;
        let envelope = Envelope { tokens: ground.tokens.envelope(), bytes: 0 };
        let back = self.back();
        let options = (self.settings.profile.compress(back, envelope), back);
        let options = shaped(options, &brief.council, &brief.common, (&orders, policy)).await;
        let attempts = due.attempts(brief.held.hard, ground.live.limit).map(in_tokens);
        let attempts: Vec<_> = attempts.collect();
        let planned = planning.make(&orders, &options, &attempts, &mut told).await;
        told.happened.into_iter().for_each(|one| events.add([size, size], one));
        state.to_pin.extend(told.pins);
        let skip = match planned {
            Planned::Made(compressed) => match self.refusal(&compressed, size, due.cause) {
                None => {
                    let made = self.epoch(&compressed, ground, in_force.as_ref(), state, due);
                    let Some(epoch) = made else { return Ok(None) };
                    let epoch = Epoch { tokens: [size, compressed.size[1]], ..epoch };
                    let snapshot = orders.snapshot;
                    let told = (snapshot, told.confidence);
                    let mut proposal = self.proposal(ground, *compressed, epoch, told);
                    proposal.beside.splice(0..0, kinds(&proposal.epoch, brief, &orders));
                    return Ok(Some(proposal));
                }
                // The window forces it; that it brings little is no news.
                Some(Skip::Stalled) if due.cause == Cause::Hard => return Ok(None),
                Some(skip) => skip,
            },
            Planned::Skipped(skip) => skip,
            Planned::CannotFit { budget, floor }
                if due.cause == Cause::Hard && ground.live.enforced =>
            {
                return Err(Error::CannotFit { budget, floor });
            }
            Planned::CannotFit { .. } => Skip::NothingToCompress,
            Planned::Refused(error) => {
                let cause = error.to_string();
                let remedy = "the conversation goes on as it was; please report this".to_owned();
                let stage = "check";
                events.add([size, size], Happened::CompressionError { stage, cause, remedy });
                return Ok(None);
            }
        };
        state.meter.stalled(size);
        events.add([size, size], Happened::CompressionSkipped { reason: skip });
        Ok(None)
    }

    /// What cannot shrink, in tokens.
    fn floor(&self, ground: &Ground<'_>) -> u64 {
        floor(ground.thread, ground.tokens, |part| ground.tokens.part(part)).size
    }

    /// Whether a compression is due, as the policies and the bounds say.
    async fn due(
        &self,
        ground: &Ground<'_>,
        brief: &Brief,
        state: &mut State,
        size: u64,
        events: &mut Events,
    ) -> Option<Due> {
        let prices = self.settings.profile.cache_prices();
        let cache = state.meter.look(size, ground.is_cold(), &brief.budgets, prices);
        let new = &ground.thread.entries()[ground.incoming.reconciled.shared()..];
        let mut job = TriggerJob {
            common: brief.common.clone(),
            cause: match self.told.refused {
                Some(_) => Occasion::Overflow,
                None if self.asked => Occasion::Manual,
                None => Occasion::Turn,
            },
            replied: new.iter().any(|entry| entry.role == Role::Assistant),
            floor: self.floor(ground),
            budgets: brief.budgets.clone(),
            cache,
            stalled: state.meter.stalled_at(),
        };
        let said = brief.council.ask(&mut job, |rest, job| rest.trigger(job)).await;
        let (cause, target) = match said {
            Some(Trigger::Compress(due)) => {
                let cause = match due.level {
                    Strength::Soft => Cause::Soft,
                    Strength::Hard => Cause::Hard,
                };
                (Some(cause), due.target)
            }
            Some(Trigger::Pass(passed)) => {
                events.add([size, size], Happened::CompressionSkipped { reason: passed.skip });
                (None, None)
            }
            Some(Trigger::Wait(_)) | None => (None, None),
        };
        let forced = (size > brief.held.hard).then_some(Cause::Hard);
        let manual = self.asked.then_some(Cause::Manual);
        let target = target.unwrap_or(brief.held.target).min(brief.held.hard);
        cause.max(forced).max(manual).map(|cause| Due { cause, target })
    }

    /// Why a compression is not applied.
    fn refusal(&self, compressed: &Compressed<'_>, size: u64, cause: Cause) -> Option<Skip> {
        let (after, options) = (compressed.size[1], &self.settings.profile.options.compress);
        match () {
            () if after >= size => Some(Skip::NotSmaller),
            () if cause == Cause::Soft && stalled(size, after, options.minimum_gain) => {
                Some(Skip::Stalled)
            }
            () => None,
        }
    }

    fn epoch(
        &self,
        compressed: &Compressed<'_>,
        ground: &Ground<'_>,
        in_force: Option<&InForce<'_, '_>>,
        state: &State,
        due: Due,
    ) -> Option<Epoch> {
        let number = state.lineage.compressions(in_force.map(|it| it.epoch.id)) + 1;
        epoch_of(&compressed.plan, &ground.incoming.keys, in_force, number, due.cause)
    }

    fn proposal(
        &self,
        ground: &Ground<'_>,
        compressed: Compressed<'_>,
        mut epoch: Epoch,
        (snapshot, confidence): (Option<bool>, Option<f64>),
    ) -> Proposal {
        let mut departure = compressed.departure;
        let sent = compressed.view.entries();
        let [all, sent] =
            [ground.thread.entries(), &sent].map(|all| all.iter().collect::<Vec<&Entry>>());
        let kept = share(Facts::of(&all).kept(&sent, &departure.passages));
        epoch.confidence = kept.min(confidence.unwrap_or(1.0));
        epoch.profile = self.settings.profile.name().to_owned();
        epoch.config = self.settings.profile.config();
        ground.at.clone_into(&mut epoch.at);
        self.departing(&mut departure, ground.name);
        self.redaction.plan(&mut epoch.plan);
        epoch.id = epoch.hash();
        let beside = compressed.warnings.into_iter().map(unwritten).chain(compressed.events);
        Proposal { epoch, departure, ops: compressed.ops, beside: beside.collect(), snapshot }
    }

    /// Records a proposal, if what it was made from still stands. Gives whether it was recorded;
    /// otherwise it is discarded.
    pub(crate) fn commit(
        &self,
        ground: &Ground<'_>,
        state: &mut State,
        proposal: Proposal,
        events: &mut Events,
    ) -> Result<bool, Error> {
        let Proposal { epoch, departure, ops, beside, snapshot } = proposal;
        if snapshot.unwrap_or(self.settings.profile.options.snapshots.auto) {
            self.snapshot_before(ground, &epoch, state, events);
        }
        let (journal, scope) = (&*self.journal, &*self.scope);
        loop {
            match journal.commit(scope, ground.name, &epoch, &departure, state.seen)? {
                Commit::Done(seen) => {
                    state.seen = seen;
                    break;
                }
                Commit::Behind => {
                    let pinned = state.pinned();
                    state.reread(journal, scope)?;
                    if ground.standing(state).1 != epoch.parent || state.pinned() != pinned {
                        return Ok(false);
                    }
                }
            }
        }
        state.meter.compressed();
        events.add(
            epoch.tokens,
            Happened::Compressed {
                epoch: epoch.id.short(),
                number: epoch.number,
                cause: epoch.cause,
                ops,
            },
        );
        beside.into_iter().for_each(|one| events.add(epoch.tokens, one));
        state.lineage.extend([Recorded { epoch, undone: false }]);
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

/// A summary that came to nothing; another one was made.
fn unwritten(cause: String) -> Happened {
    let remedy = "the next summariser was asked in its place".to_owned();
    Happened::CompressionError { stage: "summary", cause, remedy }
}

/// The share of facts that are still in the prompt.
fn share(kept: MustKeep) -> f64 {
    let [here, all] = [kept.constraints, kept.paths, kept.errors, kept.identifiers]
        .into_iter()
        .fold([0, 0], |[here, all], [kept, of]| [here + kept, all + of]);
    if all == 0 { 1.0 } else { f64::from(here) / f64::from(all) }
}
