//! Hooks: what a policy is asked, and what it answers.
//!
//! Invariant: plain data, declared once; editor stubs, the reference, the checks of answers and
//! the JSON schema all follow from it. A job never holds a text of the conversation where it is
//! serialised: texts are read through the fields that are left out there.

mod answer;
mod job;
mod job_data;
mod order;
mod shape;

pub use answer::{
    Ageing, Arrive, Budgets, Drift, Due, Found, FoundKind, Line, Noted, Observe, Passed, Position,
    Prompt, Rejected, Render, Seconded, Section, Status, Stop, Strength, TriggerAnswer,
    VerifyAnswer, Way,
};
pub use job::{
    AgeJob, ArriveJob, BudgetsJob, Common, EventJob, GoalsJob, ObserveJob, Occasion, PlanJob,
    PromptJob, Purpose, RenderJob, StatusJob, TriggerJob, VerifyJob, Wording,
};
pub use job_data::{
    Action, Arriving, Cache, Columns, Covered, Done, Fact, Input, Loaded, Makings, MessageTexts,
    ModelFacts, Past, Savings, Smaller, Standing, Tokens,
};
pub use order::{
    AgeOrder, Drop, Export, Fit, FoldUser, Handover, How, Insert, Merge, MessageNumber, OpRequest,
    Orders, PinOrder, Replace, Rollover, Strip, Summarize, Warn,
};
pub use shape::{FieldShape, HasShape, HasTableShape, INLINE, TableShape, ValueShape};
pub(crate) use shape::{table, words};
