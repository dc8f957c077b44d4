//! What a policy may call: the table `ep`, declared once.
//!
//! Invariant: [`API`] is the whole of it; stubs, reference and tests follow from it. No function
//! reads a clock, draws lots or touches a file, and each bounds the work of one call.

mod json;
mod log;
mod next;
mod regex;
mod text;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use epitome_kernel::TokenCounter;
use mlua::{Error, Function, Lua, LuaString, Result, Table};

pub(crate) use self::regex::RegexCache;
#[cfg(feature = "check")]
pub(crate) use self::regex::compiled;
pub(crate) use log::print;

use crate::dialect::Dialect;
use crate::files::GenerationFiles;
use crate::strict;

/// The longest text that one call takes, in bytes.
const MOST_TEXT: usize = 4 << 20;

/// A function that policies may call.
#[derive(Clone, Copy, Debug)]
pub struct ApiFunction {
    /// Its name behind `ep.`.
    pub name: &'static str,
    /// Names and types of what it takes, as editors write types; `?` behind what may be left out.
    pub params: &'static [(&'static str, &'static str)],
    /// What it gives.
    pub returns: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// A condition that holds.
    pub example: &'static str,
    make: fn(&Lua, &Env) -> Result<Function>,
}

/// What the functions work with.
pub(crate) struct Env {
    pub(crate) host: Arc<ApiHost>,
    /// What is under way: `ask` and `job` while a hook runs.
    pub(crate) slot: Table,
}

/// What the functions of all virtual machines of a generation share.
pub(crate) struct ApiHost {
    pub(crate) policy: String,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) files: Arc<GenerationFiles>,
    pub(crate) patterns: RegexCache,
    /// The names that the policy may use.
    pub(crate) dialect: Arc<Dialect>,
    /// How many lines it said to its author.
    pub(crate) said: AtomicU32,
}

/// Every function of `ep`, in the order of the reference.
pub const API: &[ApiFunction] = &[
    ApiFunction {
        name: "next",
        params: &[("job", "table?")],
        returns: "any",
        doc: "What the policies behind this one answer to the job of the hook that is running; \
              `nil` where none has an opinion. Each of them is asked at most once about a job: \
              what they gave is given again when you call this again, and it counts where your \
              hook then answers `nil`, fails or takes too long. A hook that only passes it on is \
              as if it were not there. The job cannot be changed, so it is the same one; what you \
              want otherwise, change in the answer.",
        example: "type(ep.next) == 'function'",
        make: next::next,
    },
    ApiFunction {
        name: "count",
        params: &[("text", "string")],
        returns: "integer",
        doc: "Tokens of a text.",
        example: "ep.count('') == 0",
        make: text::count,
    },
    ApiFunction {
        name: "clip",
        params: &[("text", "string"), ("tokens", "integer")],
        returns: "string",
        doc: "The beginning of a text that takes no more than so many tokens.",
        example: "ep.count(ep.clip(('some words '):rep(100), 10)) <= 10",
        make: text::clip,
    },
    ApiFunction {
        name: "hash",
        params: &[("text", "string")],
        returns: "string",
        doc: "Sixteen hexadecimal digits that are the same for the same text.",
        example: "ep.hash('a') == ep.hash('a') and ep.hash('a') ~= ep.hash('b')",
        make: text::hash,
    },
    ApiFunction {
        name: "prompt",
        params: &[("name", "string")],
        returns: "string",
        doc: "The text of `prompts/NAME.md` in the policy's folder.",
        example: "not pcall(ep.prompt, 'missing')",
        make: text::prompt,
    },
    ApiFunction {
        name: "log",
        params: &[("level", "'error'|'warn'|'info'|'debug'|'trace'"), ("text", "string")],
        returns: "nil",
        doc: "Says a line to the policy's author, with file and line: on standard error, and in the \
              log of `serve` and `run`. `debug` and `trace` need `--verbose`. `print` does the same \
              at the level `info`.",
        example: "ep.log('debug', 'looked at') == nil",
        make: log::log,
    },
    ApiFunction {
        name: "re.find",
        params: &[("pattern", "string"), ("text", "string"), ("from", "integer?")],
        returns: "integer?, integer?, string? ...",
        doc: "Where a regular expression matches first: first and last byte, then its groups. As \
              `string.find`, but with regular expressions, in time linear in the text.",
        example: "ep.re.find('[0-9]+', 'abc 42') == 5",
        make: regex::find,
    },
    ApiFunction {
        name: "re.match",
        params: &[("pattern", "string"), ("text", "string"), ("from", "integer?")],
        returns: "string? ...",
        doc: "The groups of the first match, or the whole match where there are no groups.",
        example: "ep.re.match('(\\\\w+)@(\\\\w+)', 'to ada@host') == 'ada'",
        make: regex::first,
    },
    ApiFunction {
        name: "re.all",
        params: &[("pattern", "string"), ("text", "string"), ("most", "integer?")],
        returns: "string[]",
        doc: "All matches, or their first groups where there are groups; at most 1,000 unless told \
              otherwise.",
        example: "table.concat(ep.re.all('[a-z]+', 'one, two'), '+') == 'one+two'",
        make: regex::all,
    },
    ApiFunction {
        name: "re.gsub",
        params: &[("pattern", "string"), ("text", "string"), ("with", "string")],
        returns: "string, integer",
        doc: "The text with every match replaced, and how many there were. `$1` stands for a group.",
        example: "ep.re.gsub('(\\\\w+)=', 'a=1', '$1: ') == 'a: 1'",
        make: regex::gsub,
    },
    ApiFunction {
        name: "json.encode",
        params: &[("value", "any")],
        returns: "string",
        doc: "A value as JSON, the names of its tables in alphabetical order.",
        example: "ep.json.encode({b = {1, 2}, a = true}) == '{\"a\":true,\"b\":[1,2]}'",
        make: json::encode,
    },
    ApiFunction {
        name: "json.decode",
        params: &[("text", "string")],
        returns: "any, string?",
        doc: "The value that a JSON text stands for; `nil` and why where it is none.",
        example: "ep.json.decode('{\"a\":[1]}').a[1] == 1",
        make: json::decode,
    },
];

