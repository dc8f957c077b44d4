//! Schemas as clients like them: whole in one piece, and without what only validators of one kind
//! know.
//!
//! Invariant: what a schema allows, the type reads; a field that may be left out is not said to be
//! null as well. Called by the table of tools.

use rmcp::model::JsonObject;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, generate::SchemaGenerator};
use serde_json::Value;

/// What a tool takes.
pub(crate) fn of_input<T: JsonSchema>() -> JsonObject {
    of::<T>(Contract::Deserialize)
}

/// What a tool answers.
pub(crate) fn of_output<T: JsonSchema>() -> JsonObject {
    of::<T>(Contract::Serialize)
}

fn of<T: JsonSchema>(contract: Contract) -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    (settings.meta_schema, settings.inline_subschemas, settings.contract) = (None, true, contract);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    // The tool has a name and a description of its own.
    schema.remove("title");
    schema.remove("description");
    schema
}

/// Takes out `null` beside another type, and formats of numbers.
fn plain(schema: &mut Value) {
    if let Value::Object(object) = schema {
        object.remove("format");
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [one] = &types[..] {
                let one = one.clone();
                object.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(values)) = object.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        if let Some(Value::Array(either)) = object.get_mut("anyOf") {
            either.retain(|one| one["type"] != "null");
            if let [Value::Object(one)] = &either[..] {
                let one = one.clone();
                object.remove("anyOf");
                let said = one.into_iter().filter(|(key, _)| key != "description");
                object.extend(said);
            }
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(plain),
        Value::Array(list) => list.iter_mut().for_each(plain),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Taken {
        /// How many.
        count: Option<u64>,
        /// Which.
        kind: Option<Kind>,
        names: Vec<String>,
    }

    /// A kind.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Kind {
        One,
        Two,
    }

    #[test]
    fn schemas_are_in_one_piece_and_plain() {
        let expected = json!({
            "type": "object",
            "properties": {
                "count": {"description": "How many.", "type": "integer", "minimum": 0},
                "kind": {"description": "Which.", "type": "string", "enum": ["One", "Two"]},
                "names": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["names"],
        });
        assert_eq!(Value::Object(of_input::<Taken>()), expected);
    }
}
