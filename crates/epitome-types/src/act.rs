//! Acts: what the user, the agent or a policy did to a session, beside what was said.
//!
//! Invariant: an act is recorded as it was done and never changes; goals, active augments, a
//! pending ask, open questions, the watermark and the system prompt are projections of the acts of
//! a session, in their order. A snapshot stands among them as a place to go back to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ArtifactChange, CompactionId, ContentId, DecisionKind, EntryKey, MeterReading, MilestoneState,
    Priority, SkipReason,
};

/// Something that was done to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedAction {
    /// What.
    #[serde(flatten)]
    pub act: SessionAction,
    /// By whom.
    pub by: Actor,
    /// When, ISO 8601.
    pub at: String,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The user, by hand.
    User,
    /// The agent, by a tool or a marker in what it says.
    Model,
    /// A policy, by its name.
    Policy(String),
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionAction {
    /// Something about a goal.
    Goal(GoalAction),
    /// An augment was activated, or deactivated.
    Augment {
        /// Its name: `group/name`.
        name: String,
        /// Whether it is active from now on.
        active: bool,
    },
    /// Policies are told of another mode from the next request on.
    Mode {
        /// The mode; none for the one that the profile, or whoever serves the session, says.
        mode: Option<String>,
        /// The last answer before it was set, as for goals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said_in: Option<EntryKey>,
    },
    /// The conversation came from elsewhere, where it had been compressed before.
    Imported {
        /// How often.
        compressions: u32,
        /// The last message that came from there.
        said_in: EntryKey,
    },
    /// A compression was asked for, to be made with the next request.
    Ask {
        /// Who asks: the name of a tool, or `user`.
        tool: String,
    },
    /// A request looked at the compression that was asked for.
    Met,
    /// And made none.
    Unmet {
        /// Why.
        reason: SkipReason,
    },
    /// Excerpts of what was said before come back into the conversation (RULES 52).
    Recall {
        /// The excerpts with their sources, as the model reads them.
        text: String,
    },
    /// The excerpts that were to come back stand in the conversation.
    Returned,
    /// The watermark moved: the tool exchanges before it left the prompt (RULES 35).
    Mark {
        /// The message that holds it now.
        entry: EntryKey,
        /// Which of the messages that say the same it is, counted from 0; the newest unless told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy: Option<u32>,
        /// The tool whose call it is; empty where it was set without one.
        tool: String,
        /// How many tool exchanges left.
        blocks: u32,
        /// Tokens saved.
        saved: u64,
    },
    /// A policy has a model asked about a message while the conversation goes on, or that came to
    /// an end: with an answer, or without.
    Question {
        /// The message.
        entry: EntryKey,
        /// Whether it is open from now on.
        open: bool,
    },
    /// The client compacted its history on its own, and goes on from a summary of it.
    ClientCompaction {
        /// The message that holds the summary.
        summary: EntryKey,
        /// The messages that it stands for, of those that acts name.
        said: Vec<EntryKey>,
    },
    /// What policies had noted when the snapshots that follow were made, in the place of what they
    /// had noted before.
    Noted {
        /// JSON, by the policy's name.
        memos: BTreeMap<String, String>,
    },
    /// A snapshot was made here.
    Snapshot {
        /// Its id.
        id: String,
        /// The messages that were pinned by hand.
        pins: Vec<EntryKey>,
        /// What the trigger went by. Older versions recorded none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meter: Option<MeterReading>,
        /// The compressions that were taken back, of those on its branch. Older versions recorded none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        undone: Vec<CompactionId>,
    },
    /// A snapshot was gone back to: of what was done before, that holds which held when it was made.
    Restored {
        /// Its id.
        snapshot: String,
        /// The compressions that were left behind with the branch they were made on. Unlike those
        /// that a person took back, they may come again.
        left: Vec<CompactionId>,
    },
    /// The system prompt was put together (RULES 33).
    System {
        /// The epoch that it belongs to; none before the first.
        epoch: Option<CompactionId>,
        /// The host's own words that stand in it.
        of: ContentId,
        /// What it says before and behind them.
        around: [String; 2],
    },
}

