//! `epitome replay`: plays a recorded conversation as its client would have, turn by turn.
//!
//! Invariant: what is said of a turn is said once it is recorded. An interruption ends the replay
//! after the turn it is at, with the summary of what was played.

mod budget;
mod event;
mod summary;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use epitome::types::FactReport;
use epitome::{CompressionTarget, Config, MemoryStore, Profile, SessionArchive};
use epitome_lab::{Recording, Replay, ReplayError, ReplaySetup, ReplaySummary, ReplayTurn};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::cassette::TapeFlags;
use crate::clock::{now, since};
use crate::events::EventPrinter;
use crate::fault::{CliError, warn};
use crate::files::{self, PendingFile};
use crate::flags::{self, Common, ReadingFlags, SummarizerFlags, SummaryFlags, WindowFlags};
use crate::journal::owner_of;
use crate::lost::{self, Destination};
use crate::outputs::{FileFate, apart};
use crate::screen::{Screen, To};
use crate::settings;
use crate::text::plain;
use crate::{recording, store, stores};

/// Plays a recorded conversation turn by turn, each request with the whole history, as a client
/// would
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome replay --context-size 8192 --store replay.db session.jsonl"
)]
pub(crate) struct Args {
    /// The conversation: a client's recording, or a request to a provider; `-` reads standard
    /// input
    input: PathBuf,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    budget: ReplayBudgetFlags,
    #[command(flatten)]
    summary: SummaryFlags,
    #[command(flatten)]
    summarizers: SummarizerFlags,
    #[command(flatten)]
    tape: TapeFlags,
    /// Counts tokens and pays as for this model [default: the one that the recording names]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    reading: ReadingFlags,
    /// Begins with this turn, as a client does that is started again
    #[arg(long, value_name = "TURN", default_value = "1", value_parser = flags::number)]
    from: u64,
    /// Waits so many milliseconds between turns
    #[arg(long, value_name = "MS", default_value = "0", value_parser = flags::number)]
    pace: u64,
    #[command(flatten)]
    out: ReplayOutputFlags,
    #[command(flatten)]
    common: Common,
}

/// Where the prompts, the figures and the conversation go.
#[derive(clap::Args)]
struct ReplayOutputFlags {
    /// Writes every prompt to a file of its own: DIR/0001.json and so on
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Prints one JSON object for each turn and one for the summary on standard output
    #[arg(long)]
    json: bool,
    /// Writes the summary to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Records the conversation in this file [default: in memory]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
}

/// A bound on every prompt in place of the window, at most one of these.
#[derive(clap::Args)]
#[group(multiple = false)]
struct ReplayBudgetFlags {
    /// Holds every prompt to N tokens: text, call arguments and 4 a message
    #[arg(long, value_name = "N", value_parser = flags::number, allow_negative_numbers = true)]
    max_tokens: Option<u64>,
    /// Holds every prompt to this part of its tokens that are not pinned: 4 is a quarter
    #[arg(long, value_name = "R", value_parser = flags::ratio, allow_negative_numbers = true)]
    ratio: Option<f64>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    args.apart()?;
    let config = args.common.profile.load(|sources| {
        let sources = settings::text(sources, "--model", "model", args.model.as_deref());
        args.summarizers.set(args.summary.set(args.window.set(sources)))
    })?;
    let (profile, tape) = args.tape.connected(config.profile_in_use()?)?;
    settings::tell_of_mode(&profile, profile.mode());
    let mut setup = args.setup(&config, profile)?;
    let report = args.out.report.as_deref().map(PendingFile::prepare).transpose()?;
    let name = files::name(Some(&args.input));
    let input = files::read(Some(&args.input), args.reading.max_input)?;
    let recording = recording::read(&name, &input, [args.reading.format.0, args.reading.to])?;
    drop(input);
    if let Some(folder) = &args.out.dump {
        files::make_folder(folder)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::internal)?;
    let summary = match &args.out.store {
        Some(path) => {
            let store = store::open(path, config.durability());
            let store = store.map_err(|error| CliError::of_store(&error))?;
            stores::remember(&config, path);
            let owner = args.common.profile.owner(&config);
            let session = args.common.session.as_deref();
            setup.owner = Some(owner_of(session, owner, store.clone(), &setup.profile)?);
            runtime.block_on(args.play(&recording, &setup, store))
        }
        None => runtime.block_on(args.play(&recording, &setup, Arc::new(MemoryStore::new()))),
    };
    if let Some(tape) = tape {
        tape.end(args.common.quiet)?;
    }
    let summary = summary?;
    if let Some(file) = report {
        write_report(file, &summary)?;
    }
    verdict(&summary, &name)
}

