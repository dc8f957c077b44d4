//! The policies of a profile, and the models that they may ask.
//!
//! Invariant: a question for a model is answered at most [`ASKS`] times a hook, by the first model
//! that can; all that a request or a task asks, at whatever hooks, ends in the time that there is for
//! it; and what comes of a hook never stops a conversation: without an opinion the caller has one of
//! its own. Called by live sessions and by the compressor of single conversations.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use epitome_admin::clock::Clock;
use epitome_kernel::{
    HookJob, HookNotes, HookReply, LanguageModel, ModelQuestion, NextPolicies, PolicyChain,
    PolicyError, TokenCounter,
};
use epitome_types::hook::Common;
use epitome_types::{EventKind, HookAuthor};

use crate::tape::StepTape;
use crate::time_budget::ModelTimeBudget;
use epitome_config::models::Models;
use epitome_config::profile::ProfileRules;
use epitome_extensions::plugins::ExtensionFailures;

/// Tells the time that texts in a prompt state, ISO 8601, if anybody knows.
pub(crate) type TextTime = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// What is said of a policy that asks a model where the host grants none.
pub const NO_MODEL: &str = "there is no model to ask; grant one, or decide without";

/// How often a hook may have a model asked before it answers.
pub(crate) const ASKS: usize = 2;

/// What is said to a policy that asks more often.
pub(crate) const TWICE: &str = "a model is asked twice at most; answer now";

/// An answer of the policies, with who gave it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision<T> {
    /// The answer; `None` where nobody decides.
    pub(crate) value: Option<T>,
    pub(crate) by: Option<HookAuthor>,
}

impl<T> Decision<T> {
    /// The name of the policy that decided; empty where nobody did.
    pub(crate) fn policy(&self) -> String {
        self.by.as_ref().map(|by| by.policy.clone()).unwrap_or_default()
    }
}

/// Runs the policy chain of one conversation.
#[derive(Clone)]
pub(crate) struct PolicyRunner {
    pub(crate) chain: PolicyChain,
    pub(crate) models: Models,
    /// How long models may take to answer the policies, for one request or one task.
    pub(crate) within: Duration,
    /// How much of that time is left.
    pub(crate) patience: Arc<ModelTimeBudget>,
    /// Share of a model's window that is used.
    pub(crate) window_share: f64,
    /// Counts what they are asked.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// Tells how time passes.
    pub(crate) clock: Clock,
    /// Tells the time that texts state, where that is not the request's.
    pub(crate) text_time: Option<TextTime>,
    /// What plugins and models failed at beside the hooks.
    pub(crate) failures: Arc<ExtensionFailures>,
    /// What came up at the hooks, until the turn tells of it.
    pub(crate) notes: Arc<Mutex<HookNotes>>,
    /// Where the answers are written down, if anywhere.
    pub(crate) tape: Option<Arc<StepTape>>,
    /// What the profile states itself.
    pub(crate) rules: Arc<ProfileRules>,
}

impl PolicyRunner {
    /// The time that a text may state.
    pub(crate) fn time(&self, common: &Common) -> Option<String> {
        match &self.text_time {
            Some(told) => told(),
            None => Some(common.now.clone()),
        }
    }

    /// The same with all of the time, for something else.
    pub(crate) fn anew(&self) -> Self {
        let patience = Arc::new(ModelTimeBudget::new(&self.clock, self.within));
        Self { patience, ..self.clone() }
    }

    /// Asks the chain about a job, and models where a policy wants that first.
    pub(crate) async fn ask<J: HookJob>(&self, job: &mut J) -> Decision<J::Answer> {
        let round = self.chain.round();
        self.ask_these(self.chain.ask().within(&round), job).await
    }

