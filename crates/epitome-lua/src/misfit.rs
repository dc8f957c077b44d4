//! What is wrong with a value that a policy gave, in words for its author.
//!
//! Invariant: a message names the value by its path, says what it is and what was expected, and the
//! nearest name that there is. Made by `read`, said by whoever called the policy.

use std::fmt;

use epitome_kernel::{nearest, new_name};
use epitome_types::hook::ValueShape;
use mlua::Value;

/// A value that does not fit its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// Where it stands: `.ops[2].target`, and nothing for the whole.
    path: String,
    /// What stands there, as Lua writes it.
    value: String,
    /// What is wrong with it.
    what: String,
}

impl Misfit {
    pub(crate) fn new(value: &Value, what: impl Into<String>) -> Self {
        Self { path: String::new(), value: shown(value), what: what.into() }
    }

    /// The value is not of the shape.
    pub(crate) fn expected(value: &Value, shape: &ValueShape) -> Self {
        Self::new(value, format!("expected {}", expected(shape)))
    }

    /// The value stands in the field of this name.
    pub(crate) fn in_field(mut self, name: &str) -> Self {
        self.path.insert_str(0, &format!(".{name}"));
        self
    }

    /// The value stands in this place of a list.
    pub(crate) fn in_place(mut self, place: usize) -> Self {
        self.path.insert_str(0, &format!("[{place}]"));
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, value, what } = self;
        match path.trim_start_matches('.') {
            "" => write!(f, "`{value}`: {what}"),
            path => write!(f, "`{path} = {value}`: {what}"),
        }
    }
}

/// Returns the new name of an old one, `; did you mean ...?`, or all names if none is near.
pub(crate) fn hint<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(new) = new_name(wanted, |new| names.clone().into_iter().any(|name| name == new)) {
        return format!("; it is called `{new}` since api 2");
    }
    match nearest(wanted, names.clone()) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => match names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>() {
            names if names.is_empty() => String::new(),
            names => format!("; there are {}", names.join(", ")),
        },
    }
}

/// What a shape accepts.
pub(crate) fn expected(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Bool => "`true` or `false`".to_owned(),
        ValueShape::Integer => "a whole number from 0 up".to_owned(),
        ValueShape::Number => "a number".to_owned(),
        ValueShape::Text => "a text".to_owned(),
        ValueShape::Word(words) => one_of(words.iter().copied()),
        ValueShape::List(_) => "a list".to_owned(),
        ValueShape::Map(_) | ValueShape::Any => "a table".to_owned(),
        ValueShape::Table(table) => {
            let required = table.all_fields().filter(|field| !optional(&field.shape));
            match required.map(|field| format!("`{}`", field.name)).collect::<Vec<_>>() {
                names if names.is_empty() => "a table".to_owned(),
                names => format!("a table with {}", names.join(", ")),
            }
        }
        ValueShape::Optional(inner) => format!("{} or nothing", expected(inner)),
        ValueShape::Either(shapes) => shapes.iter().map(expected).collect::<Vec<_>>().join(", or "),
        ValueShape::Tagged { tag, variants, .. } => {
            format!("a table whose `{tag}` is {}", one_of(variants.iter().map(|(word, _)| *word)))
        }
    }
}

pub(crate) fn optional(shape: &ValueShape) -> bool {
    matches!(shape, ValueShape::Optional(_))
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// A value as Lua would write it, in short.
pub(crate) fn shown(value: &Value) -> String {
    const MOST: usize = 40;
    match value {
        Value::Nil | Value::Boolean(_) | Value::Integer(_) | Value::Number(_) => {
            value.to_string().unwrap_or_default()
        }
        Value::String(text) => {
            let text = text.to_string_lossy();
            let short: String = text.chars().take(MOST).collect();
            let dots = if short.len() < text.len() { "…" } else { "" };
            format!("{short:?}{dots}")
        }
        Value::Table(table) if table.is_empty() => "{}".to_owned(),
        Value::Table(_) => "{...}".to_owned(),
        other => other.type_name().to_owned(),
    }
}
