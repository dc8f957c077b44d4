//! How clients word what they state: a row for each opening that is known.
//!
//! Invariant: in the role of the user no row fits what a person writes in passing: an opening that
//! anything may follow is whole lines of its client. Read by `note`.

/// What the newer of two notes has in common with the older one.
#[derive(Clone, Copy, Debug)]
pub(super) enum About {
    /// There is one of its kind.
    Kind(&'static str),
    /// It points to the one of its kind.
    Pointer(&'static str),
    /// One for each text between these marks.
    Named(&'static str, &'static str, &'static str),
    /// The same of what happened to something: nothing of it needs to stay.
    Happened(&'static str, &'static str, &'static str),
    /// One for each set of fields: a note may state only what changed.
    Fields(&'static str),
    /// It states the same for ever: one for each wording.
    Wording(&'static str),
}

/// What follows the opening of a note.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// Anything: its client wraps it, or says it in a role of its own.
    Any,
    /// Nothing.
    Whole,
    /// Nothing, or other lines.
    Lines,
    /// Other lines, the last of which closes a fence.
    Fence,
    /// Whatever does not hold this, and then this.
    Close(&'static str),
}

/// How a note of a client begins, what follows, and what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) begins: &'static str,
    pub(super) until: Until,
    pub(super) about: About,
}

const fn row(begins: &'static str, until: Until, about: About) -> Row {
    Row { begins, until, about }
}

use About::{Fields, Happened, Kind, Named, Pointer, Wording};
use Until::{Any, Close, Fence, Lines, Whole};

/// How fences are closed: aider takes the first of them that no file holds.
const FENCES: [&str; 6] =
    ["```", "</source>", "</code>", "</pre>", "</codeblock>", "</sourcecode>"];

impl Until {
    /// Whether this is what follows the opening.
    pub(super) fn fits(self, rest: &str) -> bool {
        match self {
            Any => true,
            Whole => rest.is_empty(),
            Lines => rest.is_empty() || rest.starts_with('\n'),
            Fence => {
                let last = rest.rsplit('\n').next().unwrap_or_default();
                rest.starts_with('\n') && FENCES.iter().any(|fence| last.ends_with(fence))
            }
            // What stands behind the first end is somebody else's.
            Close(end) => rest.find(end).is_some_and(|at| at + end.len() == rest.len()),
        }
    }
}

/// What aider says in the role of the user.
pub(super) const AIDER: [Row; 21] = [
    row(
        "I have *added these files to the chat* so you can go ahead and edit them.",
        Lines,
        Kind("aider files"),
    ),
    row(
        "I have *added these files to the chat* so you see all of their contents.",
        Lines,
        Kind("aider files"),
    ),
    row(
        "These files have been *added these files to the chat* so we can see all of their contents.",
        Lines,
        Kind("aider files"),
    ),
    row("Here is the current content of the files:", Fence, Kind("aider files")),
    row("Here is the current content of the file:", Fence, Kind("aider files")),
    row(
        "These are some files we have been discussing that we may want to edit after you answer my \
         questions:",
        Fence,
        Kind("aider files"),
    ),
    row("I am not sharing any files yet.", Whole, Kind("aider files")),
    row("I am not sharing any files with you.", Whole, Kind("aider files")),
    row("I am not sharing any files that you can edit yet.", Whole, Kind("aider files")),
    row(
        "I am not sharing the full contents of any files with you yet.",
        Whole,
        Kind("aider files"),
    ),
    row(
        "Don't try and edit any existing code without asking me to add the files to the chat!",
        Lines,
        Kind("aider files"),
    ),
    row(
        "Here are some READ ONLY files, provided for your reference.\nDo not edit these files!",
        Lines,
        Kind("aider read-only"),
    ),
    row(
        "Here are summaries of some files present in my git repository.\nDo not propose changes to \
         these files, treat them as *read-only*.",
        Lines,
        Kind("aider map"),
    ),
    row(
        "Here are summaries of some files present in my git repository.\nWe may look at these in \
         more detail after you answer my questions.",
        Lines,
        Kind("aider map"),
    ),
    row(
        "I am working with you on code in a git repository.\nHere are summaries of some files \
         present in my git repo.",
        Lines,
        Kind("aider map"),
    ),
    row(
        "Below here are summaries of other files! Do not propose changes to these *read-only* files \
         without asking me first.",
        Lines,
        Kind("aider map"),
    ),
    row(
        "I switched to a new code base. Please don't consider the above files or try to edit them \
         any longer.",
        Whole,
        Kind("aider switch"),
    ),
    row("Change get_factorial() to use math.factorial", Whole, Wording("aider example")),
    row("Refactor hello() into its own file.", Whole, Wording("aider example")),
    row("Change the greeting to be more casual", Whole, Wording("aider example")),
    row("Replace is_prime with a call to sympy.", Whole, Wording("aider example")),
];

/// What aider has the model say to that.
pub(super) const AIDER_REPLIES: [Row; 11] = [
    row("Ok, any changes I propose will be to those files.", Whole, Kind("aider files, reply")),
    row(
        "Ok, based on your requests I will suggest which files need to be edited and then stop and \
         wait for your approval.",
        Whole,
        Kind("aider files, reply"),
    ),
    row(
        "Ok, I will use that as the true, current contents of the files.",
        Whole,
        Kind("aider files, reply"),
    ),
    row("Ok, I will use these files as references.", Whole, Kind("aider read-only, reply")),
    row(
        "Ok, I won't try and edit those files without asking first.",
        Whole,
        Kind("aider map, reply"),
    ),
    row(
        "Ok, I will:\n\n1. Switch the greeting text from \"Hello\" to \"Hey\".\n\nshow_greeting.py",
        Fence,
        Wording("aider example"),
    ),
    row(
        "Ok, I will:\n\n1. Add an imports of sympy.\n2. Remove the is_prime() function.",
        Fence,
        Wording("aider example"),
    ),
    row(
        "To make this change we need to modify `mathweb/flask/app.py` to:\n\n1. Import the math \
         package.\n2. Remove the existing factorial() function.",
        Lines,
        Wording("aider example"),
    ),
    row(
        "To make this change we need to modify `mathweb/flask/app.py`:\n\n1. Import the `math` \
         module.",
        Close("*** End Patch"),
        Wording("aider example"),
    ),
    row(
        "To make this change we need to modify `main.py` and make a new file `hello.py`:\n\n1. Make \
         a new hello.py file with hello() in it.",
        Fence,
        Wording("aider example"),
    ),
    row(
        "To make this change we need to modify `main.py` and create a new file `hello.py`:\n\n1. \
         Create `hello.py` with the `hello()` function.",
        Close("*** End Patch"),
        Wording("aider example"),
    ),
];

/// What Claude Code, and clients that take after it, put into reminders.
pub(super) const REMINDERS: [Row; 28] = [
    // A person typed it while the agent was at work.
    row("The user sent ", Any, Wording("heard")),
    row("Contents of ", Any, Named("instructions", "Contents of ", ":")),
    row("As you answer the user's questions, you can use the following", Any, Kind("context")),
    row("Available agent types for the Agent tool", Any, Kind("agents")),
    row("Available agent types", Any, Kind("agents")),
    row("The following skills are available for use with the Skill", Any, Kind("skills")),
    row("Your todo list has changed.", Any, Kind("todo")),
    row("This is a reminder that your todo list is currently empty", Any, Kind("todo")),
    row("The TodoWrite tool hasn't been used recently", Any, Kind("todo reminder")),
    row("The task tools haven't been used recently", Any, Kind("todo reminder")),
    row("Plan mode is active", Any, Kind("plan mode")),
    row("Plan mode still active", Any, Pointer("plan mode")),
    row("## Exited Plan Mode", Any, Kind("plan mode")),
    row("Exited Plan Mode", Any, Kind("plan mode")),
    row("You have exited plan mode", Any, Kind("plan mode")),
    row("## Auto Mode Active", Any, Kind("auto mode")),
    row("Auto mode is active", Any, Kind("auto mode")),
    row("Auto mode still active", Any, Pointer("auto mode")),
    row("## Exited Auto Mode", Any, Kind("auto mode")),
    row("Exited Auto Mode", Any, Kind("auto mode")),
    row("You have exited auto mode", Any, Kind("auto mode")),
    row("The date has changed.", Any, Kind("date")),
    row("Token usage:", Any, Kind("tokens")),
    row("USD budget:", Any, Kind("money")),
    row("# MCP Server Instructions", Any, Wording("servers")),
    row("The user opened the file ", Any, Kind("open file")),
    row("The user selected the lines ", Any, Kind("selection")),
    row("Note: ", Any, Happened("change", "Note: ", " was modified, either by the")),
];

/// What other clients say in a text of its own.
pub(super) const OTHERS: [Row; 26] = [
    row("<environment_details>", Close("</environment_details>"), Kind("cline environment")),
    row("<file_content path=\"", Close("</file_content>"), Named("file", "path=\"", "\"")),
    row(
        "<final_file_content path=\"",
        Close("</final_file_content>"),
        Named("file", "path=\"", "\""),
    ),
    row("# TODO LIST CREATION REQUIRED - ACT MODE ACTIVATED", Lines, Kind("cline todo")),
    row(
        "# TODO LIST UPDATE REQUIRED - You MUST include the task_progress parameter in your NEXT \
         tool call.",
        Lines,
        Kind("cline todo"),
    ),
    row(
        "# TODO LIST RECOMMENDED\n\nWhen starting a new task, it is recommended to create a todo \
         list.",
        Lines,
        Kind("cline todo"),
    ),
    row("# Todo List (Optional - Plan Mode)", Lines, Kind("cline todo")),
    row("# task_progress CREATION REQUIRED - ACT MODE ACTIVATED", Lines, Kind("cline todo")),
    row("# task_progress List (Optional - Plan Mode)", Lines, Kind("cline todo")),
    row(
        "# task_progress RECOMMENDED\n\nWhen starting a new task, it is recommended to",
        Any,
        Kind("cline todo"),
    ),
    row("# task_progress\n\nYou've made ", Any, Kind("cline todo")),
    row("# TODO LIST\n\nYou've made ", Any, Kind("cline todo")),
    row("<environment_context>", Close("</environment_context>"), Fields("codex environment")),
    row("<user_instructions>", Close("</user_instructions>"), Kind("codex instructions")),
    row(
        "# AGENTS.md instructions for ",
        Close("</INSTRUCTIONS>"),
        Named("instructions", " for ", "\n"),
    ),
    row(
        "<permissions instructions>",
        Close("</permissions instructions>"),
        Kind("codex permissions"),
    ),
    row("<skills_instructions>", Close("</skills_instructions>"), Kind("codex skills")),
    row("<apps_instructions>", Close("</apps_instructions>"), Kind("codex apps")),
    row("<plugins_instructions>", Close("</plugins_instructions>"), Kind("codex plugins")),
    row("<collaboration_mode>", Close("</collaboration_mode>"), Kind("codex mode")),
    row(
        "This is the Qwen Code. We are setting up the context for our chat.",
        Lines,
        Kind("qwen context"),
    ),
    row(
        "This is the Gemini CLI. We are setting up the context for our chat.",
        Lines,
        Kind("gemini context"),
    ),
    row("<session_context>", Close("</session_context>"), Kind("gemini context")),
    row(
        "Here is the user's editor context as a JSON object. This is for your information only.",
        Fence,
        Kind("editor"),
    ),
    row("<path>", Close("</content>"), Named("file", "<path>", "</path>\n<type>file</type>\n")),
    row("<file path=\"", Close("</file>"), Named("file", "path=\"", "\"")),
];
