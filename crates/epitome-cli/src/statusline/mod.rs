//! `epitome statusline`: a session in one line, for Claude Code's `statusLine`.
//!
//! Invariant: it ends soon and with 0, whatever it is given and however the store is: a status line
//! that fails is blank, and one that hangs is stale. The line of a command behind `--` stands before
//! ours, as that command wrote it, with the time that it takes itself.

mod remembered;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use epitome::types::SessionInfo;
use epitome::{
    SavedRange, SavingsLedger, SavingsSums, SessionAdmin, SessionArchive, StoreError, session_hash,
    tenant_of,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::clock;
use crate::fault::CliError;
use crate::figure::about;
use crate::journal::store_path;
use crate::settings::{self, ProfileFlags};
use crate::{flags, store};

/// So much time our own line may take. A process takes some more to begin and to end.
const OURS: Duration = Duration::from_millis(30);

/// So much time the command behind `--` may take.
const THEIRS: Duration = Duration::from_secs(5);

/// The largest input that is read, in bytes.
const MOST: u64 = 1 << 20;

/// The most of the user's command that is read, in bytes.
const MOST_OUTPUT: u64 = 64 * 1024;

/// So many sessions are looked through, the one used last first.
const NEWEST: usize = 16;

/// Between the parts of the line.
const BETWEEN: &str = " · ";

/// From these shares of the window on the prompt is shown in a color, in percent.
const FILLING: u64 = 75;
const FULL: u64 = 90;

/// Shows a session in one line: a command for the setting `statusLine` of Claude Code
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome statusline -- ~/.claude/my-statusline.sh")]
pub(crate) struct Args {
    /// A command of your own behind `--`: it gets the same input, and its line stands first
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = flags::store)]
    store: Option<PathBuf>,
    /// The scopes in the store that the session may be in, as `run` knows them
    #[arg(long = "scope", value_name = "SCOPE", hide = true)]
    scopes: Vec<String>,
    /// Leaves the line for the next call, however long that takes
    #[arg(long, hide = true)]
    refresh: bool,
    #[command(flatten)]
    profile: ProfileFlags,
}

/// Input of Claude Code; each key may be absent, or null, or what another version makes of it: then the
/// line has all that the others say.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StatusInput {
    session_id: String,
    #[serde(deserialize_with = "known")]
    context_window: Option<InputWindow>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputWindow {
    #[serde(deserialize_with = "known")]
    context_window_size: Option<u64>,
    #[serde(deserialize_with = "known")]
    current_usage: Option<InputUsage>,
}

/// The provider's count of the newest prompt, tools included.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputUsage {
    #[serde(deserialize_with = "known")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "known")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "known")]
    cache_read_input_tokens: Option<u64>,
}

/// A value where it is what is expected.
fn known<'de, D: Deserializer<'de>, T: DeserializeOwned>(input: D) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    Ok(serde_json::from_value(value).ok())
}

/// The parts of the line.
#[derive(Debug, Default)]
struct LineParts {
    /// Tokens of the newest prompt, by the provider's count where that is known.
    prompt: u64,
    /// Tokens of its messages as they came and as they were sent, in our count.
    came: u64,
    sent: u64,
    /// The window of the model; 0 where it is not known.
    window: u64,
    money: SavingsSums,
    /// The time of the compression in force, ISO 8601.
    compressed: Option<String>,
}

/// News of the thread that makes our line.
enum LineNews {
    Input(Vec<u8>),
    Line(String),
}

/// Runs the verb.
pub(crate) fn run(args: Args) -> Result<(), CliError> {
    let begun = clock::now();
    let args = Arc::new(args);
    let command = args.command.clone();
    let (tell, news) = mpsc::channel();
    let worker = {
        let args = Arc::clone(&args);
        thread::spawn(move || work(&args, &tell))
    };
    if args.refresh {
        // A fault of it is no line, as everywhere here.
        drop(worker.join());
        return Ok(());
    }
    let within = if command.is_empty() { OURS } else { THEIRS };
    let input = match news.recv_timeout(within) {
        Ok(LineNews::Input(input)) => input,
        _ => Vec::new(),
    };
    let chained = |(program, rest)| ChainedCommand::spawn(program, rest, input.clone());
    let theirs = command.split_first().and_then(chained);
    let line = ours(&news, begun).unwrap_or_else(|| late(&args, &input));
    let text = match theirs.as_ref().and_then(ChainedCommand::output) {
        Some(theirs) => joined(&theirs, &line),
        _ if line.is_empty() => String::new(),
        _ => format!("{line}\n"),
    };
    // Nobody is left to tell when that fails.
    drop(io::stdout().write_all(text.as_bytes()));
    Ok(())
}

