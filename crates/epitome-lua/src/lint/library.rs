//! What functions of the language take and give.
//!
//! Invariant: what a function gives is all that it may give; of those that are not listed nothing is
//! known. Called where calls are followed and looked at.

use epitome_types::hook::ValueShape;

use super::kind::{Giver, Kind};
use super::signature::Signature;

/// What `type` gives.
const TYPES: &[&str] = &[
    "nil", "boolean", "number", "string", "table", "function", "thread", "userdata", "vector",
    "buffer",
];

/// What functions take that fail where they are given something else.
const TAKEN: &[(&str, &str)] = &[
    ("ipairs", "fun(list: table)"),
    ("math.abs", "fun(number: number)"),
    ("math.ceil", "fun(number: number)"),
    ("math.floor", "fun(number: number)"),
    ("math.sqrt", "fun(number: number)"),
    ("pairs", "fun(list: table)"),
    ("string.byte", "fun(text: string, from?: integer, to?: integer)"),
    ("string.find", "fun(text: string, pattern: string, from?: integer, plain?: any)"),
    ("string.gmatch", "fun(text: string, pattern: string)"),
    (
        "string.gsub",
        "fun(text: string, pattern: string, with: string|table|fun(): any, most?: integer)",
    ),
    ("string.len", "fun(text: string)"),
    ("string.lower", "fun(text: string)"),
    ("string.match", "fun(text: string, pattern: string, from?: integer)"),
    ("string.rep", "fun(text: string, times: integer)"),
    ("string.reverse", "fun(text: string)"),
    ("string.sub", "fun(text: string, from: integer, to?: integer)"),
    ("string.upper", "fun(text: string)"),
    ("table.concat", "fun(list: table, between?: string, from?: integer, to?: integer)"),
    ("table.sort", "fun(list: table, before?: fun(): any)"),
];

/// What a function takes, where that is known.
pub(super) fn taken(name: &str) -> Option<Signature> {
    let (_, stub) = TAKEN.iter().find(|(taken, _)| *taken == name)?;
    Some(Signature::of_stub(stub))
}

/// Whether a function gives what its pattern captures.
pub(super) fn is_search(name: &str) -> bool {
    ["string.find", "string.match"].contains(&name)
}

/// What one of the results of a call is: all that it may be. `patterns` is what it searches for, of a
/// function that does.
pub(super) fn given(name: &str, place: usize, patterns: &[Kind]) -> Vec<Kind> {
    let (text, number) = (Kind::Text(None), Kind::Number(None));
    match (name, place) {
        ("type", 0) => vec![Kind::Shaped(ValueShape::Word(TYPES), Giver::Job)],
        ("tostring", 0) => vec![text],
        ("tonumber", 0) => vec![number, Kind::Nil],
        ("string.match", _) => vec![captured(patterns), Kind::Nil],
        ("string.find", 0 | 1) | ("string.byte", _) => vec![number, Kind::Nil],
        ("string.find", _) => vec![captured(patterns), Kind::Nil],
        ("string.gsub", 1) | ("string.len", 0) => vec![number],
        ("utf8.len", 0) => vec![number, Kind::Nil],
        (
            "string.char" | "string.format" | "string.gsub" | "string.lower" | "string.rep"
            | "string.reverse" | "string.sub" | "string.upper" | "table.concat" | "utf8.char",
            0,
        ) => vec![text],
        (name, 0) if name.starts_with("math.") => vec![number],
        _ => vec![Kind::Unknown],
    }
}

/// What a variable of a loop over `string.gmatch` is.
pub(super) fn each(patterns: &[Kind], place: usize) -> Vec<Kind> {
    let mut kinds = vec![captured(patterns)];
    kinds.extend((place > 0).then_some(Kind::Nil));
    kinds
}

/// What a search captures: texts, but for the places that `()` in a pattern stands for.
fn captured(patterns: &[Kind]) -> Kind {
    let is_plain =
        |kind: &Kind| matches!(kind, Kind::Text(Some(pattern)) if !pattern.contains("()"));
    match !patterns.is_empty() && patterns.iter().all(is_plain) {
        true => Kind::Text(None),
        false => Kind::Unknown,
    }
}

/// What one of the results is that a stub names, such as `integer?, string? ...`: all that it may be.
pub(super) fn of_returns(returns: &str, place: usize) -> Vec<Kind> {
    let mut types = returns.split(", ");
    let last = returns.rsplit(", ").next().and_then(|last| last.strip_suffix(" ..."));
    match types.nth(place).or(last) {
        Some(kind) => of_type(kind.trim_end_matches(" ...")),
        None => vec![Kind::Nil],
    }
}

/// What a type of a stub says of a value: all that it may be.
fn of_type(kind: &str) -> Vec<Kind> {
    if let Some(kind) = kind.strip_suffix('?') {
        return [of_type(kind), vec![Kind::Nil]].concat();
    }
    vec![match kind {
        "string" => Kind::Text(None),
        "integer" | "number" => Kind::Number(None),
        "boolean" => Kind::Bool,
        "nil" => Kind::Nil,
        "string[]" => Kind::Shaped(ValueShape::List(&ValueShape::Text), Giver::Function),
        _ => Kind::Unknown,
    }]
}
