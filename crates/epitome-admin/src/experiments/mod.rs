//! Experiments on live sessions, as a store has them: who got which arm, what came of it, and what was
//! stopped.
//!
//! Invariant: a unit is recorded once and keeps its arm, whichever process asks and whatever the
//! configuration says by then. Nothing of a conversation is in a record: a unit is a hash. Proxies
//! record; the command reads.

mod arm_figures;
mod around;
mod calls;
mod collect;
mod corrections;
mod figures;
mod guardrail;
mod pairs;
mod record;
mod report;
mod shadow;
mod split;
mod words;

pub use self::arm_figures::{ArmFigures, ArmMetric, MetricEffect, MetricUnit};
pub use self::collect::{UnitFigures, collect_histories, collect_units};
pub use self::guardrail::{TrippedGuardrail, tripped_guardrails};
pub use self::record::{ExperimentBook, StopRecord, TableOrigin, UnitRecord, experiment_unit};
pub use self::report::{ArmReport, ExperimentReport, ExperimentVerdict};
pub use self::shadow::{HeldOutSession, ShadowReplay, ShadowSession, shadow_profile};
pub use self::split::SplitCheck;
