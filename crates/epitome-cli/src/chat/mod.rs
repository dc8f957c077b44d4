//! `epitome chat`: a conversation with a model, past its window.
//!
//! Each file is one duty: `open` gets ready, `input` reads lines, `end_key` keeps a Ctrl-D for them,
//! `command` tells commands from messages, `acts` does what commands say, `answer` has a message
//! answered, `pause` compresses behind it, `view` shows it, `marker_filter` hides markers, `failure` says
//! what a failure means.
//!
//! Invariant: answers go to standard output, all else to standard error. A pipe goes on with the next
//! line where a message is not answered, unless the next would meet the same; the exit code is that of
//! the first line that went wrong.

mod acts;
mod answer;
mod command;
mod end_key;
mod failure;
mod input;
mod marker_filter;
mod open;
mod pause;
mod spoken;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome::model::ModelSpec;
use epitome::{ChatSession, Config, FallbackStore, Prompt, SessionControls};
use tokio::runtime::{Builder, Runtime};

use self::answer::AnswerEnd;
use self::command::TypedInput;
use self::input::{LineSource, Typed};
use self::view::ChatView;
use crate::cassette::{ModelTransport, TapeFlags};
use crate::fault::CliError;
use crate::flags::{SummarizerFlags, WindowFlags};
use crate::settings::{self, ProfileFlags};

/// So many messages can be gone back to with the arrow keys.
const BACK: u32 = 400;

/// Talks with a model, past its window: what no longer fits is summed up, and can be recalled
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome chat --model ollama:llama3.2:3b --session garden\n\n\
    From a pipe, a message a line; answers go to standard output, an empty line behind each:\n  \
    printf 'Hello!\\nWho are you?\\n' | epitome chat --model openai:qwen@http://127.0.0.1:8080/v1\n\n\
    Keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY, and\n\
    EPITOME_API_KEY for other addresses.")]
pub(crate) struct Args {
    /// The model: ollama:NAME, openai:NAME@URL or anthropic:NAME
    #[arg(long = "model", value_name = "MODEL")]
    spec: ModelSpec,
    /// The session: it is gone on with, or begins by this name [default: a new one]
    #[arg(long, value_name = "NAME", value_parser = crate::flags::given_name)]
    session: Option<String>,
    /// The system prompt of a session that begins: a file, or a text of several words
    #[arg(long, value_name = "FILE|TEXT")]
    system: Option<String>,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    summarizers: SummarizerFlags,
    /// The mode that policies are told of: developer, planning, whatever they know
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The folder whose augments there are, and where files go [default: the current folder's
    /// augments, and no files]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    tape: TapeFlags,
    /// Says nothing but answers and errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Says more
    #[arg(short, long)]
    verbose: bool,
}

impl Args {
    fn config(&self) -> Result<Config, CliError> {
        self.profile.load(|sources| {
            let sources = settings::path(sources, "--store", "store", self.store.as_deref());
            let sources = self.summarizers.set(self.window.set(sources));
            settings::text(sources, "--mode", "mode", self.mode.as_deref())
        })
    }
}

/// A conversation.
struct Chat {
    talk: ChatSession,
    levers: SessionControls,
    store: Arc<FallbackStore>,
    tape: ModelTransport,
    view: Mutex<ChatView>,
    /// The last prompt that was made.
    prompt: Option<Prompt>,
    /// Whether what is due in the pause is not done yet.
    pauses: bool,
    /// What has to be added to another command so that it means the same store.
    flag: String,
}

/// The view, for a moment.
fn seen(view: &Mutex<ChatView>) -> MutexGuard<'_, ChatView> {
    view.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the verb; gives the exit code where nothing ended it early.
pub(crate) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(CliError::internal)?;
    let terminal = LineSource::is_terminal();
    let mut chat = runtime.block_on(Chat::open(args, terminal))?;
    let code = chat.talk_on(&runtime, terminal);
    // Whatever still goes on in the background has nobody to wait for it.
    runtime.shutdown_background();
    code
}

impl Chat {
    /// Takes line after line.
    fn talk_on(&mut self, runtime: &Runtime, terminal: bool) -> Result<ExitCode, CliError> {
        let mut input = LineSource::new(terminal, &self.typed()?)?;
        let mut code = ExitCode::SUCCESS;
        let mut went_wrong = |fault: &CliError| {
            let said = fault.report();
            if !terminal && code == ExitCode::SUCCESS {
                code = said;
            }
        };
        loop {
            let line = match self.next_line(&mut input, runtime)? {
                Typed::Line(line) => line,
                Typed::Nothing => continue,
                Typed::End => break,
            };
            match TypedInput::read(&line) {
                TypedInput::Blank => {}
                TypedInput::Unknown(what) => went_wrong(&CliError::usage(what)),
                TypedInput::Command(errand, rest) => {
                    match runtime.block_on(self.perform(errand, rest)) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(fault) => went_wrong(&fault),
                    }
                }
                TypedInput::Message(text) => match runtime.block_on(self.say(text))? {
                    AnswerEnd::Well => {}
                    AnswerEnd::Unread => break,
                    AnswerEnd::Badly(trouble) => {
                        went_wrong(&trouble.fault);
                        if trouble.stays && !terminal {
                            break;
                        }
                    }
                },
            }
        }
        Ok(code)
    }

    /// What was typed in the session before.
    fn typed(&mut self) -> Result<Vec<String>, CliError> {
        let Some(name) = self.talk.session().name().map(str::to_owned) else {
            return Ok(Vec::new());
        };
        if self.levers.session(Some(&name)).is_err() {
            return Ok(Vec::new());
        }
        let said = spoken::last(self.levers.keeper(), &name, BACK)?;
        Ok(said.into_iter().filter(spoken::Spoken::is_typed).map(|said| said.text).collect())
    }
}
