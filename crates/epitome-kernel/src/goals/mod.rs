//! Goals: what the acts of a session come to (RULES 56).
//!
//! Invariant: goals are a projection of acts in their order, and nothing else. What was first asked
//! for and what is locked never changes; an act that would is passed over and named. Called by
//! sessions, and by the doors through which users and agents set goals.

mod error;
mod finding;
mod render;
#[cfg(test)]
mod tests;

use epitome_types::{
    Artifact, ArtifactChange, ArtifactKind, Decision, DecisionKind, Goal, GoalAction, GoalChange,
    GoalStatus, Goals, Milestone, MilestoneState, Priority, RecordedAction, Revision,
    SessionAction,
};

pub use self::error::GoalError;
pub use self::finding::{act_of, bound_lock};
pub use self::render::{GoalWording, render};

/// The longest text of a goal, a milestone, a decision or a step, in characters. Some of them
/// stand in every prompt from then on.
pub const LONGEST: usize = 2_000;

/// What the acts of a session come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionProjection {
    /// The goals.
    pub goals: Goals,
    /// The acts that were passed over, by their places, and why.
    pub ignored: Vec<(usize, GoalError)>,
}

/// What these acts come to, oldest first; those that are not about goals are not looked at.
pub fn project(acts: &[RecordedAction]) -> SessionProjection {
    let mut projected = SessionProjection::default();
    for (place, acted) in acts.iter().enumerate() {
        if let SessionAction::Goal(act) = &acted.act
            && let Err(error) = enact(&mut projected.goals, act, &acted.at)
        {
            projected.ignored.push((place, error));
        }
    }
    projected
}

/// Whether an act may be recorded: for doors that want the error before.
///
/// # Errors
///
/// When it would be passed over.
pub fn refuse(goals: &Goals, act: &GoalAction) -> Result<(), GoalError> {
    enact(&mut goals.clone(), act, "").map(|_| ())
}

/// The act with the id of the goal that it is about, so that it is about that one still when
/// somebody set another meanwhile. Decisions are looked for in all goals.
#[must_use]
pub fn addressed(goals: &Goals, act: GoalAction) -> GoalAction {
    let of = |goal: &Goal| goal.id.clone();
    let newest_paused = || goals.goals.iter().rev().find(|it| it.status == GoalStatus::Paused);
    let meant = || match &act.change {
        GoalChange::Decide { .. } | GoalChange::Lock { .. } | GoalChange::Unlock { .. } => None,
        GoalChange::Set { text, .. } => {
            let same = goals.active().filter(|goal| goal.text == text.trim());
            Some(same.map_or_else(|| next_id(goals), of))
        }
        GoalChange::Resume => newest_paused().map(of),
        _ => goals.active().map(of),
    };
    GoalAction { goal: act.goal.clone().or_else(meant), ..act }
}

/// Applies an act; says whether it changed anything. What is said again changes nothing.
///
/// # Errors
///
/// When it names what is not there, says nothing, or would change what is locked; then the goals
/// are as they were.
pub fn enact(goals: &mut Goals, act: &GoalAction, at: &str) -> Result<bool, GoalError> {
    let id = act.goal.as_deref();
    match &act.change {
        GoalChange::Set { text, priority } => set(goals, id, text, *priority, at),
        GoalChange::Decide { text, rationale, locked, kind } => {
            let text = checked(text, "the decision")?.to_owned();
            let rationale = rationale.as_deref().map(str::trim).filter(|why| !why.is_empty());
            let rationale =
                rationale.map(|why| checked(why, "the rationale")).transpose()?.map(str::to_owned);
            let (locked, kind) = (*locked, *kind);
            decide(goals, id, Decision { text, rationale, locked, kind, at: at.to_owned() })
        }
        GoalChange::Lock { decision } => {
            lock(goals, id, DecisionLock { decision, locked: true }, at)
        }
        GoalChange::Unlock { decision } => {
            lock(goals, id, DecisionLock { decision, locked: false }, at)
        }
        GoalChange::Resume => resume(goals, id, at),
        change => {
            let goal = target(goals, id)?;
            let changed = touch(goal, change, at)?;
            if changed {
                at.clone_into(&mut goal.changed);
            }
            Ok(changed)
        }
    }
}

