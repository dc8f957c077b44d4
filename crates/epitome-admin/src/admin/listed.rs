//! Which sessions people mean: the conversations among all that was sent.
//!
//! Invariant: whatever was sent is recorded, and found under its name; a list alone passes over what
//! no model ever answered. Called by the command.

use epitome_kernel::StoreError;
use epitome_types::{Role, SessionInfo};

use super::{SessionAdmin, pages};

impl SessionAdmin {
    /// Whether a session is a conversation: a model answered in it, or nobody asked one. A request
    /// that was refused, and a probe, are none.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn is_answered(&self, info: &SessionInfo) -> Result<bool, StoreError> {
        if info.figures.answers > 0 || info.figures.turns == 0 {
            return Ok(true);
        }
        // A recording that is played, and a client that was elsewhere before, bring answers along.
        let mut is_answered = false;
        pages(&*self.journal, &self.scope, info, |page| {
            is_answered |= page.iter().any(|said| said.role == Role::Assistant);
            Ok(())
        })?;
        Ok(is_answered)
    }
}
