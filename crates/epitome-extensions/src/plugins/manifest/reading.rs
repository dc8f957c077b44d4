//! Reads a manifest, and finds what is wrong in it.
//!
//! Invariant: nothing is run to find out; what no schema says is said here. Called by the shelves.

use std::path::{Component, Path};

use epitome_kernel::{ApiNames, HOOKS, nearest};
use epitome_types::hook::{NameKind, OLD_API};
use serde_json::Value as Json;

use super::{FILE, Manifest};
use crate::problem::{ConfigError, ConfigProblem};
use crate::toml_file::{StandaloneToml, read_text};

impl Manifest {
    /// What stands in a plugin's folder.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or with everything in it that may not be said.
    pub(crate) fn read(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join(FILE);
        let text = read_text(&path, "a manifest", "a plugin")?;
        let (manifest, said) = StandaloneToml::read::<Self>(&path, &text)?;
        let wrong = manifest.wrong();
        let problem =
            |(key, what): (&[&str], String)| ConfigProblem::new(said.place(&path, key), what);
        let wrong: Vec<_> = wrong.into_iter().map(problem).collect();
        if wrong.is_empty() { Ok(manifest) } else { Err(ConfigError::Invalid(wrong)) }
    }

    /// What no schema says: at which key, and why.
    fn wrong(&self) -> Vec<(&[&'static str], String)> {
        let mut wrong: Vec<(&[&str], String)> = Vec::new();
        match &self.module {
            Some(module) => wrong.extend(self.wrong_module(module)),
            None if self.command.first().is_none_or(String::is_empty) => {
                let what = "names no program; expected `command = [\"python3\", \"plugin.py\"]`";
                wrong.push((&["command"], what.to_owned()));
            }
            None => {}
        }
        if self.module.is_none() && self.fuel.is_some() {
            let what = "`fuel` bounds a module, and this is a program; expected `deadline_ms`";
            wrong.push((&["fuel"], what.to_owned()));
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
            let is_hook = |wanted: &str| HOOKS.iter().any(|hook| hook.name == wanted);
            let renamed = ApiNames::new(OLD_API).renamed(NameKind::Hook, hook, is_hook);
            if !is_hook(hook) && renamed.is_none() {
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

    /// What a module may not be.
    fn wrong_module(&self, module: &str) -> Vec<(&[&'static str], String)> {
        let mut wrong: Vec<(&[&str], String)> = Vec::new();
        if !self.command.is_empty() {
            let what = "names a program beside a `module`; expected one of the two";
            wrong.push((&["command"], what.to_owned()));
        }
        if !self.env.is_empty() {
            let what = "`env` asks for variables, and a module gets none";
            wrong.push((&["env"], what.to_owned()));
        }
        if self.deadline_ms.is_some() {
            let what = "`deadline_ms` bounds a program, and a module has no clock; expected `fuel`";
            wrong.push((&["deadline_ms"], what.to_owned()));
        }
        if !self.needs.is_empty() {
            let what = "`needs` asks for what no module can do";
            wrong.push((&["needs"], what.to_owned()));
        }
        let path = Path::new(module);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || !path.extension().is_some_and(|ending| ending == "wasm" || ending == "wat")
        {
            let what = format!(
                "`module` is `{module}`; expected a file in the plugin's folder, as `plugin.wasm` or \
                 `plugin.wat`"
            );
            wrong.push((&["module"], what));
        }
        wrong
    }
}
