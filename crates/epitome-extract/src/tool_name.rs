//! What a tool does, as far as its name says.
//!
//! Invariant: whatever a client calls its tools, `TodoWrite`, `todo_write` and `todowrite` are the same
//! name.

/// Names of tools that run a command line.
const SHELLS: &[&str] =
    &["bash", "shell", "exec", "terminal", "command", "cmd", "execute", "zsh", "powershell"];

/// Names of tools that state a whole to-do list, in the place of the one before.
const LISTS: &[&[&str]] = &[
    &["todo", "write"],
    &["write", "todos"],
    &["write", "todo"],
    &["update", "plan"],
    &["update", "todos"],
    &["update", "todo", "list"],
    &["manage", "todo", "list"],
    &["set", "plan"],
    &["todo"],
    &["todos"],
];

/// The name of a tool in words.
pub(crate) struct ToolName {
    /// In lower case; of `mcp__server__name` only those of the name.
    words: Vec<String>,
}

impl ToolName {
    pub(crate) fn new(name: &str) -> Self {
        Self { words: words(name) }
    }

    /// Whether its words are these: `["todo", "write"]` for `TodoWrite` and `todo_write`. A name
    /// written as one word is the same: `todowrite`.
    pub(crate) fn is(&self, words: &[&str]) -> bool {
        match &self.words[..] {
            [one] => *one == words.concat(),
            many => many == words,
        }
    }

    /// Whether one of its words is one of these.
    pub(crate) fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    /// Whether it begins with one of these words, or is one of them.
    pub(crate) fn begins(&self, words: &[&str]) -> bool {
        self.words.first().is_some_and(|word| words.contains(&word.as_str()))
    }

    /// Whether the tool runs a command line.
    pub(crate) fn is_shell(&self) -> bool {
        self.has(SHELLS)
    }

    /// Whether the tool states a whole to-do list.
    pub(crate) fn is_list(&self) -> bool {
        LISTS.iter().any(|name| self.is(name))
    }
}

fn words(name: &str) -> Vec<String> {
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
        let check = |name: &str, expected: &[&str]| assert_eq!(words(name), expected, "{name}");
        check("TodoWrite", &["todo", "write"]);
        check("todowrite", &["todowrite"]);
        check("write_todos", &["write", "todos"]);
        check("mcp__files__readFile", &["read", "file"]);
        check("str_replace_based_edit_tool", &["str", "replace", "based", "edit", "tool"]);
        check("functions.exec-command", &["functions", "exec", "command"]);
        check("", &[]);
        check("__", &[]);
    }
}
