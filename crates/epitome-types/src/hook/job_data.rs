//! What jobs tell of a conversation, its messages and its checkpoints.
//!
//! Invariant: facts alone, the same for every hook that is told them; what messages say is read
//! where it is wanted, never copied. Sizes are tokens unless a field says otherwise.

use std::fmt;

use serde::Serialize;

use super::order::MessageNumber;
use crate::shape::{HasShape, ValueShape, table, words};
use crate::{Role, Speaker};

table! {
    /// A model and its window.
    #[derive(Default)]
    pub struct ModelFacts {
        /// Its name, where the request gives one.
        pub name: Option<String>,
        /// The context size that was chosen, in tokens, where one was.
        pub size: Option<u64>,
        /// The largest prompt that its provider accepts, in tokens.
        pub limit: u64,
        /// Whether somebody stated that; a guess is aimed at and never enforced.
        pub stated: bool,
        /// The context sizes that it is offered in, the smallest first, where the model table lists
        /// any.
        pub sizes: Vec<u64>,
        /// Its parameters in billions, where the model table says so.
        pub billions: Option<f64>,
    }
}

table! {
    /// Tokens of a prompt.
    #[derive(Default)]
    pub struct Tokens {
        /// The whole.
        pub total: u64,
        /// The system prompt.
        pub system: u64,
        /// The tool schemas.
        pub tools: u64,
        /// Checkpoints.
        pub checkpoints: u64,
        /// All the rest.
        pub conversation: u64,
    }
}

table! {
    /// A message, or the part of one that is a tool's result.
    #[derive(Default)]
    pub struct Arriving {
        /// Its place in the history.
        pub id: MessageNumber,
        /// Its role: `system`, `user`, `assistant` or `tool`.
        pub role: RoleName,
        /// Who produced it: `human`, `model`, `tool` or `harness`.
        pub speaker: SpeakerName,
        /// The tool that was called, where it is a result.
        pub tool: Option<String>,
        /// The arguments of that call, as JSON text.
        pub args: Option<String>,
        /// Its size.
        pub tokens: u64,
        /// How many lines it has.
        pub lines: u64,
        /// Whether the tool reported an error.
        pub error: bool,
    }
}

table! {
    /// A passage that answers a search.
    #[derive(Default)]
    pub struct RecallPassage {
        /// What it says.
        pub text: String,
        /// Its size.
        pub tokens: u64,
        /// How well it answers by itself: 1 is as well as the best by its own words.
        pub score: f64,
        /// How many of the passages that were searched were said after it.
        pub age: u64,
        /// The session that said it, where it is of one.
        pub session: Option<String>,
        /// Its message, as recall names it: `e4`.
        pub place: String,
        /// The role of whoever said it: `user`, `assistant`, `system` or `tool`.
        pub role: String,
        /// The tool, where it is of a result.
        pub tool: Option<String>,
        /// The name in what was found first that led to it, where it does not answer by itself.
        pub through: Option<String>,
    }
}

table! {
    /// What the provider's cache makes of a rewrite, in the price of a token that is not cached.
    #[derive(Default)]
    pub struct Cache {
        /// Whether the provider has a prefix of the prompt to read.
        pub warm: bool,
        /// What a token costs that is read from the cache, by the model and the API; nothing on a
        /// server of one's own.
        pub read: f64,
        /// What a token costs that is written to it.
        pub write: f64,
        /// What a rewrite to the target costs over reading the prompt once more.
        pub rewrite_cost: f64,
        /// What a prompt of the target's size would save with each request.
        pub saving_per_turn: f64,
        /// What has been forgone since the last compression, this request included.
        pub forgone_cost: f64,
    }
}

table! {
    /// The messages of a history, a list for each property. `job.entries:text(i)` and
    /// `job.entries:head(i, n)` read what a message says.
    #[derive(Default)]
    pub struct Columns {
        /// How many messages there are.
        pub count: u32,
        /// Their roles.
        pub role: Vec<RoleName>,
        /// Who produced them; what a person typed counts before what stands beside it.
        pub speaker: Vec<SpeakerName>,
        /// Their sizes, as they were said.
        pub tokens: Vec<u64>,
        /// Their sizes, as they are sent in their own place: 0 for those that left the prompt.
        pub sent: Vec<u64>,
        /// Numbers of the exchanges they belong to: a call and its results share one, and go or
        /// stay together.
        pub exchange: Vec<u32>,
        /// Whether nothing may touch them.
        pub pinned: Vec<bool>,
        /// Whether they call tools or answer a call.
        pub tools: Vec<bool>,
        /// The tools that they call or answer, in order.
        pub names: Vec<Vec<String>>,
        /// What they are known by, whatever their place: the same text in every history.
        pub key: Vec<String>,
        /// Places in `checkpoints` of those that stand for them, 0 where none does.
        pub checkpoint: Vec<u32>,
        /// Those of their calls that write or edit files.
        pub inputs: Vec<Vec<Input>>,
    }
}

table! {
    /// A call that writes or edits a file.
    #[derive(Default, PartialEq)]
    pub struct Input {
        /// Which of the message's calls it is, counted from 1.
        pub call: u32,
        /// The tool.
        pub tool: String,
        /// The file, as the call spells it; the first where it names several.
        pub path: String,
        /// The size of its arguments as they are sent.
        pub tokens: u64,
        /// Whether what it wrote is on disk as it was written.
        pub persisted: bool,
        /// Whether its result is there and is no error.
        pub ok: bool,
    }
}

