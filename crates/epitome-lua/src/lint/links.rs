//! How the values of a program hang together: who stores into which table, who calls whom.
//!
//! Invariant: what cannot be followed is marked as such, so that nothing is said of it.

use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::HookShape;

use super::code::{ExprId, ExprKind, ExprRole, FuncId, Origin};
use super::infer::{CodeLinks, Inference};
use super::kind::{Giver, Kind};
use super::language::is_harmless;

/// How often links are followed: each time what is known of one value may tell of another.
const ROUNDS: usize = 3;
/// How often it is looked at who escapes, at most.
const MOST_ROUNDS: usize = 16;

/// Finds the links of a program whose first file is the policy's own.
///
/// Which functions escape is looked at last: a value that is not known yet would let every function
/// of that name escape, and those that do make values unknown for good.
pub(super) fn link(inference: &mut Inference<'_>) {
    for _ in 0..ROUNDS {
        let links = found(inference);
        inference.relink(links);
    }
    for _ in 0..MOST_ROUNDS {
        let mut links = found(inference);
        links.escaped = escaped(inference, &links.open);
        links.escaped.extend(&inference.links.escaped);
        let CodeLinks { escaped, open, are_lists_changed, .. } = &inference.links;
        let is_settled = *escaped == links.escaped
            && *open == links.open
            && *are_lists_changed == links.are_lists_changed;
        inference.relink(links);
        if is_settled {
            return;
        }
    }
    let mut links = found(inference);
    links.escaped = (0..inference.code.funcs.len()).collect();
    inference.relink(links);
}

/// The links but for who escapes, by what is known so far.
fn found(inference: &Inference<'_>) -> CodeLinks {
    // What was found to be changed is not known any more, and so is found but once.
    let are_lists_changed = inference.links.are_lists_changed;
    let mut links = CodeLinks { are_lists_changed, ..CodeLinks::default() };
    for (place, store) in inference.code.stores.iter().enumerate() {
        for table in made(inference, store.base) {
            links.stores.entry(table).or_default().push(place);
        }
        links.are_lists_changed |= is_fresh(inference, store.base);
    }
    for (id, call) in inference.code.calls() {
        let kinds = inference.kinds(call.callee);
        for kind in &kinds {
            if let Kind::Function(func) = kind {
                links.calls.entry(*func).or_default().push(id);
            }
        }
        let is_known = |kind: &Kind| matches!(kind, Kind::Function(_)) || is_harmless(kind);
        if !kinds.iter().all(is_known) {
            let given = call.args.iter().flat_map(|arg| made(inference, *arg));
            links.open.extend(given);
            links.are_lists_changed |= call.args.iter().any(|arg| is_fresh(inference, *arg));
        }
    }
    links.hooks = hooks(inference);
    links
}

/// The tables of the policy that an expression may be.
fn made(inference: &Inference<'_>, expr: ExprId) -> Vec<ExprId> {
    let table = |kind| match kind {
        Kind::Made(table) => Some(table),
        _ => None,
    };
    inference.kinds(expr).into_iter().filter_map(table).collect()
}

/// Whether an expression may be a list that a function of `ep` made.
fn is_fresh(inference: &Inference<'_>, expr: ExprId) -> bool {
    let is_fresh = |kind: &Kind| matches!(kind, Kind::Shaped(_, Giver::Function));
    inference.kinds(expr).iter().any(is_fresh)
}

