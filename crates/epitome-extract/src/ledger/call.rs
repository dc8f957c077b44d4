//! Tool calls, read the same way whichever client makes them.
//!
//! Invariant: arguments are foreign; whatever they are, reading them gives an answer or nothing.
//! Called by the modules that look at calls.

use epitome_kernel::types::ToolCall;
use serde_json::{Map, Value};

/// A call, its name and arguments taken apart.
pub(super) struct Tool {
    /// The words of the tool's name in lower case; of `mcp__server__name` only those of the name.
    words: Vec<String>,
    /// The arguments: an object, or whatever else stood there, text that is no JSON included.
    pub(super) arguments: Value,
}

impl Tool {
    /// Reads a call.
    pub(super) fn of(call: &ToolCall) -> Self {
        let arguments = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
        Self { words: name_words(&call.tool), arguments }
    }

    /// A call by its name alone.
    pub(super) fn named(call: &ToolCall) -> Self {
        Self { words: name_words(&call.tool), arguments: Value::Null }
    }

    /// Whether the name's words are these: `["todo", "write"]` for `TodoWrite` and `todo_write`.
    /// A name written as one word is the same: `todowrite`.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        match &self.words[..] {
            [one] => *one == words.concat(),
            many => many == words,
        }
    }

    /// Whether the name is one of these.
    pub(super) fn is_any(&self, names: &[&[&str]]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    /// Whether one of the name's words is one of these.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    /// Whether the name begins with one of these words, or is one of them.
    pub(super) fn begins(&self, words: &[&str]) -> bool {
        self.words.first().is_some_and(|word| words.contains(&word.as_str()))
    }

    /// The first text under any of these keys.
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.arguments.get(*key)?.as_str())
    }

    /// The first list under any of these keys.
    pub(super) fn list(&self, keys: &[&str]) -> Option<&[Value]> {
        keys.iter().find_map(|key| self.arguments.get(*key)?.as_array()).map(Vec::as_slice)
    }
}

/// The text of a field of an object, the first of these keys that has one.
pub(super) fn field<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| object.get(*key)?.as_str())
}

fn name_words(name: &str) -> Vec<String> {
    let name = name.rsplit("__").next().unwrap_or(name);
    let mut out: Vec<String> = Vec::new();
    let mut within = false;
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            within = false;
            continue;
        }
        if !within || c.is_uppercase() && lower {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut() {
            word.extend(c.to_lowercase());
        }
        within = true;
        lower = !c.is_uppercase();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_client_are_read_alike() {
        let check = |name: &str, words: &[&str]| assert_eq!(name_words(name), words, "{name}");
        check("TodoWrite", &["todo", "write"]);
        check("todowrite", &["todowrite"]);
        check("write_todos", &["write", "todos"]);
        check("mcp__files__readFile", &["read", "file"]);
        check("str_replace_based_edit_tool", &["str", "replace", "based", "edit", "tool"]);
        check("functions.exec-command", &["functions", "exec", "command"]);
        check("", &[]);
        check("__", &[]);
    }

    #[test]
    fn a_name_in_one_word_is_the_same() {
        let tool = |name: &str| {
            let call = ToolCall { id: String::new(), tool: name.into(), arguments: "{".into() };
            Tool::of(&call)
        };
        assert!(
            tool("TodoWrite").is(&["todo", "write"]) && tool("todowrite").is(&["todo", "write"])
        );
        assert!(!tool("todos").is(&["todo", "write"]));
        assert_eq!(tool("x").arguments, Value::String("{".into()));
    }
}
