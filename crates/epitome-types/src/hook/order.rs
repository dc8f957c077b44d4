//! The operations of a plan, as a policy orders them.
//!
//! Invariant: an order names messages and sizes, never a result; what it comes to is made and
//! checked by the kernel, whole or not at all (RULES 7). Sizes are tokens.

use serde::{Deserialize, Serialize};

use crate::shape::{HasShape, HasTableShape, TableShape, ValueShape, table};
use crate::{EntryId, Role};

/// The place of a message in a job's lists, counted from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MessageNumber(pub u32);

impl MessageNumber {
    /// The entry in that place; `None` for 0, which is no place.
    pub fn entry(self) -> Option<EntryId> {
        self.0.checked_sub(1).map(EntryId)
    }
}

impl From<EntryId> for MessageNumber {
    fn from(id: EntryId) -> Self {
        Self(id.0.saturating_add(1))
    }
}

impl HasShape for MessageNumber {
    const SHAPE: ValueShape = ValueShape::Integer;
}

impl HasShape for Role {
    const SHAPE: ValueShape = ValueShape::Word(&["user", "assistant"]);
}

table! {
    /// Comes to a size in the kernel's own way: the newest messages stay, one checkpoint stands
    /// for what is older. Stands alone, beside `pin`, `warn`, `write_file` and `handover`. `also` has
    /// `replace`, `drop`, `clear_tools` and `insert` done in the same plan, to messages that stay;
    /// those of them that leave are passed over, and what is freed is room for more of the newest.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Fit {
        /// The size to come to; the job's target where none is given.
        pub max_tokens: Option<u64>,
        /// The share of the room beside what is pinned that the newest messages fill, 0 to 1.
        pub keep_recent_share: Option<f64>,
        /// How many of the newest messages stay, in place of a share.
        pub keep_recent_messages: Option<u32>,
        /// Messages that stay whole in this plan, as if they were pinned: at most a quarter of the
        /// limit, the newest first.
        pub keep: Option<Vec<MessageNumber>>,
        /// What else is done, to messages that stay: what it frees is room for more of them.
        pub also: Option<Vec<FitOp>>,
    }
}

table! {
    /// Puts one new checkpoint in the place of messages.
    #[derive(Deserialize, PartialEq)]
    pub struct Summarize {
        /// The messages, oldest first; whole exchanges, none of them pinned.
        pub entries: Vec<MessageNumber>,
        /// The most that the summary may take.
        pub target: u64,
        /// How detailed it is: 3 unless told otherwise.
        pub level: Option<u8>,
    }
}

table! {
    /// Writes a checkpoint anew, smaller.
    #[derive(Deserialize, PartialEq)]
    pub struct AgeOrder {
        /// Its id.
        pub checkpoint: String,
        /// Its new level: 2, 1, or 0 for merged.
        pub to: u8,
        /// The most that it may take then.
        pub target: u64,
    }
}

table! {
    /// Makes one checkpoint of several.
    #[derive(Deserialize, PartialEq)]
    pub struct Merge {
        /// Their ids.
        pub checkpoints: Vec<String>,
        /// The most that it may take.
        pub target: u64,
        /// Its level: 0 unless told otherwise.
        pub to: Option<u8>,
    }
}

table! {
    /// Puts a checkpoint in the place of messages of the user.
    #[derive(Deserialize, PartialEq)]
    pub struct SummarizeUserOp {
        /// The messages, oldest first.
        pub entries: Vec<MessageNumber>,
        /// The most that the summary may take.
        pub target: u64,
    }
}

table! {
    /// Puts a shorter text in the place of what a message, a tool result in it, or a call's
    /// arguments say.
    #[derive(Deserialize, PartialEq)]
    pub struct Replace {
        /// The message.
        pub entry: MessageNumber,
        /// In which way it is shorter: `digest`, `offload`, `mask`, `cut` or `truncate_input`.
        pub how: How,
        /// The new text; without one Epitome makes it, no larger than `target`. Of arguments it
        /// stands in the place of the longest text among them, must be given, and has `{id}` and
        /// `{tokens}` filled in: the original's. Arguments that it would not make smaller stay.
        pub text: Option<String>,
        /// The most that it may take.
        pub target: Option<u64>,
        /// With `truncate_input`: which of the message's calls, counted from 1; the first unless
        /// told otherwise.
        pub call: Option<u32>,
    }
}

