//! In which order what a search found is brought back: as the store ranks it, or as policies say.
//!
//! Invariant: a policy says the order and what is left out, never a text. One that fails, answers
//! in a wrong shape, or passes on what those behind it say leaves the answer of the store as it is;
//! a failure is told once for each search. Called where a person or a model recalls, and by sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_kernel::{
    Excerpt, HookJob, OriginalStore, Policy, PolicyChain, PolicyError, RankedPassage, SearchAnswer,
    SearchRange, SessionOf, StoreError, TokenCounter,
};
use epitome_store::excerpts_in_order;
use epitome_types::hook::{Common, RecallJob, RecallOrder, RecallPassage};

use super::SessionAdmin;
use super::recall_order::{RecallOrderError, recall_order};

/// Where lines stand that are said of policies.
const TARGET: &str = "policy";

/// What is said of a policy that wants a model to be asked about an order.
const NO_MODEL: &str = "no model is asked about what a search found; say the order without";

/// A search whose order policies may say.
#[derive(Clone, Copy)]
pub struct RankedSearch<'a> {
    /// What is searched.
    pub store: &'a dyn OriginalStore,
    /// Where in it.
    pub range: SearchRange<'a>,
    /// What is looked for.
    pub query: &'a str,
    /// The most that is brought back, in tokens.
    pub budget: u64,
    /// Counts them.
    pub counter: &'a dyn TokenCounter,
}

impl RankedSearch<'_> {
    /// What the search finds where `ask` says the order of its passages: it gives the answer of the
    /// policies and who gave it, and `refuse` is told what is wrong with one. `None` where all stay
    /// as they are.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn arranged(
        &self,
        common: Common,
        ask: impl FnOnce(&RecallJob) -> (Option<RecallOrder>, String),
        refuse: impl FnOnce(PolicyError),
    ) -> Result<Option<Vec<Excerpt>>, StoreError> {
        let Self { store, range, query, budget, counter } = *self;
        let passages = store.passages(range, query, budget, counter)?;
        let order = self.order(&passages, common, ask, refuse);
        Ok(order
            .map(|order| excerpts_in_order(&passages, &order, budget, counter))
            // What fits is found in any case.
            .filter(|found| !found.is_empty()))
    }

    /// The order of passages that `ask` says; `None` where all stay as they are.
    fn order(
        &self,
        passages: &[RankedPassage],
        common: Common,
        ask: impl FnOnce(&RecallJob) -> (Option<RecallOrder>, String),
        refuse: impl FnOnce(PolicyError),
    ) -> Option<Vec<usize>> {
        if passages.is_empty() {
            return None;
        }
        let told = passages.iter().map(|passage| self.told(passage)).collect();
        let (query, max_tokens) = (self.query.to_owned(), self.budget);
        let job = RecallJob { common, query, passages: told, max_tokens };
        let (Some(answer), policy) = ask(&job) else { return None };
        recall_order(&answer, passages.len()).unwrap_or_else(|error| {
            refuse(PolicyError { policy, hook: RecallJob::HOOK, what: error.to_string() });
            None
        })
    }

    /// What policies are told of a passage.
    fn told(&self, passage: &RankedPassage) -> RecallPassage {
        let RankedPassage { excerpt, score, age, .. } = passage;
        let (session, place) = match self.range {
            SearchRange::Session(SessionOf { session, .. }) => match excerpt.place_in(session) {
                Some(place) => (Some(session), place),
                None => parted(&excerpt.source),
            },
            SearchRange::Scopes(_) => parted(&excerpt.source),
        };
        let (place, what) = place.split_once(' ').unwrap_or((place, ""));
        let tool = what.strip_suffix(" result");
        let role = if tool.is_some() || what == "tool results" { "tool" } else { what };
        RecallPassage {
            text: excerpt.text.clone(),
            tokens: self.counter.count(&excerpt.text),
            score: *score,
            age: *age,
            session: session.map(str::to_owned),
            place: place.to_owned(),
            role: role.to_owned(),
            tool: tool.map(str::to_owned),
            through: None,
        }
    }
}

/// The session that a source names, and the place in it: `SESSION: e4 read_file result`.
pub fn parted(source: &str) -> (Option<&str>, &str) {
    match source.rsplit_once(": e") {
        Some((session, place)) => (Some(session), &source[source.len() - place.len() - 1..]),
        None => (None, source),
    }
}

impl SessionAdmin {
    /// What answers a query in at most so many tokens, in all that may be read; in the order that the
    /// policies of the profile say.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn search(
        &self,
        store: &dyn OriginalStore,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<SearchAnswer, StoreError> {
        let scopes = self.scopes()?;
        let answer = store.search_in(&scopes, query, budget, counter)?;
        let range = SearchRange::Scopes(&scopes);
        let search = RankedSearch { store, range, query, budget, counter };
        let found = self.in_order(search, answer.found)?;
        Ok(SearchAnswer { found, ..answer })
    }

