//! Patterns that cannot be used: regular expressions, and those of Lua.
//!
//! Invariant: a pattern is looked at where all of it stands in the policy's text. One of several is
//! wrong only where all of them are, or where a loop or a function hands each on and looks at none.

use std::collections::BTreeSet;

use super::code::{Call, Code, ExprId, ExprKind, Origin, VarId};
use super::infer::Inference;
use super::kind::Kind;
use super::lua_pattern;
use super::mistake::Mistake;
use crate::api::compiled;

/// Functions of `string` that take a pattern behind the text.
const SEARCHES: &[&str] = &["find", "gmatch", "gsub", "match"];
/// What a parameter of `ep` is called that takes a regular expression.
const REGEX: &str = "pattern";

/// The most letters of a pattern that are shown.
const LONGEST: usize = 80;

/// Says why a text is no pattern.
type PatternJudge = fn(&str) -> Option<String>;

/// What is wrong with the patterns that functions are given.
pub(super) fn check(inference: &Inference<'_>) -> Vec<Mistake> {
    let code = inference.code;
    let check = PatternCheck { inference, defined: defined(code) };
    let mistakes = code.calls().filter_map(|(_, call)| {
        let (arg, judge) = check.pattern(call)?;
        let what = check.wrong(call, arg, judge)?;
        let what =
            format!("`{}` is given a pattern that cannot be used: {what}", code.shown(call.callee));
        Some(Mistake { at: code.expr(arg).at, what })
    });
    mistakes.collect()
}

/// The names of [`SEARCHES`] that the policy gives to something of its own, or might.
fn defined(code: &Code) -> BTreeSet<&str> {
    let keys = code.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Index { key, .. } => Some(key),
        _ => None,
    });
    let keys: BTreeSet<ExprId> = keys.collect();
    let texts = (0..code.exprs.len()).filter(|id| !keys.contains(id));
    texts.filter_map(|id| code.text(id)).filter(|name| SEARCHES.contains(name)).collect()
}

fn malformed(text: &str) -> Option<String> {
    let what = lua_pattern::malformed(text)?;
    Some(format!("is no pattern of Lua: {what}"))
}

/// A pattern with what is wrong with it, in one line.
fn named(pattern: &str, what: &str) -> String {
    let line = pattern.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST).collect();
    let dots = if short.len() < pattern.len() { "…" } else { "" };
    format!("`{short}{dots}` {what}")
}

struct PatternCheck<'a> {
    inference: &'a Inference<'a>,
    defined: BTreeSet<&'a str>,
}

impl PatternCheck<'_> {
    /// The pattern that a call gives, and who says whether it is one.
    fn pattern(&self, call: &Call) -> Option<(ExprId, PatternJudge)> {
        if let [Kind::Declared(_, signature)] = &self.inference.kinds(call.callee)[..] {
            let place = signature.params.iter().position(|param| param.name == REGEX)?;
            return Some((*call.args.get(place)?, |text| compiled(text).err()));
        }
        let name = self.search(call)?;
        let place = usize::from(!call.is_method);
        if name == "find" && self.may_be_plain(call, place + 2) {
            return None;
        }
        let judge: PatternJudge = match name {
            "find" => |text| lua_pattern::is_special(text).then(|| malformed(text))?,
            _ => malformed,
        };
        Some((*call.args.get(place)?, judge))
    }

    /// The function of `string` that is called.
    fn search(&self, call: &Call) -> Option<&'static str> {
        let searches = |wanted: &str| SEARCHES.iter().copied().find(|name| *name == wanted);
        let code = self.inference.code;
        match &self.inference.kinds(call.callee)[..] {
            [Kind::Builtin(name)] => searches(name.strip_prefix("string.")?),
            // A value that is not known is a text, where nothing else has a method of the name.
            [Kind::Unknown] if call.is_method => {
                let ExprKind::Index { key, .. } = code.expr(call.callee).kind else { return None };
                searches(code.text(key)?).filter(|name| !self.defined.contains(name))
            }
            _ => None,
        }
    }

    /// Whether `string.find` may be told to look for the words themselves.
    fn may_be_plain(&self, call: &Call, place: usize) -> bool {
        match call.args.get(place) {
            Some(arg) => {
                let kind = &self.inference.code.expr(*arg).kind;
                !matches!(kind, ExprKind::Bool(false) | ExprKind::Nil)
            }
            None => call.is_open,
        }
    }

    /// Why a pattern cannot be used.
    fn wrong(&self, call: &Call, arg: ExprId, judge: PatternJudge) -> Option<String> {
        let mut kinds = self.inference.kinds(arg);
        kinds.retain(|kind| *kind != Kind::Nil);
        let mut said = kinds.iter().map(|kind| match kind {
            Kind::Text(Some(text)) => judge(text).map(|what| named(text, &what)),
            _ => None,
        });
        if self.is_handed_on(arg) || self.is_passed_on(call, arg) {
            return said.find_map(|what| what);
        }
        let first = said.next()??;
        said.all(|what| what.is_some()).then_some(first)
    }

    /// Whether a value is each item of a loop, or a field of it, of which nothing else is read.
    fn is_handed_on(&self, expr: ExprId) -> bool {
        let code = self.inference.code;
        match &code.expr(expr).kind {
            ExprKind::Var(var) => self.is_item(*var),
            ExprKind::Index { base, key } => code.text(*key).is_some() && self.is_handed_on(*base),
            _ => false,
        }
    }

    /// Whether a value is a parameter of a function that does nothing with what it is given but to
    /// pass it on to a call.
    fn is_passed_on(&self, call: &Call, arg: ExprId) -> bool {
        let code = self.inference.code;
        let var = |expr: ExprId| match code.expr(expr).kind {
            ExprKind::Var(var) => Some(var),
            _ => None,
        };
        let Some(param) = var(arg) else { return false };
        let [Origin::Param(func, _)] = code.vars[param].origins[..] else { return false };
        // The text of a method is passed on as well.
        let text = match (&code.expr(call.callee).kind, call.is_method) {
            (ExprKind::Index { base, .. }, true) => var(*base),
            _ => None,
        };
        code.funcs[func].params.iter().all(|param| {
            let passed = call.args.iter().filter_map(|arg| var(*arg)).chain(text);
            code.vars[*param].reads == passed.filter(|passed| passed == param).count()
        })
    }

    fn is_item(&self, var: VarId) -> bool {
        let code = self.inference.code;
        let variable = &code.vars[var];
        let [Origin::Each(list, 1)] = variable.origins[..] else { return false };
        // Variables of a loop are declared side by side: its place must not be looked at either.
        let place = var.checked_sub(1).map(|place| &code.vars[place]);
        let is_unread = place.is_some_and(|place| {
            place.reads == 0 && matches!(place.origins[..], [Origin::Each(of, 0)] if of == list)
        });
        variable.reads == 1 && is_unread
    }
}