/// Our line; `None` where it is not there in time.
fn ours(news: &Receiver<LineNews>, begun: Instant) -> Option<String> {
    match news.recv_timeout(OURS.saturating_sub(begun.elapsed())) {
        Ok(LineNews::Line(line)) => Some(line),
        Err(RecvTimeoutError::Timeout) => None,
        _ => Some(String::new()),
    }
}

/// The line of a store that takes its time: the one that was left for it before.
fn late(args: &Args, input: &[u8]) -> String {
    let Ok(told) = serde_json::from_slice(input) else { return String::new() };
    remembered::refresh(args, input);
    remembered::line(args, &told)
}

/// Reads the input and makes the line.
fn work(args: &Args, tell: &Sender<LineNews>) {
    let mut input = Vec::new();
    let read = io::stdin().take(MOST).read_to_end(&mut input);
    // Nobody listens any more where the time is over.
    drop(tell.send(LineNews::Input(input.clone())));
    let input: StatusInput = match read.map(|_| serde_json::from_slice(&input)) {
        Ok(Ok(input)) => input,
        _ => return,
    };
    let parts = parts(args, &input).unwrap_or_default();
    let line = parts.map(|parts| parts.line(is_colored())).unwrap_or_default();
    if args.refresh {
        remembered::keep(args, &input, &line);
    }
    drop(tell.send(LineNews::Line(line)));
}

/// The parts of a session's line; `None` where the store does not know the session.
fn parts(args: &Args, input: &StatusInput) -> Result<Option<LineParts>, CliError> {
    let (session, named) = (input.session_id.as_str(), args.store.as_deref());
    if session.is_empty() {
        return Ok(None);
    }
    let of_store = |error| CliError::of_store(&error);
    let (store, scopes) = match (named, &args.scopes[..]) {
        (Some(path), [_, ..]) => (existing(path)?, args.scopes.clone()),
        (_, scopes) => {
            let set = |sources| settings::path(sources, "--store", "store", named);
            let config = args.profile.load(set)?;
            let store = existing(&store_path(named, &config)?)?;
            let Some(opened) = store.clone() else { return Ok(None) };
            let scopes = match scopes {
                [_, ..] => scopes.to_vec(),
                [] => {
                    let owner = args.profile.owner(&config);
                    let keeper = SessionAdmin::of(opened, config.profile_in_use()?, owner);
                    vec![keeper.of_session(Some(session)).map_err(of_store)?.scope().to_owned()]
                }
            };
            (store, scopes)
        }
    };
    let Some(store) = store else { return Ok(None) };
    for scope in &scopes {
        let parts = parts_in(&*store, scope, input).map_err(of_store)?;
        if parts.is_some() {
            return Ok(parts);
        }
    }
    Ok(None)
}

