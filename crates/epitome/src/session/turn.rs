//! One request through the one door: read, reconcile, record, make smaller, compress, write.
//!
//! Invariant: the steps run in this order, each on what the one before gave it (HOUSE 3); the
//! journal has the messages before an epoch refers to them.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use epitome_count::tools;
use epitome_kernel::{Counter, Gauge, Reconciled, Sizes, Thread};
use epitome_plan::{Arrival, Meter, arrive, arriving};
use epitome_types::hook::ArriveJob;
use epitome_types::{
    Body, ContentId, Edit, Entry, EntryId, EpochId, Happened, Part, PartId, Rewrite, Unit,
};
use epitome_wire::{Document, Format};

use super::Given;
use super::Session;
use super::compress::Ground;
use super::events::Events;
use super::prompt::Prompt;
use super::state::{Incoming, Known, State};
use crate::Error;
use crate::builder::Counting;
use crate::compressor::{BUDGET_VOCABULARY, tool_format};
use crate::council::Council;
use crate::outgoing::outgoing;
use crate::request::Request;
use crate::target::{Live, Window};

impl Session {
    /// Takes a request that holds the whole history and gives the prompt to send in its place. A
    /// recording is read as the request that its client would have sent.
    ///
    /// # Errors
    ///
    /// When the request cannot be read, when what cannot shrink exceeds a stated limit, or when
    /// the journal fails; see [`Error`]. The session then stands as it was.
    pub async fn send(&mut self, request: &[u8]) -> Result<Prompt, Error> {
        let request = Request::read(request, self.settings.format, self.settings.to)?;
        let prompt = self.ask(&request.document()?, None, None).await?;
        self.given = Given::Whole;
        Ok(prompt)
    }

    /// The same for a provider's request that the host shares: where nothing is to do, the prompt is
    /// that very buffer.
    pub(crate) async fn pass(&mut self, request: &Bytes, format: Format) -> Result<Prompt, Error> {
        let document = Document::parse(request, format)?;
        let prompt = self.ask(&document, Some(request), None).await?;
        self.given = Given::Whole;
        Ok(prompt)
    }

    /// Makes the prompt of a request. `whole` is its buffer, where that is shared; `pushed` says what is known of a history that was pushed.
    pub(crate) async fn ask(
        &mut self,
        document: &Document<'_>,
        whole: Option<&Bytes>,
        pushed: Option<Known>,
    ) -> Result<Prompt, Error> {
        let mut state = mem::take(&mut self.state);
        // What somebody else records meanwhile may change what this request is made from; the
        // journal tells all that there is to know, after an error too.
        let (state, prompt) = loop {
            if let Some(done) = self.turn((document, whole), pushed.clone(), state).await? {
                break done;
            }
            state = State::default();
        };
        (self.state, self.name) = (state, Some(prompt.session.clone()));
        (self.asked, self.claim, self.told.refused) = (false, None, None);
        self.tell(&prompt.events);
        Ok(prompt)
    }

