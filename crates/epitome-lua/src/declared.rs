//! What a policy's file says it is.
//!
//! Invariant: checked before anything of it is asked; a name that is none is an error with the
//! nearest. Called by `vm`.

use std::collections::BTreeMap;

use epitome_kernel::HOOKS;
use mlua::{Function, Value};

use crate::files::POLICY;
use crate::misfit::{hint, shown};
use crate::option;
use crate::option_shape::OptionShape;
use crate::read::{keys, raw};

/// The version of the interface between policies and this crate.
pub const API_VERSION: u32 = 1;

/// What begins the first line of every policy.
const HEADER: &str = "--- @api ";

/// What a policy's table may hold beside hooks.
pub(crate) const FIELDS: &[(&str, &str, &str)] = &[
    ("name", "string", "Its name, that of its folder."),
    ("doc", "string", "What it does, in a sentence."),
    ("extends", "string", "The policy that is asked where this one has no opinion."),
    (
        "options",
        "table<string, Option>|'default'",
        "What can be set without writing Lua; `\"default\"`: the options of the built-in policy.",
    ),
];

/// What stands for the options of the built-in policy.
const BUILT_IN: &str = "default";

/// What a policy says it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyDeclaration {
    /// What it does, in a sentence.
    pub doc: Option<String>,
    /// The policy that is asked where this one has no opinion.
    pub extends: Option<String>,
    /// What can be set, by name.
    pub options: Vec<OptionShape>,
    /// Whether it has the options of the built-in policy, which the host declares and checks.
    pub built_in_options: bool,
    /// The hooks that it has, in the order in which a turn asks them.
    pub hooks: Vec<&'static str>,
}

/// A hook of one virtual machine.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) function: Function,
    /// `policy.lua:12`.
    pub(crate) place: String,
}

impl Hook {
    /// The line of the policy's own file where it begins.
    pub(crate) fn line(&self) -> Option<u32> {
        self.place.strip_prefix(POLICY)?.strip_prefix(':')?.parse().ok()
    }
}

/// The hooks of a policy, by name.
pub(crate) type Hooks = BTreeMap<&'static str, Hook>;

/// Looks at the first line, before anything runs.
pub(crate) fn check_header(text: &str) -> Result<(), String> {
    let line = text.lines().next().unwrap_or_default().trim_end();
    let wanted = format!("{HEADER}{API_VERSION}");
    match line.strip_prefix(HEADER) {
        Some(version) if version == API_VERSION.to_string() => Ok(()),
        Some(version) => Err(format!(
            "{POLICY}:1: written for api `{version}`, and this Epitome knows api {API_VERSION}: \
             expected `{wanted}`"
        )),
        None => {
            let found: String = line.chars().take(40).collect();
            Err(format!("{POLICY}:1: expected `{wanted}` as the first line, found `{found}`"))
        }
    }
}

/// Looks at what the file returned.
pub(crate) fn read(name: &str, value: &Value) -> Result<(PolicyDeclaration, Hooks), String> {
    let Value::Table(table) = value else {
        return Err(format!(
            "{POLICY}: expected a table of hooks as what the file returns, found `{}`",
            shown(value)
        ));
    };
    let mut hooks = Hooks::new();
    for (key, value) in keys(table) {
        match HOOKS.iter().find(|hook| hook.name == key) {
            Some(hook) => {
                hooks.insert(hook.name, function(hook.name, &value)?);
            }
            None if FIELDS.iter().any(|(field, ..)| *field == key) => {}
            None => {
                let known = HOOKS.iter().map(|hook| hook.name);
                let hint = hint(&key, known.chain(FIELDS.iter().map(|(field, ..)| *field)));
                let place = match &value {
                    Value::Function(function) => place(function),
                    _ => POLICY.to_owned(),
                };
                return Err(format!("{place}: there is no hook `{key}`{hint}"));
            }
        }
    }
    let text = |field: &str| match raw(table, field) {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.to_string_lossy())),
        other => Err(format!("{POLICY}: `{field} = {}`: expected a text", shown(&other))),
    };
    if let Some(other) = text("name")?.filter(|given| given != name) {
        return Err(format!("{POLICY}: `name = {other:?}`: expected the folder's name, `{name}`"));
    }
    let (options, built_in_options) = match raw(table, "options") {
        Value::Nil => (Vec::new(), false),
        Value::String(word) if word == BUILT_IN => (Vec::new(), true),
        Value::Table(options) => {
            (option::declared(&options).map_err(|what| format!("{POLICY}: {what}"))?, false)
        }
        other => {
            let (shown, expected) = (shown(&other), format!("a table, or \"{BUILT_IN}\""));
            return Err(format!("{POLICY}: `options = {shown}`: expected {expected}"));
        }
    };
    let names = HOOKS.iter().map(|hook| hook.name).filter(|name| hooks.contains_key(name));
    let names = names.collect();
    table.set_readonly(true);
    let (doc, extends) = (text("doc")?, text("extends")?);
    Ok((PolicyDeclaration { doc, extends, options, built_in_options, hooks: names }, hooks))
}

fn function(name: &str, value: &Value) -> Result<Hook, String> {
    match value {
        Value::Function(function) => {
            Ok(Hook { function: function.clone(), place: place(function) })
        }
        other => Err(format!("{POLICY}: hook `{name} = {}`: expected a function", shown(other))),
    }
}

/// Where a function stands.
fn place(function: &Function) -> String {
    let info = function.info();
    let file = info.short_src.unwrap_or_else(|| POLICY.to_owned());
    match info.line_defined {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let said = check_header(&format!("{line}\nreturn {{}}"));
        assert_eq!(said.err().unwrap_or_default(), expected);
    }

    #[test]
    fn the_first_line_names_the_api() {
        check("--- @api 1", "");
        check("--- @api 1\r", "");
        check(
            "--- @api 2",
            "policy.lua:1: written for api `2`, and this Epitome knows api 1: expected `--- @api 1`",
        );
        check("", "policy.lua:1: expected `--- @api 1` as the first line, found ``");
        check(
            "-- @api 1",
            "policy.lua:1: expected `--- @api 1` as the first line, found `-- @api 1`",
        );
    }
}
