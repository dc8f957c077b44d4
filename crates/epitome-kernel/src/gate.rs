//! The gate: what a chain answers is bounded before anybody acts on it (RULES 17).
//!
//! Invariant: no size that a policy asks for exceeds the limit of the prompt, no bound of the prompt
//! lies below what the system prompt and the tools take, and what a policy pins or brings back stays
//! within a share of the limit. Whoever asks for more gets the bound, which is told. Every answer
//! passes here, once, as `policy` gives it away; the match over all hooks leaves none out.

use epitome_types::hook::{
    Budgets, Common, Due, Observe, OpRequest, Orders, PlanJob, Seconded, SummaryPrompt,
    ToolResultAnswer, TriggerAnswer, VerifyAnswer,
};

use crate::hook::{Answer, Job};

/// The part of the limit that is left for the prompt, whatever is reserved: one in so many.
const LEFT_FOR_PROMPT: u64 = 2;

/// The share of the limit that policies may pin, and may have brought back at once: one part in so
/// many.
const KEPT: u64 = 4;

/// The most that policies may pin of a prompt, in tokens, and may have brought back at once. A limit
/// of 0 is not known.
pub fn kept_most(limit: u64) -> u64 {
    match limit {
        0 => u64::MAX,
        limit => limit / KEPT,
    }
}

/// A part of an answer that exceeded its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded {
    pub(crate) what: &'static str,
    pub(crate) asked: u64,
    pub(crate) given: u64,
}

/// Holds an answer to its job within its bounds, and gives the parts that were not.
pub(crate) fn bound(job: &Job<'_>, answer: &mut Answer) -> Vec<Exceeded> {
    let common = job.common();
    let mut gate = Gate { exceeded: Vec::new() };
    match common.model.limit {
        // Nothing can be said of a window that nobody knows.
        0 => {}
        limit => gate.pass(limit, job, answer),
    }
    gate.exceeded
}

struct Gate {
    exceeded: Vec<Exceeded>,
}

impl Gate {
    fn pass(&mut self, limit: u64, job: &Job<'_>, answer: &mut Answer) {
        match answer {
            Answer::Budgets(budgets) => self.budgets(limit, job.common(), budgets),
            Answer::ToolResult(ToolResultAnswer { max_tokens, .. }) => {
                self.most("max_tokens", max_tokens, limit);
            }
            Answer::Observe(Observe { max_tokens, .. }) => {
                self.most("max_tokens", max_tokens, kept_most(limit));
            }
            Answer::Trigger(TriggerAnswer::Compress(Due { target, .. })) => {
                self.most("target", target, limit);
            }
            Answer::Plan(orders) => {
                let [most, fit] = match job {
                    // What comes to the bound itself is forced again by the next message.
                    Job::Plan(PlanJob { max_tokens, target, .. }) => {
                        [*max_tokens, target.midpoint(*max_tokens)]
                    }
                    _ => [limit; 2],
                };
                self.orders(most.min(limit), fit.min(limit), orders);
            }
            Answer::Age(ageings) => {
                ageings.iter_mut().for_each(|one| self.at_most("target", &mut one.target, limit));
            }
            Answer::SummaryPrompt(SummaryPrompt { max_tokens, .. }) => {
                self.most("max_tokens", max_tokens, limit);
            }
            Answer::Verify(VerifyAnswer::Second(Seconded { confidence, .. })) => share(confidence),
            // These name no size, and what they write is measured before it is sent.
            Answer::Trigger(TriggerAnswer::Wait(_) | TriggerAnswer::Pass(_))
            | Answer::Verify(VerifyAnswer::Plain(_) | VerifyAnswer::Reject(_))
            | Answer::Goals(_)
            | Answer::Facts(_)
            | Answer::Render(_)
            | Answer::Status(_)
            | Answer::Recall(_)
            | Answer::Event(_) => {}
        }
    }

