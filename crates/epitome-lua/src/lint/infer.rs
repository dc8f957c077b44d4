//! What is known of the values of a program.
//!
//! Invariant: a value is what all that may flow there is, whatever the order in which it happens; a
//! way that cannot be followed makes it unknown. Made once for a program, read by the checks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::{ApiNames, HOOKS, HookShape};
use epitome_types::hook::{NameKind, ValueShape};
use serde_json::{Map, Value as Json};

use super::code::{Call, Code, ExprId, ExprKind, FuncId, Operator, Origin};
use super::kind::{Giver, Kind, in_table};
use super::language;
use super::library;
use super::program::Modules;

/// So many alternatives are told apart.
const MOST: usize = 12;
/// The longest text that is made of two, in bytes.
const LONGEST: usize = 1 << 16;
/// So deep values are followed.
const DEEPEST: usize = 60;

/// What is known of the tables and functions of a program before any value is asked for.
#[derive(Debug, Default)]
pub(super) struct CodeLinks {
    /// The stores into each table, by their places in the code.
    pub(super) stores: BTreeMap<ExprId, Vec<usize>>,
    /// Tables that somebody may change who cannot be followed.
    pub(super) open: BTreeSet<ExprId>,
    /// The calls of each function.
    pub(super) calls: BTreeMap<FuncId, Vec<ExprId>>,
    /// Functions that somebody may call who cannot be followed.
    pub(super) escaped: BTreeSet<FuncId>,
    /// The hooks that functions are.
    pub(super) hooks: BTreeMap<FuncId, &'static HookShape>,
    /// Whether somebody may change a list that a function of `ep` made.
    pub(super) are_lists_changed: bool,
}

/// What was found of each value of an expression; nothing while it is looked for.
type KnownKinds = BTreeMap<(ExprId, usize), Option<Vec<Kind>>>;

/// What a program is read with.
pub(super) struct Inference<'a> {
    pub(super) code: &'a Code,
    /// The files that `require` and `ep.prompt` find, by name.
    pub(super) modules: &'a Modules,
    /// The names that the policy may use.
    pub(super) names: &'a ApiNames,
    /// The values of the policy's options, where they are known.
    pub(super) options: Option<&'a Map<String, Json>>,
    pub(super) links: CodeLinks,
    known: RefCell<KnownKinds>,
    depth: RefCell<usize>,
}

impl<'a> Inference<'a> {
    pub(super) fn new(
        code: &'a Code,
        modules: &'a Modules,
        names: &'a ApiNames,
        options: Option<&'a Map<String, Json>>,
    ) -> Self {
        let (known, depth) = (RefCell::default(), RefCell::default());
        Self { code, modules, names, options, links: CodeLinks::default(), known, depth }
    }

    /// Takes links that were found in place of those before.
    pub(super) fn relink(&mut self, links: CodeLinks) {
        self.links = links;
        self.known.borrow_mut().clear();
    }

    /// What the first value of an expression is: all that it may be.
    pub(super) fn kinds(&self, expr: ExprId) -> Vec<Kind> {
        self.result(expr, 0)
    }

    /// What one of the values of an expression is.
    fn result(&self, expr: ExprId, place: usize) -> Vec<Kind> {
        match self.known.borrow().get(&(expr, place)) {
            Some(Some(kinds)) => return kinds.clone(),
            // It depends on itself.
            Some(None) => return vec![Kind::Unknown],
            None => {}
        }
        if *self.depth.borrow() > DEEPEST {
            return vec![Kind::Unknown];
        }
        self.known.borrow_mut().insert((expr, place), None);
        *self.depth.borrow_mut() += 1;
        let kinds = joined(self.reckoned(expr, place));
        *self.depth.borrow_mut() -= 1;
        self.known.borrow_mut().insert((expr, place), Some(kinds.clone()));
        kinds
    }

