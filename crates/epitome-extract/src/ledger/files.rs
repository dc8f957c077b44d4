//! Which files the conversation read and changed.
//!
//! Invariant: a path is spelled as the call spells it, and one path is one file. Called by
//! [`super::WorkLedger::of`], call by call in order.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Tool, field};
use super::touch::{Did, PATHS, Touch, verb};
use super::{patch, shell};

/// What was done to a file, in sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was looked at.
    Read,
    /// It was changed.
    Modified,
    /// It was made.
    Created,
    /// It is gone.
    Deleted,
}

/// A file that calls touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    /// Its path as the call spells it; one in a `cd DIR && …` is spelled with the directory.
    pub path: String,
    /// What was done to it in sum: one that was made and then changed was made.
    pub how: FileChange,
    /// How many calls did that; one that was changed may have been read more often.
    pub times: u32,
}

/// The files of a conversation in the making.
#[derive(Default)]
pub(super) struct FileTracker {
    /// Each file, and when it was last touched.
    all: Vec<(TouchedFile, usize)>,
    by_path: FxHashMap<String, usize>,
    clock: usize,
    /// The file that an editor with a window has open (SWE-agent's `open`, then `edit`).
    open: Option<String>,
}

impl FileTracker {
    /// Takes what a call did, which is nothing to any file where it failed.
    pub(super) fn take(&mut self, tool: &Tool, failed: bool) {
        let touches = self.touches(tool).into_iter();
        touches.filter(|it| !failed || it.how == Did::Read).for_each(|it| self.touch(it));
    }

    /// The files, the newest first.
    pub(super) fn newest_first(mut self) -> Vec<TouchedFile> {
        self.all.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        self.all.into_iter().map(|(file, _)| file).collect()
    }

    fn touch(&mut self, Touch { path, how }: Touch) {
        self.clock += 1;
        let Some(&place) = self.by_path.get(&path) else {
            let how = match how {
                Did::Read => FileChange::Read,
                Did::Change | Did::Version => FileChange::Modified,
                Did::Put => FileChange::Created,
                Did::Delete => FileChange::Deleted,
                // It may be the name of a branch.
                Did::Restore => return,
            };
            self.by_path.insert(path.clone(), self.all.len());
            self.all.push((TouchedFile { path, how, times: 1 }, self.clock));
            return;
        };
        let (file, at) = &mut self.all[place];
        *at = self.clock;
        let before = file.how;
        file.how = match (before, how) {
            (_, Did::Delete) => FileChange::Deleted,
            (_, Did::Restore) => FileChange::Read,
            (FileChange::Deleted, Did::Put | Did::Change) => FileChange::Created,
            (FileChange::Read, Did::Put | Did::Change) => FileChange::Modified,
            (_, Did::Version) => FileChange::Modified,
            _ => before,
        };
        let is_more = match how {
            Did::Read => before == FileChange::Read,
            Did::Change | Did::Put => true,
            Did::Delete | Did::Restore | Did::Version => false,
        };
        // Of what was done before a version was put there nothing is left.
        let goes_on = file.how == before && how != Did::Version;
        file.times = if goes_on { file.times + u32::from(is_more) } else { 1 };
    }

