//! What a plugin says about itself.
//!
//! Invariant: plain data; whether a host believes it is the host's business. Made by authors, read
//! by hosts and by the command.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a plugin is called and what it provides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PluginInfo {
    /// What profiles call it: small letters, digits and `-`, a letter first.
    pub name: Cow<'static, str>,
    /// The version of its answers: a new one where they change.
    pub version: Cow<'static, str>,
    /// What it is for, in one sentence.
    #[serde(default)]
    pub doc: Cow<'static, str>,
    /// Whether it digests tool results.
    #[serde(default)]
    pub digest: bool,
    /// The hooks that it answers.
    #[serde(default)]
    pub hooks: Vec<Cow<'static, str>>,
    /// What a profile may set for it.
    #[serde(default)]
    pub options: Vec<PluginOption>,
}

/// An option of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PluginOption {
    /// Its key in `[profile.X.options.PLUGIN]`.
    pub name: Cow<'static, str>,
    /// What holds where nobody sets it; its type is the option's.
    pub default: Value,
    /// What it decides, with its unit.
    #[serde(default)]
    pub doc: Cow<'static, str>,
}

impl PluginInfo {
    /// A plugin that provides nothing yet.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, version: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }

    /// The same with a sentence about what it is for.
    #[must_use]
    pub fn with_doc(mut self, doc: impl Into<Cow<'static, str>>) -> Self {
        self.doc = doc.into();
        self
    }

    /// The same, digesting tool results.
    #[must_use]
    pub fn with_digest(mut self) -> Self {
        self.digest = true;
        self
    }

    /// The same, answering one more hook.
    #[must_use]
    pub fn with_hook(mut self, hook: impl Into<Cow<'static, str>>) -> Self {
        self.hooks.push(hook.into());
        self
    }

    /// The same with one more option.
    #[must_use]
    pub fn with_option(
        mut self,
        name: impl Into<Cow<'static, str>>,
        default: impl Into<Value>,
        doc: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.options.push(PluginOption {
            name: name.into(),
            default: default.into(),
            doc: doc.into(),
        });
        self
    }
}
