//! `epitome policy what-if`: one turn as it was, beside the same turn under another profile.
//!
//! Invariant: nothing is recorded, and the store of a session is only read.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use epitome::types::{Event, EventKind};
use epitome::{Format, HookDecision, Profile, WindowSetting};
use epitome_lab::{PromptMessage, Recording, ReplaySetup, TurnUnder, WhatIf};
use serde_json::Value;

use super::short_form::{self, words};
use super::trace::happened;
use crate::columns::output_width;
use crate::fault::{self, CliError};
use crate::files;
use crate::flags::WindowFlags;
use crate::journal::{self, JournalFlags};
use crate::recording;
use crate::replay::of_replay;
use crate::settings::permitted;
use crate::table::{Column, TextTable, left, right};
use crate::text::{clipped, counted, grouped, on_one_line, plain};

/// The largest recording that is read, in bytes.
const MOST: u64 = 256 << 20;

/// Messages that are shown at either end of those in which the prompts differ.
const SHOWN: usize = 12;

/// Two sides of something; the first column says what.
const SIDES: [Column; 3] = [left(""), left(""), left("")];

/// Cells of the first column and of what is between all three.
const HEAD: usize = 12;

/// Messages of a prompt.
const MESSAGES: [Column; 4] = [left(""), left("").least(9), right(""), left("").least(20)];

/// Shows one turn as it was, beside the same turn under another profile: what was decided, and the
/// prompts
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    epitome policy what-if session.jsonl --turn 34 --prompt-limit 8000 --profile ollm")]
pub(crate) struct Args {
    /// A session of the store, or a recording of a conversation; `-` reads standard input
    #[arg(value_name = "SESSION|RECORDING")]
    conversation: PathBuf,
    /// The turn, counted from 1 [default: the last one]
    #[arg(long, value_name = "N")]
    turn: Option<usize>,
    /// The profile that `--profile` is held against [default: the one that recorded the session, or
    /// the one that is configured]
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    journal: JournalFlags,
}

/// A conversation, and how it was served, where it was.
struct Conversation {
    name: String,
    recording: Recording,
    served: Option<ServedSession>,
}

/// How a session was served.
struct ServedSession {
    /// The profile that recorded it.
    recorder: String,
    /// What its prompts were held to, in tokens; 0 where none was made.
    limit: u64,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let Some(tried) = args.journal.profile.named() else {
        return Err(CliError::usage("name the profile to try: `--profile NAME`"));
    };
    let conversation = args.conversation()?;
    let served = conversation.served.as_ref();
    let base = args.against.as_deref().or(served.map(|served| &*served.recorder));
    let [base, other] = [args.setup(base, served)?, args.setup(Some(tried), served)?];
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(CliError::internal)?;
    let what_if = WhatIf::of(&conversation.recording, args.turn, &base, &other);
    let what_if =
        runtime.block_on(what_if).map_err(|error| of_replay(error, &conversation.name))?;
    if args.journal.json {
        return journal::json(&what_if);
    }
    files::to_stdout(|out| write(out, &conversation.name, &what_if))?;
    let is_compressed = what_if.sides.iter().any(|side| side.events.iter().any(compresses));
    if !is_compressed && !args.journal.quiet && what_if.sides.iter().all(|it| it.refused.is_none())
    {
        fault::note(
            "neither profile compresses this turn; a smaller `--prompt-limit` or a later `--turn` may",
        );
    }
    Ok(())
}

impl Args {
    /// The recording of this name, or else the session.
    fn conversation(&self) -> Result<Conversation, CliError> {
        let path = &*self.conversation;
        let is_file = path == Path::new("-") || path.exists();
        if is_file {
            let (name, bytes) = (files::name(Some(path)), files::read(Some(path), MOST)?);
            return Conversation::new(name, &bytes, None);
        }
        let name = path.to_string_lossy();
        let looks_like_a_path = path.components().count() > 1 || path.extension().is_some();
        let keeper = match self.journal.open_of_any_profile(&name) {
            Ok(keeper) => keeper,
            Err(_) if looks_like_a_path => {
                let line = format!("{name}: no such file, and no session of this name");
                return Err(CliError::unreadable(line));
            }
            Err(error) => return Err(error),
        };
        let (format, request) = keeper.request(Some(&name)).map_err(CliError::of)?;
        let limit = keeper.session(Some(&name)).map_err(CliError::of)?.figures.limit;
        let served = ServedSession { recorder: keeper.recorder().to_owned(), limit };
        let conversation = Conversation::new(name.into_owned(), &request, Some(format))?;
        Ok(Conversation { served: Some(served), ..conversation })
    }

