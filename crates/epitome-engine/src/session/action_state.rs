//! What was done to a session, as far as its requests need it.
//!
//! Invariant: a projection of the acts in the journal, and nothing else. Held by the state of a session.

use std::collections::{BTreeMap, BTreeSet};

use epitome_admin::records::{chosen, imported_compressions, marked, mode_of};
use epitome_kernel::goals;
use epitome_types::{
    Actor, CompactionId, EntryId, EntryKey, GoalAction, Goals, RecordedAction, SessionAction,
};

use super::assembled::Assembled;

/// What the acts of a session come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionState {
    /// The session that they belong to.
    pub(crate) session: String,
    /// How many there are.
    pub(crate) count: usize,
    /// Whether the journal has moved since they were read.
    pub(crate) stale: bool,
    /// Who asked for a compression that no request has looked at yet.
    pub(crate) asked: Option<PendingAsk>,
    /// The messages that a model was asked about without an answer yet, and who asked.
    pub(crate) open: Vec<(EntryKey, Actor)>,
    /// The message that holds the watermark, and which of those that say the same it is: an agent may
    /// end every task in equal words.
    mark: Option<(EntryKey, Option<u32>)>,
    pub(crate) goals: Goals,
    /// The names of the augments that were chosen.
    pub(crate) augments: Vec<String>,
    /// The excerpts that are to come back into the conversation.
    pub(crate) returning: Vec<String>,
    /// The system prompts that were put together, oldest first.
    pub(crate) systems: Vec<Assembled>,
    /// What policies had noted when the last snapshot was made.
    pub(crate) noted: BTreeMap<String, String>,
    pub(crate) facts: ActionFacts,
}

/// What is so of a session as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionFacts {
    /// The mode that it was set to.
    pub(crate) mode: Option<String>,
    /// How often it was compressed where it came from.
    pub(crate) imported: u32,
    /// The compressions that stayed on a branch which was left for a snapshot.
    pub(crate) left: Vec<CompactionId>,
    /// What people did to its goals.
    pub(crate) by_people: Vec<GoalAction>,
    /// The messages that its goals come from.
    pub(crate) goals_from: BTreeSet<EntryKey>,
}

/// A compression that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingAsk {
    /// `user`, or the name of a tool or a policy.
    pub(crate) who: String,
    /// Whether a policy asks: then it is made where it pays for itself.
    pub(crate) by_policy: bool,
}

/// Something that a request does, and who decided so.
pub(crate) type Doing = (SessionAction, Actor);

impl ActionState {
    /// So many acts of a session are known, and have to be read again.
    pub(crate) fn outdated(session: &str, count: usize) -> Self {
        Self { session: session.to_owned(), count, stale: true, ..Self::default() }
    }

    /// What the acts that hold and concern a history come to, of the `count` that its session has.
    pub(crate) fn of(session: &str, acts: &[RecordedAction], count: usize) -> Self {
        let mut found = Self {
            session: session.to_owned(),
            count,
            goals: goals::project(acts).goals,
            facts: ActionFacts {
                mode: mode_of(acts),
                imported: imported_compressions(acts).unwrap_or_default(),
                ..ActionFacts::default()
            },
            augments: chosen(acts),
            returning: returning(acts),
            systems: acts.iter().filter_map(Assembled::done).collect(),
            ..Self::default()
        };
        for RecordedAction { act, by, .. } in acts {
            match act {
                SessionAction::Goal(act) => {
                    found.facts.goals_from.extend(act.said_in);
                    found.facts.by_people.extend((*by == Actor::User).then(|| act.clone()));
                }
                SessionAction::Ask { tool } => found.ask(tool, by),
                SessionAction::Met => found.asked = None,
                SessionAction::Mark { entry, copy, .. } => {
                    found.mark = Some((*entry, *copy));
                }
                SessionAction::Restored { left, .. } => found.facts.left.clone_from(left),
                SessionAction::Noted { memos } => found.noted.clone_from(memos),
                SessionAction::Question { entry, open } => {
                    found.open.retain(|(known, _)| known != entry);
                    found.open.extend(open.then(|| (*entry, by.clone())));
                }
                _ => {}
            }
        }
        found
    }

    /// Takes up that somebody asks for a compression. What people and agents want stands before what
    /// policies do.
    fn ask(&mut self, who: &str, by: &Actor) {
        let by_policy = matches!(by, Actor::Policy(_));
        if self.asked.is_none() || !by_policy {
            self.asked = Some(PendingAsk { who: who.to_owned(), by_policy });
        }
    }

    /// The last message of a history that its goals come from.
    pub(crate) fn goals_until(&self, keys: &[EntryKey]) -> Option<EntryId> {
        let from = &self.facts.goals_from;
        let place = keys.iter().rposition(|key| from.contains(key)).filter(|_| !from.is_empty());
        place.map(|place| EntryId(place as u32))
    }

    /// The place of the watermark in a history; `Some(None)` where it is not in it.
    pub(crate) fn mark(&self, keys: &[EntryKey]) -> Option<Option<EntryId>> {
        let (mark, copy) = self.mark?;
        Some(marked(keys, mark, copy))
    }
}

/// The excerpts that are to come back, as the model reads them.
pub(crate) fn returning(acts: &[RecordedAction]) -> Vec<String> {
    let mut texts = Vec::new();
    for RecordedAction { act, .. } in acts {
        match act {
            SessionAction::Recall { text } => texts.push(text.clone()),
            SessionAction::Returned => texts.clear(),
            _ => {}
        }
    }
    texts
}
