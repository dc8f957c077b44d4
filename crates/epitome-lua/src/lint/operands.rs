//! Whether two values can be compared, added and joined.
//!
//! Invariant: a value is wrong only where all that it may be are; one that a function of the policy is
//! handed may have been looked at before.

use epitome_types::hook::{NameKind, ValueShape};

use super::certain::{is_certain, is_declared};
use super::code::{ExprId, ExprKind, Operator};
use super::infer::Inference;
use super::kind::Kind;
use crate::misfit::hint;

/// Looks at what operators are given.
pub(super) struct OperandCheck<'a> {
    pub(super) inference: &'a Inference<'a>,
}

/// What is wrong with taking a function for what it gives.
pub(super) fn function(inference: &Inference<'_>, expr: ExprId, wanted: &str) -> Option<String> {
    let code = inference.code;
    let kinds = there(inference, expr);
    let shown = code.shown(expr);
    match (&kinds[..], shown.rsplit_once('.')) {
        ([Kind::Declared(_, signature)], Some((table, name))) if signature.is_method => {
            let names = signature.params.iter().map(|param| &*param.name);
            let names = names.collect::<Vec<_>>().join(", ");
            Some(format!("`{shown}` is a method: `{table}:{name}({names})` gives the text"))
        }
        ([Kind::Declared(..) | Kind::Builtin(_) | Kind::Function(_)], _) => {
            Some(format!("`{shown}` is a function and no {wanted}"))
        }
        _ => None,
    }
}

/// What may stand in a place, but for nothing.
fn there(inference: &Inference<'_>, expr: ExprId) -> Vec<Kind> {
    let mut kinds = inference.kinds(expr);
    kinds.retain(|kind| *kind != Kind::Nil);
    kinds
}

impl OperandCheck<'_> {
    fn kinds(&self, expr: ExprId) -> Vec<Kind> {
        there(self.inference, expr)
    }

    /// What is wrong with comparing, adding or joining two values.
    pub(super) fn operands(&self, op: Operator, left: ExprId, right: ExprId) -> Option<String> {
        let sides = [(left, right), (right, left)];
        if op == Operator::Equality {
            let said = |(one, other)| self.never(one, other).or_else(|| self.unlike(one, other));
            return sides.into_iter().find_map(said);
        }
        let said = sides.into_iter().find_map(|(side, _)| self.operand(op, side));
        said.or_else(|| (op == Operator::Order).then(|| self.unordered(left, right))?)
    }

    /// What is wrong with one side of an operator.
    fn operand(&self, op: Operator, side: ExprId) -> Option<String> {
        let inference = self.inference;
        if let Some(what) = function(inference, side, "text") {
            return Some(what);
        }
        let (kinds, shown) = (self.kinds(side), inference.code.shown(side));
        let first = kinds.first()?;
        if let (Operator::Arithmetic, ExprKind::Text(text)) = (op, &inference.code.expr(side).kind)
            && text.trim().parse::<f64>().is_err()
            && !text.trim().to_ascii_lowercase().starts_with("0x")
        {
            return Some(format!("`{shown}` is a text and no number; `..` joins texts"));
        }
        let is_declared = |kind: &Kind| matches!(kind, Kind::Shaped(..)) && kind.is_table();
        let is_other = |kind: &Kind| match kind {
            // A metatable may say what operators make of it.
            Kind::Made(table) => op != Operator::Order && !inference.links.open.contains(table),
            kind => *kind == Kind::Bool || kind.is_table(),
        };
        let is_wrong = kinds.iter().all(is_declared)
            || (kinds.iter().all(is_other) && is_certain(inference, side));
        let wanted = match op {
            Operator::Concat => "text",
            _ => "number",
        };
        is_wrong.then(|| format!("`{shown}` is {} and no {wanted}", first.noun()))
    }

    /// What is wrong with asking which of two values is greater: a number and a text cannot be told.
    fn unordered(&self, left: ExprId, right: ExprId) -> Option<String> {
        let plain = |side: ExprId| {
            let kinds = self.kinds(side);
            let first = kinds.first()?.plain_type()?;
            let is_it = kinds.iter().all(|kind| kind.plain_type() == Some(first));
            (is_it && is_certain(self.inference, side)).then_some(first)
        };
        let (number, text) = match (plain(left)?, plain(right)?) {
            ("number", "text") => (left, right),
            ("text", "number") => (right, left),
            _ => return None,
        };
        let code = self.inference.code;
        let (number, shown) = (code.shown(number), code.shown(text));
        let remedy = match code.text(text).filter(|text| text.trim().parse::<f64>().is_ok()) {
            Some(text) => format!("write `{}`", text.trim()),
            None => "`tonumber` reads a number".to_owned(),
        };
        Some(format!(
            "`{number}` is a number and `{shown}` a text, and neither is greater; {remedy}"
        ))
    }

    /// A word that a value can never be.
    fn never(&self, value: ExprId, word: ExprId) -> Option<String> {
        let word = self.inference.code.text(word)?;
        let kinds = self.kinds(value);
        let mut known: Vec<&str> = Vec::new();
        for kind in &kinds {
            let Kind::Shaped(ValueShape::Word(words), _) = kind else { return None };
            known.extend(words.iter());
        }
        let is_known = |wanted: &str| known.contains(&wanted);
        let is_old = self.inference.names.renamed(NameKind::Word, word, is_known).is_some();
        if known.is_empty() || is_known(word) || is_old {
            return None;
        }
        let shown = self.inference.code.shown(value);
        Some(format!("`{shown}` is never `{word}`{}", hint(word, known.iter().copied())))
    }

    /// What is wrong with comparing a value to one of a type that it never has.
    fn unlike(&self, value: ExprId, other: ExprId) -> Option<String> {
        let (inference, code) = (self.inference, self.inference.code);
        let (kinds, others) = (self.kinds(value), self.kinds(other));
        let wanted = others.first()?.plain_type()?;
        let differ = |one: &Kind, two: &Kind| match (one.plain_type(), two.plain_type()) {
            (Some(one), Some(two)) => one != two,
            _ => false,
        };
        let is_unlike = kinds.iter().all(|one| others.iter().all(|two| differ(one, two)));
        if kinds.is_empty() || !is_unlike || !is_declared(inference, value) {
            return None;
        }
        // Two values that may both be nothing may be the same: one must be there for certain.
        let is_there = match code.expr(other).kind {
            ExprKind::Text(_) | ExprKind::Number(_) => true,
            // That something is not even `false` may be said of whatever is there.
            ExprKind::Bool(is) => is,
            _ => false,
        };
        match inference.kinds(value).iter().all(Kind::is_function) {
            true => function(inference, value, wanted),
            false => is_there
                .then(|| format!("`{}` is {} and no {wanted}", code.shown(value), kinds[0].noun())),
        }
    }
}
