//! A model whose answers are written down.

use std::sync::Arc;

use async_trait::async_trait;
use epitome_kernel::{LanguageModel, LiveRequest, ModelError, ModelQuestion};
use serde_json::json;

use super::forms::ModelReply;
use crate::tape::{StepTape, TurnEffect};

/// A model that a stepped turn asks.
pub(super) struct TapedModel {
    model: Arc<dyn LanguageModel>,
    tape: Arc<StepTape>,
}

impl TapedModel {
    pub(super) fn of(
        model: &Arc<dyn LanguageModel>,
        tape: &Arc<StepTape>,
    ) -> Arc<dyn LanguageModel> {
        Arc::new(Self { model: Arc::clone(model), tape: Arc::clone(tape) })
    }
}

#[async_trait]
impl LanguageModel for TapedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        // How long there is for it depends on how long others took, and changes nothing that is asked.
        let ModelQuestion { id, system, user, max_tokens, after, within: _ } = ask;
        let after = after.as_ref().map(|after| String::from_utf8_lossy(&after.request));
        let about = json!({
            "model": self.name(), "id": id, "system": system, "user": user,
            "max_tokens": max_tokens, "after": after,
        });
        let effect = TurnEffect::read("model.complete", about);
        let reply = self.tape.wait_for(effect, async { self.model.complete(ask).await.into() });
        let reply: ModelReply = reply.await;
        reply.into()
    }

    async fn window(&self) -> Option<u64> {
        let effect = TurnEffect::read("model.window", self.name());
        self.tape.wait_for(effect, self.model.window()).await
    }

    fn extends(&self, conversation: &LiveRequest) -> bool {
        self.model.extends(conversation)
    }
}
