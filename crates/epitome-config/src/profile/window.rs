//! The window that a profile comes to: what it states, else what is known of the model, else a guess.
//!
//! Invariant: pure; a guess is never taken for a statement. Asked where the bounds of a prompt are
//! worked out.

use epitome_types::hook::ModelFacts;
use epitome_wire::Format;

use super::Profile;
use crate::limits::{LimitSource, PromptLimit, SessionBounds, WindowSetting, share};
use crate::models::KnownModel;

impl WindowSetting {
    /// The limit that prompts in this format are held to under a profile, in tokens.
    pub fn limit(self, profile: &Profile, format: Format) -> u64 {
        self.known(profile, format, None).limit
    }

    /// The same of prompts to a model, by the name that a request gives it, with who says so.
    pub fn known(self, profile: &Profile, format: Format, model: Option<&str>) -> PromptLimit {
        let model = profile.addressee(model);
        match self.stated(profile, model) {
            Some(limit) => PromptLimit { limit, source: LimitSource::User },
            None => profile.guess(format, model),
        }
    }

    /// The provider's limit, where somebody said what it is.
    fn stated(self, profile: &Profile, model: Option<&str>) -> Option<u64> {
        match self {
            WindowSetting::Guessed => None,
            WindowSetting::Size(size) => {
                let listed = model.and_then(|model| profile.table.left_of(size, model));
                Some(listed.unwrap_or_else(|| share(size, profile.options.limit.size_share)))
            }
            WindowSetting::Limit(limit) => Some(limit),
        }
    }
}

impl Profile {
    /// The limit that it states, or else assumes, in tokens.
    pub fn limit(&self, format: Format) -> u64 {
        self.window().limit(self, format)
    }

    /// The model by whose entry in the model table windows go: the one that was asked for by name,
    /// that tokens are counted as, or that a request names.
    fn addressee<'a>(&'a self, of_request: Option<&'a str>) -> Option<&'a str> {
        self.stated.window_of.as_deref().or(self.model()).or(of_request)
    }

    /// What policies are told of the model that a request names.
    pub fn facts(
        &self,
        of_request: Option<&str>,
        window: WindowSetting,
        live: &SessionBounds,
    ) -> ModelFacts {
        let entry = self.addressee(of_request).and_then(|model| self.table.of(model));
        ModelFacts {
            name: of_request.map(str::to_owned),
            size: window.size(),
            limit: live.limit,
            stated: live.stated,
            sizes: entry.map(KnownModel::sizes).unwrap_or_default(),
            billions: entry.and_then(|entry| entry.billions),
        }
    }

    /// The limit that is assumed for a model where nobody states one: a guess (RULES 31).
    fn guess(&self, format: Format, model: Option<&str>) -> PromptLimit {
        let entry = model.and_then(|model| self.table.of(model)).filter(|entry| entry.is_fixed());
        match entry {
            Some(entry) => PromptLimit { limit: entry.window, source: LimitSource::Table },
            None => {
                let limit = self.options.limit.guess(format);
                PromptLimit { limit, source: LimitSource::Default }
            }
        }
    }
}
