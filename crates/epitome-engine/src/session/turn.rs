//! One request through the one door: read, reconcile, record, make smaller, compress, write.
//!
//! Invariant: the steps run in this order, each on what the one before gave it (RULES 60); the
//! journal has the messages before an epoch refers to them. What goes on from the last request is
//! read as far as it is new; where a compression is due, or the new part cannot be looked at by
//! itself, all of it is.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use epitome_kernel::{Before, SizeGauge, StoreError, TokenCounter};
use epitome_plan::budget_for_ratio;
use epitome_types::{BudgetUnit, Stage};
use epitome_wire::{Format, RequestScan};

use super::history_tail::HistoryTail;
use super::observe::ObservedTurn;
use super::phases::{Opened, ReadTurn};
use super::state::{ConversationState, PushedHistory};
use super::trigger::DueWork;
use super::turn_context::{PromptLead, TurnContext};
use super::{HistorySource, NextPrompt, Session};
use crate::compressor::BUDGET_VOCABULARY;
use crate::error::Error;
use crate::limit_subject::LimitSubject;
use crate::limits::{PromptLimit, SessionBounds};
use crate::prompt::Prompt;
use crate::request::{AsSource, ParsedRequest};
use crate::setup::Counting;
use crate::source::RequestSource;

/// So often a request is made anew since others went on with its session meanwhile.
pub(super) const OVERTAKEN: u32 = 8;

impl Session {
    /// Takes a request that holds the whole history and gives the prompt to send in its place. A
    /// recording is read as the request that its client would have sent.
    ///
    /// # Errors
    ///
    /// When the request cannot be read, when what cannot shrink exceeds a stated limit, or when
    /// the journal fails; see [`Error`]. The session then stands as it was.
    pub async fn prompt_for(&mut self, request: &[u8]) -> Result<Prompt, Error> {
        let request = ParsedRequest::read(
            request,
            self.settings.formats.input,
            self.settings.formats.output,
        )?;
        let prompt = self.ask(&request.source()?, None).await?;
        self.given = HistorySource::Whole;
        self.settle_goals();
        Ok(prompt)
    }

    /// The same for a provider's request that the host shares and has scanned: where nothing is to
    /// do, the prompt is that very buffer.
    pub(crate) async fn pass(
        &mut self,
        request: &Bytes,
        format: Format,
        scan: &RequestScan,
    ) -> Result<Prompt, Error> {
        let prompt = self.ask(&RequestSource::shared(request, format, scan), None).await?;
        self.given = HistorySource::Whole;
        Ok(prompt)
    }

    /// Makes the prompt of a request; `pushed` says what is known of a history that was pushed.
    pub(crate) async fn ask(
        &mut self,
        source: &RequestSource<'_>,
        pushed: Option<PushedHistory>,
    ) -> Result<Prompt, Error> {
        let (mut state, mut overtaken) = (mem::take(&mut self.state), 0);
        self.next.remade = 0;
        // What somebody else records meanwhile may change what this request is made from; the
        // journal tells all that there is to know, after an error too.
        let (state, mut prompt) = loop {
            let (moves, before) = (self.record.journal.moves(), state.told());
            let is_remembered = !state.history.keys.is_empty();
            // In a box, so that none of the callers moves what a turn has at hand.
            match Box::pin(self.turn(source, pushed.clone(), state)).await {
                Ok(Some(done)) => break done,
                Ok(None) => self.next.remade += 1,
                Err(Error::Store(_)) if self.record.journal.moves() > moves => {}
                Err(Error::Store(StoreError::Overtaken { .. })) if overtaken < OVERTAKEN => {
                    overtaken += 1;
                }
                // Somebody deleted it meanwhile: it begins anew.
                Err(Error::Store(StoreError::NoSession { .. } | StoreError::Damaged { .. }))
                    if is_remembered => {}
                Err(error) => return Err(error),
            }
            state = Box::new(ConversationState::anew(before));
        };
        (self.state, self.record.name) = (state, Some(prompt.session.clone()));
        (self.next, self.told.refused) = (NextPrompt::default(), None);
        prompt.overtaken |= overtaken > 0;
        self.tell_of_store(&mut prompt);
        self.tell(&prompt.events);
        Ok(prompt)
    }

