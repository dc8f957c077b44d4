//! A session as Markdown, to be read by people (RULES 55).
//!
//! Invariant: a line outside of all fences that begins with `#` or `##` is this file's own,
//! whatever was said: a text that would break out is put into a fence longer than any in it.

use std::fmt::Write;

use epitome_types::{PartBody, Role};

use super::ExportedSession;

/// What begins a block that HTML closes at a place of its own (CommonMark 4.6, kinds 1 to 5).
const HTML: [&str; 6] = ["<!", "<?", "<pre", "<script", "<style", "<textarea"];

/// A title with the id, the facts in short, and one heading a message with its role and time.
pub fn markdown(session: &ExportedSession<'_>) -> String {
    let mut out = format!("# Session {}\n\n", line(session.id));
    let mut fact = |name: &str, value: &str| writeln!(out, "- {name}: {}", line(value));
    let facts = [
        ("Started", session.started.to_owned()),
        ("Last activity", session.last.to_owned()),
        ("Model", session.model.unwrap_or("unknown").to_owned()),
        ("Provider", session.provider.to_owned()),
        ("Messages", session.entries.len().to_string()),
        ("Tokens", session.tokens.to_string()),
        ("Compressions", session.compressions.to_string()),
    ];
    facts.iter().for_each(|(name, value)| fact(name, value).unwrap_or_default());
    for (number, (entry, at)) in (1..).zip(session.entries.iter().zip(session.times())) {
        let role = match entry.role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
        };
        write!(out, "\n## {number}. {role} ({})\n", line(at)).unwrap_or_default();
        for part in &entry.parts {
            out.push('\n');
            body(&mut out, &part.body);
        }
    }
    for one in session.checkpoints {
        let level = match one.level {
            0 => "merged".to_owned(),
            level => format!("level {level}"),
        };
        let (id, first, last) = (line(&one.id), &one.first, &one.last);
        let (original, tokens) = (one.original, one.tokens);
        let made = line(&one.created);
        write!(
            out,
            "\n## Checkpoint {id}, {level} ({made})\n\n{first} to {last}, {} messages: {original} \
             tokens became {tokens}.\n\n",
            one.messages
        )
        .unwrap_or_default();
        fence(&mut out, &one.text, "markdown");
    }
    out
}

fn body(out: &mut String, body: &PartBody) {
    let mut block = |title: String, text: &str, language: &str| {
        out.push_str(&title);
        if !text.is_empty() {
            out.push_str("\n\n");
            fence(out, text, language);
        } else {
            out.push('\n');
        }
    };
    match body {
        PartBody::Text(text) if stands_alone(text) => {
            out.push_str(text);
            out.push('\n');
        }
        PartBody::Text(text) => fence(out, text, "markdown"),
        PartBody::Call(call) => {
            let title = format!("**Call** {} (id {})", code(&call.tool), code(&call.id));
            block(title, &call.arguments, "json");
        }
        PartBody::Result(result) => {
            let error = if result.error { ", an error" } else { "" };
            block(format!("**Result** of {}{error}", code(&result.call)), &result.text, "");
        }
        PartBody::Thinking(text) => block("**Thinking**".to_owned(), text, ""),
        PartBody::Image(image) => {
            let size = image
                .pixels
                .map_or_else(String::new, |(width, height)| format!(", {width} x {height} pixels"));
            block(format!("**Image** {}{size}", image.content), "", "");
        }
        PartBody::Opaque(opaque) => {
            block(format!("**Block** {}", code(&opaque.kind)), &opaque.text, "json");
        }
    }
}

/// A text between fences that nothing in it closes.
fn fence(out: &mut String, text: &str, language: &str) {
    let ticks = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{ticks}{language}\n{text}{end}{ticks}\n").unwrap_or_default();
}

/// A short text between backticks that nothing in it closes.
fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{}{space}{ticks}", line(text))
}

/// A text on one line.
fn line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// How many backticks follow each other at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Whether a text ends every fence that it begins, and holds no heading or block of HTML that
/// reaches beyond its own. Where it takes more than one line to tell, it does not.
fn stands_alone(text: &str) -> bool {
    let mut open: Option<(char, usize)> = None;
    for line in text.split(['\n', '\r']) {
        let bare = line.trim_start();
        let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let run = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        let rest = bare.get(run..).unwrap_or_default();
        let deep = line.len() - bare.len() > 3;
        match (open, mark) {
            (Some((with, length)), Some(mark)) if mark == with && run >= length => {
                if rest.trim().is_empty() && !deep {
                    open = None;
                }
            }
            (Some(_), _) => {}
            // Behind three backticks another one makes the line an inline code.
            (None, Some(mark)) if run >= 3 && !(mark == '`' && rest.contains('`')) => {
                if deep {
                    return false;
                }
                open = Some((mark, run));
            }
            (None, _) if is_heading(bare) || begins_html(bare) => return false,
            (None, _) => {}
        }
    }
    open.is_none()
}

/// Whether a line is a heading of level 1 or 2.
fn is_heading(line: &str) -> bool {
    let rest = line.strip_prefix("##").or_else(|| line.strip_prefix('#'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn begins_html(line: &str) -> bool {
    HTML.iter()
        .any(|start| line.get(..start.len()).is_some_and(|line| line.eq_ignore_ascii_case(start)))
}
