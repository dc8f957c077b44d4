//! Language models over HTTP: Ollama, whatever speaks OpenAI's chat completions, and Anthropic.
//!
//! A [`ModelSpec`] is what a user types; an [`Endpoint`] is where that leads, with the key from the
//! environment; a [`Client`] asks there. Behind it a [`Transport`] moves the bytes: `Http`, which is
//! behind the feature `http`, a transport of the host's own, or a cassette that [`Recorder`] wrote and
//! [`Player`] plays.
//!
//! Invariant: a request goes to the one endpoint that was named, with no key but the one meant for
//! it; whatever comes back, the answer is whole, or an error that says what is missing, within the
//! deadline. Called by the facade and by hosts.

mod address;
mod ask;
mod calls;
mod client;
mod endpoint;
mod failure;
mod probe;
mod retry;
mod said;
mod spec;
mod transport;

pub use calls::{CallSum, ModelCalls, OwnCalls};
pub use client::{Client, Terms};
pub use endpoint::{Endpoint, EndpointError};
pub use failure::Failure;
pub use probe::Probed;
pub use spec::{Api, ModelSpec, SpecError};
#[cfg(feature = "http")]
pub use transport::Http;
pub use transport::{
    Call, Chunks, Method, Player, PlayerError, Recorder, Response, SendError, Transport,
};
