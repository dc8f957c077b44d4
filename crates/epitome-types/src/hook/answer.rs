//! What a policy answers.
//!
//! Invariant: a field that is left out is no opinion; the policies behind, and at last the built-in
//! one, fill it in or the kernel's own default does. Sizes are tokens.

use serde::{Deserialize, Serialize};

use super::order::WriteFile;
use crate::drift::{Drift, Stop};
use crate::shape::{HasShape, ValueShape, table, words};
use crate::{Role, SkipReason};

table! {
    /// Bounds of the prompt. All of them are sizes of the whole prompt but for `reserve`,
    /// `checkpoints` and `keep_recent`.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Budgets {
        /// From here on a warning is given.
        pub warn: Option<u64>,
        /// From here on models are asked in advance for the summaries of the next compression, where
        /// they write in the background.
        pub ahead: Option<u64>,
        /// From here on a compression is considered.
        pub soft: Option<u64>,
        /// More than this is not sent, but where a compression would cost more than it saves and the
        /// conversation fits as it came.
        pub hard: Option<u64>,
        /// What a compression shrinks to; no more than `soft`.
        pub target: Option<u64>,
        /// Kept free of the limit for the answer.
        pub reserve: Option<u64>,
        /// The most that checkpoints may take together.
        pub checkpoints: Option<u64>,
        /// The size of the newest messages that stay as they are.
        pub keep_recent: Option<u64>,
        /// The most that a system prompt of Epitome's own may take.
        pub system: Option<u64>,
        /// The size class; later jobs carry it.
        pub class: Option<u32>,
        /// What the class is called.
        pub strategy: Option<String>,
    }
}

impl Budgets {
    /// These bounds, with those that are not stated taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            warn: self.warn.or(other.warn),
            ahead: self.ahead.or(other.ahead),
            soft: self.soft.or(other.soft),
            hard: self.hard.or(other.hard),
            target: self.target.or(other.target),
            reserve: self.reserve.or(other.reserve),
            checkpoints: self.checkpoints.or(other.checkpoints),
            keep_recent: self.keep_recent.or(other.keep_recent),
            system: self.system.or(other.system),
            class: self.class.or(other.class),
            strategy: self.strategy.or(other.strategy),
        }
    }
}

words! {
    /// In which way a tool result is made smaller.
    pub enum Way {
        /// It stays as it is.
        Keep = "keep",
        /// A digest of it stays.
        Digest = "digest",
        /// A preview of it stays, and where the rest is.
        Offload = "offload",
        /// A fixed text stands in its place.
        Mask = "mask",
    }
}

table! {
    /// What becomes of a tool result before it is first sent. The original is always kept.
    #[derive(Deserialize, PartialEq)]
    pub struct ToolResultAnswer {
        /// In which way it is made smaller.
        pub how: Way,
        /// The text that takes its place; without one Epitome makes it. `{id}`, `{tokens}` and
        /// `{lines}` of the original are filled in, `{saved}`, the tokens that it saves, and
        /// `{file}`, the job's `file`, where there is one. A text that names neither id nor file
        /// gets a line behind it that does, unless it is a mask.
        pub text: Option<String>,
        /// The most that a digest or a preview may take.
        pub max_tokens: Option<u64>,
    }
}

words! {
    /// How urgent a compression is.
    pub enum Strength {
        /// It pays.
        Soft = "soft",
        /// The window forces it.
        Hard = "hard",
        /// The user or the agent asked for it. It is made however little it frees where they told the
        /// kernel so, or the plan moves the watermark to a call of a tool; elsewhere where it pays.
        Asked = "asked",
    }
}

table! {
    /// A compression that is due.
    #[derive(Deserialize, PartialEq)]
    pub struct Due {
        /// How urgent it is.
        pub level: Strength,
        /// The size to come to; that of `budgets` where none is given.
        pub target: Option<u64>,
        /// Why, in a few words for people.
        pub reason: Option<String>,
    }
}

table! {
    /// A compression that would be due, and is not made.
    #[derive(Deserialize, PartialEq)]
    pub struct Passed {
        /// Why not; the host is told.
        pub skip: SkipReason,
    }
}

