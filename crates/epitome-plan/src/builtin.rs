//! The policy that answers last: small, safe, without frills.
//!
//! Invariant: it has an opinion on every hook that a conversation cannot go on without, it cannot
//! fail, and none of its numbers stands here. Called through the chain, as every policy.

use epitome_kernel::types::Speaker;
use epitome_kernel::types::hook::{
    Budgets, BudgetsJob, Due, Fact, Fit, Found, GoalsJob, Line, OpRequest, Orders, PlanJob,
    RecallJob, RecallOrder, Rejected, Render, RenderJob, Seconded, Section, Strength,
    SummaryPrompt, SummaryPromptJob, ToolResultAnswer, ToolResultJob, TriggerAnswer, TriggerJob,
    VerifyAnswer, VerifyJob, Way,
};
use epitome_kernel::{HookJob, HookResult, NextPolicies, Policy};

use crate::{MarkerWords, markers};

/// The decisions of the built-in policy, as a profile states them. Shares are of the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltinOptions {
    /// From this share on a warning is given.
    pub warn: f64,
    /// From this share on models are asked in advance.
    pub ahead: f64,
    /// From this share on a compression is considered.
    pub soft: f64,
    /// To this share it shrinks.
    pub target: f64,
    /// Tokens that are left to the answer.
    pub reserve: u64,
    /// The most of the limit that those may be.
    pub reserve_share: f64,
    /// By what share a prompt must have grown before a compression that brought nothing is tried
    /// again.
    pub cooldown: f64,
    /// What becomes of large tool results.
    pub arrive: ArriveOptions,
    /// How a model is asked for summaries, and what becomes of those.
    pub summaries: SummaryOptions,
    /// The words that markers of goals begin with.
    pub markers: MarkerWords,
    /// What a model is told of how to change the goal, where the system prompt is Epitome's; nothing
    /// where that is left to the host.
    pub goal_teaching: Option<String>,
}

/// How a model is asked for a summary, and what it must keep.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryOptions {
    /// How it is asked.
    pub style: Line,
    /// What it is asked; `{max_tokens}` is filled in here, `{conversation}` and `{must_keep}` later.
    pub ask: String,
    /// The share of the room that it is told to fill; the rest is for what it forgot.
    pub share: f64,
    /// Opens what it forgot.
    pub forgotten: String,
    /// Opens what the extractor says beside a summary.
    pub beside: String,
}

/// When a tool result is made smaller before it is first sent, and how far. Sizes are tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct ArriveOptions {
    /// From here on a digest is tried.
    pub digest_from: u64,
    /// The share of its original that a digest may take.
    pub digest_share: f64,
    /// A larger result never stays whole.
    pub offload_above: u64,
    /// The same as a share of the limit, where that is less.
    pub offload_share: f64,
    /// What stays of it.
    pub preview: u64,
    /// The same as a share of the limit, where that is less.
    pub preview_share: f64,
    /// Calls that hold one of these words bring back what left: their results stay as they are
    /// (RULES 120).
    pub exempt: Vec<String>,
}

/// The built-in policy.
#[derive(Clone, Debug)]
pub struct BuiltinPolicy {
    name: String,
    options: BuiltinOptions,
}

impl BuiltinPolicy {
    /// The policy with these decisions, under the name that reports give it.
    pub fn new(name: &str, options: BuiltinOptions) -> Self {
        Self { name: name.to_owned(), options }
    }

    /// The bounds under a limit.
    pub fn bounds(&self, limit: u64) -> Budgets {
        let of = |part| Some(share(limit, part));
        let reserve = self.options.reserve.min(share(limit, self.options.reserve_share));
        Budgets {
            warn: of(self.options.warn),
            ahead: of(self.options.ahead),
            soft: of(self.options.soft),
            hard: Some(limit - reserve),
            target: of(self.options.target),
            reserve: Some(reserve),
            ..Budgets::default()
        }
    }

