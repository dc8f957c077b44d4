//! The mode of a session, as people set it: whoever serves the session goes by it with the next request.
//!
//! Invariant: it is an act like a change of goals, so it belongs to the history that it was set in. Called
//! by hosts.

use epitome_kernel::StoreError;
use epitome_types::{Actor, RecordedAction, SessionAction};
use serde::Serialize;

use super::SessionAdmin;
use crate::error::AdminError;
use crate::records::mode_of;

/// The mode of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionMode {
    /// The session.
    pub session: String,
    /// What it was set to; none where that was never done, or taken back.
    pub mode: Option<String>,
}

impl SessionAdmin {
    /// What the mode of a session was set to; without a name, of the one used last.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn mode(&self, session: Option<&str>) -> Result<SessionMode, AdminError> {
        let session = self.session(session)?.name;
        let mode = mode_of(&self.acts_in_force(&session)?);
        Ok(SessionMode { session, mode })
    }

    /// Sets the mode that policies are told of from the next request on, in whatever process that is
    /// served; `None` goes back to the mode of whoever serves it. It holds from the last answer on that
    /// is recorded.
    ///
    /// # Errors
    ///
    /// [`AdminError::NotBegun`] for a session that has no message yet, or when the journal cannot be
    /// written.
    pub fn set_mode(
        &self,
        session: Option<&str>,
        mode: Option<&str>,
        at: &str,
    ) -> Result<SessionMode, AdminError> {
        let known = self.mode(session).map_err(|error| match error {
            AdminError::Store(StoreError::NoSession { name, nearest }) => {
                AdminError::NotBegun { name, nearest }
            }
            error => error,
        })?;
        let mode = mode.map(|mode| self.profile.redaction.text(mode).into_owned());
        if known.mode == mode {
            return Ok(known);
        }
        let said_in = self.last_answer(&known.session)?;
        let act = SessionAction::Mode { mode, said_in };
        let acted = RecordedAction { act, by: Actor::User, at: at.to_owned() };
        self.journal.act(&self.scope, &known.session, &[acted])?;
        self.mode(Some(&known.session))
    }
}
