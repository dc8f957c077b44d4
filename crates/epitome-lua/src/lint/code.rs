//! The Lua of a policy as the check reads it: expressions, variables, functions and stores.
//!
//! Invariant: plain data; names are resolved, and of control flow only what returns is kept. Made by
//! `lower`, read by everything else here.

/// An expression of a program.
pub(super) type ExprId = usize;
/// A local variable or a parameter.
pub(super) type VarId = usize;
/// A function.
pub(super) type FuncId = usize;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CodePlace {
    pub(super) file: usize,
    pub(super) line: u32,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) at: CodePlace,
    pub(super) kind: ExprKind,
    pub(super) role: ExprRole,
    /// The function that it stands in; `None` at the top of a file.
    pub(super) inside: Option<FuncId>,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Nil,
    Bool(bool),
    Number(f64),
    Text(String),
    /// What cannot be known.
    Opaque,
    /// A text with values in it.
    Woven,
    Var(VarId),
    Global(String),
    Index {
        base: ExprId,
        key: ExprId,
    },
    Call(Call),
    Function(FuncId),
    Table(TableLiteral),
    And(ExprId, ExprId),
    Or(ExprId, ExprId),
    /// One of these, by a condition.
    Choice(Vec<ExprId>),
    Binary {
        op: Operator,
        left: ExprId,
        right: ExprId,
    },
    Not,
    Minus(ExprId),
    /// How many items something has, where it is said of what.
    Length(Option<ExprId>),
}

/// What a binary operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Arithmetic,
    Order,
    Equality,
    Concat,
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    /// What is called; of `base:name()` the field `name` of `base`.
    pub(super) callee: ExprId,
    /// What it is given; of a method without the table itself.
    pub(super) args: Vec<ExprId>,
    /// Whether it is a method: the first thing given is the table.
    pub(super) is_method: bool,
    /// Whether the last argument may stand for several.
    pub(super) is_open: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TableLiteral {
    pub(super) items: Vec<ExprId>,
    /// Keys with their values.
    pub(super) fields: Vec<(ExprId, ExprId)>,
    /// Whether the last item may stand for several.
    pub(super) is_open: bool,
}

/// What an expression is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprRole {
    Plain,
    Callee,
    /// The table that is indexed.
    Base,
}

/// Where a value of a variable comes from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The result of this number of an expression, counted from 0.
    Value(ExprId, usize),
    /// Nothing was said.
    Nothing,
    Param(FuncId, usize),
    /// The variable of this number of a loop over an expression.
    Each(ExprId, usize),
    /// The variable of a loop that counts.
    Counter,
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) at: CodePlace,
    pub(super) origins: Vec<Origin>,
    /// How often it is read.
    pub(super) reads: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Func {
    /// Its name where it was declared with one.
    pub(super) name: Option<String>,
    pub(super) params: Vec<VarId>,
    /// What each `return` gives.
    pub(super) returns: Vec<Vec<ExprId>>,
    /// Whether it was declared with a colon: its first parameter is `self`.
    pub(super) is_method: bool,
}

/// A value that is put under a key of a table.
#[derive(Clone, Debug)]
pub(super) struct CodeStore {
    pub(super) at: CodePlace,
    pub(super) base: ExprId,
    pub(super) key: ExprId,
    /// The value; `None` where it cannot be known.
    pub(super) value: Option<ExprId>,
}

/// A global that is set.
#[derive(Clone, Debug)]
pub(super) struct GlobalStore {
    pub(super) at: CodePlace,
    pub(super) name: String,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct CodeFile {
    /// What places name it by: `policy.lua`, `lib/classes.lua`.
    pub(super) chunk: String,
    /// What it returns.
    pub(super) returns: Vec<Vec<ExprId>>,
}

/// All that was read of a policy.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) files: Vec<CodeFile>,
    pub(super) exprs: Vec<Expr>,
    pub(super) vars: Vec<Variable>,
    pub(super) funcs: Vec<Func>,
    pub(super) stores: Vec<CodeStore>,
    pub(super) globals: Vec<GlobalStore>,
}

impl Code {
    pub(super) fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id]
    }

    /// The text of an expression that is one.
    pub(super) fn text(&self, id: ExprId) -> Option<&str> {
        match &self.expr(id).kind {
            ExprKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// All calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = (ExprId, &Call)> {
        self.exprs.iter().enumerate().filter_map(|(id, expr)| match &expr.kind {
            ExprKind::Call(call) => Some((id, call)),
            _ => None,
        })
    }

    /// An expression as its author wrote it, where it is made of names.
    pub(super) fn shown(&self, id: ExprId) -> String {
        match &self.expr(id).kind {
            ExprKind::Var(var) => self.vars[*var].name.clone(),
            ExprKind::Global(name) => name.clone(),
            ExprKind::Index { base, key } => match self.text(*key) {
                Some(key) => format!("{}.{key}", self.shown(*base)),
                None => format!("{}[...]", self.shown(*base)),
            },
            ExprKind::Call(call) => format!("{}()", self.shown(call.callee)),
            ExprKind::Number(number) => number.to_string(),
            ExprKind::Bool(is) => is.to_string(),
            ExprKind::Nil => "nil".to_owned(),
            ExprKind::Text(text) => {
                let short: String = text.chars().take(40).collect();
                let dots = if short.len() < text.len() { "…" } else { "" };
                format!("{short:?}{dots}")
            }
            ExprKind::Minus(inner) => format!("-{}", self.shown(*inner)),
            ExprKind::Table(table) if table.items.is_empty() && table.fields.is_empty() => {
                "{}".to_owned()
            }
            ExprKind::Table(_) => "{...}".to_owned(),
            ExprKind::Function(_) => "function".to_owned(),
            _ => "...".to_owned(),
        }
    }
}
