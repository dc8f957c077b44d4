//! What a single call does to a file, and how its tool and its arguments say so.
//!
//! Invariant: a path is one that can be of one file, spelled as the call spells it; a tool whose name says
//! nothing of files does nothing to any. Called by the modules that look for files in calls.

use super::call::Tool;

/// One thing that a call does to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) path: String,
    pub(super) how: Did,
}

impl Touch {
    /// What is done to the file at a path; `None` where that can be none.
    pub(super) fn new(path: &str, how: Did) -> Option<Self> {
        is_file(path).then(|| Self { path: path.to_owned(), how })
    }
}

/// What a single call does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Read,
    /// Changes what is there.
    Change,
    /// Puts a whole file there, be there one or not.
    Put,
    Delete,
    /// Takes back what was done to it, where anything was.
    Restore,
    /// Puts some version of it there that was committed once: what was done to it before is taken back.
    Version,
}

/// A text that a call puts into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The file, as the call spells it.
    pub path: String,
    /// What it holds then; empty where the call takes text out.
    pub text: String,
    /// Whether it holds nothing else.
    pub whole: bool,
}

/// Whether a text can be the path of one file: no pattern, no variable, no sentence, no directory.
pub(super) fn is_file(path: &str) -> bool {
    let signs = ['*', '?', '$', '`', '"', '<', '>', '|', '{', '}', '\n'];
    !path.is_empty()
        && path.len() <= 300
        && !path.contains(signs)
        && !path.contains("://")
        && !path.ends_with(['/', ' '])
        && !path.starts_with(['-', ' '])
        && !matches!(path, "." | ".." | "~")
        && !path.starts_with("/dev/")
}

/// What the tool does to the file that its arguments name, by its name or its `command`.
pub(super) fn verb(tool: &Tool) -> Option<Did> {
    let editor = tool.has(&["replace", "edit", "editor"]);
    let command = tool.text(&["command"]).filter(|_| editor);
    if let Some(command) = command {
        return match command {
            "view" => Some(Did::Read),
            "create" => Some(Did::Put),
            "str_replace" | "insert" | "undo_edit" | "delete" => Some(Did::Change),
            _ => None,
        };
    }
    if tool.has(OTHERS) {
        return None;
    }
    let of = [(CHANGES, Did::Change), (PUTS, Did::Put), (DELETES, Did::Delete), (READS, Did::Read)];
    of.into_iter().find(|(words, _)| tool.has(words)).map(|(_, how)| how)
}

/// Arguments that name a file.
pub(super) const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "notebook_path",
    "notebookPath",
    "relative_path",
    "filepath",
    "filename",
    "file_name",
    "fileName",
    "file",
];
/// Tools that look for files, or at directories: the path is where they look.
const OTHERS: &[&str] = &[
    "list",
    "ls",
    "dir",
    "directory",
    "glob",
    "grep",
    "search",
    "find",
    "todo",
    "todos",
    "plan",
    "task",
    "agent",
    "memory",
    "web",
    "url",
    "browser",
    "tree",
];
const CHANGES: &[&str] = &[
    "edit",
    "multiedit",
    "update",
    "modify",
    "insert",
    "append",
    "replace",
    "patch",
    "str",
    "apply",
];
const PUTS: &[&str] = &["write", "create", "save", "move", "rename", "copy", "put"];
const DELETES: &[&str] = &["delete", "remove", "unlink"];
const READS: &[&str] = &["read", "view", "open", "cat", "show", "load", "get"];
