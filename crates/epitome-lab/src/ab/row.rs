//! One strategy on one conversation, as a row of figures.
//!
//! Invariant: everything but the time depends on the conversation, the questions and the setup
//! alone. What may not be sent is scored all the same, and named.

use epitome::types::{Budget, BudgetUnit, FactCounts, Role};
use epitome::{
    Error, Format, RequestDocument, SessionArchive, SizeGauge, ThreadSizes, TokenCounter, scope,
    validate,
};
use serde::{Deserialize, Serialize};

use super::plain_text::{PlainMessage, said, tokens};
use super::questions::CaseQuestions;
use super::score::{EvalScore, score};
use super::strategy::{ReplayFigures, Sends};
use crate::facts::SearchedStore;
use crate::{ReplaySetup, lost};

/// A prompt may be so much larger than its budget in tokens, and by so many.
const FORGIVEN: f64 = 1.02;
const SPARE: u64 = 8;
/// Tokens that one search may return.
const SEARCH: u64 = 1000;

/// The figures of one strategy on one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvalRow {
    /// The strategy.
    pub profile: String,
    /// The conversation.
    pub id: String,
    /// Where it is from: the name of a collection, a client or a format.
    pub source: String,
    /// The kind of work: `chat`, `coding` or `service`.
    pub group: WorkKind,
    /// How large it is.
    #[serde(flatten)]
    pub tokens: RowTokens,
    /// Why it cannot be sent like this; empty where it can.
    pub faults: Vec<String>,
    /// How much of what is asked later is still there.
    #[serde(flatten)]
    pub score: EvalScore,
    /// Which must-keep facts are still there, and how many others a search finds.
    pub must_keep: FactCounts,
    /// Facts that are neither there nor found.
    pub lost: u64,
    /// What the replay came to, where it was one.
    #[serde(flatten)]
    pub played: Option<ReplayFigures>,
    /// Time that the strategy took, in milliseconds.
    pub elapsed_ms: f64,
}

/// How large a conversation is, in tokens: text, call arguments and 4 a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTokens {
    /// As it came.
    #[serde(rename = "tokens_before")]
    pub before: u64,
    /// What is sent in the end.
    #[serde(rename = "tokens_after")]
    pub after: u64,
    /// What nothing may cut: the system's texts and the last one that was typed.
    #[serde(rename = "tokens_pinned")]
    pub pinned: u64,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Talk between people, or with an assistant that only talks.
    Chat,
    /// Agents that work on code.
    Coding,
    /// Agents that serve customers.
    Service,
}

impl WorkKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Coding, Self::Service];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Coding => "coding",
            Self::Service => "service",
        }
    }

    /// Agents work on code unless their collection is of another trade.
    pub(crate) fn of(questions: &CaseQuestions) -> Self {
        const SERVICE: [&str; 2] = ["tau-bench", "tau2-bench"];
        match questions.is_chat() {
            true => Self::Chat,
            false if SERVICE.iter().any(|name| questions.source.starts_with(name)) => Self::Service,
            false => Self::Coding,
        }
    }
}

/// What a row is made of.
pub(crate) struct Judged<'a> {
    pub(crate) questions: &'a CaseQuestions,
    pub(crate) setup: &'a ReplaySetup,
    pub(crate) budget: Option<Budget>,
    pub(crate) format: Format,
    pub(crate) counter: &'a dyn TokenCounter,
}

impl Judged<'_> {
    /// The row of what a strategy sends.
    pub(crate) fn row(
        &self,
        profile: &str,
        sends: Sends,
        store: &dyn SessionArchive,
        elapsed_ms: f64,
    ) -> Result<EvalRow, Error> {
        let Sends { prompt, of, played, faults: mut found } = sends;
        let of = RequestDocument::parse(&of, self.format)?;
        let before = said(&of);
        let [tokens_before, tokens_pinned] = tokens(&before, self.counter);
        let after = prompt
            .as_deref()
            .map(|bytes| RequestDocument::parse(bytes, self.format))
            .transpose()?;
        let sent = after.as_ref().map(said).unwrap_or_default();
        let [tokens_after, _] = tokens(&sent, self.counter);
        if let Some(after) = &after {
            found.extend(self.over(tokens_after, after));
            found.extend(self.changed(&sent));
            found.extend(broken(&of, after));
        }
        if let Some(ReplayFigures { oversized, turns, .. }) = &played
            && *oversized > 0
        {
            found.push(format!("{oversized} of {turns} prompts exceed the limit"));
        }
        let scope = scope(self.setup.profile.name());
        let score = score(self.questions, &before, &sent, |query| {
            let found = store.search(&scope, query, SEARCH, self.counter)?;
            Ok::<_, Error>(found.into_iter().map(|excerpt| excerpt.text).collect())
        })?;
        let left = after.as_ref().map(|after| after.entries()).unwrap_or_default();
        let counter = self.setup.counter(of.model());
        let searched = SearchedStore {
            store: Some(store),
            scope: &scope,
            counter: self.counter,
            keep: &self.setup.profile.keep_in(of.entries(), &counter)?,
            redaction: &self.setup.profile.redaction,
        };
        let must_keep = searched.must_keep(of.entries(), left, &[])?.kept;
        Ok(EvalRow {
            profile: profile.to_owned(),
            id: self.questions.id.clone(),
            source: self.questions.source.clone(),
            group: WorkKind::of(self.questions),
            tokens: RowTokens { before: tokens_before, after: tokens_after, pinned: tokens_pinned },
            faults: found,
            score,
            lost: lost(&must_keep),
            must_keep,
            played,
            elapsed_ms,
        })
    }

    /// Whether a prompt exceeds the hard budget; a little is forgiven in tokens, for they may be
    /// counted in other pieces.
    fn over(&self, tokens: u64, prompt: &RequestDocument<'_>) -> Option<String> {
        let budget = self.budget?;
        let gauge = SizeGauge { counter: self.counter, unit: budget.unit };
        let (size, most) = match budget.unit {
            BudgetUnit::Tokens => (tokens, (budget.most as f64 * FORGIVEN) as u64 + SPARE),
            BudgetUnit::Chars => {
                (ThreadSizes::measure(prompt.entries(), gauge, 0).total(), budget.most)
            }
            BudgetUnit::Bytes => (prompt.bytes().len() as u64, budget.most),
        };
        (size > most).then(|| format!("over budget: {size} of {budget}"))
    }

    /// Texts that had to stay and are not there.
    fn changed(&self, prompt: &[PlainMessage]) -> Vec<String> {
        let says = |role, text: &str| {
            let text = text.trim();
            prompt.iter().any(|one| one.role == role && one.content.contains(text))
        };
        let mut out = Vec::new();
        if !self.questions.system.iter().all(|text| says(Role::System, text)) {
            out.push("a text of the system is changed".to_owned());
        }
        let last = self.questions.last_user.trim();
        if !last.is_empty() && !says(Role::User, last) {
            out.push("the last text that was typed is lost".to_owned());
        }
        out
    }
}

/// The first rule of the provider that is broken more often than before.
fn broken(before: &RequestDocument<'_>, after: &RequestDocument<'_>) -> Option<String> {
    let of = |document: &RequestDocument<'_>| {
        validate(document.format(), document.bytes()).err().unwrap_or_default()
    };
    let (known, found) = (of(before), of(after));
    let more = found.iter().find(|one| {
        let count = |all: &[epitome::RuleViolation]| {
            all.iter().filter(|other| other.hazard == one.hazard).count()
        };
        count(&found) > count(&known)
    })?;
    Some(more.to_string())
}
