//! Where lines come from: a terminal, with editing and history, or a pipe.
//!
//! Invariant: no history is kept in a file of its own: it is what was said in the session, so that
//! what is redacted or erased there is nowhere else. Called by the loop of `chat`.

use std::io::{self, BufRead, IsTerminal};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};

use super::command::KNOWN;
use super::end_key::EndKey;
use crate::fault::CliError;
use crate::files::cause;

const PROMPT: &str = "> ";

/// Where lines come from.
pub(super) enum LineSource {
    Terminal(Box<LineEditor>),
    Pipe,
}

/// A terminal, and who edits lines there.
pub(super) struct LineEditor {
    editor: Editor<Commands, MemHistory>,
    /// What keeps a Ctrl-D for the next prompt, while there is none.
    end_key: Option<EndKey>,
}

/// What was typed.
pub(super) enum Typed {
    Line(String),
    /// The line was given up.
    Nothing,
    End,
}

impl LineSource {
    /// Whether a person types, and reads what comes.
    pub(super) fn is_terminal() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// A terminal that knows what was said before, or a pipe.
    pub(super) fn new(terminal: bool, said: &[String]) -> Result<Self, CliError> {
        if !terminal {
            return Ok(Self::Pipe);
        }
        let (config, history) = (rustyline::Config::default(), MemHistory::default());
        let mut editor = Editor::with_history(config, history).map_err(unreadable)?;
        editor.set_helper(Some(Commands));
        for line in said {
            editor.add_history_entry(line.as_str()).map_err(unreadable)?;
        }
        Ok(Self::Terminal(Box::new(LineEditor { editor, end_key: None })))
    }

    /// The next line.
    pub(super) fn next(&mut self) -> Result<Typed, CliError> {
        match self {
            Self::Terminal(terminal) => terminal.next(),
            Self::Pipe => {
                let mut line = Vec::new();
                let read = io::stdin().lock().read_until(b'\n', &mut line);
                let read = read.map_err(|error| CliError::unreadable(about(&cause(&error))))?;
                let text = String::from_utf8(line)
                    .map_err(|_| CliError::unreadable(about("a line is no text in UTF-8")))?;
                Ok(if read == 0 { Typed::End } else { Typed::Line(text) })
            }
        }
    }
}

impl LineEditor {
    /// The next line. What came behind its end, in one read, is there for the one after it.
    fn next(&mut self) -> Result<Typed, CliError> {
        self.end_key = None;
        let read = self.editor.readline(PROMPT);
        self.end_key = EndKey::kept();
        match read {
            Ok(line) => {
                if !line.trim().is_empty() {
                    self.editor.add_history_entry(line.as_str()).map_err(unreadable)?;
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(Typed::Nothing),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(unreadable(error)),
        }
    }
}

fn about(what: &str) -> String {
    format!("standard input: {what}")
}

fn unreadable(error: ReadlineError) -> CliError {
    match error {
        ReadlineError::Io(error) => CliError::unreadable(about(&cause(&error))),
        error => CliError::unreadable(about(&error.to_string())),
    }
}

/// Completes the names of commands.
pub(super) struct Commands;

impl Completer for Commands {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..at).filter(|begun| begun.starts_with('/')).unwrap_or(" ");
        let names = KNOWN.iter().map(|known| known.name).filter(|name| name.starts_with(begun));
        Ok((0, names.map(str::to_owned).collect()))
    }
}

impl Helper for Commands {}
impl Highlighter for Commands {}
impl Validator for Commands {}
impl Hinter for Commands {
    type Hint = String;
}
