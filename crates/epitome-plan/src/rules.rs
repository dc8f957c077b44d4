//! How a plan that fits a budget is made otherwise than one that a policy ordered.
//!
//! Invariant: plain data. What both do alike stands in the planner once; where they differ, the
//! planner looks here. Only what each is made from is not in here: drafts down a ladder, or orders
//! over what is in force.

use epitome_kernel::types::CheckpointLevel;

use crate::wording::WordingPurpose;

/// The rules of a plan.
#[derive(Debug)]
pub(crate) struct PlanRules {
    pub(crate) checkpoints: WordingRules,
    pub(crate) digests: WordingRules,
    pub(crate) own_words: OwnWordsRules,
    /// What a summarizer is shown to write a checkpoint.
    pub(crate) shown: ShownEntries,
    /// Whether checkpoints below the highest level are worded briefly, whatever the options say.
    pub(crate) brief_below_detailed: bool,
    /// Whether notes that newer ones state leave even where nothing else is done.
    pub(crate) notes_leave_alone: bool,
    pub(crate) order: OpOrder,
}

/// How the answers of summarizers are judged.
#[derive(Debug)]
pub(crate) struct WordingRules {
    /// What follows where one says that it has too little room.
    pub(crate) too_small: TooSmallRule,
    pub(crate) measured: MeasuredText,
    /// What follows an answer that is empty or too large.
    pub(crate) unfit: UnfitRule,
    /// Whether the last summarizer stays in use when it fails, and only texts of this kind are not
    /// asked of it any more.
    pub(crate) spares_last: bool,
}

/// What the words are that the kernel finds itself.
#[derive(Debug)]
pub(crate) struct OwnWordsRules {
    /// The highest level that they count as.
    pub(crate) level: CheckpointLevel,
    /// Whether they are measured by themselves, and not only with the whole prompt.
    pub(crate) measured: bool,
}

/// What follows where a summarizer has too little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooSmallRule {
    /// The text stays without words.
    Unworded,
    /// The next summarizer is asked; this one again for the next text.
    NextSummarizer,
}

/// What is measured of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredText {
    /// The words alone, against what was asked for.
    Words,
    /// The words as they will stand there, against what may stand there.
    Placed,
}

/// What follows an answer that is empty or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnfitRule {
    /// The text stays without words.
    Unworded,
    /// One that is too large is asked for again, smaller. Where that is in vain, or nothing was
    /// said, the summarizer gives up.
    AskAgain {
        /// Whether it is asked again only where some room is left then. Else a text without room
        /// stays without words.
        within_room: bool,
    },
}

/// Which entries a summarizer is shown for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownEntries {
    /// All that leave the prompt, also those with a line of their own in their place.
    AllThatLeave,
    /// Those in whose place it stands.
    Covered,
}

/// In which order ops stand in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpOrder {
    /// Cuts, lines, the checkpoint.
    ByKind,
    /// As what they touch stands in the conversation.
    ByPlace,
}

impl PlanRules {
    /// The rules of a plan that fits a budget.
    pub(crate) const FIT: Self = Self {
        checkpoints: WordingRules {
            too_small: TooSmallRule::Unworded,
            measured: MeasuredText::Words,
            unfit: UnfitRule::AskAgain { within_room: false },
            spares_last: false,
        },
        digests: WordingRules {
            too_small: TooSmallRule::Unworded,
            measured: MeasuredText::Placed,
            unfit: UnfitRule::Unworded,
            spares_last: true,
        },
        own_words: OwnWordsRules { level: CheckpointLevel::Compact, measured: false },
        shown: ShownEntries::AllThatLeave,
        brief_below_detailed: true,
        notes_leave_alone: true,
        order: OpOrder::ByKind,
    };

    /// The rules of a plan that a policy ordered.
    pub(crate) const ORDERED: Self = Self {
        checkpoints: WordingRules::ORDERED,
        digests: WordingRules::ORDERED,
        own_words: OwnWordsRules { level: CheckpointLevel::Detailed, measured: true },
        shown: ShownEntries::Covered,
        brief_below_detailed: false,
        notes_leave_alone: false,
        order: OpOrder::ByPlace,
    };

    pub(crate) fn of_wording(&self, what: &WordingPurpose) -> &WordingRules {
        match what {
            WordingPurpose::Checkpoint { .. } => &self.checkpoints,
            WordingPurpose::Digest(_) => &self.digests,
        }
    }
}

impl WordingRules {
    const ORDERED: Self = Self {
        too_small: TooSmallRule::NextSummarizer,
        measured: MeasuredText::Placed,
        unfit: UnfitRule::AskAgain { within_room: true },
        spares_last: false,
    };
}
