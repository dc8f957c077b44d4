//! The sessions as `top` shows them, read by the same way as `status`.
//!
//! Invariant: of a session no message is read, and of the ledger its own records alone.

use std::cmp::Ordering;

use clap::ValueEnum;
use epitome::{SavedRange, SavingsLedger, SavingsSums, SessionStatus, WindowLevel, session_hash};
use serde::Serialize;

use crate::fault::CliError;
use crate::journal::OpenJournal;
use crate::status;

/// The value of the field `schema`.
const SCHEMA: &str = "epitome/top@1";

/// The order of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// The one used last first
    Last,
    /// The most turns first
    Turns,
    /// The fullest window first
    Prompt,
    /// The largest saving first
    Saved,
    /// By title
    Title,
    /// By client
    Client,
    /// By model
    Model,
}

impl SortKey {
    /// That of a key on the keyboard.
    pub(super) fn of_key(key: u8) -> Option<Self> {
        Some(match key {
            b'l' => Self::Last,
            b't' => Self::Turns,
            b'p' => Self::Prompt,
            b's' => Self::Saved,
            b'n' => Self::Title,
            b'c' => Self::Client,
            b'm' => Self::Model,
            _ => return None,
        })
    }

    /// Its word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Turns => "turns",
            Self::Prompt => "prompt",
            Self::Saved => "saved",
            Self::Title => "title",
            Self::Client => "client",
            Self::Model => "model",
        }
    }
}

/// All sessions at a time.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TopTable {
    schema: &'static str,
    /// The time, ISO 8601.
    pub(super) at: String,
    /// Whether there are more, which were used before these.
    pub(super) more: bool,
    pub(super) sessions: Vec<TopRow>,
}

/// A session.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TopRow {
    pub(super) session: String,
    pub(super) title: String,
    /// The program that asks; none where nothing came through a proxy.
    pub(super) client: Option<String>,
    pub(super) model: Option<String>,
    pub(super) profile: String,
    pub(super) turns: u64,
    pub(super) compressions: u32,
    #[serde(flatten)]
    pub(super) prompt: TopPrompt,
    /// Its part of the ledger; none where nothing was paid.
    pub(super) money: Option<SavingsSums>,
    /// When its last message was recorded, ISO 8601.
    pub(super) last: String,
}

/// Its newest prompt.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct TopPrompt {
    /// Tokens as it came and as it was sent.
    pub(super) raw: u64,
    pub(super) sent: u64,
    /// The limit that it is held to.
    pub(super) limit: u64,
    pub(super) level: WindowLevel,
}

impl TopTable {
    /// Reads the sessions that were used last, `limit` at most, 0 for all.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(super) fn load(journal: &OpenJournal, limit: u64) -> Result<Self, CliError> {
        let most =
            if limit == 0 { usize::MAX } else { usize::try_from(limit).unwrap_or(usize::MAX) };
        let mut all = status::all(journal, if limit == 0 { 0 } else { limit.saturating_add(1) })?;
        let more = all.len() > most;
        all.truncate(most);
        let sessions = all.into_iter().map(|(scope, status)| {
            let hash = session_hash(&scope, &status.session);
            let ledger = SavingsLedger::load_session(&*journal.store, journal.tenant(), &hash);
            let ledger = ledger.map_err(|error| CliError::of_store(&error))?;
            Ok(TopRow::new(status, &ledger, &hash))
        });
        let sessions = sessions.collect::<Result<_, CliError>>()?;
        Ok(Self { schema: SCHEMA, at: epitome::system_time(), more, sessions })
    }

    /// The table of these sessions.
    #[cfg(test)]
    pub(super) fn with_sessions(at: &str, sessions: Vec<TopRow>) -> Self {
        Self { schema: SCHEMA, at: at.to_owned(), more: false, sessions }
    }

    /// The same in an order.
    pub(super) fn sorted(mut self, key: SortKey, reversed: bool) -> Self {
        self.sort(key, reversed);
        self
    }

    /// Puts the sessions in order; those that are alike in it stay with the one used last first.
    pub(super) fn sort(&mut self, key: SortKey, reversed: bool) {
        self.sessions.sort_by(|one, other| {
            let last = other.last.cmp(&one.last);
            let order = one.order(other, key);
            let order = if reversed { order.reverse() } else { order };
            order.then(last).then_with(|| one.session.cmp(&other.session))
        });
    }
}

impl TopRow {
    fn new(status: SessionStatus, ledger: &SavingsLedger, hash: &str) -> Self {
        Self {
            client: ledger.clients().remove(hash),
            money: ledger.by_session().remove(hash),
            turns: status.sums.turns,
            compressions: status.savings.compressions,
            prompt: TopPrompt {
                raw: status.sums.tokens[0],
                sent: status.sums.tokens[1],
                limit: status.window.limit,
                level: status.window.level,
            },
            session: status.session,
            title: status.title,
            model: status.model,
            profile: status.profile,
            last: status.last,
        }
    }

    /// The saving in dollars, in the middle of its estimates; 0 where it is not known.
    fn saved(&self) -> f64 {
        self.money.map_or(0.0, |SavingsSums { saved: SavedRange { least, most }, .. }| least + most)
    }

    /// The share of the limit that the prompt takes.
    fn share(&self) -> f64 {
        self.prompt.sent as f64 / self.prompt.limit.max(1) as f64
    }

    fn order(&self, other: &Self, key: SortKey) -> Ordering {
        // What is not known stands behind what is.
        let named = |one: &Option<String>, other: &Option<String>| {
            one.is_none().cmp(&other.is_none()).then_with(|| one.cmp(other))
        };
        match key {
            SortKey::Last => other.last.cmp(&self.last),
            SortKey::Turns => other.turns.cmp(&self.turns),
            SortKey::Prompt => other.share().total_cmp(&self.share()),
            SortKey::Saved => other.saved().total_cmp(&self.saved()),
            SortKey::Title => self.title.to_lowercase().cmp(&other.title.to_lowercase()),
            SortKey::Client => named(&self.client, &other.client),
            SortKey::Model => named(&self.model, &other.model),
        }
    }
}
