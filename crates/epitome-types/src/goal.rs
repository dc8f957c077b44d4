//! Goals: what a conversation is for, and what was decided on the way (RULES 56).
//!
//! Invariant: a projection of acts, never recorded itself; what was first asked for, how that was
//! worded anew and what holds now are kept apart. Policies see it as it stands here.

use serde::Deserialize;

use crate::shape::{table, words};

table! {
    /// All goals of a session, and what was decided outside of them.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct Goals {
        /// The goals, in the order in which they were set; at most one is active.
        pub goals: Vec<Goal>,
        /// What was decided while no goal was active.
        pub decisions: Vec<Decision>,
    }
}

table! {
    /// A goal.
    #[derive(Deserialize, PartialEq)]
    pub struct Goal {
        /// Its id: `g1`, `g2`, ...
        pub id: String,
        /// What is to be reached, as it was worded last.
        pub text: String,
        /// What was to be reached when the goal was set.
        pub objective: String,
        /// How it was worded since, oldest first.
        pub revisions: Vec<Revision>,
        /// How much it matters.
        pub priority: Priority,
        /// Whether it is worked at.
        pub status: GoalStatus,
        /// When it was set, ISO 8601.
        pub created: String,
        /// When anything of it changed last, ISO 8601.
        pub changed: String,
        /// The steps on the way, in the order in which they were first named.
        pub milestones: Vec<Milestone>,
        /// What was decided, oldest first.
        pub decisions: Vec<Decision>,
        /// The files that it touched, in the order in which they were first named.
        pub artifacts: Vec<Artifact>,
        /// What is to be done next; what was named last stands last.
        pub next: Vec<String>,
    }
}

table! {
    /// A new wording of a goal.
    #[derive(Deserialize, PartialEq)]
    pub struct Revision {
        /// The wording.
        pub text: String,
        /// When it was made, ISO 8601.
        pub at: String,
    }
}

table! {
    /// A step on the way to a goal: what markers call a checkpoint.
    #[derive(Deserialize, PartialEq)]
    pub struct Milestone {
        /// What is to be done.
        pub text: String,
        /// How far it is.
        pub state: MilestoneState,
        /// Since when, ISO 8601.
        pub at: String,
    }
}

table! {
    /// Something that was decided.
    #[derive(Deserialize, PartialEq)]
    pub struct Decision {
        /// What.
        pub text: String,
        /// Why.
        pub rationale: Option<String>,
        /// Whether nothing may change it any longer.
        pub locked: bool,
        /// What it is about.
        pub kind: DecisionKind,
        /// When it was made, ISO 8601.
        pub at: String,
    }
}

table! {
    /// A file that a goal touched.
    #[derive(Deserialize, PartialEq)]
    pub struct Artifact {
        /// Its path, as it was named.
        pub path: String,
        /// What it is, by its path.
        pub kind: ArtifactKind,
        /// What became of it last.
        pub change: ArtifactChange,
        /// When, ISO 8601.
        pub at: String,
    }
}

words! {
    /// How much a goal matters.
    pub enum Priority {
        /// Before all else.
        High = "high",
        /// As usual.
        Medium = "medium",
        /// When there is time.
        Low = "low",
    }
}

words! {
    /// Whether a goal is worked at.
    pub enum GoalStatus {
        /// It is.
        Active = "active",
        /// Not now.
        Paused = "paused",
        /// It is reached.
        Completed = "completed",
    }
}

words! {
    /// How far a milestone is.
    pub enum MilestoneState {
        /// Nobody began.
        Pending = "pending",
        /// It is worked at.
        InProgress = "in_progress",
        /// It is done.
        Completed = "completed",
    }
}

words! {
    /// What a decision is about.
    pub enum DecisionKind {
        /// Nothing of the kinds below.
        Plain = "plain",
        /// A pattern, a technology, an API contract or a schema: kept like one that is locked.
        Architecture = "architecture",
    }
}

words! {
    /// What a file is, by its path.
    pub enum ArtifactKind {
        /// A test.
        Test = "test",
        /// Documentation.
        Documentation = "documentation",
        /// Any other file.
        File = "file",
    }
}

words! {
    /// What became of a file.
    pub enum ArtifactChange {
        /// It was not there before.
        Created = "created",
        /// It says something else.
        Modified = "modified",
        /// It is gone.
        Deleted = "deleted",
    }
}

impl Goals {
    /// The goal that is worked at.
    pub fn active(&self) -> Option<&Goal> {
        self.goals.iter().find(|goal| goal.status == GoalStatus::Active)
    }
}

impl Decision {
    /// Whether it stays word for word in every prompt: it is locked, or of the architecture.
    pub fn stays(&self) -> bool {
        self.locked || self.kind == DecisionKind::Architecture
    }
}
