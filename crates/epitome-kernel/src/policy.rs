//! The port behind every decision: a chain of policies, asked hook by hook.
//!
//! Invariant: the first opinion wins. A policy that fails is noted and passed over, so that the
//! next one answers, the built-in one at last (SPEC 2.9); nothing a policy does reaches the
//! conversation but through its answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use epitome_types::hook::*;
use serde::{Deserialize, Deserializer, Serialize};

/// What a policy makes of a job: nothing, an answer, or that there is none.
pub type Opinion<T> = Result<Option<T>, Halt>;

/// Why a policy has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// It wants a model to be asked first; then it is asked again.
    Ask(Box<ModelAsk>),
    /// It failed.
    Error(PolicyError),
}

/// A question for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelAsk {
    /// The name under which the reply is found in the job.
    pub id: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The question.
    pub user: String,
    /// The most tokens of the reply.
    pub max_tokens: Option<u64>,
    /// The conversation that the question is added to, as a message of the user and nothing else,
    /// so that the provider reads the rest from its cache. Then there is no `system`, and a bound
    /// that the conversation states for its replies stays.
    pub after: Option<Underway>,
    /// How long the answer may take, repetitions included; as long as the adapter lets it where
    /// nothing is said.
    pub within: Option<Duration>,
}

/// A conversation that is under way: the request that its provider was sent, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Underway {
    /// Its bytes.
    pub request: Arc<[u8]>,
    /// The name of its format.
    pub format: String,
}

/// A policy failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{policy}: `{hook}`: {what}")]
pub struct PolicyError {
    /// The policy.
    pub policy: String,
    /// The hook it was asked.
    pub hook: &'static str,
    /// What went wrong, where, and what was expected.
    pub what: String,
}

/// A job, whichever hook it belongs to.
pub trait Asked {
    /// The hook's name.
    const HOOK: &'static str;

    /// What every job says.
    fn common_mut(&mut self) -> &mut Common;
}

/// A hook, for stubs and references.
#[derive(Clone, Copy, Debug)]
pub struct HookShape {
    /// Its name.
    pub name: &'static str,
    /// What it decides.
    pub doc: &'static str,
    /// What it is asked.
    pub job: &'static TableShape,
    /// What it answers.
    pub answer: Shape,
}

macro_rules! hooks {
    ($($(#[doc = $doc:literal])+ $hook:ident $name:ident ($job:ident $(<$life:lifetime>)?) -> $answer:ty;)+) => {
        /// Every hook, in the order in which a turn asks them.
        pub const HOOKS: &[HookShape] = &[$(HookShape {
            name: stringify!($hook),
            doc: concat!($($doc),+),
            job: <$job as Tabular>::TABLE,
            answer: <$answer as Shaped>::SHAPE,
        }),+];

        /// What a policy is asked.
        #[derive(Clone, Copy, Debug, Serialize)]
        #[serde(untagged)]
        pub enum Job<'a> {
            $(#[doc = concat!("Of `", stringify!($hook), "`.")] $name(&'a $job $(<$life>)?)),+
        }

        /// What a policy answered.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Answer {
            $(#[doc = concat!("Of `", stringify!($hook), "`.")] $name($answer)),+
        }

        impl Answer {
            /// An answer to the hook of this name, from data; `None` where no hook has the name.
            ///
            /// # Errors
            ///
            /// When the data is not what the hook answers.
            pub fn read<'de, D>(hook: &str, data: D) -> Result<Option<Self>, D::Error>
            where
                D: Deserializer<'de>,
            {
                match hook {
                    $(stringify!($hook) => <$answer>::deserialize(data).map(Self::$name).map(Some),)+
                    _ => Ok(None),
                }
            }
        }

        impl Job<'_> {
            /// The name of the hook.
            pub fn hook(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($hook)),+ }
            }

            /// What every job says.
            pub fn common(&self) -> &Common {
                match self { $(Self::$name(job) => &job.common),+ }
            }
        }

        $(impl $(<$life>)? Asked for $job $(<$life>)? {
            const HOOK: &'static str = stringify!($hook);

            fn common_mut(&mut self) -> &mut Common {
                &mut self.common
            }
        })+

        /// Makes decisions, hook by hook. Every hook is pure: the same job gives the same answer.
        pub trait Policy: Send + Sync {
            /// Its name, for reports and as the address of its options and its memo.
            fn name(&self) -> &str;

            /// The line of its `policy.lua` where a hook begins, counted from 1, where it has lines.
            fn line(&self, _hook: &str) -> Option<u32> {
                None
            }

            /// Answers whatever hook: by the method of that hook, unless a policy has a way of its
            /// own. `rest` are the policies behind it.
            ///
            /// # Errors
            ///
            /// [`Halt`], as every hook.
            fn answer(&self, job: &Job<'_>, rest: &Rest<'_>) -> Opinion<Answer> {
                match job {
                    $(Job::$name(job) => Ok(self.$hook(job, rest)?.map(Answer::$name))),+
                }
            }

            $(
                $(#[doc = $doc])+
                ///
                /// # Errors
                ///
                /// [`Halt`]: the next policy answers, or a model is asked first.
                fn $hook(&self, _job: &$job, _rest: &Rest<'_>) -> Opinion<$answer> {
                    Ok(None)
                }
            )+
        }

        impl Rest<'_> {
            $(
                #[doc = concat!("What the policies behind answer to `", stringify!($hook), "`.")]
                ///
                /// # Errors
                ///
                /// Where one of them wants a model to be asked first.
                pub fn $hook(&self, job: &$job) -> Opinion<$answer> {
                    Ok(match self.ask(&Job::$name(job))? {
                        Some(Answer::$name(answer)) => Some(answer),
                        _ => None,
                    })
                }
            )+
        }
    };
}

