//! Whether hooks take the job that they are given, and answer what they worked out.
//!
//! Invariant: of a hook that answers anything anywhere nothing is said: when it does is not known.

use epitome_kernel::HookShape;
use epitome_types::hook::{TableShape, ValueShape};

use super::code::{CodePlace, ExprId, ExprKind, Func, FuncId, Origin, VarId};
use super::infer::Inference;
use super::kind::{Giver, Kind, field};
use super::links::fields;
use super::mistake::Mistake;

/// What is wrong with the hooks of a policy.
pub(super) fn check(inference: &Inference<'_>) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (id, hook) in &inference.links.hooks {
        let check = HookCheck { inference, hook, id: *id, func: &inference.code.funcs[*id] };
        mistakes.extend(check.colon());
        mistakes.extend(check.unanswered());
    }
    mistakes
}

/// Looks at one hook.
struct HookCheck<'a> {
    inference: &'a Inference<'a>,
    hook: &'static HookShape,
    id: FuncId,
    func: &'a Func,
}

impl HookCheck<'_> {
    /// A hook that is declared with a colon and looks for its job behind `self`.
    fn colon(&self) -> Option<Mistake> {
        let param = self.func.params.get(1).filter(|_| self.func.is_method)?;
        let param = &self.inference.code.vars[*param];
        if param.reads == 0 || param.origins.len() > 1 {
            return None;
        }
        let (hook, name) = (self.hook.name, &param.name);
        let what = format!(
            "hook `{hook}` is declared with `:`, so the job is `self` and `{name}` is nothing: write \
             `.` before `{hook}`"
        );
        Some(Mistake { at: param.at, what })
    }

    /// A hook that works out an answer and returns nothing, whatever happens.
    fn unanswered(&self) -> Option<Mistake> {
        let code = self.inference.code;
        let is_nil = |value: &ExprId| matches!(code.expr(*value).kind, ExprKind::Nil);
        if !self.func.returns.iter().flatten().all(is_nil) {
            return None;
        }
        self.changed().or_else(|| self.unread())
    }

    /// What is put into an answer of the policies behind: it is a copy.
    fn changed(&self) -> Option<Mistake> {
        let (inference, code) = (self.inference, self.inference.code);
        let is_answer = |kind: &Kind| matches!(kind, Kind::Shaped(_, Giver::Next));
        let mut stores = code.stores.iter().filter(|store| {
            code.expr(store.base).inside == Some(self.id)
                && inference.kinds(store.base).iter().any(is_answer)
        });
        let store = stores.next()?;
        let what = format!("`{}` is changed", code.shown(store.base));
        Some(self.lost(store.at, &what))
    }

    /// A table with fields of the answer that nobody reads.
    fn unread(&self) -> Option<Mistake> {
        let code = self.inference.code;
        code.vars.iter().enumerate().find_map(|(id, var)| {
            let [Origin::Value(value, 0)] = var.origins[..] else { return None };
            let expr = code.expr(value);
            let is_table = matches!(expr.kind, ExprKind::Table(_));
            let is_here = is_table && expr.inside == Some(self.id);
            let is_lost = is_here && self.is_answer(value) && var.reads == self.stores(id);
            is_lost.then(|| self.lost(var.at, &format!("`{}` is made", var.name)))
        })
    }

    /// How often a variable is read only to put something into the table that it holds.
    fn stores(&self, var: VarId) -> usize {
        let code = self.inference.code;
        let is_it = |expr: ExprId| matches!(code.expr(expr).kind, ExprKind::Var(it) if it == var);
        let bases = code.stores.iter().filter(|store| is_it(store.base)).count();
        let lengths = code.exprs.iter();
        bases
            + lengths
                .filter(|expr| matches!(expr.kind, ExprKind::Length(Some(of)) if is_it(of)))
                .count()
    }

    /// Whether a table has a field that the answer has.
    fn is_answer(&self, table: ExprId) -> bool {
        let (inference, code) = (self.inference, self.inference.code);
        let tables = tables(&self.hook.answer);
        fields(inference, table)
            .into_iter()
            .filter_map(|(key, _)| code.text(key))
            .any(|name| tables.iter().any(|table| field(inference.names, table, name).is_some()))
    }

    fn lost(&self, at: CodePlace, done: &str) -> Mistake {
        let hook = self.hook.name;
        Mistake { at, what: format!("{done}, and `{hook}` returns nothing: return the answer") }
    }
}

/// The tables that an answer may be.
fn tables(shape: &ValueShape) -> Vec<&'static TableShape> {
    match shape {
        ValueShape::Table(table) => vec![table],
        ValueShape::Optional(inner) => tables(inner),
        ValueShape::Either(shapes) => shapes.iter().flat_map(tables).collect(),
        _ => Vec::new(),
    }
}
