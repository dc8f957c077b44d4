//! What a text of a client states, found by its words (RULES 16).
//!
//! Invariant: a text is a note from its first character to its last, and what a person or a tool says
//! is never one; `table` alone knows how clients word what they state. Called where the parts of a
//! message become an entry.

mod table;

use epitome_types::{ContentId, Part, PartBody, Role, Speaker, StateNote, Stays};

use table::About::{Fields, Happened, Kind, Named, Pointer, Wording};
use table::{AIDER, AIDER_REPLIES, OTHERS, REMINDERS, Row};

/// How the subjects begin of notes that hold what stands in files.
const FILES: [&str; 2] = ["aider ", "file "];

/// What a client says beside what it states: nobody typed it, and nothing of it needs to stay.
const SAID: [&str; 1] = ["I spoke to you previously about a number of things.\n"];

/// How system prompts begin to describe tools that are called in the text of an answer.
const TOOLS: [&str; 7] = [
    "<execute_command>",
    "<read_file>",
    "<tool_call>",
    "<function_calls>",
    "<use_mcp_tool>",
    "<run_command>",
    "<bash>",
];

/// What an operation is called that shows what is in a file, or how such a name begins.
const OPENERS: [&str; 9] =
    ["open", "read", "view", "cat", "show", "get", "load", "fetch", "display"];

/// What its argument is called, or how that begins.
const ARGUMENTS: [&str; 2] = ["path", "file"];

/// A number, `signature:` or the like stands before a signature, and is no longer than this.
const LEAD: usize = 24;

/// Whether a system prompt describes tools that the model calls in the text of its answer.
pub(crate) fn offers_tools(text: &str) -> bool {
    TOOLS.iter().any(|tag| text.contains(tag))
}

/// Whether a system prompt describes an operation that opens files, by its signature: `open <path>`
/// or `read_file(path)`.
pub(crate) fn opens_files(text: &str) -> bool {
    text.lines().any(has_opener)
}

/// Whether a line is the signature of an operation that opens files: its name, and between brackets
/// an argument like that of a path. Source that calls one in passing is none.
fn has_opener(line: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let Some(at) = line.find(['<', '{', '[', '(']) else { return false };
    let (before, behind) = line.split_at(at);
    let called = before.strip_suffix(' ').unwrap_or(before);
    let name = called.rsplit(|c| !is_name(c)).next().unwrap_or_default();
    let lead =
        called[..called.len() - name.len()].trim_end_matches(['`', '*', '"', '\'', ' ', '-']);
    let leads = lead.is_empty() || lead.ends_with([':', '.']) && lead.len() < LEAD;
    let rest = OPENERS.iter().find_map(|opener| name.strip_prefix(opener));
    // What is called like a function of a language has more of a name than that.
    let is_opener =
        |rest: &str| rest.starts_with('_') || rest.is_empty() && !behind.starts_with('(');
    let argument = behind.trim_start_matches(|c: char| !is_name(c) && !c.is_whitespace());
    leads && rest.is_some_and(is_opener) && ARGUMENTS.iter().any(|one| argument.starts_with(one))
}

/// The reminder of a client, without its wrapper.
fn unwrapped(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("<system-reminder>")?.strip_suffix("</system-reminder>")?;
    // Two of them hold what somebody said between them.
    (!inner.contains("</system-reminder>")).then(|| inner.trim())
}

/// Whether a text in the role of the user was written by a client, by its words.
pub(crate) fn is_of_client(text: &str) -> bool {
    let text = text.trim();
    SAID.iter().any(|opening| text.starts_with(opening)) || own(Role::User, text).is_some()
}

/// Notes what the parts of a message state, and who says so.
pub(crate) fn find(role: Role, parts: &mut [Part]) {
    let count = parts.len();
    for (at, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.within.is_none()) {
        let PartBody::Text(text) = &part.body else { continue };
        let trimmed = text.trim();
        let note = match (role, part.speaker) {
            (_, Speaker::Tool) | (Role::Tool, _) => None,
            (Role::User, Speaker::Human) => attached(trimmed).filter(|_| at + 1 < count),
            _ => of_text(role, trimmed),
        };
        part.note = note.map(Box::new);
        if let Some(note) = &part.note {
            part.speaker = Speaker::Harness;
            // A file is known by every word of it.
            if FILES.iter().any(|kind| note.subject.starts_with(kind)) {
                part.known_as = None;
            }
        }
    }
}

/// What a text of a client states.
fn of_text(role: Role, text: &str) -> Option<StateNote> {
    let known = |text| reminder(text).or_else(|| own(role, text));
    match (role, unwrapped(text)) {
        _ if text.is_empty() => None,
        (Role::Assistant | Role::Tool, _) => own(role, text),
        // What no row knows stands for itself.
        (_, Some(inner)) => known(inner).or_else(|| Some(wording(text, Stays::Nothing))),
        (Role::System, None) => known(text).or_else(|| Some(wording(text, Stays::Recent))),
        (Role::User, None) => own(role, text),
    }
}

fn reminder(text: &str) -> Option<StateNote> {
    found(&REMINDERS, text)
}

fn own(role: Role, text: &str) -> Option<StateNote> {
    match role {
        Role::Assistant => found(&AIDER_REPLIES, text),
        _ => found(&AIDER, text).or_else(|| found(&OTHERS, text)),
    }
}

fn found(rows: &[Row], text: &str) -> Option<StateNote> {
    rows.iter().find_map(|row| note(*row, text))
}

fn note(row: Row, text: &str) -> Option<StateNote> {
    let Row { begins, until, about } = row;
    if !until.fits(text.strip_prefix(begins)?) {
        return None;
    }
    let subject = match about {
        Kind(kind) | Pointer(kind) => kind.to_owned(),
        Named(kind, before, after) | Happened(kind, before, after) => {
            let (_, rest) = text.split_once(before)?;
            let (name, _) = rest.split_once(after)?;
            format!("{kind} {}", name.trim())
        }
        Fields(kind) => {
            let fields = text.lines().filter_map(|line| line.trim_start().strip_prefix('<'));
            let names = fields.filter_map(|field| field.split(['>', ' ', '/']).next());
            let names: Vec<_> = names.filter(|name| !name.is_empty()).skip(1).collect();
            format!("{kind} {}", names.join(" "))
        }
        Wording(kind) => format!("{kind} {}", ContentId::for_text(text)),
    };
    let stays = match about {
        Happened(..) | Pointer(_) => Stays::Nothing,
        _ => Stays::Newest,
    };
    Some(StateNote { subject, stays })
}

/// A file that a client puts before what a person typed, in a text of its own: a fence whose
/// opening line names it, or a range of its lines.
fn attached(text: &str) -> Option<StateNote> {
    let inner = text.strip_prefix("```")?.strip_suffix("\n```")?;
    let (opening, code) = inner.split_once('\n')?;
    let (before, range) = opening.split_once(" (").unwrap_or((opening, ""));
    let path = before.split_whitespace().next_back()?;
    let is_path = path.contains(['/', '\\', '.']) && !code.contains("\n```");
    let range = range.trim_end().strip_suffix(')').unwrap_or_default();
    let subject = format!("file {path} {range}").trim_end().to_owned();
    is_path.then_some(StateNote { subject, stays: Stays::Newest })
}

fn wording(text: &str, stays: Stays) -> StateNote {
    StateNote { subject: format!("note {}", ContentId::for_text(text)), stays }
}

#[cfg(test)]
mod tests;
