//! Jobs as policies get them.
//!
//! Invariant: a job can only be read, and asking it for a name that no job of its kind has is an
//! error. Texts are never copied into it; methods read them while the hook runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_kernel::{HookShape, Job};
use epitome_types::hook::{MessageNumber, MessageTexts, NameKind, TableShape, ValueShape};
use mlua::{Function, Lua, Result, Scope, Table, Value};

use crate::alias::TableDialect;
use crate::dialect::Dialect;
use crate::old_names::say_words;
use crate::strict;

/// Fields of every job that are the policy's own.
pub(crate) const OWN_FIELDS: &[&str] = &["options", "memo"];

/// Methods that read texts, beside the fields of the tables that have them.
pub(crate) const METHODS: &[&str] = &["text", "head"];

/// Metatables of the tables of jobs, by the name of their shape.
#[derive(Debug)]
pub(crate) struct Metatables {
    made: BTreeMap<&'static str, Table>,
    dialect: Arc<Dialect>,
}

impl Metatables {
    /// Returns the metatables for a policy with these names.
    pub(crate) fn new(dialect: &Arc<Dialect>) -> Self {
        Self { made: BTreeMap::new(), dialect: Arc::clone(dialect) }
    }

    /// Locks a job of this hook and all tables in it, in the names that the policy knows.
    pub(crate) fn lock_job(&mut self, lua: &Lua, job: &Table, hook: &HookShape) -> Result<()> {
        say_words(lua, &self.dialect, job, hook.job)?;
        self.lock(lua, job, hook.job, "job", OWN_FIELDS)
    }

    fn lock(
        &mut self,
        lua: &Lua,
        table: &Table,
        shape: &'static TableShape,
        called: &str,
        more: &[&str],
    ) -> Result<()> {
        for field in shape.all_fields() {
            let Some(found) = within(&field.shape) else { continue };
            let Value::Table(inner) = table.raw_get(field.name)? else { continue };
            let called = || format!("{called}.{}", field.name);
            match found {
                Within::Table(shape) => self.lock(lua, &inner, shape, &called(), METHODS)?,
                Within::Tables(shape) => self.lock_all(lua, &inner, shape, &called())?,
                Within::Lists(shape) => {
                    for list in inner.sequence_values::<Table>() {
                        self.lock_all(lua, &list?, shape, &called())?;
                    }
                    inner.set_readonly(true);
                }
                Within::Values => inner.set_readonly(true),
            }
        }
        let metatable = match self.made.get(shape.name) {
            Some(metatable) => metatable.clone(),
            None => {
                let fields = shape.all_fields().map(|field| field.name);
                let names = fields.chain(more.iter().copied()).map(str::to_owned).collect();
                let old = TableDialect { kind: NameKind::Field, dialect: &self.dialect };
                let made = strict::metatable(lua, called, names, Some(old))?;
                self.made.insert(shape.name, made.clone());
                made
            }
        };
        table.set_metatable(Some(metatable))?;
        table.set_readonly(true);
        Ok(())
    }

    fn lock_all(
        &mut self,
        lua: &Lua,
        list: &Table,
        shape: &'static TableShape,
        called: &str,
    ) -> Result<()> {
        for item in list.sequence_values::<Table>() {
            self.lock(lua, &item?, shape, called, &[])?;
        }
        list.set_readonly(true);
        Ok(())
    }
}

enum Within {
    Table(&'static TableShape),
    Tables(&'static TableShape),
    /// Lists of tables, one for each message.
    Lists(&'static TableShape),
    Values,
}

/// What is locked where a value of this shape stands.
fn within(shape: &'static ValueShape) -> Option<Within> {
    match shape {
        ValueShape::Optional(inner) => within(inner),
        ValueShape::Table(table) => Some(Within::Table(table)),
        ValueShape::List(ValueShape::Table(table)) => Some(Within::Tables(table)),
        ValueShape::List(ValueShape::List(ValueShape::Table(table))) => Some(Within::Lists(table)),
        ValueShape::List(_) | ValueShape::Map(_) => Some(Within::Values),
        _ => None,
    }
}

/// Gives a job the methods that read its texts; they are gone with the scope.
pub(crate) fn add_methods<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    table: &Table,
    job: Job<'env>,
) -> Result<()> {
    let (owner, text, head) = match job {
        Job::ToolResult(job) => ("entry", whole(scope, job.text)?, beginning(scope, job.text)?),
        Job::Observe(job) => ("entry", whole(scope, job.text)?, beginning(scope, job.text)?),
        Job::Plan(job) => ("entries", any(scope, job.texts)?, any_beginning(scope, job.texts)?),
        Job::SummaryPrompt(job) => {
            ("covered", any(scope, job.texts)?, any_beginning(scope, job.texts)?)
        }
        Job::Facts(job) => ("covered", any(scope, job.texts)?, any_beginning(scope, job.texts)?),
        Job::Verify(job) => ("covered", any(scope, job.texts)?, any_beginning(scope, job.texts)?),
        _ => return Ok(()),
    };
    let owner: Table = table.raw_get(owner)?;
    owner.raw_set("text", text)?;
    owner.raw_set("head", head)
}

fn whole<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    text: &'env str,
) -> Result<Function> {
    scope.create_function(move |lua, _: Value| lua.create_string(text))
}

fn beginning<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    text: &'env str,
) -> Result<Function> {
    scope.create_function(move |lua, (_, lines): (Value, usize)| {
        lua.create_string(first_lines(text, lines))
    })
}

fn any<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    texts: &'env dyn MessageTexts,
) -> Result<Function> {
    scope.create_function(move |_, (_, place): (Value, Value)| {
        Ok(number(&place)?.and_then(|place| texts.text(place)))
    })
}

fn any_beginning<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    texts: &'env dyn MessageTexts,
) -> Result<Function> {
    scope.create_function(move |_, (_, place, lines): (Value, Value, usize)| {
        let text = number(&place)?.and_then(|place| texts.text(place));
        Ok(text.map(|text| first_lines(&text, lines).to_owned()))
    })
}

/// The message at a place that a policy gives; `None` where no place is so small or so large.
fn number(place: &Value) -> Result<Option<MessageNumber>> {
    let place = match place {
        Value::Integer(place) => *place,
        Value::Number(place) if place.fract() == 0.0 => *place as i64,
        other => {
            let found = other.to_string()?;
            let what =
                format!("expected the place of a message, which counts from 1, found {found}");
            return Err(mlua::Error::runtime(what));
        }
    };
    Ok(u32::try_from(place).ok().map(MessageNumber))
}

/// The first lines of a text, the line break behind the last of them left out.
pub(crate) fn first_lines(text: &str, lines: usize) -> &str {
    match lines.checked_sub(1).map(|more| text.match_indices('\n').nth(more)) {
        None => "",
        Some(None) => text,
        Some(Some((end, _))) => &text[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_are_whole() {
        let text = "a\nb\nc";
        let heads = [0, 1, 2, 3, 4].map(|lines| first_lines(text, lines));
        assert_eq!(heads, ["", "a", "a\nb", "a\nb\nc", "a\nb\nc"]);
        assert_eq!(first_lines("a\n", 1), "a");
    }
}
