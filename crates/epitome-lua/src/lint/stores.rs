//! Whether what is put into an answer of the policies behind fits there.
//!
//! Invariant: such an answer is held to the shape that the hook declares, as one of the policy's own
//! is; of several, each must refuse what is put in.

use epitome_types::hook::{TableShape, ValueShape};

use super::code::{CodeStore, ExprKind};
use super::fit::AnswerCheck;
use super::infer::Inference;
use super::kind::{Giver, Kind, field, names};
use super::mistake::Mistake;
use crate::misfit::hint;

/// Looks at one store.
pub(super) struct StoreCheck<'a> {
    pub(super) inference: &'a Inference<'a>,
    pub(super) store: &'a CodeStore,
}

impl StoreCheck<'_> {
    /// What is wrong with it, by all that it may be put into.
    pub(super) fn mistakes(&self, bases: &[Kind]) -> Vec<Mistake> {
        let mut shapes = Vec::new();
        for kind in bases {
            match kind {
                Kind::Shaped(shape, Giver::Next) => shapes.push(*shape),
                // The policy's own stands there where nobody behind answers.
                Kind::Made(_) => {}
                _ => return Vec::new(),
            }
        }
        self.agreed(shapes.iter().map(|shape| self.shape_gets(shape)))
    }

    /// What the first says, where all of them say something.
    fn agreed(&self, mut said: impl Iterator<Item = Vec<Mistake>>) -> Vec<Mistake> {
        let first = said.next().unwrap_or_default();
        match said.all(|mistakes| !mistakes.is_empty()) {
            true => first,
            false => Vec::new(),
        }
    }

    fn shape_gets(&self, shape: &ValueShape) -> Vec<Mistake> {
        let name = self.inference.code.text(self.store.key);
        match (shape, name) {
            (ValueShape::Optional(inner), _) => self.shape_gets(inner),
            (ValueShape::Either(shapes), _) => {
                let tables =
                    shapes.iter().filter(|shape| Kind::of_shape(shape, Giver::Next).is_table());
                self.agreed(tables.map(|shape| self.shape_gets(shape)))
            }
            (ValueShape::Table(table), Some(name)) => self.tables_get(&[table], name),
            (ValueShape::Tagged { tag, .. }, Some(name)) if *tag == name => Vec::new(),
            (ValueShape::Tagged { variants, .. }, Some(name)) => {
                let tables: Vec<&TableShape> = variants.iter().map(|(_, table)| *table).collect();
                self.tables_get(&tables, name)
            }
            (ValueShape::Map(inner), Some(name)) => self.gets(inner, &format!(".{name}")),
            (ValueShape::List(_), Some(name)) => {
                self.unless_cleared(name, format!("is a list: it has no `{name}`"))
            }
            (ValueShape::List(inner), None) if self.is_place() => self.gets(inner, "[...]"),
            _ => Vec::new(),
        }
    }

    /// A value that stands under a name of one of these tables.
    fn tables_get(&self, tables: &[&TableShape], name: &str) -> Vec<Mistake> {
        let found = tables.iter().filter_map(|table| field(self.inference.names, table, name));
        let fields: Vec<_> = found.collect();
        if fields.is_empty() {
            let mut known: Vec<&str> = tables.iter().flat_map(|table| names(table)).collect();
            known.sort_unstable();
            known.dedup();
            let known = if tables.len() == 1 { names(tables[0]) } else { known };
            return self.unless_cleared(name, format!("has no `{name}`{}", hint(name, known)));
        }
        let path = format!(".{name}");
        self.agreed(fields.iter().map(|field| self.gets(&field.shape, &path)))
    }

    /// A name that is missed; one that is taken out again was there for the policy itself.
    fn unless_cleared(&self, name: &str, what: String) -> Vec<Mistake> {
        let code = self.inference.code;
        let is_cleared = code.stores.iter().any(|store| {
            let is_nil = |value| matches!(code.expr(value).kind, ExprKind::Nil);
            code.text(store.key) == Some(name) && store.value.is_some_and(is_nil)
        });
        let what = format!("`{}` {what}", code.shown(self.store.base));
        if is_cleared { Vec::new() } else { vec![Mistake { at: self.store.at, what }] }
    }

    fn gets(&self, shape: &ValueShape, path: &str) -> Vec<Mistake> {
        let check = AnswerCheck {
            inference: self.inference,
            who: format!("`{}` gets", self.inference.code.shown(self.store.base)),
            seen: Default::default(),
        };
        let value = self.store.value;
        value.map(|value| check.value(value, shape, path)).unwrap_or_default()
    }

    /// Whether the key is a place in a list.
    fn is_place(&self) -> bool {
        let keys = self.inference.kinds(self.store.key);
        !keys.is_empty() && keys.iter().all(|kind| matches!(kind, Kind::Number(_)))
    }
}
