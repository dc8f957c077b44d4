//! Profiles: the numbers and texts of a compression, by name.
//!
//! Invariant: no number stands in the code; every key of a profile's `options.toml` must be there
//! and none beside them. Read by the compressor.

use epitome_kernel::{ArriveOptions, CachePrices, CompressOptions, Envelope, Rung, Texts};
use epitome_types::{ContentId, Style};
use epitome_wire::Format;
use serde::Deserialize;

use crate::session::Redaction;

/// The profiles that are compiled in: name and options.
const SHIPPED: [(&str, &str); 1] =
    [("default", include_str!("../../../policies/default/options.toml"))];

/// The hook that is asked for a plan, as reports name it.
const HOOK: &str = "plan";

/// The numbers and texts of a compression.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: String,
    pub(crate) options: Options,
    pub(crate) redaction: Redaction,
}

/// Why there is no such profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No profile has this name.
    #[error("unknown profile `{name}`; there is `{}`", Profile::names().collect::<Vec<_>>().join("`, `"))]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// Its options cannot be read.
    #[error("profile `{name}`: line {line} of its options: {cause}")]
    Options {
        /// The profile.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there, and what was expected.
        cause: String,
    },
}

impl Profile {
    /// The names of the profiles that are compiled in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.into_iter().map(|(name, _)| name)
    }

    /// A profile that is compiled in.
    ///
    /// # Errors
    ///
    /// When there is none of this name.
    pub fn shipped(name: &str) -> Result<Self, ProfileError> {
        let (name, text) = SHIPPED
            .into_iter()
            .find(|(shipped, _)| *shipped == name)
            .ok_or_else(|| ProfileError::Unknown { name: name.to_owned() })?;
        Self::parse(name, text)
    }

    /// A profile from the text of its `options.toml`.
    ///
    /// # Errors
    ///
    /// When a key is missing, unknown or of the wrong type; the message names the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let options: Options = toml::from_str(text).map_err(|error| ProfileError::Options {
            name: name.to_owned(),
            line: error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count()),
            cause: error.message().to_owned(),
        })?;
        let redaction = Redaction::new(&options.redact.patterns).map_err(|cause| {
            let line = text.lines().position(|line| line.trim_start().starts_with("patterns"));
            let (name, line) = (name.to_owned(), line.unwrap_or_default() + 1);
            ProfileError::Options { name, line, cause: cause.to_string() }
        })?;
        Ok(Self { name: name.to_owned(), options, redaction })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it takes a cached token to cost, against one that is not (hazard 14).
    pub fn cache_prices(&self) -> CachePrices {
        CachePrices { read: self.options.cache.read, write: self.options.cache.write }
    }

    /// The hash of its effective options, overrides included: equal options, equal hash.
    pub fn config(&self) -> String {
        // Debug prints every field, and unlike a serialiser it cannot fail.
        format!("b3:{}", ContentId::of(&format!("{:?}", self.options)))
    }

    /// How large results are made smaller on arrival under a limit, in tokens.
    pub(crate) fn arrive(&self, limit: u64) -> ArriveOptions {
        let Options { arrive, compress, texts, .. } = &self.options;
        let share = |share: f64| (limit as f64 * share) as u64;
        ArriveOptions {
            digest_from: arrive.digest_from,
            digest_share: arrive.digest_share,
            offload_above: arrive.offload_above.min(share(arrive.offload_share)),
            preview: arrive.preview.min(share(arrive.preview_share)),
            exempt: arrive.exempt.clone(),
            marker: texts.stored.marker.clone(),
            passage_bytes: compress.passage_bytes,
        }
    }

    /// What the kernel is told. Texts name a way back only where something is `stored`
    /// (hazard 19).
    pub(crate) fn compress(&self, stored: bool, envelope: Envelope) -> CompressOptions {
        let Options { compress, texts, .. } = &self.options;
        let words = if stored { &texts.stored } else { &texts.bare };
        CompressOptions {
            keep_recent_share: compress.keep_recent_share,
            keep_recent_slack: compress.keep_recent_slack,
            keep_recent_messages: compress.keep_recent_messages,
            minimum_gain: compress.minimum_gain,
            digest_tokens: compress.digest_tokens,
            style: compress.style.into(),
            passages: stored,
            passage_bytes: compress.passage_bytes,
            ladder: compress.ladder.iter().copied().map(Into::into).collect(),
            texts: Texts {
                label: words.label.clone(),
                label_short: words.label_short.clone(),
                label_share: compress.label_share,
                marker: words.marker.clone(),
                stub: words.stub.clone(),
                line_chars: compress.line_chars,
            },
            envelope,
            policy: self.name.clone(),
            hook: HOOK.to_owned(),
        }
    }
}

