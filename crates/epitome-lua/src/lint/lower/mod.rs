//! From the syntax tree of a file to [`Code`].
//!
//! Invariant: every name is bound as Lua binds it. Called by `program` for each file.

mod escapes;
mod expressions;

use full_moon::ast::{
    Assignment, Block, CompoundAssignment, CompoundOp, ElseIf, Expression, FunctionBody,
    FunctionDeclaration, GenericFor, If, LastStmt, NumericFor, Parameter, Stmt, Var,
    luau::IfConditionBinding, punctuated::Punctuated,
};
use full_moon::node::Node;
use full_moon::tokenizer::TokenReference;

use super::code::{
    Code, CodeFile, CodePlace, CodeStore, Expr, ExprId, ExprKind, ExprRole, Func, FuncId,
    GlobalStore, Operator, Origin, VarId, Variable,
};

/// Reads a file into the code. `None` where it cannot be parsed: whoever runs it says why.
pub(super) fn lower(code: &mut Code, chunk: &str, text: &str) -> Option<usize> {
    let ast = full_moon::parse(text).ok()?;
    let file = code.files.len();
    code.files.push(CodeFile { chunk: chunk.to_owned(), returns: Vec::new() });
    let mut lowerer = Lowerer { code, file, scopes: vec![Vec::new()], inside: None, line: 1 };
    lowerer.block(ast.nodes());
    Some(file)
}

/// Reads one file.
struct Lowerer<'c> {
    code: &'c mut Code,
    file: usize,
    /// The variables that can be seen, the innermost last.
    scopes: Vec<Vec<(String, VarId)>>,
    inside: Option<FuncId>,
    /// The line of the last token that was looked at.
    line: u32,
}