/// Sets a goal. One with an id that is taken was set twice at the same time: the later wording is
/// a revision.
fn set(
    goals: &mut Goals,
    id: Option<&str>,
    text: &str,
    priority: Priority,
    at: &str,
) -> Result<bool, GoalError> {
    let text = checked(text, "the goal")?;
    let same = |goal: &&mut Goal| match id {
        Some(id) => goal.id == id,
        None => goal.status == GoalStatus::Active && goal.text == text,
    };
    if let Some(goal) = goals.goals.iter_mut().find(same) {
        let changed = revise(goal, text, at) | (goal.priority != priority);
        goal.priority = priority;
        if changed {
            at.clone_into(&mut goal.changed);
        }
        return Ok(changed);
    }
    let id = id.map_or_else(|| next_id(goals), str::to_owned);
    pause_others(goals, &id, at);
    goals.goals.push(Goal {
        id,
        text: text.to_owned(),
        objective: text.to_owned(),
        revisions: Vec::new(),
        priority,
        status: GoalStatus::Active,
        created: at.to_owned(),
        changed: at.to_owned(),
        milestones: Vec::new(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        next: Vec::new(),
    });
    Ok(true)
}

/// The id of the next goal.
fn next_id(goals: &Goals) -> String {
    let number = |goal: &Goal| goal.id.strip_prefix('g')?.parse::<u32>().ok();
    let last = goals.goals.iter().filter_map(number).max().unwrap_or_default();
    format!("g{}", last.saturating_add(1))
}

fn pause_others(goals: &mut Goals, id: &str, at: &str) {
    let others = goals.goals.iter_mut().filter(|goal| goal.id != id);
    for goal in others.filter(|goal| goal.status == GoalStatus::Active) {
        goal.status = GoalStatus::Paused;
        at.clone_into(&mut goal.changed);
    }
}

/// Works at a goal again; without an id it is the newest one that is paused.
fn resume(goals: &mut Goals, id: Option<&str>, at: &str) -> Result<bool, GoalError> {
    let goal = match id {
        Some(id) => named(goals, id)?,
        None => {
            let paused = |goal: &&mut Goal| goal.status == GoalStatus::Paused;
            goals.goals.iter_mut().rev().find(paused).ok_or(GoalError::NonePaused)?
        }
    };
    if goal.status == GoalStatus::Active {
        return Ok(false);
    }
    goal.status = GoalStatus::Active;
    at.clone_into(&mut goal.changed);
    let id = goal.id.clone();
    pause_others(goals, &id, at);
    Ok(true)
}

/// The goal that an act is about.
fn target<'g>(goals: &'g mut Goals, id: Option<&str>) -> Result<&'g mut Goal, GoalError> {
    match id {
        Some(id) => named(goals, id),
        None => {
            let active = |goal: &&mut Goal| goal.status == GoalStatus::Active;
            goals.goals.iter_mut().find(active).ok_or(GoalError::NoneActive)
        }
    }
}

fn named<'g>(goals: &'g mut Goals, id: &str) -> Result<&'g mut Goal, GoalError> {
    let known = || goals.goals.iter().map(|goal| goal.id.clone()).collect();
    match goals.goals.iter().position(|goal| goal.id == id) {
        Some(place) => Ok(&mut goals.goals[place]),
        None => Err(GoalError::NoGoal { id: id.to_owned(), known: known() }),
    }
}

/// What only one goal is changed by.
fn touch(goal: &mut Goal, change: &GoalChange, at: &str) -> Result<bool, GoalError> {
    let completed = goal.status == GoalStatus::Completed;
    if completed && !matches!(change, GoalChange::Complete) {
        return Err(GoalError::Completed { id: goal.id.clone() });
    }
    Ok(match change {
        GoalChange::Revise { text } => revise(goal, checked(text, "the goal")?, at),
        GoalChange::Prioritise { priority } => {
            std::mem::replace(&mut goal.priority, *priority) != *priority
        }
        GoalChange::Milestone { text, state } => {
            milestone(goal, checked(text, "the milestone")?, *state, at)
        }
        GoalChange::Artifact { path, change } => {
            artifact(goal, checked(path, "the path")?, *change, at)
        }
        GoalChange::Next { text } => next(goal, checked(text, "the step")?),
        GoalChange::Pause => become_(goal, GoalStatus::Paused),
        GoalChange::Complete => become_(goal, GoalStatus::Completed),
        _ => false,
    })
}

fn become_(goal: &mut Goal, status: GoalStatus) -> bool {
    std::mem::replace(&mut goal.status, status) != status
}

fn revise(goal: &mut Goal, text: &str, at: &str) -> bool {
    if goal.text == text {
        return false;
    }
    text.clone_into(&mut goal.text);
    goal.revisions.push(Revision { text: text.to_owned(), at: at.to_owned() });
    true
}

fn milestone(goal: &mut Goal, text: &str, state: MilestoneState, at: &str) -> bool {
    let planned = goal.next.len();
    if state == MilestoneState::Completed {
        goal.next.retain(|step| !same(step, text));
    }
    match goal.milestones.iter_mut().find(|known| same(&known.text, text)) {
        Some(known) if known.state == state => return goal.next.len() < planned,
        Some(known) => (known.state, known.at) = (state, at.to_owned()),
        None => {
            let (text, at) = (text.to_owned(), at.to_owned());
            goal.milestones.push(Milestone { text, state, at });
        }
    }
    true
}

fn artifact(goal: &mut Goal, path: &str, change: ArtifactChange, at: &str) -> bool {
    match goal.artifacts.iter_mut().find(|known| known.path == path) {
        Some(known) if known.change == change => return false,
        Some(known) => (known.change, known.at) = (change, at.to_owned()),
        None => {
            let (path, kind, at) = (path.to_owned(), kind_of(path), at.to_owned());
            goal.artifacts.push(Artifact { path, kind, change, at });
        }
    }
    true
}