    async fn turn(
        &mut self,
        (document, whole): (&Document<'_>, Option<&Bytes>),
        pushed: Option<Known>,
        mut state: State,
    ) -> Result<Option<(State, Prompt)>, Error> {
        let counter = self.counter_for(document.model());
        let gauge = Gauge { counter: &*counter, unit: Unit::Tokens };
        let schemas = tools(&*counter, tool_format(document.format()), &document.tool_schemas());

        let incoming = state.meet(document, pushed, &*self.journal, &self.scope)?;
        let name = self.name_for(&incoming)?;
        if incoming.reconciled == Reconciled::New && incoming.recorded > 0 {
            state.meter = Meter::from_rent(self.journal.rent(&self.scope, &name)?);
        }
        let council = self.council(&mut state, &name, &incoming, &counter)?;
        let mut events = Events::new(&name, (self.clock)());
        let at = events.at.clone();

        let mut thread = sent_as(document.entries(), &state);
        let mut tokens = Sizes::of(thread.entries(), gauge, schemas);
        let live = self.live(document, self.told.window, &thread, &tokens)?;
        let (name, at) = (&*name, &*at);
        let asked = Asked { document, incoming: &incoming, live: &live, name, at };
        let came = asked.ground(&thread, &tokens, tokens.total());
        let arrival = self.arrival(&came, &council, &state).await;
        if !arrival.rewrites.is_empty() {
            state.arrive(&arrival.rewrites);
            thread = sent_as(document.entries(), &state);
            tokens = Sizes::of(thread.entries(), gauge, schemas);
        }
        let saved = |rewrite: &Rewrite| rewrite.tokens[0].saturating_sub(rewrite.tokens[1]);
        let raw = tokens.total() + state.arrived().map(|(_, one)| saved(one)).sum::<u64>();
        if let Reconciled::Branch { at } = incoming.reconciled {
            events.add([raw, raw], Happened::Branched { at: EntryId(at as u32).to_string() });
        }
        events.arrived(&arrival.rewrites, &incoming.keys);

        let ground = asked.ground(&thread, &tokens, raw);
        let (_, in_force) = ground.standing(&state);
        if incoming.extends() && in_force != state.epoch {
            let epoch = in_force.map(ContentId::short);
            events.add([raw, raw], Happened::EpochChanged { epoch });
        }
        let brief = self.brief(&ground, council, &state).await;
        // What was said is recorded whatever becomes of it, one that cannot fit too (SPEC 2.6).
        let proposal = self.propose(&ground, &brief, &mut state, &mut events).await;
        let sent = match &proposal {
            Ok(Some(proposal)) => proposal.epoch.tokens[1],
            _ => ground.standing(&state).0.size(&tokens),
        };
        let proposed = proposal.as_ref().ok().and_then(Option::as_ref).map(|it| &it.epoch);
        if !self.offload(&ground, &state, proposed, &mut events) {
            return Ok(None);
        }
        let batch = self.batch(&ground, arrival, sent, state.meter.rent, at);
        self.journal.append(&self.scope, name, &batch)?;
        if let Some(proposal) = proposal?
            && !self.commit(&ground, &mut state, proposal, &mut events)?
        {
            return Ok(None);
        }
        self.observe(&ground, &brief, &mut state, &mut events).await?;
        let (bytes, size, epoch) = written(&ground, whole, &state)?;
        events.warn(&brief.held, live.limit, size);
        let status = self.close(&ground, &brief, &mut state, &mut events).await?;
        state.epoch = epoch;
        let prompt = Prompt {
            bytes,
            session: name.to_owned(),
            tokens: [raw, size],
            by: ground.by_category(&state),
            limit: live.limit,
            fits: size <= live.limit,
            head: incoming.chains.last().copied().unwrap_or_default(),
            epoch,
            status,
            events: events.into(),
        };
        Ok(Some((state, prompt)))
    }

    /// The counter for a request, with what it counted before.
    pub(crate) fn counter_for(&self, model: Option<&str>) -> Arc<dyn Counter> {
        let name = match &self.settings.counting {
            Counting::Own(own) => return own.clone(),
            Counting::Model(name) => name.as_str(),
            Counting::Default => model.unwrap_or(BUDGET_VOCABULARY),
        };
        self.shared.counter(name)
    }

    /// The bounds of the prompt.
    pub(super) fn live(
        &self,
        document: &Document<'_>,
        told: Option<Window>,
        thread: &Thread,
        tokens: &Sizes<'_>,
    ) -> Result<Live, Error> {
        let options = &self.settings.profile.options;
        let window = match self.settings.window {
            Window::Guessed => told.unwrap_or_default(),
            stated => stated,
        };
        let target = self.settings.target;
        let live = target.live(window, document.format(), options, thread, tokens)?;
        Ok(live.bounded(self.told.refused, self.told.hub))
    }

    /// What is made smaller of the entries that were never sent.
    async fn arrival(&self, ground: &Ground<'_>, council: &Council, state: &State) -> Arrival {
        let (thread, tokens, incoming) = (ground.thread, ground.tokens, ground.incoming);
        // What was made smaller already is never made smaller again.
        let mut arriving = arriving(thread, incoming.sent..incoming.keys.len(), tokens);
        arriving.retain(|(part, _)| !state.arrived().any(|(known, _)| known == *part));
        if arriving.is_empty() {
            return Arrival::default();
        }
        let common = self.common(ground, state);
        let mut decided = Vec::with_capacity(arriving.len());
        for (part, entry) in arriving {
            let text = thread.part(part).and_then(Part::text).unwrap_or_default();
            let mut job = ArriveJob { common: common.clone(), entry, text };
            if let Some(answer) = council.ask(&mut job, |rest, job| rest.arrive(job)).await {
                decided.push((part, answer));
            }
        }
        let (options, digester) =
            (self.settings.profile.door(self.back()), &*self.settings.digester);
        let mut arrival = arrive(thread, &incoming.keys, tokens, &decided, &options, digester);
        arrival.rewrites.iter_mut().for_each(|rewrite| self.redaction.rewrite(rewrite));
        self.departing(&mut arrival.departure, ground.name);
        arrival
    }
}

/// What is known of a request, whatever becomes of its texts.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) incoming: &'a Incoming,
    pub(super) live: &'a Live,
    pub(super) name: &'a str,
    pub(super) at: &'a str,
}

impl<'a> Asked<'a> {
    pub(super) fn ground(self, thread: &'a Thread, tokens: &'a Sizes<'a>, raw: u64) -> Ground<'a> {
        let Self { document, incoming, live, name, at } = self;
        Ground { document, thread, tokens, incoming, live, raw, name, at }
    }
}

/// The history with what was made smaller on arrival.
pub(super) fn sent_as(entries: &[Entry], state: &State) -> Thread {
    let mut entries = entries.to_vec();
    for (part, rewrite) in state.arrived() {
        let entry = entries.get_mut(part.entry.index());
        match entry.and_then(|entry| entry.parts.get_mut(part.part as usize)).map(|at| &mut at.body)
        {
            Some(Body::Text(text)) => text.clone_from(&rewrite.with),
            Some(Body::Result(result)) => result.text.clone_from(&rewrite.with),
            _ => {}
        }
    }
    Thread::new(entries, &state.pinned())
}

/// The prompt that the records say: its bytes, its size in tokens, and the epoch in force.
pub(super) fn written(
    ground: &Ground<'_>,
    whole: Option<&Bytes>,
    state: &State,
) -> Result<(Bytes, u64, Option<EpochId>), Error> {
    let (view, epoch) = ground.standing(state);
    let here = |part: PartId| view.keeps(part.entry) && !view.rewrites_part(part);
    let arrived = state.arrived().filter(|(part, _)| here(*part));
    let mut edits: Vec<_> =
        arrived.map(|(part, one)| Edit::SetText { part, text: one.with.clone() }).collect();
    edits.extend(view.edits());
    let bytes = match whole {
        Some(whole) if edits.is_empty() => whole.clone(),
        _ => outgoing(ground.document, &edits, ground.live.budget())?.into(),
    };
    Ok((bytes, view.size(ground.tokens), epoch))
}