/// The profile for those who choose none.
impl Default for Profile {
    #[expect(clippy::expect_used, reason = "the text is compiled in, and a test parses it")]
    fn default() -> Self {
        Self::shipped("default").expect("the options of a shipped profile are sound")
    }
}

/// The whole of an `options.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    pub(crate) trigger: Trigger,
    pub(crate) limit: Limit,
    pub(crate) cache: Cache,
    pub(crate) arrive: Arrive,
    pub(crate) snapshots: Snapshots,
    pub(crate) redact: Redact,
    pub(crate) compress: Compress,
    pub(crate) texts: Wording,
}

/// When a prompt is compressed without being told to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trigger {
    /// Share of the limit from which on a live conversation warns.
    pub(crate) warn: f64,
    /// Share of the limit from which on it is.
    pub(crate) soft: f64,
    /// Share of the limit down to which it is.
    pub(crate) target: f64,
}

/// How large a prompt may be where nobody says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limit {
    /// Share of a context size that is left to the prompt.
    pub(crate) size_share: f64,
    /// Tokens of the limit that a live conversation leaves to the answer.
    pub(crate) reserve: u64,
    /// The most of the limit that the reserve may be.
    pub(crate) reserve_share: f64,
    anthropic: u64,
    openai: u64,
}

impl Limit {
    /// What is guessed for a provider's format, in tokens (SPEC 4.6).
    pub(crate) fn guess(&self, format: Format) -> u64 {
        match format.nearest() {
            Format::Anthropic => self.anthropic,
            _ => self.openai,
        }
    }
}

/// What a token costs that the provider has cached, against one that it has not (hazard 14).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    /// Read from the cache.
    pub(crate) read: f64,
    /// Written to it.
    pub(crate) write: f64,
}

/// What is made smaller before it is first sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arrive {
    digest_from: u64,
    digest_share: f64,
    offload_above: u64,
    offload_share: f64,
    preview: u64,
    preview_share: f64,
    exempt: Vec<String>,
}

/// Restore points that nobody asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshots {
    /// Whether one is made before each compression.
    pub(crate) auto: bool,
    /// How many of them a session keeps.
    pub(crate) keep: usize,
}

/// What is never recorded.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Redact {
    /// Regular expressions.
    pub(crate) patterns: Vec<String>,
}

/// How a prompt is compressed; the kernel's options, as TOML spells them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compress {
    pub(crate) style: StyleName,
    keep_recent_share: f64,
    keep_recent_slack: f64,
    #[serde(default)]
    pub(crate) keep_recent_messages: Option<usize>,
    digest_tokens: u64,
    label_share: f64,
    pub(crate) minimum_gain: f64,
    passage_bytes: usize,
    line_chars: usize,
    ladder: Vec<RungName>,
}

/// The texts, with and without a way back.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wording {
    stored: Words,
    bare: Words,
}

/// The texts that stand where something left.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    label: String,
    label_short: String,
    marker: String,
    stub: String,
}

/// [`Style`], as TOML spells it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StyleName {
    Verbatim,
    Brief,
}

impl From<StyleName> for Style {
    fn from(name: StyleName) -> Self {
        match name {
            StyleName::Verbatim => Style::Verbatim,
            StyleName::Brief => Style::Brief,
        }
    }
}

