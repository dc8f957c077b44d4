//! A client that compacts its own history: the request for it, and the conversation that follows.
//!
//! Invariant: what is recognised here names a session and changes no prompt. The new history is a
//! branch like any other; it goes on under the name of the old one (RULES 116). What tells whose
//! summary it is stands in the journal, so that it holds in every process.

use epitome_kernel::{Holder, StoreError};
use epitome_types::{Entry, PartBody};

use super::Session;
use crate::error::Error;
use epitome_admin::admin::decode;

/// How clients begin the text that asks a model for a summary of all that was said.
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
/// lines: clients drop parts of it and word its frame anew.
const LEAST: usize = 24;
const KNOWN_BY: usize = 64;
const LINES: usize = 8;

/// Only so many bytes at either end of a message are looked at, and so many messages: some clients ask
/// beside the result of a tool, and keep what the user typed before the summary.
const LOOKED_AT: usize = 32 << 10;
const OPENING: usize = 64;

/// Whether a message, as it stands in a request, asks for a summary to go on with.
pub(crate) fn asks_for_summary(message: &[u8]) -> bool {
    let ends = [
        &message[..message.len().min(LOOKED_AT)],
        &message[message.len().saturating_sub(LOOKED_AT)..],
    ];
    let texts = ends.map(String::from_utf8_lossy);
    ASKS.iter().any(|phrase| texts.iter().any(|text| text.contains(phrase)))
}

/// A summary that a client asked for and has not gone on with.
struct PendingSummary<'h> {
    /// The session that it is of.
    session: &'h str,
    /// Beginnings of its longest lines; none where it was not recorded.
    lines: Vec<String>,
}

impl Session {
    /// The session that a new history goes on from, where its client compacted that one. `holders` are
    /// those that may be it.
    pub(super) fn compacted_by_client<'h>(
        &self,
        said: &[Entry],
        format: &str,
        holders: &'h [Holder],
    ) -> Result<Option<&'h str>, Error> {
        let Some(label) = self.told.label.as_deref() else { return Ok(None) };
        let opening = &said[..said.len().min(OPENING)];
        let texts: Vec<_> = opening.iter().map(Entry::readable).collect();
        let holds = |phrase: &str| texts.iter().any(|text| text.contains(phrase));
        if !GOES_ON.iter().any(|phrase| holds(phrase)) {
            return Ok(None);
        }
        let own = holders.iter().filter(|holder| holder.label.as_deref() == Some(label));
        let own: Vec<_> = own.map(|holder| &*holder.session).collect();
        let mut pending = Vec::new();
        for session in &own {
            pending.extend(self.pending_summary(session, format)?);
        }
        // The newest first: a summary may quote the one before it.
        let known = |one: &&PendingSummary<'_>| one.lines.iter().any(|line| holds(line));
        if let Some(known) = pending.iter().rev().find(known) {
            return Ok(Some(known.session));
        }
        // In other words than were recorded: whose it is is clear only where nobody else asked for one,
        // or where there is nobody else.
        Ok(match (&pending[..], &own[..]) {
            ([one], _) if one.lines.is_empty() || opening.iter().any(goes_on) => Some(one.session),
            ([], [one]) if opening.iter().any(goes_on) => Some(one),
            _ => None,
        })
    }

    /// The summary that a session ends with, where its client asked for one there.
    fn pending_summary<'h>(
        &self,
        session: &'h str,
        format: &str,
    ) -> Result<Option<PendingSummary<'h>>, StoreError> {
        let (journal, scope) = (&self.record.journal, &*self.record.scope);
        let info = journal.session(scope, session)?;
        let Some(last) = info.figures.messages.checked_sub(1) else { return Ok(None) };
        if info.format != format {
            return Ok(None);
        }
        let asked = journal.history(scope, session, info.head, last, 1)?;
        let asked = asked.into_iter().next().and_then(|message| message.bytes);
        if !asked.is_some_and(|message| asks_for_summary(&message)) {
            return Ok(None);
        }
        let answer: Vec<_> = journal.answer(scope, session)?.into_iter().collect();
        let answer = decode(format, &answer)?;
        let lines = answer.iter().flat_map(|entry| longest_lines(&entry.readable())).collect();
        Ok(Some(PendingSummary { session, lines }))
    }
}

/// Whether one of its texts begins as a client has one begin that goes on from a summary.
fn goes_on(entry: &Entry) -> bool {
    let mut texts = entry.parts.iter().filter_map(|part| match &part.body {
        PartBody::Text(text) => Some(text.trim_start()),
        _ => None,
    });
    texts.any(|text| GOES_ON.iter().any(|phrase| text.starts_with(phrase)))
}

/// What the longest lines of a summary begin with.
fn longest_lines(summary: &str) -> Vec<String> {
    let mut lines: Vec<&str> = summary.lines().map(str::trim).collect();
    lines.retain(|line| line.chars().count() >= LEAST);
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    lines.iter().take(LINES).map(|line| line.chars().take(KNOWN_BY).collect()).collect()
}
