//! The ports: what the kernel asks of its adapters. It knows none of them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::hook::{LiveRequest, ModelQuestion};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use epitome_types::{
    Budget, BudgetUnit, CheckpointLevel, ContentId, Entry, EntryId, Excerpt, ImagePart, Passage,
    RankedPassage, SearchAnswer, SearchRange, SessionOf, Summary, SummaryKind, SummaryStyle,
};

/// Tokens of the text of a page, in the middle of what providers name.
const PAGE_TEXT: u64 = 2000;

/// Counts tokens. A count depends on nothing but the text.
pub trait TokenCounter: Send + Sync {
    /// Names the vocabulary, for reports and as part of cache keys.
    fn id(&self) -> &str;

    /// Tokens of a text, read as plain text (special tokens are not recognised).
    fn count(&self, text: &str) -> u64;

    /// Tokens of many texts; adapters that cache or work in parallel override it.
    fn count_all(&self, texts: &[&str]) -> Vec<u64> {
        texts.iter().map(|text| self.count(text)).collect()
    }

    /// Tokens of an image, by its dimensions (RULES 124).
    fn image(&self, image: &ImagePart) -> u64;

    /// Tokens of a page of a document: providers show a model its image and its text (RULES 124).
    fn page(&self) -> u64 {
        let image = ImagePart { content: ContentId::for_text(""), pixels: None };
        self.image(&image) + PAGE_TEXT
    }

    /// Tokens that the protocol adds to every message.
    fn message(&self) -> u64 {
        4
    }
}

/// Sizes a text in the unit of a budget, so that a summariser can fill it exactly.
pub trait TextMeasure: Send + Sync {
    /// The size of a text, in the budget's unit. Sizes of pieces may add up to slightly more than
    /// the size of their concatenation, never to less.
    fn size(&self, text: &str) -> u64;
}

/// What a summariser is asked for.
pub struct SummaryJob<'a> {
    /// Whether it stands for entries or for the text of one part.
    pub kind: SummaryKind,
    /// How detailed it will be; a digest is as detailed as there is room.
    pub level: CheckpointLevel,
    /// The entries to stand for, oldest first, with gaps where entries stay in the prompt. For a
    /// digest one entry that holds nothing but the part.
    pub entries: &'a [&'a Entry],
    /// The same entries as they were said, each in its place. A summary quotes from these: a text
    /// that was made smaller on arrival may lack what is needed now. Search finds the rest.
    pub originals: &'a [&'a Entry],
    /// The entries that stay in the prompt beside the summary, oldest first; of a digest, those
    /// that are pinned.
    pub kept: &'a [&'a Entry],
    /// The most the summary may take, by `measure`.
    pub most: u64,
    /// Sizes a text in the unit of `most`.
    pub measure: &'a dyn TextMeasure,
    /// How to word it.
    pub style: SummaryStyle,
    /// Whether the pieces that are left out are wanted ([`Summary::left`]).
    pub passages: bool,
}

/// Writes summaries: a model, or code that needs none.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Its name, for reports.
    fn name(&self) -> &str;

    /// A candidate no larger than the job allows.
    ///
    /// # Errors
    ///
    /// When the summariser cannot answer; the kernel then asks the next one.
    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError>;

    /// Is told of summaries that will be asked for one after the other, so that it may write them
    /// at the same time.
    async fn ahead(&self, _jobs: &[SummaryJob<'_>]) {}

    /// The entries that say nothing but what a newer one says anew with another value. They are
    /// not kept for being recent.
    fn outdated(&self, _entries: &[&Entry]) -> Vec<EntryId> {
        Vec::new()
    }
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// Nothing worth keeping fits into so little room.
    #[error("no room for a summary: {most} allowed, at least {least} needed")]
    TooSmall {
        /// What was allowed, in the job's unit.
        most: u64,
        /// The least that makes sense, in the job's unit.
        least: u64,
    },
    /// The model failed.
    #[error("{0}")]
    Failed(String),
}

/// A language model that policies may ask, and that writes summaries.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Its name, for reports.
    fn name(&self) -> &str;

    /// What it says to a question.
    ///
    /// # Errors
    ///
    /// When it cannot answer.
    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError>;

    /// The largest prompt that it takes, with room for the answer in it, in tokens as it counts
    /// them; `None` where nobody knows. It may be asked for over the network, once.
    async fn window(&self) -> Option<u64> {
        None
    }

    /// Whether a question can be added to this conversation: it is one with this model, so that its
    /// beginning is cached where the question goes.
    fn extends(&self, _conversation: &LiveRequest) -> bool {
        false
    }
}

