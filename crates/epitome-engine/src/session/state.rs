//! What a session remembers between requests: keys and records, never old text.
//!
//! Invariant: all of it can be read again from the journal and the next request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use epitome_kernel::{
    CompactionChanges, CompactionLineage, CompactionSet, HistoryLookup, HistoryMatch, HistoryQuery,
    PolicyChain as Policies, StoreError,
};
use epitome_plan::CacheMeter;

use epitome_store::SessionArchive;
use epitome_types::{CompactionId, EntryKey, Goals, HistoryHash, SessionInfo};

use super::action_state::{ActionState, Doing};
use super::assembled::NewSystemPrompt;
use super::belonging::{Belonging, HistoryOrigin};
use super::known_history::KnownHistory;
use super::prefix_cache::PrefixCache;
use super::side_effect::PlanSideEffect;
use crate::background::{AnsweredQuestion, PolicyQuestion};
use crate::plan_notes::WantedPin;

/// What is known of one conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConversationState {
    /// The session that it was read of, and whether no other can be taken for it.
    session: String,
    pub(crate) proven: bool,
    /// The history as it last came.
    pub(crate) history: KnownHistory,
    pub(crate) lineage: Arc<CompactionLineage>,
    pub(crate) seen: u64,
    pub(crate) meter: CacheMeter,
    pub(crate) last_prompt: Option<LastPrompt>,
    /// When the last request came that brought something new, ISO 8601.
    pub(crate) last: Option<String>,
    /// The last request, as far as one that goes on from it needs no more of it.
    pub(crate) memory: Option<PrefixCache>,
    /// The policies, with what they noted, once they were asked.
    pub(crate) chain: Option<Chained>,
    /// What was done beside what was said, once it was read.
    pub(crate) acts: Option<ActionState>,
    pub(crate) work: TurnWork,
}

/// What the last prompt was made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPrompt {
    /// The history that it stood for: so many messages, up to this one.
    pub(crate) messages: usize,
    pub(crate) end: HistoryHash,
    /// The epoch that was in force.
    pub(crate) epoch: Option<CompactionId>,
}

/// What was told of a session up to its last prompt, where a turn is made anew and reads all else again.
#[derive(Clone, Debug)]
pub(crate) struct ToldBefore {
    session: String,
    last_prompt: Option<LastPrompt>,
    /// How many acts were known, where they were.
    acts: Option<usize>,
}

/// What a request brings about, until the step of its turn that takes it up.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnWork {
    /// Whether the provider forgot the last prompt before this request came.
    pub(crate) rested: bool,
    /// Whether nothing is sent: it is looked at in the pause behind an answer.
    pub(crate) in_pause: bool,
    /// What policies may pin, before that is recorded.
    pub(crate) granted_pins: Vec<WantedPin>,
    /// What a model wrote of the summaries.
    pub(crate) written: Vec<String>,
    /// The system prompt that the compression moves into its place.
    pub(crate) drafted: Option<NewSystemPrompt>,
    /// What the request does beside what it says.
    pub(crate) doing: Vec<Doing>,
    /// What policies ask models about messages, and what was answered of what they asked before.
    pub(crate) asking: Vec<PolicyQuestion>,
    pub(crate) answered: Vec<AnsweredQuestion>,
    /// Whether a policy has the host told how the conversation stands.
    pub(crate) reports: bool,
    /// What the plan does beside changing the prompt.
    pub(crate) aside: PlanSideEffect,
}

/// The policies of a session.
#[derive(Clone, Debug)]
pub(crate) struct Chained {
    /// The session that their notes belong to.
    pub(crate) session: String,
    pub(crate) chain: Policies,
    /// The notes as the journal has them.
    pub(crate) recorded: BTreeMap<String, String>,
}

/// An incoming history beside what is known of it.
#[derive(Debug)]
pub(crate) struct IncomingHistory {
    pub(crate) keys: Arc<Vec<EntryKey>>,
    /// The history up to each entry.
    pub(crate) chains: Arc<Vec<HistoryHash>>,
    pub(crate) reconciled: HistoryMatch,
    /// The session that it belongs to.
    pub(crate) session: String,
    /// How many entries are in the journal.
    pub(crate) recorded: usize,
    /// Where it comes from.
    pub(crate) origin: HistoryOrigin,
    /// How many entries an earlier request held.
    pub(crate) sent: usize,
    /// What the records of its session say of that.
    pub(crate) recorded_end: RecordedEnd,
    /// Whether the records say of what was known what they said before, and nothing of what is new.
    pub(crate) steady: bool,
    /// What was erased in the scope.
    pub(crate) erased: Arc<BTreeSet<EntryKey>>,
}