    fn reckoned(&self, expr: ExprId, place: usize) -> Vec<Kind> {
        match &self.code.expr(expr).kind {
            ExprKind::Call(call) => self.called(call, place),
            _ if place > 0 => vec![Kind::Nil],
            ExprKind::Nil => vec![Kind::Nil],
            ExprKind::Bool(_) | ExprKind::Not => vec![Kind::Bool],
            ExprKind::Number(number) => vec![Kind::Number(Some(*number))],
            ExprKind::Length(_) => vec![Kind::Number(None)],
            ExprKind::Minus(inner) => match self.kinds(*inner)[..] {
                [Kind::Number(number)] => vec![Kind::Number(number.map(|number| -number))],
                _ => vec![Kind::Unknown],
            },
            ExprKind::Text(text) => vec![Kind::Text(Some(text.clone()))],
            ExprKind::Woven => vec![Kind::Text(None)],
            ExprKind::Opaque => vec![Kind::Unknown],
            ExprKind::Function(func) => vec![Kind::Function(*func)],
            ExprKind::Table(_) => vec![Kind::Made(expr)],
            ExprKind::Var(var) => {
                self.code.vars[*var].origins.iter().flat_map(|origin| self.from(origin)).collect()
            }
            ExprKind::Global(name) => vec![language::global(name)],
            ExprKind::Index { base, key } => self.indexed(*base, *key),
            ExprKind::And(left, right) => {
                let left = self.kinds(*left);
                let falsy = if left.contains(&Kind::Bool) { Kind::Bool } else { Kind::Nil };
                [vec![falsy], self.kinds(*right)].concat()
            }
            ExprKind::Or(left, right) => {
                let mut kinds = self.kinds(*left);
                kinds.retain(|kind| *kind != Kind::Nil);
                [kinds, self.kinds(*right)].concat()
            }
            ExprKind::Choice(choices) => {
                choices.iter().flat_map(|choice| self.kinds(*choice)).collect()
            }
            ExprKind::Binary { op, left, right } => self.binary(*op, *left, *right),
        }
    }

    /// Metatables may make anything of an operator, but for those that give booleans.
    fn binary(&self, op: Operator, left: ExprId, right: ExprId) -> Vec<Kind> {
        let sides = || [left, right].into_iter().flat_map(|side| self.kinds(side));
        let all = |plain: fn(&Kind) -> bool| sides().all(|kind| plain(&kind));
        match op {
            Operator::Order | Operator::Equality => vec![Kind::Bool],
            Operator::Arithmetic if all(|kind| matches!(kind, Kind::Number(_))) => {
                vec![Kind::Number(None)]
            }
            Operator::Concat if all(|kind| matches!(kind, Kind::Number(_) | Kind::Text(_))) => {
                vec![Kind::Text(self.concatenated(left, right))]
            }
            _ => vec![Kind::Unknown],
        }
    }

    /// Two texts that are known, as one.
    fn concatenated(&self, left: ExprId, right: ExprId) -> Option<String> {
        match (&self.kinds(left)[..], &self.kinds(right)[..]) {
            ([Kind::Text(Some(left))], [Kind::Text(Some(right))]) => {
                Some(format!("{left}{right}")).filter(|text| text.len() <= LONGEST)
            }
            _ => None,
        }
    }

    fn from(&self, origin: &Origin) -> Vec<Kind> {
        match origin {
            Origin::Value(expr, place) => self.result(*expr, *place),
            Origin::Nothing => vec![Kind::Nil],
            Origin::Counter => vec![Kind::Number(None)],
            Origin::Param(func, place) => self.param(*func, *place),
            Origin::Each(expr, place) => self.each(*expr, *place),
            Origin::Unknown => vec![Kind::Unknown],
        }
    }

    /// What a function is given, by all calls of it.
    fn param(&self, func: FuncId, place: usize) -> Vec<Kind> {
        let CodeLinks { calls, escaped, hooks, .. } = &self.links;
        let mut kinds = Vec::new();
        match hooks.get(&func) {
            Some(hook) if place == 0 => kinds.push(Kind::job(hook)),
            Some(_) => kinds.push(Kind::Nil),
            None => {}
        }
        if escaped.contains(&func) {
            return vec![Kind::Unknown];
        }
        for call in calls.get(&func).into_iter().flatten() {
            let ExprKind::Call(call) = &self.code.expr(*call).kind else { continue };
            let place = match call.is_method {
                true => place.checked_sub(1),
                false => Some(place),
            };
            match place.map(|place| (call.args.get(place), place + 1 == call.args.len())) {
                Some((Some(arg), is_last)) if !(is_last && call.is_open) => {
                    kinds.extend(self.kinds(*arg));
                }
                Some((Some(arg), _)) => kinds.extend(self.kinds(*arg)),
                Some((None, _)) if !call.is_open => kinds.push(Kind::Nil),
                _ => kinds.push(Kind::Unknown),
            }
        }
        if kinds.is_empty() {
            kinds.push(Kind::Unknown);
        }
        kinds
    }