/// Something about a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalAction {
    /// The goal's id. Without one it is the goal that is active, and for a goal that is set the
    /// next free id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// What becomes of it.
    #[serde(flatten)]
    pub change: GoalChange,
    /// The message that said so, or the last answer before it was done by hand. A history that holds
    /// neither it nor a client's summary of it is not concerned; without one it concerns the whole
    /// session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_in: Option<EntryKey>,
}

/// What becomes of a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum GoalChange {
    /// It is set and active; another one that was active pauses.
    Set {
        /// What is to be reached.
        text: String,
        /// How much it matters.
        priority: Priority,
    },
    /// It is worded anew; what was first asked for stays beside that.
    Revise {
        /// What is to be reached.
        text: String,
    },
    /// It matters more, or less.
    Prioritise {
        /// How much.
        priority: Priority,
    },
    /// A milestone is in this state; an unknown one is added.
    Milestone {
        /// What is to be done.
        text: String,
        /// How far it is.
        state: MilestoneState,
    },
    /// Something was decided.
    Decide {
        /// What.
        text: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rationale: Option<String>,
        /// Whether nothing may change it from now on.
        locked: bool,
        /// What it is about.
        kind: DecisionKind,
    },
    /// Nothing may change a decision from now on.
    Lock {
        /// What was decided, in its own words.
        decision: String,
    },
    /// A lock is taken back: the decision may change again. People alone do this.
    Unlock {
        /// What was decided, in its own words.
        decision: String,
    },
    /// A file was touched.
    Artifact {
        /// Its path.
        path: String,
        /// What became of it.
        change: ArtifactChange,
    },
    /// Something is to be done next.
    Next {
        /// What.
        text: String,
    },
    /// It is not worked at for now.
    Pause,
    /// It is worked at again; another one that was active pauses.
    Resume,
    /// It is reached.
    Complete,
}

impl GoalChange {
    /// Everything in it that somebody worded.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (text, why) = match self {
            Self::Set { text, .. }
            | Self::Revise { text }
            | Self::Milestone { text, .. }
            | Self::Next { text }
            | Self::Lock { decision: text }
            | Self::Unlock { decision: text }
            | Self::Artifact { path: text, .. } => (Some(text), None),
            Self::Decide { text, rationale, .. } => (Some(text), rationale.as_mut()),
            Self::Prioritise { .. } | Self::Pause | Self::Resume | Self::Complete => (None, None),
        };
        text.into_iter().chain(why)
    }
}

impl GoalAction {
    /// For the goal of this id, said in no message.
    pub fn new(goal: Option<String>, change: GoalChange) -> Self {
        Self { goal, change, said_in: None }
    }
}

impl From<GoalChange> for GoalAction {
    /// For the goal that is active, or with the next free id.
    fn from(change: GoalChange) -> Self {
        Self::new(None, change)
    }
}

impl RecordedAction {
    /// The message that it hangs on: a history that does not hold it is not concerned (RULES 13).
    pub fn said_in(&self) -> Option<&EntryKey> {
        match &self.act {
            SessionAction::Goal(act) => act.said_in.as_ref(),
            SessionAction::Mode { said_in, .. } => said_in.as_ref(),
            SessionAction::Imported { said_in, .. } => Some(said_in),
            _ => None,
        }
    }
}

/// What acts of a session hang on: the messages of a history, and those that a summary in it stands
/// for, where its client compacted them.
pub struct HeldMessages<H> {
    holds: H,
    summarized: BTreeSet<EntryKey>,
}

impl<H: Fn(&EntryKey) -> bool> HeldMessages<H> {
    /// For a history that holds these messages, of a session with these acts.
    pub fn new(acts: &[RecordedAction], holds: H) -> Self {
        let mut summarized = BTreeSet::new();
        for RecordedAction { act, .. } in acts {
            if let SessionAction::ClientCompaction { summary, said } = act
                && holds(summary)
            {
                summarized.extend(said);
            }
        }
        Self { holds, summarized }
    }

    /// Whether an act concerns the history.
    pub fn concerns(&self, acted: &RecordedAction) -> bool {
        acted.said_in().is_none_or(|key| (self.holds)(key) || self.summarized.contains(key))
    }
}