/// Where the records of a session end, beside a history that is its own.
#[derive(Debug, Default)]
pub(crate) struct RecordedEnd {
    /// Whether the history begins as a recorded one does.
    pub(crate) goes_on: bool,
    /// Whether its end is where the session stands.
    pub(crate) stands: bool,
    /// Whether others recorded requests of the session behind those that this process knows.
    pub(crate) overtaken: bool,
    /// When the session was used last.
    pub(crate) last: Option<String>,
}

impl RecordedEnd {
    /// That of a session beside a history of which `shared` messages were known before; a session that has
    /// what another one had before it is used, even without messages of its own.
    fn beside(
        chains: &[HistoryHash],
        shared: usize,
        info: Option<SessionInfo>,
        inherits: bool,
    ) -> Self {
        let Some(info) = info else { return Self::default() };
        let known = shared.checked_sub(1).map(|last| chains[last]);
        Self {
            goes_on: false,
            stands: chains.last() == Some(&info.head),
            overtaken: known.is_some_and(|known| known != info.head),
            last: (info.figures.messages > 0 || inherits).then_some(info.last),
        }
    }
}

/// What is known of a history that was pushed message by message.
#[derive(Clone, Debug)]
pub(crate) struct PushedHistory {
    pub(crate) keys: Vec<EntryKey>,
    /// How many of its entries an earlier request held.
    pub(crate) sent: usize,
    /// Whether something of it was erased.
    pub(crate) erased: bool,
    /// Whether nothing is sent: it is looked at in the pause behind an answer.
    pub(crate) in_pause: bool,
}

impl IncomingHistory {
    /// Whether it goes on from the history that was last seen.
    pub(crate) fn extends(&self) -> bool {
        matches!(self.reconciled, HistoryMatch::Extend { .. })
    }

    /// Whether it goes on from what the last prompt was made of.
    pub(crate) fn goes_on_from(&self, last: &LastPrompt) -> bool {
        last.messages.checked_sub(1).and_then(|at| self.chains.get(at)) == Some(&last.end)
    }

    /// Whether the session has what another one had before it.
    pub(crate) fn inherits(&self) -> bool {
        matches!(self.origin, HistoryOrigin::Branched { .. })
    }

    /// The history up to its recorded part's end.
    pub(crate) fn after(&self) -> HistoryHash {
        self.recorded.checked_sub(1).map_or_else(HistoryHash::default, |last| self.chains[last])
    }
}

/// What people are told of a session, where there is one.
fn session_info(
    journal: &dyn SessionArchive,
    scope: &str,
    session: &str,
) -> Result<Option<SessionInfo>, StoreError> {
    match journal.session(scope, session) {
        Err(StoreError::NoSession { .. }) => Ok(None),
        info => info.map(Some),
    }
}

impl ConversationState {
    /// One that reads everything again, and tells what is new since then.
    pub(crate) fn anew(before: ToldBefore) -> Self {
        let ToldBefore { session, last_prompt, acts } = before;
        let acts = acts.map(|count| ActionState::outdated(&session, count));
        Self { session, last_prompt, acts, ..Self::default() }
    }

    /// What was told of it up to now.
    pub(crate) fn told(&self) -> ToldBefore {
        let acts = self.acts.as_ref().filter(|acts| acts.session == self.session);
        ToldBefore {
            session: self.session.clone(),
            last_prompt: self.last_prompt,
            acts: acts.map(|acts| acts.count),
        }
    }

