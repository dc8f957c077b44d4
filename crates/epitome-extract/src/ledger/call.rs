//! Tool calls, read the same way whichever client makes them.
//!
//! Invariant: arguments are foreign; whatever they are, reading them gives an answer or nothing.
//! Called by the modules that look at calls.

use epitome_kernel::types::{ToolCall, ToolName};
use serde_json::{Map, Value};

/// A call, its name and arguments taken apart.
pub(super) struct Tool {
    name: ToolName,
    /// The arguments: an object, or whatever else stood there, text that is no JSON included.
    pub(super) arguments: Value,
}

impl Tool {
    /// Reads a call.
    pub(super) fn of(call: &ToolCall) -> Self {
        let arguments = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
        Self { name: ToolName::new(&call.tool), arguments }
    }

    /// Whether the name's words are these.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        self.name.is(words)
    }

    /// Whether the tool runs a command line.
    pub(super) fn is_shell(&self) -> bool {
        self.name.is_shell()
    }

    /// Whether the tool states a whole to-do list.
    pub(super) fn is_list(&self) -> bool {
        self.name.is_list()
    }

    /// Whether one of the name's words is one of these.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.name.has(words)
    }

    /// Whether the name begins with one of these words, or is one of them.
    pub(super) fn begins(&self, words: &[&str]) -> bool {
        self.name.begins(words)
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

#[cfg(test)]
mod tests {
    use super::*;

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