/// The parts of the line of a session that is recorded in a scope; `None` where it is not.
fn parts_in(
    store: &dyn SessionArchive,
    scope: &str,
    input: &StatusInput,
) -> Result<Option<LineParts>, StoreError> {
    let session = input.session_id.as_str();
    // The client has several under one id: its agents', and requests beside its turns.
    let sessions = store.sessions(scope, 0, NEWEST, false)?;
    let is_meant =
        |info: &SessionInfo| info.name == session || info.label.as_deref() == Some(session);
    let mut sessions: Vec<_> = sessions.into_iter().filter(is_meant).collect();
    if sessions.is_empty() {
        // Others were used since; it has the name that its client gives it.
        match store.session(scope, session) {
            Err(StoreError::NoSession { .. }) => {}
            found => sessions.push(found?),
        }
    }
    let largest = sessions.iter().rev().max_by_key(|info| info.figures.tokens[0]);
    let Some(info) = largest else { return Ok(None) };
    let mut money = SavingsSums::default();
    for SessionInfo { name, .. } in &sessions {
        let hash = session_hash(scope, name);
        let ledger = SavingsLedger::load_session(store, tenant_of(scope), &hash);
        money += ledger?.report("", None).all.sums;
    }
    let compactions = store.compactions_of_session(scope, &info.name)?;
    let in_force = compactions.into_iter().rev().find(|one| !one.undone);
    let [came, sent] = info.figures.tokens;
    let told = input.context_window.as_ref();
    let usage = told.and_then(|window| window.current_usage.as_ref()).map(InputUsage::prompt);
    let window = told.and_then(|window| window.context_window_size);
    Ok(Some(LineParts {
        prompt: usage.filter(|tokens| *tokens > 0).unwrap_or(sent),
        came,
        sent,
        window: window.unwrap_or(info.figures.limit),
        money,
        compressed: in_force.map(|one| one.epoch.at),
    }))
}

impl InputUsage {
    fn prompt(&self) -> u64 {
        let parts =
            [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        parts.into_iter().flatten().fold(0, u64::saturating_add)
    }
}

/// A store, where there is one.
fn existing(path: &Path) -> Result<Option<Arc<dyn SessionArchive>>, CliError> {
    if !store::is_there(path) {
        return Ok(None);
    }
    store::open_existing(path).map(Some).map_err(|error| CliError::of_store(&error))
}

/// Claude Code reads a pipe and shows colors, so that no terminal says whether they are wanted.
fn is_colored() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl LineParts {
    fn line(&self, colored: bool) -> String {
        let mut parts = Vec::new();
        if self.prompt > 0 {
            parts.push(self.fill(colored));
        }
        if self.sent < self.came {
            let kept = (self.sent as f64 * 100.0 / self.came as f64).round();
            parts.push(format!("kept {kept:.0} %"));
        }
        parts.extend(money(&self.money));
        let clock = self.compressed.as_deref().and_then(|at| at.get(11..16));
        parts.extend(clock.map(|clock| format!("↶ {clock} UTC")));
        parts.join(BETWEEN)
    }

    fn fill(&self, colored: bool) -> String {
        let prompt = thousands(self.prompt);
        if self.window == 0 {
            return prompt;
        }
        let text = format!("{prompt} of {}", thousands(self.window));
        let color = match self.prompt.saturating_mul(100) / self.window {
            share if share >= FULL => AnsiColor::Red,
            share if share >= FILLING => AnsiColor::Yellow,
            _ => return text,
        };
        let style = Style::new().fg_color(Some(color.into()));
        if colored { format!("{style}{text}{style:#}") } else { text }
    }
}

/// A saving in the middle of its estimates, and how far they are from it: `saved $0.31 ±0.08`.
fn money(sums: &SavingsSums) -> Option<String> {
    let SavedRange { least, most } = sums.saved;
    if sums.priced() == 0 || (least + most).abs() < 0.01 {
        return None;
    }
    Some(match least + most < 0.0 {
        true => format!("lost {}", about(-most, -least)),
        false => format!("saved {}", about(least, most)),
    })
}

/// Tokens as they are said: `812`, `62k`, `1.2M`.
fn thousands(tokens: u64) -> String {
    match tokens {
        ..1_000 => tokens.to_string(),
        1_000..999_500 => format!("{:.0}k", tokens as f64 / 1e3),
        _ => format!("{:.1}M", tokens as f64 / 1e6).replace(".0M", "M"),
    }
}

/// The user's command while it runs. It ends with this, and so does all that it started.
struct ChainedCommand {
    child: Child,
    told: Receiver<Vec<u8>>,
}

impl ChainedCommand {
    /// Runs a command with an input; none where it cannot be run.
    fn spawn(program: &OsString, rest: &[OsString], input: Vec<u8>) -> Option<Self> {
        let (tell, told) = mpsc::channel();
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().ok()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        // It need not read it.
        thread::spawn(move || stdin.map(|mut stdin| drop(stdin.write_all(&input))));
        thread::spawn(move || {
            let mut whole = Vec::new();
            // Whoever says more than a line can show is not heard to the end.
            let read = stdout.map(|said| said.take(MOST_OUTPUT).read_to_end(&mut whole));
            if matches!(read, Some(Ok(_))) {
                drop(tell.send(whole));
            }
        });
        Some(Self { child, told })
    }

