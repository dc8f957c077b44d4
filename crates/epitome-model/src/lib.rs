//! Language models over HTTP: Ollama, whatever speaks OpenAI's chat completions, and Anthropic.
//!
//! A [`ModelSpec`] is what a user types; an [`ModelEndpoint`] is where that leads, with the key from the
//! environment; a [`ModelClient`] asks there. Behind it a [`Transport`] moves the bytes: `HttpTransport`, which is
//! behind the feature `http`, a transport of the host's own, or a cassette that [`CassetteRecorder`] wrote and
//! [`CassettePlayer`] plays.
//!
//! Invariant: a request goes to the one endpoint that was named, with no key but the one meant for
//! it; whatever comes back, the answer is whole, or an error that says what is missing, within the
//! deadline. Called by the facade and by hosts.

mod address;
mod answer;
mod ask;
mod calls;
mod client;
mod endpoint;
mod failure;
mod probe;
mod retry;
mod roles;
mod spec;
mod transport;

pub use calls::{AskingSession, CallSum, ModelCalls, OwnCalls};
pub use client::{ClientTimeouts, ModelClient};
pub use endpoint::{EndpointError, ModelEndpoint};
pub use failure::ModelFailure;
pub use probe::ProbedWindow;
pub use spec::{ModelApi, ModelSpec, SpecError};
#[cfg(feature = "http")]
pub use transport::HttpTransport;
pub use transport::{
    BodyChunks, CassettePlayer, CassetteRecorder, HttpMethod, HttpRequest, HttpResponse,
    PlayerError, SendError, Transport,
};
