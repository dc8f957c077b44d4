//! What a plan does beside changing the prompt: files, and a handover to a fresh session.

use epitome_types::hook::{Handover, WriteFile};

/// What a plan does beside changing the prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanSideEffect {
    pub(crate) exports: Vec<WriteFile>,
    pub(crate) handover: Option<Handover>,
}

impl PlanSideEffect {
    /// The same of another plan, as far as it is something else.
    pub(crate) fn add(&mut self, exports: Vec<WriteFile>, handover: Option<Handover>) {
        let new = exports.into_iter().filter(|one| !self.exports.contains(one));
        self.exports.extend(new.collect::<Vec<_>>());
        self.handover = self.handover.take().or(handover);
    }
}
