//! The numbers and texts of a profile, as TOML spells them.
//!
//! Invariant: these structs are the one declaration of the options. What `options.toml` must hold,
//! what `epitome.toml` may hold, what its schema says and what is refused all follow from them;
//! none has a value here.

use epitome_plan::LadderRung;
use epitome_types::SummaryStyle;
use epitome_types::hook::Line;
use epitome_wire::Format;
use serde::{Deserialize, Serialize};

/// Any part of the options of a profile; what is left out is inherited.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each says it itself, and the schema says it once")]
pub struct ProfileOptions {
    pub trigger: TriggerOptions,
    pub limit: Limit,
    pub cache: Cache,
    pub tool_results: Arrive,
    pub snapshots: Snapshots,
    pub redact: Redact,
    pub compress: Compress,
    pub summaries: Summaries,
    pub goals: GoalOptions,
    pub work_state: WorkStateOptions,
    pub recall: RecallOptions,
    pub texts: Wording,
}

/// Two options that cannot both hold.
#[derive(Debug)]
pub struct Contradiction {
    /// Their keys.
    pub keys: [&'static str; 2],
    /// Why not, and what to do.
    pub why: &'static str,
}

impl ProfileOptions {
    /// What cannot hold together, where each for itself may.
    pub fn contradiction(&self) -> Option<Contradiction> {
        (self.trigger.soft < self.trigger.target).then_some(Contradiction {
            keys: ["trigger.soft", "trigger.target"],
            why: "a prompt would be compressed to more than it takes; raise `soft` or lower `target`",
        })
    }
}

/// When a prompt is compressed without being told to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TriggerOptions {
    /// Share of the limit from which on a live conversation warns.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub warn: f64,
    /// Share of the limit from which on models are asked in advance, where they write in the
    /// background; `soft` where that is less.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub prefetch: f64,
    /// Share of the limit from which on a conversation is compressed when no budget is given; a
    /// live one only once that pays.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub soft: f64,
    /// Share of the limit that it is compressed to then; at most `soft`.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub target: f64,
}

/// How large a prompt may be.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Share of a context size that is left to the prompt.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub size_share: f64,
    /// Tokens of the limit that a live conversation leaves to the answer.
    pub reserve: u64,
    /// The most of the limit that the reserve may be, as a share.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub reserve_share: f64,
    /// Limit in tokens for requests to Anthropic where nobody states one; never enforced.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub anthropic: u64,
    /// Limit in tokens for OpenAI-compatible requests where nobody states one; never enforced.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub openai: u64,
    /// Limit in tokens for requests to Ollama that name no context size, where nobody states one;
    /// never enforced.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub ollama: u64,
    /// Share of a prompt that its provider refused, to which the next one is held where nobody knows
    /// the limit.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub refused_share: f64,
    /// Wordings by which a provider refuses a prompt as too long, before those that are built in:
    /// `{limit}`, `{size}`, `{room}` and `{}` stand for numbers, `…` for any text.
    pub signatures: Vec<String>,
}

impl Limit {
    /// What is guessed for a provider's format, in tokens (RULES 31).
    pub fn guess(&self, format: Format) -> u64 {
        match format.nearest() {
            Format::Anthropic => self.anthropic,
            Format::Ollama => self.ollama,
            _ => self.openai,
        }
    }
}

// RULES 114.
/// What a token costs that the provider has cached, where one that it has not costs 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// What a token costs that is read from the cache; as the price table says of the model where it
    /// is not set.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(with = "f64", range(min = 0.0)))]
    pub read: Option<f64>,
    /// What a token costs that is written to it; likewise.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(with = "f64", range(min = 0.0)))]
    pub write: Option<f64>,
    /// Seconds after which the provider has forgotten what nobody asked for.
    pub ttl: u64,
}

/// What is made smaller before it is first sent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Arrive {
    /// Tokens of a tool result from which on a digest is tried.
    pub digest_from: u64,
    /// The most of its original that a digest may take, as a share.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub digest_share: f64,
    /// Tokens above which a tool result never stays whole.
    pub offload_above: u64,
    /// The same as a share of the limit, where that is less.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub offload_share: f64,
    /// Tokens that stay of such a result.
    pub preview: u64,
    /// The same as a share of the limit, where that is less.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub preview_share: f64,
    /// Words of a call whose result stays as it is.
    pub exempt: Vec<String>,
}

