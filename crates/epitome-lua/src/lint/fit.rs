//! Whether what a policy answers has the shape that the hook declares.
//!
//! Invariant: an answer that may have it passes. Where a value is one of several, each that stands
//! in the answer itself is looked at; one that a variable holds is wrong only where all of them are,
//! since the policy may have looked at it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use epitome_kernel::nearest;
use epitome_types::hook::{FieldShape, NameKind, TableShape, ValueShape};

use super::braces::unfilled;
use super::code::{Code, CodePlace, ExprId, ExprKind};
use super::infer::Inference;
use super::kind::{self, Giver, Kind};
use super::links::fields;
use super::mistake::Mistake;
use crate::misfit::{expected, hint, optional};
use crate::vm::ASK;

/// Looks at what is answered.
pub(super) struct AnswerCheck<'a> {
    pub(super) inference: &'a Inference<'a>,
    /// Who answers: `` `plan` answers ``.
    pub(super) who: String,
    /// The functions and tables that are looked at already.
    pub(super) seen: RefCell<BTreeSet<(ExprId, String)>>,
}

impl AnswerCheck<'_> {
    fn code(&self) -> &Code {
        self.inference.code
    }

    /// What is wrong with the answer that an expression is.
    pub(super) fn answer(&self, expr: ExprId, shape: &ValueShape) -> Vec<Mistake> {
        self.value(expr, shape, "")
    }

    fn wrong(&self, at: CodePlace, path: &str, value: &str, what: &str) -> Vec<Mistake> {
        let Self { who, .. } = self;
        let path = path.trim_start_matches('.');
        let what = match path {
            "" => format!("{who} `{value}`: {what}"),
            path => format!("{who} `{path} = {value}`: {what}"),
        };
        vec![Mistake { at, what }]
    }

    /// What is wrong with a value that stands in the answer itself.
    pub(super) fn value(&self, expr: ExprId, shape: &ValueShape, path: &str) -> Vec<Mistake> {
        match &self.code().expr(expr).kind {
            ExprKind::And(_, right) => self.value(*right, shape, path),
            ExprKind::Or(left, right) => {
                let both = [*left, *right].into_iter();
                both.flat_map(|side| self.value(side, shape, path)).collect()
            }
            ExprKind::Choice(choices) => {
                choices.iter().flat_map(|choice| self.value(*choice, shape, path)).collect()
            }
            ExprKind::Call(call) => match &self.inference.kinds(call.callee)[..] {
                [Kind::Function(func)] => {
                    if !self.seen.borrow_mut().insert((expr, path.to_owned())) {
                        return Vec::new();
                    }
                    let returns = &self.code().funcs[*func].returns;
                    let firsts = returns.iter().filter_map(|values| values.first());
                    firsts.flat_map(|value| self.value(*value, shape, path)).collect()
                }
                _ => self.known(expr, shape, path),
            },
            _ => self.known(expr, shape, path),
        }
    }

    /// What is wrong with a value by all that it may be.
    fn known(&self, expr: ExprId, shape: &ValueShape, path: &str) -> Vec<Mistake> {
        let mut kinds = self.inference.kinds(expr);
        kinds.retain(|kind| *kind != Kind::Nil);
        let mut wrong = kinds.iter().map(|kind| match kind {
            Kind::Made(table) => self.table(*table, shape, path),
            kind => match self.misfit(kind, shape) {
                Some(what) => {
                    let (at, shown) = (self.code().expr(expr).at, self.code().shown(expr));
                    self.wrong(at, path, &shown, &what)
                }
                None => Vec::new(),
            },
        });
        let first = wrong.next().unwrap_or_default();
        match wrong.all(|mistakes| !mistakes.is_empty()) {
            true => first,
            false => Vec::new(),
        }
    }

    /// Why a plain value does not fit.
    fn misfit(&self, kind: &Kind, shape: &ValueShape) -> Option<String> {
        let is_word = |words: &[&str], text: &str| {
            let known = |word: &str| words.contains(&word);
            known(text) || self.inference.names.renamed(NameKind::Word, text, known).is_some()
        };
        match (shape, kind) {
            (_, Kind::Unknown | Kind::Nil | Kind::Options(_)) | (ValueShape::Any, _) => None,
            (ValueShape::Optional(inner), kind) => self.misfit(kind, inner),
            (ValueShape::Either(shapes), kind) => {
                let fits = shapes.iter().any(|shape| self.misfit(kind, shape).is_none());
                (!fits).then(|| format!("expected {}", expected(shape)))
            }
            (ValueShape::Bool, Kind::Bool) | (ValueShape::Number, Kind::Number(_)) => None,
            (ValueShape::Integer, Kind::Number(Some(number))) if number.fract() != 0.0 => {
                Some("expected a whole number from 0 up; `math.floor` makes one".to_owned())
            }
            (ValueShape::Integer, Kind::Number(number)) if number.is_none_or(|it| it >= 0.0) => {
                None
            }
            (ValueShape::Word(words), Kind::Text(Some(text))) if !is_word(words, text) => {
                Some(format!("no such word{}", hint(text, words.iter().copied())))
            }
            (
                ValueShape::Text | ValueShape::Word(_),
                Kind::Text(_) | Kind::Shaped(ValueShape::Word(_), _),
            ) => None,
            (
                ValueShape::List(_),
                Kind::Shaped(ValueShape::Table(_) | ValueShape::Tagged { .. }, _),
            ) => Some("expected a list".to_owned()),
            (ValueShape::Table(wanted), Kind::Shaped(ValueShape::List(_), _)) => {
                Some(no_list(wanted))
            }
            (shape, Kind::Shaped(given, Giver::Job | Giver::Function))
                if is_container(shape) && is_container(given) =>
            {
                self.unlike(given, shape)
            }
            (
                ValueShape::List(_)
                | ValueShape::Map(_)
                | ValueShape::Table(_)
                | ValueShape::Tagged { .. },
                kind,
            ) if kind.is_table() => None,
            // What may be one of several is no more than that.
            (_, Kind::Shaped(ValueShape::Either(_), _)) => None,
            (shape, _) => Some(format!("expected {}", expected(shape))),
        }
    }

    /// Why a table of a job, which is as it is declared, does not fit.
    fn unlike(&self, given: &ValueShape, shape: &ValueShape) -> Option<String> {
        match (shape, given) {
            (ValueShape::List(wanted), ValueShape::List(item)) => {
                let what = self.misfit(&Kind::of_shape(item, Giver::Job), wanted)?;
                Some(format!("each item: {what}"))
            }
            (ValueShape::Table(wanted), ValueShape::Table(given)) => {
                let has = |table: &TableShape, name| table.all_fields().any(|it| it.name == name);
                let is_there = |field: &&FieldShape| !optional(&field.shape);
                let mut more = given.all_fields().filter(is_there);
                if let Some(FieldShape { name, .. }) = more.find(|field| !has(wanted, field.name)) {
                    let names: Vec<&str> = wanted.all_fields().map(|field| field.name).collect();
                    let hint = hint(name, names);
                    return Some(format!("it has `{name}`, and there is no such field{hint}"));
                }
                let mut required = wanted.all_fields().filter(is_there);
                let field = required.find(|field| !has(given, field.name))?;
                Some(format!("`{}` is missing: expected {}", field.name, expected(&field.shape)))
            }
            _ => None,
        }
    }

    /// What is wrong with a table that the policy makes.
    fn table(&self, table: ExprId, shape: &ValueShape, path: &str) -> Vec<Mistake> {
        if self.inference.links.open.contains(&table) {
            return Vec::new();
        }
        match shape {
            ValueShape::Optional(inner) => self.table(table, inner, path),
            _ if path.is_empty() && self.has(table, "ask") => {
                let asks = self.inference.put(table, "ask").into_iter().flatten();
                asks.flat_map(|ask| self.value(ask, &ValueShape::Table(&ASK), ".ask")).collect()
            }
            ValueShape::Table(shape) => self.fields(table, shape, None, path),
            ValueShape::Tagged { tag, variants, .. } => {
                let put = self.inference.put(table, tag);
                let Some(word) = self.word(&put) else {
                    let is_left_out = put.is_empty() && !self.inference.is_dynamic(table);
                    return if is_left_out {
                        self.expected(table, shape, path)
                    } else {
                        Vec::new()
                    };
                };
                match self.variant(variants, &word) {
                    Some(shape) => self.fields(table, shape, Some(tag), path),
                    None => {
                        let hint = hint(&word, variants.iter().map(|(word, _)| *word));
                        let at = put.first().copied().flatten().unwrap_or(table);
                        let (at, path) = (self.code().expr(at).at, format!("{path}.{tag}"));
                        let what = format!("no such `{tag}`{hint}");
                        self.wrong(at, &path, &format!("{word:?}"), &what)
                    }
                }
            }
            ValueShape::List(inner) => self.list(table, inner, path),
            ValueShape::Map(inner) => {
                let fields = fields(self.inference, table).into_iter();
                let fields = fields.filter_map(|(key, value)| Some((key, value?)));
                let one = |(key, value): (ExprId, ExprId)| {
                    let path = format!("{path}.{}", self.code().text(key).unwrap_or_default());
                    self.value(value, inner, &path)
                };
                fields.flat_map(one).collect()
            }
            ValueShape::Either(shapes) => match self.nearest_of(table, shapes) {
                Some(shape) => self.table(table, shape, path),
                None => self.expected(table, shape, path),
            },
            ValueShape::Any => Vec::new(),
            shape => self.expected(table, shape, path),
        }
    }

    fn expected(&self, table: ExprId, shape: &ValueShape, path: &str) -> Vec<Mistake> {
        let (at, shown) = (self.code().expr(table).at, self.code().shown(table));
        self.wrong(at, path, &shown, &format!("expected {}", expected(shape)))
    }

    fn has(&self, table: ExprId, name: &str) -> bool {
        !self.inference.put(table, name).is_empty()
    }

    /// The shape that a table is meant for: of tables, the one that has the most of its fields.
    fn nearest_of<'s>(&self, table: ExprId, shapes: &'s [ValueShape]) -> Option<&'s ValueShape> {
        let names: Vec<&str> = fields(self.inference, table)
            .into_iter()
            .filter_map(|(key, _)| self.code().text(key))
            .collect();
        let known = |shape: &ValueShape| match shape {
            ValueShape::Table(shape) => {
                let fields = || shape.all_fields().map(|field| field.name);
                let points = |name: &&str| match nearest(name, fields()) {
                    Some(field) if field == *name => 2,
                    Some(_) => 1,
                    None => 0,
                };
                Some(names.iter().map(points).sum::<usize>())
            }
            shape => matches!(
                shape,
                ValueShape::List(_)
                    | ValueShape::Map(_)
                    | ValueShape::Tagged { .. }
                    | ValueShape::Any
            )
            .then_some(0),
        };
        let tables = shapes.iter().filter_map(|shape| Some((known(shape)?, shape)));
        tables.rev().max_by_key(|(points, _)| *points).map(|(_, shape)| shape)
    }

    /// The word that is put somewhere, where it is one only.
    fn word(&self, put: &[Option<ExprId>]) -> Option<String> {
        let [Some(value)] = put else { return None };
        match &self.inference.kinds(*value)[..] {
            [Kind::Text(Some(text))] => Some(text.clone()),
            _ => None,
        }
    }

    /// The table that belongs to a word, in the words that the policy may use.
    fn variant(
        &self,
        variants: &'static [(&'static str, &'static TableShape)],
        word: &str,
    ) -> Option<&'static TableShape> {
        let find = |wanted: &str| variants.iter().find(|(word, _)| *word == wanted);
        let known = |word: &str| find(word).is_some();
        let new = self.inference.names.renamed(NameKind::Word, word, known);
        find(new.map_or(word, |renamed| renamed.new)).map(|(_, shape)| *shape)
    }

    fn fields(
        &self,
        table: ExprId,
        shape: &TableShape,
        tag: Option<&str>,
        path: &str,
    ) -> Vec<Mistake> {
        let (inference, code) = (self.inference, self.code());
        if let Some(item) = self.item(table) {
            let at = code.expr(item).at;
            return self.wrong(at, path, &code.shown(table), &no_list(shape));
        }
        let mut mistakes = Vec::new();
        let mut given = BTreeSet::new();
        for (key, value) in fields(inference, table) {
            let name = code.text(key).unwrap_or_default();
            if tag == Some(name) {
                continue;
            }
            let inner = format!("{path}.{name}");
            if let Some(field) = kind::field(inference.names, shape, name) {
                given.insert(field.name);
                let Some(value) = value.filter(|value| !self.is_nil(*value)) else { continue };
                mistakes.extend(self.value(value, &field.shape, &inner));
                mistakes.extend(self.braces(value, shape, field.name));
                continue;
            }
            // What is taken out again was there for the policy itself.
            let is_cleared = inference.put(table, name).into_iter().flatten();
            if !is_cleared.clone().any(|value| self.is_nil(value)) {
                let names: Vec<&str> = shape.all_fields().map(|field| field.name).collect();
                let shown = value.map_or_else(|| "...".to_owned(), |value| code.shown(value));
                let what = format!("no such field{}", hint(name, names));
                mistakes.extend(self.wrong(code.expr(key).at, &inner, &shown, &what));
            }
        }
        if inference.is_dynamic(table) {
            return mistakes;
        }
        let mut required = shape.all_fields().filter(|field| !optional(&field.shape));
        if let Some(field) = required.find(|field| !given.contains(field.name)) {
            let what = format!("`{}` is missing: expected {}", field.name, expected(&field.shape));
            mistakes.extend(self.wrong(code.expr(table).at, path, &code.shown(table), &what));
        }
        mistakes
    }

    /// A word in braces of a text that nobody fills.
    fn braces(&self, value: ExprId, shape: &TableShape, field: &str) -> Option<Mistake> {
        let kinds = self.inference.kinds(value);
        let what = kinds.iter().find_map(|kind| match kind {
            Kind::Text(Some(text)) => unfilled(shape.name, field, text),
            _ => None,
        });
        let what = format!("{} `{field}`: {}", self.who, what?);
        Some(Mistake { at: self.code().expr(value).at, what })
    }

    fn is_nil(&self, expr: ExprId) -> bool {
        matches!(self.code().expr(expr).kind, ExprKind::Nil)
    }

    /// An item that certainly stands in a table.
    fn item(&self, table: ExprId) -> Option<ExprId> {
        let (inference, code) = (self.inference, self.code());
        let ExprKind::Table(literal) = &code.expr(table).kind else { return None };
        let stores = inference.links.stores.get(&table).into_iter().flatten();
        let stores = stores.map(|store| &code.stores[*store]);
        let is_place = |key: ExprId| {
            let kinds = inference.kinds(key);
            !kinds.is_empty() && kinds.iter().all(|kind| matches!(kind, Kind::Number(_)))
        };
        let fields = literal.fields.iter().map(|(key, value)| (*key, Some(*value)));
        let keyed = fields.chain(stores.map(|store| (store.key, store.value)));
        let placed: Vec<_> = keyed.filter(|(key, _)| is_place(*key)).map(|(_, it)| it).collect();
        // What is taken out again was there for the policy itself.
        let is_cleared = placed.iter().any(|value| value.is_none_or(|value| self.is_nil(value)));
        let is_taken = code.calls().any(|(_, call)| {
            let is_remove =
                |kind: &Kind| matches!(kind, Kind::Builtin(name) if name == "table.remove");
            let given = call.args.first().map(|arg| inference.kinds(*arg)).unwrap_or_default();
            given.contains(&Kind::Made(table)) && inference.kinds(call.callee).iter().any(is_remove)
        });
        let is_there = |value: &ExprId| {
            let kinds = inference.kinds(*value);
            !kinds.is_empty() && !kinds.iter().any(|kind| matches!(kind, Kind::Unknown | Kind::Nil))
        };
        let items = literal.items.iter().copied().chain(placed.into_iter().flatten());
        items.filter(|_| !is_cleared && !is_taken).find(is_there)
    }

    /// A key of a table that is certainly a name.
    fn named(&self, table: ExprId) -> Option<ExprId> {
        let (inference, code) = (self.inference, self.code());
        let ExprKind::Table(literal) = &code.expr(table).kind else { return None };
        let stores = inference.links.stores.get(&table).into_iter().flatten();
        let stores = stores.map(|store| (code.stores[*store].key, code.stores[*store].value));
        let fields = literal.fields.iter().map(|(key, value)| (*key, Some(*value)));
        let keyed: Vec<_> = fields.chain(stores).collect();
        let is_nil = |value: &Option<ExprId>| value.is_some_and(|value| self.is_nil(value));
        // What is taken out again was there for the policy itself.
        let is_cleared = |key: ExprId| {
            let mut same = keyed.iter().filter(|(other, _)| code.text(*other) == code.text(key));
            same.any(|(_, value)| is_nil(value))
        };
        let is_name = |key: &ExprId| {
            let kinds = inference.kinds(*key);
            !kinds.is_empty() && kinds.iter().all(|kind| kind.plain_type() == Some("text"))
        };
        keyed.iter().map(|(key, _)| *key).filter(is_name).find(|key| !is_cleared(*key))
    }

    fn list(&self, table: ExprId, inner: &ValueShape, path: &str) -> Vec<Mistake> {
        let (inference, code) = (self.inference, self.code());
        let ExprKind::Table(literal) = &code.expr(table).kind else { return Vec::new() };
        if let Some(key) = self.named(table) {
            let at = code.expr(key).at;
            return self.wrong(at, path, &code.shown(table), "expected a list");
        }
        let items = literal.items.iter().enumerate();
        let mut mistakes: Vec<Mistake> = items
            .flat_map(|(at, item)| self.value(*item, inner, &format!("{path}[{}]", at + 1)))
            .collect();
        let stores = inference.links.stores.get(&table).into_iter().flatten();
        for store in stores.map(|store| &code.stores[*store]) {
            let value = store.value.filter(|value| !self.is_nil(*value));
            let path = format!("{path}[...]");
            mistakes.extend(value.into_iter().flat_map(|value| self.value(value, inner, &path)));
        }
        mistakes
    }
}

/// Whether values of a shape hold others.
fn is_container(shape: &ValueShape) -> bool {
    matches!(shape, ValueShape::List(_) | ValueShape::Table(_))
}

/// What is said of a list that stands where fields have names.
fn no_list(shape: &TableShape) -> String {
    let names: Vec<String> = shape.all_fields().map(|field| format!("`{}`", field.name)).collect();
    format!("expected named fields and no list; there are {}", names.join(", "))
}
