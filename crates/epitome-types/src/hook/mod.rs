//! Hooks: what a policy is asked, and what it answers.
//!
//! Invariant: plain data, declared once; editor stubs, the reference, the checks of answers and
//! the JSON schema all follow from it. A job never holds a text of the conversation where it is
//! serialised: texts are read through the fields that are left out there.

mod answer;
mod job;
mod job_data;
mod order;
mod played;
mod renamed;

pub use crate::drift::{Drift, Stop};
pub use crate::shape::{FieldShape, HasShape, HasTableShape, INLINE, TableShape, ValueShape};
pub use answer::{
    Ageing, Budgets, Due, Found, FoundKind, Line, Noted, Observe, Passed, Position, RecallOrder,
    Rejected, Render, Seconded, Section, Status, Strength, SummaryPrompt, ToolResultAnswer,
    TriggerAnswer, VerifyAnswer, Way,
};
pub use job::{
    AgeJob, BudgetsJob, Common, EventJob, FactsJob, GoalsJob, ObserveJob, Occasion, PlanJob,
    Purpose, RecallJob, RenderJob, StatusJob, SummaryPromptJob, TalkFacts, ToolResultJob,
    TriggerJob, VerifyJob, Wording,
};
pub use job_data::{
    Action, Arriving, Cache, Columns, Covered, Done, Fact, Input, Loaded, Makings, MessageTexts,
    ModelFacts, Past, RecallPassage, RoleName, Savings, Smaller, SpeakerName, Standing, Tokens,
};
pub use order::{
    AgeOrder, ClearToolsOp, Drop, Fit, FitOp, Handover, How, Insert, Merge, MessageNumber,
    OpRequest, Orders, PinOrder, Replace, Rollover, Summarize, SummarizeUserOp, Warn, WriteFile,
};
pub use played::{PlayOption, PlaySettings, PlayedConversation};
pub use renamed::{NameKind, OLD_API, RENAMED, RenamedName};
