//! The modes that a profile knows, and what there is to say of another one.
//!
//! Invariant: a mode is known by a text for it, in the profile or in one of its policies; nothing is run
//! to find out. Asked by hosts where somebody names a mode.

use epitome_extensions::policies::PolicyRef;
use epitome_kernel::nearest;

use super::Profile;

/// How the prompts of a policy are named that are the texts of modes.
const TEXT_OF_MODE: &str = "mode-";

impl Profile {
    /// The modes that it has a text for, in the order of the alphabet.
    pub fn modes(&self) -> Vec<String> {
        let prompts = self.policies.named().flat_map(PolicyRef::prompts);
        let texts = prompts.filter_map(|name| name.strip_prefix(TEXT_OF_MODE).map(str::to_owned));
        let mut modes: Vec<String> = self.rules.prompts.keys().cloned().chain(texts).collect();
        modes.sort();
        modes.dedup();
        modes
    }

    /// What there is to say to somebody who asks for a mode that changes nothing; `None` where it is
    /// known, or where a policy of the user's own may know it.
    pub fn mode_problem(&self, mode: &str) -> Option<String> {
        let (modes, name) = (self.modes(), self.name());
        if modes.iter().any(|known| known == mode) {
            return None;
        }
        let meant = nearest(mode, modes.iter().map(String::as_str));
        if let Some(meant) = meant {
            return Some(format!(
                "the profile `{name}` has no mode `{mode}`; did you mean `{meant}`?"
            ));
        }
        let is_built_in = |policy: &&PolicyRef| policy.folder().is_none();
        let is_of_user =
            self.policies.has_others() || !self.policies.named().all(|it| is_built_in(&it));
        match modes.as_slice() {
            _ if is_of_user => None,
            [] => Some(format!(
                "the profile `{name}` has no modes, so the mode `{mode}` changes nothing; the profile \
                 `staged` has some, and a text at `profile.{name}.prompts.{mode}` makes one"
            )),
            modes => Some(format!(
                "the profile `{name}` has no mode `{mode}`; it has {}, and a text at \
                 `profile.{name}.prompts.{mode}` makes another",
                modes.iter().map(|mode| format!("`{mode}`")).collect::<Vec<_>>().join(", ")
            )),
        }
    }
}
