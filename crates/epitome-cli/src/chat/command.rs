//! The commands that may be typed in a conversation.
//!
//! Invariant: a line is a message unless it begins with a slash; one that begins so and is no command
//! is an error that says what was meant, and is never sent. Called by the loop of `chat`.

use epitome::nearest;

use crate::text::on_one_line;

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChatCommand {
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
pub(super) struct CommandInfo {
    errand: ChatCommand,
    pub(super) name: &'static str,
    takes: &'static str,
    does: &'static str,
}

const fn known(
    errand: ChatCommand,
    name: &'static str,
    takes: &'static str,
    does: &'static str,
) -> CommandInfo {
    CommandInfo { errand, name, takes, does }
}

/// Every command.
pub(super) const KNOWN: [CommandInfo; 16] = [
    known(ChatCommand::Compress, "/compress", "", "makes the prompt smaller now; so does /compact"),
    known(ChatCommand::Context, "/context", "", "shows what the prompt is made of"),
    known(
        ChatCommand::Status,
        "/status",
        "",
        "tells how full the window is, and what was done about it",
    ),
    known(ChatCommand::Undo, "/undo", "", "takes the last compression back"),
    known(ChatCommand::Redo, "/redo", "", "takes the last undo back"),
    known(ChatCommand::Snapshot, "/snapshot", "[NAME]", "makes a restore point"),
    known(
        ChatCommand::Goal,
        "/goal",
        "[TEXT|done|pause]",
        "shows, sets or ends what this is about",
    ),
    known(
        ChatCommand::Pin,
        "/pin",
        "[eN...]",
        "keeps messages from being compressed, or lists them",
    ),
    known(ChatCommand::Unpin, "/unpin", "eN...", "lets them go again"),
    known(
        ChatCommand::Mode,
        "/mode",
        "[MODE]",
        "tells policies of a mode: developer, planning, debugger",
    ),
    known(ChatCommand::Model, "/model", "[MODEL]", "goes on with another model of the same API"),
    known(ChatCommand::Recall, "/recall", "QUERY", "finds what left the prompt; shown to you only"),
    known(
        ChatCommand::Export,
        "/export",
        "[FILE]",
        "writes all that was said, as Markdown or .json",
    ),
    known(
        ChatCommand::Augments,
        "/augments",
        "[NAME...]",
        "lists augments, loads them, or unloads -NAME",
    ),
    known(ChatCommand::Help, "/help", "", "shows this"),
    known(
        ChatCommand::Quit,
        "/quit",
        "",
        "ends the conversation, which can be gone on with; so does Ctrl-D",
    ),
];

/// Names that other programs give a command, each with ours.
const ALIASES: [(&str, &str); 1] = [("/compact", "/compress")];

/// A line that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedInput<'l> {
    /// Nothing.
    Blank,
    /// A message for the model.
    Message(&'l str),
    /// A command and what stands behind it.
    Command(ChatCommand, &'l str),
    /// A command that there is not, and what to do.
    Unknown(String),
}

impl<'l> TypedInput<'l> {
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
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let meant = alias.map_or(name, |(_, name)| name);
        match KNOWN.iter().find(|known| known.name == meant) {
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
    let line = |known: &CommandInfo| {
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
        let check =
            |line: &str, expected: TypedInput<'_>| assert_eq!(TypedInput::read(line), expected);
        check("  \n", TypedInput::Blank);
        check(" what now?\n", TypedInput::Message("what now?"));
        check(" /etc/hosts is a file", TypedInput::Message("/etc/hosts is a file"));
        check("/compress", TypedInput::Command(ChatCommand::Compress, ""));
        check("/compact now", TypedInput::Command(ChatCommand::Compress, "now"));
        check(
            "/goal  Ship the importer \n",
            TypedInput::Command(ChatCommand::Goal, "Ship the importer"),
        );
    }

    #[test]
    fn a_command_that_there_is_not_says_what_was_meant() {
        let check = |line: &str, meant: &str| match TypedInput::read(line) {
            TypedInput::Unknown(said) => assert!(said.contains(meant), "{said}"),
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
            let same = |other: &&CommandInfo| other.errand == one.errand || other.name == one.name;
            assert_eq!(KNOWN.iter().filter(same).count(), 1, "{}", one.name);
        }
    }
}
