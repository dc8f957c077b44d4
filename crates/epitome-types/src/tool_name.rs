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

/// Words in the names of tools that give what files and pages hold.
const READERS: &[&str] =
    &["read", "view", "open", "fetch", "grep", "search", "glob", "list", "ls", "find", "cat"];

/// The name of a tool in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolName {
    /// In lower case; of `mcp__server__name` only those of the name.
    words: Vec<String>,
}

impl ToolName {
    /// Takes a name apart.
    pub fn new(name: &str) -> Self {
        Self { words: words(name) }
    }

    /// Whether its words are these: `["todo", "write"]` for `TodoWrite` and `todo_write`. A name
    /// written as one word is the same: `todowrite`.
    pub fn is(&self, words: &[&str]) -> bool {
        match &self.words[..] {
            [one] => *one == words.concat(),
            many => many == words,
        }
    }

    /// Whether one of its words is one of these.
    pub fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    /// Whether it begins with one of these words, or is one of them.
    pub fn begins(&self, words: &[&str]) -> bool {
        self.words.first().is_some_and(|word| words.contains(&word.as_str()))
    }

    /// Whether the tool runs a command line.
    pub fn is_shell(&self) -> bool {
        self.has(SHELLS)
    }

    /// Whether the tool gives what stands somewhere: `read_file`, `WebFetch`. A name written as one word
    /// begins or ends with what it does: `readfile`, `webfetch`.
    pub fn is_reader(&self) -> bool {
        let joins = |name: &str, word: &str| {
            word.len() > 3 && (name.starts_with(word) || name.ends_with(word))
        };
        let joined = match &self.words[..] {
            [name] => READERS.iter().any(|word| joins(name, word)),
            _ => false,
        };
        joined || self.has(READERS)
    }

    /// Whether the tool states a whole to-do list.
    pub fn is_list(&self) -> bool {
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
    fn readers_are_known_by_their_words() {
        let check =
            |name: &str, expected| assert_eq!(ToolName::new(name).is_reader(), expected, "{name}");
        for name in [
            "Read",
            "read_file",
            "readfile",
            "WebFetch",
            "webfetch",
            "mcp__fs__list_directory",
            "cat",
            "LS",
        ] {
            check(name, true);
        }
        for name in
            ["send_notification", "create_thread", "Bash", "allocate", "update_category", ""]
        {
            check(name, false);
        }
    }

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
