//! Plans a compression: asks the policies and makes the first plan of theirs that frees something.
//!
//! Invariant: whatever a policy orders, the outcome is a checked plan within the bounds, or none;
//! what went wrong is told, and the plan is credited to whoever ordered it (RULES 6, 7, 9).
//! Called by live sessions and by the compressor of single conversations.

use std::fmt;
use std::sync::Arc;

use epitome_kernel::{
    Bounded, ChainRound, LanguageModel, LiveRequest, PlanError, Summarizer, Thread, TokenCounter,
};
use epitome_plan::{
    ComposedFit, CompressOptions, FitOutcome, KEEP, OrderError, PROFILE, PlanAssembly, PlanMeans,
    PlannedCompression, PromptFloor, assemble,
};
use epitome_types::hook::{
    AgeJob, Ageing, Budgets, Columns, Common, Fit, FitOp, MessageNumber, MessageTexts, OpRequest,
    Orders, PlanJob, Standing,
};
use epitome_types::{
    Budget, BudgetUnit, CompactionCause, EntryId, EventKind, Goals, HookAuthor, Op, OpReport,
    PartId, Plan, SkipReason, Stage,
};

use crate::checkpoints::KnownCheckpoint;
use crate::keep_recent;
use crate::model_summarizer::{
    AcceptedSummaries, KnownWords, KnownWordsSummarizer, ModelSummarizer, PrewrittenSummary,
    SummaryContext,
};
use crate::plan_notes::{MessagesLeftAlone, PlanNotes, TooLittle, WantedPin};
use crate::policy_runner::PolicyRunner;
use crate::time_budget::ModelTimeBudget;
use epitome_config::profile::{BUILTIN, ProfileOptions};

/// The hook that orders ops, as reports name it.
const PLAN: &str = "plan";

/// All that a plan is made from.
pub(crate) struct PlanRequest<'a, 't> {
    pub(crate) council: &'a PolicyRunner,
    pub(crate) common: &'a Common,
    pub(crate) budgets: &'a Budgets,
    pub(crate) history: PlanHistory<'a, 't>,
    pub(crate) writers: SummaryWriters<'a>,
    pub(crate) standing: StandingPlan,
    /// What was worked out before: it is taken where it leaves no more than so many tokens.
    pub(crate) prepared: Option<(Plan, u64)>,
    pub(crate) cause: CompactionCause,
    /// Whether the window forces it, whoever else wants it: then something comes of it.
    pub(crate) forced: bool,
    pub(crate) sizes: PlanSizes,
    pub(crate) goals: Goals,
    /// The watermark, and where it is.
    pub(crate) mark: Option<Option<EntryId>>,
}

/// The conversation that is planned, and how it is measured.
pub(crate) struct PlanHistory<'a, 't> {
    pub(crate) thread: &'t Thread,
    pub(crate) texts: &'a dyn MessageTexts,
    pub(crate) columns: Columns,
    pub(crate) counter: &'t dyn TokenCounter,
}

/// Who writes summaries.
pub(crate) struct SummaryWriters<'a> {
    pub(crate) summarizers: &'a [&'a dyn Summarizer],
    /// The models that are asked before those.
    pub(crate) models: &'a [Arc<dyn LanguageModel>],
    /// What models wrote of the conversation before.
    pub(crate) known: Vec<KnownWords>,
    /// How they are asked.
    pub(crate) terms: &'a ProfileOptions,
    pub(crate) patience: ModelTimeBudget,
    /// The prompt as its provider has it, where that is known.
    pub(crate) underway: Option<LiveRequest>,
}

/// What is in force, in the places of the thread.
#[derive(Default)]
pub(crate) struct StandingPlan {
    pub(crate) plan: Plan,
    /// Who ordered each op of it, where it was recorded.
    pub(crate) credits: Vec<HookAuthor>,
    pub(crate) checkpoints: Vec<KnownCheckpoint>,
}

/// The sizes that a plan is held to.
pub(crate) struct PlanSizes {
    /// The size to come to, in tokens.
    pub(crate) target: u64,
    /// What must not be exceeded.
    pub(crate) most: Budget,
    /// What cannot shrink, in tokens.
    pub(crate) floor: u64,
}

