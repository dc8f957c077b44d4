//! Whether a layer says only what may be said.
//!
//! Invariant: the schema decides, so what it promises is what is taken. It understands every
//! keyword that the schema uses; a test holds the two together.

use epitome_kernel::nearest;
use figment::value::{Dict, Value};
use schemars::JsonSchema;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value as Json};

/// The words of an answer are cut here, in characters.
const QUOTED: usize = 60;

/// A schema, and how to find one's way in it.
#[derive(Debug)]
pub struct TomlSchema(Json);

/// Something that may not be said: at which key, and why.
#[derive(Debug, PartialEq)]
pub struct SchemaBreach {
    /// The key, by its path.
    pub path: Vec<String>,
    /// What is wrong there, and what was expected.
    pub what: String,
}

impl TomlSchema {
    /// The schema of what a type declares.
    pub fn of<T: JsonSchema>() -> Self {
        Self(schema_of::<T>())
    }

    /// The schema as JSON.
    pub fn into_json(self) -> Json {
        self.0
    }

    /// Everything in a layer that may not be said.
    pub fn breaches(&self, layer: &Dict) -> Vec<SchemaBreach> {
        let mut breaches = Vec::new();
        self.table(&self.0, &mut Vec::new(), layer, &mut breaches);
        breaches
    }

    /// What may stand at a path.
    ///
    /// # Errors
    ///
    /// The breach, where there is no such key.
    pub fn at(&self, path: &[String]) -> Result<&Json, SchemaBreach> {
        let mut node = self.resolved(&self.0);
        for (depth, key) in path.iter().enumerate() {
            node = self.child(node, key).ok_or_else(|| {
                let path = path[..=depth].to_vec();
                let what = unknown(&path, node);
                SchemaBreach { path, what }
            })?;
        }
        Ok(node)
    }

    /// The keys that stand at the top.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        names(&self.0)
    }

    /// The keys that stand directly below one.
    pub fn keys_at(&self, path: &[&str]) -> Vec<String> {
        let path: Vec<_> = path.iter().map(|&key| key.to_owned()).collect();
        let node = self.at(&path).ok();
        node.into_iter().flat_map(names).map(str::to_owned).collect()
    }

    /// Every value that may be set below a key, in the order of their declaration.
    pub fn leaves(&self, path: &[&str]) -> Vec<String> {
        let path: Vec<_> = path.iter().map(|&key| key.to_owned()).collect();
        let mut leaves = Vec::new();
        if let Ok(node) = self.at(&path) {
            self.collect(node, "", &mut leaves);
        }
        leaves
    }

    fn collect(&self, node: &Json, path: &str, leaves: &mut Vec<String>) {
        for key in names(node) {
            let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            match self.child(node, key) {
                Some(child) if is_table(child) => self.collect(child, &path, leaves),
                _ => leaves.push(path),
            }
        }
    }

    fn resolved<'s>(&'s self, node: &'s Json) -> &'s Json {
        let target = node.get("$ref").and_then(Json::as_str);
        target.and_then(|target| self.0.pointer(target.trim_start_matches('#'))).unwrap_or(node)
    }

    fn child<'s>(&'s self, node: &'s Json, key: &str) -> Option<&'s Json> {
        let named = node.get("properties").and_then(|named| named.get(key));
        let any = || node.get("additionalProperties").filter(|any| is_open(any) || any.is_object());
        named.or_else(any).map(|child| self.resolved(child))
    }

    fn table(&self, node: &Json, path: &mut Vec<String>, dict: &Dict, out: &mut Vec<SchemaBreach>) {
        for (key, value) in dict {
            path.push(key.clone());
            match self.child(node, key) {
                Some(child) => self.value(child, path, value, out),
                None => out.push(SchemaBreach { path: path.clone(), what: unknown(path, node) }),
            }
            path.pop();
        }
    }

    fn value(
        &self,
        node: &Json,
        path: &mut Vec<String>,
        value: &Value,
        out: &mut Vec<SchemaBreach>,
    ) {
        match value {
            Value::Dict(_, dict) if is_table(node) => self.table(node, path, dict, out),
            _ if self.allows(node, value) => {}
            _ => {
                let expected = self.expected(node);
                let what = format!("`{}` is {}; expected {expected}", path.join("."), said(value));
                out.push(SchemaBreach { path: path.clone(), what });
            }
        }
    }

    /// Whether a value that is no table may stand here.
    fn allows(&self, node: &Json, value: &Value) -> bool {
        match (kind(node), value) {
            _ if is_open(node) => true,
            ("string", Value::String(_, text)) => {
                choices(node).is_none_or(|names| names.iter().any(|name| name == text))
            }
            ("boolean", Value::Bool(..)) => true,
            ("integer", Value::Num(_, number)) => {
                number.to_i128().is_some_and(|number| is_within(node, number as f64))
            }
            ("number", Value::Num(_, number)) => {
                let number = number.to_f64().or_else(|| Some(number.to_i128()? as f64));
                number.is_some_and(|number| is_within(node, number))
            }
            ("array", Value::Array(_, items)) => {
                let one = node.get("items").map(|one| self.resolved(one));
                one.is_none_or(|one| items.iter().all(|item| self.allows(one, item)))
            }
            _ => false,
        }
    }

    /// What may stand here, in words.
    fn expected(&self, node: &Json) -> String {
        match kind(node) {
            "string" => match choices(node) {
                Some(names) => {
                    let names = names.iter().filter_map(Json::as_str);
                    format!("one of \"{}\"", names.collect::<Vec<_>>().join("\", \""))
                }
                None => "a text".to_owned(),
            },
            "boolean" => "true or false".to_owned(),
            "integer" => format!("a whole number{}", range(node)),
            "number" => format!("a number{}", range(node)),
            "array" => match node.get("items").map(|one| self.expected(self.resolved(one))) {
                Some(one) => format!("a list, each {one}"),
                None => "a list".to_owned(),
            },
            _ => {
                let names: Vec<_> = names(node).collect();
                match names.is_empty() {
                    true if node.get("additionalProperties").is_some_and(is_open) => {
                        "a table of options".to_owned()
                    }
                    true => "a table for each name".to_owned(),
                    false => format!("a table of `{}`", names.join("`, `")),
                }
            }
        }
    }
}