hooks! {
    /// How large the prompt may grow.
    budgets Budgets (BudgetsJob) -> Budgets;
    /// What becomes of a tool result before it is first sent.
    arrive Arrive (ArriveJob<'a>) -> Arrive;
    /// What is done about a new message.
    observe Observe (ObserveJob<'a>) -> Observe;
    /// What a text says of goals.
    goals Goals (GoalsJob) -> Vec<Found>;
    /// Whether to compress now.
    trigger Trigger (TriggerJob) -> Trigger;
    /// What to do about a prompt that is compressed.
    plan Plan (PlanJob<'a>) -> Orders;
    /// Which checkpoints are written anew, smaller, in the same compression.
    age Age (AgeJob) -> Vec<Ageing>;
    /// How a model is asked for a summary.
    prompt Prompt (PromptJob<'a>) -> Prompt;
    /// Whether a model's summary is good enough.
    verify Verify (VerifyJob<'a>) -> Verify;
    /// How a text that Epitome writes into the prompt is worded.
    render Render (RenderJob) -> Render;
    /// How far the conversation can be relied on.
    status Status (StatusJob) -> Status;
    /// Takes note of something that happened. It reaches every policy.
    on_event Event (EventJob) -> Noted;
}

/// Watches a chain being asked.
pub trait Tracer: Send + Sync {
    /// A policy was asked, and this is what came of it.
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &Opinion<Answer>);
}

impl<T: Tracer + ?Sized> Tracer for Arc<T> {
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &Opinion<Answer>) {
        (**self).asked(job, policy, opinion);
    }
}

/// Policies in the order in which they are asked, and their notes on one session.
#[derive(Clone)]
pub struct Chain {
    policies: Vec<Arc<dyn Policy>>,
    notes: Arc<Mutex<Notes>>,
    tracer: Option<Arc<dyn Tracer>>,
}

/// What came up while policies were asked.
#[derive(Clone, Debug, Default)]
struct Notes {
    memos: BTreeMap<String, String>,
    errors: Vec<PolicyError>,
    /// The files that are wanted of events, each with its policy.
    exports: Vec<(String, Export)>,
    /// Who answered each hook last.
    winners: BTreeMap<&'static str, String>,
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.policies.iter().map(|policy| policy.name())).finish()
    }
}

impl Chain {
    /// A chain of these policies, with what each of them noted earlier, as JSON.
    pub fn new(policies: Vec<Arc<dyn Policy>>, memos: BTreeMap<String, String>) -> Self {
        let notes = Notes { memos, ..Notes::default() };
        Self { policies, notes: Arc::new(Mutex::new(notes)), tracer: None }
    }

    /// The chain, watched.
    #[must_use]
    pub fn traced(self, tracer: Option<Arc<dyn Tracer>>) -> Self {
        Self { tracer, ..self }
    }

    /// All of its policies, to be asked.
    pub fn ask(&self) -> Rest<'_> {
        Rest { chain: self, from: 0 }
    }

    /// The policies behind one of them, to be asked: none behind one that is not there.
    pub fn ask_behind(&self, policy: &str) -> Rest<'_> {
        let at = self.policies.iter().position(|one| one.name() == policy);
        Rest { chain: self, from: at.map_or(self.policies.len(), |at| at + 1) }
    }

    /// What the policies noted, as JSON by policy.
    pub fn memos(&self) -> BTreeMap<String, String> {
        self.notes().memos.clone()
    }

    /// The policy that answered a hook last, or had a model asked for it.
    pub fn winner(&self, hook: &str) -> Option<String> {
        self.notes().winners.get(hook).cloned()
    }

    /// The line of a policy where one of its hooks begins, where it has lines.
    pub fn line(&self, policy: &str, hook: &str) -> Option<u32> {
        self.policies.iter().find(|one| one.name() == policy)?.line(hook)
    }

    /// Takes note of an error that came up beside the hooks.
    pub fn note(&self, error: PolicyError) {
        self.notes().errors.push(error);
    }

    /// The errors since this was last called.
    pub fn take_errors(&self) -> Vec<PolicyError> {
        std::mem::take(&mut self.notes().errors)
    }

    /// The files that policies wanted of events since this was last called, each with its policy.
    pub fn take_exports(&self) -> Vec<(String, Export)> {
        std::mem::take(&mut self.notes().exports)
    }

    fn won(&self, hook: &'static str, policy: &str) {
        self.notes().winners.insert(hook, policy.to_owned());
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The policies of a chain from one on.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'c> {
    chain: &'c Chain,
    from: usize,
}

