//! Whether what a policy calls is a function, and takes what it is given.
//!
//! Invariant: arguments are counted and looked at only where a function is declared for policies.

use epitome_kernel::nearest;

use super::certain::is_certain;
use super::code::{ExprId, ExprKind};
use super::infer::Inference;
use super::kind::Kind;
use super::library;
use super::links::fields;
use super::mistake::Mistake;
use super::program::Modules;
use super::signature::{ArgumentKind, Signature};
use crate::misfit::hint;

/// What is wrong with the calls of a policy.
pub(super) fn check(inference: &Inference<'_>, modules: &Modules) -> Vec<Mistake> {
    let code = inference.code;
    let mut mistakes = Vec::new();
    for (id, call) in code.calls() {
        let said = match &inference.kinds(call.callee)[..] {
            [Kind::Declared(name, signature)] => {
                let mut said = declared(inference, id, name, signature);
                if name == "prompt" {
                    let name = call.args.first().and_then(|arg| code.text(*arg));
                    said.extend(name.and_then(|name| modules.prompts.get(name)?.clone().err()));
                }
                said
            }
            [Kind::Builtin(name)] if name == "require" => {
                let name = call.args.first().and_then(|arg| code.text(*arg));
                name.and_then(|name| modules.missing.get(name)).cloned().into_iter().collect()
            }
            [Kind::Builtin(name)] if library::taken(name).is_some() => library::taken(name)
                .and_then(|it| builtin(inference, id, name, &it))
                .into_iter()
                .collect(),
            kinds => {
                let absent = absent(inference, call.callee).or_else(|| {
                    let noun = kinds.first().filter(|_| kinds.iter().all(is_no_function))?.noun();
                    Some(format!("`{}` is {noun} and no function", code.shown(call.callee)))
                });
                absent.into_iter().collect()
            }
        };
        let at = code.expr(id).at;
        mistakes.extend(said.into_iter().map(|what| Mistake { at, what }));
    }
    mistakes
}

fn is_no_function(kind: &Kind) -> bool {
    matches!(kind, Kind::Bool | Kind::Number(_) | Kind::Text(_) | Kind::Shaped(..))
}

/// A function that a table of the policy's own lacks.
fn absent(inference: &Inference<'_>, callee: ExprId) -> Option<String> {
    let code = inference.code;
    let ExprKind::Index { base, key } = &code.expr(callee).kind else { return None };
    let name = code.text(*key)?;
    let kinds = inference.kinds(*base);
    let [Kind::Made(table)] = kinds[..] else { return None };
    let is_known = inference.links.open.contains(&table)
        || inference.is_dynamic(table)
        || !inference.put(table, name).is_empty();
    if is_known {
        return None;
    }
    let names = fields(inference, table).into_iter().filter_map(|(key, _)| code.text(key));
    let near = nearest(name, names).map(|near| format!("; did you mean `{near}`?"));
    Some(format!("`{}` has no `{name}`{}", code.shown(*base), near.unwrap_or_default()))
}

/// What is wrong with the call of a function that is declared for policies.
fn declared(
    inference: &Inference<'_>,
    id: ExprId,
    name: &str,
    signature: &Signature,
) -> Vec<String> {
    let code = inference.code;
    let ExprKind::Call(call) = &code.expr(id).kind else { return Vec::new() };
    let shown = code.shown(call.callee);
    if name == "next" && code.expr(id).inside.is_none() {
        return vec![format!("`{shown}` is for hooks: it asks the policies behind this one")];
    }
    let names: Vec<&str> = signature.params.iter().map(|param| &*param.name).collect();
    let names = names.join(", ");
    match (signature.is_method, call.is_method, shown.rsplit_once('.')) {
        (true, false, Some((table, name))) => {
            return match call.args.first().is_some_and(|arg| is_table(inference, *arg)) {
                true => Vec::new(),
                false => vec![format!("`{shown}` is a method: `{table}:{name}({names})`")],
            };
        }
        (false, true, Some((table, name))) => {
            return vec![format!("`{shown}` is no method: `{table}.{name}({names})`")];
        }
        _ => {}
    }
    let given = call.args.len();
    let is_open = call.is_open && call.args.last().is_some_and(|arg| is_several(inference, *arg));
    if (given < signature.least() && !is_open) || given > signature.params.len() {
        return vec![format!("`{shown}` is {}: it takes ({names})", counted(given))];
    }
    let arguments = call.args.iter().zip(&signature.params).enumerate();
    let wrong = arguments.filter_map(|(place, (arg, param))| {
        let kinds = inference.kinds(*arg);
        if name == "next" {
            return not_the_job(&kinds).then(|| {
                let arg = code.shown(*arg);
                format!("`{shown}` is given `{arg}`: expected the job that the hook is given")
            });
        }
        let arguments = kinds.iter().map(argument).collect::<Option<Vec<_>>>();
        let takes = |it: &Option<ArgumentKind<'_>>| match it {
            Some(it) => param.takes(*it),
            None => param.is_optional,
        };
        let arguments = arguments.filter(|them| !them.is_empty())?;
        let is_wrong = !arguments.iter().any(takes);
        is_wrong.then(|| {
            let (arg, words) = (code.shown(*arg), param.words());
            let expected = match (code.text(call.args[place]), words.is_empty()) {
                (Some(text), false) => format!("no such word{}", hint(text, words)),
                _ => format!("expected {}", param.expected()),
            };
            format!("`{shown}` is given `{} = {arg}`: {expected}", param.name)
        })
    });
    wrong.collect()
}

