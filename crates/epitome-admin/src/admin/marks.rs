//! What marks came to: the watermark of a session, and what each tool that marks has saved
//! (RULES 39).
//!
//! Invariant: a projection of the acts in the journal; no message is read. Called for people
//! (`status`) and for the agent (the levers).

use epitome_types::{Actor, EntryKey, RecordedAction, SessionAction, SkipReason};
use serde::Serialize;

use super::SessionAdmin;
use crate::error::AdminError;
use crate::records::marked;

/// Who asks for a compression by hand.
const USER: &str = "user";

/// The watermark: tool exchanges before it are no longer sent (RULES 35).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatermarkStatus {
    /// The message that holds it; none where that is not in this history any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The tool whose call it is; empty where it was set without one.
    pub tool: String,
    /// How many calls and results left with it.
    pub blocks: u32,
    /// Tokens saved by that.
    pub saved: u64,
    /// Since when, ISO 8601.
    pub at: String,
}

/// What the marks of one tool came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolMarks {
    /// The tool; empty for marks that were set without one.
    pub tool: String,
    /// How often it moved the watermark.
    pub marks: u32,
    /// How many calls and results left.
    pub blocks: u64,
    /// Tokens saved, each time in the prompt of that moment.
    pub saved: u64,
}

impl WatermarkStatus {
    /// The watermark that acts left in a history of these messages.
    pub(crate) fn of(acts: &[RecordedAction], keys: &[EntryKey]) -> Option<Self> {
        acts.iter().rev().find_map(|acted| match &acted.act {
            SessionAction::Mark { entry, copy, tool, blocks, saved } => Some(Self {
                entry: marked(keys, *entry, *copy).map(|entry| entry.to_string()),
                tool: tool.clone(),
                blocks: *blocks,
                saved: *saved,
                at: acted.at.clone(),
            }),
            _ => None,
        })
    }
}

impl ToolMarks {
    /// What acts came to, by tool; the one that saved most comes first.
    pub(crate) fn of(acts: &[RecordedAction]) -> Vec<Self> {
        let each = acts.iter().filter_map(|acted| match &acted.act {
            SessionAction::Mark { tool, blocks, saved, .. } => {
                let (tool, blocks) = (tool.clone(), u64::from(*blocks));
                Some(Self { tool, marks: 1, blocks, saved: *saved })
            }
            _ => None,
        });
        Self::sum(each)
    }

    /// Added up by tool; the one that saved most comes first.
    pub fn sum(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for one in all {
            match sums.iter_mut().find(|sum| sum.tool == one.tool) {
                None => sums.push(one),
                Some(sum) => {
                    sum.marks += one.marks;
                    sum.blocks += one.blocks;
                    sum.saved += one.saved;
                }
            }
        }
        sums.sort_by(|a, b| b.saved.cmp(&a.saved).then_with(|| a.tool.cmp(&b.tool)));
        sums
    }
}

impl SessionAdmin {
    /// Asks for a compression with the next request of a session, in the user's name.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`], or when the journal cannot be written.
    pub fn request_compression(&self, session: &str, at: &str) -> Result<(), AdminError> {
        let session = self.session(Some(session))?.name;
        let ask = SessionAction::Ask { tool: USER.to_owned() };
        let asked = RecordedAction { act: ask, by: Actor::User, at: at.to_owned() };
        Ok(self.journal.act(&self.scope, &session, &[asked])?)
    }
}

/// Who asked for a compression that no request looked at yet; of several the last.
pub fn pending(acts: &[RecordedAction]) -> Option<&str> {
    let asked = acts.iter().rev().find_map(|acted| match &acted.act {
        SessionAction::Ask { tool } => Some(Some(tool.as_str())),
        SessionAction::Met => Some(None),
        _ => None,
    });
    asked.flatten()
}

/// A compression that was asked for and not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnmetWish {
    /// Why.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: SkipReason,
    /// When a request looked at it, ISO 8601.
    pub at: String,
}

impl UnmetWish {
    /// The one that was asked for last; none where it was made, or where a request is still to look at it.
    pub(crate) fn from_acts(acts: &[RecordedAction]) -> Option<Self> {
        acts.iter().rev().find_map(|acted| match &acted.act {
            SessionAction::Ask { .. } | SessionAction::Met => Some(None),
            SessionAction::Unmet { reason } => {
                Some(Some(Self { reason: *reason, at: acted.at.clone() }))
            }
            _ => None,
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acted(act: SessionAction) -> RecordedAction {
        RecordedAction { act, by: Actor::Model, at: "2026-01-02T03:04:05Z".to_owned() }
    }

    fn mark(key: u8, tool: &str, blocks: u32, saved: u64) -> RecordedAction {
        mark_copy(key, None, tool, blocks, saved)
    }

    fn mark_copy(
        key: u8,
        copy: Option<u32>,
        tool: &str,
        blocks: u32,
        saved: u64,
    ) -> RecordedAction {
        acted(SessionAction::Mark {
            entry: EntryKey([key; 16]),
            copy,
            tool: tool.to_owned(),
            blocks,
            saved,
        })
    }

    #[test]
    fn the_newest_mark_holds_the_watermark() {
        let keys = [1, 2, 1].map(|key| EntryKey([key; 16]));
        let place =
            |acts: &[RecordedAction]| WatermarkStatus::of(acts, &keys).map(|found| found.entry);
        assert_eq!(place(&[]), None);
        assert_eq!(place(&[mark(2, "a", 1, 1), mark(1, "b", 1, 1)]), Some(Some("e2".to_owned())));
        assert_eq!(place(&[mark(1, "a", 1, 1), mark(9, "b", 1, 1)]), Some(None));
        let copy = |copy| place(&[mark_copy(1, Some(copy), "b", 1, 1)]);
        assert_eq!(copy(0), Some(Some("e0".to_owned())));
        assert_eq!(copy(1), Some(Some("e2".to_owned())));
        assert_eq!(copy(7), Some(Some("e2".to_owned())), "fewer are left");
    }

    #[test]
    fn marks_are_added_up_by_tool() {
        let acts = [mark(1, "a", 4, 100), mark(2, "b", 6, 500), mark(3, "a", 2, 50)];
        let sum = |tool: &str, marks, blocks, saved| ToolMarks {
            tool: tool.to_owned(),
            marks,
            blocks,
            saved,
        };
        assert_eq!(ToolMarks::of(&acts), [sum("b", 1, 6, 500), sum("a", 2, 6, 150)]);
    }

    #[test]
    fn what_was_looked_at_is_not_pending() {
        let ask = |tool: &str| acted(SessionAction::Ask { tool: tool.to_owned() });
        assert_eq!(pending(&[ask("a"), acted(SessionAction::Met)]), None);
        let reason = SkipReason::NotNeeded;
        let unmet = [ask("a"), acted(SessionAction::Met), acted(SessionAction::Unmet { reason })];
        assert_eq!(pending(&unmet), None);
        assert_eq!(UnmetWish::from_acts(&unmet).map(|it| it.reason), Some(reason));
        assert_eq!(UnmetWish::from_acts(&unmet[..2]), None);
        assert_eq!(UnmetWish::from_acts(&[&unmet[..], &unmet[..1]].concat()), None);
        assert_eq!(
            pending(&[ask("a"), acted(SessionAction::Met), ask("b"), mark(1, "a", 1, 1)]),
            Some("b")
        );
    }
}