/// The table `ep`.
pub(crate) fn table(lua: &Lua, env: &Env) -> Result<Table> {
    let ep = lua.create_table()?;
    for function in API {
        let made = (function.make)(lua, env)?;
        match function.name.split_once('.') {
            None => ep.raw_set(function.name, made)?,
            Some((group, name)) => {
                let inner: Option<Table> = ep.raw_get(group)?;
                let inner = inner.map_or_else(|| lua.create_table(), Ok)?;
                inner.raw_set(name, made)?;
                ep.raw_set(group, inner)?;
            }
        }
    }
    strict::lock(lua, &ep, "ep", None)?;
    Ok(ep)
}

/// A text that is not too long for one call.
fn bounded(text: &LuaString, most: usize) -> Result<()> {
    match text.as_bytes().len() {
        bytes if bytes > most => Err(Error::runtime(format!(
            "a text of {bytes} bytes is too long: at most {most} here; `:head(n)` gives a piece"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::tests::eval;

    #[test]
    fn every_example_holds() {
        for ApiFunction { name, example, .. } in API {
            let held = eval(&format!("return {example}"));
            assert_eq!(held.as_deref(), Ok("true"), "ep.{name}: {example}");
        }
    }

    #[test]
    fn there_are_few_functions_and_all_are_described() {
        assert!(API.len() < 15);
        assert!(API.iter().all(|function| function.doc.ends_with('.')));
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = eval(text).unwrap_or_else(|error| error);
        assert_eq!(said, expected, "{text}");
    }

    #[test]
    fn regular_expressions_find_as_patterns_do() {
        check("return select(2, ep.re.find('b+', 'abbc'))", "3");
        check("return select(3, ep.re.find('(b)(c)', 'abbc'))", "b");
        check("return ep.re.find('a', 'banana', 3)", "4");
        check("return tostring(ep.re.find('x', 'abc'))", "nil");
        check("return tostring(ep.re.find('a', 'abc', 9))", "nil");
        check("return ep.re.match('n.', 'banana')", "na");
        check("return #ep.re.all('a', 'banana', 2)", "2");
        check("return ep.re.all('(.)a', 'banana')[3]", "n");
        check("return select(2, ep.re.gsub('a', 'banana', 'o'))", "3");
    }

    #[test]
    fn mistakes_are_explained() {
        check("return ep.cuont('x')", "policy.lua:1: ep has no `cuont`; did you mean `count`?");
        check(
            "return ep.re.gmatch('x')",
            "policy.lua:1: ep.re has no `gmatch`; did you mean `match`?",
        );
        check(
            "return ep.re.find('(', 'x')",
            "policy.lua:1: `(` is no regular expression: unclosed group",
        );
        check(
            "return ep.log('wran', 'x')",
            "policy.lua:1: there is no level `wran`; did you mean `warn`?",
        );
        check(
            "ep.next()",
            "policy.lua:1: ep.next is for hooks: it asks the policies behind this one",
        );
        check(
            "return ep.json.encode({a = print})",
            "policy.lua:1: `a = function`: only texts, numbers, booleans and tables are data",
        );
        check(
            "return select(2, ep.json.decode('{'))",
            "EOF while parsing an object at line 1 column 1",
        );
        check("return ep.count()", "policy.lua:1: argument 1: expected a text, found nil");
        check(
            "return ep.prompt('level3')",
            "policy.lua:1: there is no `prompts/level3.md`; there are no prompts",
        );
        check(
            "return ep.count(('x'):rep(5e6))",
            "policy.lua:1: a text of 5000000 bytes is too long: at most 4194304 here; `:head(n)` \
             gives a piece",
        );
        check("ep.count = 1", "policy.lua:1: attempt to modify a readonly table");
    }
}
