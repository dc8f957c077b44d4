//! How a session stands, for the agent that is in it.
//!
//! Invariant: short, since it is read in a prompt; what people want to know besides is in
//! [`SessionAdmin::status`](crate::admin::SessionAdmin::status).

use epitome_kernel::goals;
use epitome_types::EntryId;
use serde::Serialize;

use super::{Addressed, SessionControls};
use crate::admin::{SessionAdmin, WatermarkStatus, WindowLevel, pending};
use crate::error::AdminError;
use crate::records::chosen;

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextStatus {
    /// The session.
    pub session: String,
    /// How full the window is.
    #[serde(flatten)]
    pub window: WindowUse,
    /// Tokens that compression took out of the newest prompt.
    pub saved: u64,
    /// Compressions that are in force or came before.
    pub compressions: u32,
    /// The goal that is worked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The names of the augments that are active.
    pub augments: Vec<String>,
    /// The entries that are pinned by hand.
    pub pinned: Vec<String>,
    /// Who asked for a compression that the next request looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Where the watermark stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermark: Option<WatermarkStatus>,
    /// What to do.
    pub advice: String,
    /// More, as the profile's policies report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// How full the window of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowUse {
    /// Tokens of the newest prompt, as it was sent.
    pub used: u64,
    /// The limit that it was held to.
    pub limit: u64,
    /// The share of the limit in use, in percent.
    pub percent: u64,
    /// How full that is.
    pub level: WindowLevel,
}

impl SessionControls {
    /// How a session stands.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`].
    pub fn status(&self, session: Option<&str>) -> Result<ContextStatus, AdminError> {
        let addressed = self.addressed(session)?;
        let (history, acts) = (addressed.history()?, addressed.acts()?);
        let Addressed { keeper, info } = addressed;
        let status = keeper.status_of(&info)?;
        let [came, used] = status.sums.tokens;
        let library = self.augments.read();
        let active = library.active(&chosen(&acts));
        let goals = goals::project(&acts).goals;
        Ok(ContextStatus {
            session: info.name.clone(),
            window: WindowUse {
                used,
                limit: status.window.limit,
                percent: status.window.percent,
                level: status.window.level,
            },
            saved: came.saturating_sub(used),
            compressions: status.savings.compressions,
            goal: goals.active().map(|goal| goal.text.clone()),
            augments: active.augments.iter().map(|one| one.augment.name.clone()).collect(),
            pinned: history.pinned().iter().map(EntryId::to_string).collect(),
            asked: pending(&acts).map(str::to_owned),
            watermark: WatermarkStatus::of(&acts, history.keys()),
            advice: status.recommendation,
            report: self.report(&keeper, &info.name),
        })
    }
    /// What the policies report; nothing where they cannot be asked.
    fn report(&self, keeper: &SessionAdmin, session: &str) -> Option<String> {
        match keeper.report(Some(session), &(self.clock)()) {
            Ok(said) => said.and_then(|said| said.report),
            Err(error) => {
                tracing::warn!(%error, "the profile's policies report nothing");
                None
            }
        }
    }
}