/// Restore points that nobody asked for.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Snapshots {
    /// Whether one is made before each compression.
    pub auto: bool,
    /// How many of them a session keeps.
    pub keep: usize,
}

/// What is never recorded.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Redact {
    /// Regular expressions for what looks like a key of a provider, masked as `patterns` are; `[]`
    /// masks none.
    pub keys: Vec<String>,
    /// Regular expressions; what they match is masked before anything is recorded.
    pub patterns: Vec<String>,
}

/// How a prompt is compressed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Compress {
    /// Whether a summary is made of the words that were said or of shortened prose.
    pub style: StyleName,
    /// Share of the room beside what is pinned that the newest messages fill.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub keep_recent_share: f64,
    /// By how much of that share they may be more or less, so that the oldest exchange of them
    /// stays or leaves whole.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub keep_recent_slack: f64,
    /// Share of that room up to which the newest results stay whole where they came behind the last
    /// message of a person.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub newest_results_share: f64,
    /// The number of newest messages to leave alone, in place of the share.
    pub keep_recent_messages: Option<usize>,
    /// The least tokens that a text among the newest is digested into.
    pub digest_tokens: u64,
    /// The most of a checkpoint's room that `label` may take, else it is `label_short`.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub label_share: f64,
    /// Share of the prompt; a compression that frees less says so in a warning.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub minimum_gain: f64,
    /// The largest piece for search, in bytes, where the summariser has not cut the pieces itself.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub passage_bytes: usize,
    /// The most characters that a line about a message quotes from it.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub line_chars: usize,
    /// What is tried, in order, when a summary does not fit.
    pub ladder: Vec<RungName>,
}

/// How models are asked for summaries, where the profile names any, and what becomes of those.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summaries {
    /// Seconds that models may take for all that one compression asks of them; then it is made
    /// without.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub timeout_seconds: u64,
    /// Whether they write in the background where the host lets them, so that no prompt waits for
    /// them.
    pub background: bool,
    /// Questions that are under way at the same time.
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub max_concurrent: usize,
    /// Share of a model's window that is used, since it counts tokens in its own way.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub window_share: f64,
    /// Share of a summary's room that facts may take which it must not lose.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub must_keep_share: f64,
    /// What is asked of them in the background.
    pub ahead: SummariesAhead,
    /// Whether a model is asked behind the conversation as it stands, where it is the one that the
    /// conversation is held with, or by itself. Where no other policy says.
    pub style: LineName,
    /// What it is asked then; `{max_tokens}`, `{conversation}` and `{must_keep}` are filled in.
    pub prompt: String,
    /// Share of a summary's room that it is told to fill; the rest is for what it forgets.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub share: f64,
    /// Opens what is said beside it in the words of the messages; empty where nothing is to be.
    pub extract_heading: String,
    /// Opens the list of what it forgot.
    pub missing_facts_heading: String,
    /// Stands for `{conversation}` behind the conversation itself; `{last}` is how the last message
    /// begins that is meant.
    pub conversation_reference: String,
}

/// What models are asked in the background, and how long a compression waits for it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SummariesAhead {
    /// The share of a summary's messages, by bytes, that no model wrote of before, from which on one is
    /// asked about those; what was written before stands beside it.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub ask_from: f64,
    /// Turns that a compression waits which nothing forces.
    pub wait_turns: u32,
    /// The share of the limit from which on it waits no longer.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub wait_most: f64,
}

/// What models are told of goals: where the system prompt is Epitome's, and where they summarize.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GoalOptions {
    /// Whether it is told how to say what changes of the goal.
    pub teach: bool,
    /// What it is told.
    pub markers: String,
    /// Says with each question for a summary what the conversation works towards: in the place of
    /// `{goals}` in what is asked, or before it. `{priority}`, `{status}` and `{goals}` are filled in.
    /// Empty: nothing is said of goals.
    pub prompt: String,
    /// Tokens that goals take of a question; what is locked or of the architecture stays whole beyond
    /// that.
    pub max_tokens: u64,
}

