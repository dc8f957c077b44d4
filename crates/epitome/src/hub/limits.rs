//! How large a prompt providers take, as their refusals taught.
//!
//! Invariant: what is learned bounds the prompts of one tenant to one model through one API, in our
//! tokens, and is never a reason to refuse one.

use std::collections::HashMap;

use epitome_types::Overflow;
use epitome_wire::Format;

use super::Ask;
use super::conversations::History;

/// To whom a prompt speaks, and who pays for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spoken {
    tenant: String,
    format: Format,
    model: Option<String>,
}

/// What refusals taught, in tokens.
#[derive(Default)]
pub(super) struct Limits(HashMap<Spoken, u64>);

impl Spoken {
    pub(super) fn of(ask: &Ask, history: &History) -> Self {
        let (tenant, model) = (ask.tenant.clone(), history.scan.model.clone());
        Self { tenant, format: ask.format, model }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }
}

impl Limits {
    /// The limit, where it is known.
    pub(super) fn of(&self, spoken: &Spoken) -> Option<u64> {
        self.0.get(spoken).copied()
    }

    /// Learns from the refusal of a prompt that has so many tokens by our count. Gives what the next
    /// prompt may take; `share` of the refused one where nobody knows more.
    pub(super) fn learn(
        &mut self,
        spoken: &Spoken,
        tokens: u64,
        told: Overflow,
        share: f64,
    ) -> u64 {
        let lesson = Lesson::of(tokens, told, share);
        let Some(limit) = lesson.limit else { return lesson.next };
        let known = self.0.entry(spoken.clone()).or_insert(u64::MAX);
        *known = limit.min(*known);
        *known
    }
}

/// What a refusal teaches, in our tokens.
pub(crate) struct Lesson {
    /// The most that the next prompt may take.
    pub(crate) next: u64,
    /// The provider's limit, where it said so.
    pub(crate) limit: Option<u64>,
}

impl Lesson {
    /// Of the refusal of a prompt that has so many tokens by our count; `share` of them where
    /// nobody knows more.
    pub(crate) fn of(tokens: u64, told: Overflow, share: f64) -> Self {
        let less = (tokens as f64 * share) as u64;
        let Some(limit) = told.limit else { return Self { next: less, limit: None } };
        let ours = match told.size {
            // It counts in other tokens than we do.
            Some(size) if size > limit => {
                (u128::from(limit) * u128::from(tokens) / u128::from(size)) as u64
            }
            _ if limit < tokens => limit,
            _ => less,
        };
        let limit = limit.min(ours);
        Self { next: limit, limit: Some(limit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tokens: u64, limit: Option<u64>, size: Option<u64>, next: u64, learned: Option<u64>) {
        let spoken = Spoken { tenant: "t".into(), format: Format::OpenAi, model: None };
        let mut limits = Limits::default();
        assert_eq!(limits.learn(&spoken, tokens, Overflow { limit, size }, 0.75), next);
        assert_eq!(limits.of(&spoken), learned);
        let other = Spoken { tenant: "u".into(), ..spoken };
        assert_eq!(limits.of(&other), None);
    }

    #[test]
    fn a_limit_is_learned_in_our_tokens() {
        check(1000, Some(800), None, 800, Some(800));
        // We count 1000 where the provider counts 1250.
        check(1000, Some(1200), Some(1250), 960, Some(960));
        // We count more than it does: its limit is safe as it is.
        check(1000, Some(800), Some(900), 800, Some(800));
        // We believed that it would fit.
        check(1000, Some(1200), None, 750, Some(750));
        check(1000, None, Some(1250), 750, None);
        check(1000, None, None, 750, None);
    }
}
