//! Asks one model: once more where that may help, within a deadline, and says what went wrong.
//!
//! Invariant: an answer of which something was heard is never asked for anew; every way ends within
//! the deadline. Dropping the future ends the request. Called by the facade and by hosts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use epitome_kernel::{LanguageModel, LiveRequest, ModelError, ModelLimitHit, ModelQuestion};
use epitome_wire::{OverflowSignatures, ResponseInfo, ResponseParser, scan};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};

use crate::answer::said;
use crate::ask;
use crate::calls::{AskingSession, OwnCalls};
use crate::endpoint::ModelEndpoint;
use crate::failure::{ModelFailure, message};
use crate::probe::{self, ProbedWindow};
use crate::retry;
use crate::roles::{self, RoleRules};
use crate::spec::ModelApi;
use crate::transport::{HttpMethod, HttpRequest, HttpResponse, SendError, Transport};

/// The most that is read of a refusal, in bytes.
const MOST_REFUSAL: usize = 16 * 1024;
/// The most that is read of what a server says about itself, in bytes.
const MOST_FACTS: usize = 8 * 1024 * 1024;
/// How long a server may think about what it says about itself.
const FACTS: Duration = Duration::from_secs(5);

/// How long is waited, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTimeouts {
    /// For a whole answer, repetitions included.
    pub answer: Duration,
    /// For the next piece of an answer.
    pub silence: Duration,
    /// How often a request that failed is made again.
    pub retries: u32,
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        // A small machine reads 8,000 tokens in about three minutes, and says nothing until then.
        Self { answer: seconds(600), silence: seconds(300), retries: 3 }
    }
}

/// Asks one model.
#[derive(Clone)]
pub struct ModelClient {
    name: String,
    endpoint: ModelEndpoint,
    transport: Arc<dyn Transport>,
    terms: ClientTimeouts,
    window: Option<u64>,
    signatures: OverflowSignatures,
    /// What the server said of it.
    probed: Arc<OnceCell<u64>>,
    calls: Arc<OwnCalls>,
    /// Who has it asked, where that is known.
    session: Option<AskingSession>,
    /// What its refusals told of roles.
    roles: RoleRules,
}

/// What was heard of one answer.
struct AnswerSoFar {
    reply: ResponseParser,
    any: bool,
}

impl ModelClient {
    /// A client of the model at an endpoint.
    pub fn new(endpoint: ModelEndpoint, transport: Arc<dyn Transport>) -> Self {
        let name = endpoint.spec.to_string();
        Self {
            name,
            endpoint,
            transport,
            terms: ClientTimeouts::default(),
            window: None,
            signatures: OverflowSignatures::default(),
            probed: Arc::default(),
            calls: Arc::default(),
            session: None,
            roles: RoleRules::default(),
        }
    }

    /// The same, on other terms.
    #[must_use]
    pub fn terms(self, terms: ClientTimeouts) -> Self {
        Self { terms, ..self }
    }

    /// The same, for a window of so many tokens: Ollama is told to make room for it.
    #[must_use]
    pub fn window(self, window: Option<u64>) -> Self {
        Self { window, ..self }
    }

    /// The same, with wordings of one's own for prompts that are too long.
    #[must_use]
    pub fn signatures(self, signatures: OverflowSignatures) -> Self {
        Self { signatures, ..self }
    }

    /// The same, with what it is asked for as a [`LanguageModel`] counted here.
    #[must_use]
    pub fn counted(self, calls: Arc<OwnCalls>) -> Self {
        Self { calls, ..self }
    }

    /// The same, asked on behalf of a session in a scope.
    #[must_use]
    pub fn on_behalf(self, scope: &str, session: &str) -> Self {
        let session = AskingSession { scope: scope.to_owned(), name: session.to_owned() };
        Self { session: Some(session), ..self }
    }

    /// Where it asks.
    pub fn endpoint(&self) -> &ModelEndpoint {
        &self.endpoint
    }

    /// The request with which a conversation begins, without a message yet but the system prompt.
    pub fn opening(&self, system: Option<&str>) -> Bytes {
        ask::opening(&self.endpoint, system, self.window)
    }