    fn touches(&mut self, tool: &Tool) -> Vec<Touch> {
        if let Some(text) = patch::text(&tool.arguments) {
            return patch::touches(text);
        }
        if tool.is_shell() {
            return shell::touches(&tool.arguments);
        }
        let Some(how) = verb(tool) else { return Vec::new() };
        if tool.begins(&["move", "rename", "copy"]) {
            let from = tool.text(&["source", "from", "old_path", "source_path", "src"]);
            let to = tool.text(&["destination", "to", "new_path", "destination_path", "dest"]);
            let gone = from.filter(|_| !tool.begins(&["copy"])).map(|path| (path, Did::Delete));
            let pairs = gone.into_iter().chain(to.map(|path| (path, Did::Put)));
            return pairs.filter_map(|(path, how)| Touch::new(path, how)).collect();
        }
        if let Some(list) = tool.list(&["paths", "files", "file_paths", "filePaths"]) {
            let path = |one: &Value| match one {
                Value::Object(map) => field(map, PATHS).map(str::to_owned),
                other => other.as_str().map(str::to_owned),
            };
            return list.iter().filter_map(path).filter_map(|it| Touch::new(&it, how)).collect();
        }
        let named = tool.text(PATHS).and_then(|path| Touch::new(path, how));
        if let Some(named) = &named
            && tool.begins(&["open", "create"])
        {
            self.open = Some(named.path.clone());
        }
        let windowed = named.is_none() && how == Did::Change;
        let open = || self.open.clone().map(|path| Touch { path, how });
        named.or_else(|| windowed.then(open).flatten()).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ToolCall;

    use super::*;

    /// The files after calls of `tool(arguments)`, oldest first, as `how path xtimes`.
    fn check(calls: &[(&str, &str)], expected: &[&str]) {
        let mut files = FileTracker::default();
        for (tool, arguments) in calls {
            let call =
                ToolCall { id: "1".into(), tool: (*tool).into(), arguments: (*arguments).into() };
            files.take(&Tool::of(&call), false);
        }
        let said = |it: TouchedFile| format!("{:?} {} x{}", it.how, it.path, it.times);
        let found: Vec<String> = files.newest_first().into_iter().map(said).collect();
        assert_eq!(found, expected, "{calls:?}");
    }

    #[test]
    fn tools_of_the_clients_are_known() {
        check(&[("Read", r#"{"file_path":"/w/a.py"}"#)], &["Read /w/a.py x1"]);
        check(&[("read", r#"{"filePath":"/w/a.py"}"#)], &["Read /w/a.py x1"]);
        check(&[("MultiEdit", r#"{"file_path":"a.rs","edits":[]}"#)], &["Modified a.rs x1"]);
        check(&[("NotebookEdit", r#"{"notebook_path":"n.ipynb"}"#)], &["Modified n.ipynb x1"]);
        check(&[("edit", r#"{"path":"a.rs","oldText":"x","newText":""}"#)], &["Modified a.rs x1"]);
        check(
            &[("read_many_files", r#"{"paths":["a.rs","b/*.rs","b.rs"]}"#)],
            &["Read b.rs x1", "Read a.rs x1"],
        );
        check(
            &[("str_replace_editor", r#"{"command":"create","path":"/t/a.py","file_text":""}"#)],
            &["Created /t/a.py x1"],
        );
        check(
            &[("str_replace_based_edit_tool", r#"{"command":"view","path":"/t/a.py"}"#)],
            &["Read /t/a.py x1"],
        );
        check(
            &[("mcp__fs__move_file", r#"{"source":"a.md","destination":"b.md"}"#)],
            &["Created b.md x1", "Deleted a.md x1"],
        );
        check(&[("delete_file", r#"{"target_file":"a.md"}"#)], &["Deleted a.md x1"]);
        check(&[("exec_command", r#"{"cmd":"cat a.txt"}"#)], &["Read a.txt x1"]);
        check(&[("LS", r#"{"path":"/w"}"#), ("Grep", r#"{"path":"src/a.rs"}"#)], &[]);
        check(&[("Read", "not JSON"), ("Read", "[1]"), ("Read", r#"{"file_path":7}"#)], &[]);
    }

    #[test]
    fn what_was_done_adds_up() {
        check(
            &[
                ("Read", r#"{"file_path":"a.rs"}"#),
                ("Write", r#"{"file_path":"b.rs"}"#),
                ("Edit", r#"{"file_path":"b.rs"}"#),
                ("Write", r#"{"file_path":"a.rs"}"#),
                ("Read", r#"{"file_path":"a.rs"}"#),
            ],
            &["Modified a.rs x1", "Created b.rs x2"],
        );
    }

    #[test]
    fn what_was_put_back_was_not_changed() {
        check(
            &[
                ("Edit", r#"{"file_path":"a.rs"}"#),
                ("Write", r#"{"file_path":"c.rs"}"#),
                ("Bash", r#"{"command":"rm c.rs && git checkout a.rs"}"#),
                ("Bash", r#"{"command":"git checkout main"}"#),
            ],
            &["Read a.rs x1", "Deleted c.rs x1"],
        );
        check(
            &[
                ("Edit", r#"{"file_path":"a.rs"}"#),
                ("Edit", r#"{"file_path":"a.rs"}"#),
                ("Edit", r#"{"file_path":"b.rs"}"#),
                ("Bash", r#"{"command":"git restore --source=HEAD~2 a.rs"}"#),
                ("Bash", r#"{"command":"git restore -s HEAD b.rs"}"#),
                ("Bash", r#"{"command":"git restore --source v1.2 c.rs"}"#),
            ],
            &["Modified c.rs x1", "Read b.rs x1", "Modified a.rs x1"],
        );
    }

    #[test]
    fn an_editor_with_a_window_edits_what_it_opened() {
        check(
            &[
                ("open", r#"{"path":"tests/a.py"}"#),
                ("edit", r#"{"search":"a","replace":"b"}"#),
                ("create", r#"{"filename":"b.py"}"#),
                ("edit", r#"{"search":"","replace":"b"}"#),
            ],
            &["Created b.py x2", "Modified tests/a.py x1"],
        );
    }
}
