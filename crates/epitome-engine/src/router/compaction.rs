//! A client that compacts its own history: the request for it, and the conversation that follows.
//!
//! Invariant: what is recognised here names a session and changes no prompt. The new history is a
//! branch like any other; it goes on under the name of the old one (RULES 116).

use std::borrow::Cow;
use std::collections::HashMap;

use epitome_types::Entry;

use super::conversations::RequestHistory;
use super::{RoutedPrompt, RoutedRequest};

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

/// A summary is known again by lines of at least so many characters, by so many of each, and by so many
/// lines: clients drop parts of it and word its frame anew. Where nothing says that it is one, most of
/// them stand there.
const LEAST: usize = 24;
const KNOWN_BY: usize = 64;
const LINES: usize = 8;

/// Agents of one client whose summaries are remembered at once.
const AGENTS: usize = 16;

/// Only so many bytes of a message are looked at, and so many messages: some clients keep what the user
/// typed before the summary.
const LOOKED_AT: usize = 16 << 10;
const OPENING: usize = 64;

/// The summaries that clients were given and have not gone on with yet, by tenant and label, the newest
/// last. Agents of one client may have their histories compacted at the same time.
#[derive(Default)]
pub(super) struct ClientSummaries(HashMap<(String, String), Vec<ClientSummary>>);

/// A summary that a client was given.
struct ClientSummary {
    /// The session that it is of.
    session: String,
    /// Beginnings of its longest lines, as they stand in JSON.
    lines: Vec<String>,
}

/// Whether a message asks for a summary to go on with.
pub(super) fn asks_for(message: &[u8]) -> bool {
    let text = beginning(message);
    ASKS.iter().any(|phrase| text.contains(phrase))
}

impl ClientSummaries {
    /// A client asked for a summary of a session.
    pub(super) fn asked(&mut self, sent: &RoutedPrompt) {
        if let Some(of) = key(&sent.tenant, sent.label.as_deref()) {
            let given = self.0.entry(of).or_default();
            given.retain(|it| it.session != sent.prompt.session);
            given.push(ClientSummary { session: sent.prompt.session.clone(), lines: Vec::new() });
            given.drain(..given.len().saturating_sub(AGENTS));
        }
    }

    /// A client was given an answer.
    pub(super) fn answered(&mut self, sent: &RoutedPrompt, answer: &Entry) {
        let given = key(&sent.tenant, sent.label.as_deref()).and_then(|of| self.0.get_mut(&of));
        let mut given = given.into_iter().flatten().filter(|_| sent.compacting);
        if let Some(given) = given.find(|it| it.session == sent.prompt.session) {
            given.lines = longest_lines(&answer.readable());
        }
    }

    /// The session that a new conversation goes on with, where its client compacted that one.
    pub(super) fn adopted(&self, ask: &RoutedRequest, history: &RequestHistory) -> Option<String> {
        let label = ask.label.as_deref()?;
        let given = self.0.get(&key(&ask.tenant, Some(label))?).map_or(&[][..], Vec::as_slice);
        let messages = history.scan.messages.iter().take(OPENING);
        let texts = messages.filter_map(|message| ask.bytes.get(message.range.clone()));
        let texts: Vec<_> = texts.map(beginning).collect();
        let holds = |phrase: &str| texts.iter().any(|text| text.contains(phrase));
        let goes_on = GOES_ON.iter().any(|phrase| holds(phrase));
        // A task for a subagent, or what the user says again, may quote a line of it.
        let is_known = |it: &&ClientSummary| {
            let held = it.lines.iter().filter(|line| holds(line)).count();
            held > 0 && (goes_on || held * 2 > it.lines.len())
        };
        if let Some(known) = given.iter().rev().find(is_known) {
            return Some(known.session.clone());
        }
        // In other words than it was given: whose it is is clear only where there is one.
        match given {
            [] => goes_on.then(|| label.to_owned()),
            [one] => goes_on.then(|| one.session.clone()),
            _ => None,
        }
    }
}

/// What the longest lines of a summary begin with, as it stands in JSON.
fn longest_lines(summary: &str) -> Vec<String> {
    let mut lines: Vec<&str> = summary.lines().map(str::trim).collect();
    lines.retain(|line| line.chars().count() >= LEAST);
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    let in_json = |line: &&str| {
        let beginning: String = line.chars().take(KNOWN_BY).collect();
        let escaped = serde_json::Value::from(beginning).to_string();
        escaped[1..escaped.len() - 1].to_owned()
    };
    lines.iter().take(LINES).map(in_json).collect()
}

fn key(tenant: &str, label: Option<&str>) -> Option<(String, String)> {
    Some((tenant.to_owned(), label?.to_owned()))
}

fn beginning(message: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&message[..message.len().min(LOOKED_AT)])
}
