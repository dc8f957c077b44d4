//! Stubs for editors, in the annotations that lua-language-server reads.

use std::fmt::Write;

use epitome_kernel::HOOKS;
use epitome_types::hook::{FieldShape, TableShape, ValueShape};

use super::{OWN, READS, choices, doc, is_job, tables, type_of};
use crate::api::API;
use crate::declared::FIELDS;
use crate::suite::GIVEN;

/// The name of the table with the fields of every job.
const COMMON: &str = "Common";

/// `epitome.d.lua`.
pub fn stubs() -> String {
    let mut out = StubWriter(String::new());
    out.line("---@meta epitome");
    out.line("-- Types of policies, for editors. Generated: `UPDATE=1 cargo test -p epitome-lua`.");
    out.policy();
    for table in tables().into_values() {
        out.table(table);
    }
    for (name, (tag, variants)) in choices() {
        let mut names = Vec::new();
        for (word, table) in variants {
            // A table is told apart by its word, so each has a class with that word in it.
            let name = format!("{name}.{word}");
            out.line(&format!("\n---@class {name}: {}", table.name));
            out.field(tag, &format!("\"{word}\""), "");
            names.push(name);
        }
        out.line(&format!("\n---@alias {name} {}", names.join("|")));
    }
    out.class("PolicyTest", "What each function that a file in `tests` returns is given.", "");
    for (name, kind, docs) in GIVEN {
        out.field(name, kind, docs);
    }
    out.api();
    out.0
}

struct StubWriter(String);

impl StubWriter {
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn class(&mut self, name: &str, docs: &str, above: &str) {
        self.line(&format!("\n--- {}", doc(docs)));
        self.line(&format!("---@class {name}{above}"));
    }

    fn field(&mut self, name: &str, kind: &str, docs: &str) {
        self.line(format!("---@field {name} {kind} {}", doc(docs)).trim_end());
    }

    fn policy(&mut self) {
        self.class("Policy", "What `policy.lua` returns.", "");
        for (name, kind, docs) in FIELDS {
            self.field(&format!("{name}?"), kind, docs);
        }
        for hook in HOOKS {
            let answer = match hook.answer {
                ValueShape::Table(table) if table.fields.is_empty() => "nil".to_owned(),
                ref answer => format!("{}|Asking|nil", type_of(answer)),
            };
            let kind = format!("fun(job: {}): {answer}", hook.job.name);
            self.field(&format!("{}?", hook.name), &kind, hook.doc);
        }
        self.class("Asking", "Asks a model before the hook answers.", "");
        self.field("ask", "Ask", "What it is asked.");
    }

    fn table(&mut self, table: &TableShape) {
        let above = if is_job(table) { format!(": {COMMON}") } else { String::new() };
        self.class(table.name, table.doc, &above);
        for FieldShape { name, doc, shape } in table.own_fields() {
            match shape {
                ValueShape::Optional(inner) => {
                    self.field(&format!("{name}?"), &type_of(inner), doc)
                }
                shape => self.field(name, &type_of(shape), doc),
            }
        }
        if table.name == COMMON {
            for (name, kind, docs) in OWN {
                self.field(name, kind, docs);
            }
        }
        for (_, name, kind, docs) in READS.iter().filter(|(owner, ..)| *owner == table.name) {
            self.field(name, kind, docs);
        }
    }

    fn api(&mut self) {
        self.line("\n--- What policies may call.");
        self.line("---@class ep");
        self.line("ep = {}");
        let groups = API.iter().filter_map(|function| function.name.split_once('.'));
        let mut groups: Vec<&str> = groups.map(|(group, _)| group).collect();
        groups.dedup();
        for group in groups {
            self.line(&format!("\nep.{group} = {{}}"));
        }
        for function in API {
            self.line(&format!("\n--- {}", function.doc));
            for (name, kind) in function.params {
                match kind.strip_suffix('?') {
                    Some(kind) => self.line(&format!("---@param {name}? {kind}")),
                    None => self.line(&format!("---@param {name} {kind}")),
                }
            }
            if function.returns != "nil" {
                self.line(&format!("---@return {}", function.returns));
            }
            let names: Vec<&str> = function.params.iter().map(|(name, _)| *name).collect();
            let name = function.name;
            // Writing into a text does not fail.
            let _written = writeln!(self.0, "function ep.{name}({}) end", names.join(", "));
        }
    }
}
