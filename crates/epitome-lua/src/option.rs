//! The options that a policy declares, and values for them.
//!
//! Invariant: after the check every declared option has a value of its type and within its bounds,
//! and there is no other. Called by the loader; read by whoever shows or sets options.

use epitome_types::hook::{FieldShape, TableShape, ValueShape};
use mlua::{Table, Value};
use serde_json::{Map, Value as Json};

use crate::misfit::hint;
use crate::option_shape::OptionShape;
use crate::read::{keys, read};

/// The types that an option may have.
const KINDS: &[&str] = &["integer", "number", "boolean", "string", "list"];

/// How a policy declares an option.
pub(crate) static OPTION: TableShape = TableShape {
    name: "Option",
    doc: "An option of a policy, set by `[profile.NAME.options.POLICY]`.",
    fields: &[
        FieldShape { name: "type", doc: "The type of its value.", shape: ValueShape::Word(KINDS) },
        FieldShape {
            name: "default",
            doc: "Its value where none is set.",
            shape: ValueShape::Either(&[
                ValueShape::Bool,
                ValueShape::Number,
                ValueShape::Text,
                ValueShape::List(&ValueShape::Any),
            ]),
        },
        FieldShape {
            name: "min",
            doc: "The least.",
            shape: ValueShape::Optional(&ValueShape::Number),
        },
        FieldShape {
            name: "max",
            doc: "The most.",
            shape: ValueShape::Optional(&ValueShape::Number),
        },
        FieldShape {
            name: "one_of",
            doc: "The only values that it may have.",
            shape: ValueShape::Optional(&ValueShape::List(&ValueShape::Any)),
        },
        FieldShape {
            name: "doc",
            doc: "What it does.",
            shape: ValueShape::Optional(&ValueShape::Text),
        },
    ],
};

/// The options that a policy's table `options` declares, by name.
pub(crate) fn declared(options: &Table) -> Result<Vec<OptionShape>, String> {
    keys(options).into_iter().map(|(name, value)| one(&name, &value)).collect()
}

fn one(name: &str, value: &Value) -> Result<OptionShape, String> {
    let wrong = |what: String| format!("option `{name}`: {what}");
    let read =
        read(value, &ValueShape::Table(&OPTION)).map_err(|misfit| wrong(misfit.to_string()))?;
    let kind = read["type"].as_str().unwrap_or_default();
    let mut option = OptionShape {
        name: name.to_owned(),
        kind: KINDS.iter().find(|known| **known == kind).copied().unwrap_or("string"),
        default: read["default"].clone(),
        min: read.get("min").and_then(Json::as_f64),
        max: read.get("max").and_then(Json::as_f64),
        one_of: read.get("one_of").and_then(Json::as_array).cloned().unwrap_or_default(),
        doc: read.get("doc").and_then(Json::as_str).map(str::to_owned),
    };
    if option.kind == "list" && option.default == Json::Object(Map::new()) {
        option.default = Json::Array(Vec::new());
    }
    let default = &option.default;
    option.check(default).map_err(|what| wrong(format!("`default = {default}`: {what}")))?;
    Ok(option)
}

/// A value for each option: those given, and the defaults of the others.
pub(crate) fn values(
    options: &[OptionShape],
    given: &Map<String, Json>,
) -> Result<Map<String, Json>, String> {
    for (name, value) in given {
        let Some(option) = options.iter().find(|option| option.name == *name) else {
            let hint = match options.is_empty() {
                true => "; there are no options".to_owned(),
                false => hint(name, options.iter().map(|option| option.name.as_str())),
            };
            return Err(format!("there is no option `{name}`{hint}"));
        };
        option.check(value).map_err(|what| format!("option `{name} = {value}`: {what}"))?;
    }
    let value = |option: &OptionShape| given.get(&option.name).unwrap_or(&option.default).clone();
    Ok(options.iter().map(|option| (option.name.clone(), value(option))).collect())
}

#[cfg(test)]
mod tests {
    use mlua::Lua;
    use serde_json::json;

    use super::*;

    const OPTIONS: &str = "{
        keep = { type = 'integer', default = 2048, min = 0, max = 1e6, doc = 'Kept.' },
        share = { type = 'number', default = 0.5 },
        way = { type = 'string', default = 'digest', one_of = { 'digest', 'mask' } },
        names = { type = 'list', default = {} },
        fold = { type = 'boolean', default = true },
    }";

    fn declare(text: &str) -> Result<Vec<OptionShape>, String> {
        let lua = Lua::new();
        declared(&lua.load(text).eval::<Table>().unwrap())
    }

    #[track_caller]
    fn check(given: Json, expected: &str) {
        let options = declare(OPTIONS).unwrap();
        let said = match values(&options, given.as_object().unwrap()) {
            Ok(values) => Json::Object(values).to_string(),
            Err(what) => what,
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn options_have_the_values_given_or_their_defaults() {
        check(json!({}), r#"{"fold":true,"keep":2048,"names":[],"share":0.5,"way":"digest"}"#);
        check(
            json!({"keep": 1, "names": ["a"], "share": 2}),
            r#"{"fold":true,"keep":1,"names":["a"],"share":2,"way":"digest"}"#,
        );
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        check(json!({"kep": 1}), "there is no option `kep`; did you mean `keep`?");
        check(json!({"keep": 1.5}), "option `keep = 1.5`: expected a whole number");
        check(json!({"keep": -1}), "option `keep = -1`: expected at least 0");
        check(json!({"keep": 2_000_000}), "option `keep = 2000000`: expected at most 1000000");
        check(json!({"way": "cut"}), r#"option `way = "cut"`: expected one of "digest", "mask""#);
        check(json!({"fold": 1}), "option `fold = 1`: expected `true` or `false`");
    }

    #[test]
    fn declarations_are_checked() {
        for (text, expected) in [
            (
                "{a = {type = 'int', default = 1}}",
                "option `a`: `type = \"int\"`: no such word; did you mean `integer`?",
            ),
            (
                "{a = {type = 'integer', default = 'x'}}",
                "option `a`: `default = \"x\"`: expected a whole number",
            ),
            (
                "{a = {type = 'integer', default = 1, min = 2}}",
                "option `a`: `default = 1`: expected at least 2",
            ),
            (
                "{a = {type = 'integer', deflaut = 1, default = 1}}",
                "option `a`: `deflaut = 1`: no such field; did you mean `default`?",
            ),
            ("{a = 1}", "option `a`: `1`: expected a table with `type`, `default`"),
        ] {
            assert_eq!(declare(text).unwrap_err(), expected);
        }
    }
}
