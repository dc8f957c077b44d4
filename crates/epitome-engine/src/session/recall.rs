//! What was said before, brought back as a policy asks (RULES 51, 52).
//!
//! Invariant: what comes back is an excerpt with its source, within its tokens, of this session
//! alone; it is recorded before it is shown and comes back once: in a note at the end where the
//! prompt is ours, else in the next state of the work (RULES 2, 10). Called where new messages
//! are observed.

use epitome_kernel::{SessionOf, StoreError, TokenCounter};
use epitome_types::{Actor, EventKind, Op, Plan, SessionAction};

use super::Session;
use super::state::ConversationState;

/// The most that is brought back where a policy does not say, in tokens.
const MOST: u64 = 500;

/// Some excerpts are too long with what is said of them: so many times as much is looked through.
const SPARE: u64 = 8;

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
        name: &str,
        counter: &dyn TokenCounter,
        by: Actor,
        state: &mut ConversationState,
    ) -> Result<Option<EventKind>, StoreError> {
        let RecallWish { query, most } = wish;
        let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let most = most.unwrap_or(MOST);
        let of = SessionOf { scope: &self.record.scope, session: name };
        let all =
            self.record.journal.search_session(of, &query, most.saturating_mul(SPARE), counter)?;
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

/// Whether a plan's state of the work says all of these.
pub(crate) fn says(plan: &Plan, texts: &[String]) -> bool {
    let state = plan.ops.iter().find_map(|op| match op {
        Op::State { text, .. } => Some(text),
        _ => None,
    });
    state.is_some_and(|state| texts.iter().all(|text| state.contains(text)))
}
