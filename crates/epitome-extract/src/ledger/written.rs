//! What a call writes to files, as far as its arguments say.
//!
//! Invariant: what is named here stands in the arguments word for word, so whoever finds it on disk
//! has it all; a call of which that cannot be said names nothing. Called for the columns of a plan.

use epitome_kernel::types::ToolCall;
use serde_json::{Map, Value};

use super::call::{Tool, field};
use super::patch;
use super::touch::{Did, PATHS, WrittenFile, is_file, verb};

/// What a call writes to files, in order; nothing where it writes none.
pub fn written(call: &ToolCall) -> Vec<WrittenFile> {
    let tool = Tool::of(call);
    if let Some(text) = patch::text(&tool.arguments) {
        return patch::written(text);
    }
    let (Some(path), Value::Object(arguments)) = (tool.text(PATHS), &tool.arguments) else {
        return Vec::new();
    };
    if tool.is_shell() || !is_file(path) {
        return Vec::new();
    }
    let texts = match verb(&tool) {
        Some(Did::Put) => return of(path, field(arguments, WHOLE), true).into_iter().collect(),
        Some(Did::Change) => match tool.list(&["edits", "changes", "replacements"]) {
            Some(edits) => edits.iter().map(|edit| new_text(edit.as_object()?)).collect(),
            None => vec![new_text(arguments)],
        },
        Some(Did::Read | Did::Delete | Did::Restore | Did::Version) | None => Vec::new(),
    };
    texts.into_iter().filter_map(|text| of(path, text, false)).collect()
}

/// Whether all that a call wrote is on disk: `holds` is asked of each text, and of the whole file
/// where the text is all of it. Of a call that put no text anywhere nothing can be said.
pub fn is_on_disk(written: &[WrittenFile], holds: impl Fn(&WrittenFile) -> bool) -> bool {
    let mut texts = written.iter().filter(|one| !one.text.is_empty()).peekable();
    texts.peek().is_some() && texts.all(holds)
}

fn of(path: &str, text: Option<&str>, whole: bool) -> Option<WrittenFile> {
    Some(WrittenFile { path: path.to_owned(), text: text?.to_owned(), whole })
}

fn new_text(edit: &Map<String, Value>) -> Option<&str> {
    field(edit, NEW)
}

/// Arguments that hold a whole file.
const WHOLE: &[&str] =
    &["content", "contents", "file_text", "fileText", "text", "code", "source", "data", "body"];
/// Arguments that hold what an edit puts in.
const NEW: &[&str] = &[
    "new_string",
    "newString",
    "new_str",
    "newStr",
    "new_text",
    "newText",
    "new_source",
    "newSource",
    "replacement",
    "replace",
    "insert_text",
    "insertText",
    "new_content",
    "newContent",
    "content",
    "text",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tool(arguments)` writes: the path, `=` for a whole file, the text.
    fn check(tool: &str, arguments: &str, expected: &[&str]) {
        let call = ToolCall { id: "1".into(), tool: tool.into(), arguments: arguments.into() };
        let sign = |one: &WrittenFile| if one.whole { "=" } else { "+" };
        let say = |one: &WrittenFile| format!("{}{}{}", one.path, sign(one), one.text);
        assert_eq!(written(&call).iter().map(say).collect::<Vec<_>>(), expected, "{arguments}");
    }

    #[test]
    fn tools_of_the_clients_are_known() {
        check("Write", r#"{"file_path":"/w/a.py","content":"a\nb\n"}"#, &["/w/a.py=a\nb\n"]);
        check("write", r#"{"filePath":"a.py","content":""}"#, &["a.py="]);
        check("Edit", r#"{"file_path":"a","old_string":"x","new_string":"y"}"#, &["a+y"]);
        check("edit", r#"{"path":"a.rs","oldText":"x","newText":"y"}"#, &["a.rs+y"]);
        check(
            "MultiEdit",
            r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"new_string":""}]}"#,
            &["a+y", "a+"],
        );
        check("NotebookEdit", r#"{"notebook_path":"n.ipynb","new_source":"1"}"#, &["n.ipynb+1"]);
        check(
            "str_replace_editor",
            r#"{"command":"create","path":"/t/a.py","file_text":"x"}"#,
            &["/t/a.py=x"],
        );
        check(
            "str_replace_based_edit_tool",
            r#"{"command":"insert","path":"a","insert_line":1,"insert_text":"x"}"#,
            &["a+x"],
        );
        check("mcp__fs__write_file", r#"{"path":"a","content":"x"}"#, &["a=x"]);
    }

    #[test]
    fn what_writes_nothing_that_is_named_is_left_out() {
        check("Read", r#"{"file_path":"a.py","content":"x"}"#, &[]);
        check("bash", r#"{"command":"cat > a <<E\nx\nE","path":"a","content":"x"}"#, &[]);
        check("Write", r#"{"content":"x"}"#, &[]);
        check("Write", "not JSON", &[]);
        check("Write", r#"{"file_path":"a/","content":"x"}"#, &[]);
        check("edit", r#"{"search":"a","replace":"b"}"#, &[]);
        check("delete_file", r#"{"target_file":"a.md"}"#, &[]);
    }

    #[test]
    fn patches_name_what_the_file_holds_then() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@ fn x\n one\n-two\n+2\n+3\n four\n@@\n-x\n*** Add File: c.md\n+hi\n+ho\n*** Delete File: d.md\n*** End Patch";
        let arguments = serde_json::json!({ "input": patch }).to_string();
        check("apply_patch", &arguments, &["a.rs+one\n2\n3\nfour", "a.rs+", "c.md=hi\nho\n"]);
        check("apply_patch", patch, &["a.rs+one\n2\n3\nfour", "a.rs+", "c.md=hi\nho\n"]);
        let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n\\ No newline at end of file\n--- /dev/null\n+++ b/n.rs\n@@ -0,0 +1 @@\n+n\n";
        let arguments = serde_json::json!({ "patch": diff }).to_string();
        check("apply_diff", &arguments, &["a.rs+x\nz", "n.rs=n\n"]);
    }

    #[test]
    fn all_of_it_must_be_there() {
        let of = |text: &str| WrittenFile { path: "a".into(), text: text.into(), whole: false };
        let check = |texts: &[&str], expected: bool| {
            let written: Vec<_> = texts.iter().map(|text| of(text)).collect();
            assert_eq!(is_on_disk(&written, |one| one.text == "there"), expected, "{texts:?}");
        };
        check(&[], false);
        check(&[""], false);
        check(&["there", ""], true);
        check(&["there", "gone"], false);
    }
}