fn write_report(mut file: PendingFile, summary: &ReplaySummary) -> Result<(), CliError> {
    let json = serde_json::to_string_pretty(summary).map_err(CliError::internal)? + "\n";
    file.write(json.as_bytes())?;
    file.finish()
}

/// What a script is told of the whole: whether anything could be sent, and all of it was in
/// bounds.
fn verdict(ReplaySummary { figures, .. }: &ReplaySummary, name: &str) -> Result<(), CliError> {
    match figures.requests.refused.first() {
        Some(refusal) if figures.requests.refused.len() == figures.requests.turns => {
            let (turn, reason) = (refusal.turn, &refusal.reason);
            Err(CliError::cannot_fit(format!("{name}: turn {turn}: {reason}")))
        }
        _ if figures.requests.oversized > 0 => {
            let (oversized, turns) = (figures.requests.oversized, figures.requests.turns);
            Err(CliError::found(format!(
                "{name}: {oversized} of {turns} prompts exceed the limit; state what the provider \
                 takes with `--prompt-limit`, so that it is enforced"
            )))
        }
        _ => Ok(()),
    }
}

impl Args {
    /// Sees that no file is named twice that would be written.
    fn apart(&self) -> Result<(), CliError> {
        let [record, cassette] = self.tape.files();
        apart(&[
            ("the input", Some(&self.input), FileFate::Input),
            ("`--store`", self.out.store.as_deref(), FileFate::Store),
            ("`--dump`", self.out.dump.as_deref(), FileFate::Prompts),
            ("`--report`", self.out.report.as_deref(), FileFate::Written),
            self.common.profile.file(),
            record,
            cassette,
        ])
    }

    fn setup(&self, config: &Config, profile: Profile) -> Result<ReplaySetup, CliError> {
        let tokens = self.budget.max_tokens.map(CompressionTarget::Tokens);
        let target = tokens.or(self.budget.ratio.map(CompressionTarget::Ratio)).unwrap_or_default();
        let prices = settings::prices(config)?;
        // Only who waits between turns has the time to change anything.
        let watched = self.pace > 0;
        let profile = profile.with_prices(prices.clone());
        Ok(ReplaySetup { profile, target, prices, watched, ..ReplaySetup::default() })
    }

    /// The first turn that is played.
    fn first(&self) -> usize {
        usize::try_from(self.from).unwrap_or(usize::MAX).max(1)
    }

    /// Plays the recording to its end or to an interruption.
    async fn play(
        &self,
        recording: &Recording,
        setup: &ReplaySetup,
        store: Arc<dyn SessionArchive>,
    ) -> Result<ReplaySummary, CliError> {
        let name = files::name(Some(&self.input));
        let fault = |error| CliError::of_compression(error, &name);
        let mut interruption = signal(SignalKind::interrupt()).map_err(CliError::internal)?;
        let session = self.common.session.as_deref();
        let mut replay = Replay::new(recording, setup, store, session).map_err(fault)?;
        let turns = replay.turns();
        if turns == 0 {
            let line = format!("{name}: holds no request: nobody asks for a reply in it");
            return Err(CliError::unreadable(line));
        }
        let first = self.first();
        if first > turns {
            return Err(CliError::usage(format!(
                "{name}: has no turn {first}, the last is {turns}"
            )));
        }
        replay.start_at(first);
        let shown = plain(&name);
        let mut view = ReplayView::new(self, &shown, turns);
        let mut elapsed_ms = 0.0;
        loop {
            let start = now();
            let mut turn = match replay.step().await {
                Ok(Some(turn)) => turn,
                Ok(None) => break,
                Err(error) => {
                    view.end()?;
                    return Err(of_replay(error, &name));
                }
            };
            elapsed_ms += since(start);
            if self.out.json && turn.has_new_epoch() {
                turn.must_keep = Some(self.facts(&replay).map_err(fault)?);
            }
            if let (Some(folder), Some(_)) = (&self.out.dump, &turn.prompt) {
                let file = folder.join(format!("{:04}.json", turn.turn));
                files::write(&file, replay.prompt())?;
            }
            if !view.turn(&turn, &replay)?
                || turn.turn < turns && self.is_stopped(&mut interruption).await
            {
                break;
            }
        }
        view.end()?;
        let start = now();
        let figures = replay.finish().map_err(fault)?;
        let mut summary = figures.summary(elapsed_ms + since(start));
        let facts = &mut summary.figures.must_keep;
        let store = Destination::in_store(self.out.store.as_deref());
        lost::name_commands(facts, store);
        summary.warnings = lost::warnings(facts, store);
        view.summary(&summary, setup)?;
        Ok(summary)
    }

