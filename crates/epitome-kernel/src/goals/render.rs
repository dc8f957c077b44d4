//! The goal block: what a prompt says of goals.
//!
//! Invariant: the active goal and every decision that is locked or of the architecture stand in it
//! word for word, however little room there is; all else folds to counts before that (RULES 56).

use epitome_types::{
    ArtifactChange, Decision, DecisionKind, Goal, Goals, MilestoneState, Priority,
};

use crate::port::TokenCounter;

/// The words around what goals say, in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoalWording<'w> {
    /// Before the goal.
    pub goal: &'w str,
    /// Behind a goal of high priority, and of low.
    pub priority: [&'w str; 2],
    /// Before the wording that the goal had at first.
    pub objective: &'w str,
    /// Above milestones that are completed, in progress, pending.
    pub milestones: [&'w str; 3],
    /// Above what is locked, of the architecture, and decided otherwise.
    pub decisions: [&'w str; 3],
    /// Before the reason of a decision.
    pub because: &'w str,
    /// Above the files.
    pub files: &'w str,
    /// Behind a file, or a number of files: created, modified, deleted.
    pub changes: [&'w str; 3],
    /// Above what is to be done next.
    pub next: &'w str,
}

impl GoalWording<'static> {
    /// In English.
    pub const ENGLISH: Self = Self {
        goal: "Goal",
        priority: ["high priority", "low priority"],
        objective: "First stated as",
        milestones: ["Completed", "In progress", "Pending"],
        decisions: ["Decided, locked", "Decided, architecture", "Decided"],
        because: "because",
        files: "Files",
        changes: ["created", "modified", "deleted"],
        next: "Next",
    };
}

/// How much folds to counts, one after another where there is too little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FoldedList {
    Nothing,
    Completed,
    Files,
    Next,
    Decided,
    Pending,
    InProgress,
}

impl FoldedList {
    const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Completed,
        Self::Files,
        Self::Next,
        Self::Decided,
        Self::Pending,
        Self::InProgress,
    ];
}

/// The goal block; empty where no goal is active and nothing decided stays. It takes no more than
/// `most` tokens where that can be had by folding.
pub fn render(
    goals: &Goals,
    most: u64,
    counter: &dyn TokenCounter,
    words: &GoalWording<'_>,
) -> String {
    let mut block = String::new();
    for fold in FoldedList::ALL {
        block = folded(goals, fold, words);
        if counter.count(&block) <= most {
            break;
        }
    }
    block
}

fn folded(goals: &Goals, fold: FoldedList, words: &GoalWording<'_>) -> String {
    let mut block = GoalBlock { lines: Vec::new() };
    let active = goals.active();
    if let Some(goal) = active {
        block.goal(goal, words);
        for (state, name, folds) in [
            (MilestoneState::Completed, words.milestones[0], FoldedList::Completed),
            (MilestoneState::InProgress, words.milestones[1], FoldedList::InProgress),
            (MilestoneState::Pending, words.milestones[2], FoldedList::Pending),
        ] {
            let those = goal.milestones.iter().filter(|milestone| milestone.state == state);
            block.list(name, those.map(|milestone| milestone.text.clone()), fold >= folds);
        }
    }
    let of_goals = goals.goals.iter().flat_map(|goal| &goal.decisions);
    let all = of_goals.chain(&goals.decisions);
    let line = |decision: &Decision| decided(decision, words);
    let locked = all.clone().filter(|decision| decision.locked);
    block.list(words.decisions[0], locked.map(line), false);
    let architecture =
        |decision: &&Decision| !decision.locked && decision.kind == DecisionKind::Architecture;
    block.list(words.decisions[1], all.filter(architecture).map(line), false);
    if let Some(goal) = active {
        let plain = goal.decisions.iter().filter(|decision| !decision.stays());
        block.list(words.decisions[2], plain.map(line), fold >= FoldedList::Decided);
        block.files(goal, fold >= FoldedList::Files, words);
        // What was named last is most likely to hold still.
        let skipped = if fold >= FoldedList::Next { goal.next.len().saturating_sub(1) } else { 0 };
        block.list(words.next, goal.next.iter().skip(skipped).cloned(), false);
    }
    block.lines.join("\n")
}

/// A decision with its reason.
fn decided(decision: &Decision, words: &GoalWording<'_>) -> String {
    match &decision.rationale {
        Some(why) => format!("{} ({} {why})", decision.text, words.because),
        None => decision.text.clone(),
    }
}

/// A goal block on its way.
struct GoalBlock {
    lines: Vec<String>,
}

impl GoalBlock {
    fn goal(&mut self, goal: &Goal, words: &GoalWording<'_>) {
        let priority = match goal.priority {
            Priority::High => format!(" ({})", words.priority[0]),
            Priority::Medium => String::new(),
            Priority::Low => format!(" ({})", words.priority[1]),
        };
        self.lines.push(format!("{}{priority}: {}", words.goal, goal.text));
        if goal.objective != goal.text {
            self.lines.push(format!("{}: {}", words.objective, goal.objective));
        }
    }

    /// A heading with a line for each item, or with their number.
    fn list(&mut self, name: &str, items: impl Iterator<Item = String>, folded: bool) {
        let items: Vec<String> = items.collect();
        match (items.len(), folded) {
            (0, _) => {}
            (count, true) => self.lines.push(format!("{name}: {count}")),
            (_, false) => {
                self.lines.push(format!("{name}:"));
                self.lines.extend(items.iter().map(|item| format!("- {item}")));
            }
        }
    }

    fn files(&mut self, goal: &Goal, folded: bool, words: &GoalWording<'_>) {
        use ArtifactChange::{Created, Deleted, Modified};
        let kinds = [Created, Modified, Deleted].into_iter().zip(words.changes);
        if !folded {
            let word =
                |change| kinds.clone().find_map(|(kind, word)| (kind == change).then_some(word));
            let line =
                |path: &str, change| format!("{path} ({})", word(change).unwrap_or_default());
            let files = goal.artifacts.iter().map(|file| line(&file.path, file.change));
            return self.list(words.files, files, false);
        }
        let count = |kind| goal.artifacts.iter().filter(|file| file.change == kind).count();
        let counts: Vec<String> = kinds
            .map(|(kind, word)| (count(kind), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if !counts.is_empty() {
            self.lines.push(format!("{}: {}", words.files, counts.join(", ")));
        }
    }
}
