//! `epitome scan`: what the profile would have made of recorded sessions.
//!
//! Invariant: nothing is written and nothing leaves the machine; every file that was looked at is
//! either in the figures or said to be left out.

mod table;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use epitome_lab::{
    ClientFolders, PastScan, RecordingCandidates, ReplaySetup, ScanOptions, ScanProgress,
    ScanTotals, SkippedFile, WorstSessions, given, own, scan,
};
use serde::Serialize;

use crate::clock::{now, since};
use crate::fault::{self, CliError};
use crate::figure::{middle, short};
use crate::files;
use crate::flags::{self, StyleFlags, WindowFlags};
use crate::screen::{Screen, To};
use crate::settings::{self, ProfileFlags};
use crate::text::{counted, grouped, plain};

/// Replays recorded sessions offline and adds up what would have been saved, lost and paid
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome scan examples/transcripts")]
pub(crate) struct Args {
    /// Recordings, or folders of them [default: this user's sessions of Claude Code, Codex and pi]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    style: StyleFlags,
    /// Counts tokens and pays as for this model [default: the one that each recording names]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Prices of your own, before the shipped ones: TOML with `[[model]]` and name, input, read,
    /// write
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Prints one JSON object for each session and one for the whole on standard output
    #[arg(long)]
    json: bool,
    /// The largest file that is read, in bytes: 1000000, 512M or 1G
    #[arg(long, value_name = "N", default_value = "256M", value_parser = flags::size)]
    max_input: u64,
    #[command(flatten)]
    profile: ProfileFlags,
    /// Says nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Says more: every session's file in full, and the files that were left out
    #[arg(short, long)]
    verbose: bool,
}

/// The last line of `scan --json`.
#[derive(Serialize)]
struct ScanSummary<'a> {
    summary: bool,
    profile: &'a str,
    config: &'a str,
    totals: &'a ScanTotals,
    worst: &'a WorstSessions,
    skipped: &'a [SkippedFile],
    torn: &'a [SkippedFile],
    failed: &'a [SkippedFile],
    elapsed_ms: f64,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let setup = args.setup()?;
    let start = now();
    let candidates = args.candidates()?;
    if candidates.files.is_empty() && candidates.skipped.is_empty() {
        args.nothing();
    }
    let progress = ScanProgressBar::new(args.quiet, start);
    let options = ScanOptions { max_input: args.max_input, ..ScanOptions::default() };
    let found = scan(candidates, &setup, options, |done| progress.show(done));
    progress.end();
    let elapsed_ms = since(start);
    if args.json {
        json(&found, elapsed_ms)?;
    }
    if !args.quiet && !found.sessions.is_empty() {
        let mut screen = Screen::new(if args.json { To::Err } else { To::Out }, false);
        let columns = screen.columns().clamp(table::LEAST, table::MOST);
        let said = screen.say(&table::table(&found, elapsed_ms, columns, args.verbose));
        if !args.json {
            files::is_read(said)?;
        }
    }
    args.left_out(&found);
    match found.failed.first() {
        None => Ok(()),
        Some(SkippedFile { file, reason }) => {
            let all = counted(found.failed.len() as u64, "recording");
            Err(CliError::internal(format!("{all} failed, the first {}: {reason}", file.display())))
        }
    }
}

fn json(found: &PastScan, elapsed_ms: f64) -> Result<(), CliError> {
    let summary = ScanSummary {
        summary: true,
        profile: &found.profile,
        config: &found.config,
        totals: &found.totals,
        worst: &found.worst,
        skipped: &found.skipped,
        torn: &found.torn,
        failed: &found.failed,
        elapsed_ms,
    };
    let mut lines = Vec::with_capacity(found.sessions.len() + 1);
    for session in &found.sessions {
        lines.push(serde_json::to_string(session).map_err(CliError::internal)?);
    }
    lines.push(serde_json::to_string(&summary).map_err(CliError::internal)? + "\n");
    files::bytes_to_stdout(lines.join("\n").as_bytes())
}

impl Args {
    fn setup(&self) -> Result<ReplaySetup, CliError> {
        let config = self.profile.load(|sources| {
            let sources = settings::text(sources, "--model", "model", self.model.as_deref());
            let sources = settings::path(sources, "--prices", "prices", self.prices.as_deref());
            self.style.set(self.window.set(sources))
        })?;
        let profile = settings::permitted(config.profile_in_use()?)?;
        let prices = settings::prices(&config)?;
        let profile = profile.with_prices(prices.clone());
        if !self.quiet {
            settings::tell_passed_over(&profile)?;
        }
        Ok(ReplaySetup { profile, prices, ..ReplaySetup::default() })
    }