    /// Reads what the journal says of a history that was taken up: all of it where the history, its
    /// session or the records changed, else what concerns the new entries. `sent` says how many
    /// entries an earlier request held, where the journal does not tell.
    pub(crate) fn meet(
        &mut self,
        mut reconciled: HistoryMatch,
        belonging: Belonging,
        sent: Option<usize>,
        journal: &dyn SessionArchive,
        scope: &str,
    ) -> Result<IncomingHistory, StoreError> {
        let Belonging { session, proven, origin, is_recorded } = belonging;
        if session != self.session {
            // Nothing that is known of another session is known of this one.
            let history = self.history.unrecorded();
            *self = Self { history, session: session.clone(), ..Self::default() };
            reconciled = HistoryMatch::New;
        }
        self.proven = proven;
        let shared = reconciled.shared();
        let (keys, chains) = (Arc::clone(&self.history.keys), Arc::clone(&self.history.chains));
        let extends = matches!(reconciled, HistoryMatch::Extend { .. });
        let seen = extends.then_some(self.seen);
        // Where it was rewound, whose history its end is has to be asked.
        let before = if extends { shared } else { shared.min(keys.len().saturating_sub(1)) };
        let history = HistoryQuery {
            session: &session,
            keys: &keys,
            chains: &chains,
            before,
            seen,
            is_recorded,
        };
        let HistoryLookup { known, rewrites, epochs } = journal.lookup(scope, &history)?;
        let recorded = known.map_or(shared, |index| before + index + 1);
        self.history.arrive(&rewrites);
        // Messages that are pushed move the end before anybody asks about them.
        let is_own_end = sent.is_some() || matches!(epochs, CompactionChanges::Quiet(_));
        let steady = match epochs {
            CompactionChanges::Quiet(epochs) => {
                let steady = epochs.is_empty();
                if !steady {
                    Arc::make_mut(&mut self.lineage).extend(epochs);
                }
                steady
            }
            CompactionChanges::Anew(epochs) => {
                let of_before = journal.rewrites(scope, &session, &keys[..before])?;
                let same_rewrites = self.history.keep_rewrites(&of_before, &rewrites);
                let same_erased = self.take_erased(journal.erased(scope)?);
                let same_records = self.take_records(epochs);
                extends && same_rewrites && same_erased && same_records
            }
        };
        let steady =
            steady && !self.lineage.ripens(&keys, shared) && !self.history.pins_again(shared);
        let sent = sent.unwrap_or(recorded).min(recorded);
        let (sent, inherited, ends) = match origin {
            HistoryOrigin::Branched { sent, ends } => (sent, true, ends),
            HistoryOrigin::Own | HistoryOrigin::Compacted => (sent, false, false),
        };
        let info = match extends && is_own_end {
            true => None,
            false => session_info(journal, scope, &session)?,
        };
        let recorded_end = RecordedEnd {
            goes_on: recorded > 0 || ends,
            ..RecordedEnd::beside(&chains, shared, info, inherited)
        };
        Ok(IncomingHistory {
            keys,
            chains,
            reconciled,
            session,
            recorded,
            origin,
            sent,
            recorded_end,
            steady,
            erased: Arc::clone(&self.history.erased),
        })
    }

    /// Takes up what was erased: what is remembered of the last request may hold it. Says whether that
    /// is what was known.
    fn take_erased(&mut self, erased: BTreeSet<EntryKey>) -> bool {
        let is_same = *self.history.erased == erased;
        self.history.erased = Arc::new(erased);
        is_same
    }

    /// Takes up the records of a history. Says whether they are those that were known.
    fn take_records(&mut self, epochs: CompactionSet) -> bool {
        let CompactionSet { recorded, pins, seen } = epochs;
        let lineage = CompactionLineage::new(recorded);
        let is_same = *self.lineage == lineage && self.history.pins == pins;
        self.lineage = Arc::new(lineage);
        (self.history.pins, self.seen) = (pins, seen);
        // An erasure may have taken what the policies noted.
        self.chain = None;
        self.acts.iter_mut().for_each(|acts| acts.stale = true);
        is_same
    }

    /// What the active goal says.
    pub(crate) fn goal(&self) -> Option<String> {
        let goals = self.acts.as_ref().map(|acts| &acts.goals);
        goals.and_then(Goals::active).map(|goal| goal.text.clone())
    }

    /// Reads the epochs and pins of the present history again.
    pub(crate) fn reread(
        &mut self,
        journal: &dyn SessionArchive,
        scope: &str,
    ) -> Result<(), StoreError> {
        let CompactionSet { recorded, pins, seen } =
            journal.compactions(scope, &self.session, &self.history.keys)?;
        (self.lineage, self.history.pins, self.seen) =
            (Arc::new(CompactionLineage::new(recorded)), pins, seen);
        // Who moved them may have done more than that.
        self.acts.iter_mut().for_each(|acts| acts.stale = true);
        self.history.erased = Arc::new(journal.erased(scope)?);
        Ok(())
    }
}
