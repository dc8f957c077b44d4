//! What a text of a client states, found by its words (SPEC 2.16).
//!
//! Invariant: the only place that knows how clients word what they state; a text is a note from its
//! first character to its last, and what a person or a tool says is never one. Called where the
//! parts of a message become an entry.

use epitome_types::{Body, ContentId, Part, Role, Speaker, StateNote};

/// What the newer of two notes has in common with the older one.
#[derive(Clone, Copy)]
enum About {
    /// There is one of its kind.
    Kind(&'static str),
    /// One for each text between these marks.
    Named(&'static str, &'static str, &'static str),
    /// The same of what happened to something: nothing of it needs to stay.
    Happened(&'static str, &'static str, &'static str),
    /// One for each set of fields: a note may state only what changed.
    Fields(&'static str),
    /// It states the same for ever: one for each wording.
    Wording(&'static str),
}

/// How a note of a client begins and ends, and what it is about.
type Row = (&'static str, &'static str, About);

use About::{Fields, Happened, Kind, Named, Wording};

/// What aider says in the role of the user, or has the model say.
const AIDER: [Row; 22] = [
    ("I have *added these files to the chat* so you", "", Kind("aider files")),
    ("These files have been *added these files to the chat*", "", Kind("aider files")),
    ("Here is the current content of the file", "", Kind("aider files")),
    ("These are some files we have been discussing", "", Kind("aider files")),
    ("I am not sharing any files", ".", Kind("aider files")),
    ("I am not sharing the full contents of any files", ".", Kind("aider files")),
    ("Don't try and edit any existing code without asking me to add", "", Kind("aider files")),
    ("Here are some READ ONLY files, provided for your reference.", "", Kind("aider read-only")),
    ("Here are summaries of some files present in my git repo", "", Kind("aider map")),
    ("I am working with you on code in a git repository.\nHere are", "", Kind("aider map")),
    ("Below here are summaries of other files! Do not propose", "", Kind("aider map")),
    ("I switched to a new code base. Please don't consider the above", "", Kind("aider switch")),
    ("Ok, any changes I propose will be to those files.", "", Kind("aider files, reply")),
    ("Ok, based on your requests I will suggest which files", "", Kind("aider files, reply")),
    ("Ok, I will use these files as references.", "", Kind("aider read-only, reply")),
    ("Ok, I won't try and edit those files without asking", "", Kind("aider map, reply")),
    ("Change get_factorial() to use math.factorial", "factorial", Wording("aider example")),
    ("Refactor hello() into its own file.", "file.", Wording("aider example")),
    ("Change the greeting to be more casual", "casual", Wording("aider example")),
    ("Replace is_prime with a call to sympy.", "sympy.", Wording("aider example")),
    ("To make this change we need to modify `mathweb/flask/app.py`", "", Wording("aider example")),
    ("To make this change we need to make a new file `hello.py`", "", Wording("aider example")),
];

/// The same with openings that a model could have chosen too: they need their ends.
const AIDER_REPLIES: [Row; 2] = [
    ("Ok, I will:\n\n1. Switch the greeting text from \"Hello\"", "", Wording("aider example")),
    ("Ok, I will:\n\n1. Add an imports of sympy.", "", Wording("aider example")),
];

/// What Claude Code, and clients that take after it, put into reminders.
const REMINDERS: [Row; 21] = [
    ("As you answer the user's questions, you can use the following", "", Kind("context")),
    ("Available agent types for the Agent tool", "", Kind("agents")),
    ("Available agent types", "", Kind("agents")),
    ("The following skills are available for use with the Skill", "", Kind("skills")),
    ("Your todo list has changed.", "", Kind("todo")),
    ("This is a reminder that your todo list is currently empty", "", Kind("todo")),
    ("The TodoWrite tool hasn't been used recently", "", Kind("todo reminder")),
    ("The task tools haven't been used recently", "", Kind("todo reminder")),
    ("Plan mode is active", "", Kind("mode")),
    ("Plan mode still active", "", Kind("mode")),
    ("You have exited plan mode", "", Kind("mode")),
    ("Exited Plan Mode", "", Kind("mode")),
    ("Auto mode is active", "", Kind("mode")),
    ("Auto mode still active", "", Kind("mode")),
    ("The date has changed.", "", Kind("date")),
    ("Token usage:", "", Kind("tokens")),
    ("USD budget:", "", Kind("money")),
    ("# MCP Server Instructions", "", Wording("servers")),
    ("The user opened the file ", "", Kind("open file")),
    ("The user selected the lines ", "", Kind("selection")),
    ("Note: ", "", Happened("change", "Note: ", " was modified, either by the")),
];

/// What other clients say in a text of its own.
const OTHERS: [Row; 19] = [
    ("<environment_details>", "</environment_details>", Kind("cline environment")),
    ("<file_content path=\"", "</file_content>", Named("file", "path=\"", "\"")),
    ("<final_file_content path=\"", "</final_file_content>", Named("file", "path=\"", "\"")),
    ("# TODO LIST", "", Kind("cline todo")),
    ("# task_progress", "", Kind("cline todo")),
    ("<environment_context>", "</environment_context>", Fields("codex environment")),
    ("<user_instructions>", "</user_instructions>", Kind("codex instructions")),
    ("# AGENTS.md instructions for ", "</INSTRUCTIONS>", Named("instructions", " for ", "\n")),
    ("<permissions instructions>", "</permissions instructions>", Kind("codex permissions")),
    ("<skills_instructions>", "</skills_instructions>", Kind("codex skills")),
    ("<apps_instructions>", "</apps_instructions>", Kind("codex apps")),
    ("<plugins_instructions>", "</plugins_instructions>", Kind("codex plugins")),
    ("<collaboration_mode>", "</collaboration_mode>", Kind("codex mode")),
    ("This is the Qwen Code. We are setting up the context for", "", Kind("qwen context")),
    ("This is the Gemini CLI. We are setting up the context for", "", Kind("gemini context")),
    ("<session_context>", "</session_context>", Kind("gemini context")),
    ("Here is the user's editor context as a JSON object", "", Kind("editor")),
    ("<path>", "</content>", Named("file", "<path>", "</path>\n<type>file</type>\n")),
    ("<file path=\"", "</file>", Named("file", "path=\"", "\"")),
];

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

/// Whether a system prompt describes tools that the model calls in the text of its answer.
pub fn offers_tools(text: &str) -> bool {
    TOOLS.iter().any(|tag| text.contains(tag))
}

/// The reminder of a client, without its wrapper.
fn unwrapped(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("<system-reminder>")?.strip_suffix("</system-reminder>")?;
    Some(inner.trim())
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
        let Body::Text(text) = &part.body else { continue };
        let trimmed = text.trim();
        part.note = match (role, part.speaker) {
            (_, Speaker::Tool) | (Role::Tool, _) => None,
            (Role::User, Speaker::Human) => attached(trimmed).filter(|_| at + 1 < count),
            _ => of_text(role, trimmed),
        };
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
        (_, Some(inner)) => known(inner).or_else(|| Some(wording(text, false))),
        // What no row knows stands for itself. Notes that differ in their figures are one.
        (Role::System, None) => known(text).or_else(|| Some(wording(&without_digits(text), true))),
        (Role::User, None) => own(role, text),
    }
}

fn reminder(text: &str) -> Option<StateNote> {
    found(&REMINDERS, text)
}

fn own(role: Role, text: &str) -> Option<StateNote> {
    match role {
        Role::Assistant => {
            let rows =
                AIDER.iter().filter(|row| row.0.starts_with("Ok, ") || row.0.starts_with("To "));
            let rows = rows.chain(&AIDER_REPLIES);
            rows.copied().find_map(|row| note(row, text))
        }
        _ => found(&AIDER, text).or_else(|| found(&OTHERS, text)),
    }
}

fn found(rows: &[Row], text: &str) -> Option<StateNote> {
    rows.iter().find_map(|row| note(*row, text))
}

fn note((begins, ends, about): Row, text: &str) -> Option<StateNote> {
    if !text.starts_with(begins) || !text.ends_with(ends) {
        return None;
    }
    let subject = match about {
        Kind(kind) => kind.to_owned(),
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
        Wording(kind) => format!("{kind} {}", ContentId::of(text)),
    };
    Some(StateNote { subject, stays: !matches!(about, Happened(..)) })
}

/// A file that a client puts before what a person typed, in a text of its own: a fence whose
/// opening line names it.
fn attached(text: &str) -> Option<StateNote> {
    let inner = text.strip_prefix("```")?.strip_suffix("\n```")?;
    let (opening, code) = inner.split_once('\n')?;
    let path = opening.split_whitespace().next_back()?;
    let path = path.split(" (").next()?;
    let is_path = path.contains(['/', '\\', '.']) && !code.contains("\n```");
    is_path.then(|| StateNote { subject: format!("file {path}"), stays: true })
}

fn wording(text: &str, stays: bool) -> StateNote {
    StateNote { subject: format!("note {}", ContentId::of(text)), stays }
}

fn without_digits(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text states that stands in a message of this role by itself.
    #[track_caller]
    fn check(role: Role, text: &str, subject: Option<&str>) {
        let speaker = crate::speaker::of_text(role, text);
        let body = Body::Text(text.to_owned());
        let mut parts = [Part { body, speaker, within: None, known_as: None, note: None }];
        find(role, &mut parts);
        let found = parts[0].note.as_ref().filter(|note| note.stays);
        assert_eq!(found.map(|note| &*note.subject), subject, "{text}");
        assert!(found.is_none() || parts[0].speaker == Speaker::Harness, "{text}");
    }

    fn reminded(text: &str, subject: Option<&str>) {
        check(Role::User, &format!("<system-reminder>\n{text}\n</system-reminder>\n"), subject);
        check(Role::System, text, subject);
    }

    #[test]
    fn files_in_the_chat_of_aider_are_state() {
        let files = "I have *added these files to the chat* so you can go ahead and edit them.\n\n\
            *Trust this message as the true contents of these files!*\nAny other messages";
        check(Role::User, files, Some("aider files"));
        check(Role::User, "I am not sharing any files that you can edit yet.", Some("aider files"));
        let map = "Here are summaries of some files present in my git repository.\nDo not propose";
        check(Role::User, map, Some("aider map"));
        let only = "Here are some READ ONLY files, provided for your reference.\nDo not edit";
        check(Role::User, only, Some("aider read-only"));
        let reply = "Ok, any changes I propose will be to those files.";
        check(Role::Assistant, reply, Some("aider files, reply"));
        check(Role::User, "I have added these files, look at them", None);
        check(Role::Assistant, "Ok, I will look at the parser.", None);
    }

    #[test]
    fn the_example_of_aider_is_nobodys() {
        let switch = "I switched to a new code base. Please don't consider the above files or try";
        check(Role::User, switch, Some("aider switch"));
        let of = |text: &str| format!("aider example {}", ContentId::of(text));
        let asked = "Change the greeting to be more casual";
        check(Role::User, asked, Some(&of(asked)));
        check(Role::User, "Change the greeting to be more casual and add a test", None);
        let reply = "Ok, I will:\n\n1. Switch the greeting text from \"Hello\" to \"Hey\".\n\nshow";
        check(Role::Assistant, reply, Some(&of(reply)));
        let text = "I spoke to you previously about a number of things.\nI asked for a parser.";
        check(Role::User, text, None);
        assert!(is_of_client(text));
    }

    #[test]
    fn reminders_of_claude_code_go_by_what_they_are_about() {
        reminded(
            "As you answer the user's questions, you can use the following context:\n# x",
            Some("context"),
        );
        reminded("Available agent types for the Agent tool:\n- claude: Catch-all", Some("agents"));
        reminded(
            "The following skills are available for use with the Skill tool:\n\n- a",
            Some("skills"),
        );
        reminded("Your todo list has changed. DO NOT mention this. Here:\n[]", Some("todo"));
        reminded("This is a reminder that your todo list is currently empty. DO NOT", Some("todo"));
        reminded(
            "The task tools haven't been used recently. If you're working",
            Some("todo reminder"),
        );
        reminded("Note: /srv/a.rs was modified, either by the user or by a linter.", None);
        let reminder =
            "<system-reminder>\nCalled the Read tool with the following input\n</system-reminder>";
        check(Role::User, reminder, None);
        check(Role::User, "Plan mode is active", None);
    }

    #[test]
    fn what_no_row_knows_is_known_by_its_words() {
        let of = |text: &str| format!("note {}", ContentId::of(text));
        check(Role::System, "Answer in French.", Some(&of("Answer in French.")));
        check(Role::System, "It is 12:03.", Some(&of("It is 00:00.")));
        check(Role::User, "Answer in French.", None);
        check(Role::Assistant, "Answer in French.", None);
    }

    #[test]
    fn other_clients_state_in_tags() {
        let cline = "<environment_details>\n# VSCode Visible Files\na.rs\n</environment_details>";
        check(Role::User, cline, Some("cline environment"));
        check(Role::User, &format!("fix it\n{cline}"), None);
        let file = "<file_content path=\"src/a.rs\">\nfn a() {}\n</file_content>";
        check(Role::User, file, Some("file src/a.rs"));
        let codex = "<environment_context>\n  <cwd>/srv/w</cwd>\n  <shell>bash</shell>\n</environment_context>";
        check(Role::User, codex, Some("codex environment cwd shell"));
        let agents =
            "# AGENTS.md instructions for /srv/w\n\n<INSTRUCTIONS>\nTest.\n</INSTRUCTIONS>";
        check(Role::User, agents, Some("instructions /srv/w"));
        let skills = "<skills_instructions>\n## Skills\n</skills_instructions>";
        check(Role::System, skills, Some("codex skills"));
        let qwen = "This is the Qwen Code. We are setting up the context for our chat.\nToday's";
        check(Role::User, qwen, Some("qwen context"));
        let gemini = "<session_context>\nThis is the Gemini CLI.\n</session_context>";
        check(Role::User, gemini, Some("gemini context"));
        let opencode =
            "<path>/srv/a.txt</path>\n<type>file</type>\n<content>\n1: hello\n</content>";
        check(Role::User, opencode, Some("file /srv/a.txt"));
    }

    #[test]
    fn a_file_before_what_a_person_typed_is_a_clients() {
        let text = |text: &str| Part {
            body: Body::Text(text.to_owned()),
            speaker: Speaker::Human,
            within: None,
            known_as: None,
            note: None,
        };
        let file = "```src/a.ts\nconst a = 1;\n```\n";
        let mut parts = [text(file), text("Why does it fail?")];
        find(Role::User, &mut parts);
        let subject = parts[0].note.as_ref().map(|note| &*note.subject);
        assert_eq!((subject, parts[0].speaker), (Some("file src/a.ts"), Speaker::Harness));
        assert_eq!((&parts[1].note, parts[1].speaker), (&None, Speaker::Human));
        // A person who sends nothing but code sends it.
        let mut parts = [text(file)];
        find(Role::User, &mut parts);
        assert_eq!((&parts[0].note, parts[0].speaker), (&None, Speaker::Human));
    }
}
