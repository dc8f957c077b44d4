//! The policies of a profile, and the model that they may ask.
//!
//! Invariant: a question for a model is answered at most [`ASKS`] times a hook, and what comes of a
//! hook never stops a conversation: without an opinion the caller has one of its own. Called by
//! live sessions and by the compressor of single conversations.

use std::sync::Arc;
use std::time::Duration;

use epitome_kernel::{Asked, Chain, Halt, ModelAsk, Opinion, PolicyError, Rest};

use crate::models::Models;
use crate::plugins::Failures;

/// How often a hook may have a model asked before it answers.
const ASKS: usize = 2;

/// Whoever decides about a conversation.
#[derive(Clone)]
pub(crate) struct Council {
    pub(crate) chain: Chain,
    pub(crate) models: Models,
    /// How long a model may take to answer a policy.
    pub(crate) within: Duration,
    /// What plugins failed at beside the hooks.
    pub(crate) failures: Arc<Failures>,
}

impl Council {
    /// What the chain answers to a job.
    pub(crate) async fn ask<J: Asked, T>(
        &self,
        job: &mut J,
        hook: impl Fn(&Rest<'_>, &J) -> Opinion<T>,
    ) -> Option<T> {
        let mut asked = 0;
        loop {
            let ask = match hook(&self.chain.ask(), job) {
                Ok(opinion) => return opinion,
                Err(Halt::Ask(ask)) if asked < ASKS => ask,
                Err(Halt::Ask(ask)) => {
                    self.note::<J>(&ask.id, "a model is asked twice at most; answer now");
                    return None;
                }
                Err(Halt::Error(error)) => {
                    self.chain.note(error);
                    return None;
                }
            };
            asked += 1;
            let Some(model) = self.models.first() else {
                self.note::<J>(&ask.id, "there is no model to ask; grant one, or decide without");
                return None;
            };
            let within = Some(self.within);
            let ask = ModelAsk { within, ..*ask };
            match model.complete(&ask).await {
                Ok(reply) => job.common_mut().replies.insert(ask.id, reply),
                Err(error) => {
                    self.note::<J>(&ask.id, &error.to_string());
                    return None;
                }
            };
        }
    }

    fn note<J: Asked>(&self, id: &str, what: &str) {
        let policy = self.chain.winner(J::HOOK).unwrap_or_default();
        let what = format!("it asks `{id}`: {what}");
        self.chain.note(PolicyError { policy, hook: J::HOOK, what });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use epitome_kernel::{Model, Policy};
    use epitome_testkit::{ScriptedModel, now};
    use epitome_types::hook::{Common, Status, StatusJob};

    use super::*;

    /// Asks a model so many times before it says what it was told.
    struct Asks(usize);

    impl Policy for Asks {
        fn name(&self) -> &str {
            "asks"
        }

        fn status(&self, job: &StatusJob, _: &Rest<'_>) -> Opinion<Status> {
            let replies = &job.common.replies;
            if replies.len() < self.0 {
                let (id, user) = (format!("q{}", replies.len()), "How is it?".to_owned());
                let max_tokens = Some(9);
                return Err(Halt::Ask(Box::new(ModelAsk {
                    id,
                    user,
                    max_tokens,
                    ..ModelAsk::default()
                })));
            }
            let text = replies.values().cloned().collect::<Vec<_>>().join(", ");
            Ok(Some(Status { text: Some(text), ..Status::default() }))
        }
    }

    #[track_caller]
    fn check(asks: usize, model: Option<ScriptedModel>, expected: Option<&str>, error: &str) {
        let chain = Chain::new(vec![Arc::new(Asks(asks))], BTreeMap::new());
        let granted = model.clone().into_iter().map(|model| Arc::new(model) as Arc<dyn Model>);
        let council = Council {
            chain,
            models: Models(granted.collect()),
            within: Duration::from_secs(1),
            failures: Arc::default(),
        };
        let mut job = StatusJob {
            common: Common::default(),
            used: 0.0,
            budgets: <_>::default(),
            report: false,
            history: Vec::new(),
            done: <_>::default(),
        };
        let said = now(council.ask(&mut job, |rest, job| rest.status(job)));
        assert_eq!(said.and_then(|status| status.text).as_deref(), expected);
        let errors: Vec<_> = council.chain.take_errors().iter().map(ToString::to_string).collect();
        assert_eq!(errors.join("\n"), error);
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
}
