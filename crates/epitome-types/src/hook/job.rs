//! What a policy is asked.
//!
//! Invariant: a job says all that its hook may look at; a new field never breaks a policy. Sizes
//! are tokens unless a field says otherwise.

use std::collections::BTreeMap;
use std::fmt;

use super::answer::Budgets;
use super::order::Place;
use super::shape::{Shape, Shaped, table, words};
use crate::{Cause, Event, Goals, Role, Speaker};

table! {
    /// What every job says.
    #[derive(Default)]
    pub struct Common {
        /// The session's name; a label.
        pub session: String,
        /// The mode that was asked for (`developer`, `planning`, ...).
        pub mode: Option<String>,
        /// The size class, as `budgets` answered it.
        pub class: Option<u32>,
        /// The model that the request is for.
        pub model: ModelFacts,
        /// The prompt as it would be sent.
        pub tokens: Tokens,
        /// Compressions of this history that are in force.
        pub compressions: u32,
        /// The share of must-keep facts that is still in the prompt, 0 to 1.
        pub confidence: f64,
        /// When the request came, ISO 8601.
        pub now: String,
        /// Messages of the history.
        pub messages: u32,
        /// Whether files can be written in the client's folder: only then may a text name one.
        pub workspace: bool,
        /// A number that is the same for the same history: what to draw lots with.
        pub seed: u64,
        /// What a model answered to an `ask`, by its id.
        pub replies: BTreeMap<String, String>,
    }
}

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
    /// How large the prompt may grow.
    pub struct BudgetsJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
    }
}

table! {
    /// A message, or the part of one that is a tool's result.
    #[derive(Default)]
    pub struct Arriving {
        /// Its place in the history.
        pub id: Place,
        /// Its role: `system`, `user`, `assistant` or `tool`.
        pub role: String,
        /// Who produced it: `human`, `model`, `tool` or `harness`.
        pub speaker: String,
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
    /// A tool result that was never sent before. It is asked about once.
    pub struct ArriveJob<'a> {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The result; `job.entry:text()` and `job.entry:head(n)` read it.
        pub entry: Arriving,
        /// The id by which the result can be recalled.
        pub original: String,
        /// The file that holds the result where the answer names it; none where there is no
        /// workspace.
        pub file: Option<String>,
    }
    beside {
        /// Its text.
        pub text: &'a str,
    }
}

words! {
    /// Why a prompt is looked at.
    pub enum Occasion {
        /// A request came.
        Turn = "turn",
        /// The user asked for a compression.
        Manual = "manual",
        /// The provider said that it was too long.
        Overflow = "overflow",
        /// Nothing happened for a while.
        Idle = "idle",
    }
}

table! {
    /// What the provider's cache makes of a rewrite, in the price of a token that is not cached.
    #[derive(Default)]
    pub struct Cache {
        /// Whether the provider has a prefix of the prompt to read.
        pub warm: bool,
        /// What a rewrite to the target costs over reading the prompt once more.
        pub rewrite_cost: f64,
        /// What a prompt of the target's size would save with each request.
        pub saving_per_turn: f64,
        /// What has been forgone since the last compression, this request included.
        pub forgone: f64,
    }
}

table! {
    /// Whether to compress now.
    pub struct TriggerJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// Why it is asked.
        pub cause: Occasion,
        /// Whether the request brings a whole message of the model that the last one did not.
        pub replied: bool,
        /// What cannot shrink: system prompt, tools, pinned messages.
        pub floor: u64,
        /// What `budgets` answered.
        pub budgets: Budgets,
        /// What it would cost.
        pub cache: Cache,
        /// The size at which a compression brought too little, until one brings enough.
        pub stalled: Option<u64>,
        /// The tools whose results this request brings for the first time.
        pub answered: Vec<String>,
        /// Who asked for a compression since the last request: a tool's name, or `user`.
        pub asked: Option<String>,
        /// The message that holds the recorded watermark, where it is in this history.
        pub mark: Option<Place>,
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
        pub role: Vec<&'static str>,
        /// Who produced them; what a person typed counts before what stands beside it.
        pub speaker: Vec<&'static str>,
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
    /// What to do about a prompt that is compressed.
    pub struct PlanJob<'a> {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The messages.
        pub entries: Columns,
        /// The checkpoints in the prompt, oldest first.
        pub checkpoints: Vec<Standing>,
        /// The size to come to.
        pub target: u64,
        /// The size that must not be exceeded.
        pub most: u64,
        /// What cannot shrink.
        pub floor: u64,
        /// What `budgets` answered.
        pub budgets: Budgets,
        /// Why it is made.
        pub cause: Cause,
        /// The message that holds the recorded watermark, where it is in this history.
        pub mark: Option<Place>,
        /// Whether a watermark is recorded that is not in this history.
        pub mark_lost: bool,
    }
    beside {
        /// What the messages say.
        pub texts: &'a dyn Texts,
    }
}

