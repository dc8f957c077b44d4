//! Which acts hold, where a session went back to a snapshot.
//!
//! Invariant: pure. What holds when a snapshot is gone back to is what held when it was made, however
//! often it was gone back and forth before. Called by whoever reads the acts of a session.

use crate::{RecordedAction, SessionAction};

/// The acts that hold of all that were recorded, in their order. A snapshot that is not among them
/// takes nothing back.
pub fn acts_in_force(acts: Vec<RecordedAction>) -> Vec<RecordedAction> {
    let Some((back, place)) = last_return(&acts) else { return acts };
    let mut held: Vec<bool> = vec![true; acts.len()];
    held[place + 1..back].fill(false);
    // What held at the snapshot may have been gone back to itself.
    let mut end = place + 1;
    while let Some((back, place)) = last_return(&acts[..end]) {
        held[place + 1..back].fill(false);
        end = place + 1;
    }
    let mut held = held.into_iter();
    acts.into_iter().filter(|_| held.next().unwrap_or(true)).collect()
}

/// The last act that goes back, and the place of the snapshot that it goes back to.
fn last_return(acts: &[RecordedAction]) -> Option<(usize, usize)> {
    let found = acts.iter().enumerate().rev();
    found.filter_map(|(at, acted)| Some((at, goal_of(acted)?))).find_map(|(back, named)| {
        let place = acts[..back].iter().rposition(|acted| snapshot_of(acted) == Some(named))?;
        Some((back, place))
    })
}

/// The snapshot that an act goes back to.
fn goal_of(acted: &RecordedAction) -> Option<&str> {
    match &acted.act {
        SessionAction::Restored { snapshot, .. } => Some(snapshot),
        _ => None,
    }
}

/// The snapshot that an act says was made.
fn snapshot_of(acted: &RecordedAction) -> Option<&str> {
    match &acted.act {
        SessionAction::Snapshot { id, .. } => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Actor;

    /// `a` is an act, `s1` a snapshot, `r1` goes back to it.
    fn act(name: &str) -> RecordedAction {
        let id = name[1..].to_owned();
        let act = match name.as_bytes()[0] {
            b's' => {
                SessionAction::Snapshot { id, pins: Vec::new(), meter: None, undone: Vec::new() }
            }
            b'r' => SessionAction::Restored { snapshot: id, left: Vec::new() },
            _ => SessionAction::Ask { tool: name.to_owned() },
        };
        RecordedAction { act, by: Actor::User, at: String::new() }
    }

    #[track_caller]
    fn check(acts: &str, expected: &str) {
        let [acts, expected] =
            [acts, expected].map(|all| all.split_whitespace().map(act).collect::<Vec<_>>());
        assert_eq!(acts_in_force(acts), expected);
    }

    #[test]
    fn what_came_behind_a_snapshot_does_not_hold_once_it_is_gone_back_to() {
        check("", "");
        check("a s1 b", "a s1 b");
        check("a s1 b c r1", "a s1 r1");
        check("a s1 b r1 c", "a s1 r1 c");
        check("a b r1 c", "a b r1 c");
    }

    #[test]
    fn one_may_go_back_and_forth() {
        check("a s1 b s2 r1 c r2 d", "a s1 b s2 r2 d");
        check("a s1 b r1 c s2 d r2", "a s1 r1 c s2 r2");
        check("a s1 b r1 c s2 d r2 e s3 r1 f r3", "a s1 r1 c s2 r2 e s3 r3");
        check("a s1 b r1 c r1", "a s1 r1");
    }
}