/// The hooks that the policy's table holds.
fn hooks(inference: &Inference<'_>) -> BTreeMap<FuncId, &'static HookShape> {
    let mut hooks = BTreeMap::new();
    for (key, value) in policy(inference).into_iter().flat_map(|table| fields(inference, table)) {
        let name = inference.code.text(key);
        let Some(hook) = name.and_then(|name| inference.hook(name)) else { continue };
        for kind in value.map(|value| inference.kinds(value)).unwrap_or_default() {
            if let Kind::Function(func) = kind {
                hooks.insert(func, hook);
            }
        }
    }
    hooks
}

/// The table that the policy's file returns, where there is one.
pub(super) fn policy(inference: &Inference<'_>) -> Option<ExprId> {
    let first = inference.code.files.first()?;
    match &first.returns[..] {
        [values] => match &inference.kinds(*values.first()?)[..] {
            [Kind::Made(table)] => Some(*table),
            _ => None,
        },
        _ => None,
    }
}

/// The keys in a table that are names, with what is put there.
pub(super) fn fields(inference: &Inference<'_>, table: ExprId) -> Vec<(ExprId, Option<ExprId>)> {
    let code = inference.code;
    let ExprKind::Table(literal) = &code.expr(table).kind else { return Vec::new() };
    let stores = inference.links.stores.get(&table).into_iter().flatten();
    let stores = stores.map(|store| &code.stores[*store]);
    let fields = literal.fields.iter().map(|(key, value)| (*key, Some(*value)));
    let named = fields.chain(stores.map(|store| (store.key, store.value)));
    named.filter(|(key, _)| code.text(*key).is_some()).collect()
}

/// Functions that are handed on as values, so that not all calls of them are known.
fn escaped(inference: &Inference<'_>, open: &BTreeSet<ExprId>) -> BTreeSet<FuncId> {
    let code = inference.code;
    let mut escaped = BTreeSet::new();
    let placed = placed(inference);
    for (id, expr) in code.exprs.iter().enumerate() {
        let is_name = matches!(expr.kind, ExprKind::Var(_) | ExprKind::Index { .. });
        let is_loose = matches!(expr.kind, ExprKind::Function(_)) && !placed.contains(&id);
        if is_loose || (is_name && expr.role != ExprRole::Callee && !placed.contains(&id)) {
            escaped.extend(functions(inference, id));
        }
        // What is read by a name that cannot be known may be any of them.
        if let ExprKind::Index { base, key } = &expr.kind {
            escaped.extend(read(inference, *base, *key));
        }
    }
    for table in open {
        let values = fields(inference, *table).into_iter().filter_map(|(_, value)| value);
        escaped.extend(values.flat_map(|value| functions(inference, value)));
    }
    escaped
}

/// The values that are put where they can be followed: into variables and into tables.
fn placed(inference: &Inference<'_>) -> BTreeSet<ExprId> {
    let code = inference.code;
    let origins = code.vars.iter().flat_map(|var| &var.origins);
    let values = origins.filter_map(|origin| match origin {
        Origin::Value(value, _) => Some(*value),
        _ => None,
    });
    let stores = code.stores.iter().filter_map(|store| store.value);
    let tables = code.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Table(table) => Some(table.fields.iter().map(|(_, value)| *value)),
        _ => None,
    });
    values.chain(stores).chain(tables.flatten()).collect()
}

fn functions(inference: &Inference<'_>, expr: ExprId) -> Vec<FuncId> {
    let function = |kind| match kind {
        Kind::Function(func) => Some(func),
        _ => None,
    };
    inference.kinds(expr).into_iter().filter_map(function).collect()
}

/// The functions that an index may read in ways that cannot be followed.
fn read(inference: &Inference<'_>, base: ExprId, key: ExprId) -> Vec<FuncId> {
    let code = inference.code;
    let kinds = inference.kinds(base);
    match code.text(key) {
        Some(name) if kinds.contains(&Kind::Unknown) => {
            let stores = code.stores.iter().filter(|store| code.text(store.key) == Some(name));
            let stores = stores.filter_map(|store| store.value);
            let tables = code.exprs.iter().filter_map(|expr| match &expr.kind {
                ExprKind::Table(table) => Some(&table.fields),
                _ => None,
            });
            let fields = tables.flatten().filter(|(key, _)| code.text(*key) == Some(name));
            let values = stores.chain(fields.map(|(_, value)| *value));
            values.flat_map(|value| functions(inference, value)).collect()
        }
        Some(_) => Vec::new(),
        None => {
            let tables = made(inference, base).into_iter();
            let values = tables.flat_map(|table| fields(inference, table));
            let values = values.filter_map(|(_, value)| value);
            values.flat_map(|value| functions(inference, value)).collect()
        }
    }
}
