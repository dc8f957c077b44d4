//! The language as a policy has it: globals, libraries, and `ep`.
//!
//! Invariant: it is what the sandbox lets through and what `ep` declares, read from there.

use super::kind::Kind;
use super::signature::Signature;
use crate::api::API;
use crate::sandbox::{GLOBALS, LIBRARIES};

/// What the host adds to the globals of the language.
const HOST: &[&str] = &["ep", "print", "require"];

/// Functions that look at a table that they are given and never change its fields.
const HARMLESS: &[&str] = &[
    "assert",
    "ipairs",
    "next",
    "pairs",
    "print",
    "rawequal",
    "rawget",
    "rawlen",
    "select",
    "table.concat",
    "table.insert",
    "table.remove",
    "table.sort",
    "table.unpack",
    "tostring",
    "type",
    "unpack",
];

/// The names of all globals.
pub(super) fn globals() -> Vec<&'static str> {
    let libraries = LIBRARIES.iter().map(|(name, _)| *name);
    GLOBALS.iter().copied().chain(libraries).chain(HOST.iter().copied()).collect()
}

/// What a global is; nothing where there is none of that name.
pub(super) fn global(name: &str) -> Kind {
    if let Some((library, _)) = LIBRARIES.iter().find(|(library, _)| *library == name) {
        return Kind::Library(library);
    }
    match name {
        "ep" => Kind::Ep(""),
        "_VERSION" => Kind::Text(None),
        name if globals().contains(&name) => Kind::Builtin(name.to_owned()),
        _ => Kind::Unknown,
    }
}

/// The names in a library.
pub(super) fn library(name: &str) -> &'static [&'static str] {
    LIBRARIES.iter().find(|(library, _)| *library == name).map_or(&[], |(_, names)| names)
}

/// What a library has under a name.
pub(super) fn in_library(library: &str, name: &str) -> Option<Kind> {
    let names = self::library(library);
    names.contains(&name).then(|| match name {
        "pi" | "huge" => Kind::Number(None),
        "charpattern" => Kind::Text(None),
        _ => Kind::Builtin(format!("{library}.{name}")),
    })
}

/// The names of `ep`, or of a table in it.
pub(super) fn ep(group: &str) -> Vec<&'static str> {
    let inner = |name: &'static str| match (group, name.split_once('.')) {
        ("", Some((group, _))) => Some(group),
        ("", None) => Some(name),
        (wanted, Some((group, name))) if wanted == group => Some(name),
        _ => None,
    };
    let mut names: Vec<&str> = API.iter().filter_map(|function| inner(function.name)).collect();
    names.dedup();
    names
}

/// What `ep`, or a table in it, has under a name.
pub(super) fn in_ep(group: &str, name: &str) -> Option<Kind> {
    let whole = if group.is_empty() { name.to_owned() } else { format!("{group}.{name}") };
    if let Some(function) = API.iter().find(|function| function.name == whole) {
        let signature = Signature::of_params(function.params, function.returns);
        return Some(Kind::Declared(whole, signature));
    }
    let mut groups = API.iter().filter_map(|function| function.name.split_once('.'));
    let (group, _) = groups.find(|(group, _)| *group == whole)?;
    Some(Kind::Ep(group))
}

/// Whether a function leaves the fields of the tables alone that it is given.
pub(super) fn is_harmless(kind: &Kind) -> bool {
    match kind {
        Kind::Builtin(name) => HARMLESS.contains(&&**name) || name.starts_with("string."),
        Kind::Declared(..) => true,
        _ => false,
    }
}

/// What to use where the language of policies lacks something.
const REMEDIES: &[(&str, &str)] = &[
    ("os", "there is no clock: `job.now` says when the request came"),
    ("io", "there are no files: `ep.prompt` gives the text of `prompts/NAME.md`"),
    ("random", "there is no chance: `job.seed` is a number to draw lots with"),
    ("randomseed", "there is no chance: `job.seed` is a number to draw lots with"),
    ("split", "`ep.re.all` and `string.gmatch` find pieces"),
    ("contains", "`find(words, 1, true)` looks for words"),
    ("includes", "`find(words, 1, true)` looks for words"),
    ("startswith", "`sub(1, #words) == words` looks at the beginning"),
    ("trim", "`match(\"^%s*(.-)%s*$\")` gives what stands between spaces"),
    ("load", "a policy is all of its files"),
    ("loadstring", "a policy is all of its files"),
    ("dofile", "`require` loads a file of the policy"),
    ("job", "a hook is given it: pass it on as an argument"),
    ("options", "they are `job.options`"),
    ("memo", "it is `job.memo`"),
];

/// What is said where there is no such name: what to use, or the nearest name.
pub(super) fn remedy(name: &str, near: Option<&str>) -> String {
    match (REMEDIES.iter().find(|(missed, _)| *missed == name), near) {
        (Some((_, remedy)), _) => format!("; {remedy}"),
        (None, Some(near)) => format!("; did you mean `{near}`?"),
        (None, None) => String::new(),
    }
}
