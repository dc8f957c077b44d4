//! The commands that may be typed in a conversation.
//!
//! Invariant: a line is a message unless it begins with a slash; one that begins so and is no command
//! is an error that says what was meant, and is never sent. Called by the loop of `chat`.

use epitome::nearest;

use crate::text::on_one_line;

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Augments,
    Compress,
    Context,
    Export,
    Goal,
    Help,
    Mode,
    Model,
    Pin,
    Quit,
    Recall,
    Redo,
    Snapshot,
    Status,
    Undo,
    Unpin,
}

/// A command as it is typed, and what it does.
pub(super) struct Known {
    errand: Errand,
    pub(super) name: &'static str,
    takes: &'static str,
    does: &'static str,
}

const fn known(
    errand: Errand,
    name: &'static str,
    takes: &'static str,
    does: &'static str,
) -> Known {
    Known { errand, name, takes, does }
}

/// Every command.
pub(super) const KNOWN: [Known; 16] = [
    known(Errand::Compress, "/compress", "", "makes the prompt smaller now"),
    known(Errand::Context, "/context", "", "shows what the prompt is made of"),
    known(
        Errand::Status,
        "/status",
        "",
        "tells how full the window is, and what was done about it",
    ),
    known(Errand::Undo, "/undo", "", "takes the last compression back"),
    known(Errand::Redo, "/redo", "", "takes the last undo back"),
    known(Errand::Snapshot, "/snapshot", "[NAME]", "makes a restore point"),
    known(Errand::Goal, "/goal", "[TEXT|done|pause]", "shows, sets or ends what this is about"),
    known(Errand::Pin, "/pin", "[eN...]", "keeps messages from being compressed, or lists them"),
    known(Errand::Unpin, "/unpin", "eN...", "lets them go again"),
    known(
        Errand::Mode,
        "/mode",
        "[MODE]",
        "tells policies of a mode: developer, planning, debugger",
    ),
    known(Errand::Model, "/model", "[MODEL]", "goes on with another model of the same API"),
    known(Errand::Recall, "/recall", "QUERY", "finds what left the prompt; shown to you only"),
    known(Errand::Export, "/export", "[FILE]", "writes all that was said, as Markdown or .json"),
    known(
        Errand::Augments,
        "/augments",
        "[NAME...]",
        "lists augments, loads them, or unloads -NAME",
    ),
    known(Errand::Help, "/help", "", "shows this"),
    known(
        Errand::Quit,
        "/quit",
        "",
        "ends the conversation, which can be gone on with; so does Ctrl-D",
    ),
];

/// A line that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    /// Nothing.
    Blank,
    /// A message for the model.
    Message(&'l str),
    /// A command and what stands behind it.
    Command(Errand, &'l str),
    /// A command that there is not, and what to do.
    Unknown(String),
}

impl<'l> Line<'l> {
    /// Reads a line.
    pub(super) fn read(line: &'l str) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Self::Blank;
        }
        if !line.starts_with('/') {
            return Self::Message(text);
        }
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match KNOWN.iter().find(|known| known.name == name) {
            Some(known) => Self::Command(known.errand, rest.trim()),
            None => Self::Unknown(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> String {
    let meant = match nearest(name, KNOWN.iter().map(|known| known.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`/help` lists those that there are".to_owned(),
    };
    let name = on_one_line(name);
    format!("no command `{name}`; {meant} (a space before the slash makes it a message)")
}

/// All commands, a line each.
pub(super) fn help() -> String {
    let line = |known: &Known| {
        let usage = format!("{} {}", known.name, known.takes);
        format!("  {usage:25} {}", known.does)
    };
    KNOWN.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_a_command() {
        let check = |line: &str, expected: Line<'_>| assert_eq!(Line::read(line), expected);
        check("  \n", Line::Blank);
        check(" what now?\n", Line::Message("what now?"));
        check(" /etc/hosts is a file", Line::Message("/etc/hosts is a file"));
        check("/compress", Line::Command(Errand::Compress, ""));
        check("/goal  Ship the importer \n", Line::Command(Errand::Goal, "Ship the importer"));
    }

    #[test]
    fn a_command_that_there_is_not_says_what_was_meant() {
        let check = |line: &str, meant: &str| match Line::read(line) {
            Line::Unknown(said) => assert!(said.contains(meant), "{said}"),
            other => panic!("{other:?}"),
        };
        check("/compres", "no command `/compres`; did you mean `/compress`?");
        check("/contxt now", "did you mean `/context`?");
        check("/etc/hosts", "`/help` lists");
        check("/", "`/help` lists");
    }

    #[test]
    fn every_errand_has_one_name() {
        for one in &KNOWN {
            let same = |other: &&Known| other.errand == one.errand || other.name == one.name;
            assert_eq!(KNOWN.iter().filter(same).count(), 1, "{}", one.name);
        }
    }
}