    /// Sends a request of the API, and gives the whole answer. `said` hears the text of a stream as it
    /// comes. To servers of one's own, texts of one role behind each other go as one message: many
    /// templates take no others.
    ///
    /// # Errors
    ///
    /// [`ModelFailure`], which holds what was heard of an answer that is not whole.
    pub async fn chat(
        &self,
        body: Bytes,
        said: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ResponseInfo, ModelFailure> {
        self.answered(roles::usual(body, &self.endpoint), None, said).await
    }

    /// The same within so much time, where that is less than the terms give.
    async fn answered(
        &self,
        body: Bytes,
        within: Option<Duration>,
        said: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ResponseInfo, ModelFailure> {
        let format = self.endpoint.spec.api.format();
        let mut heard = AnswerSoFar { reply: ResponseParser::aloud(format), any: false };
        let most = within.unwrap_or(Duration::MAX).min(self.terms.answer);
        match timeout(most, self.ask(body, &mut heard, said)).await {
            Ok(Ok(())) => whole(heard.reply.end(), &self.signatures),
            Ok(Err(ModelFailure::BrokeOff { cause, .. })) => {
                Err(ModelFailure::BrokeOff { cause, answer: Box::new(heard.reply.end()) })
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => {
                let after_ms = most.as_millis() as u64;
                Err(ModelFailure::Deadline { after_ms, answer: Box::new(heard.reply.end()) })
            }
        }
    }

    /// What the server says of the model's window.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not know the model. One that has nothing to say
    /// of windows is no failure.
    pub async fn probe(&self) -> Result<ProbedWindow, ModelFailure> {
        let ModelEndpoint { spec, base, .. } = &self.endpoint;
        match spec.api {
            ModelApi::Ollama => {
                let asked = serde_json::json!({"model": spec.name}).to_string();
                let url = format!("{base}/api/show");
                let found = probe::ollama(&self.facts(HttpMethod::Post, &url, asked).await?);
                if found.window.is_some() {
                    return Ok(found);
                }
                let running = |said: &Value| probe::running(said, &spec.name);
                Ok(found.or(self.known(&format!("{base}/api/ps"), running).await?))
            }
            ModelApi::Anthropic => {
                let url = format!("{}/v1/models/{}", self.endpoint.root(), spec.name);
                self.known(&url, |said| probe::listed(said, &spec.name)).await
            }
            ModelApi::OpenAi => self.probe_listed().await,
        }
    }

    /// What a server tells that speaks like OpenAI: in its list of models, or where llama-server
    /// and LM Studio do.
    async fn probe_listed(&self) -> Result<ProbedWindow, ModelFailure> {
        let (base, root, name) =
            (&self.endpoint.base, self.endpoint.root(), &self.endpoint.spec.name);
        let listed = |said: &Value| probe::listed(said, name);
        let mut found = self.known(&format!("{base}/models"), listed).await?;
        if found.window.is_none() && !self.endpoint.is_usual() {
            found = found.or(self.known(&format!("{root}/props"), probe::llama).await?);
        }
        if found.window.is_none() && !self.endpoint.is_usual() {
            found = found.or(self.known(&format!("{root}/api/v0/models"), listed).await?);
        }
        Ok(found)
    }

    /// The names of the models that the server has.
    ///
    /// # Errors
    ///
    /// When it does not say.
    pub async fn models(&self) -> Result<Vec<String>, ModelFailure> {
        let base = &self.endpoint.base;
        let url = match self.endpoint.spec.api {
            ModelApi::Ollama => format!("{base}/api/tags"),
            ModelApi::OpenAi => format!("{base}/models"),
            ModelApi::Anthropic => format!("{}/v1/models", self.endpoint.root()),
        };
        Ok(probe::names(&self.facts(HttpMethod::Get, &url, String::new()).await?))
    }

    /// What a server says about itself, if it knows the question.
    async fn known(
        &self,
        url: &str,
        read: impl Fn(&Value) -> ProbedWindow,
    ) -> Result<ProbedWindow, ModelFailure> {
        match self.facts(HttpMethod::Get, url, String::new()).await {
            Ok(said) => Ok(read(&said)),
            Err(ModelFailure::Refused { .. } | ModelFailure::Unreadable(_)) => {
                Ok(ProbedWindow::default())
            }
            Err(failure) => Err(failure),
        }
    }

    async fn facts(
        &self,
        method: HttpMethod,
        url: &str,
        body: String,
    ) -> Result<Value, ModelFailure> {
        let call = self.call(method, url.to_owned(), Bytes::from(body));
        let asked = async {
            let HttpResponse { status, mut body, .. } =
                self.transport.send(&call).await.map_err(|error| self.unreachable(error))?;
            let mut said = Vec::new();
            while let Some(piece) = body.next().await.map_err(|error| self.unreachable(error))? {
                said.extend_from_slice(&piece);
                if said.len() > MOST_FACTS {
                    return Err(ModelFailure::Unreadable("it is too long".to_owned()));
                }
            }
            match status {
                200 => serde_json::from_slice(&said)
                    .map_err(|error| ModelFailure::Unreadable(error.to_string())),
                _ => Err(self.refused(status, &said)),
            }
        };
        timeout(FACTS, asked).await.unwrap_or_else(|_| {
            let cause = format!("no answer within {} s", FACTS.as_secs());
            Err(self.unreachable(SendError { cause, passes: true }))
        })
    }

    /// Asks until an answer was heard to its end.
    async fn ask(
        &self,
        body: Bytes,
        heard: &mut AnswerSoFar,
        said: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), ModelFailure> {
        let base = &self.endpoint.base;
        let url = match self.endpoint.spec.api {
            ModelApi::Ollama => format!("{base}/api/chat"),
            ModelApi::OpenAi => format!("{base}/chat/completions"),
            ModelApi::Anthropic => format!("{}/v1/messages", self.endpoint.root()),
        };
        let api = self.endpoint.spec.api;
        let call = |body| self.call(HttpMethod::Post, url.clone(), body);
        let mut attempt = 0;
        loop {
            let (failure, told) =
                match self.once(&call(self.roles.applied(&body, api)), heard, said).await {
                    Ok(()) => return Ok(()),
                    Err(failed) if failed.tells_of(&self.roles) => continue,
                    Err(AttemptError::For(failure)) => return Err(failure),
                    Err(AttemptError::Now { failure, told }) => (failure, told),
                };
            attempt += 1;
            let wait = retry::wait(attempt, told, fastrand::f64());
            if attempt > self.terms.retries || heard.any || wait >= self.terms.answer {
                return Err(failure);
            }
            tracing::info!(model = self.name, %failure, ?wait, "a model is asked once more");
            sleep(wait).await;
        }
    }

    /// Asks once.
    async fn once(
        &self,
        call: &HttpRequest,
        heard: &mut AnswerSoFar,
        said: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), AttemptError> {
        let sent = timeout(self.terms.silence, self.transport.send(call)).await;
        let HttpResponse { status, retry_after, mut body } = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.passes => {
                return Err(AttemptError::Now { failure: self.unreachable(error), told: None });
            }
            Ok(Err(error)) => return Err(AttemptError::For(ModelFailure::Request(error.cause))),
            Err(_) => return Err(AttemptError::Now { failure: self.silent(), told: None }),
        };
        let mut refusal = Vec::new();
        loop {
            let piece = match timeout(self.terms.silence, body.next()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(missed(broke_off(error.cause))),
                Err(_) => return Err(missed(self.silent())),
            };
            if status == 200 {
                heard.reply.hear(&piece);
                let text = heard.reply.said();
                if !text.is_empty() {
                    heard.any = true;
                    said(&text);
                }
            } else if refusal.len() < MOST_REFUSAL {
                refusal.extend_from_slice(&piece);
            }
        }
        if status == 200 {
            return Ok(());
        }
        if let Some(found) = self.signatures.overflow(status, &refusal) {
            return Err(AttemptError::For(ModelFailure::Overflow(found)));
        }
        let failure = self.refused(status, &refusal);
        Err(match retry::passes(status) {
            true => {
                AttemptError::Now { failure, told: retry_after.as_deref().and_then(retry::told) }
            }
            false => AttemptError::For(failure),
        })
    }

    fn call(&self, method: HttpMethod, url: String, body: Bytes) -> HttpRequest {
        HttpRequest { method, url, headers: self.endpoint.headers(), body }
    }

    fn unreachable(&self, error: SendError) -> ModelFailure {
        let remedy = match self.endpoint.spec.api {
            ModelApi::Ollama => {
                "start it with `ollama serve`, or name its address by `OLLAMA_HOST`"
            }
            ModelApi::OpenAi if !self.endpoint.is_usual() => "see to it that the server runs there",
            _ => "check the network",
        };
        let (address, remedy) = (self.endpoint.base.clone(), remedy.to_owned());
        ModelFailure::Unreachable { address, cause: error.cause, remedy }
    }

    fn silent(&self) -> ModelFailure {
        broke_off(format!("nothing came for {} ms", self.terms.silence.as_millis()))
    }

    fn refused(&self, status: u16, body: &[u8]) -> ModelFailure {
        let remedy = match (status, self.endpoint.spec.api) {
            (401 | 403, ModelApi::Ollama) => String::new(),
            (401 | 403, _) => "; check the key in the environment".to_owned(),
            (404, ModelApi::Ollama) => {
                format!("; `ollama pull {}` fetches it", self.endpoint.spec.name)
            }
            (404, _) => "; check the model's name and the address".to_owned(),
            _ => String::new(),
        };
        ModelFailure::Refused { status, says: message(body), remedy }
    }
}

/// Why there is no answer yet.
enum AttemptError {
    /// For good.
    For(ModelFailure),
    /// It may be different soon; `told` is when, as the provider says.
    Now { failure: ModelFailure, told: Option<Duration> },
}

impl AttemptError {
    /// Whether it is a refusal that tells what is to be different. Each is told of once.
    fn tells_of(&self, roles: &RoleRules) -> bool {
        let (AttemptError::For(failure) | AttemptError::Now { failure, .. }) = self;
        matches!(failure, ModelFailure::Refused { says, .. } if roles.learn(says))
    }
}

fn missed(failure: ModelFailure) -> AttemptError {
    AttemptError::Now { failure, told: None }
}

fn broke_off(cause: String) -> ModelFailure {
    ModelFailure::BrokeOff { cause, answer: Box::default() }
}

/// An answer that was heard to its end, if it is whole.
fn whole(
    answer: ResponseInfo,
    signatures: &OverflowSignatures,
) -> Result<ResponseInfo, ModelFailure> {
    if let Some(error) = &answer.error {
        return Err(match signatures.overflow(400, error.as_bytes()) {
            Some(found) => ModelFailure::Overflow(found),
            None => ModelFailure::BrokeOff {
                cause: message(error.as_bytes()),
                answer: Box::new(answer),
            },
        });
    }
    if answer.complete {
        return Ok(answer);
    }
    let cause = "it ended before it was whole".to_owned();
    Err(ModelFailure::BrokeOff { cause, answer: Box::new(answer) })
}

#[async_trait]
impl LanguageModel for ModelClient {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        let lacking = |cause: String, lack| ModelError { model: self.name.clone(), cause, lack };
        let failed = |cause| lacking(cause, ModelLimitHit::Other);
        let body = match &ask.after {
            Some(underway) => ask::after(&self.endpoint, underway, ask).map_err(failed)?,
            None => ask::body(&self.endpoint, ask, self.window().await),
        };
        let answer = self.answered(body, ask.within, &mut |_| ()).await;
        let answer = answer.map_err(|failure| match &failure {
            ModelFailure::Overflow(over) => {
                lacking(failure.to_string(), ModelLimitHit::Window(over.limit))
            }
            _ => failed(failure.to_string()),
        })?;
        let usage = answer.usage.unwrap_or_default();
        self.calls.add(&self.endpoint.spec, self.session.as_ref(), usage);
        let said = said(&answer, self.endpoint.spec.api.format());
        said.map_err(|(cause, lack)| lacking(cause, lack))
    }

    async fn window(&self) -> Option<u64> {
        if self.window.is_some() {
            return self.window;
        }
        // Where nobody answers the question itself says so. Ollama may know once it has loaded the model.
        let asked = async || self.probe().await.ok().and_then(|found| found.window).ok_or(());
        self.probed.get_or_try_init(asked).await.ok().copied()
    }

    fn extends(&self, conversation: &LiveRequest) -> bool {
        let ModelEndpoint { spec, .. } = &self.endpoint;
        let format = spec.api.format();
        conversation.format == format.name()
            && scan(&conversation.request, format)
                .is_ok_and(|scan| scan.model.as_deref() == Some(&spec.name))
    }
}
