//! Asking for a compression (RULES 35).
//!
//! Invariant: nothing is compressed here. The ask is pending until the session's next request
//! looked at it, however many there are, and whoever asked.

use epitome_types::SessionAction;
use serde::Serialize;

use super::SessionControls;
use crate::error::AdminError;

/// A compression was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompressionRequest {
    /// The session.
    pub session: String,
    /// Whether the next request looks at it.
    pub pending: bool,
}

impl SessionControls {
    /// Asks for a compression with the next request, in the name of a tool.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`], or when the journal cannot be written.
    pub fn request_compression(
        &self,
        session: Option<&str>,
        tool: &str,
    ) -> Result<CompressionRequest, AdminError> {
        let addressed = self.addressed(session)?;
        self.act(&addressed, vec![SessionAction::Ask { tool: tool.to_owned() }])?;
        Ok(CompressionRequest { session: addressed.info.name, pending: true })
    }
}