/// What is wrong with the call of a function of the language; what it is given in excess does no harm.
fn builtin(
    inference: &Inference<'_>,
    id: ExprId,
    name: &str,
    signature: &Signature,
) -> Option<String> {
    let code = inference.code;
    let ExprKind::Call(call) = &code.expr(id).kind else { return None };
    let shown = code.shown(call.callee);
    // The text of a method stands before it.
    let own = usize::from(call.is_method);
    let params = &signature.params[own..];
    let given = call.args.len();
    if given + own < signature.least() && !call.is_open {
        let names: Vec<&str> = params.iter().map(|param| &*param.name).collect();
        return Some(format!("`{shown}` is {}: it takes ({})", counted(given), names.join(", ")));
    }
    if let ("table.concat", Some(list)) = (name, call.args.first())
        && let Some(what) = no_texts(inference, *list)
    {
        return Some(format!("`{shown}` is given `{}`, {what}: it joins texts", code.shown(*list)));
    }
    call.args.iter().zip(params).find_map(|(arg, param)| {
        let kinds = inference.kinds(*arg);
        let is_nil = |kind: &Kind| *kind == Kind::Nil;
        let kinds: Vec<&Kind> = kinds.iter().filter(|kind| !is_nil(kind)).collect();
        let takes = |kind: &&Kind| argument(kind).flatten().is_none_or(|it| param.takes(it));
        if kinds.is_empty() || kinds.iter().any(takes) || !is_certain(inference, *arg) {
            return None;
        }
        let (arg, expected) = (code.shown(*arg), param.expected());
        let field = kinds[0].text_field().filter(|_| expected == "a text");
        let hint = field.map(|field| format!(": `{arg}.{field}` is one")).unwrap_or_default();
        Some(format!("`{shown}` is given `{} = {arg}`: expected {expected}{hint}", param.name))
    })
}

/// What a list holds that is certain to hold no text.
fn no_texts(inference: &Inference<'_>, list: ExprId) -> Option<&'static str> {
    let kinds = inference.kinds(list);
    let mut items: Vec<Kind> = kinds.iter().flat_map(|kind| inference.inner(kind)).collect();
    items.retain(|kind| *kind != Kind::Nil);
    let said = |kind: &Kind| match kind.plain_type()? {
        "table" => Some("a list of tables"),
        "boolean" => Some("a list of booleans"),
        "function" => Some("a list of functions"),
        _ => None,
    };
    let first = items.first().and_then(said)?;
    (items.iter().all(|kind| said(kind).is_some()) && is_certain(inference, list)).then_some(first)
}

fn counted(given: usize) -> String {
    match given {
        1 => "given 1 argument".to_owned(),
        given => format!("given {given} arguments"),
    }
}

/// Whether an argument may stand for several.
fn is_several(inference: &Inference<'_>, arg: ExprId) -> bool {
    let ExprKind::Call(call) = &inference.code.expr(arg).kind else { return true };
    let is_one = |kind: &Kind| match kind {
        Kind::Declared(_, signature) => !signature.returns.contains([',', ' ']),
        _ => false,
    };
    !inference.kinds(call.callee).iter().all(is_one)
}

/// Whether it may be that an expression is a table.
fn is_table(inference: &Inference<'_>, expr: ExprId) -> bool {
    inference.kinds(expr).iter().any(|kind| *kind == Kind::Unknown || kind.is_table())
}

/// What an argument is; `None` where that is not known, and `Some(None)` for nothing.
#[expect(clippy::option_option, reason = "unknown and nothing are two answers")]
fn argument(kind: &Kind) -> Option<Option<ArgumentKind<'_>>> {
    Some(Some(match kind {
        Kind::Unknown => return None,
        Kind::Nil => return Some(None),
        Kind::Bool => ArgumentKind::Bool,
        Kind::Number(_) => ArgumentKind::Number,
        Kind::Text(text) => ArgumentKind::Text(text.as_deref()),
        Kind::Function(_) | Kind::Declared(..) | Kind::Builtin(_) => ArgumentKind::Function,
        Kind::Shaped(epitome_types::hook::ValueShape::Word(_), _) => ArgumentKind::Text(None),
        kind if kind.is_table() => ArgumentKind::Table,
        _ => return None,
    }))
}

/// Whether it is certain that this is not the job of a hook.
fn not_the_job(kinds: &[Kind]) -> bool {
    let other = |kind: &Kind| match kind {
        Kind::Unknown | Kind::Nil => false,
        kind => kind.hook().is_none(),
    };
    !kinds.is_empty() && kinds.iter().all(other)
}