/// What came of it.
pub(crate) enum PlanResult<'t> {
    /// A smaller view.
    Made(Box<PlannedCompression<'t>>),
    /// Nothing, for this reason.
    Skipped(SkipReason),
    /// What cannot shrink exceeds the bounds.
    CannotFit { budget: Budget, floor: PromptFloor },
    /// The kernel's own plan was refused.
    Refused(PlanError),
    /// What a policy ordered comes to nothing that may be sent: those behind it are asked.
    Passed,
}

/// Checkpoints that a policy has written anew, with who said so.
#[derive(Debug, Default)]
pub(crate) struct AgedCheckpoints {
    ageings: Vec<Ageing>,
    by: HookAuthor,
}

/// What is made where nobody says anything, and who is credited with it: the kernel's own way.
fn own_way() -> (Orders, Option<String>) {
    let orders = Orders { ops: vec![OpRequest::Fit(Fit::default())], ..Orders::default() };
    (orders, Some(BUILTIN.to_owned()))
}

impl PlanHistory<'_, '_> {
    /// The calls of which all that they wrote is on disk.
    pub(crate) fn inputs(&self) -> Vec<PartId> {
        let entries = self.thread.entries().iter().zip(&self.columns.inputs);
        let inputs = entries.flat_map(|(entry, inputs)| inputs.iter().map(move |one| (entry, one)));
        let safe = inputs.filter(|(_, input)| input.persisted && input.ok);
        safe.filter_map(|(entry, input)| entry.call_at(input.call)).collect()
    }
}

impl StandingPlan {
    /// Who ordered an op that it holds.
    fn credit(&self, op: &Op) -> Option<&HookAuthor> {
        let mut known = self.plan.ops.iter().zip(&self.credits);
        known.find(|(it, _)| *it == op).map(|(_, credit)| credit)
    }

    /// What is known of a checkpoint of it.
    fn checkpoint(&self, id: &str) -> Option<&Standing> {
        self.checkpoints.iter().map(|(_, one)| one).find(|one| one.id == id)
    }
}

