//! Whether what a policy reads, sets and calls is there.
//!
//! Invariant: a name is missed only where every value that may stand before it lacks it.

use epitome_kernel::{HOOKS, nearest};
use epitome_types::hook::{TableShape, ValueShape};

use super::certain::is_certain;
use super::code::{CodeStore, ExprId, ExprKind};
use super::infer::Inference;
use super::kind::{Giver, Kind, names};
use super::language;
use super::mistake::Mistake;
use super::operands::{OperandCheck, function};
use super::stores::StoreCheck;
use crate::misfit::hint;

/// Functions that go over a list.
const LISTED: &[&str] = &["ipairs", "table.concat", "table.sort", "table.unpack", "unpack"];

/// What is wrong with what a policy uses.
pub(super) fn check(inference: &Inference<'_>) -> Vec<Mistake> {
    let uses = UseCheck { inference };
    let code = inference.code;
    let mut mistakes = Vec::new();
    for (id, expr) in code.exprs.iter().enumerate() {
        let what = match &expr.kind {
            ExprKind::Index { base, key } => match code.text(*key) {
                Some(name) => uses.read(*base, name),
                None => uses.place(*base, *key),
            },
            ExprKind::Length(Some(of)) => uses.no_list(*of),
            ExprKind::Call(call) => match (&inference.kinds(call.callee)[..], &call.args[..]) {
                ([Kind::Builtin(name)], [of, ..]) if LISTED.contains(&&**name) => uses.no_list(*of),
                _ => None,
            },
            ExprKind::Global(name) => uses.global(name),
            ExprKind::Binary { op, left, right } => {
                OperandCheck { inference }.operands(*op, *left, *right)
            }
            _ => None,
        };
        // A chain of fields is written from left to right: what it ends with is where it stands.
        let at = match &expr.kind {
            ExprKind::Index { key, .. } => code.expr(*key).at,
            _ => code.expr(id).at,
        };
        mistakes.extend(what.map(|what| Mistake { at, what }));
    }
    mistakes.extend(code.stores.iter().flat_map(|store| uses.store(store)));
    mistakes.extend(code.globals.iter().map(|store| {
        let name = &store.name;
        let what = format!(
            "`{name}` is a global, and those cannot be set: `local {name}` holds a value for a \
             while, `job.memo.{name}` from one call to the next"
        );
        Mistake { at: store.at, what }
    }));
    mistakes
}

struct UseCheck<'a> {
    inference: &'a Inference<'a>,
}