impl From<Style> for StyleName {
    fn from(style: Style) -> Self {
        match style {
            Style::Verbatim => StyleName::Verbatim,
            Style::Brief => StyleName::Brief,
        }
    }
}

/// [`Rung`], as TOML spells it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RungName {
    Results,
    Inputs,
    Stubs,
    Lower,
    Merge,
    FoldUser,
    Chunks,
    SmallerTail,
}

impl From<RungName> for Rung {
    fn from(name: RungName) -> Self {
        match name {
            RungName::Results => Rung::Results,
            RungName::Inputs => Rung::Inputs,
            RungName::Stubs => Rung::Stubs,
            RungName::Lower => Rung::Lower,
            RungName::Merge => Rung::Merge,
            RungName::FoldUser => Rung::FoldUser,
            RungName::Chunks => Rung::Chunks,
            RungName::SmallerTail => Rung::SmallerTail,
        }
    }
}

#[cfg(test)]
mod tests {
    use epitome_count::VocabularyCounter;
    use epitome_kernel::Counter;

    use super::*;

    const TEXT: &str = SHIPPED[0].1;

    #[test]
    fn shipped_profiles_are_sound() {
        for name in Profile::names() {
            assert_eq!(Profile::shipped(name).map(|profile| profile.name), Ok(name.to_owned()));
        }
        let error = Profile::shipped("defualt").unwrap_err().to_string();
        assert_eq!(error, "unknown profile `defualt`; there is `default`");
    }

    /// They are paid for with every request; an id is 3 to 8 tokens of them.
    #[test]
    fn labels_are_short() {
        let texts = Profile::default().options.texts;
        for label in [&texts.stored.label, &texts.bare.label] {
            let ids = (0..200).map(|number| ContentId::of(&format!("{number}")).short());
            let labels = ids.map(|id| label.replace("{id}", &id));
            let tokens: u64 = labels.map(|label| VocabularyCounter::default().count(&label)).sum();
            assert!(tokens <= 14 * 200, "{label}: {} on average", tokens as f64 / 200.0);
        }
    }

    #[test]
    fn only_what_is_stored_names_a_way_back() {
        let texts = Profile::default().options.texts;
        let Words { label, label_short, marker, stub } = &texts.stored;
        assert!([label, marker, stub].iter().all(|text| text.contains("epitome recall {id}")));
        assert!(label_short.contains("{id}"));
        let Words { label, label_short, marker, stub } = &texts.bare;
        let bare = [label, label_short, marker, stub];
        assert!(bare.iter().all(|text| !text.contains("recall") && !text.contains("{id}")));
    }

    fn check_refused(text: &str, expected: &str) {
        let error = Profile::parse("mine", text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn mistakes_in_options_name_their_line() {
        let at = |line: &str| 1 + TEXT.lines().position(|found| found.starts_with(line)).unwrap();
        let misspelt = TEXT.replace("soft =", "sift =");
        let line = at("soft =");
        check_refused(
            &misspelt,
            &format!("profile `mine`: line {line} of its options: unknown field `sift`"),
        );
        let wrong = TEXT.replace("\"chunks\"", "\"chunk\"");
        let line = at("ladder =");
        check_refused(
            &wrong,
            &format!("profile `mine`: line {line} of its options: unknown variant `chunk`"),
        );
        let missing = TEXT.replace("openai = 128000", "");
        check_refused(
            &missing,
            &format!(
                "profile `mine`: line {} of its options: missing field `openai`",
                at("[limit]")
            ),
        );
    }

    #[test]
    fn the_hash_tells_options_apart() {
        let (one, same) = (Profile::default(), Profile::default());
        assert_eq!(one.config(), same.config());
        assert!(one.config().starts_with("b3:"));
        let mut other = Profile::default();
        other.options.compress.keep_recent_messages = Some(4);
        assert_ne!(one.config(), other.config());
    }
}
