//! Which arm of an experiment a conversation belongs to.
//!
//! Invariant: who belongs where is the host's to say, once for each conversation; the proxy goes by it.
//! Called by `prepare` for each request of a conversation.

use std::sync::Arc;

use epitome::{PaidArm, RoutedRequest, SessionRouter};

/// Says which arm a conversation belongs to.
pub trait ArmChooser: Send + Sync {
    /// The arm of the conversation that a request belongs to; none where that takes part in no
    /// experiment. It may block, and what it said once of a conversation it always says.
    fn arm_of(&self, request: &ArmRequest<'_>) -> Option<ChosenArm>;
}

/// A request, and what a chooser goes by besides.
#[derive(Clone, Copy, Debug)]
pub struct ArmRequest<'r> {
    /// The request.
    pub ask: &'r RoutedRequest,
    /// Whether it may begin a conversation; a count does not.
    pub begins: bool,
}

/// The arm that a conversation belongs to.
#[derive(Clone)]
pub struct ChosenArm {
    /// What the ledger knows it by.
    pub paid: PaidArm,
    /// The conversations of the arm.
    pub hub: Arc<SessionRouter>,
    /// Whether every request goes out as it came.
    pub holds_out: bool,
}
