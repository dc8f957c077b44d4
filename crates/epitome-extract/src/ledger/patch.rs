//! The files that a patch touches: `*** Update File:` headers and unified diffs.
//!
//! Invariant: only headers are read, never the changed lines. Called by [`super::files`] and
//! [`super::written`].

use serde_json::Value;

use super::touch::{Did, Touch, WrittenFile, is_file};

const BEGIN: &str = "*** Begin Patch";

/// The patch among the arguments of a call, wherever it stands: bare, in a field, or in a list of
/// words as Codex's `shell` gives it.
pub(super) fn text(arguments: &Value) -> Option<&str> {
    match arguments {
        Value::String(text) => text.contains(BEGIN).then_some(text),
        Value::Array(items) => items.iter().find_map(text),
        Value::Object(map) => {
            let diff = ["patch", "diff"].iter().find_map(|key| map.get(*key)?.as_str());
            diff.or_else(|| ["input", "command", "cmd"].iter().find_map(|key| text(map.get(*key)?)))
        }
        _ => None,
    }
}

/// What the patch does, file by file.
pub(super) fn touches(patch: &str) -> Vec<Touch> {
    let mut out: Vec<Touch> = Vec::new();
    let mut from = None;
    for line in patch.lines() {
        if let Some((path, how)) =
            HEADERS.iter().find_map(|(header, how)| Some((line.strip_prefix(header)?, *how)))
        {
            push(path, how, &mut out);
        } else if let Some(path) = line.strip_prefix("*** Move to: ") {
            if let Some(moved) = out.last_mut() {
                moved.how = Did::Delete;
            }
            push(path, Did::Put, &mut out);
        } else if let Some(path) = line.strip_prefix("--- ") {
            from = Some(side(path));
        } else if let (Some(path), Some(from)) = (line.strip_prefix("+++ "), from.take()) {
            match (from, side(path)) {
                (None, Some(path)) => push(path, Did::Put, &mut out),
                (Some(path), None) => push(path, Did::Delete, &mut out),
                (_, Some(path)) => push(path, Did::Change, &mut out),
                (None, None) => {}
            }
        }
    }
    out
}

/// What the files hold after the patch, as far as it says: each hunk as it stands then.
pub(super) fn written(patch: &str) -> Vec<WrittenFile> {
    let mut out: Vec<WrittenFile> = Vec::new();
    // The file, and whether it is new.
    let mut file: Option<(&str, bool)> = None;
    let mut lines = patch.lines().peekable();
    let mut begins = false;
    while let Some(line) = lines.next() {
        let next_is_diff = lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if let Some((path, how)) =
            HEADERS.iter().find_map(|(header, how)| Some((line.strip_prefix(header)?, *how)))
        {
            file = (how != Did::Delete).then_some((path.trim(), how == Did::Put));
            begins = true;
        } else if let Some(path) = line.strip_prefix("*** Move to: ") {
            file = file.map(|_| (path.trim(), false));
        } else if let Some(old) = line.strip_prefix("--- ").filter(|_| next_is_diff) {
            let new = lines.next().and_then(|new| side(new.strip_prefix("+++ ")?));
            file = new.map(|path| (path, side(old).is_none()));
            begins = true;
        } else if line.starts_with("@@") {
            begins = true;
        } else if let (Some((path, whole)), Some(text)) = (file, after(line)) {
            if std::mem::take(&mut begins) {
                out.push(WrittenFile { path: path.to_owned(), text: String::new(), whole });
            }
            if let (Some(last), Some(text)) = (out.last_mut(), text) {
                if !last.text.is_empty() && !last.whole {
                    last.text.push('\n');
                }
                last.text.push_str(text);
                if last.whole {
                    last.text.push('\n');
                }
            }
        }
    }
    out.retain(|one| is_file(&one.path));
    out
}

/// What a line of a hunk is after the patch: `Some(None)` for one that goes.
fn after(line: &str) -> Option<Option<&str>> {
    match line.as_bytes().first() {
        None => Some(Some("")),
        Some(b' ' | b'+') => Some(line.get(1..)),
        Some(b'-') => Some(None),
        Some(_) => None,
    }
}

const HEADERS: [(&str, Did); 3] = [
    ("*** Add File: ", Did::Put),
    ("*** Update File: ", Did::Change),
    ("*** Delete File: ", Did::Delete),
];

fn push(path: &str, how: Did, out: &mut Vec<Touch>) {
    out.extend(Touch::new(path.trim(), how));
}

/// The file of one side of a unified diff; `None` where there is none.
fn side(path: &str) -> Option<&str> {
    let path = path.split('\t').next().unwrap_or(path).trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null").then_some(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: Value, expected: &[(&str, Did)]) {
        let found = text(&arguments).map(touches).unwrap_or_default();
        let found: Vec<(&str, Did)> = found.iter().map(|it| (it.path.as_str(), it.how)).collect();
        assert_eq!(found, expected, "{arguments}");
    }

    #[test]
    fn headers_name_the_files() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-x\n+*** Delete File: no.rs\n*** Add File: c.md\n+hi\n*** Delete File: d.md\n*** End Patch";
        let expected = [
            ("src/a.rs", Did::Delete),
            ("src/b.rs", Did::Put),
            ("c.md", Did::Put),
            ("d.md", Did::Delete),
        ];
        check(json!(patch), &expected);
        check(json!({ "input": patch }), &expected);
        check(json!({ "command": ["apply_patch", patch] }), &expected);
        let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        check(json!({ "command": ["bash", "-lc", heredoc] }), &expected);
        check(json!({ "command": ["ls"], "n": 1 }), &[]);
    }

    #[test]
    fn unified_diffs_name_them_too() {
        let diff = "--- a/src/a.rs\t2026\n+++ b/src/a.rs\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/new.rs\n--- a/old.rs\n+++ /dev/null\n";
        check(
            json!({ "patch": diff }),
            &[("src/a.rs", Did::Change), ("new.rs", Did::Put), ("old.rs", Did::Delete)],
        );
    }
}
