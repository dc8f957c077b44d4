//! One recording, played as its client would have played it.
//!
//! Invariant: turn by turn the session gets what a client would send, and nothing else: the whole
//! history up to a message that asks for a reply. Of earlier turns only the last prompt is held.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use epitome::port::MessageRecord;
use epitome::types::{ContentId, Entry, EntryId, FactReport, TokenBreakdown};
use epitome::{
    BudgetUnit, CompressorBuilder, Error, Format, ModelCalls, OriginalStore, OwnCompaction, Price,
    RequestDocument, Session, SessionArchive, SizeGauge, SteppedTurn, ThreadSizes, TokenCounter,
    UnaidedClient, mask_results, scan, tool_format, tools,
};

use crate::facts::SearchedStore;
use crate::sent::SentPrompt;
use crate::{Recording, ReplaySetup, ReplayTotals, ReplayTurn};

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A request failed.
    #[error("turn {turn}: {source}")]
    Turn {
        /// The turn, counted from 1.
        turn: usize,
        /// What went wrong.
        source: Error,
    },
    /// There is no such turn.
    #[error("there is no turn {turn}, the last one is {last}")]
    NoTurn {
        /// What was asked for.
        turn: usize,
        /// The last turn.
        last: usize,
    },
    /// The recording or the store cannot be read.
    #[error(transparent)]
    Ends(#[from] Error),
    /// The machine has nothing left to run it on.
    #[error("no runtime could be started: {0}")]
    Runtime(#[from] io::Error),
}

/// A recording that is being played.
pub struct Replay<'a> {
    setup: &'a ReplaySetup,
    recorded: RecordedRequests<'a>,
    /// Turns that are not played.
    skipped: usize,
    /// Whether the store is searched for facts that the prompt has lost.
    searches: bool,
    session: Session,
    store: Arc<dyn SessionArchive>,
    counter: Arc<dyn TokenCounter>,
    last: Option<SentPrompt>,
    /// Tokens of the request behind the last prompt, and how many entries it held.
    last_raw: (u64, usize),
    unaided: UnaidedReplay,
    /// The calls of models before the first request.
    called: Vec<ModelCalls>,
    figures: ReplayTotals,
}

/// The requests that are in a recording.
struct RecordedRequests<'a> {
    document: RequestDocument<'a>,
    /// How many entries stand before the first message.
    lead: usize,
    /// How many messages each request holds.
    turns: Vec<usize>,
    /// Tokens of the request as it came that holds so many entries.
    raw: Vec<u64>,
    /// When the newest message of the request in the making was said, where the recording tells.
    said: Arc<Mutex<Option<String>>>,
}

impl RecordedRequests<'_> {
    /// A session in the making. What it writes into prompts states no other time than that of their
    /// messages, so that two replays make the same prompts.
    fn builder(&self, setup: &ReplaySetup) -> CompressorBuilder {
        let said = Arc::clone(&self.said);
        let told = move || said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        setup.builder(self.document.format()).text_time(told)
    }

    /// Has texts state when the newest of so many messages was said.
    fn go_to(&self, messages: usize) {
        let entries = &self.document.entries()[..self.lead + messages];
        let newest = entries.iter().rev().find_map(|entry| entry.at.clone());
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = newest;
    }
}

/// The client as it would have been without compression.
struct UnaidedReplay {
    /// Where it would have made its prompts smaller by itself.
    own: OwnCompaction,
    /// What it would have sent.
    client: UnaidedClient,
    /// What prompts cost.
    price: Option<Price>,
}

impl<'a> Replay<'a> {
    /// A replay into a store, as the session of this name or as the recording's own.
    ///
    /// # Errors
    ///
    /// When the recording cannot be read.
    pub fn new(
        recording: &'a Recording,
        setup: &'a ReplaySetup,
        store: Arc<dyn SessionArchive>,
        session: Option<&str>,
    ) -> Result<Self, Error> {
        let document = recording.document()?;
        let counter = setup.counter(document.model());
        let tool_format = tool_format(document.format());
        let schemas = tools(&*counter, tool_format, &document.tool_schemas());
        let gauge = SizeGauge { counter: &*counter, unit: BudgetUnit::Tokens };
        let sizes = ThreadSizes::measure(document.entries(), gauge, schemas);
        let mut raw = vec![schemas];
        raw.extend(document.entries().iter().scan(schemas, |sum, entry| {
            *sum += sizes.entry(entry.id);
            Some(*sum)
        }));
        let lead = document.entries().len()
            - scan(recording.request(), recording.format())?.messages.len();
        let model = setup.model_for(document.model());
        let quote = setup.prices.of(model);
        let figures = ReplayTotals::new(recording.from(), model, quote);
        let own = setup.unaided(&document, recording.from().name());
        let price = quote.map(|quote| quote.price);
        let unaided = UnaidedReplay { own, client: UnaidedClient::default(), price };
        // A recording is a client of its own: played again it goes on, and no other one is it.
        let drawn = format!("session-{}", &blake3::hash(recording.request()).to_hex()[..8]);
        let session = Some(session.unwrap_or(&drawn));
        let turns = document.turns();
        let recorded = RecordedRequests { document, lead, turns, raw, said: Arc::default() };
        let session = recorded.builder(setup).session(store.clone(), session);
        let (last, last_raw) = (None, (0, 0));
        Ok(Self {
            setup,
            recorded,
            skipped: 0,
            searches: true,
            session,
            store,
            counter,
            last,
            last_raw,
            unaided,
            called: setup.profile.own_calls(),
            figures,
        })
    }

