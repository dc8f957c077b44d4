//! The question for a digest, its answer, and what is said where there is none.
//!
//! Invariant: a job holds all that an answer may depend on. Made by hosts, answered by plugins.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::Value;

/// A tool's result that should become smaller.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct DigestInput<'a> {
    /// The tool that gave it; a hint, what counts is the text.
    pub tool: &'a str,
    /// The arguments of the call, as the model wrote them; a hint too.
    pub arguments: &'a str,
    /// The result. It is no error: those are never made smaller.
    pub text: &'a str,
    /// The most that the digest may take, by [`Self::size`].
    pub most: u64,
    /// What sizes a text in the unit of `most`.
    measure: &'a (dyn Fn(&str) -> u64 + Sync),
    /// What the profile sets for the plugin; an object, or `null` where it sets nothing.
    pub options: &'a Value,
}

impl<'a> DigestInput<'a> {
    /// A result of an unnamed tool, without options.
    #[must_use]
    pub fn new(text: &'a str, most: u64, measure: &'a (dyn Fn(&str) -> u64 + Sync)) -> Self {
        Self { tool: "", arguments: "", text, most, measure, options: &Value::Null }
    }

    /// The same as the result of a call.
    #[must_use]
    pub fn of(self, tool: &'a str, arguments: &'a str) -> Self {
        Self { tool, arguments, ..self }
    }

    /// The same with what the profile sets for the plugin.
    #[must_use]
    pub fn with(self, options: &'a Value) -> Self {
        Self { options, ..self }
    }

    /// The size of a text in the unit of `most`: tokens, as a rule.
    #[must_use]
    pub fn size(&self, text: &str) -> u64 {
        (self.measure)(text)
    }

    /// A whole number that the profile sets, or else the default.
    #[must_use]
    pub fn number(&self, option: &str, default: u64) -> u64 {
        self.options.get(option).and_then(Value::as_u64).unwrap_or(default)
    }
}

impl fmt::Debug for DigestInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestInput")
            .field("tool", &self.tool)
            .field("arguments", &self.arguments)
            .field("text", &self.text)
            .field("most", &self.most)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What may stand in the place of a tool's result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestOutput {
    /// The text, without the marker that names the original. What is not the result's own stands
    /// in `[… ]`.
    pub text: String,
    /// What the result was taken for, in a word or two: `json`, `log`, `test run`.
    pub kind: Cow<'static, str>,
    /// Where the original says what the digest leaves out: byte ranges in order that do not
    /// overlap, on character boundaries.
    pub left: Vec<Range<usize>>,
}

/// Why there is no answer, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginFailure {
    /// What went wrong.
    pub cause: String,
    /// What helps; empty where nobody knows.
    pub remedy: String,
}

impl PluginFailure {
    /// A failure without advice.
    #[must_use]
    pub fn new(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: String::new() }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl fmt::Display for PluginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

impl std::error::Error for PluginFailure {}
