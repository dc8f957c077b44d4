//! The files of a policy as one program: its own, and all that it requires.
//!
//! Invariant: nothing of them runs. A file that is no Lua is left out: whoever runs it says so.

use std::collections::BTreeMap;

use mlua::chunk::Compiler;

use super::code::{Code, ExprKind};
use super::lower::lower;
use crate::files::{GenerationFiles, Module};

/// The modules of a program, by the names that `require` finds them by.
#[derive(Debug, Default)]
pub(super) struct Modules {
    /// Their places among the files.
    pub(super) files: BTreeMap<String, usize>,
    /// Why those are not there that are missing.
    pub(super) missing: BTreeMap<String, String>,
    /// The prompts that are named, or why those are not there that are missing.
    pub(super) prompts: BTreeMap<String, Result<String, String>>,
}

/// Reads a policy's file and everything that it requires.
pub(super) fn read(files: &GenerationFiles, policy: &Module) -> Option<(Code, Modules)> {
    let (mut code, mut modules) = (Code::default(), Modules::default());
    add(&mut code, policy)?;
    while let Some(name) = next(&code, &modules) {
        match files.module(&name) {
            Ok(module) => {
                // What cannot be read counts as a file that says nothing.
                let file = add(&mut code, &module).unwrap_or(usize::MAX);
                modules.files.insert(name, file);
            }
            Err(what) => {
                modules.missing.insert(name, what);
            }
        }
    }
    modules.files.retain(|_, file| *file < code.files.len());
    let prompts = code.calls().filter(|(_, call)| code.shown(call.callee) == "ep.prompt");
    let names = prompts.filter_map(|(_, call)| code.text(*call.args.first()?));
    let read = |name: &str| files.prompt(name).ok_or_else(|| files.no_prompt(name));
    modules.prompts = names.map(|name| (name.to_owned(), read(name))).collect();
    Some((code, modules))
}

fn add(code: &mut Code, module: &Module) -> Option<usize> {
    // What the machine refuses may be nested so deep that no parser should look at it.
    Compiler::new().compile(&module.text).ok()?;
    lower(code, &module.chunk, &module.text)
}

/// A module that is required and was not looked for yet.
fn next(code: &Code, modules: &Modules) -> Option<String> {
    let names = code.calls().filter_map(|(_, call)| {
        let is_require =
            matches!(&code.expr(call.callee).kind, ExprKind::Global(name) if name == "require");
        call.args.first().filter(|_| is_require).and_then(|arg| code.text(*arg))
    });
    let is_new =
        |name: &&str| !modules.files.contains_key(*name) && !modules.missing.contains_key(*name);
    names.into_iter().find(is_new).map(str::to_owned)
}
