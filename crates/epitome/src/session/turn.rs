//! One request through the one door: read, reconcile, record, make smaller, compress, write.
//!
//! Invariant: the steps run in this order, each on what the one before gave it (HOUSE 3); the
//! journal has the messages before an epoch refers to them. What goes on from the last request is
//! read as far as it is new; where a compression is due, or the new part cannot be looked at by
//! itself, all of it is.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use epitome_count::tools;
use epitome_kernel::{Before, Counter, Gauge, Lineage, Reconciled};
use epitome_plan::{Meter, by_ratio};
use epitome_types::{ContentId, EntryId, EntryKey, Happened, Stage, Unit};
use epitome_wire::{Format, Scan};

use super::Given;
use super::Session;
use super::due::Work;
use super::events::Events;
use super::ground::{Ground, Whole};
use super::memory::{Memory, Standing, Suffix};
use super::offload::Offload;
use super::prompt::Prompt;
use super::source::Source;
use super::state::{Incoming, Known, Read, State};
use super::tail::Tail;
use super::tally::Tally;
use crate::Error;
use crate::background::Background;
use crate::builder::Counting;
use crate::compressor::{BUDGET_VOCABULARY, tool_format};
use crate::lessons::About;
use crate::request::Request;
use crate::target::{KnownLimit, Live, Target};

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
        let prompt = self.ask(&request.source()?, None).await?;
        self.given = Given::Whole;
        Ok(prompt)
    }

    /// The same for a provider's request that the host shares and has scanned: where nothing is to
    /// do, the prompt is that very buffer.
    pub(crate) async fn pass(
        &mut self,
        request: &Bytes,
        format: Format,
        scan: &Scan,
    ) -> Result<Prompt, Error> {
        let prompt = self.ask(&Source::shared(request, format, scan), None).await?;
        self.given = Given::Whole;
        Ok(prompt)
    }

    /// Makes the prompt of a request; `pushed` says what is known of a history that was pushed.
    pub(crate) async fn ask(
        &mut self,
        source: &Source<'_>,
        pushed: Option<Known>,
    ) -> Result<Prompt, Error> {
        let mut state = mem::take(&mut self.state);
        // What somebody else records meanwhile may change what this request is made from; the
        // journal tells all that there is to know, after an error too.
        let (state, mut prompt) = loop {
            let moves = self.journal.moves();
            match self.turn(source, pushed.clone(), state).await {
                Ok(Some(done)) => break done,
                Ok(None) => {}
                Err(Error::Store(_)) if self.journal.moves() > moves => {}
                Err(error) => return Err(error),
            }
            state = State::default();
        };
        (self.state, self.name) = (state, Some(prompt.session.clone()));
        (self.asked, self.told.refused) = (false, None);
        self.taken_back.clear();
        self.tell_of_store(&mut prompt);
        self.tell(&prompt.events);
        Ok(prompt)
    }

    async fn turn(
        &mut self,
        source: &Source<'_>,
        pushed: Option<Known>,
        mut state: State,
    ) -> Result<Option<(State, Prompt)>, Error> {
        let counter = self.counter_for(source.model());
        let erased = pushed.as_ref().map(|known| known.erased);
        self.settle(source)?;
        if self.offload.as_ref().is_some_and(Offload::has_lost) {
            state.memory = None;
        }
        let known = Arc::clone(&state.erased);
        let (reading, mut memory) = self.read(source, pushed, &mut state, (&counter, true))?;
        if *known != *state.erased {
            self.background.iter_mut().for_each(Background::forget);
        }
        let Reading { incoming, schemas, .. } = &reading;
        let gauge = Gauge { counter: &*counter, unit: Unit::Tokens };
        let name = incoming.session.clone();
        self.lasting = self.journal.lasts(&self.scope, &name);
        let mut events = Events::new(&name, (self.clock)());
        events.cut(self.shared.lessons.untold(&self.scope, &name));
        let at = events.at.clone();
        let cold = self.resume(incoming, &name, &at, &mut state)?;
        self.readdress(&mut state);
        let council = self.council(&mut state, &name, incoming, &counter)?;
        let updated = self.meet_acts(&mut state, &name)?;

        let lineage = Arc::clone(&state.lineage);
        let (fresh, smaller, full, committed);
        fresh = reading.tail(source, &state, gauge)?;
        let live = self.live(source, self.told.window, &fresh)?;
        let survey = |tail, state: &State| self.survey(source, tail, &lineage, &reading, state);
        let (mut whole, tally, standing) = survey(&fresh, &state)?;
        let (name, at, schemas) = (&*name, &*at, *schemas);
        let (live, tail) = (&live, &fresh);
        let typed = reading.known.as_ref().and_then(|(tally, _)| tally.typed);
        let mut ground = Ground {
            source,
            incoming,
            live,
            name,
            at,
            cold,
            schemas,
            tail,
            tally,
            typed,
            standing,
            mandate: None,
            assembled: 0,
        };
        if let Some(erased) = erased {
            self.meet_system(&mut ground, &state, erased)?;
        }
        let arrival = self.arrival(&ground, &council, &state).await;
        if !arrival.rewrites.is_empty() {
            state.arrive(&arrival.rewrites);
            smaller = reading.tail(source, &state, gauge)?;
            let found = survey(&smaller, &state)?;
            (whole, ground.tally, ground.standing) = found;
            ground.tail = &smaller;
        }
        let [raw, size] = ground.size();
        updated.into_iter().for_each(|told| events.add([size; 2], told));
        self.taken_back.iter().for_each(|told| events.add([size; 2], told.clone()));
        self.hear(size, &mut events);
        if let Reconciled::Branch { at } = incoming.reconciled {
            events.add([raw, raw], Happened::Branched { at: EntryId(at as u32).to_string() });
        }
        events.arrived(&arrival.rewrites, &incoming.keys);
        if incoming.extends() && ground.standing.epoch != state.epoch {
            let epoch = ground.standing.epoch.map(ContentId::short);
            events.add([raw, raw], Happened::EpochChanged { epoch });
        }
        let mut brief = self.brief(&ground, council).await;
        if self.lacks_system(&ground, &state)
            && let Some(made) = self.assembled(&ground, &brief, &state).await
        {
            self.put_in_place(&mut ground, made, &mut state, &mut events);
            brief = self.brief(&ground, brief.council).await;
        }
        let measured = state.meter;
        let due = self.due(&ground, &brief, &mut state, &mut events).await;
        let due = due.or_else(|| self.rewording(&ground, &brief));
        let drafts = self.drafts_now(&ground, &brief, &state, due);
        if (due.is_some() || drafts) && whole.is_none() {
            let entries = source.document()?.entries();
            full = Tail::of(entries, Before::default(), &state, gauge, schemas);
            whole = Some(self.read_whole(source, &lineage, &full, &incoming.keys)?);
            ground.tail = &full;
        }
        // What was said is recorded whatever becomes of it, one that cannot fit too (SPEC 2.6).
        let proposal = match (due, &whole) {
            (Some(due), Some(whole)) => {
                self.propose(&ground, whole, &brief, due, &mut state, &mut events).await
            }
            _ => Ok(None),
        };
        let proposal = match proposal {
            Ok(Some(proposal)) => self.sendable(&ground, proposal, &state, &mut events),
            proposal => proposal,
        };
        let proposed = proposal.as_ref().ok().and_then(Option::as_ref);
        let epoch = proposed.map(|it| &it.epoch);
        if !self.offload(&ground, whole.as_ref(), &state, epoch, &mut events) {
            return Ok(None);
        }
        let sent = epoch.map_or(size, |epoch| epoch.tokens[1]);
        let is_new = match incoming.reconciled {
            Reconciled::Extend { from } => from.min(incoming.sent) < incoming.keys.len(),
            _ => incoming.sent < incoming.keys.len() || !incoming.stands,
        };
        if self.has_moved(name) {
            return Ok(None);
        }
        let meter = self.metered(&ground, &brief, (sent, proposed), &state);
        if is_new || !arrival.rewrites.is_empty() || proposed.is_some() {
            let batch = self.batch(&ground, arrival, sent, meter.reading());
            self.journal.append(&self.scope, name, &batch)?;
            state.last = Some(at.to_owned());
            state.meter = meter;
        } else {
            // What is not recorded is not remembered: a new process goes on in the same way.
            state.meter = measured;
        }
        let aside = mem::take(&mut state.aside);
        self.archive(&ground, &aside, &mut events)?;
        let proposal = proposal?;
        let is_made = proposal.as_ref().is_some_and(|it| !it.rewords);
        if let (Some(mut proposal), Some(before)) = (proposal, &whole) {
            let late = proposal.late.take();
            if !self.commit(&ground, before, &mut state, proposal, &mut events)? {
                return Ok(None);
            }
            committed = Arc::clone(&state.lineage);
            let after = self.read_whole(source, &committed, ground.tail, &incoming.keys)?;
            ground.tally = Tally::of(ground.tail, Some(after.view()), &state, &self.redaction);
            ground.standing = after.standing();
            if let Some(made) = state.drafted.take() {
                self.put_in_place(&mut ground, made, &mut state, &mut events);
            }
            self.applied(ground.standing.epoch, late);
            whole = Some(after);
        } else if due.is_some_and(|due| due.work == Work::Reword) {
            self.unfit(ground.standing.epoch);
        }
        if let Some(whole) = &whole {
            self.look_ahead(&ground, whole, &brief, &state, drafts).await;
        }
        let (bytes, remembered) = match (&whole, memory.take()) {
            (None, Some(mut memory)) => {
                let figures = (ground.tally.clone(), schemas);
                (memory.grow(source, ground.tail, figures, &state)?, memory)
            }
            (Some(whole), _) => match self.written(&ground, whole, counter.id(), &state) {
                Err(Error::Invalid(found)) if self.take_back(&ground, &found)? => return Ok(None),
                written => written?,
            },
            (None, None) => return Ok(None),
        };
        let bytes = match &ground.mandate {
            Some(mandate) => mandate.put(bytes, source.format)?,
            None => bytes,
        };
        if is_made {
            events.stage([size, ground.size()[1]], Stage::Validation);
        }
        self.hand_over(&ground, whole.as_ref(), aside, &mut events)?;
        state.memory = Some(remembered);
        self.take_answers(&mut state);
        self.observe(&ground, &brief, &mut state, &mut events).await?;
        self.wonder(&brief, &mut state);
        self.enact(&mut state, name, at)?;
        let [_, size] = ground.size();
        events.warn(&brief.held, live.limit, size);
        let status = self.close(&ground, &brief, &mut state, &mut events).await?;
        state.epoch = ground.standing.epoch;
        self.heard();
        let prompt = self.prompt_of(&ground, bytes);
        Ok(Some((state, Prompt { status, events: events.into(), ..prompt })))
    }

    /// Reads a request as far as it is new, and what the journal says of it; gives the remembered
    /// request that it goes on from, where only what is new was read. A new session is begun where
    /// `begin`.
    pub(super) fn read(
        &self,
        source: &Source<'_>,
        pushed: Option<Known>,
        state: &mut State,
        (counter, begin): (&Arc<dyn Counter>, bool),
    ) -> Result<(Reading, Option<Memory>), Error> {
        let mut memory = state.memory.take();
        let keys = Arc::clone(&state.keys);
        // What a ratio comes to depends on the whole of it.
        let is_readable =
            !source.is_recorded() && !matches!(self.settings.target, Target::Ratio(_));
        let remembered =
            memory.as_mut().filter(|memory| is_readable && memory.is_counted_by(counter.id()));
        let suffix = remembered.and_then(|memory| memory.suffix(source, &keys));
        let known = memory.as_ref().and_then(|memory| memory.schemas(source, counter.id()));
        let schemas = known.unwrap_or_else(|| {
            let schemas = source.scan.tool_schemas(source.body);
            tools(&**counter, tool_format(source.format), &schemas)
        });
        let sent = pushed.as_ref().map(|known| known.sent);
        let read = match (&suffix, pushed) {
            (Some(suffix), _) => Read::Further(suffix.keys.clone()),
            (None, Some(known)) => Read::Whole(known.keys),
            (None, None) => {
                let document = source.document()?;
                let alike = |place| memory.as_ref().is_some_and(|it| it.has(source, place));
                let entries = document.entries().iter().enumerate();
                let keys = entries.map(|(place, entry)| match keys.get(place) {
                    Some(key) if alike(place) => *key,
                    _ => EntryKey::of(entry),
                });
                Read::Whole(keys.collect())
            }
        };
        drop(keys);
        let reconciled = state.take_up(read);
        let extends = matches!(reconciled, Reconciled::Extend { .. });
        let belonging = self.belonging(source, state, extends, begin)?;
        let journal = (&*self.journal, &*self.scope);
        let incoming = state.meet(reconciled, belonging, sent, journal)?;
        let suffix = suffix.filter(|_| incoming.steady);
        let memory = memory.filter(|_| suffix.is_some());
        let known = memory.as_ref().map(|memory| (memory.tally.clone(), memory.standing));
        Ok((Reading { incoming, known, suffix, schemas }, memory))
    }

    /// The figures of a request. Where all of it was read, as the records have it sent; else from
    /// those of what went before.
    pub(super) fn survey<'l, 't>(
        &self,
        source: &Source<'_>,
        tail: &'t Tail<'_>,
        lineage: &'l Lineage,
        reading: &Reading,
        state: &State,
    ) -> Result<(Option<Whole<'l, 't>>, Tally, Standing), Error> {
        Ok(match reading.known.clone() {
            Some((tally, standing)) => {
                let end = Tally::of(tail, None, state, &self.redaction);
                (None, tally.then(end), standing)
            }
            None => {
                let whole = self.read_whole(source, lineage, tail, &state.keys)?;
                let tally = Tally::of(tail, Some(whole.view()), state, &self.redaction);
                let standing = whole.standing();
                (Some(whole), tally, standing)
            }
        })
    }

    /// All of a request, as the records have it sent.
    pub(super) fn read_whole<'l, 't>(
        &self,
        source: &Source<'_>,
        lineage: &'l Lineage,
        tail: &'t Tail<'_>,
        keys: &[EntryKey],
    ) -> Result<Whole<'l, 't>, Error> {
        let unbinds = self.settings.profile.unbinds(source.document()?);
        Ok(Whole::of(lineage, tail, keys, unbinds))
    }

    /// What is known of a request as it is sent.
    pub(super) fn prompt_of(&self, ground: &Ground<'_, '_>, bytes: Bytes) -> Prompt {
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
            events: Vec::new(),
            about: self.about(ground.source, ground.tail),
        }
    }

    /// Takes up a session where its records end. Says whether the provider has no prefix of the
    /// prompt to read: what it read last is too old, or is not what this goes on from.
    fn resume(
        &self,
        incoming: &Incoming,
        name: &str,
        at: &str,
        state: &mut State,
    ) -> Result<bool, Error> {
        let is_known = incoming.recorded > 0 || incoming.inherits;
        if !incoming.extends() {
            state.meter = match is_known {
                true => Meter::from_reading(self.journal.meter(&self.scope, name)?),
                false => Meter::default(),
            };
            state.last.clone_from(&incoming.last);
        }
        let ttl = Duration::from_secs(self.settings.profile.options.cache.ttl);
        let instant = |at: &str| humantime::parse_rfc3339_weak(at).ok();
        let passed = |last: &str| instant(at)?.duration_since(instant(last)?).ok();
        let passed = state.last.as_deref().and_then(passed);
        let is_old = passed.is_some_and(|passed| passed > ttl);
        state.rested = is_old;
        Ok(is_old || !incoming.extends() && !incoming.goes_on)
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

    /// Whom a prompt is for, and who counts it.
    fn about(&self, source: &Source<'_>, tail: &Tail<'_>) -> About {
        let counter = tail.tokens.gauge().counter.id();
        About::new(&self.scope, source.format.name(), source.model(), counter)
    }

    /// The bounds of the prompt. `told` is the limit where the user states none; without it the
    /// request is asked.
    pub(super) fn live(
        &self,
        source: &Source<'_>,
        told: Option<KnownLimit>,
        tail: &Tail<'_>,
    ) -> Result<Live, Error> {
        let told = told.or(KnownLimit::of_request(source.scan.context_size));
        let known = self.known(source.format, source.model(), &self.about(source, tail), told)?;
        let by_ratio = |ratio| by_ratio(&tail.thread, &tail.tokens, ratio).most;
        let live = self.settings.target.live(known, by_ratio)?;
        Ok(live.bounded(self.told.refused, self.told.hub))
    }
}

/// A request, as far as it was read.
pub(super) struct Reading {
    pub(super) incoming: Incoming,
    /// What was known of the request that it goes on from, where only what is new was read.
    known: Option<(Tally, Standing)>,
    suffix: Option<Suffix>,
    /// Tokens of its tools.
    pub(super) schemas: u64,
}

impl Reading {
    /// What is new, or all of it, as the records have it sent.
    pub(super) fn tail<'a>(
        &'a self,
        source: &'a Source<'_>,
        state: &State,
        gauge: Gauge<'a>,
    ) -> Result<Tail<'a>, Error> {
        let (came, before) = match (&self.suffix, &self.known) {
            (Some(suffix), Some((tally, _))) => {
                let entries = self.incoming.reconciled.shared();
                (&suffix.entries[..], Before { entries, block: tally.block })
            }
            _ => (source.document()?.entries(), Before::default()),
        };
        Ok(Tail::of(came, before, state, gauge, self.schemas))
    }
}