    /// Reads a request and has its results made smaller as they arrive. Gives nothing where somebody
    /// else changed the session meanwhile.
    async fn turn(
        &mut self,
        source: &RequestSource<'_>,
        pushed: Option<PushedHistory>,
        mut state: Box<ConversationState>,
    ) -> Result<Option<(Box<ConversationState>, Prompt)>, Error> {
        let counter = self.counter_for(source.model());
        let gauge = SizeGauge { counter: &*counter, unit: BudgetUnit::Tokens };
        let erased = pushed.as_ref().map(|known| known.erased);
        let Opened { reading, memory, name, events, cold, council, updated } =
            self.open(source, pushed, &mut state, &counter)?;

        let (at, lineage) = (events.at.clone(), Arc::clone(&state.lineage));
        let (fresh, smaller);
        fresh = reading.tail(source, self.recorded(&state), gauge)?;
        let live = self.live(source, self.told.window, &fresh)?;
        let survey =
            |tail, state: &ConversationState| self.survey(source, tail, &lineage, &reading, state);
        let (mut whole, tally, standing) = survey(&fresh, &state)?;
        let mut ground = TurnContext {
            source,
            incoming: &reading.incoming,
            live: &live,
            name: &name,
            at: &at,
            cold,
            prices: self.prices(source),
            lead: PromptLead { schemas: reading.schemas, ..PromptLead::default() },
            tail: &fresh,
            tally,
            typed: reading.typed(),
            standing,
        };
        if let Some(erased) = erased {
            self.meet_system(&mut ground, &state, erased)?;
        }
        let mut arrival = self.arrival(&ground, &council, &state).await;
        self.bring_back(&ground, &mut arrival, &mut state);
        if !arrival.rewrites.is_empty() {
            state.history.arrive(&arrival.rewrites);
            smaller = reading.tail(source, self.recorded(&state), gauge)?;
            (whole, ground.tally, ground.standing) = survey(&smaller, &state)?;
            ground.tail = &smaller;
        }
        let read = ReadTurn { ground, whole, memory, arrival, council, updated, events };
        // In a box: what is given to a future by value takes its room twice.
        self.carry_out(Box::new(read), state).await
    }

