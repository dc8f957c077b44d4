//! An option of a policy or a plugin, as it was declared, and what a value of it may be.
//!
//! Invariant: pure; it is known without anything being run. Read by whoever shows or sets options.

use serde_json::Value as Json;

/// An option that a policy declares.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionShape {
    /// Its name.
    pub name: String,
    /// `integer`, `number`, `boolean`, `string` or `list`.
    pub kind: &'static str,
    /// Its value where none is set.
    pub default: Json,
    /// The least.
    pub min: Option<f64>,
    /// The most.
    pub max: Option<f64>,
    /// The only values that it may have; empty where it may have any.
    pub one_of: Vec<Json>,
    /// What it does.
    pub doc: Option<String>,
}

impl OptionShape {
    /// Whether the option may have a value.
    ///
    /// # Errors
    ///
    /// When not: what was expected.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        let expected = match self.kind {
            "integer" => (!value.is_i64() && !value.is_u64()).then_some("a whole number"),
            "number" => (!value.is_number()).then_some("a number"),
            "boolean" => (!value.is_boolean()).then_some("`true` or `false`"),
            "string" => (!value.is_string()).then_some("a text"),
            _ => (!value.is_array()).then_some("a list"),
        };
        if let Some(expected) = expected {
            return Err(format!("expected {expected}"));
        }
        let number = value.as_f64();
        match (self.min, self.max, number) {
            (Some(min), _, Some(number)) if number < min => Err(format!("expected at least {min}")),
            (_, Some(max), Some(number)) if number > max => Err(format!("expected at most {max}")),
            _ if !self.one_of.is_empty() && !self.one_of.contains(value) => {
                let words: Vec<String> = self.one_of.iter().map(Json::to_string).collect();
                Err(format!("expected one of {}", words.join(", ")))
            }
            _ => Ok(()),
        }
    }
}
