//! Whether a value is for certain what it is known to be.
//!
//! Invariant: what a policy hands to functions of its own may be looked at there, and what looks at it
//! may have been written for more; of such a value nothing is certain but declared tables.

use super::code::{ExprId, ExprKind, Origin, VarId};
use super::infer::Inference;
use super::kind::Kind;

/// Whether a value is what it is by declaration; others are so in this policy only.
pub(super) fn is_declared(inference: &Inference<'_>, expr: ExprId) -> bool {
    let code = inference.code;
    match &code.expr(expr).kind {
        ExprKind::Global(_) | ExprKind::Length(Some(_)) => true,
        ExprKind::Var(var) => match code.vars[*var].origins[..] {
            [Origin::Value(value, _)] => is_declared(inference, value),
            [Origin::Each(of, _)] => is_declared_list(inference, of),
            _ => false,
        },
        ExprKind::Index { base, .. } => inference.kinds(*base).iter().all(|kind| {
            let is_plain = matches!(kind, Kind::Shaped(..) | Kind::Text(_));
            is_plain || matches!(kind, Kind::Ep(_) | Kind::Library(_) | Kind::Options(_))
        }),
        ExprKind::Call(call) => {
            let kinds = inference.kinds(call.callee);
            kinds.iter().all(|kind| matches!(kind, Kind::Declared(..) | Kind::Builtin(_)))
        }
        _ => false,
    }
}

/// Whether a loop goes over what is declared.
fn is_declared_list(inference: &Inference<'_>, of: ExprId) -> bool {
    if let ExprKind::Call(call) = &inference.code.expr(of).kind
        && let [Kind::Builtin(name)] = &inference.kinds(call.callee)[..]
        && ["ipairs", "pairs"].contains(&&**name)
    {
        return call.args.first().is_some_and(|list| is_declared(inference, *list));
    }
    is_declared(inference, of)
}

/// Whether a value is certain: declared, written where it stands, or a declared table that is handed
/// on and that nobody asks for its type.
pub(super) fn is_certain(inference: &Inference<'_>, expr: ExprId) -> bool {
    let code = inference.code;
    match &code.expr(expr).kind {
        ExprKind::Text(_)
        | ExprKind::Woven
        | ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Table(_)
        | ExprKind::Function(_) => true,
        ExprKind::Var(var) => match code.vars[*var].origins[..] {
            [Origin::Value(value, 0)] => is_certain(inference, value),
            [Origin::Counter] => true,
            [Origin::Param(..)] => {
                let is_table = |kind: &Kind| matches!(kind, Kind::Shaped(..)) && kind.is_table();
                let kinds = inference.kinds(expr);
                !kinds.is_empty() && kinds.iter().all(is_table) && !is_typed(inference, *var)
            }
            _ => is_declared(inference, expr),
        },
        _ => is_declared(inference, expr),
    }
}

/// Whether the type of a variable is asked for.
fn is_typed(inference: &Inference<'_>, var: VarId) -> bool {
    let code = inference.code;
    code.calls().any(|(_, call)| {
        let is_it = |arg: &ExprId| matches!(code.expr(*arg).kind, ExprKind::Var(it) if it == var);
        let is_type = |kind: &Kind| matches!(kind, Kind::Builtin(name) if name == "type");
        call.args.first().is_some_and(is_it) && inference.kinds(call.callee).iter().any(is_type)
    })
}
