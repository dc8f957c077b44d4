//! Compressions that were taken back, and snapshots: what is in force after going back and forth.

use std::sync::Arc;

use epitome::{MemoryStore, Profile, SessionAdmin};
use epitome_types::{CompactionId, SessionAction};

use crate::talk::{Talk, builder, names};

const NAME: &str = "talk";
const LATER: &str = "2026-01-03T00:00:00Z";

/// A conversation, and who looks after its session.
struct Desk {
    talk: Talk,
    admin: SessionAdmin,
}

impl Desk {
    fn new() -> Self {
        let journal = Arc::new(MemoryStore::new());
        let talk = Talk::of(builder(900), &journal);
        Self { talk, admin: SessionAdmin::new(journal, Profile::default()) }
    }

    fn in_force(&self) -> Option<CompactionId> {
        let history = self.admin.history(Some(NAME)).ok()?;
        history.in_force().map(|epoch| epoch.id)
    }

    /// Goes on until another compression is in force than before.
    fn compressed(&mut self) -> CompactionId {
        let before = self.in_force();
        for _ in 0..60 {
            self.goes_on();
            if let Some(now) = self.in_force().filter(|now| Some(*now) != before) {
                return now;
            }
        }
        panic!("nothing was compressed");
    }

    fn goes_on(&mut self) {
        self.talk.chat(1);
        self.talk.say("user", "Go on.");
        self.talk.prompt();
        self.talk.say("assistant", "It goes on.");
    }

    fn undo(&self) -> CompactionId {
        self.admin.compressions(NAME).unwrap().undo(LATER).unwrap()
    }

    /// What may be compressed in the same way again, since it was left on another branch.
    fn left(&self) -> Vec<CompactionId> {
        let acts = self.admin.journal().acts_in_force(self.admin.scope(), NAME).unwrap();
        let left = acts.into_iter().rev().find_map(|acted| match acted.act {
            SessionAction::Restored { left, .. } => Some(left),
            _ => None,
        });
        left.unwrap_or_default()
    }

    fn redo(&self) -> CompactionId {
        self.admin.compressions(NAME).unwrap().redo(LATER).unwrap()
    }
}

/// A session that lives on hears what was done to it from outside, as it does of goals.
#[test]
fn whoever_goes_on_is_told_of_snapshots() {
    let mut desk = Desk::new();
    desk.compressed();
    let told = |desk: &mut Desk| {
        desk.talk.say("user", "And now?");
        let told = names(&desk.talk.prompt().events);
        desk.talk.say("assistant", "Now this.");
        told.into_iter().filter(|name| name.starts_with("snapshot")).collect::<Vec<_>>()
    };
    assert_eq!(told(&mut desk), [""; 0]);
    let made = desk.admin.snapshot(Some(NAME), None, LATER).unwrap();
    assert_eq!(told(&mut desk), ["snapshot-created"]);
    desk.compressed();
    desk.admin.restore(Some(NAME), &made.id, LATER).unwrap();
    // What stood before is kept under one as well.
    assert_eq!(told(&mut desk), ["snapshot-created", "snapshot-restored"]);
    assert_eq!(told(&mut desk), [""; 0]);
}

#[test]
fn a_redo_puts_in_force_what_was_taken_back_last() {
    let mut desk = Desk::new();
    let first = desk.compressed();
    let snapshot = desk.admin.snapshot(Some(NAME), Some("first"), LATER).unwrap();
    assert_eq!(desk.undo(), first);
    // The window leaves no choice: another compression is made, which follows none.
    let second = desk.compressed();
    assert_ne!(second, first);
    desk.admin.restore(Some(NAME), &snapshot.id, LATER).unwrap();
    assert_eq!(desk.in_force(), Some(first));
    assert_eq!(desk.undo(), first);
    assert_eq!(desk.in_force(), None);
    assert_eq!(desk.admin.history(Some(NAME)).unwrap().redoable(), Some(first));
    assert_eq!((desk.redo(), desk.in_force()), (first, Some(first)));
}

#[test]
fn a_snapshot_brings_back_what_was_taken_back_when_it_was_made() {
    let mut desk = Desk::new();
    let first = desk.compressed();
    desk.undo();
    let undone = desk.admin.snapshot(Some(NAME), Some("undone"), LATER).unwrap();
    desk.redo();
    assert_eq!(desk.in_force(), Some(first));
    let restored = desk.admin.restore(Some(NAME), &undone.id, LATER).unwrap();
    assert_eq!((restored.undone, desk.in_force()), (1, None));
    // A person took it back: it is held, and no other request makes it again.
    let left = desk.left();
    assert!(!left.contains(&first), "{left:?}");
    assert_eq!(desk.redo(), first);
}

#[test]
fn going_back_and_forth_keeps_an_undo() {
    let mut desk = Desk::new();
    let first = desk.compressed();
    let snapshot = desk.admin.snapshot(Some(NAME), Some("before"), LATER).unwrap();
    desk.undo();
    let restored = desk.admin.restore(Some(NAME), &snapshot.id, LATER).unwrap();
    assert_eq!(desk.in_force(), Some(first));
    desk.admin.restore(Some(NAME), &restored.before.unwrap().id, LATER).unwrap();
    assert_eq!(desk.in_force(), None);
}

#[test]
fn a_snapshot_brings_back_the_compressions_that_its_own_followed() {
    let mut desk = Desk::new();
    let first = desk.compressed();
    let second = desk.compressed();
    let snapshot = desk.admin.snapshot(Some(NAME), Some("second"), LATER).unwrap();
    assert_eq!([desk.undo(), desk.undo()], [second, first]);
    let restored = desk.admin.restore(Some(NAME), &snapshot.id, LATER).unwrap();
    assert_eq!((restored.redone, desk.in_force()), (2, Some(second)));
    assert_eq!((desk.undo(), desk.in_force()), (second, Some(first)));
}