table! {
    /// Which checkpoints to write anew, smaller, in the compression that was just planned.
    pub struct AgeJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The checkpoints as the plan leaves them, oldest first; ages count this compression.
        pub checkpoints: Vec<Standing>,
        /// What `budgets` answered.
        pub budgets: Budgets,
    }
}

words! {
    /// What a summary is written for.
    pub enum Purpose {
        /// A new checkpoint.
        Summarize = "summarize",
        /// A checkpoint that is written anew, smaller.
        Age = "age",
        /// Several checkpoints that become one.
        Merge = "merge",
        /// Messages of the user.
        FoldUser = "fold_user",
    }
}

table! {
    /// The messages that a summary stands for, a list for each property. `job.covered:text(i)` and
    /// `job.covered:head(i, n)` read what a message says.
    #[derive(Default)]
    pub struct Covered {
        /// How many messages there are.
        pub count: u32,
        /// Their roles.
        pub role: Vec<&'static str>,
        /// Who produced them; what a person typed counts before what stands beside it.
        pub speaker: Vec<&'static str>,
    }
}

table! {
    /// How a model is asked for a summary.
    pub struct PromptJob<'a> {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// What for.
        pub op: Purpose,
        /// How detailed it will be: 3, 2, 1, and 0 for merged.
        pub level: Option<u8>,
        /// The messages that it stands for.
        pub covered: Covered,
        /// What must not be lost.
        pub must_keep: Vec<String>,
        /// What the conversation is for, and what was decided: the prompt states them already.
        pub goals: Goals,
        /// The most that the summary may take.
        pub max_tokens: u64,
    }
    beside {
        /// What the covered messages say, in their order.
        pub texts: &'a dyn Texts,
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
    }
}

table! {
    /// Whether a model's summary is good enough.
    pub struct VerifyJob<'a> {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// What for.
        pub op: Purpose,
        /// How detailed it is: 3, 2, 1, and 0 for merged.
        pub level: Option<u8>,
        /// The messages that it stands for.
        pub covered: Covered,
        /// The summary.
        pub candidate: String,
        /// What should be in it.
        pub must_keep: Vec<Fact>,
        /// Its size.
        pub tokens: u64,
    }
    beside {
        /// What the covered messages say, in their order.
        pub texts: &'a dyn Texts,
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
    /// A message that is new.
    pub struct ObserveJob<'a> {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The message; `job.entry:text()` and `job.entry:head(n)` read it.
        pub entry: Arriving,
        /// The tools that it calls, in order.
        pub actions: Vec<Action>,
        /// What the conversation is for: the goal that is worked at, else what a person typed last
        /// before it.
        pub intent: Option<String>,
        /// What a person typed last before it.
        pub typed: Option<String>,
        /// Messages since the last compression.
        pub since_epoch: u32,
    }
    beside {
        /// Its text.
        pub text: &'a str,
    }
}

table! {
    /// A text that may state goals.
    pub struct GoalsJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// Who says it: `human` or `model`.
        pub speaker: String,
        /// The text; calls of tools and what they return are none.
        pub text: String,
        /// The goals so far.
        pub goals: Goals,
    }
}

words! {
    /// What is worded.
    pub enum Wording {
        /// The line that opens a checkpoint.
        Checkpoint = "checkpoint",
        /// The marker where a text was shortened.
        Reference = "reference",
        /// The line that stands for a tool exchange.
        Stub = "stub",
        /// The line that opens the state of the work.
        State = "state",
        /// The system prompt, where it is Epitome's to make: the answer's `parts`.
        System = "system",
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
    /// What there is to make a system prompt of (SPEC 4.8).
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

table! {
    /// How a text that Epitome writes into the prompt is worded.
    pub struct RenderJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// Which.
        pub part: Wording,
        /// Of `system`: what there is to make it of.
        pub system: Option<Makings>,
        /// Whether the original can be found again; if not, no way back may be named.
        pub stored: bool,
        /// Whether it is also a file that the client's own tools open:
        /// `.epitome/offloaded/{id}.md`.
        pub files: bool,
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

table! {
    /// How far the conversation can be relied on.
    pub struct StatusJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The share of the limit that is in use.
        pub used: f64,
        /// What `budgets` answered.
        pub budgets: Budgets,
        /// Whether somebody wants to read a report; else none is worth its making.
        pub report: bool,
        /// What made the prompt smaller, the newest 50 in order; where a report is wanted.
        pub history: Vec<Past>,
        /// What that came to in all; where a report is wanted.
        pub done: Done,
    }
}

table! {
    /// Something that happened.
    pub struct EventJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The event: its name in `event`, and what belongs to it.
        pub event: Event,
    }
}

impl Shaped for Event {
    const SHAPE: Shape = Shape::Any;
}

impl Shaped for Cause {
    const SHAPE: Shape = Shape::Word(&["soft", "hard", "manual"]);
}

/// Reads what the messages of a history say.
pub trait Texts: Sync {
    /// What a message says; `None` where there is no such message.
    fn text(&self, place: Place) -> Option<String>;
}

impl fmt::Debug for dyn Texts + '_ {
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
