//! `plugin.toml`: what a folder says of the plugin in it.
//!
//! Invariant: what is wrong in it is named with its line, and nothing is run to find out; the
//! schema decides, as for the configuration. Read where a profile is resolved.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use epitome_kernel::{HOOKS, nearest};
use epitome_lua::OptionShape;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::config::{ConfigError, Problem, Standalone, read_file};

/// The file that makes a folder a plugin.
pub(crate) const FILE: &str = "plugin.toml";

/// Milliseconds that a call may take where nothing is said.
const DEADLINE: u64 = 2000;

/// A plugin that is a program of its own.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// What it is for, in one sentence.
    #[serde(default)]
    pub(crate) doc: String,
    /// The program and its arguments. It starts in the plugin's folder, and paths begin there.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// What it provides beside hooks: `digest`.
    #[serde(default)]
    pub(crate) provides: Vec<Provided>,
    /// The hooks that it answers, where a profile puts it into its chain of policies.
    #[serde(default)]
    pub(crate) hooks: Vec<String>,
    /// Milliseconds that a call may take.
    #[serde(default = "deadline")]
    #[schemars(range(min = 1, max = 60000))]
    pub(crate) deadline_ms: u64,
    /// Variables of the environment that it asks for; it gets those that its user grants.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// What a profile may set for it, in `[profile.X.options.PLUGIN]`.
    #[serde(default)]
    pub(crate) options: BTreeMap<String, Declared>,
}

/// What a plugin provides beside hooks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Provided {
    Digest,
}

/// An option of a plugin.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declared {
    /// What holds where nobody sets it; another value is of the same type.
    #[serde(default)]
    pub(crate) default: Json,
    /// What it decides, with its unit.
    #[serde(default)]
    pub(crate) doc: String,
}

fn deadline() -> u64 {
    DEADLINE
}

impl Manifest {
    /// What stands in a plugin's folder.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or with everything in it that may not be said.
    pub(crate) fn read(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join(FILE);
        let text = read_file(&path)?;
        let (manifest, said) = Standalone::read::<Self>(&path, &text)?;
        let wrong = manifest.wrong();
        let problem = |(key, what): (&[&str], String)| Problem::new(said.place(&path, key), what);
        let wrong: Vec<_> = wrong.into_iter().map(problem).collect();
        if wrong.is_empty() { Ok(manifest) } else { Err(ConfigError::Invalid(wrong)) }
    }

    /// What no schema says: at which key, and why.
    fn wrong(&self) -> Vec<(&[&'static str], String)> {
        let mut wrong: Vec<(&[&str], String)> = Vec::new();
        if self.command.first().is_none_or(String::is_empty) {
            let what = "names no program; expected `command = [\"python3\", \"plugin.py\"]`";
            wrong.push((&["command"], what.to_owned()));
        }
        let leads_out = |word: &&String| {
            Path::new(word.as_str()).components().any(|part| part == Component::ParentDir)
        };
        if let Some(word) = self.command.iter().find(leads_out) {
            let what = format!(
                "`command` names `{word}`, which leads out of the plugin's folder; expected a file \
                 in it, or a program that is installed"
            );
            wrong.push((&["command"], what));
        }
        if self.provides.is_empty() && self.hooks.is_empty() {
            let what = "provides nothing; expected `provides = [\"digest\"]`, or `hooks`";
            wrong.push((&["provides"], what.to_owned()));
        }
        for hook in &self.hooks {
            let names = HOOKS.iter().map(|hook| hook.name);
            if names.clone().all(|name| name != hook) {
                let hint = match nearest(hook, names.clone()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("there is `{}`", names.collect::<Vec<_>>().join("`, `")),
                };
                wrong.push((&["hooks"], format!("there is no hook `{hook}`; {hint}")));
            }
        }
        for (name, option) in &self.options {
            if matches!(option.default, Json::Null | Json::Object(_)) {
                let what = format!(
                    "`options.{name}` has no value; expected `default` with a number, a text, \
                     true, false or a list"
                );
                wrong.push((&["options"], what));
            }
        }
        wrong
    }

    /// Its options, as those of policies are declared.
    pub(crate) fn declared(&self) -> Vec<OptionShape> {
        let shape =
            |(name, option): (&String, &Declared)| shape(name, &option.default, &option.doc);
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