    fn rests(&self, job: &TriggerJob) -> bool {
        let grown = |since: u64| since as f64 * (1.0 + self.options.cooldown);
        job.stalled_at.is_some_and(|since| (job.common.tokens.total as f64) < grown(since))
    }
}

impl Policy for BuiltinPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    /// What a search found stands in its order unasked.
    fn takes(&self, hook: &str) -> bool {
        hook != RecallJob::HOOK
    }

    fn budgets(&self, job: &BudgetsJob, _rest: &NextPolicies<'_>) -> HookResult<Budgets> {
        Ok(Some(self.bounds(job.common.model.limit)))
    }

    fn tool_result(
        &self,
        job: &ToolResultJob<'_>,
        _rest: &NextPolicies<'_>,
    ) -> HookResult<ToolResultAnswer> {
        let (entry, limit, options) = (&job.entry, job.common.model.limit, &self.options.arrive);
        let holds = |text: &Option<String>, word: &String| {
            text.as_ref().is_some_and(|text| text.contains(word))
        };
        let exempt = |word: &String| holds(&entry.tool, word) || holds(&entry.args, word);
        let too_large = options.offload_above.min(share(limit, options.offload_share));
        let (how, max_tokens) = match entry.tokens {
            _ if options.exempt.iter().any(exempt) => (Way::Keep, None),
            tokens if tokens > too_large => {
                (Way::Offload, Some(options.preview.min(share(limit, options.preview_share))))
            }
            tokens if tokens >= options.digest_from => {
                (Way::Digest, Some(share(tokens, options.digest_share)))
            }
            _ => (Way::Keep, None),
        };
        Ok(Some(ToolResultAnswer { how, text: None, max_tokens }))
    }

    fn trigger(&self, job: &TriggerJob, _rest: &NextPolicies<'_>) -> HookResult<TriggerAnswer> {
        let (tokens, bounds) = (job.common.tokens.total, &job.budgets);
        let due = |level| TriggerAnswer::Compress(Due { level, target: None, reason: None });
        Ok(Some(match () {
            () if bounds.hard.is_some_and(|hard| tokens > hard) => due(Strength::Hard),
            () if job.requested_by.is_some() => due(Strength::Asked),
            () if bounds.soft.is_none_or(|soft| tokens < soft) => TriggerAnswer::Wait(false),
            () if job.cache.forgone_cost < job.cache.rewrite_cost => TriggerAnswer::Wait(false),
            () if self.rests(job) => TriggerAnswer::Wait(false),
            () => due(Strength::Soft),
        }))
    }

    fn plan(&self, _job: &PlanJob<'_>, _rest: &NextPolicies<'_>) -> HookResult<Orders> {
        let ops = vec![OpRequest::Fit(Fit::default())];
        Ok(Some(Orders { ops, ..Orders::default() }))
    }

    fn summary_prompt(
        &self,
        job: &SummaryPromptJob<'_>,
        _rest: &NextPolicies<'_>,
    ) -> HookResult<SummaryPrompt> {
        let options = &self.options.summaries;
        let most = share(job.max_tokens, options.share);
        let user = options.ask.replace("{max_tokens}", &most.to_string());
        let (style, max_tokens) = (options.style, Some(job.max_tokens));
        let beside = Some(options.beside.clone()).filter(|opening| !opening.is_empty());
        Ok(Some(SummaryPrompt {
            style,
            model: None,
            system: None,
            user,
            max_tokens,
            sections: None,
            beside,
            rest: None,
        }))
    }

    /// What a summary forgot is added as data, as far as there is room, first what the extractor
    /// would have kept. One that keeps fewer facts even so than that would is not taken.
    fn verify(&self, job: &VerifyJob<'_>, _rest: &NextPolicies<'_>) -> HookResult<VerifyAnswer> {
        let opening = &self.options.summaries.forgotten;
        // No text has more tokens than bytes.
        let mut room = job.max_tokens.saturating_sub(job.tokens + opening.len() as u64 + 2);
        let missing = |extracted: bool| {
            job.must_keep.iter().filter(move |fact| !fact.found && fact.extracted == extracted)
        };
        let added: Vec<_> = missing(true)
            .chain(missing(false))
            .filter(|fact| {
                let fits = fact.tokens <= room;
                room -= if fits { fact.tokens } else { 0 };
                fits
            })
            .map(|fact| format!("- {}", fact.text))
            .collect();
        let count = |holds: fn(&Fact) -> bool| job.must_keep.iter().filter(|it| holds(it)).count();
        let (held, extracted) = (count(|it| it.found) + added.len(), count(|it| it.extracted));
        Ok(Some(match added.is_empty() {
            _ if held < extracted => VerifyAnswer::Reject(Rejected {
                reject: format!(
                    "it keeps {held} of {} facts, and without a model it would be {extracted}",
                    job.must_keep.len()
                ),
            }),
            true => VerifyAnswer::Plain(true),
            false => {
                let append = Some(format!("{opening}\n{}", added.join("\n")));
                VerifyAnswer::Second(Seconded { append, confidence: None })
            }
        }))
    }

    /// The host's own system prompt, and behind it what the goal is, how the model says what changes
    /// of it, and what was loaded.
    fn render(&self, job: &RenderJob, _rest: &NextPolicies<'_>) -> HookResult<Render> {
        let Some((teaching, makings)) =
            self.options.goal_teaching.as_ref().zip(job.system.as_ref())
        else {
            return Ok(None);
        };
        let part = |name: &str, text: String| Section { name: name.to_owned(), text };
        let loaded = makings.augments.iter().map(|one| format!("## {}\n\n{}", one.title, one.text));
        let goal = [&*makings.goal, teaching].into_iter().filter(|text| !text.is_empty());
        let parts = vec![
            part("instructions", makings.instructions.clone().unwrap_or_default()),
            part("goal", goal.collect::<Vec<_>>().join("\n\n")),
            part("augments", loaded.collect::<Vec<_>>().join("\n\n")),
        ];
        Ok(Some(Render { parts: Some(parts), ..Render::default() }))
    }

    /// As they stand: the search put them in this order.
    fn recall(&self, job: &RecallJob, _rest: &NextPolicies<'_>) -> HookResult<RecallOrder> {
        let order = (1..).take(job.passages.len()).collect();
        Ok(Some(RecallOrder { order: Some(order), leave_out: None }))
    }

    /// Markers, in what the model says: it was told of them, others only write about them.
    fn goals(&self, job: &GoalsJob, _rest: &NextPolicies<'_>) -> HookResult<Vec<Found>> {
        Ok((job.speaker == Speaker::Model.into())
            .then(|| markers(&job.text, &self.options.markers)))
    }
}

