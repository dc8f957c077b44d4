//! A client that compacts its own history: the request for it, and the conversation that follows.
//!
//! Invariant: what is recognised here names a session and changes no prompt. The new history is a
//! branch like any other; it goes on under the name of the old one (RULES 116), and only with proof
//! (RULES 13): its summary is the answer that was recorded. What tells whose summary it is stands in
//! the journal, so that it holds in every process.

use std::sync::LazyLock;

use epitome_kernel::{Holder, MessageRecord, StoreError};
use epitome_types::Entry;
use memchr::memmem::Finder;

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

/// Each of these phrases, ready to be sought: every request is asked for them.
static ASKED: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| ASKS.map(Finder::new));
static WENT_ON: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| GOES_ON.map(Finder::new));

/// A summary is known again by lines of at least so many characters, by so many of each, and by the
/// longest so many: clients drop parts of it and word its frame anew.
const LEAST: usize = 24;
const KNOWN_BY: usize = 64;
const LINES: usize = 32;

/// What a model thinks before its summary, which clients drop.
const ANALYSIS: [&str; 2] = ["<analysis>", "</analysis>"];

/// Only so many bytes at either end of a message are looked at, and so many messages: some clients ask
/// beside the result of a tool, and keep what the user typed before the summary.
const LOOKED_AT: usize = 32 << 10;
const OPENING: usize = 64;

/// Whether a message, as it stands in a request, asks for a summary to go on with.
pub(crate) fn asks_for_summary(message: &[u8]) -> bool {
    if message.len() <= 2 * LOOKED_AT {
        return holds(message, &*ASKED);
    }
    let (begin, end) = (&message[..LOOKED_AT], &message[message.len() - LOOKED_AT..]);
    holds(begin, &*ASKED) || holds(end, &*ASKED)
}

/// Whether a request holds the words with which clients go on from a summary.
pub(crate) fn goes_on_from_summary(request: &[u8]) -> bool {
    holds(request, &*WENT_ON)
}

/// Whether some bytes hold one of these phrases.
fn holds(bytes: &[u8], phrases: &[Finder<'_>]) -> bool {
    phrases.iter().any(|phrase| phrase.find(bytes).is_some())
}

/// A summary that a client asked for and has not gone on with.
struct PendingSummary<'h> {
    /// The session that it is of.
    session: &'h str,
    /// Beginnings of its longest lines.
    lines: Vec<String>,
}

impl PendingSummary<'_> {
    /// Returns whether texts hold most of the summary. One line in common may be a quotation, or what
    /// any summary says.
    fn is_in(&self, texts: &[String]) -> bool {
        let holds = |line: &&String| texts.iter().any(|text| text.contains(&**line));
        let held = self.lines.iter().filter(holds).count();
        held > 0 && 2 * held >= self.lines.len()
    }
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
        let opening = said.iter().take(OPENING);
        let texts: Vec<_> = opening.map(|entry| entry.readable().into_owned()).collect();
        if !GOES_ON.iter().any(|phrase| texts.iter().any(|text| text.contains(phrase))) {
            return Ok(None);
        }
        // The newest first: a summary may quote the one before it.
        for holder in holders.iter().rev().filter(|it| it.label.as_deref() == Some(label)) {
            let pending = self.pending_summary(&holder.session, format)?;
            if let Some(pending) = pending.filter(|it| it.is_in(&texts)) {
                return Ok(Some(pending.session));
            }
        }
        Ok(None)
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
        let mut texts = asked.iter().filter_map(|message| message.bytes.as_deref());
        if !texts.any(asks_for_summary) {
            return Ok(None);
        }
        let answer: Vec<_> = journal.answer(scope, session)?.into_iter().collect();
        let said = |messages: &[MessageRecord]| -> Result<String, StoreError> {
            let entries = decode(format, messages)?;
            Ok(entries.iter().map(Entry::readable).collect::<Vec<_>>().join("\n"))
        };
        let lines = longest_lines(&said(&answer)?, &said(&asked)?);
        Ok(Some(PendingSummary { session, lines }))
    }
}

/// Returns what the longest lines of a summary begin with. What was asked for in the same words, as the
/// headings are, says nothing of whose it is.
fn longest_lines(summary: &str, asked: &str) -> Vec<String> {
    let [opens, closes] = ANALYSIS;
    let analysis = summary
        .split_once(opens)
        .and_then(|(before, rest)| rest.split_once(closes).map(|(_, after)| [before, after]));
    let parts = analysis.unwrap_or([summary, ""]);
    let mut lines: Vec<&str> = parts.iter().flat_map(|it| it.lines()).map(str::trim).collect();
    lines.retain(|line| line.chars().count() >= LEAST && !asked.contains(*line));
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    lines.iter().take(LINES).map(|line| line.chars().take(KNOWN_BY).collect()).collect()
}
