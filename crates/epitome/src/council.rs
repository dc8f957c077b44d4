//! The policies of a profile, and the model that they may ask.
//!
//! Invariant: a question for a model is answered at most [`ASKS`] times a hook, and what comes of a
//! hook never stops a conversation: without an opinion the caller has one of its own. Called by
//! live sessions and by the compressor of single conversations.

use std::sync::Arc;

use epitome_kernel::{Asked, Chain, Halt, Model, Opinion, PolicyError, Rest};

/// How often a hook may have a model asked before it answers.
const ASKS: usize = 2;

/// Whoever decides about a conversation.
#[derive(Clone)]
pub(crate) struct Council {
    pub(crate) chain: Chain,
    pub(crate) model: Option<Arc<dyn Model>>,
}

impl Council {
    /// What the chain answers to a job.
    pub(crate) async fn ask<J: Asked, T>(
        &self,
        job: &mut J,
        hook: impl Fn(&Rest<'_>, &J) -> Opinion<T>,
    ) -> Option<T> {
        for _ in 0..=ASKS {
            let ask = match hook(&self.chain.ask(), job) {
                Ok(opinion) => return opinion,
                Err(Halt::Ask(ask)) => ask,
                Err(Halt::Error(error)) => {
                    self.chain.note(error);
                    return None;
                }
            };
            let Some(model) = &self.model else {
                self.note(&ask.id, "there is no model to ask; grant one, or decide without");
                return None;
            };
            match model.complete(&ask).await {
                Ok(reply) => job.common_mut().replies.insert(ask.id, reply),
                Err(error) => {
                    self.note(&ask.id, &error.to_string());
                    return None;
                }
            };
        }
        self.note("", "a hook went on asking instead of answering");
        None
    }

    fn note(&self, id: &str, what: &str) {
        let policy = "ask".to_owned();
        let what = if id.is_empty() { what.to_owned() } else { format!("`{id}`: {what}") };
        self.chain.note(PolicyError { policy, hook: "ask", what });
    }
}
