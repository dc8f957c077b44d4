//! What policies failed at last, in the sessions that were used last.
//!
//! Invariant: of a session only what its policies noted is read, and of another tenant nothing.

use std::collections::BTreeMap;

use epitome_types::{PolicyFault, SessionInfo};

use super::{OverviewFilter, SessionAdmin};
use crate::error::AdminError;

/// A failure of a policy, and the session it happened in.
#[derive(Clone, Debug)]
pub struct SeenFault {
    /// The failure.
    pub fault: PolicyFault,
    /// The scope of the session.
    pub scope: String,
    /// The session.
    pub session: SessionInfo,
}

impl SessionAdmin {
    /// The last failure of each policy, by its name, in the `most` sessions that were used last.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn policy_faults(&self, most: usize) -> Result<BTreeMap<String, SeenFault>, AdminError> {
        let mut faults: BTreeMap<String, SeenFault> = BTreeMap::new();
        for (keeper, session) in self.used_last(&OverviewFilter::default(), most)? {
            for (note, text) in keeper.journal.memos(&keeper.scope, &session.name)? {
                let Some(policy) = PolicyFault::policy_of(&note) else { continue };
                // What a later program wrote in another form is not known.
                let Ok(fault) = serde_json::from_str::<PolicyFault>(&text) else { continue };
                if faults.get(policy).is_none_or(|known| known.fault.at < fault.at) {
                    let (scope, session) = (keeper.scope.clone(), session.clone());
                    faults.insert(policy.to_owned(), SeenFault { fault, scope, session });
                }
            }
        }
        Ok(faults)
    }
}
