//! Whether a request has a tool that opens what left its prompt (RULES 16): one answer for what is
//! kept as a file of the chat, and for whether a text names a way back.
//!
//! Invariant: a tool is judged by what it takes and what it is called, never by whose it is. One
//! that takes a path or a command, or runs code, opens; where nothing is said of what it takes, its
//! name tells.

use epitome_types::{Entry, PartBody, Role};

use crate::json::{self, JsonValue, JsonValueKind, Object};
use crate::note::{offers_tools, opens_files};

/// Words in the name of an argument by which what left is opened: a path, a command, code.
const ARGUMENTS: [&str; 17] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "folder",
    "directory",
    "command",
    "commands",
    "cmd",
    "script",
    "code",
    "cwd",
    "patch",
];

/// Last words in the name of a tool that opens, whatever it takes.
const ALWAYS: [&str; 7] = ["bash", "shell", "terminal", "recall", "computer", "file", "files"];

/// Words in the name of a tool that opens, where nothing is said of what it takes.
const NAMES: [&str; 15] = [
    "bash",
    "shell",
    "terminal",
    "exec",
    "execute",
    "command",
    "recall",
    "editor",
    "edit",
    "patch",
    "read",
    "file",
    "files",
    "filesystem",
    "computer",
];

/// Tools that a provider runs on its own side: what is there is none of the client's.
const ELSEWHERE: [&str; 4] = ["code_execution", "code_interpreter", "file_search", "web_"];

/// Whether something opens what left: tools that are offered, or else were called, or that a system
/// prompt describes to be called in the text of an answer. `tools` are the request's own, as JSON.
pub fn opens_what_left(entries: &[Entry], tools: Option<&str>) -> bool {
    let offered = tools.and_then(|tools| json::parse(tools).ok()?.items().ok()).unwrap_or_default();
    let tells = |entry: &Entry| entry.texts().any(|text| offers_tools(text) || opens_files(text));
    let called = || {
        let mut parts = entries.iter().flat_map(|entry| &entry.parts);
        parts.any(|part| match &part.body {
            PartBody::Call(call) => call_opens(&call.tool, &call.arguments),
            PartBody::Opaque(_) => part.body.is_tool(),
            _ => false,
        })
    };
    let by_tools = match offered.is_empty() {
        true => called(),
        false => offered.into_iter().any(tool_opens),
    };
    by_tools || entries.iter().filter(|entry| entry.role == Role::System).any(tells)
}

/// Whether a tool that is offered opens.
fn tool_opens(tool: JsonValue<'_>) -> bool {
    let Some(tool) = tool.as_object() else { return false };
    let kind = tool.text("type").unwrap_or_default();
    if ELSEWHERE.iter().any(|elsewhere| kind.starts_with(elsewhere)) {
        return false;
    }
    let inner = tool.get("function").and_then(JsonValue::as_object);
    let said = inner.as_ref().unwrap_or(&tool);
    // A whole server of tools, of which nothing is said here.
    let is_server = kind == "mcp";
    let name = said.text("name").unwrap_or(kind);
    is_server || opens(&name, schema(said).as_ref())
}

/// What a tool takes.
fn schema<'t>(tool: &Object<'t>) -> Option<Object<'t>> {
    let keys = ["input_schema", "parameters", "inputSchema"];
    let schema = keys.iter().find_map(|key| tool.get(key)?.as_object())?;
    schema.get("properties")?.as_object()
}

fn call_opens(tool: &str, arguments: &str) -> bool {
    let arguments = json::parse(arguments).ok();
    let arguments = arguments.filter(|it| it.kind() == JsonValueKind::Object);
    opens(tool, arguments.and_then(JsonValue::as_object).as_ref())
}

/// Whether a tool of this name that takes these arguments opens: what reads mails by a number does not.
fn opens(name: &str, arguments: Option<&Object<'_>>) -> bool {
    let words = words(name);
    let is_one_of = |word: &String, names: &[&str]| names.contains(&&**word);
    match arguments.filter(|arguments| !arguments.members.is_empty()) {
        Some(arguments) => {
            takes(arguments) || words.last().is_some_and(|word| is_one_of(word, &ALWAYS))
        }
        None => words.iter().any(|word| is_one_of(word, &NAMES)),
    }
}

/// Whether one of the arguments is a path, a command or code.
fn takes(arguments: &Object<'_>) -> bool {
    let mut names = arguments.members.iter().filter_map(|(name, _)| name.as_str());
    names.any(|name| words(&name).iter().any(|word| ARGUMENTS.contains(&&**word)))
}

/// The words of a name, in small letters: `readFile`, `read_file` and `Read` all read.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None::<char>;
    for letter in name.chars() {
        let is_start = letter.is_uppercase() && before.is_some_and(char::is_lowercase);
        if is_start || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphabetic()) {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, expected: bool) {
        assert_eq!(opens_what_left(&[], Some(&format!("[{tool}]"))), expected, "{tool}");
    }

    #[test]
    fn what_takes_a_path_or_a_command_opens() {
        check(r#"{"name":"Read","input_schema":{"properties":{"file_path":{}}}}"#, true);
        check(r#"{"name":"look","input_schema":{"properties":{"targetFile":{}}}}"#, true);
        check(
            r#"{"type":"function","function":{"name":"x","parameters":{"properties":{"cmd":{}}}}}"#,
            true,
        );
        check(r#"{"type":"function","name":"py","parameters":{"properties":{"code":{}}}}"#, true);
        check(r#"{"type":"custom","name":"apply_patch"}"#, true);
        check(r#"{"type":"local_shell"}"#, true);
        check(r#"{"type":"bash_20250124","name":"bash"}"#, true);
        check(r#"{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"}"#, true);
        check(r#"{"type":"mcp","server_label":"mine"}"#, true);
        check(r#"{"name":"run_shell","input_schema":{"properties":{"input":{}}}}"#, true);
        check(
            r#"{"name":"mcp__epitome__recall","input_schema":{"properties":{"query":{}}}}"#,
            true,
        );
    }

    #[test]
    fn what_asks_something_else_opens_nothing() {
        check(r#"{"name":"get_weather","input_schema":{"properties":{"city":{}}}}"#, false);
        check(r#"{"name":"read_email","input_schema":{"properties":{"id":{}}}}"#, false);
        check(r#"{"name":"execute_trade","input_schema":{"properties":{"symbol":{}}}}"#, false);
        check(r#"{"name":"bash_quotes","input_schema":{"properties":{"channel":{}}}}"#, false);
        check(r#"{"type":"web_search_20250305","name":"web_search","max_uses":5}"#, false);
        check(r#"{"type":"web_search"}"#, false);
        check(r#"{"type":"code_execution_20250522","name":"code_execution"}"#, false);
        check(r#"{"type":"file_search","vector_store_ids":["v"]}"#, false);
        check(
            r#"{"type":"function","function":{"name":"cancel_order","parameters":{"properties":{"order_id":{},"reason":{}}}}}"#,
            false,
        );
        assert!(!opens_what_left(&[], Some("[]")) && !opens_what_left(&[], None));
    }
}