crate::shape::words! {
    /// In which way a text is shorter than its original.
    pub enum How {
        /// A digest of the content.
        Digest = "digest",
        /// Its beginning, and where the rest is.
        Offload = "offload",
        /// A fixed text.
        Mask = "mask",
        /// Its beginning and its end.
        Cut = "cut",
        /// The arguments of a call that wrote or edited a file: the same names, short texts.
        TruncateInput = "truncate_input",
    }
}

table! {
    /// Takes messages out without a substitute. What they say can be recalled.
    #[derive(Deserialize, PartialEq)]
    pub struct Drop {
        /// The messages, oldest first; whole exchanges, none of them pinned.
        pub entries: Vec<MessageNumber>,
    }
}

table! {
    /// Takes tool calls and their results out; what else the messages say stays, word for word. A
    /// message that says nothing else leaves whole. Exchanges that are pinned or cannot be touched
    /// stay as they are, and so does what left already.
    #[derive(Deserialize, PartialEq)]
    pub struct ClearToolsOp {
        /// The messages; each stands for its whole exchange.
        pub entries: Vec<MessageNumber>,
    }
}

table! {
    /// Puts a new message behind another, with which it leaves.
    #[derive(Deserialize, PartialEq)]
    pub struct Insert {
        /// The message that it follows; the last of its exchange. 0 where it comes first.
        pub after: MessageNumber,
        /// `user` or `assistant`.
        pub role: Role,
        /// What it says.
        pub text: String,
    }
}

table! {
    /// Starts over: one checkpoint stands for everything that is not pinned.
    #[derive(Deserialize, PartialEq)]
    pub struct Rollover {
        /// The most that it may take.
        pub target: u64,
    }
}

table! {
    /// Keeps messages from being touched from now on, by this very plan too. What left the prompt
    /// before is not brought back, and a warning says so.
    #[derive(Deserialize, PartialEq)]
    pub struct PinOrder {
        /// The messages.
        pub entries: Vec<MessageNumber>,
    }
}

table! {
    /// Tells the host something.
    #[derive(Deserialize, PartialEq)]
    pub struct Warn {
        /// What.
        pub text: String,
    }
}

table! {
    /// Writes a file under `.epitome/` of the client's folder before the plan is applied. Without a
    /// folder, or where it cannot be written, the host is told and the plan is made all the same.
    #[derive(Deserialize, PartialEq)]
    pub struct WriteFile {
        /// The file's name, with folders: `archive/talk_full.md`. It ends in `.md`.
        pub name: String,
        /// What it says; the whole conversation as Markdown where nothing is given.
        pub text: Option<String>,
        /// Whether it goes behind what the file holds already.
        pub append: Option<bool>,
    }
}

table! {
    /// Recommends a fresh session to the host.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Handover {
        /// What that starts from; the newest checkpoint where nothing is given.
        pub text: Option<String>,
    }
}

/// One operation of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum OpRequest {
    /// Comes to a size in the kernel's own way.
    Fit(Fit),
    /// Makes a checkpoint of messages.
    Summarize(Summarize),
    /// Writes a checkpoint anew.
    Age(AgeOrder),
    /// Makes one checkpoint of several.
    Merge(Merge),
    /// Makes a checkpoint of messages of the user.
    SummarizeUser(SummarizeUserOp),
    /// Shortens a text.
    Replace(Replace),
    /// Takes messages out.
    Drop(Drop),
    /// Takes tool calls and results out of messages.
    ClearTools(ClearToolsOp),
    /// Adds a message.
    Insert(Insert),
    /// Starts over.
    Rollover(Rollover),
    /// Keeps messages from being touched.
    Pin(PinOrder),
    /// Tells the host something.
    Warn(Warn),
    /// Writes a file.
    WriteFile(WriteFile),
    /// Recommends a fresh session.
    Handover(Handover),
}

impl OpRequest {
    /// Whether it changes nothing that is sent: it is the host's, whatever becomes of the rest.
    pub fn is_aside(&self) -> bool {
        matches!(self, Self::Pin(_) | Self::Warn(_) | Self::WriteFile(_) | Self::Handover(_))
    }
}

/// What may be done beside a fit, in the same plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum FitOp {
    /// Shortens a text.
    Replace(Replace),
    /// Takes messages out.
    Drop(Drop),
    /// Takes tool calls and results out of messages.
    ClearTools(ClearToolsOp),
    /// Adds a message.
    Insert(Insert),
}