    /// How the turn is made under a profile; under the one that is configured where none is named. A
    /// session is held to what it was held to, unless a flag says otherwise.
    fn setup(
        &self,
        profile: Option<&str>,
        served: Option<&ServedSession>,
    ) -> Result<ReplaySetup, CliError> {
        let config = self
            .journal
            .profile
            .load_as(profile, |sources| self.window.set(self.journal.set(sources)))?;
        let profile: Profile = permitted(config.profile_in_use()?)?;
        let limit = served.map(|served| served.limit).filter(|limit| *limit > 0);
        let window = match limit.filter(|_| self.window.is_empty()) {
            Some(limit) => WindowSetting::Limit(limit),
            None => WindowSetting::default(),
        };
        Ok(ReplaySetup { profile, window, ..ReplaySetup::default() })
    }
}

impl Conversation {
    fn new(name: String, bytes: &[u8], format: Option<Format>) -> Result<Self, CliError> {
        let recording = recording::read(&name, bytes, [format, None])?;
        Ok(Self { name, recording, served: None })
    }
}

fn write(out: &mut dyn Write, name: &str, what_if: &WhatIf) -> io::Result<()> {
    let (bold, [one, other]) = (Style::new().bold(), &what_if.sides);
    let came = grouped(one.tokens_raw.max(other.tokens_raw));
    writeln!(out, "{bold}{} turn {}{bold:#}  {came} tokens as it came", plain(name), what_if.turn)?;
    writeln!(out)?;
    let mut table = TextTable::new(&SIDES);
    let row = |what: &str, side: &dyn Fn(&TurnUnder) -> String| {
        vec![what.to_owned(), side(one), side(other)]
    };
    let mut rows = vec![
        row("profile", &|side| plain(&side.profile)),
        row("limit", &|side| grouped(side.limit)),
        row("sent", &|side| side.refused.as_deref().map_or(grouped(side.tokens_sent), plain)),
        row("messages", &|side| grouped(side.messages.len() as u64)),
    ];
    rows.extend(decisions(one, other));
    rows.extend(events(one, other));
    // Either side has the same room.
    let room = output_width().saturating_sub(HEAD) / 2;
    rows.iter_mut().flat_map(|row| &mut row[1..]).for_each(|cell| *cell = clipped(cell, room));
    table.print(out, &rows)?;
    writeln!(out)?;
    prompts(out, what_if)
}

/// What one side has to say, under the name that it stands beside the other side's with.
struct Told {
    name: String,
    what: String,
}

/// What was decided, hook by hook, where somebody had an opinion or failed.
fn decisions(one: &TurnUnder, other: &TurnUnder) -> Vec<Vec<String>> {
    let told = |side: &TurnUnder| -> Vec<Told> {
        let told = side.decisions.iter().filter(|it| is_told(it));
        told.map(|it| Told { name: it.hook.clone(), what: said(it) }).collect()
    };
    beside(told(one), told(other))
}

fn said(decision: &HookDecision) -> String {
    let by = decision.by.as_ref().map(|by| match by.line {
        Some(line) => format!("{}:{line} ", by.policy),
        None => format!("{} ", by.policy),
    });
    let answer = decision.answer.as_ref().map(|answer| words(&short_form::answer(answer)));
    let errors = decision.errors.iter().map(|error| format!("failed: {error} "));
    let all = errors.chain(by).chain(answer);
    plain(&on_one_line(&all.collect::<String>()))
}

/// What happened, but for how far a compression came.
fn events(one: &TurnUnder, other: &TurnUnder) -> Vec<Vec<String>> {
    let told = |side: &TurnUnder| -> Vec<Told> {
        let told = side.events.iter().filter(|event| !is_progress(event));
        let line = |event| {
            let (name, what) = happened(event);
            let what = plain(&on_one_line(&format!("{name}: {what}")));
            Told { name: "event".to_owned(), what }
        };
        told.map(line).collect()
    };
    beside(told(one), told(other))
}