/// A model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model `{model}` did not answer: {cause}")]
pub struct ModelError {
    /// The model.
    pub model: String,
    /// Why not.
    pub cause: String,
    /// What can be done about it.
    pub lack: ModelLimitHit,
}

/// What was wrong with a question, where asking another one would help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelLimitHit {
    /// Nothing is known to help.
    #[default]
    Other,
    /// The prompt is larger than the model's window, which takes so many tokens where it was said.
    Window(Option<u64>),
    /// The answer was cut off where it had as many tokens as it may have.
    Answer,
    /// It was before anything was said: they all went into thoughts.
    Thoughts,
}

/// A tool result that may be made smaller before it is first sent.
pub struct DigestJob<'a> {
    /// The tool that gave it; a hint, what counts is the text.
    pub tool: &'a str,
    /// The arguments of the call, as the model wrote them; a hint too.
    pub arguments: &'a str,
    /// The result.
    pub text: &'a str,
    /// Whether the tool reported an error: errors are not made smaller.
    pub error: bool,
    /// The most the digest may take, by `measure`; what is no larger stays as it is.
    pub most: u64,
    /// Sizes a text in the unit of `most`.
    pub measure: &'a dyn TextMeasure,
}

/// What may stand in the place of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDigest {
    /// The text, without the marker that names the original.
    pub text: String,
    /// What the result was taken for, in a word or two: `json`, `log`, `text`.
    pub kind: Cow<'static, str>,
    /// Where the original says what the digest leaves out: byte ranges in order, on character
    /// boundaries, each short enough to be one passage of the search index.
    pub left: Vec<Range<usize>>,
}

/// Makes tool results smaller by their shape, without a model.
pub trait ToolDigester: Send + Sync {
    /// A digest that is smaller than the text and no larger than the job allows; `None` where the
    /// text should stay, or be replaced in another way.
    fn digest(&self, job: &DigestJob<'_>) -> Option<ToolDigest>;
}

/// One text for the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredText {
    /// Its address.
    pub id: ContentId,
    /// What a person is told it is (`e4 read_file result`).
    pub source: String,
    /// The text itself.
    pub text: String,
}

/// What left the prompt in one compression, ready to be kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Eviction {
    /// The originals.
    pub blobs: Vec<StoredText>,
    /// The pieces to be found by search; `entry` points into `sources`.
    pub passages: Vec<Passage>,
    /// For each entry with passages: the address of its original and what it is called.
    pub sources: Vec<(EntryId, ContentId, String)>,
}

/// Keeps what was said. Everything is addressed by scope first; nothing crosses it (RULES 66).
pub trait OriginalStore: Send + Sync {
    /// Keeps what left the prompt: on return it survives a crash of the process.
    ///
    /// # Errors
    ///
    /// When it could not be kept; then nothing of it was.
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError>;

    /// The original under a full id or an unambiguous beginning of one.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one.
    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError>;

    /// Excerpts that answer a query, best first, at most `budget` tokens by `counter` in all.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError>;

