//! What is found that somebody names without its profile.
//!
//! Invariant: what a prompt or a line of a screen names is found whatever profile recorded it, and
//! nothing outside of what may be read is (RULES 14, [`epitome_config::scope::ScopeOwner`]).

use epitome_config::profile::Profile;
use epitome_kernel::StoreError;

use super::SessionAdmin;

impl SessionAdmin {
    /// The scopes that are looked through for an id or a query, its own first.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn scopes(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.readers()?.into_iter().map(|reader| reader.scope).collect())
    }

    /// The name of the profile that records in its scope.
    pub fn recorder(&self) -> &str {
        self.owner.profile_of(&self.scope).unwrap_or_else(|| self.profile.name())
    }

    /// The same sessions, looked after as the profile says which recorded them, where `find` knows
    /// it by its name.
    #[must_use]
    pub fn as_recorded(self, find: impl FnOnce(&str) -> Option<Profile>) -> Self {
        let recorder = self.recorder();
        let known = (recorder != self.profile.name()).then(|| find(recorder)).flatten();
        match known {
            Some(profile) => self.as_of(profile),
            None => self,
        }
    }

    /// The same sessions, looked after as another profile says.
    #[must_use]
    pub fn as_of(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }
}