impl HasShape for SkipReason {
    const SHAPE: ValueShape = ValueShape::Word(&[
        "not_needed",
        "nothing_to_compress",
        "not_smaller",
        "stalled",
        "not_worth",
        "disabled",
    ]);
}

/// Whether to compress now: `false`, or why not, or what is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TriggerAnswer {
    /// Not now; `true` is no answer.
    Wait(bool),
    /// Not now, and the host is told why.
    Pass(Passed),
    /// Now.
    Compress(Due),
}

impl HasShape for TriggerAnswer {
    const SHAPE: ValueShape = ValueShape::Either(&[ValueShape::Bool, Passed::SHAPE, Due::SHAPE]);
}

table! {
    /// A checkpoint that is written anew, smaller.
    #[derive(Deserialize, PartialEq)]
    pub struct Ageing {
        /// Its id.
        pub checkpoint: String,
        /// Its new level: 2, 1, or 0 for merged.
        pub to: u8,
        /// The most that it may take then.
        pub target: u64,
    }
}

words! {
    /// How a model is asked.
    pub enum Line {
        /// With the conversation as it stands, so that its cache is used.
        Extend = "extend",
        /// By itself, with the messages as a text.
        Separate = "separate",
        /// Not at all: the summary is written without a model, and nothing else of this counts.
        None = "none",
    }
}

table! {
    /// The request to a model for a summary. `{conversation}` stands for the messages (with
    /// `extend` for words that say which they are), `{must_keep}` for the facts, and `{goals}` for the
    /// goals that there are.
    #[derive(Deserialize, PartialEq)]
    pub struct SummaryPrompt {
        /// How it is asked.
        pub style: Line,
        /// Which of `job.models` is asked before the others; the first unless told otherwise.
        pub model: Option<String>,
        /// The system prompt.
        pub system: Option<String>,
        /// What it is asked.
        pub user: String,
        /// The most that it may answer.
        pub max_tokens: Option<u64>,
        /// Headings that the answer must have.
        pub sections: Option<Vec<String>>,
        /// Opens what the extractor says beside the summary, so that all tells of every order, fact
        /// and weighty name that an extract of the same size would; what tells least of the summary
        /// leaves for it. With nothing here nothing is added.
        pub beside: Option<String>,
        /// Opens what the extractor says in the room that the summary leaves, whatever a policy adds to it
        /// included. Nothing of the summary leaves for it; with nothing here the room stays empty.
        pub rest: Option<String>,
    }
}

table! {
    /// A summary that is not taken.
    #[derive(Deserialize, PartialEq)]
    pub struct Rejected {
        /// Why not.
        pub reject: String,
    }
}

table! {
    /// A summary that is taken, with something added to it.
    #[derive(Deserialize, PartialEq)]
    pub struct Seconded {
        /// What is added at its end, below `missing_facts_heading` of the profile: by that it is told from
        /// what the model wrote, and holds of this summary alone.
        pub append: Option<String>,
        /// How far it can be relied on, 0 to 1.
        pub confidence: Option<f64>,
    }
}

/// What becomes of a model's summary: `true`, or why it is not taken, or what is added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VerifyAnswer {
    /// It is good as it is, or not.
    Plain(bool),
    /// It is not taken.
    Reject(Rejected),
    /// It is taken with something added.
    Second(Seconded),
}

impl HasShape for VerifyAnswer {
    const SHAPE: ValueShape =
        ValueShape::Either(&[ValueShape::Bool, Rejected::SHAPE, Seconded::SHAPE]);
}

table! {
    /// What is done about a new message.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Observe {
        /// A warning for the host.
        pub warn: Option<String>,
        /// How far the warning, or the drift, stops the conversation: `soft` unless told otherwise.
        pub level: Option<Stop>,
        /// The agent does something else than it is there for; the host is told.
        pub drift: Option<Drift>,
        /// What to search all that was said and offloaded for: what is found is brought back into
        /// the conversation, marked as excerpts.
        pub recall: Option<String>,
        /// The most that is brought back, in tokens: 500 unless told otherwise.
        pub max_tokens: Option<u64>,
        /// Whether nothing may touch the message from now on, a compression of this turn included.
        pub pin: Option<bool>,
        /// Whether the host is told the report that `status` writes.
        pub report: Option<bool>,
    }
}