impl Fit {
    /// The sizes that texts come to which are shortened beside it.
    pub fn targets(&mut self) -> impl Iterator<Item = &mut Option<u64>> {
        self.also.iter_mut().flatten().filter_map(|one| match one {
            FitOp::Replace(one) => Some(&mut one.target),
            FitOp::Drop(_) | FitOp::ClearTools(_) | FitOp::Insert(_) => None,
        })
    }
}

const FIT_OPS: &[(&str, &TableShape)] = &[
    ("replace", Replace::TABLE),
    ("drop", Drop::TABLE),
    ("clear_tools", ClearToolsOp::TABLE),
    ("insert", Insert::TABLE),
];

impl HasShape for FitOp {
    const SHAPE: ValueShape = ValueShape::Tagged { name: "FitOp", tag: "op", variants: FIT_OPS };
}

const ORDERS: &[(&str, &TableShape)] = &[
    ("fit", Fit::TABLE),
    ("summarize", Summarize::TABLE),
    ("age", AgeOrder::TABLE),
    ("merge", Merge::TABLE),
    ("summarize_user", SummarizeUserOp::TABLE),
    ("replace", Replace::TABLE),
    ("drop", Drop::TABLE),
    ("clear_tools", ClearToolsOp::TABLE),
    ("insert", Insert::TABLE),
    ("rollover", Rollover::TABLE),
    ("pin", PinOrder::TABLE),
    ("warn", Warn::TABLE),
    ("write_file", WriteFile::TABLE),
    ("handover", Handover::TABLE),
];

impl HasShape for OpRequest {
    const SHAPE: ValueShape = ValueShape::Tagged { name: "Order", tag: "op", variants: ORDERS };
}

table! {
    /// What is done about a prompt.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Orders {
        /// The operations; no message is touched by two of them. None where there is nothing to
        /// compress: then nobody else is asked.
        pub ops: Vec<OpRequest>,
        /// Whether a restore point is made first where the profile makes none by itself.
        pub snapshot: Option<bool>,
        /// Why, in a few words for people.
        pub reason: Option<String>,
        /// The message that holds the watermark from now on; it only moves forward.
        pub watermark: Option<MessageNumber>,
        /// The tool whose call that is; none where it was set without one.
        pub watermark_tool: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the declaration are those that are read and written.
    #[test]
    fn every_order_has_its_shape() {
        let all = [
            OpRequest::Fit(Fit::default()),
            OpRequest::Summarize(Summarize { entries: Vec::new(), target: 1, level: None }),
            OpRequest::Age(AgeOrder { checkpoint: String::new(), to: 2, target: 1 }),
            OpRequest::Merge(Merge { checkpoints: Vec::new(), target: 1, to: None }),
            OpRequest::SummarizeUser(SummarizeUserOp { entries: Vec::new(), target: 1 }),
            OpRequest::Replace(Replace {
                entry: MessageNumber(1),
                how: How::Digest,
                text: None,
                target: None,
                call: None,
            }),
            OpRequest::Drop(Drop { entries: Vec::new() }),
            OpRequest::ClearTools(ClearToolsOp { entries: Vec::new() }),
            OpRequest::Insert(Insert {
                after: MessageNumber(1),
                role: Role::User,
                text: String::new(),
            }),
            OpRequest::Rollover(Rollover { target: 1 }),
            OpRequest::Pin(PinOrder { entries: Vec::new() }),
            OpRequest::Warn(Warn { text: String::new() }),
            OpRequest::WriteFile(WriteFile { name: String::new(), text: None, append: None }),
            OpRequest::Handover(Handover::default()),
        ];
        assert_eq!(all.len(), ORDERS.len());
        for (order, (word, _)) in all.iter().zip(ORDERS) {
            // Debug prints the variant's name, of which the word is the snake case.
            let name = format!("{order:?}").split('(').next().unwrap_or_default().to_lowercase();
            assert_eq!(name, word.replace('_', ""));
        }
    }

    #[test]
    fn a_place_counts_from_one() {
        assert_eq!(MessageNumber::from(EntryId(0)), MessageNumber(1));
        assert_eq!((MessageNumber(1).entry(), MessageNumber(0).entry()), (Some(EntryId(0)), None));
    }
}