/// Lines of two sides: what has one name stands beside each other, in the order of the side that goes
/// on.
fn beside(one: Vec<Told>, other: Vec<Told>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut other = VecDeque::from(other);
    for Told { name, what } in one {
        let Some(place) = other.iter().position(|theirs| theirs.name == name) else {
            rows.push(vec![name, what, String::new()]);
            continue;
        };
        // What only the other side has before the next name in common comes first.
        rows.extend(other.drain(..place).map(|it| vec![it.name, String::new(), it.what]));
        let theirs = other.pop_front().map(|it| it.what).unwrap_or_default();
        rows.push(vec![name, what, theirs]);
    }
    rows.extend(other.into_iter().map(|it| vec![it.name, String::new(), it.what]));
    rows
}

/// Where the prompts differ.
fn prompts(out: &mut dyn Write, what_if: &WhatIf) -> io::Result<()> {
    let [first, last] = what_if.alike;
    let bold = Style::new().bold();
    let own = |side: &TurnUnder| side.messages.len().saturating_sub(first + last);
    if what_if.sides.iter().all(|side| own(side) == 0) {
        return writeln!(out, "{bold}prompts{bold:#}  both say the same");
    }
    let tokens = |messages: &[PromptMessage]| grouped(messages.iter().map(|it| it.tokens).sum());
    let all = &what_if.sides[0].messages;
    let begin = &all[..first];
    let end = &all[all.len() - last..];
    writeln!(
        out,
        "{bold}prompts{bold:#}  both begin with {} ({} tokens) and end with {} ({} tokens)",
        counted(first as u64, "message"),
        tokens(begin),
        counted(last as u64, "message"),
        tokens(end),
    )?;
    for (side, color) in what_if.sides.iter().zip([AnsiColor::Red, AnsiColor::Green]) {
        let messages = &side.messages[first..side.messages.len() - last];
        let style = color.on_default();
        let how_many = counted(messages.len() as u64, "message");
        let (profile, tokens) = (plain(&side.profile), tokens(messages));
        writeln!(out, "{style}in between under {profile}: {how_many}, {tokens} tokens{style:#}")?;
        let mut rows: Vec<_> =
            (first + 1..).zip(messages).map(|(number, it)| row(number, it)).collect();
        if rows.len() > 2 * SHOWN {
            let left_out = rows.len() - 2 * SHOWN;
            let between =
                ["…".to_owned(), String::new(), String::new(), format!("{left_out} more")];
            rows.splice(SHOWN..SHOWN + left_out, [between.to_vec()]);
        }
        TextTable::new(&MESSAGES).within(output_width()).indented(2).print(out, &rows)?;
    }
    Ok(())
}

fn row(number: usize, message: &PromptMessage) -> Vec<String> {
    let text = clipped(&plain(&on_one_line(&message.text)), 400);
    vec![number.to_string(), message.role.name().to_owned(), grouped(message.tokens), text]
}

/// Whether somebody had an opinion, or failed.
fn is_told(decision: &HookDecision) -> bool {
    let says = |answer: &Value| answer.as_array().is_none_or(|all| !all.is_empty());
    decision.answer.as_ref().is_some_and(says) || !decision.errors.is_empty()
}

fn is_progress(event: &Event) -> bool {
    matches!(event.what, EventKind::CheckpointProgress { .. })
}

fn compresses(event: &Event) -> bool {
    matches!(event.what, EventKind::Compressed { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: &[&str]) {
        let lines = |names: &str| -> Vec<Told> {
            let names = names.split_whitespace().enumerate();
            let told = |(at, name): (usize, &str)| Told {
                name: name.to_owned(),
                what: format!("{name}{at}"),
            };
            names.map(told).collect()
        };
        let rows = beside(lines(one), lines(other));
        let rows: Vec<_> = rows.iter().map(|row| row.join("|")).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_has_one_name_stands_beside_each_other() {
        check("", "", &[]);
        check("a b", "a b", &["a|a0|a0", "b|b1|b1"]);
        check("a", "a b", &["a|a0|a0", "b||b1"]);
        check("a b c", "a c", &["a|a0|a0", "b|b1|", "c|c2|c1"]);
        check("a c", "a b c d", &["a|a0|a0", "b||b1", "c|c1|c2", "d||d3"]);
        check("a", "b", &["a|a0|", "b||b0"]);
    }
}
