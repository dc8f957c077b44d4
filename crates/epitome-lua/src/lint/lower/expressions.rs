//! Expressions of a file.

use full_moon::ast::{
    self, BinOp, Expression, Field, FunctionArgs, FunctionCall, Index, Prefix, Suffix,
    TableConstructor, UnOp, Var, VarExpression, luau::IfExpression, punctuated::Punctuated,
};
use full_moon::tokenizer::{StringLiteralQuoteType, TokenReference, TokenType};

use super::super::code::{
    Call, CodeStore, ExprId, ExprKind, ExprRole, Operator, Origin, TableLiteral,
};
use super::escapes::unescaped;
use super::{Lowerer, name_of};

impl Lowerer<'_> {
    pub(super) fn expressions(&mut self, list: &Punctuated<Expression>) -> Vec<ExprId> {
        list.iter().map(|expression| self.expression(expression)).collect()
    }

    pub(super) fn expression(&mut self, expression: &Expression) -> ExprId {
        self.go(expression);
        match expression {
            Expression::BinaryOperator { lhs, binop, rhs } => self.binary(lhs, binop, rhs),
            Expression::Parentheses { expression, .. } => {
                let inner = self.expression(expression);
                match self.code.expr(inner).kind {
                    // It stands for one value, and for no more.
                    ExprKind::Call(_) => self.add(ExprKind::Choice(vec![inner])),
                    _ => inner,
                }
            }
            Expression::UnaryOperator { unop, expression } => {
                let line = self.line;
                let inner = self.expression(expression);
                self.line = line;
                let kind = match unop {
                    UnOp::Minus(_) => ExprKind::Minus(inner),
                    UnOp::Not(_) => ExprKind::Not,
                    UnOp::Hash(_) => ExprKind::Length(Some(inner)),
                    _ => ExprKind::Opaque,
                };
                self.add(kind)
            }
            Expression::Function(it) => {
                self.go(it.function_token());
                self.function(it.body(), None, false)
            }
            Expression::FunctionCall(it) => self.call(it),
            Expression::IfExpression(it) => self.choice(it),
            Expression::InterpolatedString(it) => {
                for inner in it.expressions() {
                    self.expression(inner);
                }
                self.add(ExprKind::Woven)
            }
            Expression::TableConstructor(it) => self.table(it),
            Expression::Number(token) => {
                let number = number_of(&name_of(token));
                self.add(number.map_or(ExprKind::Opaque, ExprKind::Number))
            }
            Expression::String(token) => self.text(token),
            Expression::Symbol(token) => {
                let kind = match &*name_of(token) {
                    "nil" => ExprKind::Nil,
                    "true" => ExprKind::Bool(true),
                    "false" => ExprKind::Bool(false),
                    _ => ExprKind::Opaque,
                };
                self.add(kind)
            }
            Expression::TypeAssertion { expression, .. } => {
                self.expression(expression);
                self.add(ExprKind::Opaque)
            }
            Expression::Var(var) => self.variable(var),
            _ => self.add(ExprKind::Opaque),
        }
    }

    fn binary(&mut self, lhs: &Expression, op: &BinOp, rhs: &Expression) -> ExprId {
        let (left, right) = (self.expression(lhs), self.expression(rhs));
        self.line = self.code.expr(left).at.line;
        let binary = |op| ExprKind::Binary { op, left, right };
        let kind = match op {
            BinOp::And(_) => ExprKind::And(left, right),
            BinOp::Or(_) => ExprKind::Or(left, right),
            BinOp::TwoEqual(_) | BinOp::TildeEqual(_) => binary(Operator::Equality),
            BinOp::TwoDots(_) => binary(Operator::Concat),
            BinOp::LessThan(_)
            | BinOp::LessThanEqual(_)
            | BinOp::GreaterThan(_)
            | BinOp::GreaterThanEqual(_) => binary(Operator::Order),
            _ => binary(Operator::Arithmetic),
        };
        self.add(kind)
    }

    fn choice(&mut self, it: &IfExpression) -> ExprId {
        let line = self.line;
        self.scopes.push(Vec::new());
        let value = self.expression(it.condition());
        self.bind(it.binding(), value);
        let mut choices = vec![self.expression(it.if_expression())];
        for branch in it.else_if_expressions().into_iter().flatten() {
            let value = self.expression(branch.condition());
            self.bind(branch.binding(), value);
            choices.push(self.expression(branch.expression()));
        }
        choices.push(self.expression(it.else_expression()));
        self.scopes.pop();
        self.line = line;
        self.add(ExprKind::Choice(choices))
    }

    fn table(&mut self, it: &TableConstructor) -> ExprId {
        let line = self.line;
        let mut table = TableLiteral::default();
        for field in it.fields() {
            match field {
                Field::NoKey(value) => table.items.push(self.expression(value)),
                Field::NameKey { key, value, .. } => {
                    self.go(key);
                    let name = self.add(ExprKind::Text(name_of(key)));
                    table.fields.push((name, self.expression(value)));
                }
                Field::ExpressionKey { key, value, .. } => {
                    let key = self.expression(key);
                    table.fields.push((key, self.expression(value)));
                }
                _ => {}
            }
        }
        table.is_open = self.is_open(&table.items);
        self.line = line;
        self.add(ExprKind::Table(table))
    }

    /// Whether the last of these may stand for several.
    fn is_open(&self, values: &[ExprId]) -> bool {
        let last = values.last().map(|last| &self.code.expr(*last).kind);
        matches!(last, Some(ExprKind::Call(_) | ExprKind::Opaque))
    }

    fn text(&mut self, token: &TokenReference) -> ExprId {
        let text = match token.token_type() {
            TokenType::StringLiteral { literal, quote_type, .. } => match quote_type {
                // A line end right behind the brackets does not count.
                StringLiteralQuoteType::Brackets => {
                    let text = literal.replace("\r\n", "\n");
                    Some(text.strip_prefix('\n').map(str::to_owned).unwrap_or(text))
                }
                _ => unescaped(literal),
            },
            _ => None,
        };
        self.add(text.map_or(ExprKind::Woven, ExprKind::Text))
    }

    /// A variable or a global.
    pub(super) fn name(&mut self, name: &str) -> ExprId {
        let kind = match self.find(name) {
            Some(var) => {
                self.code.vars[var].reads += 1;
                ExprKind::Var(var)
            }
            None => ExprKind::Global(name.to_owned()),
        };
        self.add(kind)
    }

    /// The field of this name.
    pub(super) fn field(&mut self, base: ExprId, name: &str) -> ExprId {
        let key = self.add(ExprKind::Text(name.to_owned()));
        self.index(base, key)
    }

    fn index(&mut self, base: ExprId, key: ExprId) -> ExprId {
        self.code.exprs[base].role = ExprRole::Base;
        self.add(ExprKind::Index { base, key })
    }

    pub(super) fn variable(&mut self, var: &Var) -> ExprId {
        self.go(var);
        match var {
            Var::Name(token) => self.name(&name_of(token)),
            Var::Expression(it) => self.chain(it.prefix(), it.suffixes()),
            _ => self.add(ExprKind::Opaque),
        }
    }

    /// The table and the key that are stored to.
    pub(super) fn target(&mut self, it: &VarExpression) -> (Option<ExprId>, Option<ExprId>) {
        let suffixes: Vec<&Suffix> = it.suffixes().collect();
        let Some((Suffix::Index(last), before)) = suffixes.split_last() else {
            return (None, None);
        };
        let base = self.chain(it.prefix(), before.iter().copied());
        self.code.exprs[base].role = ExprRole::Base;
        (Some(base), self.key(last))
    }

    fn key(&mut self, index: &Index) -> Option<ExprId> {
        match index {
            Index::Dot { name, .. } => {
                self.go(name);
                Some(self.add(ExprKind::Text(name_of(name))))
            }
            Index::Brackets { expression, .. } => Some(self.expression(expression)),
            _ => None,
        }
    }

    pub(super) fn call(&mut self, it: &FunctionCall) -> ExprId {
        self.chain(it.prefix(), it.suffixes())
    }

    fn chain<'a>(&mut self, prefix: &Prefix, suffixes: impl Iterator<Item = &'a Suffix>) -> ExprId {
        let mut value = match prefix {
            Prefix::Name(token) => {
                self.go(token);
                self.name(&name_of(token))
            }
            Prefix::Expression(inner) => self.expression(inner),
            _ => self.add(ExprKind::Opaque),
        };
        for suffix in suffixes {
            value = match suffix {
                Suffix::Index(index) => match self.key(index) {
                    Some(key) => self.index(value, key),
                    None => self.add(ExprKind::Opaque),
                },
                Suffix::Call(ast::Call::AnonymousCall(args)) => self.called(value, args, false),
                Suffix::Call(ast::Call::MethodCall(method)) => {
                    self.go(method.name());
                    let callee = self.field(value, &name_of(method.name()));
                    self.called(callee, method.args(), true)
                }
                _ => self.add(ExprKind::Opaque),
            };
        }
        value
    }

    fn called(&mut self, callee: ExprId, args: &FunctionArgs, is_method: bool) -> ExprId {
        self.code.exprs[callee].role = ExprRole::Callee;
        let line = self.line;
        let args = match args {
            FunctionArgs::Parentheses { arguments, .. } => self.expressions(arguments),
            FunctionArgs::String(token) => vec![self.text(token)],
            FunctionArgs::TableConstructor(table) => vec![self.table(table)],
            _ => Vec::new(),
        };
        let is_open = self.is_open(&args);
        self.line = line;
        self.inserted(callee, &args);
        self.add(ExprKind::Call(Call { callee, args, is_method, is_open }))
    }
}

impl Lowerer<'_> {
    /// `table.insert` stores an item.
    fn inserted(&mut self, callee: ExprId, args: &[ExprId]) {
        let (Some(base), 2..=3) = (args.first(), args.len()) else { return };
        // It may go by a name of the policy's own.
        let named = match self.code.expr(callee).kind {
            ExprKind::Var(var) => match self.code.vars[var].origins[..] {
                [Origin::Value(value, 0)] => value,
                _ => callee,
            },
            _ => callee,
        };
        if self.code.shown(named) == "table.insert" {
            let (at, base, value) = (self.at(), *base, args.last().copied());
            let key = self.add(ExprKind::Length(None));
            self.code.stores.push(CodeStore { at, base, key, value });
        }
    }
}

/// The number that a token is, where it is a plain one.
fn number_of(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok()
}