    /// What a variable of a loop is.
    fn each(&self, expr: ExprId, place: usize) -> Vec<Kind> {
        let ExprKind::Call(call) = &self.code.expr(expr).kind else {
            return self.each_of(expr, place);
        };
        let is_list = match &self.kinds(call.callee)[..] {
            [Kind::Builtin(name)] if name == "string.gmatch" => {
                return library::each(&self.pattern(call), place);
            }
            [Kind::Builtin(name)] if name == "ipairs" => true,
            [Kind::Builtin(name)] if name == "pairs" => false,
            _ => return self.each_of(expr, place),
        };
        if place == 0 && is_list {
            return vec![Kind::Number(None)];
        }
        let Some(of) = call.args.first().filter(|_| place == 1) else {
            return vec![Kind::Unknown];
        };
        self.kinds(*of).iter().flat_map(|kind| self.inner(kind)).collect()
    }

    /// What a variable of a loop over a table itself is; metatables may make anything of it, but for
    /// those that are given.
    fn each_of(&self, expr: ExprId, place: usize) -> Vec<Kind> {
        let one = |kind: &Kind| match kind {
            Kind::Shaped(ValueShape::List(_), _) if place == 0 => vec![Kind::Number(None)],
            // A table that was given a metatable is open.
            Kind::Shaped(..) | Kind::Made(_) if place == 1 => self.inner(kind),
            _ => vec![Kind::Unknown],
        };
        self.kinds(expr).iter().flat_map(one).collect()
    }

    /// What a list or a map holds.
    pub(super) fn inner(&self, kind: &Kind) -> Vec<Kind> {
        match kind {
            Kind::Shaped(ValueShape::List(inner) | ValueShape::Map(inner), giver) => {
                vec![Kind::of_shape(inner, *giver)]
            }
            Kind::Made(table) if !self.links.open.contains(table) => self.values(*table),
            _ => vec![Kind::Unknown],
        }
    }

    /// Everything that is put into a table.
    fn values(&self, table: ExprId) -> Vec<Kind> {
        let ExprKind::Table(literal) = &self.code.expr(table).kind else {
            return vec![Kind::Unknown];
        };
        let fields = literal.fields.iter().map(|(_, value)| Some(*value));
        let stores = self.links.stores.get(&table).into_iter().flatten();
        let stores = stores.map(|store| self.code.stores[*store].value);
        let values = literal.items.iter().map(|item| Some(*item)).chain(fields).chain(stores);
        let kinds = values.flat_map(|value| value.map_or(vec![Kind::Unknown], |it| self.kinds(it)));
        let mut kinds: Vec<Kind> = kinds.collect();
        if literal.is_open || kinds.is_empty() {
            kinds.push(Kind::Unknown);
        }
        kinds
    }

    fn indexed(&self, base: ExprId, key: ExprId) -> Vec<Kind> {
        let name = self.code.text(key);
        let one = |kind: &Kind| match name {
            Some(name) => self.field(kind, name).unwrap_or_else(|| vec![Kind::Unknown]),
            None => match (kind, &self.kinds(key)[..]) {
                (Kind::Shaped(ValueShape::List(_), _), _) | (Kind::Made(_), [Kind::Number(_)]) => {
                    self.inner(kind)
                }
                (Kind::Shaped(ValueShape::Map(_), _), _) => self.inner(kind),
                _ => vec![Kind::Unknown],
            },
        };
        // Of nothing nothing is read.
        let bases = self.kinds(base);
        let is_read = |kind: &&Kind| **kind != Kind::Nil || bases.len() == 1;
        bases.iter().filter(is_read).flat_map(one).collect()
    }

    /// What stands in a field; `None` where it is certain that there is none of that name.
    pub(super) fn field(&self, kind: &Kind, name: &str) -> Option<Vec<Kind>> {
        let one = |kind: Kind| Some(vec![kind]);
        match kind {
            Kind::Shaped(shape, giver) => self.in_shape(shape, name, *giver),
            Kind::Options(way) => self.option(way, name),
            Kind::Ep(group) => language::in_ep(group, name).and_then(one),
            Kind::Library(library) => language::in_library(library, name).and_then(one),
            Kind::Text(_) => language::in_library("string", name).and_then(one),
            Kind::Made(table) => Some(self.in_made(*table, name)),
            _ => one(Kind::Unknown),
        }
    }

