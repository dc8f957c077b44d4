//! What a policy's file says it is.
//!
//! Invariant: checked before anything of it is asked; a name that is none is an error with the
//! nearest. Called by `vm`.

use std::collections::BTreeMap;

use epitome_kernel::HOOKS;
use epitome_types::hook::NameKind;
use mlua::{Function, Value};

use crate::dialect::Dialect;
use crate::files::POLICY;
use crate::misfit::{hint, shown};
use crate::option;
use crate::option_shape::OptionShape;
use crate::read::{keys, raw};

/// The version of the interface between policies and this crate.
pub const API_VERSION: u32 = 2;

/// The oldest version that is understood.
const OLDEST_API: u32 = 1;

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
pub(crate) const BUILT_IN: &str = "default";

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

/// Reads the api that the policy is written for from the first line, before anything runs.
pub(crate) fn check_header(text: &str) -> Result<u32, String> {
    let line = text.lines().next().unwrap_or_default().trim_end();
    let wanted = format!("{HEADER}{API_VERSION}");
    let known =
        |version: &str| (OLDEST_API..=API_VERSION).find(|known| known.to_string() == version);
    match line.strip_prefix(HEADER).map(|version| known(version).ok_or(version)) {
        Some(Ok(api)) => Ok(api),
        Some(Err(version)) => Err(format!(
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
pub(crate) fn read(
    dialect: &Dialect,
    name: &str,
    value: &Value,
) -> Result<(PolicyDeclaration, Hooks), String> {
    let Value::Table(table) = value else {
        return Err(format!(
            "{POLICY}: expected a table of hooks as what the file returns, found `{}`",
            shown(value)
        ));
    };
    let mut hooks = Hooks::new();
    let known = |name: &str| HOOKS.iter().any(|hook| hook.name == name);
    for (key, value) in keys(table) {
        let new = dialect.now(&place_of(&value), NameKind::Hook, &key, known);
        match HOOKS.iter().find(|hook| hook.name == new.unwrap_or(&key)) {
            Some(hook) => {
                hooks.insert(hook.name, function(hook.name, &value)?);
            }
            None if FIELDS.iter().any(|(field, ..)| *field == key) => {}
            None => {
                let known = HOOKS.iter().map(|hook| hook.name);
                let hint = hint(&key, known.chain(FIELDS.iter().map(|(field, ..)| *field)));
                return Err(format!("{}: there is no hook `{key}`{hint}", place_of(&value)));
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

/// Returns the file and line of a function, or the policy's own file for any other value.
fn place_of(value: &Value) -> String {
    match value {
        Value::Function(function) => place(function),
        _ => POLICY.to_owned(),
    }
}

/// Returns the file and line of a function.
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
        check("--- @api 2\r", "");
        check(
            "--- @api 3",
            "policy.lua:1: written for api `3`, and this Epitome knows api 2: expected `--- @api 2`",
        );
        check("", "policy.lua:1: expected `--- @api 2` as the first line, found ``");
        check(
            "-- @api 1",
            "policy.lua:1: expected `--- @api 2` as the first line, found `-- @api 1`",
        );
    }
}
