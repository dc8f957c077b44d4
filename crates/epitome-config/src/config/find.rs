//! Policies by themselves, whether or not a profile asks them.
//!
//! Invariant: a policy is found here exactly where a profile would find it; nothing is run. Called
//! by those who list, check and test policies.

use epitome_extensions::policies::{PolicyRef, is_shipped};
use epitome_extensions::stated::StatedOptions;

use super::chain::NamedPolicy;
use super::{Config, ConfigError};
use crate::profile::Profile;

impl Config {
    /// Every policy there is, each name once: the one that is asked where the name is used.
    pub fn policies(&self) -> Vec<PolicyRef> {
        let names = self.extensions.policies.names();
        let found = |name: &String| {
            self.extensions.policies.find(name).or_else(|| self.extensions.policies.barred(name))
        };
        names
            .iter()
            .filter_map(found)
            .map(|it| PolicyRef::new(it, StatedOptions::default()))
            .collect()
    }

    /// Whether a policy of this name is shipped, whatever hides it.
    pub fn ships_policy(name: &str) -> bool {
        is_shipped(name)
    }

    /// The profile that a policy makes with what it extends, whichever policies the tables of its
    /// name list.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`], and when there is no policy of this name.
    pub fn profile_of_policy(&self, name: &str) -> Result<Profile, ConfigError> {
        let place = format!("policy `{name}`");
        if self.extensions.policies.find(name).is_none() {
            return Err(self.missing(name, &place));
        }
        let figment = self.figment(name)?;
        let mut chain = Vec::new();
        self.extend(NamedPolicy { name: name.to_owned(), place }, &figment, &mut chain)?;
        self.made(name, &figment, chain)
    }
}
