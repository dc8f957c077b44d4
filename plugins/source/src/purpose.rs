//! What code was printed for.
//!
//! Invariant: a doubt is answered by the answer that leaves the code alone. Called by the crate.

use epitome_plugin::DigestInput;

/// Arguments that hold a command.
const COMMANDS: &[&str] = &["\"command\"", "\"cmd\"", "\"script\"", "\"code\"", "\"input\""];
/// Words in the names of tools that look elsewhere.
const ELSEWHERE: &[&str] = &[
    "browse",
    "browser",
    "crawl",
    "docs",
    "documentation",
    "fetch",
    "github",
    "gitlab",
    "http",
    "registry",
    "remote",
    "scrape",
    "url",
    "web",
];
/// How a command begins that prints what lies elsewhere.
const PRINTERS: &[&str] = &[
    "curl ", "wget ", "gh api ", "gh repo ", "gh gist ", "http ", "lynx ", "w3m ", "go doc ",
    "pydoc ",
];

/// Whether an edit may need the text word for word. What a tool shows that is not known to look
/// elsewhere may be at hand, and the same text is never shown in two ways.
pub(crate) fn may_be_edited(job: &DigestInput<'_>) -> bool {
    let tool = job.tool.to_ascii_lowercase();
    let mut words = tool.split(|c: char| !c.is_ascii_alphanumeric());
    let looks_elsewhere =
        |word: &str| ELSEWHERE.iter().any(|it| word.starts_with(it) || word.ends_with(it));
    !words.any(looks_elsewhere) && !prints_elsewhere(job.arguments)
}

/// Whether the last command of a call prints what lies elsewhere.
fn prints_elsewhere(arguments: &str) -> bool {
    let command = COMMANDS.iter().find_map(|name| Some(arguments.split_once(name)?.1));
    let command = command.unwrap_or_default().trim_start_matches([':', ' ', '"']);
    let last = command.rsplit("&& ").next().unwrap_or(command);
    PRINTERS.iter().any(|printer| last.starts_with(printer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_at_hand_may_be_edited_and_code_elsewhere_may_not() {
        let check = |tool: &str, arguments: &str, expected: bool| {
            let size = |text: &str| text.len() as u64;
            let job = DigestInput::new("", 0, &size).of(tool, arguments);
            assert_eq!(may_be_edited(&job), expected, "{tool} {arguments}");
        };
        check("read_file", r#"{"path": "a.rs"}"#, true);
        check("Read", "{}", true);
        check("bash", r#"{"command": "cat a.rs"}"#, true);
        check("bash", r#"{"command": "awk 'NR > 3' a.rs"}"#, true);
        check("bash", r#"{"command": "cd x && git show HEAD:a.rs"}"#, true);
        check("get_symbol", r#"{"file": "a.rs", "name": "read"}"#, true);
        check("bash", r#"{"command": "curl -s https://x.org/a.rs"}"#, false);
        check("bash", r#"{"command": "cd x && go doc net/http"}"#, false);
        check("mcp__github__get_file_contents", r#"{"path": "a.rs", "repo": "x/y"}"#, false);
        check("WebFetch", r#"{"url": "https://x.org/a.rs"}"#, false);
        check("web_fetch", r#"{"url": "https://x.org/a.rs"}"#, false);
        check("query_db", r#"{"x": "go"}"#, true);
    }
}