    fn budgets(&mut self, limit: u64, common: &Common, budgets: &mut Budgets) {
        let floor = (common.tokens.system + common.tokens.tools).min(limit);
        self.within("warn", &mut budgets.warn, 0, limit);
        self.within("ahead", &mut budgets.ahead, 0, limit);
        self.within("soft", &mut budgets.soft, floor, limit);
        self.within("hard", &mut budgets.hard, floor, limit);
        // An aim below the floor is passed over for one that can be met.
        self.most("target", &mut budgets.target, limit);
        self.most("reserve", &mut budgets.reserve, limit - limit.div_ceil(LEFT_FOR_PROMPT));
        self.most("checkpoints", &mut budgets.checkpoints, limit);
        self.most("keep_recent", &mut budgets.keep_recent, limit);
        self.most("system", &mut budgets.system, limit);
    }

    fn orders(&mut self, most: u64, of_fit: u64, orders: &mut Orders) {
        for order in &mut orders.ops {
            match order {
                OpRequest::Fit(fit) => {
                    self.most("fit.max_tokens", &mut fit.max_tokens, of_fit);
                    share(&mut fit.keep_recent_share);
                    fit.targets().for_each(|size| self.most("fit.also.target", size, most));
                }
                OpRequest::Summarize(one) => {
                    self.at_most("summarize.target", &mut one.target, most)
                }
                OpRequest::Age(one) => self.at_most("age.target", &mut one.target, most),
                OpRequest::Merge(one) => self.at_most("merge.target", &mut one.target, most),
                OpRequest::SummarizeUser(one) => {
                    self.at_most("summarize_user.target", &mut one.target, most)
                }
                OpRequest::Replace(one) => self.most("replace.target", &mut one.target, most),
                OpRequest::Rollover(one) => self.at_most("rollover.target", &mut one.target, most),
                // What they put into the prompt is counted with it, and pins with what is pinned.
                OpRequest::Insert(_)
                | OpRequest::Pin(_)
                | OpRequest::Drop(_)
                | OpRequest::ClearTools(_)
                | OpRequest::Warn(_)
                | OpRequest::WriteFile(_)
                | OpRequest::Handover(_) => {}
            }
        }
    }

    fn most(&mut self, what: &'static str, size: &mut Option<u64>, most: u64) {
        self.within(what, size, 0, most);
    }

    fn within(&mut self, what: &'static str, size: &mut Option<u64>, least: u64, most: u64) {
        if let Some(size) = size {
            self.at_most(what, size, most);
            // Who asks for less than there is gets what there is: no news for anybody.
            *size = (*size).max(least);
        }
    }

    fn at_most(&mut self, what: &'static str, size: &mut u64, most: u64) {
        let (asked, given) = (*size, (*size).min(most));
        *size = given;
        if asked > given {
            self.exceeded.push(Exceeded { what, asked, given });
        }
    }
}

/// Holds a share between 0 and 1; what is no number is no opinion.
fn share(share: &mut Option<f64>) {
    *share = share.filter(|share| !share.is_nan()).map(|share| share.clamp(0.0, 1.0));
}

#[cfg(test)]
mod tests {
    use epitome_types::CompactionCause;
    use epitome_types::hook::{
        BudgetsJob, Columns, Fit, Found, FoundKind, MessageNumber, MessageTexts, ModelFacts,
        Rollover, Tokens,
    };
    use proptest::prelude::*;

    use super::*;

    fn job(limit: u64, system: u64) -> BudgetsJob {
        let model = ModelFacts { limit, ..ModelFacts::default() };
        let tokens = Tokens { system, ..Tokens::default() };
        BudgetsJob { common: Common { model, tokens, ..Common::default() } }
    }

    /// What is left of an answer, and what was told: the part, what it asked for, what it got.
    #[track_caller]
    fn check(limit: u64, mut answer: Answer, expected: Answer, told: &[(&str, u64, u64)]) {
        let exceeded = bound(&Job::Budgets(&job(limit, 40)), &mut answer);
        assert_eq!(answer, expected);
        let exceeded = exceeded.iter().map(|one| (one.what, one.asked, one.given));
        assert_eq!(exceeded.collect::<Vec<_>>(), told);
    }