impl Rest<'_> {
    /// The first opinion, with the name of its policy.
    ///
    /// # Errors
    ///
    /// Where a policy wants a model to be asked first.
    pub fn ask(&self, job: &Job<'_>) -> Opinion<Answer> {
        let everybody = matches!(job, Job::Event(_));
        for (at, policy) in self.chain.policies.iter().enumerate().skip(self.from) {
            let rest = Rest { from: at + 1, ..*self };
            let opinion = policy.answer(job, &rest);
            if let Some(tracer) = &self.chain.tracer {
                tracer.asked(job, policy.name(), &opinion);
            }
            match opinion {
                Ok(Some(answer)) if !everybody => {
                    self.chain.won(job.hook(), policy.name());
                    return Ok(Some(answer));
                }
                Ok(Some(Answer::Event(Noted { export: Some(export) }))) => {
                    self.chain.notes().exports.push((policy.name().to_owned(), export));
                }
                Ok(_) => {}
                Err(Halt::Ask(ask)) => {
                    self.chain.won(job.hook(), policy.name());
                    return Err(Halt::Ask(ask));
                }
                Err(Halt::Error(error)) => self.chain.notes().errors.push(error),
            }
        }
        Ok(None)
    }

    /// What a policy noted of the session that it is asked about, as JSON.
    pub fn memo(&self, policy: &str) -> Option<String> {
        self.chain.notes().memos.get(policy).cloned()
    }

    /// Notes something for the next time a policy is asked about the same session.
    pub fn set_memo(&self, policy: &str, memo: String) {
        self.chain.notes().memos.insert(policy.to_owned(), memo);
    }
}

#[cfg(test)]
mod tests {
    use serde::de::value::{self, BoolDeserializer};

    use super::*;