    /// The files to look at.
    fn candidates(&self) -> Result<RecordingCandidates, CliError> {
        if let Some(path) = self.paths.iter().find(|path| !path.exists()) {
            return Err(CliError::unreadable(format!(
                "{}: no such file or folder",
                path.display()
            )));
        }
        Ok(match (&*self.paths, homes()) {
            ([], Some(homes)) => own(&homes),
            ([], None) => RecordingCandidates::default(),
            (paths, _) => given(paths),
        })
    }

    /// Says that there is nothing, and where it would be.
    fn nothing(&self) {
        if self.quiet {
            return;
        }
        let looked = match (&*self.paths, homes()) {
            ([], Some(ClientFolders { claude_code, codex, pi })) => vec![claude_code, codex, pi],
            (paths, _) => paths.to_vec(),
        };
        let looked: Vec<_> = looked.iter().map(|path| path.display().to_string()).collect();
        let looked = match looked.is_empty() {
            true => "there is no home folder".to_owned(),
            false => format!("looked in {}", looked.join(", ")),
        };
        fault::note(&format!(
            "no recordings found; {looked}; name files or folders: `epitome scan FOLDER`"
        ));
    }

    /// Says which files are not in the figures.
    fn left_out(&self, found: &PastScan) {
        if self.quiet {
            return;
        }
        for SkippedFile { file, reason } in &found.torn {
            fault::warn(&format!("{}: {reason}", file.display()));
        }
        if found.skipped.is_empty() {
            return;
        }
        if self.verbose {
            for SkippedFile { file, reason } in &found.skipped {
                fault::note(&format!("left out {}: {reason}", file.display()));
            }
        } else {
            let all = counted(found.skipped.len() as u64, "file");
            fault::note(&format!(
                "{all} left out, which hold no recording that can be read; `-v` says why"
            ));
        }
    }
}

fn homes() -> Option<ClientFolders> {
    ClientFolders::of(|name| std::env::var_os(name))
}

/// How far a scan is, on a terminal.
struct ScanProgressBar {
    start: Instant,
    state: Mutex<(Screen, u64)>,
}

impl ScanProgressBar {
    fn new(quiet: bool, start: Instant) -> Self {
        Self { start, state: Mutex::new((Screen::new(To::Err, !quiet), 0)) }
    }

    /// Shows that a file is done. Nobody is left to tell where that fails.
    fn show(&self, ScanProgress { done, of, file, tokens }: ScanProgress<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (screen, sum) = &mut *state;
        *sum += tokens;
        if screen.is_due() || done == of {
            let width = screen.columns().saturating_sub(1);
            let rate = (*sum as f64 / since(self.start).max(1.0) * 1000.0) as u64;
            let block = block(done, of, [*sum, rate], file, width);
            drop(screen.draw(&block));
        }
    }

    fn end(&self) {
        drop(self.state.lock().unwrap_or_else(PoisonError::into_inner).0.clear());
    }
}

/// The lines of the bar: files, tokens and tokens a second, and the file that was done last.
fn block(
    done: usize,
    of: usize,
    [tokens, rate]: [u64; 2],
    file: &Path,
    width: usize,
) -> Vec<String> {
    const CELLS: usize = 24;
    let full = done * CELLS / of.max(1);
    let bar = "█".repeat(full) + &"░".repeat(CELLS - full);
    let files = format!("{} of {}", grouped(done as u64), counted(of as u64, "file"));
    let line = format!("{bar} {files}, {} tokens, {}/s", short(tokens), short(rate));
    vec![middle(&line, width), middle(&plain(&file.display().to_string()), width)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_said_in_two_lines_that_fit() {
        let check = |done, width, first: &str| {
            let lines = block(done, 4, [41_230, 1_000_000], Path::new("a/b.jsonl"), width);
            assert_eq!(lines, [first, "a/b.jsonl"], "{done}");
        };
        check(1, 79, "██████░░░░░░░░░░░░░░░░░░ 1 of 4 files, 41.2k tokens, 1.00M/s");
        check(4, 11, "█████…00M/s");
    }
}