    /// The same in what one session of its scope said.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn search_session(
        &self,
        store: &dyn OriginalStore,
        session: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let of = SessionOf { scope: &self.scope, session };
        let found = store.search_session(of, query, budget, counter)?;
        let range = SearchRange::Session(of);
        self.in_order(RankedSearch { store, range, query, budget, counter }, found)
    }

    /// What a search found, or the same in the order that policies say.
    fn in_order(
        &self,
        search: RankedSearch<'_>,
        found: Vec<Excerpt>,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let chain = match found.is_empty() {
            true => None,
            false => self.ranking_policies(),
        };
        let Some(chain) = chain else { return Ok(found) };
        let common = self.common_of_search(search.range);
        let arranged = search.arranged(common, |job| said(&chain, job), |error| tell(&error))?;
        Ok(arranged.unwrap_or(found))
    }

    /// These passages as excerpts, in the order that policies say, where any does.
    pub(super) fn excerpts_of(
        &self,
        search: RankedSearch<'_>,
        passages: &[RankedPassage],
        chain: Option<&PolicyChain>,
    ) -> Vec<Excerpt> {
        let order = chain.and_then(|chain| {
            let common = self.common_of_search(search.range);
            search.order(passages, common, |job| said(chain, job), |error| tell(&error))
        });
        let order = order.unwrap_or_else(|| (0..passages.len()).collect());
        excerpts_in_order(passages, &order, search.budget, search.counter)
    }

    /// The order of what names led to, as policies say; all of it may be left out. What goes wrong
    /// was told of what they led from.
    pub(super) fn order_of_led(
        &self,
        search: RankedSearch<'_>,
        led: &[(&str, RankedPassage)],
    ) -> Vec<usize> {
        let as_they_stand = || (0..led.len()).collect();
        let Some(chain) = self.ranking_policies() else { return as_they_stand() };
        let told = led.iter().map(|(word, passage)| RecallPassage {
            through: Some((*word).to_owned()),
            ..search.told(passage)
        });
        let job = RecallJob {
            common: self.common_of_search(search.range),
            query: search.query.to_owned(),
            passages: told.collect(),
            max_tokens: search.budget,
        };
        let reply = chain.ask().reply(&job.as_job()).of_job::<RecallJob>();
        let Some(answer) = reply.result.ok().flatten() else { return as_they_stand() };
        match recall_order(&answer, led.len()) {
            Err(RecallOrderError::NoneLeft { .. }) => Vec::new(),
            Ok(Some(order)) => order,
            Ok(None) | Err(_) => as_they_stand(),
        }
    }

    /// The policies of the profile where any of them says an order.
    pub(super) fn ranking_policies(&self) -> Option<PolicyChain> {
        self.chain().filter(|chain| chain.takes(RecallJob::HOOK))
    }

    /// The policies of the profile; none where they cannot be loaded, which is told.
    fn chain(&self) -> Option<PolicyChain> {
        let loaded = self
            .profile
            .load(&self.counter(None))
            .inspect_err(|error| {
                tracing::warn!(target: TARGET, policy = self.profile.name(), at = RecallJob::HOOK,
                    "{error}; what is found stands in its own order");
            })
            .ok()?;
        let own = self.profile.own_policy().map(|policy| Arc::new(policy) as Arc<dyn Policy>);
        let mut policies: Vec<Arc<dyn Policy>> = own.into_iter().collect();
        policies.extend(loaded.current());
        policies.push(Arc::new(self.profile.built_in()));
        Some(PolicyChain::new(policies, BTreeMap::new()))
    }

    /// What every job says, outside of a request.
    fn common_of_search(&self, range: SearchRange<'_>) -> Common {
        let session = match range {
            SearchRange::Session(of) => of.session.to_owned(),
            SearchRange::Scopes(_) => String::new(),
        };
        let mode = self.profile.mode().map(str::to_owned);
        let mut common = Common { session, mode, confidence: 1.0, ..Common::default() };
        common.model.name = self.profile.model().map(str::to_owned);
        common
    }
}

/// What policies answer, and whose answer it is; what goes wrong is told.
fn said(chain: &PolicyChain, job: &RecallJob) -> (Option<RecallOrder>, String) {
    let reply = chain.ask().reply(&job.as_job()).of_job::<RecallJob>();
    reply.notes.errors.iter().for_each(tell);
    let policy = reply.by.map(|by| by.policy).unwrap_or_default();
    let answer = reply.result.unwrap_or_else(|question| {
        let what = format!("it asks `{}`: {NO_MODEL}", question.id);
        tell(&PolicyError { policy: policy.clone(), hook: RecallJob::HOOK, what });
        None
    });
    (answer, policy)
}

/// Says what a policy failed at.
fn tell(error: &PolicyError) {
    let PolicyError { policy, hook, what } = error;
    tracing::warn!(target: TARGET, policy = &**policy, at = hook, "{what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_parted() {
        let check = |source, session, place| assert_eq!(parted(source), (session, place));
        check("a: e4 read_file result", Some("a"), "e4 read_file result");
        check("x: y: e12 user", Some("x: y"), "e12 user");
        check("e1-e9", None, "e1-e9");
    }
}
