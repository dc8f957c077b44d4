//! The numbers and texts of a profile, as TOML spells them.
//!
//! Invariant: these structs are the one declaration of the options. What `options.toml` must hold,
//! what `epitome.toml` may hold, what its schema says and what is refused all follow from them;
//! none has a value here.

use epitome_plan::LadderRung;
use epitome_types::SummaryStyle;
use epitome_types::hook::Line;
use epitome_wire::Format;
use serde::Deserialize;

/// Any part of the options of a profile; what is left out is inherited.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileOptions {
    pub(crate) trigger: TriggerOptions,
    pub(crate) limit: Limit,
    pub(crate) cache: Cache,
    pub(crate) arrive: Arrive,
    pub(crate) snapshots: Snapshots,
    pub(crate) redact: Redact,
    pub(crate) compress: Compress,
    pub(crate) summaries: Summaries,
    pub(crate) state: WorkStateOptions,
    pub(crate) texts: Wording,
}

/// Two options that cannot both hold.
pub(crate) struct Contradiction {
    /// Their keys.
    pub(crate) keys: [&'static str; 2],
    /// Why not, and what to do.
    pub(crate) why: &'static str,
}

impl ProfileOptions {
    /// What cannot hold together, where each for itself may.
    pub(crate) fn contradiction(&self) -> Option<Contradiction> {
        (self.trigger.soft < self.trigger.target).then_some(Contradiction {
            keys: ["trigger.soft", "trigger.target"],
            why: "a prompt would be compressed to more than it takes; raise `soft` or lower `target`",
        })
    }
}

/// When a prompt is compressed without being told to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggerOptions {
    /// Share of the limit from which on a live conversation warns.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) warn: f64,
    /// Share of the limit from which on models are asked in advance, where they write in the
    /// background; `soft` where that is less.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) ahead: f64,
    /// Share of the limit from which on a conversation is compressed when no budget is given; a
    /// live one only once that pays.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) soft: f64,
    /// Share of the limit that it is compressed to then; at most `soft`.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) target: f64,
}

/// How large a prompt may be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Limit {
    /// Share of a context size that is left to the prompt.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) size_share: f64,
    /// Tokens of the limit that a live conversation leaves to the answer.
    pub(crate) reserve: u64,
    /// The most of the limit that the reserve may be, as a share.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) reserve_share: f64,
    /// Limit in tokens for requests to Anthropic where nobody states one; never enforced.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) anthropic: u64,
    /// Limit in tokens for OpenAI-compatible requests where nobody states one; never enforced.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) openai: u64,
    /// Limit in tokens for requests to Ollama that name no context size, where nobody states one;
    /// never enforced.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) ollama: u64,
    /// Share of a prompt that its provider refused, to which the next one is held where nobody knows
    /// the limit.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) refused_share: f64,
    /// Wordings by which a provider refuses a prompt as too long, before those that are built in:
    /// `{limit}`, `{size}`, `{room}` and `{}` stand for numbers, `…` for any text.
    pub(crate) signatures: Vec<String>,
}

impl Limit {
    /// What is guessed for a provider's format, in tokens (RULES 31).
    pub(crate) fn guess(&self, format: Format) -> u64 {
        match format.nearest() {
            Format::Anthropic => self.anthropic,
            Format::Ollama => self.ollama,
            _ => self.openai,
        }
    }
}

// RULES 114.
/// What a token costs that the provider has cached, where one that it has not costs 1.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    /// What a token costs that is read from the cache; as the price table says of the model where it
    /// is not set.
    #[serde(default)]
    #[cfg_attr(feature = "config", schemars(with = "f64", range(min = 0.0)))]
    pub(crate) read: Option<f64>,
    /// What a token costs that is written to it; likewise.
    #[serde(default)]
    #[cfg_attr(feature = "config", schemars(with = "f64", range(min = 0.0)))]
    pub(crate) write: Option<f64>,
    /// Seconds after which the provider has forgotten what nobody asked for.
    pub(crate) ttl: u64,
}

/// What is made smaller before it is first sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Arrive {
    /// Tokens of a tool result from which on a digest is tried.
    pub(crate) digest_from: u64,
    /// The most of its original that a digest may take, as a share.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) digest_share: f64,
    /// Tokens above which a tool result never stays whole.
    pub(crate) offload_above: u64,
    /// The same as a share of the limit, where that is less.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) offload_share: f64,
    /// Tokens that stay of such a result.
    pub(crate) preview: u64,
    /// The same as a share of the limit, where that is less.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) preview_share: f64,
    /// Words of a call whose result stays as it is.
    pub(crate) exempt: Vec<String>,
}

/// Restore points that nobody asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshots {
    /// Whether one is made before each compression.
    pub(crate) auto: bool,
    /// How many of them a session keeps.
    pub(crate) keep: usize,
}

/// What is never recorded.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Redact {
    /// Regular expressions; what they match is masked before anything is recorded.
    pub(crate) patterns: Vec<String>,
}