table! {
    /// A checkpoint in the prompt.
    #[derive(Default)]
    pub struct Standing {
        /// Its id.
        pub id: String,
        /// How detailed it is: 3, 2, 1, and 0 for merged.
        pub level: u8,
        /// The number of the compression that made it.
        pub number: u32,
        /// How many compressions were made since.
        pub age: u32,
        /// Its size.
        pub tokens: u64,
        /// The size of what it stands for.
        pub original: u64,
        /// How many messages it stands for.
        pub covers: u32,
        /// When it was made, ISO 8601.
        pub created: String,
        /// How often it was written anew since.
        pub rewritten: u32,
    }
}

table! {
    /// The messages that leave, or may leave, a list for each property. `job.covered:text(i)` and
    /// `job.covered:head(i, n)` read what a message says.
    #[derive(Default)]
    pub struct Covered {
        /// How many messages there are.
        pub count: u32,
        /// Their roles.
        pub role: Vec<RoleName>,
        /// Who produced them; what a person typed counts before what stands beside it.
        pub speaker: Vec<SpeakerName>,
        /// The tools that they call or answer, in order.
        pub names: Vec<Vec<String>>,
    }
}

table! {
    /// Something that a summary should keep.
    #[derive(Default)]
    pub struct Fact {
        /// The text.
        pub text: String,
        /// Whether the summary holds it.
        pub found: bool,
        /// Whether the summary would hold it that is written in the same room without a model.
        pub extracted: bool,
        /// What it takes in a list, in tokens.
        pub tokens: u64,
    }
}

table! {
    /// A call of a tool.
    #[derive(Default)]
    pub struct Action {
        /// The tool.
        pub tool: String,
        /// The arguments, as JSON text.
        pub arguments: String,
    }
}

table! {
    /// An augment that is active.
    #[derive(Default)]
    pub struct Loaded {
        /// Its name: `group/name`.
        pub name: String,
        /// Its title.
        pub title: String,
        /// What it says.
        pub text: String,
    }
}

table! {
    /// What there is to make a system prompt of.
    #[derive(Default)]
    pub struct Makings {
        /// What the host says in its own system prompt: the team's instructions. What no part says
        /// of it is put behind them.
        pub instructions: Option<String>,
        /// The goal that is worked at and what was decided, in a few lines; empty where there is
        /// nothing of the kind.
        pub goal: String,
        /// The augments that are active.
        pub augments: Vec<Loaded>,
        /// The names of the tools that the request offers.
        pub tools: Vec<String>,
    }
}

words! {
    /// What made a prompt smaller.
    pub enum Smaller {
        /// A compression.
        Compression = "compression",
        /// A tool result was put into the store before it was first sent.
        Offload = "offload",
        /// A tool result was digested before it was first sent.
        Digest = "digest",
        /// The arguments of a call were truncated: what they write is on disk.
        Truncation = "truncation",
    }
}

table! {
    /// Something that made the prompt smaller.
    #[derive(PartialEq)]
    pub struct Past {
        /// When, ISO 8601.
        pub at: String,
        /// What.
        pub what: Smaller,
        /// Tokens saved.
        pub saved: u64,
    }
}

table! {
    /// What something came to.
    #[derive(Default, PartialEq)]
    pub struct Savings {
        /// How often it was done.
        pub count: u64,
        /// Tokens saved by it, together.
        pub saved: u64,
    }
}

table! {
    /// What was done to make the prompt smaller.
    #[derive(Default, PartialEq)]
    pub struct Done {
        /// Tool results that were put into the store on arrival.
        pub offloaded: Savings,
        /// Calls whose arguments were truncated.
        pub truncated: Savings,
        /// Tool results that were digested on arrival.
        pub digested: Savings,
        /// Summaries that were made.
        pub summaries: Savings,
    }
}

/// Reads what the messages of a history say.
pub trait MessageTexts: Sync {
    /// What a message says; `None` where there is no such message.
    fn text(&self, place: MessageNumber) -> Option<String>;
}

impl fmt::Debug for dyn MessageTexts + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Texts")
    }
}

impl Role {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// The role of a message, by the word that jobs have for it; of no message at all none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RoleName(&'static str);

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        Self(role.name())
    }
}

/// Policies in Rust compare it to its word, as scripts do.
impl PartialEq<&str> for RoleName {
    fn eq(&self, word: &&str) -> bool {
        self.0 == *word
    }
}

impl HasShape for RoleName {
    const SHAPE: ValueShape = ValueShape::Word(&["system", "user", "assistant", "tool"]);
}

/// Who produced a text, by the word that jobs have for it; of no text at all nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SpeakerName(&'static str);

impl From<Speaker> for SpeakerName {
    fn from(speaker: Speaker) -> Self {
        Self(speaker.name())
    }
}

impl HasShape for SpeakerName {
    const SHAPE: ValueShape = ValueShape::Word(&["human", "model", "tool", "harness"]);
}

impl Speaker {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Speaker::Human => "human",
            Speaker::Model => "model",
            Speaker::Tool => "tool",
            Speaker::Harness => "harness",
        }
    }
}