impl UseCheck<'_> {
    /// What may stand in a place, but for nothing.
    fn kinds(&self, expr: ExprId) -> Vec<Kind> {
        let mut kinds = self.inference.kinds(expr);
        kinds.retain(|kind| *kind != Kind::Nil);
        kinds
    }

    /// What is wrong with reading an item of what may be no list.
    fn place(&self, base: ExprId, key: ExprId) -> Option<String> {
        if let Some(what) = function(self.inference, base, "list") {
            return Some(what);
        }
        let kinds = self.kinds(key);
        let is_place =
            !kinds.is_empty() && kinds.iter().all(|kind| matches!(kind, Kind::Number(_)));
        if is_place { self.no_list(base).or_else(|| self.plain(base)) } else { None }
    }

    /// That something is a text or another value without items.
    fn plain(&self, of: ExprId) -> Option<String> {
        let kinds = self.kinds(of);
        let is_plain =
            |kind: &Kind| matches!(kind.plain_type(), Some("text" | "number" | "boolean"));
        let is_wrong =
            !kinds.is_empty() && kinds.iter().all(is_plain) && is_certain(self.inference, of);
        is_wrong.then(|| {
            let (shown, noun) = (self.inference.code.shown(of), kinds[0].noun());
            format!("`{shown}` is {noun} and no list")
        })
    }

    /// That something is no list, where it is certain.
    fn no_list(&self, of: ExprId) -> Option<String> {
        let kinds = self.kinds(of);
        let is_table = |kind: &Kind| matches!(kind, Kind::Shaped(ValueShape::Table(_), _));
        if kinds.is_empty() || !kinds.iter().all(is_table) {
            return None;
        }
        let Kind::Shaped(ValueShape::Table(table), _) = kinds.first()? else { return None };
        let shown = self.inference.code.shown(of);
        let list = table.fields.iter().find(|field| matches!(field.shape, ValueShape::List(_)));
        let is_columns = table.fields.iter().any(|field| field.name == "count");
        Some(match list.filter(|_| is_columns) {
            Some(list) => format!(
                "`{shown}` is no list, it has one for each property: `{shown}.{}[i]` is of one \
                 message, `{shown}.count` how many there are",
                list.name
            ),
            None => format!("`{shown}` is no list"),
        })
    }

    /// What is wrong with reading a name of a table.
    fn read(&self, base: ExprId, name: &str) -> Option<String> {
        if let Some(what) = function(self.inference, base, "text") {
            return Some(what);
        }
        let kinds = self.kinds(base);
        let lacks = |kind: &Kind| self.inference.field(kind, name).is_none();
        if kinds.is_empty() || !kinds.iter().all(lacks) {
            return None;
        }
        let shown = self.inference.code.shown(base);
        Some(match kinds.first()? {
            Kind::Shaped(shape, _) => match (kinds[0].hook(), table_of(shape)) {
                (Some(hook), _) => missing_in_job(hook.name, hook.job, name),
                (None, Some(table)) => {
                    format!("`{shown}` has no `{name}`{}", hint(name, names(table)))
                }
                (None, None) => {
                    format!("`{shown}` is {}: it has no `{name}`", kinds[0].noun())
                }
            },
            Kind::Options(way) => {
                let names = self.options(way);
                let hint = match names.is_empty() {
                    true => "; there are no options".to_owned(),
                    false => hint(name, names.iter().map(String::as_str)),
                };
                format!("there is no option `{name}`{hint}")
            }
            Kind::Ep(group) => {
                let called = if group.is_empty() { "ep".to_owned() } else { format!("ep.{group}") };
                format!("{called} has no `{name}`{}", hint(name, language::ep(group)))
            }
            Kind::Library(library) => {
                let near = nearest(name, language::library(library).iter().copied());
                format!("policies have no `{library}.{name}`{}", language::remedy(name, near))
            }
            kind => {
                let near = nearest(name, language::library("string").iter().copied());
                format!("{} has no `{name}`{}", kind.noun(), language::remedy(name, near))
            }
        })
    }

    fn options(&self, way: &[String]) -> Vec<String> {
        let mut table = self.inference.options;
        for part in way {
            table = table.and_then(|table| table.get(part)?.as_object());
        }
        table.map(|table| table.keys().cloned().collect()).unwrap_or_default()
    }

    fn global(&self, name: &str) -> Option<String> {
        let known = language::globals();
        let is_set = self.inference.code.globals.iter().any(|store| store.name == name);
        if known.contains(&name) || is_set {
            return None;
        }
        let near = nearest(name, known.iter().copied());
        Some(format!("there is no global `{name}`{}", language::remedy(name, near)))
    }

    /// What is wrong with setting a field.
    fn store(&self, store: &CodeStore) -> Vec<Mistake> {
        let code = self.inference.code;
        let shown = code.shown(store.base);
        let kinds = self.kinds(store.base);
        let one = |what: String| vec![Mistake { at: store.at, what }];
        let is_read_only = |kind: &Kind| {
            matches!(
                kind,
                Kind::Shaped(_, Giver::Job) | Kind::Options(_) | Kind::Ep(_) | Kind::Library(_)
            )
        };
        if !kinds.is_empty() && kinds.iter().all(is_read_only) {
            let what = match kinds.first() {
                Some(Kind::Shaped(..) | Kind::Options(_)) => format!(
                    "`{shown}` can only be read, as all of a job: `job.memo` is there for notes, a \
                     local variable for what is worked out"
                ),
                _ => format!("`{shown}` can only be read"),
            };
            return one(what);
        }
        StoreCheck { inference: self.inference, store }.mistakes(&kinds)
    }
}

/// The declared table that a shape is.
fn table_of(shape: &ValueShape) -> Option<&'static TableShape> {
    match shape {
        ValueShape::Table(table) => Some(table),
        ValueShape::Optional(inner) => table_of(inner),
        _ => None,
    }
}

/// What is said of a field that a job lacks: whose job has it, or the nearest name.
fn missing_in_job(hook: &str, job: &TableShape, name: &str) -> String {
    let has = |table: &TableShape| table.all_fields().any(|field| field.name == name);
    let others = HOOKS.iter().filter(|hook| has(hook.job));
    let others: Vec<String> = others.map(|hook| format!("`{}`", hook.name)).collect();
    match &others[..] {
        [] => format!("the job of `{hook}` has no `{name}`{}", hint(name, names(job))),
        others => format!("the job of `{hook}` has no `{name}`; that of {} has", others.join(", ")),
    }
}
