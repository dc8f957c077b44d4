//! Whether what a policy's file returns is a policy: its hooks, and what it says of itself.
//!
//! Invariant: a hook that would never be asked is named, with the name that it was meant to have.

use epitome_kernel::{HOOKS, nearest};
use epitome_types::hook::ValueShape;

use super::code::{ExprId, ExprKind, Origin};
use super::fit::AnswerCheck;
use super::infer::Inference;
use super::kind::Kind;
use super::links::{fields, policy};
use super::mistake::Mistake;
use crate::declared::{BUILT_IN, FIELDS};
use crate::misfit::hint;
use crate::option::OPTION;

/// The shape of a policy's options.
static OPTIONS: ValueShape = ValueShape::Map(&ValueShape::Table(&OPTION));

/// What is wrong with what a policy says it is, and with the answers of its hooks.
pub(super) fn check(inference: &Inference<'_>) -> Vec<Mistake> {
    let mut mistakes = answers(inference);
    mistakes.extend(unused(inference));
    let Some(table) = policy(inference) else { return mistakes };
    let code = inference.code;
    for (key, value) in fields(inference, table) {
        let name = code.text(key).unwrap_or_default();
        let at = code.expr(value.unwrap_or(key)).at;
        if inference.hook(name).is_some() {
            mistakes.extend(value.and_then(|value| no_hook(inference, name, value)));
        } else if FIELDS.iter().any(|(field, ..)| *field == name) {
            mistakes.extend(value.into_iter().flat_map(|value| said(inference, name, value)));
        } else {
            let names = HOOKS.iter().map(|hook| hook.name);
            let hint = hint(name, names.chain(FIELDS.iter().map(|(field, ..)| *field)));
            mistakes.push(Mistake { at, what: format!("there is no hook `{name}`{hint}") });
        }
    }
    mistakes
}

/// What is wrong with the answers of all hooks.
fn answers(inference: &Inference<'_>) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (func, hook) in &inference.links.hooks {
        let who = format!("`{}` answers", hook.name);
        let check = AnswerCheck { inference, who, seen: Default::default() };
        let returns = &inference.code.funcs[*func].returns;
        let firsts = returns.iter().filter_map(|values| values.first());
        mistakes.extend(firsts.flat_map(|value| check.answer(*value, &hook.answer)));
    }
    mistakes
}

/// A hook that is certainly no function.
fn no_hook(inference: &Inference<'_>, name: &str, value: ExprId) -> Option<Mistake> {
    let kinds = inference.kinds(value);
    let is_other = |kind: &Kind| match kind {
        Kind::Unknown | Kind::Nil => false,
        kind => !matches!(kind, Kind::Function(_) | Kind::Declared(..) | Kind::Builtin(_)),
    };
    let is_wrong = !kinds.is_empty() && kinds.iter().all(is_other);
    let at = inference.code.expr(value).at;
    let shown = inference.code.shown(value);
    is_wrong.then(|| Mistake { at, what: format!("hook `{name} = {shown}`: expected a function") })
}

/// What is wrong with a field that is no hook.
fn said(inference: &Inference<'_>, name: &str, value: ExprId) -> Vec<Mistake> {
    let check =
        AnswerCheck { inference, who: "the policy says".to_owned(), seen: Default::default() };
    if name != "options" {
        return check.value(value, &ValueShape::Text, &format!(".{name}"));
    }
    match &inference.kinds(value)[..] {
        [Kind::Text(Some(word))] if word == BUILT_IN => Vec::new(),
        [Kind::Unknown] => Vec::new(),
        _ => check.value(value, &OPTIONS, ".options"),
    }
}

/// Functions that are named like a hook, or nearly so, and that nobody uses.
fn unused(inference: &Inference<'_>) -> Vec<Mistake> {
    let code = inference.code;
    let mut mistakes = Vec::new();
    for var in code.vars.iter().filter(|var| var.reads == 0 && var.at.file == 0) {
        let [Origin::Value(value, 0)] = var.origins[..] else { continue };
        let ExprKind::Function(func) = code.expr(value).kind else { continue };
        let func = &code.funcs[func];
        let is_function = func.name.as_ref() == Some(&var.name) && !func.params.is_empty();
        let hook = nearest(&var.name, HOOKS.iter().map(|hook| hook.name));
        let Some(hook) = hook.filter(|_| is_function) else { continue };
        let name = &var.name;
        let what = format!(
            "`{name}` is never used, so it is no hook: put it into the table that the file \
             returns, as `{hook}`"
        );
        mistakes.push(Mistake { at: var.at, what });
    }
    mistakes
}