/// What a file is, by its path.
fn kind_of(path: &str) -> ArtifactKind {
    let path = path.replace('\\', "/").to_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let is_test = stem.starts_with("test_")
        || stem == "test"
        || stem == "tests"
        || [".test", ".spec", "_test", "_spec", "_tests", "-test"]
            .iter()
            .any(|end| stem.ends_with(end));
    let is_document = [".md", ".mdx", ".rst", ".adoc"].iter().any(|end| name.ends_with(end))
        || ["readme", "changelog", "license", "contributing"].contains(&stem);
    match () {
        () if is_test || within(&["test", "tests", "__tests__", "spec", "specs"]) => {
            ArtifactKind::Test
        }
        () if is_document || within(&["doc", "docs"]) => ArtifactKind::Documentation,
        () => ArtifactKind::File,
    }
}

fn next(goal: &mut Goal, text: &str) -> bool {
    if goal.next.last().is_some_and(|last| same(last, text)) {
        return false;
    }
    goal.next.retain(|step| !same(step, text));
    goal.next.push(text.to_owned());
    true
}

/// Records a decision, or what is new about one that was made before: that it is locked, of the
/// architecture, or why. A plain repetition takes nothing back.
fn decide(goals: &mut Goals, id: Option<&str>, new: Decision) -> Result<bool, GoalError> {
    let active = || goals.goals.iter().position(|goal| goal.status == GoalStatus::Active);
    let place = match id {
        Some(id) => {
            named(goals, id)?;
            goals.goals.iter().position(|goal| goal.id == id)
        }
        None => active(),
    };
    let at = new.at.clone();
    let changed = match find(goals, place, id.is_some(), &new.text) {
        Some(known) => merge(known, new)?,
        None => {
            match place.and_then(|place| goals.goals.get_mut(place)) {
                Some(goal) => goal.decisions.push(new),
                None => goals.decisions.push(new),
            }
            true
        }
    };
    if changed && let Some(goal) = place.and_then(|place| goals.goals.get_mut(place)) {
        goal.changed = at;
    }
    Ok(changed)
}

/// A decision by its words: that of one goal first and, unless it is to be of that goal `only`, of
/// any other, or of none.
fn find<'g>(
    goals: &'g mut Goals,
    first: Option<usize>,
    only: bool,
    text: &str,
) -> Option<&'g mut Decision> {
    let place_of = |decisions: &[Decision]| decisions.iter().position(|it| same(&it.text, text));
    let own = first.filter(|&place| place_of(&goals.goals[place].decisions).is_some());
    let any = || goals.goals.iter().position(|goal| place_of(&goal.decisions).is_some());
    let holder = own.or_else(|| if only { None } else { any() });
    let decisions = match holder {
        Some(place) => &mut goals.goals[place].decisions,
        None if only => return None,
        None => &mut goals.decisions,
    };
    let place = place_of(decisions)?;
    decisions.get_mut(place)
}

fn merge(known: &mut Decision, new: Decision) -> Result<bool, GoalError> {
    let kind = match new.kind {
        DecisionKind::Plain => known.kind,
        kind => kind,
    };
    let rationale = new.rationale.or_else(|| known.rationale.clone());
    let locked = known.locked || new.locked;
    if (kind, &rationale, locked) == (known.kind, &known.rationale, known.locked) {
        return Ok(false);
    }
    if known.locked {
        return Err(GoalError::Locked { decision: known.text.clone() });
    }
    (known.kind, known.rationale, known.locked) = (kind, rationale, locked);
    Ok(true)
}

/// A decision, and whether nothing may change it from now on.
struct DecisionLock<'a> {
    decision: &'a str,
    locked: bool,
}

fn lock(
    goals: &mut Goals,
    id: Option<&str>,
    DecisionLock { decision, locked }: DecisionLock<'_>,
    at: &str,
) -> Result<bool, GoalError> {
    let place = match id {
        Some(id) => {
            named(goals, id)?;
            goals.goals.iter().position(|goal| goal.id == id)
        }
        None => goals.goals.iter().position(|goal| goal.status == GoalStatus::Active),
    };
    let text = checked(decision, "the decision")?;
    let Some(known) = find(goals, place, id.is_some(), text) else {
        return Err(GoalError::NoDecision { decision: text.to_owned() });
    };
    let changed = locked != std::mem::replace(&mut known.locked, locked);
    if changed && let Some(goal) = place.and_then(|place| goals.goals.get_mut(place)) {
        at.clone_into(&mut goal.changed);
    }
    Ok(changed)
}

/// Whether two texts say the same: case and spaces do not matter.
fn same(one: &str, other: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
    one == other || words(one) == words(other)
}

/// The text without the spaces around it.
fn checked<'t>(text: &'t str, what: &'static str) -> Result<&'t str, GoalError> {
    let text = text.trim();
    let long = text.chars().count();
    match long {
        0 => Err(GoalError::Empty { what }),
        long if long > LONGEST => Err(GoalError::TooLong { what, long }),
        _ => Ok(text),
    }
}