    /// Asks these policies of the chain. Those that have had their say are not asked again where
    /// another one waits for a model, so these are asked within a round.
    pub(crate) async fn ask_these<J: HookJob>(
        &self,
        rest: NextPolicies<'_>,
        job: &mut J,
    ) -> Decision<J::Answer> {
        let mut asked = 0;
        loop {
            let HookReply { result, by, .. } = self.put(rest, job);
            let question = match result {
                Ok(value) => return Decision { value, by },
                Err(question) => question,
            };
            let decision = Decision { value: None, by };
            let (policy, id) = (decision.policy(), question.id.clone());
            if asked == ASKS {
                self.unanswered::<J>(policy, &id, TWICE);
                return decision;
            }
            asked += 1;
            match self.reply::<J>(&policy, *question).await {
                Ok(reply) => job.common_mut().replies.insert(id, reply),
                Err(why) => {
                    self.unanswered::<J>(policy, &id, &why);
                    return decision;
                }
            };
        }
    }

    /// Asks the chain about a job without waiting for a model: its answer, or its question.
    pub(crate) fn ask_at_once<J: HookJob>(&self, job: &J) -> HookReply<J::Answer> {
        self.put(self.chain.ask(), job)
    }

    /// Puts a job to policies, and keeps what came up beside the answer.
    fn put<J: HookJob>(&self, rest: NextPolicies<'_>, job: &J) -> HookReply<J::Answer> {
        let reply = match &self.tape {
            Some(tape) => tape.hook(&self.chain, rest, &job.as_job()),
            None => rest.reply(&job.as_job()),
        };
        let mut reply = reply.of_job::<J>();
        self.notes().add(mem::take(&mut reply.notes));
        reply
    }

    /// How many of so many questions are under way at the same time: one where the answers are written
    /// down, so that their order is the same whoever answers first.
    pub(crate) fn at_once(&self, most: usize) -> usize {
        if self.tape.is_some() { 1 } else { most }
    }

    /// What came up at the hooks since this was last called.
    pub(crate) fn take_notes(&self) -> HookNotes {
        mem::take(&mut *self.notes())
    }

    /// Takes note of what came up beside the answers of the hooks.
    pub(crate) fn notes(&self) -> MutexGuard<'_, HookNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the first model says that has an answer; who has none is told of.
    pub(crate) async fn reply<J: HookJob>(
        &self,
        policy: &str,
        mut ask: ModelQuestion,
    ) -> Result<String, String> {
        let mut why = NO_MODEL.to_owned();
        let mut models = self.models.all.iter();
        while let Some(model) = models.next() {
            // Divide the remaining time among the models left: a slow one must not use it up.
            let still = models.len() as u32 + 1;
            match self.said(&**model, &mut ask, still).await {
                Ok(reply) => return Ok(reply),
                Err(cause) => why = cause,
            }
            if let Some(next) = models.as_slice().first() {
                self.failures.add(EventKind::ModelFallback {
                    policy: policy.to_owned(),
                    hook: J::HOOK.to_owned(),
                    ask: ask.id.clone(),
                    model: model.name().to_owned(),
                    cause: why.clone(),
                    next: next.name().to_owned(),
                });
            }
        }
        Err(why)
    }

    /// What a model says in its part of the time that is left for so many.
    async fn said(
        &self,
        model: &dyn LanguageModel,
        ask: &mut ModelQuestion,
        still: u32,
    ) -> Result<String, String> {
        let texts = ask.system.iter().chain([&ask.user]);
        let size = texts.map(|text| self.counter.count(text) + self.counter.message()).sum::<u64>()
            + ask.max_tokens.unwrap_or_default();
        let window = model.window().await;
        if let Some(window) = window.filter(|all| size as f64 > *all as f64 * self.window_share) {
            let why = format!("its window of {window} tokens has no room for a question of {size}");
            return Err(format!("`{}`: {why}", model.name()));
        }
        let left = self.patience.left();
        if left.is_zero() {
            let most = self.within.as_secs();
            return Err(format!("`{}` is not asked: the {most} s are over", model.name()));
        }
        ask.within = Some(left / still);
        model.complete(ask).await.map_err(|error| error.to_string())
    }

    /// A question of a policy is not answered, and nobody decides.
    pub(crate) fn unanswered<J: HookJob>(&self, policy: String, id: &str, what: &str) {
        self.refuse::<J>(policy, format!("it asks `{id}`: {what}"));
    }

