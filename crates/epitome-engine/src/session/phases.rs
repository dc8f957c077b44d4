//! The phases of a turn, each with what it gives to the next.
//!
//! Invariant: a phase that decides records nothing, and what is decided once is not asked again.
//! Called by the turn, in this order.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use epitome_kernel::{AppendBatch, HistoryMatch, TokenCounter};
use epitome_plan::{ArrivalOutcome, CacheMeter};
use epitome_types::hook::Status;
use epitome_types::{ContentId, EntryId, EventKind};

use super::Session;
use super::events::TurnEvents;
use super::history_stats::HistoryStats;
use super::observe::{ObservedTurn, ShownMessage};
use super::offload::Offload;
use super::prefix_cache::PrefixCache;
use super::proposal::{PolicyContext, Proposal};
use super::proposing::Proposing;
use super::reading::TurnReading;
use super::state::{ConversationState, IncomingHistory, LastPrompt, PushedHistory};
use super::trigger::DueCompression;
use super::turn_context::{FullHistory, TurnContext};
use crate::background::BackgroundWorker;
use crate::error::Error;
use crate::policy_runner::PolicyRunner;
use crate::source::RequestSource;

/// A request that was read, and the session that it goes on in.
pub(super) struct Opened {
    pub(super) reading: TurnReading,
    /// The remembered request that it goes on from, where only what is new was read.
    pub(super) memory: Option<PrefixCache>,
    pub(super) name: String,
    pub(super) events: TurnEvents,
    /// Whether the provider has no prefix of the prompt to read.
    pub(super) cold: bool,
    pub(super) council: PolicyRunner,
    /// What others did to the session meanwhile.
    pub(super) updated: Vec<EventKind>,
}

/// A request that was read, before anything is decided about it.
pub(super) struct ReadTurn<'a, 's> {
    pub(super) ground: TurnContext<'a, 's>,
    /// The history as the records have it sent, where all of it was read.
    pub(super) whole: Option<FullHistory<'a, 'a>>,
    /// The remembered request that it goes on from, where only what is new was read.
    pub(super) memory: Option<PrefixCache>,
    /// Results that were made smaller on arrival.
    pub(super) arrival: ArrivalOutcome,
    pub(super) council: PolicyRunner,
    /// What others did to the session meanwhile.
    pub(super) updated: Vec<EventKind>,
    pub(super) events: TurnEvents,
}

/// What the policies decided about a request.
pub(super) struct Decided {
    pub(super) brief: PolicyContext,
    pub(super) due: Option<DueCompression>,
    /// Whether a compression is worked out for later.
    pub(super) drafts: bool,
    /// Tokens of the prompt as the records have it sent, with the system prompt that it came with.
    pub(super) size: u64,
    /// What the trigger went by.
    pub(super) meter: CacheMeter,
}

impl Decided {
    pub(super) fn reads_whole(&self) -> bool {
        self.due.is_some() || self.drafts
    }
}

