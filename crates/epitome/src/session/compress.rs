//! The compression of a live conversation: proposed over a snapshot of the history, recorded by
//! compare-and-swap.
//!
//! Invariant: a proposal changes nothing; what a failed one leaves behind is an event. After a
//! commit the view is derived from the records, as after a restart.

use epitome_extract::Facts;
use epitome_kernel::{Commit, Departure, Sizes, Thread, View, epoch_of, identity};
use epitome_plan::{Compressed, Envelope, Outcome, compress, stalled};
use epitome_types::{
    Budget, Cause, Entry, Epoch, EpochId, Happened, MustKeep, OpReport, Recorded, Skip, Unit,
};
use epitome_wire::Document;

use super::Session;
use super::events::Events;
use super::state::{Incoming, State};
use crate::Error;
use crate::target::Live;

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
}

/// A compression that could be applied.
pub(crate) struct Proposal {
    pub(crate) epoch: Epoch,
    departure: Departure,
    ops: Vec<OpReport>,
}

impl<'a> Ground<'a> {
    /// The history as the records say it is sent, and the epoch that says so.
    pub(crate) fn standing(&self, state: &State) -> (View<'a>, Option<EpochId>) {
        match state.lineage.in_force(self.thread, &self.incoming.keys) {
            Some(in_force) => (in_force.view, Some(in_force.epoch.id)),
            None => (identity(self.thread), None),
        }
    }

    /// Whether the provider has no prefix of the prompt to read.
    fn is_cold(&self) -> bool {
        !self.incoming.extends() && self.incoming.recorded == self.incoming.reconciled.shared()
    }
}

impl Session {
    /// The compression that is due, if one is.
    pub(crate) async fn propose(
        &self,
        ground: &Ground<'_>,
        state: &mut State,
        events: &mut Events,
    ) -> Result<Option<Proposal>, Error> {
        let in_force = state.lineage.in_force(ground.thread, &ground.incoming.keys);
        let size =
            in_force.as_ref().map_or(ground.tokens.total(), |it| it.view.size(ground.tokens));
        let manual = self.asked.then_some(Cause::Manual);
        let due = state.meter.turn(size, ground.is_cold(), &ground.live.trigger);
        let Some(cause) = due.max(manual) else { return Ok(None) };
        // What was taken back stays as it is, unless the window forces it or the user asks.
        let mut pins = state.pinned();
        if cause == Cause::Soft {
            pins.extend(state.lineage.held(&ground.incoming.keys, in_force.as_ref()));
        }
        let thread = Thread::new(ground.thread.entries().to_vec(), &pins);
        let envelope = Envelope { tokens: ground.tokens.envelope(), bytes: 0 };
        let options = self.settings.profile.compress(true, envelope);
        let summarizers: Vec<_> = self.settings.summarizers.iter().map(|one| &**one).collect();
        let attempts = ground.live.attempts(cause);
        for (at, &most) in attempts.iter().enumerate() {
            let budget = Budget { unit: Unit::Tokens, most };
            let counter = ground.tokens.gauge().counter;
            match compress(&thread, &options, budget, counter, &summarizers).await {
                Outcome::Compressed(compressed) => {
                    let after = compressed.size[1];
                    let skip = match () {
                        () if after >= size => Some(Skip::NotSmaller),
                        () if cause == Cause::Soft
                            && stalled(size, after, options.minimum_gain) =>
                        {
                            Some(Skip::Stalled)
                        }
                        () => None,
                    };
                    let Some(reason) = skip else {
                        let number =
                            state.lineage.compressions(in_force.as_ref().map(|it| it.epoch.id)) + 1;
                        let keys = &ground.incoming.keys;
                        let Some(mut epoch) =
                            epoch_of(&compressed.plan, keys, in_force.as_ref(), number, cause)
                        else {
                            break;
                        };
                        epoch.tokens = [size, after];
                        return Ok(Some(self.proposal(ground, *compressed, epoch, &events.at)));
                    };
                    if cause != Cause::Hard || reason == Skip::NotSmaller {
                        state.meter.stalled(size);
                        events.add([size, size], Happened::CompressionSkipped { reason });
                    }
                    break;
                }
                Outcome::CannotFit { .. } if at + 1 < attempts.len() => {}
                Outcome::CannotFit { budget, floor }
                    if cause == Cause::Hard && ground.live.enforced =>
                {
                    return Err(Error::CannotFit { budget, floor });
                }
                Outcome::CannotFit { .. } => {
                    state.meter.stalled(size);
                    let reason = Skip::NothingToCompress;
                    events.add([size, size], Happened::CompressionSkipped { reason });
                }
                Outcome::Refused(error) => events.add(
                    [size, size],
                    Happened::CompressionError {
                        stage: "check",
                        cause: error.to_string(),
                        remedy: "the conversation goes on as it was; please report this".to_owned(),
                    },
                ),
                _ => break,
            }
        }
        Ok(None)
    }

    fn proposal(
        &self,
        ground: &Ground<'_>,
        compressed: Compressed<'_>,
        mut epoch: Epoch,
        at: &str,
    ) -> Proposal {
        let mut departure = compressed.departure;
        let sent = compressed.view.entries();
        let [all, sent] =
            [ground.thread.entries(), &sent].map(|all| all.iter().collect::<Vec<&Entry>>());
        epoch.confidence = share(Facts::of(&all).kept(&sent, &departure.passages));
        epoch.profile = self.settings.profile.name().to_owned();
        epoch.config = self.settings.profile.config();
        at.clone_into(&mut epoch.at);
        self.departing(&mut departure, ground.name);
        self.redaction.plan(&mut epoch.plan);
        epoch.id = epoch.hash();
        Proposal { epoch, departure, ops: compressed.ops }
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
        self.snapshot_before(ground, &proposal.epoch, state, events);
        let Proposal { epoch, departure, ops } = proposal;
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
        state.lineage.extend([Recorded { epoch, undone: false }]);
        Ok(true)
    }
}

/// The share of facts that are still in the prompt.
fn share(kept: MustKeep) -> f64 {
    let [here, all] = [kept.constraints, kept.paths, kept.errors, kept.identifiers]
        .into_iter()
        .fold([0, 0], |[here, all], [kept, of]| [here + kept, all + of]);
    if all == 0 { 1.0 } else { f64::from(here) / f64::from(all) }
}