    /// What the newest prompt lost, with the commands that bring it back.
    fn facts(&self, replay: &Replay<'_>) -> Result<FactReport, epitome::Error> {
        let mut facts = replay.must_keep()?;
        lost::name_commands(&mut facts, Destination::in_store(self.out.store.as_deref()));
        Ok(facts)
    }

    /// Waits for the next turn; whether an interruption came instead.
    async fn is_stopped(&self, interruption: &mut tokio::signal::unix::Signal) -> bool {
        let pause = pin!(async {
            match self.pace {
                0 => tokio::task::yield_now().await,
                pace => tokio::time::sleep(Duration::from_millis(pace)).await,
            }
        });
        tokio::select! {
            biased;
            _ = interruption.recv() => true,
            () = pause => false,
        }
    }
}

pub(crate) fn of_replay(error: ReplayError, name: &str) -> CliError {
    match error {
        ReplayError::Turn { turn, source } => {
            CliError::of_compression(source, &format!("{name}: turn {turn}"))
        }
        ReplayError::NoTurn { .. } => CliError::usage(format!("{name}: {error}")),
        ReplayError::Ends(source) => CliError::of_compression(source, name),
        _ => CliError::internal(format!("{name}: {error}")),
    }
}

/// What is shown of a replay.
struct ReplayView<'a> {
    args: &'a Args,
    name: &'a str,
    turns: usize,
    screen: Screen,
    told: EventPrinter,
}

impl<'a> ReplayView<'a> {
    fn new(args: &'a Args, name: &'a str, turns: usize) -> Self {
        let to = if args.out.json { To::Err } else { To::Out };
        // A block would be torn by the JSON lines that go to the same terminal.
        let torn = args.out.json && io::stdout().is_terminal();
        let live = !args.common.quiet && !torn;
        let told = EventPrinter::new(args.common.verbose);
        Self { args, name, turns, screen: Screen::new(to, live), told }
    }

    /// Shows a turn; whether anybody is still reading.
    fn turn(&mut self, turn: &ReplayTurn, replay: &Replay<'_>) -> Result<bool, CliError> {
        if self.args.out.json && !files::is_read(print(turn)?)? {
            return Ok(false);
        }
        if self.args.common.quiet {
            return Ok(true);
        }
        let columns = self.screen.columns();
        let mut lines = event::lines(&mut self.told, turn, columns);
        if self.args.common.verbose && lines.is_empty() {
            lines.push(event::plain(turn, columns));
        }
        if !lines.is_empty() && !self.shown(|screen| screen.say(&lines.join("\n")))? {
            return Ok(false);
        }
        let is_due = self.screen.is_due() || turn.turn == self.turns;
        if !(self.screen.is_live() && is_due) {
            return Ok(true);
        }
        let state = budget::ReplayState {
            name: self.name,
            turn,
            turns: self.turns,
            compressions: replay.figures().requests.compressions,
        };
        let block = state.block(columns, self.screen.is_colored());
        self.shown(|screen| screen.draw(&block))
    }

    /// Takes the block away.
    fn end(&mut self) -> Result<(), CliError> {
        self.shown(Screen::clear).map(drop)
    }

    fn summary(&mut self, summary: &ReplaySummary, setup: &ReplaySetup) -> Result<(), CliError> {
        if self.args.out.json {
            files::is_read(print(summary)?)?;
        }
        if !self.args.common.quiet {
            let table = summary::table(
                summary,
                self.name,
                setup.profile.name(),
                self.args.first(),
                self.turns,
            );
            self.shown(|screen| screen.say(&table))?;
            summary.warnings.iter().for_each(|line| warn(line));
        }
        Ok(())
    }

    /// Does something to the screen; whether anybody is still reading. That people cannot be told
    /// beside the data is no failure of the replay.
    fn shown(&mut self, act: impl FnOnce(&mut Screen) -> io::Result<()>) -> Result<bool, CliError> {
        let done = act(&mut self.screen);
        if self.args.out.json { Ok(true) } else { files::is_read(done) }
    }
}

/// Writes one line of JSON at once.
fn print(line: &impl Serialize) -> Result<io::Result<()>, CliError> {
    let line = serde_json::to_string(line).map_err(CliError::internal)? + "\n";
    Ok(files::line_to_stdout(&line))
}