    #[test]
    fn bounds_of_the_prompt_lie_between_what_is_there_and_the_limit() {
        let budgets = |soft, hard, reserve| {
            Answer::Budgets(Budgets {
                soft: Some(soft),
                hard: Some(hard),
                reserve: Some(reserve),
                ..Budgets::default()
            })
        };
        check(100, budgets(60, 90, 10), budgets(60, 90, 10), &[]);
        check(100, budgets(0, 39, 50), budgets(40, 40, 50), &[]);
        check(
            100,
            budgets(101, u64::MAX, 51),
            budgets(100, 100, 50),
            &[("soft", 101, 100), ("hard", u64::MAX, 100), ("reserve", 51, 50)],
        );
        // The system prompt alone exceeds it.
        check(30, budgets(7, 90, 0), budgets(30, 30, 0), &[("hard", 90, 30)]);
        check(0, budgets(7, 90, 1), budgets(7, 90, 1), &[]);
    }

    #[test]
    fn a_plan_names_no_size_above_the_limit() {
        let plan = |most, share, target| {
            let fit = Fit { max_tokens: Some(most), keep_recent_share: share, ..Fit::default() };
            let ops = vec![OpRequest::Fit(fit), OpRequest::Rollover(Rollover { target })];
            Answer::Plan(Orders { ops, ..Orders::default() })
        };
        check(100, plan(99, Some(0.3), 9), plan(99, Some(0.3), 9), &[]);
        check(
            100,
            plan(101, Some(7.0), 1_000),
            plan(100, Some(1.0), 100),
            &[("fit.max_tokens", 101, 100), ("rollover.target", 1_000, 100)],
        );
        check(100, plan(99, Some(f64::NAN), 9), plan(99, None, 9), &[]);
    }

    /// A fit to the bound itself would be forced again by the next message.
    #[test]
    fn a_fit_leaves_room_below_the_bound() {
        let BudgetsJob { common } = job(100, 0);
        let (entries, budgets, cause) =
            (Columns::default(), Budgets::default(), CompactionCause::Hard);
        let job = PlanJob {
            common,
            entries,
            checkpoints: Vec::new(),
            target: 40,
            max_tokens: 80,
            floor: 0,
            budgets,
            cause,
            watermark: None,
            watermark_lost: false,
            texts: &NoTexts,
        };
        let plan = |most| {
            let fit = Fit { max_tokens: Some(most), ..Fit::default() };
            Answer::Plan(Orders { ops: vec![OpRequest::Fit(fit)], ..Orders::default() })
        };
        let mut answer = plan(u64::MAX);
        let told = bound(&Job::Plan(&job), &mut answer);
        let what = "fit.max_tokens";
        assert_eq!(told, [Exceeded { what, asked: u64::MAX, given: 60 }]);
        assert_eq!(answer, plan(60));
    }

    struct NoTexts;

    impl MessageTexts for NoTexts {
        fn text(&self, _: MessageNumber) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_is_brought_back_is_a_share_and_findings_pass() {
        let observe =
            |most| Answer::Observe(Observe { max_tokens: Some(most), ..Observe::default() });
        check(100, observe(25), observe(25), &[]);
        check(100, observe(26), observe(25), &[("max_tokens", 26, 25)]);
        let (text, state) = ("x".repeat(1_000), None);
        let found = Answer::Goals(vec![Found { kind: FoundKind::Goal, text, state }]);
        check(100, found.clone(), found, &[]);
    }

    proptest! {
        /// What is bounded once is within its bounds.
        #[test]
        fn an_answer_is_bounded_once(limit in 0u64..1_000, system in 0u64..2_000, of in any::<[Option<u64>; 6]>()) {
            let [soft, hard, target, reserve, warn, checkpoints] = of;
            let budgets =
                Budgets { soft, hard, target, reserve, warn, checkpoints, ..Budgets::default() };
            let (job, mut answer) = (job(limit, system), Answer::Budgets(budgets));
            let told = bound(&Job::Budgets(&job), &mut answer);
            prop_assert!(told.iter().all(|one| one.asked > one.given));
            let once = answer.clone();
            prop_assert_eq!(bound(&Job::Budgets(&job), &mut answer), []);
            prop_assert_eq!(answer, once);
        }
    }
}