impl Lowerer<'_> {
    fn at(&self) -> CodePlace {
        CodePlace { file: self.file, line: self.line }
    }

    /// Goes to the line of a node.
    fn go(&mut self, node: &impl Node) {
        if let Some(position) = node.start_position() {
            self.line = u32::try_from(position.line()).unwrap_or(u32::MAX);
        }
    }

    fn add(&mut self, kind: ExprKind) -> ExprId {
        let expr = Expr { at: self.at(), kind, role: ExprRole::Plain, inside: self.inside };
        self.code.exprs.push(expr);
        self.code.exprs.len() - 1
    }

    fn declare(&mut self, name: &str, origins: Vec<Origin>) -> VarId {
        let var = self.code.vars.len();
        let at = self.at();
        self.code.vars.push(Variable { name: name.to_owned(), at, origins, reads: 0 });
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name.to_owned(), var));
        }
        var
    }

    fn find(&self, name: &str) -> Option<VarId> {
        let mut seen = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        seen.find(|(known, _)| known == name).map(|(_, var)| *var)
    }

    /// Reads a block in a scope of its own.
    fn block(&mut self, block: &Block) {
        self.scopes.push(Vec::new());
        self.statements(block);
        self.scopes.pop();
    }

    fn statements(&mut self, block: &Block) {
        block.stmts().for_each(|statement| self.statement(statement));
        if let Some(LastStmt::Return(last)) = block.last_stmt() {
            self.go(last.token());
            let values = self.expressions(last.returns());
            match self.inside {
                Some(func) => self.code.funcs[func].returns.push(values),
                None => self.code.files[self.file].returns.push(values),
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        self.go(statement);
        match statement {
            Stmt::Assignment(it) => self.assignment(it),
            Stmt::CompoundAssignment(it) => {
                self.compound(it);
                self.store(it.lhs(), None);
            }
            Stmt::LocalAssignment(it) => self.locals(it.names(), it.expressions()),
            Stmt::ConstAssignment(it) => self.locals(it.names(), it.expressions()),
            Stmt::LocalFunction(it) => self.local_function(it.name(), it.body()),
            Stmt::ConstFunction(it) => self.local_function(it.name(), it.body()),
            Stmt::FunctionDeclaration(it) => self.function_declaration(it),
            Stmt::FunctionCall(it) => {
                self.call(it);
            }
            Stmt::Do(it) => self.block(it.block()),
            Stmt::While(it) => {
                self.expression(it.condition());
                self.block(it.block());
            }
            Stmt::Repeat(it) => {
                // What is declared in the block can be seen behind it.
                self.scopes.push(Vec::new());
                self.statements(it.block());
                self.expression(it.until());
                self.scopes.pop();
            }
            Stmt::If(it) => self.branches(it),
            Stmt::NumericFor(it) => self.counting(it),
            Stmt::GenericFor(it) => self.each(it),
            _ => {}
        }
    }

    /// What an assignment such as `+=` does with both of its sides.
    fn compound(&mut self, it: &CompoundAssignment) {
        let right = self.expression(it.rhs());
        let left = self.variable(it.lhs());
        let op = match it.compound_operator() {
            CompoundOp::TwoDotsEqual(_) => Operator::Concat,
            _ => Operator::Arithmetic,
        };
        self.add(ExprKind::Binary { op, left, right });
    }

    fn assignment(&mut self, it: &Assignment) {
        let values = self.expressions(it.expressions());
        for (place, var) in it.variables().iter().enumerate() {
            self.go(var);
            self.store(var, Some((&values, place)));
        }
    }

    /// Where the value in a place of a list comes from.
    fn origin(&self, values: &[ExprId], place: usize) -> Origin {
        match (values.get(place), values.last()) {
            (Some(value), _) => Origin::Value(*value, 0),
            (None, Some(last)) => match self.code.expr(*last).kind {
                ExprKind::Call(_) => Origin::Value(*last, place + 1 - values.len()),
                ExprKind::Opaque => Origin::Unknown,
                _ => Origin::Nothing,
            },
            (None, None) => Origin::Nothing,
        }
    }

    /// Puts a value, the one in a place of a list, into what stands left of `=`.
    fn store(&mut self, var: &Var, value: Option<(&[ExprId], usize)>) {
        let origin = match value {
            Some((values, place)) => self.origin(values, place),
            None => Origin::Unknown,
        };
        match var {
            Var::Name(token) => self.store_name(&name_of(token), origin),
            Var::Expression(it) => {
                let (base, key) = self.target(it);
                let Some((base, key)) = base.zip(key) else { return };
                let value = match origin {
                    Origin::Value(value, 0) => Some(value),
                    _ => None,
                };
                let at = self.at();
                self.code.stores.push(CodeStore { at, base, key, value });
            }
            _ => {}
        }
    }

    fn store_name(&mut self, name: &str, origin: Origin) {
        match self.find(name) {
            Some(var) => self.code.vars[var].origins.push(origin),
            None => {
                let at = self.at();
                self.code.globals.push(GlobalStore { at, name: name.to_owned() });
            }
        }
    }

    fn locals(&mut self, names: &Punctuated<TokenReference>, values: &Punctuated<Expression>) {
        let values = self.expressions(values);
        for (place, token) in names.iter().enumerate() {
            self.go(token);
            let origin = self.origin(&values, place);
            self.declare(&name_of(token), vec![origin]);
        }
    }

    fn local_function(&mut self, token: &TokenReference, body: &FunctionBody) {
        self.go(token);
        let name = name_of(token);
        let var = self.declare(&name, Vec::new());
        let function = self.function(body, Some(name), false);
        self.code.vars[var].origins.push(Origin::Value(function, 0));
    }

    fn function_declaration(&mut self, it: &FunctionDeclaration) {
        self.go(it.function_token());
        let at = self.at();
        let mut names: Vec<String> = it.name().names().iter().map(name_of).collect();
        names.extend(it.name().method_name().map(name_of));
        let is_method = it.name().method_name().is_some();
        let function = self.function(it.body(), names.last().cloned(), is_method);
        self.line = at.line;
        let Some((last, path)) = names.split_last() else { return };
        let Some((first, path)) = path.split_first() else {
            return self.store_name(last, Origin::Value(function, 0));
        };
        let mut base = self.name(first);
        for name in path {
            base = self.field(base, name);
        }
        self.code.exprs[base].role = ExprRole::Base;
        let key = self.add(ExprKind::Text(last.clone()));
        self.code.stores.push(CodeStore { at, base, key, value: Some(function) });
    }

    /// Reads a function.
    fn function(&mut self, body: &FunctionBody, name: Option<String>, is_method: bool) -> ExprId {
        let func = self.code.funcs.len();
        let at = self.at();
        let (params, returns) = (Vec::new(), Vec::new());
        self.code.funcs.push(Func { name, params, returns, is_method });
        let outer = self.inside.replace(func);
        self.scopes.push(Vec::new());
        let mut params = Vec::new();
        if is_method {
            params.push(self.declare("self", vec![Origin::Unknown]));
        }
        for parameter in body.parameters() {
            if let Parameter::Name(token) = parameter {
                self.go(token);
                let origin = Origin::Param(func, params.len());
                params.push(self.declare(&name_of(token), vec![origin]));
            }
        }
        self.code.funcs[func].params = params;
        self.block(body.block());
        self.scopes.pop();
        self.inside = outer;
        self.line = at.line;
        self.add(ExprKind::Function(func))
    }

    /// Declares what the condition of an `if` binds.
    fn bind(&mut self, binding: Option<&IfConditionBinding>, value: ExprId) {
        if let Some(binding) = binding {
            self.declare(&name_of(binding.name()), vec![Origin::Value(value, 0)]);
        }
    }

    fn branches(&mut self, it: &If) {
        self.scopes.push(Vec::new());
        let value = self.expression(it.condition());
        self.bind(it.binding(), value);
        self.block(it.block());
        for branch in it.else_if().into_iter().flatten() {
            self.else_if(branch);
        }
        it.else_block().into_iter().for_each(|block| self.block(block));
        self.scopes.pop();
    }

    fn else_if(&mut self, branch: &ElseIf) {
        let value = self.expression(branch.condition());
        self.bind(branch.binding(), value);
        self.block(branch.block());
    }

    fn counting(&mut self, it: &NumericFor) {
        for bound in [Some(it.start()), Some(it.end()), it.step()].into_iter().flatten() {
            self.expression(bound);
        }
        self.scopes.push(Vec::new());
        self.declare(&name_of(it.index_variable()), vec![Origin::Counter]);
        self.block(it.block());
        self.scopes.pop();
    }

    fn each(&mut self, it: &GenericFor) {
        let values = self.expressions(it.expressions());
        self.scopes.push(Vec::new());
        for (place, token) in it.names().iter().enumerate() {
            let origin = match values.first() {
                Some(first) => Origin::Each(*first, place),
                None => Origin::Unknown,
            };
            self.declare(&name_of(token), vec![origin]);
        }
        self.block(it.block());
        self.scopes.pop();
    }
}

/// The name that a token is.
fn name_of(token: &TokenReference) -> String {
    token.token().to_string()
}
