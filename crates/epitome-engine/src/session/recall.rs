//! What was said before, brought back as a policy asks (RULES 51, 52).
//!
//! Invariant: what comes back is an excerpt with its source, within its tokens, of this session
//! alone; it is recorded before it is shown and comes back once: in a note at the end where the
//! prompt is ours, else in the next state of the work (RULES 2, 10). Called where new messages
//! are observed.

use epitome_admin::admin::RankedSearch;
use epitome_kernel::{
    Excerpt, HookJob, HookReply, PolicyError, SearchRange, SessionOf, StoreError, TokenCounter,
};
use epitome_types::hook::RecallJob;
use epitome_types::{Actor, EventKind, Op, Plan, SessionAction};

use super::Session;
use super::proposal::PolicyContext;
use super::state::ConversationState;

/// The most that is brought back where a policy does not say, in tokens.
const MOST: u64 = 500;

/// Some excerpts are too long with what is said of them: so many times as much is looked through.
const SPARE: u64 = 8;

/// What is said of a policy that wants a model to be asked about an order.
const NO_MODEL: &str = "no model is asked about what a search found; say the order without";

/// Where something is brought back.
#[derive(Clone, Copy)]
pub(crate) struct RecallContext<'a> {
    /// The session.
    pub(crate) name: &'a str,
    pub(crate) brief: &'a PolicyContext,
    pub(crate) counter: &'a dyn TokenCounter,
}

/// What is wanted back of what was said before.
pub(crate) struct RecallWish {
    pub(crate) query: String,
    /// How much at most, in tokens; none where nobody says.
    pub(crate) most: Option<u64>,
}

impl Session {
    /// Searches what left the prompts of a session, and has what is found come back. Gives what the
    /// host is told; nothing where the same is about to come back already.
    pub(crate) fn recall(
        &self,
        wish: &RecallWish,
        about: RecallContext<'_>,
        by: Actor,
        state: &mut ConversationState,
    ) -> Result<Option<EventKind>, StoreError> {
        let RecallWish { query, most } = wish;
        let RecallContext { name, counter, .. } = about;
        let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let most = most.unwrap_or(MOST);
        let of = SessionOf { scope: &self.record.scope, session: name };
        let all = self.found(of, &query, most.saturating_mul(SPARE), about)?;
        let mut left = most;
        let (mut sources, mut shown) = (Vec::new(), Vec::new());
        for excerpt in &all {
            let Some(source) = excerpt.place_in(name) else { continue };
            let text = format!("{source} ({}):\n{}", excerpt.id.short(), excerpt.text.trim());
            if let Some(rest) = left.checked_sub(counter.count(&text)) {
                left = rest;
                sources.push(source.to_owned());
                shown.push(text);
            }
        }
        let told = |tokens| {
            let query = self.redaction().text(&query).into_owned();
            EventKind::Recalled { query, sources: sources.clone(), tokens }
        };
        if shown.is_empty() {
            return Ok(Some(told(0)));
        }
        let heading = self.settings.profile.options.work_state.recalled.replace("{query}", &query);
        let text = format!("{heading}\n{}", shown.join("\n\n"));
        let text = self.redaction().text(&text).into_owned();
        let known = state.acts.as_ref().is_some_and(|acts| acts.returning.contains(&text));
        let doing = state
            .work
            .doing
            .iter()
            .any(|(act, _)| *act == SessionAction::Recall { text: text.clone() });
        if known || doing {
            return Ok(None);
        }
        state.work.doing.push((SessionAction::Recall { text }, by));
        Ok(Some(told(most - left)))
    }
}

impl Session {
    /// What a search of a session finds, in the order that the policies say.
    fn found(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        RecallContext { brief, counter, .. }: RecallContext<'_>,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let store = &*self.record.journal;
        let found = store.search_session(of, query, budget, counter)?;
        let council = &brief.council;
        if found.is_empty() || !council.chain.takes(RecallJob::HOOK) {
            return Ok(found);
        }
        let ask = |job: &RecallJob| {
            let HookReply { result, by, .. } = council.ask_at_once(job);
            let policy = by.map(|by| by.policy).unwrap_or_default();
            let answer = result.unwrap_or_else(|question| {
                council.unanswered::<RecallJob>(policy.clone(), &question.id, NO_MODEL);
                None
            });
            (answer, policy)
        };
        let range = SearchRange::Session(of);
        let search = RankedSearch { store, range, query, budget, counter };
        let refuse = |error: PolicyError| council.refuse::<RecallJob>(error.policy, error.what);
        let arranged = search.arranged(brief.common.clone(), ask, refuse)?;
        Ok(arranged.unwrap_or(found))
    }
}

/// Whether a plan's state of the work says all of these.
pub(crate) fn says(plan: &Plan, texts: &[String]) -> bool {
    let state = plan.ops.iter().find_map(|op| match op {
        Op::State { text, .. } => Some(text),
        _ => None,
    });
    state.is_some_and(|state| texts.iter().all(|text| state.contains(text)))
}