fn share(whole: u64, share: f64) -> u64 {
    (whole as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use epitome_kernel::PolicyChain;
    use epitome_kernel::types::Goals;
    use epitome_kernel::types::hook::{
        Arriving, Cache, Common, Covered, MessageNumber, MessageTexts, ModelFacts, Occasion,
        Purpose, Tokens,
    };

    use super::*;
    use crate::{CacheMeter, CachePrices};

    const PRICES: CachePrices = CachePrices { read: 0.1, write: 1.25 };

    fn chain() -> (BuiltinPolicy, PolicyChain) {
        let arrive = ArriveOptions {
            digest_from: 100,
            digest_share: 0.5,
            offload_above: 500,
            offload_share: 0.4,
            preview: 60,
            preview_share: 0.05,
            exempt: vec!["epitome recall".to_owned()],
        };
        let options = BuiltinOptions {
            warn: 0.7,
            ahead: 0.7,
            soft: 0.8,
            target: 0.4,
            reserve: 100,
            reserve_share: 0.05,
            cooldown: 0.05,
            markers: MarkerWords::default(),
            arrive,
            summaries: SummaryOptions {
                style: Line::Separate,
                ask: "At most {max_tokens}: {conversation}".to_owned(),
                share: 0.75,
                forgotten: "Also:".to_owned(),
                beside: "Said:".to_owned(),
            },
            goal_teaching: None,
        };
        let builtin = BuiltinPolicy::new("builtin", options);
        let chain = PolicyChain::new(vec![Arc::new(builtin.clone())], BTreeMap::new());
        (builtin, chain)
    }

    fn common(limit: u64, total: u64) -> Common {
        let model = ModelFacts { limit, ..ModelFacts::default() };
        Common { model, tokens: Tokens { total, ..Tokens::default() }, ..Common::default() }
    }

    /// What a prompt of this size is told in its `turn`th request.
    fn told(meter: &mut CacheMeter, tokens: u64, cold: bool) -> TriggerAnswer {
        let (builtin, chain) = chain();
        let budgets = builtin.bounds(1000);
        let cache = meter.look(tokens, cold, &budgets, PRICES);
        let stalled_at = meter.stalled_at();
        let (common, cause) = (common(1000, tokens), Occasion::Turn);
        let job = TriggerJob {
            common,
            cause,
            new_model_message: true,
            floor: 0,
            budgets,
            cache,
            stalled_at,
            new_results: Vec::new(),
            requested_by: None,
            recall_pending: false,
            watermark: None,
        };
        chain.ask().trigger(&job).ok().flatten().expect("an answer")
    }

    fn due(level: Strength) -> TriggerAnswer {
        TriggerAnswer::Compress(Due { level, target: None, reason: None })
    }

    /// The turn, counted from 1, at which a prompt of this size is compressed.
    fn check(tokens: u64, cold: bool, expected: Option<(u32, Strength)>) {
        let mut meter = CacheMeter::default();
        let found = (1..100).find_map(|turn| match told(&mut meter, tokens, cold) {
            TriggerAnswer::Compress(due) => Some((turn, due.level)),
            TriggerAnswer::Wait(_) | TriggerAnswer::Pass(_) => None,
        });
        assert_eq!(found, expected, "{tokens} {cold}");
    }

    #[test]
    fn bounds_are_shares_of_the_limit() {
        let of = |limit| {
            let bounds = chain().0.bounds(limit);
            [bounds.warn, bounds.soft, bounds.hard, bounds.target].map(Option::unwrap)
        };
        assert_eq!(of(1000), [700, 800, 950, 400]);
        assert_eq!(of(10_000), [7000, 8000, 9900, 4000]);
    }

    #[test]
    fn a_warm_prefix_is_rewritten_when_leaving_it_has_cost_as_much() {
        check(799, false, None);
        // 0.1 (900 - 400) = 50 a turn, against 1.25 * 400 - 0.1 * 900 = 410.
        check(900, false, Some((9, Strength::Soft)));
        check(951, false, Some((1, Strength::Hard)));
    }

    #[test]
    fn a_cold_prefix_is_rewritten_at_once() {
        check(800, true, Some((1, Strength::Soft)));
        check(799, true, None);
    }

    #[test]
    fn what_brought_nothing_waits_for_new_weight() {
        let mut meter = CacheMeter::default();
        meter.stalled(900, None);
        assert_eq!(told(&mut meter, 944, true), TriggerAnswer::Wait(false));
        assert_eq!(told(&mut meter, 945, true), due(Strength::Soft));
        meter.stalled(940, None);
        assert_eq!(told(&mut meter, 951, true), due(Strength::Hard));
    }

    #[test]
    fn large_results_are_made_smaller() {
        let check = |tokens, tool: &str, expected: Way, most| {
            let tool = Some(tool.to_owned());
            let entry = Arriving { tokens, tool, ..Arriving::default() };
            let (original, file, text) = (String::new(), None, "");
            let job = ToolResultJob { common: common(1000, 0), entry, original, file, text };
            let answer = ToolResultAnswer { how: expected, text: None, max_tokens: most };
            assert_eq!(chain().1.ask().tool_result(&job), Ok(Some(answer)), "{tokens}");
        };
        check(99, "read", Way::Keep, None);
        check(100, "read", Way::Digest, Some(50));
        check(400, "read", Way::Digest, Some(200));
        check(401, "read", Way::Offload, Some(50));
        check(400, "epitome recall", Way::Keep, None);
        check(401, "epitome recall", Way::Keep, None);
    }

    /// RULES 57: "Markers in model output".
    #[test]
    fn markers_are_read_in_what_the_model_says_alone() {
        let found = |speaker: Speaker| {
            let (speaker, text) = (speaker.into(), "[NEXT] a".to_owned());
            let job = GoalsJob { common: common(1000, 0), speaker, text, goals: Goals::default() };
            chain().1.ask().goals(&job).ok().flatten().unwrap_or_default().len()
        };
        assert_eq!((found(Speaker::Model), found(Speaker::Human)), (1, 0));
    }

    /// What becomes of a summary of 40 tokens with these facts: text, found, extracted.
    fn judged(max_tokens: u64, facts: &[(&str, bool, bool)]) -> VerifyAnswer {
        let fact = |&(text, found, extracted): &(&str, bool, bool)| Fact {
            text: text.to_owned(),
            found,
            extracted,
            tokens: 10,
        };
        let job = VerifyJob {
            common: common(1000, 0),
            op: Purpose::Summarize,
            level: Some(3),
            covered: Covered::default(),
            candidate: "short".to_owned(),
            must_keep: facts.iter().map(fact).collect(),
            tokens: 40,
            max_tokens,
            texts: &Nothing,
        };
        chain().1.ask().verify(&job).ok().flatten().expect("an answer")
    }

    struct Nothing;

    impl MessageTexts for Nothing {
        fn text(&self, _: MessageNumber) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_a_summary_forgot_is_added_where_there_is_room() {
        let facts = [("a.rs", true, true), ("b.rs", false, false), ("c.rs", false, true)];
        assert_eq!(judged(99, &facts[..1]), VerifyAnswer::Plain(true));
        let added = |max_tokens| match judged(max_tokens, &facts) {
            VerifyAnswer::Second(Seconded { append, .. }) => append.unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(added(99), "Also:\n- c.rs\n- b.rs");
        assert_eq!(added(60), "Also:\n- c.rs");
        let reject = "it keeps 1 of 3 facts, and without a model it would be 2".to_owned();
        assert_eq!(judged(50, &facts), VerifyAnswer::Reject(Rejected { reject }));
    }

    #[test]
    fn a_model_is_told_to_leave_room_for_what_it_forgets() {
        let job = SummaryPromptJob {
            common: common(1000, 0),
            op: Purpose::Summarize,
            level: Some(3),
            covered: Covered::default(),
            must_keep: Vec::new(),
            goals: Goals::default(),
            focus: None,
            max_tokens: 100,
            texts: &Nothing,
        };
        let prompt = chain().1.ask().summary_prompt(&job).ok().flatten().unwrap();
        assert_eq!(prompt.user, "At most 75: {conversation}");
        assert_eq!((prompt.style, prompt.max_tokens), (Line::Separate, Some(100)));
    }

    #[test]
    fn the_cache_is_described_in_its_prices() {
        let (builtin, _) = chain();
        let mut meter = CacheMeter::from_reading(epitome_kernel::types::MeterReading {
            rent: 10.0,
            ..<_>::default()
        });
        let found = meter.look(900, false, &builtin.bounds(1000), PRICES);
        let (rewrite_cost, saving_per_turn, forgone_cost) = (410.0, 50.0, 60.0);
        let (read, write) = (0.1, 1.25);
        let expected =
            Cache { warm: true, read, write, rewrite_cost, saving_per_turn, forgone_cost };
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
}
