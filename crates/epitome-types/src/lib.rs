//! The nouns of Epitome: what a conversation, a plan and a report are made of.
//!
//! Invariant: no logic beyond constructors and accessors, no I/O, nothing that depends on a
//! provider. Every other crate speaks in these types.

mod act;
mod budget;
mod checkpoint;
mod entry;
mod event;
mod goal;
pub mod hook;
mod id;
mod journal;
mod key;
mod meter;
mod overflow;
mod plan;
mod report;
mod session;
mod summary;
mod usage;

pub use act::{Act, Acted, By, GoalAct, GoalChange};
pub use budget::{Budget, Unit};
pub use checkpoint::{Checkpoint, Level, Stand};
pub use entry::{
    Body, Call, Entry, Image, Opaque, Part, Role, Speaker, StateNote, Stays, ToolResult,
};
pub use event::{Classed, Event, Happened, Skip, Stage};
pub use goal::{
    Artifact, ArtifactChange, ArtifactKind, Decision, DecisionKind, Goal, GoalStatus, Goals,
    Milestone, MilestoneState, Priority, Revision,
};
pub use id::{ContentId, EntryId, PartId};
pub use journal::{Cause, Covered, Credit, Epoch, EpochId, Mark, Recorded, Rewrite};
pub use key::{Chain, EntryKey};
pub use meter::{Account, MeterReading};
pub use overflow::Overflow;
pub use plan::{BoundReply, Edit, How, Op, Plan};
pub use report::{
    Breakdown, CheckpointReport, FactReport, LostFact, MustKeep, OffloadReport, OpReport, Report,
    SCHEMA, Totals,
};
pub use session::{Purpose, SessionInfo, Snapshot};
pub use summary::{Passage, Style, Summary, SummaryKind};
pub use usage::Usage;