    /// The same in what one session said alone: nothing that others said changes what is found, nor
    /// its order. A store that does not look after sessions gives those of its excerpts that name it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let mut found = self.search(of.scope, query, budget, counter)?;
        found.retain(|excerpt| excerpt.place_in(of.session).is_some());
        Ok(found)
    }

    /// The same in several scopes that the caller may read, the first one first where a store ranks
    /// each by itself.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn search_in(
        &self,
        scopes: &[String],
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<SearchAnswer, StoreError> {
        let (mut found, mut left) = (Vec::new(), budget);
        for scope in scopes {
            let some = self.search(scope, query, left, counter)?;
            let used: u64 = some.iter().map(|one| counter.count(&one.text)).sum();
            left = left.saturating_sub(used);
            found.extend(some);
        }
        Ok(SearchAnswer { found, missed: Vec::new() })
    }

    /// The passages that answer a query, each by itself: first those of which a search within
    /// `budget` makes its excerpts, in the order in which it takes them, then some that it has no
    /// room for. A store that keeps no passages gives its excerpts.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn passages(
        &self,
        range: SearchRange<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<RankedPassage>, StoreError> {
        let found = match range {
            SearchRange::Scopes(scopes) => self.search_in(scopes, query, budget, counter)?.found,
            SearchRange::Session(of) => self.search_session(of, query, budget, counter)?,
        };
        let alone = |(at, excerpt)| RankedPassage {
            excerpt,
            place: 2 * i64::from(at),
            score: 1.0 / (1.0 + f64::from(at)),
            age: 0,
        };
        Ok((0u32..).zip(found).map(alone).collect())
    }
}

/// Why the store refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No original has this id.
    #[error("no original with the id `{id}`")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// More than one original's id begins like this.
    #[error("the id `{id}` is ambiguous: {count} originals begin with it; give more digits")]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// How many match.
        count: u64,
    },
    /// No session has this name.
    #[error("no session `{name}`{}", or_meant(nearest.as_deref()))]
    NoSession {
        /// What was asked for.
        name: String,
        /// The name that is nearest to it.
        nearest: Option<String>,
    },
    /// A session was to begin under the name of one that is there.
    #[error("there is a session `{name}` already; give the new one another name")]
    Taken {
        /// The name.
        name: String,
    },
    /// Others went on with a session since a request that is to be recorded was made of it.
    #[error("others went on with the session `{session}` meanwhile; make the request again")]
    Overtaken {
        /// Its name.
        session: String,
    },
    /// No snapshot has this id or name.
    #[error("no snapshot `{name}`")]
    NoSnapshot {
        /// What was asked for.
        name: String,
    },
    /// There is nothing to take back, or to do again.
    #[error("{what}")]
    NothingToMark {
        /// What there is none of.
        what: String,
    },
    /// What is kept is not what was written.
    #[error("the store is damaged: {what}")]
    Damaged {
        /// What was found, and where.
        what: String,
    },
    /// A store of the host's own does not do what it was asked for.
    #[error("this store does not {what}")]
    NotOffered {
        /// What it was asked for, as in "list its sessions".
        what: &'static str,
    },
    /// A newer version of Epitome wrote this store.
    #[error("the store has schema {found}, this program knows up to {known}; use a newer Epitome")]
    Newer {
        /// The store's schema version.
        found: i64,
        /// The newest schema this program knows.
        known: i64,
    },
    /// The file could not be opened, read or written.
    #[error("the store `{path}` {what}: {cause}")]
    Broken {
        /// The file.
        path: String,
        /// What was tried ("cannot be opened").
        what: &'static str,
        /// The cause, as the database says it.
        cause: String,
    },
}

fn or_meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// A gauge sizes entries and texts in one unit, with one counter.
#[derive(Clone, Copy)]
pub struct SizeGauge<'a> {
    /// The counter used where the unit is tokens.
    pub counter: &'a dyn TokenCounter,
    /// The unit.
    pub unit: BudgetUnit,
}

impl fmt::Debug for SizeGauge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SizeGauge")
            .field("counter", &self.counter.id())
            .field("unit", &self.unit)
            .finish()
    }
}

impl<'a> SizeGauge<'a> {
    /// A gauge for a budget's unit.
    pub fn for_unit(budget: &Budget, counter: &'a dyn TokenCounter) -> Self {
        Self { counter, unit: budget.unit }
    }
}
