//! Whether and how far one conversation is compressed that stands by itself.
//!
//! Invariant: a hard budget is met whatever the policies say; without one they decide, as for a
//! live conversation whose provider has nothing cached. Called by the compressor.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_extensions::problem::ConfigError;
use epitome_kernel::{Summarizer, Thread, ThreadSizes, TokenCounter, View, identity};
use epitome_plan::{CacheMeter, prompt_floor};
use epitome_types::hook::{
    Budgets, BudgetsJob, Columns, Common, MessageTexts, ModelFacts, Occasion, Strength, TalkFacts,
    TriggerAnswer, TriggerJob,
};
use epitome_types::{
    Budget, BudgetUnit, CompactionCause, ContentId, Entry, EntryId, EntryKey, Goals, Role,
};
use epitome_wire::RequestDocument;

use crate::builder::CompressorBuilder;
use crate::facts::{self, intent};
use crate::keep_recent::leave_alone;
use crate::limits::{OneShotBounds, PromptBounds, answered};
use crate::planning::{PlanHistory, PlanRequest, PlanSizes, StandingPlan, SummaryWriters};
use crate::policy_runner::PolicyRunner;
use crate::time_budget::ModelTimeBudget;

/// A conversation that stands by itself.
pub(crate) struct OneShot<'a> {
    pub(crate) settings: &'a CompressorBuilder,
    pub(crate) document: &'a RequestDocument<'a>,
    pub(crate) thread: &'a Thread,
    pub(crate) tokens: &'a ThreadSizes<'a>,
    pub(crate) bounds: &'a OneShotBounds,
}

/// What was decided about it.
pub(crate) struct Decided {
    pub(crate) council: PolicyRunner,
    pub(crate) common: Common,
    pub(crate) budgets: Budgets,
    pub(crate) cause: CompactionCause,
    pub(crate) forced: bool,
    /// The size to come to, in tokens.
    pub(crate) target: u64,
    /// What the kernel's own way tries to come to, the most wanted first; the last one must not be
    /// exceeded.
    pub(crate) attempts: Vec<Budget>,
}

impl Decided {
    /// What must not be exceeded.
    pub(crate) fn most(&self) -> Budget {
        self.attempts[self.attempts.len() - 1]
    }

    /// All that a plan is made from.
    pub(crate) fn planning<'a, 't>(
        &'a self,
        single: &'a OneShot<'t>,
        counter: &'t dyn TokenCounter,
        summarizers: &'a [&'a dyn Summarizer],
        texts: &'a dyn MessageTexts,
    ) -> PlanRequest<'a, 't> {
        PlanRequest {
            council: &self.council,
            common: &self.common,
            budgets: &self.budgets,
            history: PlanHistory {
                thread: single.thread,
                texts,
                columns: single.columns(),
                counter,
            },
            writers: SummaryWriters {
                summarizers,
                models: &self.council.models.all,
                known: Vec::new(),
                terms: &single.settings.profile.options,
                patience: ModelTimeBudget::new(&single.settings.clock, single.settings.patience()),
                underway: None,
            },
            standing: StandingPlan::default(),
            prepared: None,
            cause: self.cause,
            forced: self.forced,
            sizes: PlanSizes { target: self.target, most: self.most(), floor: single.floor() },
            goals: Goals::default(),
            mark: None,
        }
    }
}