    /// Decides what becomes of a request that was read, records it, and writes the prompt.
    async fn carry_out(
        &mut self,
        read: Box<ReadTurn<'_, '_>>,
        mut state: Box<ConversationState>,
    ) -> Result<Option<(Box<ConversationState>, Prompt)>, Error> {
        let ReadTurn { mut ground, mut whole, memory, arrival, council, updated, mut events } =
            *read;
        let (source, keys) = (ground.source, &ground.incoming.keys);
        let lineage = Arc::clone(&state.lineage);
        let (full, committed);
        self.announce(&ground, &state, &arrival, updated, &mut events);
        let decided = self.decide(&mut ground, council, &mut state, &mut events).await;
        let goals = self.hear_goals(&ground, &decided.brief, &mut state, &mut events).await;
        // What a host pushed is recorded by now; a compression may wait long for a model.
        if ground.incoming.recorded >= keys.len() {
            self.enact_said(&mut state, ground.name, ground.at)?;
        }
        self.take_answers(&mut state);
        // What policies pin of old messages depends on how those are sent.
        let reads_whole = decided.reads_whole() || !state.work.answered.is_empty();
        if reads_whole && whole.is_none() {
            let (entries, gauge) = (source.document()?.entries(), *ground.tail.tokens.gauge());
            full = HistoryTail::of(
                entries,
                Before::default(),
                self.recorded(&state),
                gauge,
                ground.lead.schemas,
            );
            whole = Some(self.read_whole(source, &lineage, &full, keys)?);
            ground.tail = &full;
        }
        let observed = ObservedTurn { ground: &ground, brief: &decided.brief };
        let shown = self.show_new(observed, whole.as_ref(), goals, &mut state, &mut events).await?;
        let proposal =
            self.proposed(&ground, whole.as_ref(), &decided, &mut state, &mut events).await;
        let proposed = proposal.as_ref().ok().and_then(Option::as_deref);
        let epoch = proposed.map(|it| &it.epoch);
        if !self.offload(&ground, whole.as_ref(), &state, epoch, &mut events)
            || self.record.has_moved(ground.name)
        {
            return Ok(None);
        }
        // What was said is recorded whatever becomes of it, one that cannot fit too (RULES 6).
        self.append_said(&ground, &decided, proposed, arrival, &mut state)?;
        let aside = mem::take(&mut state.work.aside);
        self.archive(&ground, &aside, &mut events)?;
        let proposal = proposal?;
        let is_made = proposal.as_ref().is_some_and(|it| !it.rewords);
        if let (Some(mut proposal), Some(before)) = (proposal, &whole) {
            let late = proposal.late.take();
            if !self.commit(&ground, before, &mut state, *proposal, &mut events)? {
                return Ok(None);
            }
            committed = Arc::clone(&state.lineage);
            let after = self.read_whole(source, &committed, ground.tail, keys)?;
            self.stand_on(&mut ground, &after, &mut state, &mut events);
            self.applied(ground.standing.epoch, late);
            whole = Some(after);
        } else if decided.due.is_some_and(|due| due.work == DueWork::Reword) {
            self.unfit(ground.standing.epoch);
        }
        if let Some(whole) = &whole {
            self.look_ahead(&ground, whole, &decided.brief, &state, decided.drafts).await;
        }
        let written = self.put_down(&ground, whole.as_ref(), memory, &state)?;
        let Some((bytes, remembered)) = written else { return Ok(None) };
        if is_made {
            events.stage([decided.size, ground.size()[1]], Stage::Validation);
        }
        self.hand_over(&ground, whole.as_ref(), aside, &mut events)?;
        state.memory = Some(remembered);
        let observed = ObservedTurn { ground: &ground, brief: &decided.brief };
        let status = self.look_back(observed, shown, &mut state, &mut events).await?;
        let prompt = self.prompt_of(&ground, bytes);
        Ok(Some((state, Prompt { status, events: events.into(), ..prompt })))
    }

    /// What is known of a request as it is sent.
    pub(super) fn prompt_of(&self, ground: &TurnContext<'_, '_>, bytes: Bytes) -> Prompt {
        let tokens = ground.size();
        Prompt {
            bytes,
            session: ground.name.to_owned(),
            tokens,
            by: ground.by(),
            limit: ground.live.limit,
            fits: tokens[1] <= ground.live.limit,
            head: ground.incoming.chains.last().copied().unwrap_or_default(),
            epoch: ground.standing.epoch,
            status: None,
            overtaken: ground.incoming.extends() && ground.incoming.recorded_end.overtaken,
            events: Vec::new(),
            about: self.about(ground.source, ground.tail),
        }
    }

    /// The counter for a request, with what it counted before.
    pub(crate) fn counter_for(&self, model: Option<&str>) -> Arc<dyn TokenCounter> {
        let name = match &self.settings.sizes.counting {
            Counting::Own(own) => return own.clone(),
            Counting::Model(name) => name.as_str(),
            Counting::Default => model.unwrap_or(BUDGET_VOCABULARY),
        };
        self.shared.counter(name)
    }

    /// Whom a prompt is for, and who counts it.
    fn about(&self, source: &RequestSource<'_>, tail: &HistoryTail<'_>) -> LimitSubject {
        let counter = tail.tokens.gauge().counter.id();
        LimitSubject::new(&self.record.scope, source.format.name(), source.model(), counter)
    }

    /// The bounds of the prompt. `told` is the limit where the user states none; without it the
    /// request is asked.
    pub(super) fn live(
        &self,
        source: &RequestSource<'_>,
        told: Option<PromptLimit>,
        tail: &HistoryTail<'_>,
    ) -> Result<SessionBounds, Error> {
        let told = told.or(PromptLimit::of_request(source.scan.context_size));
        let known = self.known(source.format, source.model(), &self.about(source, tail), told)?;
        let by_ratio = |ratio| budget_for_ratio(&tail.thread, &tail.tokens, ratio).most;
        let live = self.settings.sizes.target.live(known, by_ratio)?;
        Ok(live.bounded(self.told.refused, self.told.hub))
    }
}
