//! `plugin.toml`: what a folder says of the plugin in it.
//!
//! Invariant: what is wrong in it is named with its line, and nothing is run to find out; the
//! schema decides, as for the configuration. Read where a profile is resolved.

#[cfg(feature = "find")]
mod reading;

use std::collections::BTreeMap;

use epitome_lua::OptionShape;
use serde::Deserialize;
use serde_json::Value as Json;

/// The file that makes a folder a plugin.
pub(crate) const FILE: &str = "plugin.toml";

/// A plugin that is a program of its own, or a module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "find", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// What it is for, in one sentence.
    #[serde(default)]
    pub(crate) doc: String,
    /// The program and its arguments. It starts in the plugin's folder, and paths begin there.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// In the place of a program: the file of a module of WebAssembly in the plugin's folder, as
    /// `plugin.wasm`, or `plugin.wat` in the text format.
    #[serde(default)]
    pub(crate) module: Option<String>,
    /// What it provides beside hooks: `digest`.
    #[serde(default)]
    pub(crate) provides: Vec<Provided>,
    /// The hooks that it answers, where a profile puts it into its chain of policies.
    #[serde(default)]
    pub(crate) hooks: Vec<String>,
    /// Milliseconds that a call of a program may take [default: 2000].
    #[serde(default)]
    #[cfg_attr(feature = "find", schemars(range(min = 1, max = 60000)))]
    pub(crate) deadline_ms: Option<u64>,
    /// Millions of steps that a call of a module may take [default: 500].
    #[serde(default)]
    #[cfg_attr(feature = "find", schemars(range(min = 1, max = 100000)))]
    pub(crate) fuel: Option<u64>,
    /// MiB of memory that a program, or a call of a module, may take.
    #[serde(default)]
    #[cfg_attr(feature = "find", schemars(range(min = 1, max = 65536)))]
    pub(crate) memory_mb: Option<u64>,
    /// What a program needs to do besides reading: `network`, `files` to write them. The kernel of
    /// Linux keeps it from what it does not name.
    #[serde(default)]
    pub(crate) needs: Vec<Needed>,
    /// Variables of the environment that it asks for; it gets those that its user grants.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// What a profile may set for it, in `[profile.X.options.PLUGIN]`.
    #[serde(default)]
    pub(crate) options: BTreeMap<String, ManifestOption>,
}

/// What a plugin provides beside hooks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "find", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "find", schemars(inline))]
pub(crate) enum Provided {
    Digest,
}

/// What a program needs to do.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "find", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "find", schemars(inline))]
pub(crate) enum Needed {
    Network,
    Files,
}

impl Needed {
    /// As a manifest says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Files => "files",
        }
    }
}

/// An option of a plugin.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "find", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestOption {
    /// What holds where nobody sets it; another value is of the same type.
    #[serde(default)]
    pub(crate) default: Json,
    /// What it decides, with its unit.
    #[serde(default)]
    pub(crate) doc: String,
}

impl Manifest {
    /// Its options, as those of policies are declared.
    pub(crate) fn declared(&self) -> Vec<OptionShape> {
        let shape =
            |(name, option): (&String, &ManifestOption)| shape(name, &option.default, &option.doc);
        self.options.iter().map(shape).collect()
    }
}

/// An option that takes values of the type of its default.
pub(super) fn shape(name: &str, default: &Json, doc: &str) -> OptionShape {
    let kind = match default {
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        _ => "list",
    };
    OptionShape {
        name: name.to_owned(),
        kind,
        default: default.clone(),
        min: None,
        max: None,
        one_of: Vec::new(),
        doc: (!doc.is_empty()).then(|| doc.to_owned()),
    }
}
