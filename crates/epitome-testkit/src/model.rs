//! A language model that says what it was told to say.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use epitome_kernel::{LanguageModel, ModelError, ModelLimitHit, ModelQuestion};

/// A model with a script; it remembers what it was asked. Clones share both.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    replies: Vec<Result<String, String>>,
    asked: Arc<Mutex<Vec<ModelQuestion>>>,
}

impl ScriptedModel {
    /// A model that says these, one after the other, and then the last one for good.
    pub fn saying(replies: &[&str]) -> Self {
        let replies = replies.iter().map(|reply| Ok((*reply).to_owned())).collect();
        Self { replies, asked: Arc::default() }
    }

    /// A model that never answers, for this reason.
    pub fn failing(cause: &str) -> Self {
        Self { replies: vec![Err(cause.to_owned())], asked: Arc::default() }
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<ModelQuestion> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = self.replies.get(asked.len()).or(self.replies.last()).cloned();
        asked.push(ask.clone());
        let model = || self.name().to_owned();
        let error = |cause| ModelError { model: model(), cause, lack: ModelLimitHit::Other };
        reply.unwrap_or_else(|| Err("it has nothing to say".to_owned())).map_err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now;

    #[test]
    fn the_last_reply_is_said_for_good() {
        let model = ScriptedModel::saying(&["one", "two"]);
        let ask = ModelQuestion { id: "a".into(), user: "?".into(), ..ModelQuestion::default() };
        for expected in ["one", "two", "two"] {
            assert_eq!(now(model.complete(&ask)).as_deref(), Ok(expected));
        }
        assert_eq!(model.clone().asked().len(), 3);
        let error = now(ScriptedModel::failing("it is down").complete(&ask)).unwrap_err();
        assert_eq!(error.to_string(), "the model `scripted` did not answer: it is down");
    }
}
