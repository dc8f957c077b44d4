//! A client that compacts its own history: the request for it, and the conversation that follows.
//!
//! Invariant: what is recognised here names a session and changes no prompt. The new history is a
//! branch like any other; it goes on under the name of the old one (hazard 16).

use std::borrow::Cow;
use std::collections::HashMap;

use epitome_types::Entry;

use super::conversations::History;
use super::{Ask, Sent};

/// How clients begin the message that asks a model for a summary of all that was said.
const ASKS: [&str; 2] = [
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
];

/// How clients begin the history that they go on with.
const GOES_ON: [&str; 2] = [
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
];

/// By so many characters a summary is known again.
const KNOWN_BY: usize = 64;

/// Only so many bytes of a message are looked at.
const LOOKED_AT: usize = 16 << 10;

/// The summaries that clients were given and have not gone on with yet, by tenant and label.
#[derive(Default)]
pub(super) struct Compactions(HashMap<(String, String), Given>);

/// A summary that a client was given.
struct Given {
    /// The session that it is of.
    session: String,
    /// The beginning of its text, as it stands in JSON.
    opening: Option<String>,
}

/// Whether a message asks for a summary to go on with.
pub(super) fn asks_for(message: &[u8]) -> bool {
    let text = beginning(message);
    ASKS.iter().any(|phrase| text.contains(phrase))
}

impl Compactions {
    /// A client asked for a summary of a session.
    pub(super) fn asked(&mut self, sent: &Sent) {
        if let Some(of) = key(&sent.tenant, sent.label.as_deref()) {
            self.0.insert(of, Given { session: sent.prompt.session.clone(), opening: None });
        }
    }

    /// A client was given an answer.
    pub(super) fn answered(&mut self, sent: &Sent, answer: &Entry) {
        let given = key(&sent.tenant, sent.label.as_deref()).and_then(|of| self.0.get_mut(&of));
        if let Some(given) = given.filter(|_| sent.compacting) {
            let opening: String = answer.readable().trim().chars().take(KNOWN_BY).collect();
            let escaped = serde_json::Value::from(opening).to_string();
            given.opening = Some(escaped.trim_matches('"').to_owned()).filter(|it| !it.is_empty());
        }
    }

    /// The session that a new conversation goes on with, where its client compacted that one.
    pub(super) fn adopted(&self, ask: &Ask, history: &History) -> Option<String> {
        let label = ask.label.as_deref()?;
        let given = self.0.get(&key(&ask.tenant, Some(label))?);
        let opening = given.and_then(|given| given.opening.as_deref());
        let messages = history.scan.messages.iter().take(3);
        let texts = messages.filter_map(|message| ask.bytes.get(message.range.clone()));
        let phrases: Vec<_> = GOES_ON.into_iter().chain(opening).collect();
        let goes_on = |text: &[u8]| {
            let text = beginning(text);
            phrases.iter().any(|phrase| text.contains(phrase))
        };
        let session = given.map_or(label, |given| &given.session);
        texts.into_iter().any(goes_on).then(|| session.to_owned())
    }
}

fn key(tenant: &str, label: Option<&str>) -> Option<(String, String)> {
    Some((tenant.to_owned(), label?.to_owned()))
}

fn beginning(message: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&message[..message.len().min(LOOKED_AT)])
}