impl<'t> PlanRequest<'_, 't> {
    /// What the policies order, and by whom; `behind` is the one whose plan came to nothing. What
    /// those behind it gave it already is in the round, and is taken as it is.
    pub(crate) async fn orders(
        &self,
        round: &ChainRound,
        behind: Option<&str>,
        told: &mut PlanNotes,
    ) -> (Orders, Option<String>) {
        if self.sizes.most.unit != BudgetUnit::Tokens {
            return own_way();
        }
        let mut job = PlanJob {
            common: self.common.clone(),
            entries: self.history.columns.clone(),
            checkpoints: self.standing.checkpoints.iter().map(|(_, facts)| facts.clone()).collect(),
            target: self.sizes.target,
            max_tokens: self.sizes.most.most,
            floor: self.sizes.floor,
            budgets: self.budgets.clone(),
            cause: self.cause,
            watermark: self.mark.flatten().map(Into::into),
            watermark_lost: self.mark == Some(None),
            texts: self.history.texts,
        };
        let chain = &self.council.chain;
        let rest = behind.map_or_else(|| chain.ask(), |policy| chain.call_after(policy));
        let rest = rest.within(round);
        let decision = self.council.ask_these(rest, &mut job).await;
        let policy = decision.policy();
        let Some(orders) = decision.value else { return own_way() };
        for order in &orders.ops {
            match order {
                OpRequest::Pin(one) => {
                    let known = one.entries.iter().filter_map(|place| place.entry());
                    let known = known.filter(|id| self.history.thread.entry(*id).is_some());
                    told.pins.extend(known.map(|entry| WantedPin {
                        entry,
                        tokens:
                            self.history.columns.tokens.get(entry.index()).copied().unwrap_or(0),
                        policy: policy.clone(),
                        hook: PLAN,
                    }));
                }
                OpRequest::Fit(one) => {
                    let named = one.keep.as_deref().unwrap_or_default();
                    let (limit, tokens) = (self.common.model.limit, &self.history.columns.tokens);
                    let MessagesLeftAlone { entries, asked, given } =
                        MessagesLeftAlone::within(limit, named, tokens);
                    told.held = entries;
                    if given < asked {
                        let (policy, what) = (policy.clone(), "fit.keep".into());
                        let bounded = Bounded { policy, hook: PLAN, what, asked, given };
                        self.council.notes().bounded.push(bounded);
                    }
                }
                OpRequest::Warn(one) => told.happened.push(EventKind::PolicyWarning {
                    policy: policy.clone(),
                    text: one.text.clone(),
                    level: None,
                }),
                OpRequest::WriteFile(one) => told.exports.push(one.clone()),
                OpRequest::Handover(one) => told.handover = Some(one.clone()),
                _ => {}
            }
        }
        (orders, Some(policy))
    }

    /// Makes it. `attempts` are the sizes that the kernel's own way comes to, the most wanted first.
    pub(crate) async fn make(
        &self,
        orders: &Orders,
        options: &'t CompressOptions,
        attempts: &[Budget],
        told: &mut PlanNotes,
    ) -> PlanResult<'t> {
        if let Some(mut made) = self.resumed(options).await {
            self.credit(&mut made, &options.policy, &AgedCheckpoints::default());
            return PlanResult::Made(made);
        }
        let taken = AcceptedSummaries::default();
        let context = self.writing(orders, &taken);
        let known =
            context.filter(|_| self.writers.models.is_empty() && !self.writers.known.is_empty());
        let known = known.map(KnownWordsSummarizer);
        let known = known.iter().map(|writer| writer as &dyn Summarizer);
        let writers = context.map(|context| self.writers(context)).unwrap_or_default();
        let models = writers.iter().map(|writer| writer as &dyn Summarizer);
        let own = self.writers.summarizers.iter().copied();
        let summarizers: Vec<_> = known.chain(models).chain(own).collect();
        let mut aged = AgedCheckpoints::default();
        let mut planned = self.made(orders, options, attempts, &summarizers, &mut aged).await;
        if let PlanResult::Made(made) = &mut planned {
            self.credit(made, &options.policy, &aged);
            (told.written, told.confidence) = taken.within(&made.plan);
            told.happened.extend(keep_recent::touched(self.history.thread, &made.plan, options));
        }
        planned
    }

    /// What was worked out before, over what was said since.
    pub(crate) async fn resumed(
        &self,
        options: &'t CompressOptions,
    ) -> Option<Box<PlannedCompression<'t>>> {
        let (plan, most) = self.prepared.clone()?;
        let orders = Orders { reason: Some(plan.reason.clone()), ..Orders::default() };
        let (thread, counter) = (self.history.thread, self.history.counter);
        let means = PlanMeans { budget: self.sizes.most, counter, summarizers: 0 };
        let assembly = PlanAssembly::new(thread, options, means, plan, &orders).ok()?;
        match assemble(assembly, thread, options, &[]).await {
            FitOutcome::Compressed(made) if made.size[1] <= most => Some(made),
            _ => None,
        }
    }

    /// What summaries that models wrote are judged by. They are measured in tokens only.
    fn writing<'w>(
        &'w self,
        orders: &'w Orders,
        taken: &'w AcceptedSummaries,
    ) -> Option<SummaryContext<'w>> {
        let inner = self.writers.summarizers.first();
        let inner = inner.filter(|_| self.sizes.most.unit == BudgetUnit::Tokens)?;
        Some(SummaryContext {
            council: self.council,
            common: self.common,
            orders,
            goals: &self.goals,
            checkpoints: &self.standing.checkpoints,
            inner: *inner,
            terms: self.writers.terms,
            taken,
            known: &self.writers.known,
        })
    }

    /// The models, in their order.
    fn writers<'w>(&'w self, context: SummaryContext<'w>) -> Vec<ModelSummarizer<'w>> {
        let models = self.writers.models.iter().enumerate();
        models
            .map(|(place, model)| ModelSummarizer {
                model: &**model,
                all: self.writers.models,
                place,
                context,
                patience: &self.writers.patience,
                underway: self.writers.underway.as_ref(),
                ahead: PrewrittenSummary::default(),
            })
            .collect()
    }

    async fn made(
        &self,
        orders: &Orders,
        options: &'t CompressOptions,
        attempts: &[Budget],
        summarizers: &[&dyn Summarizer],
        aged: &mut AgedCheckpoints,
    ) -> PlanResult<'t> {
        if let Err(missing) = self.are_there(orders) {
            return self.passed(&options.policy, Stage::Preparation, &missing);
        }
        let mut aims = orders.ops.iter().filter(|op| !op.is_aside());
        match (aims.next(), aims.next()) {
            (None, _) if !self.forced => PlanResult::Skipped(SkipReason::NothingToCompress),
            (None, _) => PlanResult::Passed,
            (Some(OpRequest::Fit(fit)), None) => {
                let most = fit.max_tokens.map(|most| Budget { unit: BudgetUnit::Tokens, most });
                let attempts: Vec<_> = most.into_iter().chain(attempts.iter().copied()).collect();
                let also = fit.also.as_deref().unwrap_or_default();
                self.fit(also, options, &attempts, summarizers).await
            }
            _ => match self.ordered(orders, options, summarizers, aged).await {
                Ok(FitOutcome::Compressed(compressed)) => PlanResult::Made(compressed),
                Ok(FitOutcome::NothingToDo { .. }) if !self.forced => {
                    PlanResult::Skipped(SkipReason::NothingToCompress)
                }
                Ok(FitOutcome::Refused(error)) => {
                    self.passed(&options.policy, Stage::Preparation, &error)
                }
                Err(error) => self.passed(&options.policy, Stage::Preparation, &error),
                Ok(_) => {
                    let short = TooLittle(self.sizes.most);
                    self.passed(&options.policy, Stage::CheckpointCreation, &short)
                }
            },
        }
    }

    /// Whether there is every message that is to stay as it is.
    fn are_there(&self, orders: &Orders) -> Result<(), OrderError> {
        let count = self.history.thread.entries().len();
        let stay = orders.ops.iter().flat_map(|op| match op {
            OpRequest::Pin(one) => &one.entries[..],
            OpRequest::Fit(one) => one.keep.as_deref().unwrap_or_default(),
            _ => &[],
        });
        let is_there = |place: &MessageNumber| {
            place.entry().is_some_and(|id| self.history.thread.entry(id).is_some())
        };
        match stay.copied().find(|place| !is_there(place)) {
            Some(place) => Err(OrderError::NoEntry { place: place.0, count }),
            None => Ok(()),
        }
    }

    /// Says of each op who ordered it: of what stood there before, whoever did then; of checkpoints
    /// that aged, whoever answered `age`; of all else, the policy whose plan it is.
    pub(crate) fn credit(
        &self,
        made: &mut PlannedCompression<'_>,
        policy: &str,
        aged: &AgedCheckpoints,
    ) {
        let planner = self.council.chain.author(policy, PLAN);
        let has_aged = |op: &Op| {
            matches!(op, Op::Summarize(one)
            if aged.ageings.iter().any(|it| one.id.to_string().starts_with(&*it.checkpoint)))
        };
        // What the profile states itself nobody else ordered.
        let ordered = |report: &&mut OpReport| (&*report.policy, &*report.hook) != (PROFILE, KEEP);
        let ops = made.plan.ops.iter().zip(&mut made.ops);
        for (op, report) in ops.filter(|(_, report)| ordered(report)) {
            let credit = match self.standing.credit(op) {
                Some(credit) => credit,
                None if has_aged(op) => &aged.by,
                None => &planner,
            };
            report.policy.clone_from(&credit.policy);
            report.hook.clone_from(&credit.hook);
            report.line = credit.line;
        }
    }

    /// A plan came to nothing, which is told once.
    fn passed(&self, policy: &str, stage: Stage, why: &dyn fmt::Display) -> PlanResult<'t> {
        let remedy =
            "the next policy's plan was made instead; `epitome policy trace` shows the orders";
        self.tell(policy, stage, why, remedy);
        PlanResult::Passed
    }

    /// Tells of what a policy ordered in vain.
    fn tell(&self, policy: &str, stage: Stage, why: &dyn fmt::Display, remedy: &str) {
        let (cause, remedy) = (format!("{policy}: {why}"), remedy.to_owned());
        self.council.failures.add(EventKind::CompressionError { stage, cause, remedy });
    }

    /// What a policy ordered, with the ageing that belongs to it.
    async fn ordered(
        &self,
        orders: &Orders,
        options: &'t CompressOptions,
        summarizers: &[&dyn Summarizer],
        aged: &mut AgedCheckpoints,
    ) -> Result<FitOutcome<'t>, OrderError> {
        let asked: Vec<_> = orders.ops.iter().filter(|op| !op.is_aside()).cloned().collect();
        let orders = Orders { ops: asked, ..orders.clone() };
        let (budget, counter, count) = (self.sizes.most, self.history.counter, summarizers.len());
        let means = PlanMeans { budget, counter, summarizers: count };
        let standing = self.standing.plan.clone();
        let mut assembly =
            PlanAssembly::new(self.history.thread, options, means, standing, &orders)?;
        let mut job = AgeJob {
            common: self.common.clone(),
            checkpoints: self.aged(&assembly),
            budgets: self.budgets.clone(),
        };
        let decision = self.council.ask(&mut job).await;
        if let Some(ageings) = decision.value {
            let by = decision.by.unwrap_or_default();
            // What is not there cannot age, and is no reason to give up the plan.
            if let Err(error) = assembly.age(&ageings) {
                self.tell(&by.policy, Stage::Preparation, &error, "the plan was made without it");
            }
            *aged = AgedCheckpoints { ageings, by };
        }
        Ok(assemble(assembly, self.history.thread, options, summarizers).await)
    }

    /// The checkpoints as the orders leave them; ages count this compression.
    fn aged(&self, assembly: &PlanAssembly<'_>) -> Vec<Standing> {
        let number = self.common.compressions + 1;
        let left = assembly.checkpoints().into_iter().map(|(covers, id, level, tokens)| {
            let id = id.short();
            let new = Standing {
                number,
                covers: covers.len() as u32,
                created: self.common.now.clone(),
                ..Standing::default()
            };
            let known = self.standing.checkpoint(&id).cloned().unwrap_or(new);
            Standing {
                id,
                level: level.number(),
                age: number.saturating_sub(known.number),
                tokens,
                ..known
            }
        });
        left.collect()
    }

    /// The kernel's own way, down the ladder of the options.
    async fn fit(
        &self,
        also: &[FitOp],
        options: &'t CompressOptions,
        attempts: &[Budget],
        summarizers: &[&dyn Summarizer],
    ) -> PlanResult<'t> {
        let is_whole =
            |plan: &Plan| keep_recent::touched(self.history.thread, plan, options).is_none();
        let PlanHistory { thread, counter, .. } = self.history;
        let fit = ComposedFit { thread, options, counter, also };
        let mut smallest = None;
        for (at, &budget) in attempts.iter().enumerate() {
            let outcome = match fit.compress(budget, summarizers).await {
                Ok(outcome) => outcome,
                Err(error) => return self.passed(&options.policy, Stage::Preparation, &error),
            };
            match outcome {
                FitOutcome::Compressed(made) if is_whole(&made.plan) => {
                    return PlanResult::Made(made);
                }
                // A larger size may have room for the messages that are to be left alone.
                FitOutcome::Compressed(made) => drop(smallest.get_or_insert(made)),
                _ if smallest.is_some() => break,
                FitOutcome::CannotFit { .. } | FitOutcome::Missed { .. }
                    if at + 1 < attempts.len() => {}
                FitOutcome::Missed { .. } => {
                    let short = TooLittle(budget);
                    return self.passed(&options.policy, Stage::CheckpointCreation, &short);
                }
                FitOutcome::CannotFit { budget, floor } => {
                    return PlanResult::CannotFit { budget, floor };
                }
                FitOutcome::Refused(error) => return PlanResult::Refused(error),
                _ => break,
            }
        }
        smallest.map_or(PlanResult::Skipped(SkipReason::NotNeeded), PlanResult::Made)
    }
}
