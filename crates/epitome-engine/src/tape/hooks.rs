//! What policies answer, written down.

use std::collections::BTreeMap;

use epitome_kernel::{
    Answer, Bounded, HOOKS, HookNotes, HookReply, Job, ModelQuestion, NextPolicies, PolicyChain,
    PolicyError, WantedFile,
};
use epitome_types::HookAuthor;
use epitome_types::hook::WriteFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::effect::{RecordedStep, TurnEffect};
use super::steps::StepTape;

/// The hook of what policies failed at outside of all hooks.
const LOAD: &str = "load";

/// What the names of these effects begin with.
const HOOK: &str = "hook.";

/// What policies decided at a hook.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookDecision {
    /// The hook.
    pub hook: String,
    /// The answer; none where every policy deferred.
    pub answer: Option<Value>,
    /// Who gave it.
    pub by: Option<HookAuthor>,
    /// What policies failed at before somebody answered.
    pub errors: Vec<String>,
}

/// [`HookReply`], with what the policies noted for the next time.
#[derive(Serialize, Deserialize)]
struct HookForm {
    /// The answer; none where every policy defers.
    #[serde(default)]
    answer: Option<Value>,
    /// What a model is to be asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<QuestionForm>,
    /// The policy that says so.
    #[serde(default)]
    by: Option<HookAuthor>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ErrorForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bounded: Vec<BoundedForm>,
    /// The notes that changed, as JSON by policy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    memos: BTreeMap<String, String>,
}

/// [`ModelQuestion`], as a policy asks it.
#[derive(Serialize, Deserialize)]
struct QuestionForm {
    id: String,
    system: Option<String>,
    user: String,
    max_tokens: Option<u64>,
}

/// [`PolicyError`].
#[derive(Serialize, Deserialize)]
struct ErrorForm {
    policy: String,
    hook: String,
    what: String,
}

/// [`WantedFile`].
#[derive(Serialize, Deserialize)]
struct FileForm {
    policy: String,
    export: WriteFile,
}

/// [`Bounded`].
#[derive(Serialize, Deserialize)]
struct BoundedForm {
    policy: String,
    hook: String,
    what: String,
    asked: u64,
    given: u64,
}

impl StepTape {
    /// What policies reply to a job. What they note is written down with it.
    pub(crate) fn hook(
        &self,
        chain: &PolicyChain,
        rest: NextPolicies<'_>,
        job: &Job<'_>,
    ) -> HookReply {
        let hook = job.hook();
        let before = chain.memos();
        let effect = TurnEffect::read(&format!("{HOOK}{hook}"), job);
        let form = self.effect(effect, || {
            let reply = rest.reply(job);
            let mut memos = chain.memos();
            memos.retain(|policy, memo| before.get(policy) != Some(memo));
            HookForm::new(reply, memos)
        });
        let Some(form) = form else {
            return HookReply { result: Ok(None), by: None, notes: HookNotes::default() };
        };
        form.memos.iter().for_each(|(policy, memo)| rest.set_memo(policy, memo.clone()));
        form.read(hook)
    }
}

/// What was decided with a step, where that is the answer to a hook.
pub(crate) fn decision(step: &RecordedStep) -> Option<HookDecision> {
    let hook = step.effect.strip_prefix(HOOK)?.to_owned();
    let HookForm { answer, by, errors, .. } = HookForm::deserialize(&step.reply).ok()?;
    let errors = errors.into_iter().map(|error| ErrorForm::read(error).to_string()).collect();
    Some(HookDecision { hook, answer, by, errors })
}

impl HookForm {
    fn new(HookReply { result, by, notes }: HookReply, memos: BTreeMap<String, String>) -> Self {
        let HookNotes { errors, files, bounded } = notes;
        let (answer, question) = match result {
            Ok(answer) => (answer.map(|it| serde_json::to_value(it).unwrap_or_default()), None),
            Err(question) => {
                let ModelQuestion { id, system, user, max_tokens, .. } = *question;
                (None, Some(QuestionForm { id, system, user, max_tokens }))
            }
        };
        let errors = errors.into_iter().map(|PolicyError { policy, hook, what }| ErrorForm {
            policy,
            hook: hook.to_owned(),
            what,
        });
        let files =
            files.into_iter().map(|WantedFile { policy, export }| FileForm { policy, export });
        let bounded = bounded.into_iter().map(|one| BoundedForm {
            policy: one.policy,
            hook: one.hook.to_owned(),
            what: one.what.into_owned(),
            asked: one.asked,
            given: one.given,
        });
        let (errors, files, bounded) = (errors.collect(), files.collect(), bounded.collect());
        Self { answer, question, by, errors, files, bounded, memos }
    }

    /// The reply to this hook. An answer that it does not give is a failure of whoever gave it.
    fn read(self, hook: &str) -> HookReply {
        let mut notes = HookNotes {
            errors: self.errors.into_iter().map(ErrorForm::read).collect(),
            files: self
                .files
                .into_iter()
                .map(|FileForm { policy, export }| WantedFile { policy, export })
                .collect(),
            bounded: self.bounded.into_iter().map(BoundedForm::read).collect(),
        };
        let result = match (self.question, self.answer) {
            (Some(QuestionForm { id, system, user, max_tokens }), _) => {
                Err(Box::new(ModelQuestion { id, system, user, max_tokens, ..<_>::default() }))
            }
            (None, None) => Ok(None),
            (None, Some(answer)) => match Answer::read(hook, answer) {
                Ok(answer) => Ok(answer),
                Err(error) => {
                    let policy = self.by.as_ref().map(|by| by.policy.clone()).unwrap_or_default();
                    let (hook, what) = (known(hook), error.to_string());
                    notes.errors.push(PolicyError { policy, hook, what });
                    Ok(None)
                }
            },
        };
        HookReply { result, by: self.by, notes }
    }
}

impl ErrorForm {
    fn read(self) -> PolicyError {
        PolicyError { policy: self.policy, hook: known(&self.hook), what: self.what }
    }
}

impl BoundedForm {
    fn read(self) -> Bounded {
        let Self { policy, hook, what, asked, given } = self;
        Bounded { policy, hook: known(&hook), what: what.into(), asked, given }
    }
}

/// The name of a hook, for good.
fn known(hook: &str) -> &'static str {
    HOOKS.iter().find(|known| known.name == hook).map_or(LOAD, |known| known.name)
}
