//! What the tools take.
//!
//! Invariant: what is not understood is refused with what would be, so that a model can mend its
//! call. The comments of the fields are what the model reads.

use epitome::types::{
    ArtifactChange, DecisionKind, GoalAction, GoalChange, MilestoneState, Priority,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most tokens that come back: what is larger floods the prompt that it is meant for.
pub(crate) const MOST: u64 = 8_000;

/// The most queries of one call: each is a search.
pub(crate) const QUERIES: usize = 12;

/// Arguments of tools that take nothing but a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {
    /// The session; left out, the one of this conversation
    pub(crate) session: Option<String>,
}

/// Which augments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatternArgs {
    /// Names or patterns like `refactoring/*`
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "Vec<String>")]
    pub(crate) patterns: Vec<String>,
    /// The session; left out, the one of this conversation
    pub(crate) session: Option<String>,
}

/// What is to be brought back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallToolArgs {
    /// What to look for, in any words
    pub(crate) query: Option<String>,
    /// Several things to look for at once: they share the tokens, and each passage comes once
    #[serde(default, deserialize_with = "one_or_more")]
    #[schemars(with = "Vec<String>")]
    pub(crate) queries: Vec<String>,
    /// The id that stands where something was shortened, in place of a query
    pub(crate) id: Option<String>,
    /// With an id: only these lines, like `3`, `3-8` or `3-`
    pub(crate) lines: Option<String>,
    /// The most that comes back, 1000 unless said
    #[schemars(range(min = 1, max = MOST))]
    pub(crate) max_tokens: Option<u64>,
}

/// A restore point.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotToolArgs {
    /// A name to find it by
    pub(crate) name: Option<String>,
    /// The session; left out, the one of this conversation
    pub(crate) session: Option<String>,
}

/// Which entries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinToolArgs {
    /// Places like `e4`, as recall names them
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "Vec<String>")]
    pub(crate) entries: Vec<String>,
    /// Takes the pins out again
    #[serde(default)]
    pub(crate) unpin: bool,
    /// The session; left out, the one of this conversation
    pub(crate) session: Option<String>,
}

/// What becomes of a goal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoalToolArgs {
    /// What to do
    #[serde(default)]
    pub(crate) action: GoalToolAction,
    /// What it is about: the goal, milestone, decision, step, or the path of an artifact
    pub(crate) text: Option<String>,
    /// The goal's id; left out, the active one
    pub(crate) goal: Option<String>,
    /// Of set: another goal, beside the active one, which pauses; otherwise that is worded anew
    #[serde(default)]
    pub(crate) new: bool,
    /// Of set and prioritise
    pub(crate) priority: Option<Weight>,
    /// Of milestone
    pub(crate) state: Option<MilestoneProgress>,
    /// Of artifact
    pub(crate) change: Option<ArtifactChangeArg>,
    /// Of decide: why
    pub(crate) rationale: Option<String>,
    /// Of decide: nothing may change it from now on
    #[serde(default)]
    pub(crate) locked: bool,
    /// Of decide: it is about the architecture
    #[serde(default)]
    pub(crate) architecture: bool,
    /// The session; left out, the one of this conversation
    pub(crate) session: Option<String>,
}

/// What to do with a goal.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GoalToolAction {
    #[default]
    List,
    Set,
    Revise,
    Prioritise,
    Milestone,
    Decide,
    Lock,
    Artifact,
    Next,
    Pause,
    Resume,
    Complete,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weight {
    High,
    Medium,
    Low,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MilestoneProgress {
    Pending,
    #[serde(rename = "in_progress")]
    Begun,
    Completed,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ArtifactChangeArg {
    Created,
    Modified,
    Deleted,
}

impl GoalToolArgs {
    /// What is to be recorded, where a goal is `active` or none is; nothing where the goals are only
    /// asked for.
    ///
    /// # Errors
    ///
    /// When something is missing that the action needs.
    pub(crate) fn acts(&self, active: bool) -> Result<Vec<GoalAction>, String> {
        let text = || {
            let text = self.text.clone().filter(|text| !text.trim().is_empty());
            text.ok_or_else(|| "`text` is missing".to_owned())
        };
        let priority = self.priority.map(Priority::from);
        let change = match self.action {
            GoalToolAction::List => return Ok(Vec::new()),
            GoalToolAction::Set if active && !self.new => {
                let matters = priority.map(|priority| GoalChange::Prioritise { priority });
                let changes = [GoalChange::Revise { text: text()? }].into_iter().chain(matters);
                let goal = |change| GoalAction::new(self.goal.clone(), change);
                return Ok(changes.map(goal).collect());
            }
            GoalToolAction::Set => {
                let priority = priority.unwrap_or(Priority::Medium);
                return Ok(vec![GoalChange::Set { text: text()?, priority }.into()]);
            }
            GoalToolAction::Revise => GoalChange::Revise { text: text()? },
            GoalToolAction::Prioritise => {
                GoalChange::Prioritise { priority: priority.ok_or("`priority` is missing")? }
            }
            GoalToolAction::Milestone => {
                let state = self.state.unwrap_or(MilestoneProgress::Pending).into();
                GoalChange::Milestone { text: text()?, state }
            }
            GoalToolAction::Decide => GoalChange::Decide {
                text: text()?,
                rationale: self.rationale.clone(),
                locked: self.locked,
                kind: match self.architecture {
                    true => DecisionKind::Architecture,
                    false => DecisionKind::Plain,
                },
            },
            GoalToolAction::Lock => GoalChange::Lock { decision: text()? },
            GoalToolAction::Artifact => {
                let change = self.change.unwrap_or(ArtifactChangeArg::Modified).into();
                GoalChange::Artifact { path: text()?, change }
            }
            GoalToolAction::Next => GoalChange::Next { text: text()? },
            GoalToolAction::Pause => GoalChange::Pause,
            GoalToolAction::Resume => GoalChange::Resume,
            GoalToolAction::Complete => GoalChange::Complete,
        };
        Ok(vec![GoalAction::new(self.goal.clone(), change)])
    }
}

impl From<Weight> for Priority {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::High => Self::High,
            Weight::Medium => Self::Medium,
            Weight::Low => Self::Low,
        }
    }
}

impl From<MilestoneProgress> for MilestoneState {
    fn from(progress: MilestoneProgress) -> Self {
        match progress {
            MilestoneProgress::Pending => Self::Pending,
            MilestoneProgress::Begun => Self::InProgress,
            MilestoneProgress::Completed => Self::Completed,
        }
    }
}

impl From<ArtifactChangeArg> for ArtifactChange {
    fn from(change: ArtifactChangeArg) -> Self {
        match change {
            ArtifactChangeArg::Created => Self::Created,
            ArtifactChangeArg::Modified => Self::Modified,
            ArtifactChangeArg::Deleted => Self::Deleted,
        }
    }
}

/// A list of texts, or one text: models write both.
fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of texts")]
    enum Either {
        One(String),
        More(Vec<String>),
    }
    let texts = match Either::deserialize(from)? {
        Either::One(text) => vec![text],
        Either::More(texts) => texts,
    };
    match texts.is_empty() {
        true => Err(serde::de::Error::custom("the list is empty")),
        false => Ok(texts),
    }
}
