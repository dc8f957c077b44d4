//! What is known of a value without running anything.
//!
//! Invariant: what is not known for sure is [`Kind::Unknown`], of which nothing is said. Fields and
//! functions are those that are declared for policies, and no others.

use epitome_kernel::{ApiNames, HOOKS, HookShape};
use epitome_types::hook::{FieldShape, INLINE, NameKind, TableShape, ValueShape};

use super::code::{ExprId, FuncId};
use super::signature::Signature;
use crate::describe::READS;
use crate::job::OWN_FIELDS;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Unknown,
    Nil,
    Bool,
    Number(Option<f64>),
    Text(Option<String>),
    Function(FuncId),
    /// A table that a constructor of the policy makes.
    Made(ExprId),
    /// A value of a declared shape that is no plain one.
    Shaped(ValueShape, Giver),
    /// The options, or a table in them, by the names on the way.
    Options(Vec<String>),
    /// `ep`, or a table in it.
    Ep(&'static str),
    /// A function that is declared: its name, and what it takes and gives.
    Declared(String, Signature),
    /// A library of the language.
    Library(&'static str),
    /// A function of the language, by its whole name.
    Builtin(String),
}

/// Who gave a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Giver {
    /// It is part of a job, which can only be read.
    Job,
    /// The policies behind answered it.
    Next,
    /// A function of `ep` made it for the policy, which may change it.
    Function,
}

impl Kind {
    /// What is known of a value of a shape.
    pub(super) fn of_shape(shape: &ValueShape, giver: Giver) -> Self {
        match shape {
            ValueShape::Optional(inner) => Self::of_shape(inner, giver),
            ValueShape::Bool => Self::Bool,
            ValueShape::Integer | ValueShape::Number => Self::Number(None),
            ValueShape::Text => Self::Text(None),
            ValueShape::Any => Self::Unknown,
            shape => Self::Shaped(*shape, giver),
        }
    }

    /// The job of a hook.
    pub(super) fn job(hook: &HookShape) -> Self {
        Self::Shaped(ValueShape::Table(hook.job), Giver::Job)
    }

    /// The hook whose job it is.
    pub(super) fn hook(&self) -> Option<&'static HookShape> {
        match self {
            Self::Shaped(ValueShape::Table(table), Giver::Job) => {
                HOOKS.iter().find(|hook| hook.job.name == table.name)
            }
            _ => None,
        }
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        match self {
            Self::Made(_) | Self::Options(_) | Self::Ep(_) | Self::Library(_) => true,
            Self::Shaped(shape, _) => is_table(shape),
            _ => false,
        }
    }

    /// Whether it is a function.
    pub(super) fn is_function(&self) -> bool {
        matches!(self, Self::Function(_) | Self::Declared(..) | Self::Builtin(_))
    }

    /// The type that it certainly has, in a word.
    pub(super) fn plain_type(&self) -> Option<&'static str> {
        match self {
            Self::Bool => Some("boolean"),
            Self::Number(_) => Some("number"),
            Self::Text(_) | Self::Shaped(ValueShape::Word(_), _) => Some("text"),
            kind if kind.is_function() => Some("function"),
            kind => kind.is_table().then_some("table"),
        }
    }

    /// The field with the text of a declared table that has one.
    pub(super) fn text_field(&self) -> Option<&'static str> {
        let Self::Shaped(ValueShape::Table(table), _) = self else { return None };
        let field = table.all_fields().find(|field| field.name == "text")?;
        (field.shape == ValueShape::Text).then_some(field.name)
    }

    /// What it is called.
    pub(super) fn noun(&self) -> String {
        match self {
            Self::Unknown => "something".to_owned(),
            Self::Nil => "nil".to_owned(),
            Self::Bool | Self::Shaped(ValueShape::Bool, _) => "a boolean".to_owned(),
            Self::Number(_) => "a number".to_owned(),
            Self::Text(_) | Self::Shaped(ValueShape::Word(_), _) => "a text".to_owned(),
            Self::Function(_) | Self::Declared(..) | Self::Builtin(_) => "a function".to_owned(),
            Self::Shaped(ValueShape::List(_), _) => "a list".to_owned(),
            Self::Made(_)
            | Self::Shaped(..)
            | Self::Options(_)
            | Self::Ep(_)
            | Self::Library(_) => "a table".to_owned(),
        }
    }
}

fn is_table(shape: &ValueShape) -> bool {
    match shape {
        ValueShape::List(_)
        | ValueShape::Map(_)
        | ValueShape::Table(_)
        | ValueShape::Tagged { .. } => true,
        ValueShape::Optional(inner) => is_table(inner),
        ValueShape::Either(shapes) => shapes.iter().all(is_table),
        _ => false,
    }
}

/// Whether a table is a job of a hook.
fn is_job(table: &TableShape) -> bool {
    table.fields.iter().any(|field| field.name == INLINE)
}

/// The names of everything that a declared table has.
pub(super) fn names(table: &TableShape) -> Vec<&'static str> {
    let own = OWN_FIELDS.iter().copied().filter(|_| is_job(table));
    let reads = READS.iter().filter(|read| read.0 == table.name).map(|read| read.1);
    table.all_fields().map(|field| field.name).chain(own).chain(reads).collect()
}

/// The field of a table that goes by a name, in the names that the policy may use.
pub(super) fn field(
    names: &ApiNames,
    table: &TableShape,
    name: &str,
) -> Option<&'static FieldShape> {
    let find = |name: &str| {
        // A job's own field stands in the place of what every job says.
        let own = table.own_fields().find(|field| field.name == name);
        own.or_else(|| table.all_fields().find(|field| field.name == name))
    };
    find(name).or_else(|| {
        let known = |name: &str| find(name).is_some();
        find(names.renamed(NameKind::Field, name, known)?.new)
    })
}

/// What stands in a field of a declared table; `None` where it has none of that name.
pub(super) fn in_table(
    names: &ApiNames,
    table: &TableShape,
    name: &str,
    giver: Giver,
) -> Option<Kind> {
    let read = READS.iter().find(|read| read.0 == table.name && read.1 == name);
    if let Some((.., kind, _)) = read {
        return Some(Kind::Declared(name.to_owned(), Signature::of_stub(kind)));
    }
    if let Some(field) = field(names, table, name) {
        return Some(Kind::of_shape(&field.shape, giver));
    }
    if !is_job(table) {
        return None;
    }
    let is = |own: &str| {
        let known = |wanted: &str| wanted == own;
        name == own
            || names.renamed(NameKind::Field, name, known).is_some_and(|name| name.new == own)
    };
    match OWN_FIELDS.iter().find(|own| is(own)) {
        Some(&"options") => Some(Kind::Options(Vec::new())),
        Some(_) => Some(Kind::Unknown),
        None => None,
    }
}
