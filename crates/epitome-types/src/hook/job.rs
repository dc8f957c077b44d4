//! What a policy is asked.
//!
//! Invariant: a job says all that its hook may look at; a new field never breaks a policy. Sizes
//! are tokens unless a field says otherwise.

use std::collections::BTreeMap;

use super::answer::Budgets;
use super::job_data::{
    Action, Arriving, Cache, Columns, Covered, Done, Fact, Makings, MessageTexts, ModelFacts, Past,
    RecallPassage, SpeakerName, Standing, Tokens,
};
use super::order::MessageNumber;
use crate::shape::{HasShape, ValueShape, table, words};
use crate::{CompactionCause, Event, Goals};

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
        /// What the conversation goes over.
        #[serde(flatten)]
        pub talk: TalkFacts,
        /// A number that is the same for the same history: what to draw lots with.
        pub seed: u64,
        /// What a model answered to an `ask`, by its id.
        pub replies: BTreeMap<String, String>,
    }
}

table! {
    /// What a conversation goes over, and what can be done beside it.
    #[derive(Default)]
    pub struct TalkFacts {
        /// How many of the messages a person typed.
        pub turns: u32,
        /// The API that the conversation goes over: `anthropic`, `openai`, `responses`, `ollama`, or
        /// the format of a file.
        pub api: Option<String>,
        /// The program that sends the conversation, as it names itself to the proxy: `claude-cli`.
        pub client: Option<String>,
        /// The models that may be asked, in their order; empty where there is none.
        pub models: Vec<String>,
        /// Whether files can be written in the client's folder: only then may a text name one.
        pub workspace: bool,
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
    /// A tool result that was never sent before. It is asked about once.
    pub struct ToolResultJob<'a> {
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
        /// A request came after a rest so long that the provider has forgotten the prompt before it:
        /// rewriting it costs nothing now.
        Idle = "idle",
    }
}

table! {
    /// Whether to compress now.
    pub struct TriggerJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// Why it is asked: `turn`, a request came; `manual`, the user asked for a compression;
        /// `overflow`, the provider refused the prompt as too long; `idle`, a request came after a
        /// rest so long that the provider has forgotten the prompt before it, so that rewriting it
        /// costs nothing now.
        pub cause: Occasion,
        /// Whether the request brings a whole message of the model that the last one did not.
        pub new_model_message: bool,
        /// What cannot shrink: system prompt, tools, pinned messages.
        pub floor: u64,
        /// What `budgets` answered.
        pub budgets: Budgets,
        /// What it would cost.
        pub cache: Cache,
        /// The size at which a compression brought too little, until one brings enough.
        pub stalled_at: Option<u64>,
        /// The tools whose results this request brings for the first time.
        pub new_results: Vec<String>,
        /// Who asked for a compression since the last request: a tool's name, or `user`.
        pub requested_by: Option<String>,
        /// Whether excerpts that a policy had brought back wait: the prompt is not Epitome's to add
        /// notes to, and no result of a tool is new that they could stand behind.
        pub recall_pending: bool,
        /// The message that holds the recorded watermark, where it is in this history.
        pub watermark: Option<MessageNumber>,
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
        pub max_tokens: u64,
        /// What cannot shrink.
        pub floor: u64,
        /// What `budgets` answered.
        pub budgets: Budgets,
        /// Why it is made.
        pub cause: CompactionCause,
        /// The message that holds the recorded watermark, where it is in this history.
        pub watermark: Option<MessageNumber>,
        /// Whether a watermark is recorded that is not in this history.
        pub watermark_lost: bool,
    }
    beside {
        /// What the messages say.
        pub texts: &'a dyn MessageTexts,
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
        SummarizeUser = "summarize_user",
    }
}

table! {
    /// How a model is asked for a summary.
    pub struct SummaryPromptJob<'a> {
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
        /// What it dwells on, in the words of the profile for this mode, where that has any.
        pub focus: Option<String>,
        /// The most that the summary may take.
        pub max_tokens: u64,
    }
    beside {
        /// What the covered messages say, in their order.
        pub texts: &'a dyn MessageTexts,
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
        /// The most that it may take, with what is added to it.
        pub max_tokens: u64,
    }
    beside {
        /// What the covered messages say, in their order.
        pub texts: &'a dyn MessageTexts,
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
        pub since_compaction: u32,
    }
    beside {
        /// Its text.
        pub text: &'a str,
    }
}

table! {
    /// What may leave the prompt.
    pub struct FactsJob<'a> {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// The messages that may leave: all of a conversation that is compressed, or tool results
        /// that are made smaller before they are first sent.
        pub covered: Covered,
    }
    beside {
        /// What the messages say, in their order.
        pub texts: &'a dyn MessageTexts,
    }
}

table! {
    /// A text that may state goals.
    pub struct GoalsJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// Who says it: `human` or `model`.
        pub speaker: SpeakerName,
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
        Placeholder = "placeholder",
        /// The line that opens the state of the work.
        State = "state",
        /// The system prompt, where it is Epitome's to make: the answer's `parts`.
        System = "system",
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
        /// The time that a text may state, ISO 8601: when the newest message came or, of a recording,
        /// when it was said. A recording that tells no times has none, so that its texts are always
        /// the same.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub time: Option<String>,
        /// Whether the original can be found again; if not, no way back may be named.
        pub in_store: bool,
        /// Whether it is also a file that the client's own tools open:
        /// `.epitome/offloaded/{id}.md`.
        pub in_files: bool,
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
    /// What a search found, before what has no room is left out: for a person or a model that
    /// recalls, or for a policy that has something brought back.
    pub struct RecallJob {
        /// What every job says.
        #[serde(flatten)]
        pub common: Common,
        /// What was looked for.
        pub query: String,
        /// The passages that answer, in the order in which they are brought back unless told
        /// otherwise; more than there is room for.
        pub passages: Vec<RecallPassage>,
        /// The most that is brought back.
        pub max_tokens: u64,
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

impl HasShape for Event {
    const SHAPE: ValueShape = ValueShape::Any;
}

impl HasShape for CompactionCause {
    const SHAPE: ValueShape = ValueShape::Word(&["soft", "hard", "manual"]);
}
