//! What is generated from the declarations: stubs for editors, the reference, the JSON schema.
//!
//! Invariant: nothing is described here that is not declared elsewhere; a test compares the files
//! of the repository with what these functions give. Called by that test and by the command line.

mod reference;
mod schema;
mod stubs;

use std::collections::BTreeMap;

use epitome_kernel::HOOKS;
use epitome_types::hook::{
    HasTableShape, INLINE, PlaySettings, PlayedConversation, TableShape, ValueShape,
};

use crate::option::OPTION;
use crate::vm::ASK;

pub use reference::{example, reference};
pub use schema::schema;
pub use stubs::stubs;

/// The fields of a job that are the policy's own, with their types and docs.
const OWN: &[(&str, &str, &str)] = &[
    ("options", "table<string, any>", "This policy's options."),
    (
        "memo",
        "table<string, any>",
        "This policy's notes on the session: what is in it when the hook answers is there the \
         next time.",
    ),
];

/// Methods that read texts: the table that has them, their names, types and docs.
pub(crate) const READS: &[(&str, &str, &str, &str)] = &[
    ("Arriving", "text", "fun(self: Arriving): string", "What the message says."),
    ("Arriving", "head", "fun(self: Arriving, lines: integer): string", "Its first lines."),
    (
        "Columns",
        "text",
        "fun(self: Columns, place: integer): string?",
        "What the message in a place says.",
    ),
    (
        "Columns",
        "head",
        "fun(self: Columns, place: integer, lines: integer): string?",
        "Its first lines.",
    ),
    (
        "Covered",
        "text",
        "fun(self: Covered, place: integer): string?",
        "What the message in a place of these lists says.",
    ),
    (
        "Covered",
        "head",
        "fun(self: Covered, place: integer, lines: integer): string?",
        "Its first lines.",
    ),
];

/// All tables that jobs and answers are made of, by name.
fn tables() -> BTreeMap<&'static str, &'static TableShape> {
    let mut tables = BTreeMap::from([(ASK.name, &ASK), (OPTION.name, &OPTION)]);
    for played in [PlaySettings::TABLE, PlayedConversation::TABLE] {
        collect(&ValueShape::Table(played), &mut tables);
    }
    for hook in HOOKS {
        collect(&ValueShape::Table(hook.job), &mut tables);
        collect(&hook.answer, &mut tables);
    }
    tables
}

fn collect(shape: &ValueShape, tables: &mut BTreeMap<&'static str, &'static TableShape>) {
    match shape {
        ValueShape::Optional(inner) | ValueShape::List(inner) | ValueShape::Map(inner) => {
            collect(inner, tables)
        }
        ValueShape::Either(shapes) => shapes.iter().for_each(|shape| collect(shape, tables)),
        ValueShape::Tagged { variants, .. } => {
            variants.iter().for_each(|(_, table)| collect(&ValueShape::Table(table), tables));
        }
        ValueShape::Table(table) if tables.insert(table.name, table).is_none() => {
            let every = table.fields.iter().filter(|field| field.name == INLINE);
            every.chain(table.own_fields()).for_each(|field| collect(&field.shape, tables));
        }
        _ => {}
    }
}

/// The choices between several tables, by name: the word's field, and each word with its table.
type Choices =
    BTreeMap<&'static str, (&'static str, &'static [(&'static str, &'static TableShape)])>;

fn choices() -> Choices {
    let mut choices = Choices::new();
    let shapes = tables().into_values().flat_map(|table| table.fields).map(|field| field.shape);
    for shape in shapes.chain(HOOKS.iter().map(|hook| hook.answer)) {
        find_choices(&shape, &mut choices);
    }
    choices
}

fn find_choices(shape: &ValueShape, choices: &mut Choices) {
    match shape {
        ValueShape::Optional(inner) | ValueShape::List(inner) | ValueShape::Map(inner) => {
            find_choices(inner, choices);
        }
        ValueShape::Either(shapes) => shapes.iter().for_each(|shape| find_choices(shape, choices)),
        ValueShape::Tagged { name, tag, variants } => {
            choices.insert(name, (tag, variants));
        }
        _ => {}
    }
}

/// A shape as editors write types.
fn type_of(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Bool => "boolean".to_owned(),
        ValueShape::Integer => "integer".to_owned(),
        ValueShape::Number => "number".to_owned(),
        ValueShape::Text => "string".to_owned(),
        ValueShape::Any => "any".to_owned(),
        ValueShape::Word(words) => {
            words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join("|")
        }
        ValueShape::List(inner) => match type_of(inner) {
            inner if inner.contains('|') => format!("({inner})[]"),
            inner => format!("{inner}[]"),
        },
        ValueShape::Map(inner) => format!("table<string, {}>", type_of(inner)),
        ValueShape::Table(table) => table.name.to_owned(),
        ValueShape::Optional(inner) => format!("{}?", type_of(inner)),
        ValueShape::Either(shapes) => shapes.iter().map(type_of).collect::<Vec<_>>().join("|"),
        ValueShape::Tagged { name, .. } => (*name).to_owned(),
    }
}

/// Docs begin with a space in each line that they were written in.
fn doc(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a table has the fields of every job.
fn is_job(table: &TableShape) -> bool {
    table.fields.iter().any(|field| field.name == INLINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every type that a stub names is declared in it.
    #[test]
    fn stubs_name_nothing_that_they_lack() {
        let stubs = stubs();
        let fields = tables().into_values().flat_map(|table| table.own_fields());
        let kinds = fields.map(|field| type_of(&field.shape));
        let kinds = kinds.chain(HOOKS.iter().map(|hook| type_of(&hook.answer)));
        let more = OWN.iter().map(|own| own.1).chain(READS.iter().map(|read| read.2));
        for kind in kinds.chain(more.map(str::to_owned)) {
            let unquoted = kind.split('"').step_by(2);
            let words = unquoted.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
            for name in words.filter(|word| word.starts_with(char::is_uppercase)) {
                let starts = [format!("---@class {name}"), format!("---@alias {name}")];
                let declared = stubs.lines().any(|line| starts.iter().any(|s| line.starts_with(s)));
                assert!(declared, "`{name}` in `{kind}`");
            }
        }
    }

    #[test]
    fn types_are_written_as_editors_read_them() {
        let check = |shape: ValueShape, expected: &str| assert_eq!(type_of(&shape), expected);
        check(ValueShape::List(&ValueShape::Integer), "integer[]");
        check(ValueShape::List(&ValueShape::Word(&["a", "b"])), "(\"a\"|\"b\")[]");
        check(ValueShape::Map(&ValueShape::Optional(&ValueShape::Text)), "table<string, string?>");
        check(ValueShape::Either(&[ValueShape::Bool, ValueShape::Text]), "boolean|string");
    }
}