table! {
    /// Something that a text says of a goal.
    #[derive(Deserialize, PartialEq)]
    pub struct Found {
        /// What it is about.
        pub kind: FoundKind,
        /// What it says.
        pub text: String,
        /// In which state it is.
        pub state: Option<String>,
    }
}

words! {
    /// What a finding is about.
    pub enum FoundKind {
        /// What is to be reached.
        Goal = "goal",
        /// A step on the way.
        Milestone = "milestone",
        /// What was decided.
        Decision = "decision",
        /// A file.
        Artifact = "artifact",
        /// What is to be done next.
        Next = "next",
    }
}

words! {
    /// Where checkpoints stand.
    pub enum Position {
        /// After the system prompt, oldest first, the state of the work behind them.
        Front = "front",
    }
}

table! {
    /// A part of a system prompt.
    #[derive(Deserialize, PartialEq)]
    pub struct Section {
        /// What it is called where the host is told of it.
        pub name: String,
        /// What it says; a part that says nothing is left out.
        pub text: String,
    }
}

table! {
    /// The wording of a text that Epitome writes into the prompt. `{id}`, `{messages}`, `{lines}`,
    /// `{tokens}` and `{call}` are filled in.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Render {
        /// The text; Epitome's own where nothing is said.
        pub text: Option<String>,
        /// Of `checkpoint`: what it begins with in little room; `text` there too unless told otherwise.
        pub short: Option<String>,
        /// Of `checkpoint`: the most of its room that `text` may take, 0 to 1; beyond that stands `short`.
        /// `label_share` of the profile unless told otherwise.
        pub share: Option<f64>,
        /// Of `checkpoint`: where they stand; each where the last message stood that it stands for
        /// unless told otherwise.
        pub place: Option<Position>,
        /// Of `checkpoint`: who says them. The provider's rules come first: where they take no
        /// message of the assistant, it is the user, as where nothing is said.
        pub role: Option<Role>,
        /// Of `system`: what it says, in this order, an empty line between two. It is asked for
        /// where a conversation is given message by message and stays as it is until the next
        /// compression. The host is warned of a part beyond what `budgets` allows as `system`.
        pub parts: Option<Vec<Section>>,
    }
}

table! {
    /// How far the conversation can be relied on.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Status {
        /// In a word.
        pub level: Option<String>,
        /// Whether it can hardly be relied on any longer; the host is told when that begins.
        pub low: Option<bool>,
        /// As a share, 0 to 1.
        pub score: Option<f64>,
        /// The status line.
        pub text: Option<String>,
        /// What the user should do.
        pub advice: Option<String>,
        /// A longer text for the user, as Markdown.
        pub report: Option<String>,
    }
}

table! {
    /// In which order passages are brought back, and which are not.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct RecallOrder {
        /// The places of passages in `job.passages`, the first to be brought back first, each once.
        /// Those that are not named come behind them, in the order in which they stand there.
        pub order: Option<Vec<u32>>,
        /// The places of those that are not brought back. One must be left.
        pub leave_out: Option<Vec<u32>>,
    }
}

table! {
    /// What is done about an event, beside that it is noted.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Noted {
        /// A file that is written in the client's folder, where there is one.
        pub write_file: Option<WriteFile>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the declaration are those that are written.
    #[test]
    fn every_reason_has_its_word() {
        let all = [
            SkipReason::NotNeeded,
            SkipReason::NothingToCompress,
            SkipReason::NotSmaller,
            SkipReason::Stalled,
            SkipReason::NotWorth,
            SkipReason::Disabled,
        ];
        let ValueShape::Word(words) = SkipReason::SHAPE else { panic!("{:?}", SkipReason::SHAPE) };
        // Debug prints the variant's name, of which the word is the snake case.
        let names = all.map(|skip| format!("{skip:?}").to_lowercase());
        assert_eq!(words.iter().map(|word| word.replace('_', "")).collect::<Vec<_>>(), names);
    }
}