    /// An answer of a policy is an error of it.
    pub(crate) fn refuse<J: HookJob>(&self, policy: String, what: String) {
        self.notes().errors.push(PolicyError { policy, hook: J::HOOK, what });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use async_trait::async_trait;
    use epitome_kernel::{HookInterrupt, HookResult, ModelError, Policy};
    use epitome_testkit::{FixedCounter, ScriptedModel, now};
    use epitome_types::hook::{Common, Status, StatusJob};

    use super::*;

    /// Asks a model so many times before it says what it was told.
    struct Asks(usize);

    impl Policy for Asks {
        fn name(&self) -> &str {
            "asks"
        }

        fn status(&self, job: &StatusJob, _: &NextPolicies<'_>) -> HookResult<Status> {
            let replies = &job.common.replies;
            if replies.len() < self.0 {
                let (id, user) = (format!("q{}", replies.len()), "How is it?".to_owned());
                let max_tokens = Some(9);
                return Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                    id,
                    user,
                    max_tokens,
                    ..ModelQuestion::default()
                })));
            }
            let text = replies.values().cloned().collect::<Vec<_>>().join(", ");
            Ok(Some(Status { text: Some(text), ..Status::default() }))
        }
    }

    /// What comes of a hook: the answer, then errors and what else is told.
    fn outcome(
        asks: usize,
        models: Vec<Arc<dyn LanguageModel>>,
        clock: Clock,
    ) -> (Option<String>, String) {
        let council = PolicyRunner {
            chain: PolicyChain::new(vec![Arc::new(Asks(asks))], BTreeMap::new()),
            models: models.into(),
            within: Duration::from_secs(60),
            patience: Arc::new(ModelTimeBudget::new(&clock, Duration::from_secs(60))),
            window_share: 0.5,
            counter: Arc::new(FixedCounter::Words),
            clock,
            text_time: None,
            failures: Arc::default(),
            notes: Arc::default(),
            tape: None,
            rules: Arc::default(),
        };
        let mut job = StatusJob {
            common: Common::default(),
            used: 0.0,
            budgets: <_>::default(),
            report: false,
            history: Vec::new(),
            done: <_>::default(),
        };
        let said = now(council.ask(&mut job)).value;
        let errors = council.take_notes().errors;
        let errors = errors.iter().map(ToString::to_string);
        let told = council.failures.take().into_iter().map(|event| match event {
            EventKind::ModelFallback { policy, hook, ask, model, cause, next } => {
                format!("{policy} {hook} {ask} {model} → {next}: {cause}")
            }
            other => format!("{other:?}"),
        });
        let told: Vec<_> = errors.chain(told).collect();
        (said.and_then(|status| status.text), told.join("\n"))
    }

    fn still() -> Clock {
        Arc::new(|| "2026-01-01T00:00:00Z".to_owned())
    }

    #[track_caller]
    fn check(asks: usize, model: Option<ScriptedModel>, expected: Option<&str>, error: &str) {
        let granted =
            model.clone().into_iter().map(|model| Arc::new(model) as Arc<dyn LanguageModel>);
        let (said, told) = outcome(asks, granted.collect(), still());
        assert_eq!((said.as_deref(), &*told), (expected, error));
        let asked = model.map_or(0, |model| model.asked().len());
        assert!(asked <= ASKS, "asked {asked} times");
    }

    #[test]
    fn a_question_is_answered_twice_at_most() {
        let model = || Some(ScriptedModel::saying(&["well", "better"]));
        check(0, None, Some(""), "");
        check(1, model(), Some("well"), "");
        check(2, model(), Some("well, better"), "");
        check(
            3,
            model(),
            None,
            "asks: `status`: it asks `q2`: a model is asked twice at most; answer now",
        );
    }

    #[test]
    fn without_a_reply_nobody_decides() {
        let none =
            "asks: `status`: it asks `q0`: there is no model to ask; grant one, or decide without";
        check(1, None, None, none);
        let down = "asks: `status`: it asks `q0`: the model `scripted` did not answer: it is down";
        check(1, Some(ScriptedModel::failing("it is down")), None, down);
    }

    /// A model that takes its time to say something, or nothing.
    struct Slow {
        name: &'static str,
        window: Option<u64>,
        says: Option<&'static str>,
        seconds: u64,
        time: Arc<Mutex<u64>>,
        /// The seconds that it was given.
        given: Arc<Mutex<Vec<u64>>>,
    }

    #[async_trait]
    impl LanguageModel for Slow {
        fn name(&self) -> &str {
            self.name
        }

        async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
            let given = ask.within.unwrap().as_secs();
            self.given.lock().unwrap().push(given);
            *self.time.lock().unwrap() += self.seconds.min(given);
            let says = self.says.filter(|_| self.seconds <= given);
            says.map(str::to_owned).ok_or_else(|| ModelError {
                model: self.name.to_owned(),
                cause: format!("nothing in {given} s"),
                lack: epitome_kernel::ModelLimitHit::Other,
            })
        }

        async fn window(&self) -> Option<u64> {
            self.window
        }
    }

    /// Models by what they say, how many seconds that takes, and their window.
    #[track_caller]
    fn fall(
        models: &[(&'static str, Option<&'static str>, u64, Option<u64>)],
        expected: Option<&str>,
        seconds: &[u64],
        events: &[&str],
    ) {
        let (time, given) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(Vec::new())));
        let models = models.iter().map(|&(name, says, seconds, window)| {
            let (time, given) = (time.clone(), given.clone());
            Arc::new(Slow { name, window, says, seconds, time, given }) as Arc<dyn LanguageModel>
        });
        let passed = time.clone();
        let clock: Clock = Arc::new(move || {
            let passed = *passed.lock().unwrap();
            format!("2026-01-01T00:{:02}:{:02}Z", passed / 60, passed % 60)
        });
        let (said, told) = outcome(1, models.collect(), clock);
        assert_eq!((said.as_deref(), told), (expected, events.join("\n")));
        assert_eq!(*given.lock().unwrap(), seconds);
        assert!(*time.lock().unwrap() <= 60, "the deadline was missed");
    }

    #[test]
    fn the_next_model_answers_where_one_cannot() {
        let well = ("b", Some("well"), 1, None);
        fall(
            &[("a", None, 5, None), well],
            Some("well"),
            &[30, 55],
            &["asks status q0 a → b: the model `a` did not answer: nothing in 30 s"],
        );
        // One that hangs leaves the rest of the time to those behind it, and no more.
        fall(
            &[("a", Some("late"), 99, None), ("b", Some("late"), 99, None), ("c", None, 99, None)],
            None,
            &[20, 20, 20],
            &[
                "asks: `status`: it asks `q0`: the model `c` did not answer: nothing in 20 s",
                "asks status q0 a → b: the model `a` did not answer: nothing in 20 s",
                "asks status q0 b → c: the model `b` did not answer: nothing in 20 s",
            ],
        );
        // Three words and four for the message, nine for the answer: a half of 31 is too little.
        let room = "`a`: its window of 31 tokens has no room for a question of 16";
        fall(
            &[("a", Some("not asked"), 1, Some(31)), well],
            Some("well"),
            &[60],
            &[&format!("asks status q0 a → b: {room}")],
        );
        fall(&[("a", Some("asked"), 1, Some(32)), well], Some("asked"), &[30], &[]);
    }

    /// A request that asks a lot waits no longer than one that asks once.
    #[test]
    fn all_that_a_request_asks_ends_in_time() {
        let (time, given) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(Vec::new())));
        let passed = time.clone();
        let clock: Clock = Arc::new(move || {
            let passed = *passed.lock().unwrap();
            format!("2026-01-01T00:{:02}:{:02}Z", passed / 60, passed % 60)
        });
        let says = Some("well");
        let slow = Slow { name: "a", window: None, says, seconds: 25, time, given: given.clone() };
        let (said, told) = outcome(2, vec![Arc::new(slow)], clock);
        assert_eq!((said.as_deref(), &*told), (Some("well, well"), ""));
        assert_eq!(*given.lock().unwrap(), [60, 35]);
    }
}
