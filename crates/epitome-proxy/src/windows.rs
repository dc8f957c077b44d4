//! What Ollama says of the windows of its models, for requests that do not say it themselves
//! (RULES 31).
//!
//! Invariant: a server is asked about itself, with no credential and nothing of a conversation, and
//! no request waits long for it. It says more once it has the model at hand, so it is asked again
//! with ever fewer requests; what it said last holds. Called by `prepare`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use epitome::model::{ClientTimeouts, ModelApi, ModelClient, ModelEndpoint, ModelSpec, Transport};
use tokio::time::timeout;

use crate::url::UpstreamUrl;

/// So many models are known; what names more is not worth a question.
const MOST: usize = 256;

/// What was said of the models of one server.
pub(crate) struct ServerWindows {
    base: String,
    transport: Arc<dyn Transport>,
    within: Duration,
    known: Mutex<HashMap<String, ServerWindow>>,
}

/// What was said of one model.
#[derive(Clone, Copy, Default)]
struct ServerWindow {
    window: Option<u64>,
    requests: u32,
}

impl ServerWindows {
    /// Those of the server at this address, which has so much time to answer.
    pub(crate) fn new(base: &UpstreamUrl, transport: Arc<dyn Transport>, within: Duration) -> Self {
        let base = base.to_string().trim_end_matches('/').to_owned();
        Self { base, transport, within, known: Mutex::default() }
    }

    /// The window of a model, in its tokens, where its server says it.
    pub(crate) async fn of(&self, model: &str) -> Option<u64> {
        let known = {
            let mut known = self.locked();
            if !known.contains_key(model) && known.len() >= MOST {
                return None;
            }
            let known = known.entry(model.to_owned()).or_default();
            known.requests = known.requests.saturating_add(1);
            *known
        };
        if !known.requests.is_power_of_two() {
            return known.window;
        }
        let told = self.told(model).await;
        if let (Some(window), Some(known)) = (told, self.locked().get_mut(model)) {
            if known.window != told {
                tracing::info!(model, window, "the server told the window of a model");
            }
            known.window = told;
        }
        told.or(known.window)
    }

    /// What the server says now.
    async fn told(&self, model: &str) -> Option<u64> {
        let base = Some(self.base.clone());
        let spec = ModelSpec { api: ModelApi::Ollama, name: model.to_owned(), base };
        let endpoint = ModelEndpoint::of(spec, |_| None).ok()?;
        let terms = ClientTimeouts { answer: self.within, silence: self.within, retries: 0 };
        let client = ModelClient::new(endpoint, Arc::clone(&self.transport)).terms(terms);
        timeout(self.within, client.probe()).await.ok()?.ok()?.window
    }

    /// Each change under this lock is whole, so a panic elsewhere leaves what it guards sound.
    fn locked(&self) -> MutexGuard<'_, HashMap<String, ServerWindow>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