    fn in_shape(&self, shape: &ValueShape, name: &str, giver: Giver) -> Option<Vec<Kind>> {
        match shape {
            ValueShape::Table(table) => {
                in_table(self.names, table, name, giver).map(|kind| vec![kind])
            }
            ValueShape::Map(inner) => Some(vec![Kind::of_shape(inner, giver)]),
            ValueShape::Optional(inner) => self.in_shape(inner, name, giver),
            ValueShape::Either(shapes) => {
                let found: Vec<Kind> = shapes
                    .iter()
                    .filter(|shape| Kind::of_shape(shape, giver).is_table())
                    .filter_map(|shape| self.in_shape(shape, name, giver))
                    .flatten()
                    .collect();
                (!found.is_empty()).then_some(found)
            }
            ValueShape::Tagged { tag, variants, .. } => {
                if *tag == name {
                    return Some(vec![Kind::Text(None)]);
                }
                let found: Vec<Kind> = variants
                    .iter()
                    .filter_map(|(_, table)| in_table(self.names, table, name, giver))
                    .collect();
                (!found.is_empty()).then_some(found)
            }
            ValueShape::Word(_) => language::in_library("string", name).map(|kind| vec![kind]),
            ValueShape::List(_) => None,
            _ => Some(vec![Kind::Unknown]),
        }
    }

    /// What stands in a field of a table that the policy makes.
    fn in_made(&self, table: ExprId, name: &str) -> Vec<Kind> {
        let values = self.put(table, name);
        let kinds = values
            .into_iter()
            .flat_map(|value| value.map_or_else(|| vec![Kind::Unknown], |value| self.kinds(value)));
        let mut kinds: Vec<Kind> = kinds.collect();
        if kinds.is_empty() || self.links.open.contains(&table) || self.is_dynamic(table) {
            kinds.push(Kind::Unknown);
        }
        kinds
    }

    /// Everything that is put under a name of a table; what cannot be known is `None`.
    pub(super) fn put(&self, table: ExprId, name: &str) -> Vec<Option<ExprId>> {
        let ExprKind::Table(literal) = &self.code.expr(table).kind else { return Vec::new() };
        let fields = literal.fields.iter().filter(|(key, _)| self.code.text(*key) == Some(name));
        let stores = self.links.stores.get(&table).into_iter().flatten();
        let stores = stores.map(|store| &self.code.stores[*store]);
        let stores = stores.filter(|store| self.code.text(store.key) == Some(name));
        fields.map(|(_, value)| Some(*value)).chain(stores.map(|store| store.value)).collect()
    }

    /// Whether a table has keys that cannot be known.
    pub(super) fn is_dynamic(&self, table: ExprId) -> bool {
        let ExprKind::Table(literal) = &self.code.expr(table).kind else { return true };
        let is_known = |key: ExprId| {
            let numbers = self.kinds(key).iter().all(|kind| matches!(kind, Kind::Number(_)));
            self.code.text(key).is_some() || numbers
        };
        let stores = self.links.stores.get(&table).into_iter().flatten();
        let keys = stores.map(|store| self.code.stores[*store].key);
        !literal.fields.iter().map(|(key, _)| *key).chain(keys).all(is_known)
    }

    /// An option, by the values that there are.
    fn option(&self, way: &[String], name: &str) -> Option<Vec<Kind>> {
        let Some(options) = self.options else { return Some(vec![Kind::Unknown]) };
        let mut table = options;
        for part in way {
            match table.get(part).and_then(Json::as_object) {
                Some(inner) => table = inner,
                None => return Some(vec![Kind::Unknown]),
            }
        }
        let has = |name: &str| table.contains_key(name);
        let new = self.names.renamed(NameKind::Key, name, has).map_or(name, |renamed| renamed.new);
        Some(vec![match table.get(new)? {
            Json::Bool(_) => Kind::Bool,
            Json::Number(_) => Kind::Number(None),
            Json::String(_) => Kind::Text(None),
            Json::Object(inner) if !inner.is_empty() => {
                Kind::Options([way, &[new.to_owned()]].concat())
            }
            _ => Kind::Unknown,
        }])
    }