/// Tells whether a table stands here, whose values have keys of their own.
pub fn is_table(node: &Json) -> bool {
    kind(node) == "object"
}

/// Whether anything may stand here: what it may be is known to somebody else.
fn is_open(node: &Json) -> bool {
    let says_nothing = |words: &Map<String, Json>| words.keys().all(|word| word == "description");
    node == &Json::Bool(true) || node.as_object().is_some_and(says_nothing)
}

/// Tells whether any text is taken as it is.
pub fn is_text(node: &Json) -> bool {
    kind(node) == "string"
}

fn kind(node: &Json) -> &str {
    node.get("type").and_then(Json::as_str).unwrap_or_default()
}

pub(super) fn names(node: &Json) -> impl Iterator<Item = &str> {
    let named = node.get("properties").and_then(Json::as_object);
    named.into_iter().flat_map(Map::keys).map(String::as_str)
}

pub(super) fn choices(node: &Json) -> Option<&Vec<Json>> {
    node.get("enum").and_then(Json::as_array)
}

fn bounds(node: &Json) -> [Option<f64>; 2] {
    ["minimum", "maximum"].map(|name| node.get(name).and_then(Json::as_f64))
}

/// Whether a number is finite and inside the bounds. Bounds are small, so that nothing is lost in
/// the comparison.
fn is_within(node: &Json, number: f64) -> bool {
    let [least, most] = bounds(node);
    number.is_finite()
        && least.is_none_or(|least| number >= least)
        && most.is_none_or(|most| number <= most)
}

fn range(node: &Json) -> String {
    match bounds(node) {
        [Some(least), Some(most)] => format!(" from {least} to {most}"),
        [Some(least), None] => format!(" from {least} on"),
        [None, Some(most)] => format!(" up to {most}"),
        [None, None] => String::new(),
    }
}

fn unknown(path: &[String], table: &Json) -> String {
    let key = path.last().map_or("", String::as_str);
    if key == "plugins" {
        let path = path.join(".");
        return format!(
            "`{path}`: a profile names plugins by what they do; expected those that digest in \
             `digests` and those that answer hooks as `policies = [\"plugin:NAME\"]`"
        );
    }
    let names: Vec<_> = names(table).collect();
    let hint = match nearest(key, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => "a value of this kind has no keys".to_owned(),
        None => format!("there is `{}`{}", names.join("`, `"), elsewhere(path, &names)),
    };
    format!("unknown key `{}`; {hint}", path.join("."))
}

/// Where options stand that are none of the keys of a table. What a policy declares is known only where it
/// is loaded.
fn elsewhere(path: &[String], names: &[&str]) -> String {
    match path {
        [profile, name, _, ..] if profile == "profile" => {
            format!("; options of a policy stand in `profile.{name}.options.POLICY`")
        }
        [_] if names.contains(&"profile") => {
            "; options of a policy stand in `profile.NAME.options.POLICY`".to_owned()
        }
        _ => String::new(),
    }
}

/// Returns a value as it is quoted in a message.
pub fn said(value: &Value) -> String {
    if let Value::Dict(..) = value {
        return "a table".to_owned();
    }
    let text = serde_json::to_string(value).unwrap_or_default();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the JSON schema of a file, any part of which may be said.
fn schema_of<T: JsonSchema>() -> Json {
    let mut schema = schemars::schema_for!(T);
    RecursiveTransform(partial).transform(&mut schema);
    schema.to_value()
}

/// A file says any part of the whole, TOML has no null, and a description is one paragraph.
fn partial(schema: &mut schemars::Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.retain(|word, _| !["required", "default"].contains(&word.as_str()));
    if let Some(Json::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &mut **types {
            let one = one.take();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Json::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}