    /// Answers `budgets` with this warning bound, or as `how` says.
    struct Fixed(&'static str, fn(&BudgetsJob, &Rest<'_>) -> Opinion<Budgets>);

    impl Policy for Fixed {
        fn name(&self) -> &str {
            self.0
        }

        fn budgets(&self, job: &BudgetsJob, rest: &Rest<'_>) -> Opinion<Budgets> {
            (self.1)(job, rest)
        }
    }

    fn soft(soft: u64) -> Budgets {
        Budgets { soft: Some(soft), ..Budgets::default() }
    }

    fn failing(_: &BudgetsJob, _: &Rest<'_>) -> Opinion<Budgets> {
        let what = "line 3: no such function".to_owned();
        Err(Halt::Error(PolicyError { policy: "broken".into(), hook: "budgets", what }))
    }

    fn check(policies: Vec<Fixed>, expected: Opinion<Budgets>, errors: &[&str]) {
        let policies = policies.into_iter().map(|one| Arc::new(one) as Arc<dyn Policy>).collect();
        let chain = Chain::new(policies, BTreeMap::new());
        let job = BudgetsJob { common: Common::default() };
        assert_eq!(chain.ask().budgets(&job), expected);
        let found: Vec<_> = chain.take_errors().iter().map(ToString::to_string).collect();
        assert_eq!(found, errors);
        assert_eq!(chain.take_errors(), []);
    }

    #[test]
    fn the_first_opinion_wins() {
        check(vec![], Ok(None), &[]);
        let silent = || Fixed("silent", |_, _| Ok(None));
        let last = || Fixed("last", |_, _| Ok(Some(soft(7))));
        check(vec![silent()], Ok(None), &[]);
        check(vec![silent(), last()], Ok(Some(soft(7))), &[]);
        check(vec![Fixed("first", |_, _| Ok(Some(soft(1)))), last()], Ok(Some(soft(1))), &[]);
    }

    #[test]
    fn a_policy_may_change_what_the_rest_answers() {
        let over = Fixed("over", |job, rest| {
            Ok(rest.budgets(job)?.map(|other| soft(1 + other.soft.unwrap_or_default())))
        });
        check(vec![over, Fixed("last", |_, _| Ok(Some(soft(7))))], Ok(Some(soft(8))), &[]);
    }

    #[test]
    fn those_behind_a_policy_are_asked_without_it() {
        let policy = |name, soft: fn(&BudgetsJob, &Rest<'_>) -> Opinion<Budgets>| {
            Arc::new(Fixed(name, soft)) as Arc<dyn Policy>
        };
        let first = policy("first", |_, _| Ok(Some(soft(1))));
        let chain =
            Chain::new(vec![first, policy("last", |_, _| Ok(Some(soft(2))))], BTreeMap::new());
        let job = BudgetsJob { common: Common::default() };
        let behind = |name| chain.ask_behind(name).budgets(&job);
        let all = [Ok(Some(soft(2))), Ok(None), Ok(None)];
        assert_eq!(["first", "last", "nobody"].map(behind), all);
        assert_eq!(chain.winner("budgets").as_deref(), Some("last"));
    }

    #[test]
    fn what_fails_is_noted_and_passed_over() {
        let line = "broken: `budgets`: line 3: no such function";
        let last = Fixed("last", |_, _| Ok(Some(soft(7))));
        check(vec![Fixed("broken", failing), last], Ok(Some(soft(7))), &[line]);
    }

    #[test]
    fn a_question_for_a_model_stops_the_chain() {
        let ask = ModelAsk { id: "a".into(), user: "?".into(), ..ModelAsk::default() };
        let asking = Fixed("asking", |_, _| {
            let (id, user) = ("a".to_owned(), "?".to_owned());
            Err(Halt::Ask(Box::new(ModelAsk { id, user, ..ModelAsk::default() })))
        });
        check(vec![asking, Fixed("broken", failing)], Err(Halt::Ask(Box::new(ask))), &[]);
        assert_eq!(BudgetsJob::HOOK, "budgets");
    }

    #[test]
    fn memos_are_kept_by_policy() {
        let chain = Chain::new(Vec::new(), BTreeMap::from([("a".to_owned(), "{}".to_owned())]));
        chain.ask().set_memo("b", "[1]".to_owned());
        assert_eq!(chain.ask().memo("a").as_deref(), Some("{}"));
        let memos = chain.memos();
        assert_eq!(memos.keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn answers_are_read_by_the_name_of_their_hook() {
        let read = |hook| Answer::read(hook, BoolDeserializer::<value::Error>::new(false));
        assert_eq!(read("trigger"), Ok(Some(Answer::Trigger(Trigger::Wait(false)))));
        assert_eq!(read("verify"), Ok(Some(Answer::Verify(Verify::Plain(false)))));
        assert_eq!(read("tirgger"), Ok(None));
        assert!(read("budgets").is_err());
    }

    #[test]
    fn hooks_have_names_and_docs() {
        let names: Vec<_> = HOOKS.iter().map(|hook| hook.name).collect();
        assert_eq!((names.len(), names[0], names[11]), (12, "budgets", "on_event"));
        assert!(HOOKS.iter().all(|hook| !hook.doc.is_empty() && !hook.job.fields.is_empty()));
    }
}