    /// What a call gives.
    fn called(&self, call: &Call, place: usize) -> Vec<Kind> {
        let args = &call.args;
        let one = |kind: Kind| match kind {
            Kind::Function(func) => self.returned(&self.code.funcs[func].returns, place),
            Kind::Builtin(name) if name == "require" && place == 0 => self.required(args),
            Kind::Builtin(name) if library::is_search(&name) => {
                library::given(&name, place, &self.pattern(call))
            }
            Kind::Builtin(name) => library::given(&name, place, &[]),
            Kind::Declared(name, _) if name == "next" => self.answered(args),
            Kind::Declared(name, _) if name == "prompt" && place == 0 => vec![self.prompt(args)],
            Kind::Declared(name, _) if name == "prompt" => vec![Kind::Nil],
            Kind::Declared(_, signature) => {
                self.fresh(library::of_returns(&signature.returns, place))
            }
            _ => vec![Kind::Unknown],
        };
        self.kinds(call.callee).into_iter().flat_map(one).collect()
    }

    /// What a function of `string` searches for: it stands behind the text.
    fn pattern(&self, call: &Call) -> Vec<Kind> {
        let place = usize::from(!call.is_method);
        call.args.get(place).map(|arg| self.kinds(*arg)).unwrap_or_default()
    }

    /// Lists that a function made, where the policy leaves them as they are; others hold anything.
    fn fresh(&self, mut kinds: Vec<Kind>) -> Vec<Kind> {
        let is_given = |kind: &Kind| matches!(kind, Kind::Shaped(_, Giver::Function));
        if self.links.are_lists_changed && kinds.iter().any(is_given) {
            kinds.retain(|kind| !is_given(kind));
            kinds.push(Kind::Unknown);
        }
        kinds
    }

    fn returned(&self, returns: &[Vec<ExprId>], place: usize) -> Vec<Kind> {
        let one = |values: &Vec<ExprId>| match (values.get(place), values.last()) {
            (Some(value), _) => self.kinds(*value),
            (None, Some(last)) => self.result(*last, place + 1 - values.len()),
            (None, None) => vec![Kind::Nil],
        };
        match returns {
            [] => vec![Kind::Nil],
            returns => returns.iter().flat_map(one).collect(),
        }
    }

    /// What a module returns.
    fn required(&self, args: &[ExprId]) -> Vec<Kind> {
        let name = args.first().and_then(|arg| self.code.text(*arg));
        match name.and_then(|name| self.modules.files.get(name)) {
            Some(file) => self.returned(&self.code.files[*file].returns, 0),
            None => vec![Kind::Unknown],
        }
    }

    /// What a prompt says.
    fn prompt(&self, args: &[ExprId]) -> Kind {
        let name = args.first().and_then(|arg| self.code.text(*arg));
        Kind::Text(name.and_then(|name| self.modules.prompts.get(name)?.clone().ok()))
    }

    /// What the policies behind answer to the job that is handed to `ep.next`.
    fn answered(&self, args: &[ExprId]) -> Vec<Kind> {
        let Some(job) = args.first() else { return vec![Kind::Unknown] };
        let answer = |kind: Kind| match kind.hook() {
            Some(hook) => Kind::of_shape(&hook.answer, Giver::Next),
            None => Kind::Unknown,
        };
        self.kinds(*job).into_iter().map(answer).collect()
    }

    /// The hook of a name, in the names that the policy may use.
    pub(super) fn hook(&self, name: &str) -> Option<&'static HookShape> {
        let find = |name: &str| HOOKS.iter().find(|hook| hook.name == name);
        find(name).or_else(|| {
            let known = |name: &str| find(name).is_some();
            find(self.names.renamed(NameKind::Hook, name, known)?.new)
        })
    }
}

/// Each kind once; too many are unknown.
fn joined(kinds: Vec<Kind>) -> Vec<Kind> {
    let mut once: Vec<Kind> = Vec::new();
    for kind in kinds {
        if !once.contains(&kind) {
            once.push(kind);
        }
    }
    match once.len() > MOST {
        true => vec![Kind::Unknown],
        false => once,
    }
}