    /// How many requests there are.
    pub fn turns(&self) -> usize {
        self.recorded.turns.len()
    }

    /// Tokens of the largest request, as it will come: the size of the whole conversation.
    pub fn tokens(&self) -> u64 {
        self.recorded
            .turns
            .last()
            .map_or(0, |messages| self.recorded.raw[self.recorded.lead + messages])
    }

    /// Begins with this turn, counted from 1, as a client does that is started again.
    pub fn start_at(&mut self, turn: usize) {
        self.skipped = turn.saturating_sub(1);
    }

    /// Leaves out the search for facts that the prompt has lost: how many of them come back is not
    /// known then.
    pub fn leave_out_search(&mut self) {
        self.searches = false;
    }

    /// The name of the session, once it has one.
    pub fn session(&self) -> Option<&str> {
        self.session.name()
    }

    /// The prompt that was sent last.
    pub fn prompt(&self) -> &[u8] {
        self.last.as_ref().map_or(&[], |last| &last.bytes)
    }

    /// The figures so far; costs, facts and the session's name come with [`Replay::finish`].
    pub fn figures(&self) -> &ReplayTotals {
        &self.figures
    }

    /// Makes the next request; none after the last. A request that cannot fit is a turn that says
    /// so, and the next one is made.
    ///
    /// # Errors
    ///
    /// When a request fails for any other reason.
    pub async fn step(&mut self) -> Result<Option<ReplayTurn>, ReplayError> {
        let number = self.skipped + self.figures.requests.turns + 1;
        let Some(&messages) = self.recorded.turns.get(number - 1) else { return Ok(None) };
        let turn = self.request(number, messages).await;
        let turn = turn.map_err(|source| ReplayError::Turn { turn: number, source })?;
        self.figures.add(&turn);
        Ok(Some(turn))
    }

    /// The next request as a turn that nobody has begun, under any setup: it goes on from what this
    /// replay recorded. None after the last.
    pub fn stepped(&self, setup: &ReplaySetup) -> Option<SteppedTurn> {
        let &messages = self.recorded.turns.get(self.skipped + self.figures.requests.turns)?;
        self.recorded.go_to(messages);
        let settings = self.recorded.builder(setup);
        let (store, request) = (self.store.clone(), self.recorded.document.prefix(messages));
        let turn = SteppedTurn::new(settings, store, self.session.name(), &request);
        Some(turn.within(&self.setup.scope()))
    }

    /// The format of its requests.
    pub(crate) fn format(&self) -> Format {
        self.recorded.document.format()
    }

    /// Whoever counts for it.
    pub(crate) fn counter(&self) -> &dyn TokenCounter {
        &*self.counter
    }