/// What each compression of a live conversation states of the work.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkStateOptions {
    /// Opens it.
    pub label: String,
    /// The most of the size to come to that what was asked for, plans and files take, as a share; 0
    /// leaves them out.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub share: f64,
    /// The same in tokens, where that is less.
    pub max_tokens: u64,
    /// The most of the room beside what cannot shrink that rules of the user take whose messages
    /// leave, word for word, as a share; 0 leaves them to the summaries.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub rules: f64,
    /// The most of the room beside what cannot shrink and those rules that lines take which the
    /// profile's `keep` names, as a share.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub keep: f64,
    /// Opens them.
    pub kept: String,
    /// Tokens that goals take; what is locked or of the architecture stays whole beyond that.
    pub goals: u64,
    /// The most of the size to come to that the texts of active augments take, as a share.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub augments: f64,
    /// Opens the list of the augments that there is no room for; their files follow.
    pub unread: String,
    /// Opens a note that names augments which are no longer active.
    pub gone: String,
    /// The note that no goal is active any longer.
    pub idle: String,
    /// Opens excerpts of what was said before, where a policy brought them back; `{query}` is what
    /// was searched for.
    pub recalled: String,
}

/// What a search brings back beside what answers it by itself.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecallOptions {
    /// So many names and dates of what was found are searched for in a second step, the rarest first;
    /// 0 leaves that out.
    pub hop_words: usize,
    /// A name that more passages hold than so many leads nowhere.
    pub hop_passages: usize,
    /// The most that what they lead to may take, as a share of the tokens allowed; never more than
    /// what answers by itself leaves.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub hop_share: f64,
}

/// What the model reads where something left.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// When it is kept in a store, and as a file that the client's own tools open:
    /// `.epitome/offloaded/{id}.md`.
    pub files: TextOptions,
    /// When it is kept in a store.
    pub stored: TextOptions,
    /// Without a store; these name no way back, since there is none.
    pub bare: TextOptions,
}

/// The texts that stand where something left.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TextOptions {
    /// Opens a checkpoint; `{id}` and `{messages}` are filled in.
    pub label: String,
    /// Opens it where `label` would take more than its share of the room.
    pub label_short: String,
    /// Stands where a text was shortened; `{lines}`, `{tokens}` and `{id}` are filled in.
    pub marker: String,
    /// Stands for a tool exchange; `{call}`, `{tokens}` and `{id}` are filled in.
    pub placeholder: String,
}

// The names below have no comments of their own: their schema is then one list.

/// How a summary is worded.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "files", schemars(inline))]
#[expect(missing_docs, reason = "their schema is one list")]
pub enum StyleName {
    Verbatim,
    Brief,
}

impl From<StyleName> for SummaryStyle {
    fn from(name: StyleName) -> Self {
        match name {
            StyleName::Verbatim => SummaryStyle::Verbatim,
            StyleName::Brief => SummaryStyle::Brief,
        }
    }
}

impl From<SummaryStyle> for StyleName {
    fn from(style: SummaryStyle) -> Self {
        match style {
            SummaryStyle::Verbatim => StyleName::Verbatim,
            SummaryStyle::Brief => StyleName::Brief,
        }
    }
}

/// How a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "files", schemars(inline))]
#[expect(missing_docs, reason = "their schema is one list")]
pub enum LineName {
    Extend,
    Separate,
    None,
}

impl From<LineName> for Line {
    fn from(name: LineName) -> Self {
        match name {
            LineName::Extend => Line::Extend,
            LineName::Separate => Line::Separate,
            LineName::None => Line::None,
        }
    }
}

/// One rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "files", schemars(inline))]
#[expect(missing_docs, reason = "their schema is one list")]
pub enum RungName {
    Results,
    Inputs,
    Stubs,
    Lower,
    Merge,
    FoldUser,
    Chunks,
    FewerRecent,
}

impl From<RungName> for LadderRung {
    fn from(name: RungName) -> Self {
        match name {
            RungName::Results => LadderRung::Results,
            RungName::Inputs => LadderRung::Inputs,
            RungName::Stubs => LadderRung::Stubs,
            RungName::Lower => LadderRung::Lower,
            RungName::Merge => LadderRung::Merge,
            RungName::FoldUser => LadderRung::FoldUser,
            RungName::Chunks => LadderRung::Chunks,
            RungName::FewerRecent => LadderRung::SmallerTail,
        }
    }
}
