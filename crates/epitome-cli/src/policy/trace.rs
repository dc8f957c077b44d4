//! `epitome policy trace`: what policies are asked turn by turn, what each answers, who decides, and
//! what becomes of it.
//!
//! Invariant: the replay goes as it would unwatched; nothing is recorded but in memory.

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use epitome::types::{Event, EventKind};
use epitome::{HOOKS, LineRange};
use epitome_lab::{ReplaySetup, ReplayTurn};
use serde::Serialize;
use serde_json::Value;

use super::played::{PlayableConversation, watched};
use super::short_form::words;
use super::watcher::{Note, TracedAnswer, TracedOutcome, Watcher};
use crate::cassette::TapeFlags;
use crate::columns::output_width;
use crate::fault::{self, CliError};
use crate::files;
use crate::flags::{SummarizerFlags, SummaryFlags, WindowFlags};
use crate::outputs::{FileFate, apart};
use crate::settings::{self, ProfileFlags};
use crate::text::{clipped, on_one_line, plain};

/// Cells of a policy's name.
const NAME: usize = 9;

/// Plays a recording and shows for each turn what the policies were asked, what each answered, and
/// who decided
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome policy trace session.jsonl --profile ollm --context-size 8192 --turns 1-20"
)]
pub(crate) struct Args {
    /// The conversation: a client's recording, or a request to a provider; `-` reads standard
    /// input
    recording: PathBuf,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    summary: SummaryFlags,
    #[command(flatten)]
    summarizers: SummarizerFlags,
    #[command(flatten)]
    tape: TapeFlags,
    /// Shows these turns only
    #[arg(long, value_name = "A-B")]
    turns: Option<LineRange>,
    /// Shows this hook only
    #[arg(long, value_name = "HOOK", value_parser = hook)]
    hook: Option<&'static str>,
    /// Prints one JSON object for each hook that was asked and for each event
    #[arg(long)]
    json: bool,
}

/// Reads `--hook`.
fn hook(name: &str) -> Result<&'static str, String> {
    let names = HOOKS.iter().map(|hook| hook.name);
    let known = names.clone().find(|known| *known == name);
    known.ok_or_else(|| format!("there is {}", names.collect::<Vec<_>>().join(", ")))
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum TraceLine<'a> {
    Asked {
        turn: usize,
        #[serde(flatten)]
        note: &'a Note,
    },
    Happened {
        turn: usize,
        #[serde(flatten)]
        event: &'a Event,
    },
    Refused {
        turn: usize,
        refused: &'a str,
    },
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let [record, cassette] = args.tape.files();
    let input = ("the input", Some(&*args.recording), FileFate::Input);
    apart(&[input, args.profile.file(), record, cassette])?;
    let config = args
        .profile
        .load(|sources| args.summarizers.set(args.summary.set(args.window.set(sources))))?;
    let (profile, tape) = args.tape.connected(config.profile_in_use()?)?;
    settings::tell_of_mode(&profile, profile.mode());
    let conversation = PlayableConversation::read(&args.recording)?;
    let watcher = Watcher::of_all();
    let setup = watched(ReplaySetup { profile, ..ReplaySetup::default() }, watcher.clone());
    let mut shown = false;
    let play = conversation.play(&setup, |turn, _| {
        let notes = watcher.take();
        let is_over = args.turns.is_some_and(|turns| turns.are_before(turn.turn + 1));
        if args.turns.is_none_or(|turns| turns.hold(turn.turn)) {
            let notes = notes.iter().filter(|note| args.hook.is_none_or(|hook| hook == note.hook));
            let notes: Vec<_> = notes.collect();
            shown |= !notes.is_empty();
            if !args.show(turn, &notes)? {
                return Ok(false);
            }
        }
        Ok(!is_over)
    });
    if let Some(tape) = tape {
        // Of some turns only, less is asked than was recorded.
        tape.end(args.turns.is_some())?;
    }
    let play = play?;
    match (shown, args.hook) {
        (false, Some(hook)) => {
            fault::note(&format!("{}: `{hook}` was not asked in these turns", conversation.name));
            Ok(())
        }
        (false, None) => {
            let (name, last) = (&conversation.name, play.outcome.turns);
            Err(CliError::usage(format!("{name}: has no such turns, the last is {last}")))
        }
        (true, _) => Ok(()),
    }
}