    /// What it wrote, where it ends in time.
    fn output(&self) -> Option<Vec<u8>> {
        self.told.recv_timeout(THEIRS).ok()
    }
}

impl Drop for ChainedCommand {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) =
            i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
        drop((self.child.kill(), self.child.wait()));
    }
}

/// The output of the user's command, with our line at the end of its first one.
fn joined(theirs: &[u8], line: &str) -> String {
    let theirs = String::from_utf8_lossy(theirs);
    let (first, rest) = theirs.split_once('\n').unwrap_or((&theirs, ""));
    let first = match (first.is_empty(), line.is_empty()) {
        (false, false) => format!("{first}{BETWEEN}{line}"),
        (true, _) => line.to_owned(),
        (_, true) => first.to_owned(),
    };
    match first.is_empty() && rest.is_empty() {
        true => String::new(),
        false => format!("{first}\n{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(sent: u64, came: u64, window: u64) -> LineParts {
        LineParts { prompt: sent, sent, came, window, ..LineParts::default() }
    }

    #[track_caller]
    fn check(parts: &LineParts, line: &str) {
        assert_eq!(parts.line(false), line);
    }

    #[test]
    fn only_what_is_known_is_shown() {
        check(&LineParts::default(), "");
        check(&parts(62_000, 62_000, 0), "62k");
        check(&parts(62_000, 151_000, 200_000), "62k of 200k · kept 41 %");
        check(&parts(812, 812, 1_000_000), "812 of 1M");
        let saved = SavedRange { least: 0.23, most: 0.39 };
        let money = SavingsSums { answers: 2, saved, ..SavingsSums::default() };
        let compressed = Some("2026-11-28T12:04:05.678Z".to_owned());
        let all = LineParts { money, compressed, ..parts(62_000, 151_000, 200_000) };
        check(&all, "62k of 200k · kept 41 % · saved $0.31 ±0.08 · ↶ 12:04 UTC");
        let odd = LineParts { compressed: Some("today".to_owned()), ..LineParts::default() };
        check(&odd, "");
    }

    #[test]
    fn money_is_said_where_there_is_some() {
        let check = |least, most, unpriced, expected: Option<&str>| {
            let saved = SavedRange { least, most };
            let sums = SavingsSums { answers: 1, unpriced, saved, ..SavingsSums::default() };
            assert_eq!(money(&sums).as_deref(), expected, "{least} {most}");
        };
        check(1.0, 1.0, 0, Some("saved $1.00"));
        check(-0.03, -0.01, 0, Some("lost $0.02 ±0.01"));
        check(0.001, 0.002, 0, None);
        check(1.0, 1.0, 1, None);
    }

    #[test]
    fn a_full_window_is_colored_where_colors_are_wanted() {
        assert_eq!(parts(190, 190, 200).line(true), "\x1b[31m190 of 200\x1b[0m");
        assert_eq!(parts(160, 160, 200).line(true), "\x1b[33m160 of 200\x1b[0m");
        assert_eq!(parts(190, 190, 200).line(false), "190 of 200");
    }

    #[test]
    fn the_users_own_line_stands_first() {
        let check = |theirs: &str, line: &str, expected: &str| {
            assert_eq!(joined(theirs.as_bytes(), line), expected, "{theirs:?} {line:?}");
        };
        check("theirs\n", "ours", "theirs · ours\n");
        check("theirs\nmore\n", "ours", "theirs · ours\nmore\n");
        check("theirs", "", "theirs\n");
        check("", "ours", "ours\n");
        check("\nmore", "", "\nmore");
        check("", "", "");
    }
}