impl OneShot<'_> {
    /// What is to be done; `None` where the conversation is left alone.
    ///
    /// # Errors
    ///
    /// When the policies of the profile cannot be loaded.
    pub(crate) async fn decide(
        &self,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<Option<Decided>, ConfigError> {
        let total = self.tokens.total();
        let in_tokens = |most| Budget { unit: BudgetUnit::Tokens, most };
        let fits = |budget: Budget| budget.unit == BudgetUnit::Tokens && total <= budget.most;
        if self.bounds.budget.is_some_and(fits) {
            return Ok(None);
        }
        let mut council = self.settings.council(counter, BTreeMap::new())?;
        if council.text_time.is_none() {
            // The same conversation gives the same texts whenever it is compressed.
            let said = self.thread.entries().iter().rev().find_map(|entry| entry.at.clone());
            council.text_time = Some(Arc::new(move || said.clone()));
        }
        let mut job = BudgetsJob { common: self.common() };
        let said = council.ask(&mut job).await;
        let said = answered(&council, said).or(self.settings.bounds(self.bounds.live.limit));
        let held = self.bounds.live.held(&said);
        let budgets = held.of(said);
        let common = Common { class: budgets.class, ..job.common };
        if let Some(budget) = self.bounds.budget {
            let (target, attempts) = (self.bounds.live.limit, vec![budget]);
            let (cause, forced) = (CompactionCause::Hard, true);
            return Ok(Some(Decided { council, common, budgets, cause, forced, target, attempts }));
        }
        let Some((cause, target)) = self.due(&council, &common, &budgets, held).await else {
            return Ok(None);
        };
        let attempts = vec![in_tokens(target), in_tokens(self.bounds.live.limit)];
        let forced = cause == CompactionCause::Hard || total > held.hard;
        Ok(Some(Decided { council, common, budgets, cause, forced, target, attempts }))
    }

    /// The conversation where a plan leaves these messages alone; `None` where it leaves none.
    pub(crate) fn holding(&self, held: &[EntryId]) -> Option<Thread> {
        (!held.is_empty()).then(|| self.thread.clone().with_rule(held))
    }

    /// What cannot shrink, in tokens.
    pub(crate) fn floor(&self) -> u64 {
        prompt_floor(self.thread, self.tokens, |part| self.tokens.part(part)).size
    }

    /// The conversation as it came.
    /// Its messages, as policies are told of them.
    fn columns(&self) -> Columns {
        let keys: Vec<_> = self.thread.entries().iter().map(EntryKey::for_entry).collect();
        let mut columns = facts::columns(self.thread, &self.view(), self.tokens, &[], &keys);
        let alone = self.settings.profile.options.compress.keep_recent_messages;
        leave_alone(&mut columns, self.thread, alone);
        columns
    }

    pub(crate) fn view(&self) -> View<'_> {
        identity(self.thread)
    }

    async fn due(
        &self,
        council: &PolicyRunner,
        common: &Common,
        budgets: &Budgets,
        held: PromptBounds,
    ) -> Option<(CompactionCause, u64)> {
        let total = common.tokens.total;
        let prices = self.settings.profile.cache_rule();
        let mut job = TriggerJob {
            common: common.clone(),
            cause: Occasion::Turn,
            new_model_message: self
                .thread
                .entries()
                .iter()
                .any(|entry| entry.role == Role::Assistant),
            floor: self.floor(),
            budgets: budgets.clone(),
            cache: CacheMeter::default().look(total, true, budgets, prices),
            stalled_at: None,
            new_results: facts::answered(self.thread, self.thread.entries()),
            requested_by: None,
            recall_pending: false,
            watermark: None,
        };
        let (cause, target) = match council.ask(&mut job).await.value {
            Some(TriggerAnswer::Compress(due)) => match due.level {
                Strength::Soft => (CompactionCause::Soft, due.target),
                Strength::Hard => (CompactionCause::Hard, due.target),
                Strength::Asked => (CompactionCause::Manual, due.target),
            },
            _ if total > held.hard => (CompactionCause::Hard, None),
            _ => return None,
        };
        Some((cause, target.unwrap_or(held.target)))
    }

    fn common(&self) -> Common {
        let said = self.thread.entries().iter().flat_map(Entry::texts);
        let mut seed = [0; 8];
        seed.copy_from_slice(&ContentId::of_all(said).0[..8]);
        let typed = self.thread.entries().iter().filter(|entry| intent(entry).is_some());
        Common {
            mode: self.settings.deciders.mode.clone(),
            model: ModelFacts {
                stated: self.bounds.enforced,
                ..self.settings.profile.facts(
                    self.document.model(),
                    self.settings.sizes.window,
                    &self.bounds.live,
                )
            },
            tokens: facts::sizes(&self.view().breakdown(self.tokens)),
            confidence: 1.0,
            now: (self.settings.clock)(),
            messages: self.thread.entries().len() as u32,
            talk: TalkFacts {
                turns: typed.count() as u32,
                api: Some(self.document.format().name().to_owned()),
                models: self.settings.writers.models.names(),
                ..TalkFacts::default()
            },
            // Scripts read numbers as floats, which hold 53 bits.
            seed: u64::from_le_bytes(seed) >> 11,
            ..Common::default()
        }
    }
}
