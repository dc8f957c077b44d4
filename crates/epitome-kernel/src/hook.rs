//! Every hook: what a policy is asked, and what it answers.
//!
//! Invariant: a hook is declared once, in one list; jobs, answers, stubs and the methods of the port
//! are made from it. Read by whatever asks policies, and by whatever answers for one.

use std::borrow::Cow;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use epitome_types::hook::*;
use serde::{Deserialize, Deserializer, Serialize};

/// What a policy makes of a job: nothing, an answer, or that there is none.
pub type HookResult<T> = Result<Option<T>, HookInterrupt>;

/// Why a policy has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum HookInterrupt {
    /// It wants a model to be asked first; then it is asked again.
    Ask(Box<ModelQuestion>),
    /// It failed.
    Error(PolicyError),
}

/// A question for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelQuestion {
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
    pub after: Option<LiveRequest>,
    /// How long the answer may take, repetitions included; as long as the adapter lets it where
    /// nothing is said.
    pub within: Option<Duration>,
}

/// A conversation that is under way: the request that its provider was sent, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRequest {
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

/// A policy asked for more than it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// The policy.
    pub policy: String,
    /// The hook.
    pub hook: &'static str,
    /// The part of its answer.
    pub what: Cow<'static, str>,
    /// What it asked for, in tokens.
    pub asked: u64,
    /// What it got, in tokens.
    pub given: u64,
}

impl fmt::Display for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, hook, what, asked, given } = self;
        write!(f, "{policy}: `{hook}`: `{what}` of {asked} is held to {given} tokens")
    }
}

/// A job, whichever hook it belongs to.
pub trait HookJob {
    /// The hook's name.
    const HOOK: &'static str;

    /// What the hook answers.
    type Answer;

    /// The job, whichever hook it belongs to.
    fn as_job(&self) -> Job<'_>;

    /// An answer to this hook; `None` where it is one to another.
    fn read(answer: Answer) -> Option<Self::Answer>;

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
    pub answer: ValueShape,
}

/// Hands the list of hooks to a macro: this is where each is declared.
macro_rules! each_hook {
    ($declare:ident) => {
        $declare! {
            /// How large the prompt may grow.
            budgets Budgets (BudgetsJob) -> Budgets;
            /// What becomes of a tool result before it is first sent.
            tool_result ToolResult (ToolResultJob<'a>) -> ToolResultAnswer;
            /// What is done about a new message.
            observe Observe (ObserveJob<'a>) -> Observe;
            /// What a text says of goals. What the policies say is joined.
            goals Goals (GoalsJob) -> Vec<Found>;
            /// Which lines stay word for word, whatever leaves. What the policies say is joined.
            facts Facts (FactsJob<'a>) -> Vec<String>;
            /// Whether to compress now.
            trigger Trigger (TriggerJob) -> TriggerAnswer;
            /// What to do about a prompt that is compressed.
            plan Plan (PlanJob<'a>) -> Orders;
            /// Which checkpoints are written anew, smaller, in the same compression.
            age Age (AgeJob) -> Vec<Ageing>;
            /// How a model is asked for a summary.
            summary_prompt SummaryPrompt (SummaryPromptJob<'a>) -> SummaryPrompt;
            /// Whether a model's summary is good enough.
            verify Verify (VerifyJob<'a>) -> VerifyAnswer;
            /// How a text that Epitome writes into the prompt is worded.
            render Render (RenderJob) -> Render;
            /// How far the conversation can be relied on.
            status Status (StatusJob) -> Status;
            /// In which order what a search found is brought back.
            recall Recall (RecallJob) -> RecallOrder;
            /// Takes note of something that happened. It reaches every policy.
            on_event Event (EventJob) -> Noted;
        }
    };
}

/// Declares what is asked and what is answered, for each hook and for all of them.
macro_rules! hooks {
    ($($(#[doc = $doc:literal])+ $hook:ident $name:ident ($job:ident $(<$life:lifetime>)?) -> $answer:ty;)+) => {
        /// Every hook, in the order in which a turn asks them.
        pub const HOOKS: &[HookShape] = &[$(HookShape {
            name: stringify!($hook),
            doc: concat!($($doc),+),
            job: <$job as HasTableShape>::TABLE,
            answer: <$answer as HasShape>::SHAPE,
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

            /// Whether another is this very job, at its place in memory.
            pub(crate) fn is(&self, other: &Job<'_>) -> bool {
                match (self, other) {
                    $((Self::$name(job), Job::$name(other)) => ptr::addr_eq(*job, *other),)+
                    _ => false,
                }
            }
        }

        $(impl $(<$life>)? HookJob for $job $(<$life>)? {
            const HOOK: &'static str = stringify!($hook);
            type Answer = $answer;

            fn as_job(&self) -> Job<'_> {
                Job::$name(self)
            }

            fn read(answer: Answer) -> Option<$answer> {
                match answer {
                    Answer::$name(answer) => Some(answer),
                    _ => None,
                }
            }

            fn common_mut(&mut self) -> &mut Common {
                &mut self.common
            }
        })+
    };
}

each_hook!(hooks);

pub(crate) use each_hook;

#[cfg(test)]
mod tests {
    use serde::de::value::{self, BoolDeserializer};

    use super::*;

    #[test]
    fn answers_are_read_by_the_name_of_their_hook() {
        let read = |hook| Answer::read(hook, BoolDeserializer::<value::Error>::new(false));
        assert_eq!(read("trigger"), Ok(Some(Answer::Trigger(TriggerAnswer::Wait(false)))));
        assert_eq!(read("verify"), Ok(Some(Answer::Verify(VerifyAnswer::Plain(false)))));
        assert_eq!(read("tirgger"), Ok(None));
        assert!(read("budgets").is_err());
    }

    #[test]
    fn hooks_have_names_and_docs() {
        let names: Vec<_> = HOOKS.iter().map(|hook| hook.name).collect();
        assert_eq!((names.len(), names[0], names[13]), (14, "budgets", "on_event"));
        assert!(HOOKS.iter().all(|hook| !hook.doc.is_empty() && !hook.job.fields.is_empty()));
    }

    #[test]
    fn a_job_is_known_by_its_place() {
        let [one, other] = [0, 0].map(|_| BudgetsJob { common: Common::default() });
        let [one, other] = [Job::Budgets(&one), Job::Budgets(&other)];
        assert_eq!([one.is(&one.clone()), one.is(&other)], [true, false]);
    }
}