    /// Ends the replay, wherever it stands, and works out what it comes to.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn finish(mut self) -> Result<ReplayTotals, Error> {
        let profile = &self.setup.profile;
        self.figures.cost(profile.cache_rule());
        for call in profile.own_calls_since(&self.called) {
            let (tokens, dollars) = profile.cost_of(&call);
            self.figures.add_calls(call.sum.calls, tokens, dollars);
        }
        if self.last.is_none() {
            return Ok(self.figures);
        }
        let info = self.session.info()?;
        (self.figures.recording.session, self.figures.recording.title) = (info.name, info.title);
        self.figures.must_keep = self.must_keep()?;
        Ok(self.figures)
    }

    /// Which facts of the newest request that was sent its prompt still holds, how many of the
    /// others a search in the store finds, and those others, each with the id of the original.
    /// Reads the whole conversation.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn must_keep(&self) -> Result<FactReport, Error> {
        let Some(last) = &self.last else { return Ok(FactReport::default()) };
        let prompt = RequestDocument::parse(&last.bytes, self.recorded.document.format())?;
        let scope = self.setup.scope();
        let recorded = self.messages(&scope)?;
        let said = &self.said(&scope, &recorded)?;
        let keep = &self.setup.profile.keep_in(said, &self.counter)?;
        let store = self.searches.then_some(&*self.store as &dyn OriginalStore);
        let (counter, redaction) = (&*self.counter, &self.setup.profile.redaction);
        let searched = SearchedStore { store, scope: &scope, counter, keep, redaction };
        Ok(searched.must_keep(said, prompt.entries(), &self.originals(&recorded))?)
    }

    /// The messages as the journal keeps them, as far as the newest request goes.
    fn messages(&self, scope: &str) -> Result<Vec<MessageRecord>, Error> {
        let info = self.session.info()?;
        Ok(self.store.history(scope, &info.name, info.head, 0, self.last_raw.1)?)
    }

    /// The messages as they were said, with the masks of what may not be said again: that is not to be kept,
    /// and a report is no place to say it.
    fn said(&self, scope: &str, recorded: &[MessageRecord]) -> Result<Vec<Entry>, Error> {
        let mut said = self.recorded.document.entries()[..self.last_raw.1].to_vec();
        let places = recorded.iter().map(|one| one.place as usize).filter(|at| *at < said.len());
        let places: Vec<_> = places.collect();
        let keys: Vec<_> = recorded.iter().map(|one| one.key).collect();
        let mut masked: Vec<_> = places.iter().map(|at| said[*at].clone()).collect();
        let session = self.session.name().unwrap_or_default();
        mask_results(&*self.store, [scope, session], &keys, &mut masked)?;
        places.into_iter().zip(masked).for_each(|(at, entry)| said[at] = entry);
        Ok(said)
    }

    /// Under which id the journal keeps each message: what was recorded may say less than what came.
    fn originals(&self, recorded: &[MessageRecord]) -> Vec<(EntryId, ContentId, String)> {
        let entries = self.recorded.document.entries();
        let kept = recorded.iter().filter(|said| said.bytes.is_some()).filter_map(|said| {
            let entry = entries.get(said.place as usize)?;
            Some((entry.id, said.text, String::new()))
        });
        kept.collect()
    }

    async fn request(&mut self, number: usize, messages: usize) -> Result<ReplayTurn, Error> {
        self.recorded.go_to(messages);
        let entries = self.recorded.lead + messages;
        let role = self.recorded.document.entries()[entries - 1].role;
        let raw = self.recorded.raw[entries];
        let sent = match self.session.prompt_for(&self.recorded.document.prefix(messages)).await {
            Ok(sent) => sent,
            Err(error @ Error::CannotFit { budget, .. }) => {
                return Ok(ReplayTurn {
                    turn: number,
                    role,
                    tokens_raw: raw,
                    tokens_sent: 0,
                    limit: budget.most,
                    prefix_kept: 1.0,
                    prompt: None,
                    status: None,
                    events: Vec::new(),
                    must_keep: None,
                    refused: Some(error.to_string()),
                    by: TokenBreakdown::default(),
                });
            }
            Err(error) => return Err(error),
        };
        let tokens = sent.tokens[1];
        let prompt = SentPrompt::new(sent.bytes, self.recorded.document.format(), tokens)?;
        let (shared, kept) = match &self.last {
            Some(last) => (self.shared(&prompt, last)?, prompt.kept(last)),
            None => (0, 1.0),
        };
        let unaided = self.unaided.client.ask(raw, self.unaided.own);
        self.figures.add_prompt([tokens, shared], unaided, self.unaided.price);
        let hash = format!("b3:{}", blake3::hash(&prompt.bytes));
        (self.last, self.last_raw) = (Some(prompt), (raw, entries));
        Ok(ReplayTurn {
            turn: number,
            role,
            tokens_raw: raw,
            tokens_sent: tokens,
            limit: sent.limit,
            prefix_kept: kept,
            prompt: Some(hash),
            status: sent.status.and_then(|status| status.text),
            events: sent.events,
            must_keep: None,
            refused: None,
            by: sent.by[1],
        })
    }

    fn shared(&self, prompt: &SentPrompt, last: &SentPrompt) -> Result<u64, Error> {
        let gauge = SizeGauge { counter: &*self.counter, unit: BudgetUnit::Tokens };
        Ok(prompt.shared(last, self.recorded.document.format(), gauge)?)
    }
}

/// Plays a replay to its end on this thread.
pub(crate) fn played(mut replay: Replay<'_>) -> Result<ReplayTotals, ReplayError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    while runtime.block_on(replay.step())?.is_some() {}
    Ok(replay.finish()?)
}