/// How a prompt is compressed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Compress {
    /// Whether a summary is made of the words that were said or of shortened prose.
    pub(crate) style: StyleName,
    /// Share of the room beside what is pinned that the newest messages fill.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) keep_recent_share: f64,
    /// By how much of that share they may be more or less, so that the oldest exchange of them
    /// stays or leaves whole.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) keep_recent_slack: f64,
    /// The number of newest messages to leave alone, in place of the share.
    pub(crate) keep_recent_messages: Option<usize>,
    /// The least tokens that a text among the newest is digested into.
    pub(crate) digest_tokens: u64,
    /// The most of a checkpoint's room that `label` may take, else it is `label_short`.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) label_share: f64,
    /// Share of the prompt; a compression that frees less says so in a warning.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) minimum_gain: f64,
    /// The largest piece for search, in bytes, where the summariser has not cut the pieces itself.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) passage_bytes: usize,
    /// The most characters that a line about a message quotes from it.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) line_chars: usize,
    /// What is tried, in order, when a summary does not fit.
    pub(crate) ladder: Vec<RungName>,
}

/// How models are asked for summaries, where the profile names any, and what becomes of those.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Summaries {
    /// Seconds that models may take for all that one compression asks of them; then it is made
    /// without.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) seconds: u64,
    /// Whether they write in the background where the host lets them, so that no prompt waits for
    /// them.
    pub(crate) background: bool,
    /// Questions that are under way at the same time.
    #[cfg_attr(feature = "config", schemars(range(min = 1)))]
    pub(crate) at_once: usize,
    /// Share of a model's window that is used, since it counts tokens in its own way.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) window_share: f64,
    /// Share of a summary's room that facts may take which it must not lose.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) must_keep_share: f64,
    /// Whether a model is asked behind the conversation as it stands, where it is the one that the
    /// conversation is held with, or by itself. Where no other policy says.
    pub(crate) style: LineName,
    /// What it is asked then; `{max_tokens}`, `{conversation}` and `{must_keep}` are filled in.
    pub(crate) ask: String,
    /// Share of a summary's room that it is told to fill; the rest is for what it forgets.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) share: f64,
    /// Opens what is said beside it in the words of the messages; empty where nothing is to be.
    pub(crate) beside: String,
    /// Opens the list of what it forgot.
    pub(crate) forgotten: String,
    /// Stands for `{conversation}` behind the conversation itself; `{last}` is how the last message
    /// begins that is meant.
    pub(crate) above: String,
}

/// What each compression of a live conversation states of the work.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkStateOptions {
    /// Opens it.
    pub(crate) label: String,
    /// The most of the size to come to that what was asked for, plans and files take, as a share; 0
    /// leaves them out.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) share: f64,
    /// The same in tokens, where that is less.
    pub(crate) most: u64,
    /// The most of the room beside what cannot shrink that rules of the user take whose messages
    /// leave, word for word, as a share; 0 leaves them to the summaries.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) rules: f64,
    /// Tokens that goals take; what is locked or of the architecture stays whole beyond that.
    pub(crate) goals: u64,
    /// The most of the size to come to that the texts of active augments take, as a share.
    #[cfg_attr(feature = "config", schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) augments: f64,
    /// Opens the list of the augments that there is no room for; their files follow.
    pub(crate) unread: String,
    /// Opens a note that names augments which are no longer active.
    pub(crate) gone: String,
    /// The note that no goal is active any longer.
    pub(crate) idle: String,
    /// Opens excerpts of what was said before, where a policy brought them back; `{query}` is what
    /// was searched for.
    pub(crate) recalled: String,
}

/// What the model reads where something left.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Wording {
    /// When it is kept in a store, and as a file that the client's own tools open:
    /// `.epitome/offloaded/{id}.md`.
    pub(crate) files: TextOptions,
    /// When it is kept in a store.
    pub(crate) stored: TextOptions,
    /// Without a store; these name no way back, since there is none.
    pub(crate) bare: TextOptions,
}

/// The texts that stand where something left.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TextOptions {
    /// Opens a checkpoint; `{id}` and `{messages}` are filled in.
    pub(crate) label: String,
    /// Opens it where `label` would take more than its share of the room.
    pub(crate) label_short: String,
    /// Stands where a text was shortened; `{lines}`, `{tokens}` and `{id}` are filled in.
    pub(crate) marker: String,
    /// Stands for a tool exchange; `{call}`, `{tokens}` and `{id}` are filled in.
    pub(crate) stub: String,
}

// The names below have no comments of their own: their schema is then one list.

/// How a summary is worded.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "config", schemars(inline))]
pub(crate) enum StyleName {
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "config", schemars(inline))]
pub(crate) enum LineName {
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "config", schemars(inline))]
pub(crate) enum RungName {
    Results,
    Inputs,
    Stubs,
    Lower,
    Merge,
    FoldUser,
    Chunks,
    SmallerTail,
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
            RungName::SmallerTail => LadderRung::SmallerTail,
        }
    }
}