impl Session {
    /// Reads a request, has the session go on from its records, and loads the policies.
    pub(super) fn open(
        &mut self,
        source: &RequestSource<'_>,
        pushed: Option<PushedHistory>,
        state: &mut ConversationState,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<Opened, Error> {
        self.settle(source)?;
        state.work.in_pause = pushed.as_ref().is_some_and(|known| known.in_pause);
        if self.offload.as_ref().is_some_and(Offload::has_lost) {
            state.memory = None;
        }
        let known = Arc::clone(&state.history.erased);
        let (reading, memory) = self.read(source, pushed, state, counter, true)?;
        if *known != *state.history.erased {
            self.background.iter_mut().for_each(BackgroundWorker::forget);
        }
        let incoming = &reading.incoming;
        let name = incoming.session.clone();
        self.record.lasting = self.record.journal.lasts(&self.record.scope, &name);
        let mut events = TurnEvents::new(&name, self.now());
        events.cut(self.shared.lessons.untold(&self.record.scope, &name));
        let cold = self.resume(incoming, &name, &events.at, state)?;
        self.readdress(state);
        // Of what its provider keeps no message is here.
        let updated = self.meet_acts(state, incoming, !source.scan.continued)?;
        self.meet_facts(state, incoming);
        let council = self.council(state, &name, incoming, counter)?;
        Ok(Opened { reading, memory, name, events, cold, council, updated })
    }

    /// Takes up a session where its records end. Says whether the provider has no prefix of the
    /// prompt to read: what it read last is too old, or is not what this goes on from.
    fn resume(
        &self,
        incoming: &IncomingHistory,
        name: &str,
        at: &str,
        state: &mut ConversationState,
    ) -> Result<bool, Error> {
        let is_known = incoming.recorded > 0 || incoming.inherits();
        let end = &incoming.recorded_end;
        if !incoming.extends() || end.overtaken {
            self.shared.lessons.forget(&self.record.scope);
            for lost in self.record.journal.damage(&self.record.scope, name)? {
                tracing::warn!(target: "epitome", session = name, "damaged, and left out: {lost}");
            }
            state.meter = match is_known {
                true => {
                    CacheMeter::from_reading(self.record.journal.meter(&self.record.scope, name)?)
                }
                false => CacheMeter::default(),
            };
            state.last.clone_from(&end.last);
        }
        let ttl = Duration::from_secs(self.settings.profile.options.cache.ttl);
        let instant = |at: &str| humantime::parse_rfc3339_weak(at).ok();
        let passed = |last: &str| instant(at)?.duration_since(instant(last)?).ok();
        let passed = state.last.as_deref().and_then(passed);
        let is_old = passed.is_some_and(|passed| passed > ttl);
        state.work.rested = is_old;
        Ok(is_old || !incoming.extends() && !end.goes_on)
    }

    /// Tells what is known of a request before anything is decided about it.
    pub(super) fn announce(
        &mut self,
        ground: &TurnContext<'_, '_>,
        state: &ConversationState,
        arrival: &ArrivalOutcome,
        updated: Vec<EventKind>,
        events: &mut TurnEvents,
    ) {
        let (incoming, [raw, size]) = (ground.incoming, ground.size());
        updated.into_iter().for_each(|told| events.add([size; 2], told));
        self.next.taken_back.iter().for_each(|told| events.add([size; 2], told.clone()));
        self.hear(size, events);
        if let HistoryMatch::Branch { at } = incoming.reconciled {
            events.add([raw, raw], EventKind::Branched { at: EntryId(at as u32).to_string() });
        }
        events.arrived(&arrival.rewrites, &incoming.keys);
        let last = state.last_prompt.filter(|last| incoming.goes_on_from(last));
        if last.is_some_and(|last| ground.standing.epoch != last.epoch) {
            let compaction = ground.standing.epoch.map(ContentId::short);
            events.add([raw, raw], EventKind::CompactionChanged { compaction });
        }
    }

    /// Asks the policies what is due. A system prompt that is theirs is put in its place first.
    pub(super) async fn decide(
        &mut self,
        ground: &mut TurnContext<'_, '_>,
        council: PolicyRunner,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Decided {
        let mut brief = self.brief(ground, council).await;
        if self.lacks_system(ground, state)
            && let Some(made) = self.assembled(ground, &brief, state).await
        {
            self.put_in_place(ground, made, state, events);
            brief = self.brief(ground, brief.council).await;
        }
        // What was put in its place is sent with this request already.
        let ([_, size], meter) = (ground.size(), state.meter);
        let due = self.due(ground, &brief, state, events).await;
        let due = due.filter(|due| !self.waits(ground, *due));
        let due = due.or_else(|| self.rewording(ground, &brief));
        let drafts = self.drafts_now(ground, &brief, state, due);
        Decided { brief, due, drafts, size, meter }
    }

    /// What the compression that is due comes to, if that is valid for the provider.
    pub(super) async fn proposed(
        &self,
        ground: &TurnContext<'_, '_>,
        whole: Option<&FullHistory<'_, '_>>,
        decided: &Decided,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<Option<Box<Proposal>>, Error> {
        let (Some(due), Some(whole)) = (decided.due, whole) else { return Ok(None) };
        if self.told.held_out {
            return Ok(None);
        }
        let proposing = Proposing { session: self, ground, whole, brief: &decided.brief, due };
        // In boxes, so that a turn that compresses nothing carries no room for it along.
        match Box::pin(proposing.proposal(state, events)).await? {
            Some(proposal) => Ok(self.sendable(ground, proposal, state, events)?.map(Box::new)),
            None => Ok(None),
        }
    }

    /// Records what is new in a request, and what its trigger went by.
    pub(super) fn append_said(
        &self,
        ground: &TurnContext<'_, '_>,
        decided: &Decided,
        proposed: Option<&Proposal>,
        arrival: ArrivalOutcome,
        state: &mut ConversationState,
    ) -> Result<(), Error> {
        if state.work.in_pause {
            return self.append_paused(ground, decided, proposed, arrival, state);
        }
        let incoming = ground.incoming;
        let sent = proposed.map_or(decided.size, |it| it.epoch.outcome.tokens[1]);
        let is_new = match incoming.reconciled {
            HistoryMatch::Extend { from } => from.min(incoming.sent) < incoming.keys.len(),
            _ => incoming.sent < incoming.keys.len() || !incoming.recorded_end.stands,
        };
        let meter = self.metered(ground, &decided.brief, sent, proposed, state);
        if is_new || !arrival.rewrites.is_empty() || proposed.is_some() {
            let acts = state.said(ground.at);
            let batch = AppendBatch { acts, ..self.batch(ground, arrival, sent, meter.reading()) };
            self.record.journal.append(&self.record.scope, ground.name, &batch)?;
            state.acted(batch.acts.len());
            state.last = Some(ground.at.to_owned());
            state.meter = meter;
        } else {
            // What is not recorded is not remembered: a new process goes on in the same way.
            state.meter = decided.meter;
        }
        Ok(())
    }

    /// Goes on from what was committed, with the system prompt that moves into its place with it.
    pub(super) fn stand_on(
        &mut self,
        ground: &mut TurnContext<'_, '_>,
        after: &FullHistory<'_, '_>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) {
        ground.tally =
            HistoryStats::of(ground.tail, Some(after.view()), &state.history, self.redaction());
        ground.standing = after.standing();
        if let Some(made) = state.work.drafted.take() {
            self.put_in_place(ground, made, state, events);
        }
    }

    /// The bytes of the prompt, and what is remembered of it. `None` where a plan in force made it
    /// invalid and was taken back: it is to be made anew.
    pub(super) fn put_down(
        &mut self,
        ground: &TurnContext<'_, '_>,
        whole: Option<&FullHistory<'_, '_>>,
        memory: Option<PrefixCache>,
        state: &ConversationState,
    ) -> Result<Option<(Bytes, PrefixCache)>, Error> {
        let counter = ground.tail.tokens.gauge().counter;
        let (bytes, remembered) = match (whole, memory) {
            (None, Some(mut memory)) => {
                let (tally, schemas) = (ground.tally.clone(), ground.lead.schemas);
                (memory.grow(ground.source, ground.tail, tally, schemas, &state.history)?, memory)
            }
            (Some(whole), _) => match self.written(ground, whole, counter.id(), state) {
                Err(Error::Invalid(found)) if self.take_back(ground, &found)? => return Ok(None),
                written => written?,
            },
            (None, None) => return Ok(None),
        };
        let bytes = match &ground.lead.mandate {
            Some(mandate) => mandate.put(bytes, ground.source.format)?,
            None => bytes,
        };
        Ok(Some((bytes, remembered)))
    }

    /// What follows from a prompt that is made: what policies want about the messages that they were
    /// shown, what models want, the status.
    pub(super) async fn look_back(
        &mut self,
        observed: ObservedTurn<'_, '_, '_>,
        shown: Vec<ShownMessage>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<Option<Status>, Error> {
        let ObservedTurn { ground, brief } = observed;
        self.take_up(observed, shown, state, events).await?;
        self.wonder(brief, state);
        self.enact(state, ground.name, ground.at)?;
        events.warn(&brief.held, ground.live.limit, ground.size()[1]);
        let status = self.close(ground, brief, state, events).await?;
        let (messages, chains) = (ground.incoming.keys.len(), &ground.incoming.chains);
        let epoch = ground.standing.epoch;
        state.last_prompt = chains.last().map(|&end| LastPrompt { messages, end, epoch });
        self.heard();
        Ok(status)
    }
}
