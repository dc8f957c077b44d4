//! The JSON schema of jobs and answers.

use epitome_kernel::HOOKS;
use epitome_types::hook::{TableShape, ValueShape};
use serde_json::{Map, Value as Json, json};

use super::{choices, doc, tables};
use crate::misfit::optional;

/// The schema: under `properties` each hook with its `job` and its `answer`, under `$defs` the
/// tables that they are made of.
pub fn schema() -> Json {
    let mut defs = Map::new();
    for table in tables().into_values() {
        defs.insert(table.name.to_owned(), object(table, None));
    }
    for (name, (tag, variants)) in choices() {
        let any: Vec<Json> =
            variants.iter().map(|(word, table)| object(table, Some((tag, word)))).collect();
        defs.insert(name.to_owned(), json!({ "oneOf": any }));
    }
    let hooks = HOOKS.iter().map(|hook| {
        let properties = json!({
            "job": of(&ValueShape::Table(hook.job)),
            "answer": { "anyOf": [of(&hook.answer), { "type": "null" }] },
        });
        let described = json!({ "description": doc(hook.doc), "properties": properties });
        (hook.name.to_owned(), described)
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Jobs and answers of policies",
        "type": "object",
        "properties": hooks.collect::<Map<String, Json>>(),
        "$defs": defs,
    })
}

fn object(table: &TableShape, tag: Option<(&str, &str)>) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((name, word)) = tag {
        properties.insert(name.to_owned(), json!({ "const": word }));
        required.push(name);
    }
    for field in table.all_fields() {
        let mut property = of(&field.shape);
        if let Json::Object(property) = &mut property {
            property.insert("description".to_owned(), Json::String(doc(field.doc)));
        }
        properties.insert(field.name.to_owned(), property);
        if !optional(&field.shape) {
            required.push(field.name);
        }
    }
    json!({
        "description": doc(table.doc),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn of(shape: &ValueShape) -> Json {
    match shape {
        ValueShape::Bool => json!({ "type": "boolean" }),
        ValueShape::Integer => json!({ "type": "integer", "minimum": 0 }),
        ValueShape::Number => json!({ "type": "number" }),
        ValueShape::Text => json!({ "type": "string" }),
        ValueShape::Word(words) => json!({ "enum": words }),
        ValueShape::List(inner) => json!({ "type": "array", "items": of(inner) }),
        ValueShape::Map(inner) => json!({ "type": "object", "additionalProperties": of(inner) }),
        ValueShape::Table(table) => json!({ "$ref": format!("#/$defs/{}", table.name) }),
        ValueShape::Tagged { name, .. } => json!({ "$ref": format!("#/$defs/{name}") }),
        ValueShape::Optional(inner) => json!({ "anyOf": [of(inner), { "type": "null" }] }),
        ValueShape::Either(shapes) => json!({ "anyOf": shapes.iter().map(of).collect::<Vec<_>>() }),
        ValueShape::Any => json!({}),
    }
}