impl Args {
    /// Shows a turn; whether anybody is still reading.
    fn show(&self, turn: &ReplayTurn, notes: &[&Note]) -> Result<bool, CliError> {
        // Of one hook only, what else happened is not asked for.
        let events: &[Event] = if self.hook.is_none() { &turn.events } else { &[] };
        let refused = turn.refused.as_deref().filter(|_| self.hook.is_none());
        if self.json {
            let number = turn.turn;
            let asked = notes.iter().map(|note| TraceLine::Asked { turn: number, note });
            let happened = events.iter().map(|event| TraceLine::Happened { turn: number, event });
            let refused = refused.map(|refused| TraceLine::Refused { turn: number, refused });
            let mut out = String::new();
            for line in asked.chain(happened).chain(refused) {
                out += &serde_json::to_string(&line).map_err(CliError::internal)?;
                out.push('\n');
            }
            return files::is_read(files::line_to_stdout(&out));
        }
        // Where nobody has an opinion there is little to read, unless that is what was asked for.
        let told = |note: &&&Note| self.hook.is_some() || note.is_told();
        let notes: Vec<_> = notes.iter().filter(told).copied().collect();
        if notes.is_empty() && events.is_empty() && refused.is_none() {
            return Ok(true);
        }
        let mut out = anstream::stdout().lock();
        files::is_read(write(&mut out, turn, &notes, events, refused).and_then(|()| out.flush()))
    }
}

fn write(
    out: &mut dyn Write,
    turn: &ReplayTurn,
    notes: &[&Note],
    events: &[Event],
    refused: Option<&str>,
) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "{bold}turn {}{bold:#}", turn.turn)?;
    for note in notes {
        let job = words(&Value::Object(note.job.clone()));
        line(out, 2, AnsiColor::Cyan.on_default(), note.hook, &job)?;
        let silent = note.asked.iter().filter(|said| matches!(said.what, TracedOutcome::Passed(_)));
        let silent: Vec<_> = silent.map(|said| plain(&said.policy)).collect();
        if !silent.is_empty() {
            let silent = format!("no opinion: {}", silent.join(", "));
            line(out, 6, Style::new().dimmed(), "", &silent)?;
        }
        for (at, said) in note.asked.iter().enumerate() {
            let last = at + 1 == note.asked.len();
            said_line(out, said, last && note.winner.as_deref() == Some(&*said.policy))?;
        }
    }
    for event in events {
        let style = match &event.what {
            EventKind::CompressionSkipped { .. } => AnsiColor::Yellow.on_default(),
            EventKind::CompressionError { .. } | EventKind::PolicyError { .. } => {
                AnsiColor::Red.on_default()
            }
            _ => AnsiColor::Green.on_default(),
        };
        let (name, what) = happened(event);
        line(out, 2, style, &name, &what)?;
    }
    match refused {
        Some(why) => line(out, 2, AnsiColor::Red.on_default(), "refused", why),
        None => Ok(()),
    }
}

/// What a policy said; the one that decided has a mark.
fn said_line(out: &mut dyn Write, said: &TracedAnswer, won: bool) -> io::Result<()> {
    let (style, what) = match &said.what {
        TracedOutcome::Answer(answer) => (Style::new(), words(answer)),
        TracedOutcome::Passed(_) => return Ok(()),
        TracedOutcome::Ask(id) => (AnsiColor::Yellow.on_default(), format!("asks a model: {id}")),
        TracedOutcome::Error(what) => (AnsiColor::Red.on_default(), format!("failed: {what}")),
    };
    let mark = if won { "→ " } else { "  " };
    let name = format!("{mark}{:NAME$}", plain(&said.policy));
    line(out, 4, style, &name, &what)
}

/// A line of at most the width there is.
fn line(
    out: &mut dyn Write,
    indent: usize,
    style: Style,
    name: &str,
    what: &str,
) -> io::Result<()> {
    let what = plain(&on_one_line(what));
    let line = if name.is_empty() { what } else { format!("{name:NAME$} {what}") };
    let line = clipped(&line, output_width().saturating_sub(indent));
    writeln!(out, "{:indent$}{style}{line}{style:#}", "")
}

/// The name of an event, and what belongs to it.
pub(super) fn happened(event: &Event) -> (String, String) {
    let [before, after] = event.tokens;
    let mut fields = match serde_json::to_value(&event.what) {
        Ok(Value::Object(fields)) => fields,
        _ => Default::default(),
    };
    let name = fields.shift_remove("event").map(|name| words(&name)).unwrap_or_default();
    // What was done is what was ordered, and stands above.
    fields.shift_remove("ops");
    let tokens = if before == after { format!("{before}") } else { format!("{before} to {after}") };
    (name, format!("{tokens} tokens, {}", words(&Value::Object(fields))))
}
