//! What a policy answers with, and what the bytes are edited by.

use serde::{Deserialize, Serialize};

use crate::{Checkpoint, EntryId, EntryKey, PartId, Role};

/// A list of operations that is applied whole or not at all (RULES 7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The operations, in any order; no part is touched by two of them.
    pub ops: Vec<Op>,
    /// Why, in a few words for people.
    pub reason: String,
}

/// One operation of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Puts a shorter text in a part's place.
    Replace {
        /// The part; a text or a tool result.
        part: PartId,
        /// The new text.
        with: String,
        /// In which way it is shorter.
        how: ReplaceMethod,
    },
    /// Takes whole entries out without a substitute.
    Drop {
        /// The entries; calls and their results together.
        entries: Vec<EntryId>,
    },
    /// Takes tool calls and results out of messages that stay for what else they say.
    Strip {
        /// The calls and results, in order; a call and its result together. What stands within a
        /// result goes with it.
        parts: Vec<PartId>,
    },
    /// Puts a new message behind an entry.
    Insert {
        /// The entry it follows; `None` puts it first.
        after: Option<EntryId>,
        /// Its role.
        role: Role,
        /// Its text.
        text: String,
    },
    /// Puts the state of the work behind an entry, in the user role: goals, plan, rules. There is
    /// one at most, and it stands until the next compression.
    State {
        /// The entry it follows; `None` puts it first.
        after: Option<EntryId>,
        /// Its text.
        text: String,
    },
    /// Puts a summary in the place of the entries it covers.
    Summarize(Checkpoint),
    /// Takes the reasoning out of replies that stay, all of it and for as long as the plan is in
    /// force: their provider bound it to a prompt that is sent no more (RULES 139 and 140).
    Unbind {
        /// The replies, in order.
        replies: Vec<BoundReply>,
    },
}

/// A reply whose reasoning its provider bound to the prompt that it answered.
///
/// It is known by what it says, so that a reply which takes its place in another branch, and is
/// bound to another prompt, keeps its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundReply {
    /// The place of the reply.
    pub entry: EntryId,
    /// What it says.
    pub key: EntryKey,
}

/// In which way a replacement is shorter than its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplaceMethod {
    /// A digest of the content.
    Digest,
    /// A reference to the stored original.
    Offload,
    /// A fixed placeholder.
    Mask,
    /// Tool arguments whose content is on disk as written.
    TruncateInput,
    /// The beginning, the end, or both.
    Cut,
    /// The content as it came, with what comes back of earlier messages behind it. No plan orders
    /// it: it is done to what is new alone.
    Append,
}

/// A change to the bytes of a request; there are no others (RULES 63).
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Replaces one JSON string literal: a part's text. Everything beside it keeps its bytes.
    SetText {
        /// The part whose text it is.
        part: PartId,
        /// The new text, not yet escaped.
        text: String,
    },
    /// Removes one part, with the parts within it.
    RemovePart(PartId),
    /// Removes one whole message.
    RemoveEntry(EntryId),
    /// Adds a message behind an entry, or folds its text into a neighbour of the same role where
    /// the provider's rules ask for that (RULES 11).
    Insert {
        /// The entry it follows; `None` puts it before the first message.
        after: Option<EntryId>,
        /// Its role.
        role: Role,
        /// Its text, not yet escaped.
        text: String,
    },
}
