//! `epitome ab`: several profiles over the same conversations, beside no compression and
//! truncation.
//!
//! Invariant: what is printed depends on the inputs and options alone, but for the times; what was
//! finished by an earlier run is taken from its records, and only then.

mod comparison_files;
mod page;
mod table;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{CompressionTarget, Config, MemoryStore, SessionArchive, SqliteStore, StoreError};
use epitome_lab::{
    Comparison, ComparisonResult, RecordingCandidates, ReplaySetup, SkippedFile, Strategy, ab,
    given,
};
use serde::Serialize;

use crate::compress::CompressBudgetFlags;
use crate::fault::{self, CliError};
use crate::files::{self, PendingFile};
use crate::flags::{self, StyleFlag, SummarizerFlags, WindowFlags};
use crate::outputs::{FileFate, apart};
use crate::settings::{self, ConfigFlags};
use crate::store_key;
use crate::text::{counted, grouped};
use comparison_files::{ComparisonFiles, OpenStore};

/// The profile that gives the baselines their numbers.
const BASE: &str = "default";

/// Compares profiles on recorded conversations: what they leave out, and what is asked for later
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome ab --ratio 4 examples/transcripts")]
pub(crate) struct Args {
    /// Recordings, prepared cases (NAME.messages.json beside NAME.probes.json), or folders of them
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// The profiles, with commas between; `none` and `truncate` are always among them
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "default")]
    profiles: Vec<String>,
    #[command(flatten)]
    config: ConfigFlags,
    #[command(flatten)]
    budget: CompressBudgetFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    summarizers: SummarizerFlags,
    #[command(flatten)]
    same: SameForAllFlags,
    /// Cuts a recording at this share of its tokens; what comes after asks for what came before
    #[arg(long, value_name = "SHARE", default_value = "0.6", value_parser = share)]
    cut: f64,
    #[command(flatten)]
    out: ComparisonOutputFlags,
    /// The largest file that is read, in bytes: 1000000, 512M or 1G
    #[arg(long, value_name = "N", default_value = "256M", value_parser = flags::size)]
    max_input: u64,
    /// Says nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Says more: the files that were left out, and why prompts cannot be sent
    #[arg(short, long)]
    verbose: bool,
}

/// What holds for every profile alike.
#[derive(clap::Args)]
struct SameForAllFlags {
    /// Messages at the end to leave alone
    #[arg(long, value_name = "N", value_parser = flags::number, allow_negative_numbers = true)]
    keep_recent: Option<u64>,
    /// How summaries are worded: in the words that were said, or in shortened prose
    #[arg(long, value_enum)]
    style: Option<StyleFlag>,
    /// Counts tokens as this model does
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// Where the prompts and the comparison go.
#[derive(clap::Args)]
struct ComparisonOutputFlags {
    /// Writes what is sent to DIR/PROFILE/NAME.json, with the store beside it, and the records of
    /// what is finished to DIR/records.jsonl
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// Goes on with the records in this file, and adds to them
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Writes the comparison as a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Prints one JSON object for each profile and conversation, and one for each profile
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let inputs = args.inputs.iter().map(|input| ("an input", Some(&**input), FileFate::Input));
    let resume = ("`--resume`", args.out.resume.as_deref(), FileFate::Written);
    let html = ("`--html`", args.out.html.as_deref(), FileFate::Written);
    apart(&inputs.chain([resume, html]).collect::<Vec<_>>())?;
    let config = args.config.load(|sources| args.window.set(args.summarizers.set(sources)))?;
    settings::tell_untrusted(&config);
    let strategies = args.strategies(&config)?;
    if let Some(path) = args.inputs.iter().find(|path| !path.exists()) {
        return Err(CliError::unreadable(format!("{}: no such file or folder", path.display())));
    }
    let comparison = Comparison {
        strategies,
        setup: args.setup(&config)?,
        cut: args.cut,
        threads: None,
        max_input: args.max_input,
    };
    let html = args.out.html.as_deref().map(PendingFile::prepare).transpose()?;
    let candidates = args.candidates();
    let compared = match &args.out.outputs {
        Some(_) => args.compared(candidates, &comparison, fresh)?,
        None => args.compared(candidates, &comparison, |_| Ok(Arc::new(MemoryStore::new())))?,
    };
    if let Some(mut html) = html.filter(|_| !compared.rows.is_empty()) {
        html.write(page::page(&compared, &args.about(&compared)).as_bytes())?;
        html.finish()?;
    }
    if args.out.json {
        json(&compared)?;
    }
    if !args.quiet && !compared.rows.is_empty() {
        table::print(&compared, args.out.json)?;
    }
    args.notes(&compared);
    verdict(&compared)
}

/// An empty store; what an earlier comparison left there is in its way.
fn fresh(path: &Path) -> Result<Arc<dyn SessionArchive>, StoreError> {
    files::remove_store(path).map_err(|cause| StoreError::Broken {
        what: "cannot be written",
        path: path.display().to_string(),
        cause,
    })?;
    Ok(Arc::new(SqliteStore::open(store_key::file(path)?)?))
}

/// Reads `--cut`.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share between 0 and 1, like 0.6".to_owned())
}

fn json(compared: &ComparisonResult) -> Result<(), CliError> {
    let mut out = String::new();
    let mut line = |text: serde_json::Result<String>| -> Result<(), CliError> {
        out.push_str(&text.map_err(CliError::internal)?);
        out.push('\n');
        Ok(())
    };
    compared.rows.iter().try_for_each(|row| line(encoded(row)))?;
    compared.summaries.iter().try_for_each(|summary| line(encoded(summary)))?;
    files::bytes_to_stdout(out.as_bytes())
}

fn encoded(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

/// What a script is told of the whole.
fn verdict(compared: &ComparisonResult) -> Result<(), CliError> {
    if let Some(SkippedFile { file, reason }) = compared.failed.first() {
        let all = counted(compared.failed.len() as u64, "conversation");
        return Err(CliError::internal(format!(
            "{all} failed, the first {}: {reason}",
            file.display()
        )));
    }
    if compared.rows.is_empty() {
        let why: &dyn Display = match compared.skipped.first() {
            Some(SkippedFile { file, reason }) => &format!("; {}: {reason}", file.display()),
            None => &"",
        };
        return Err(CliError::unreadable(format!("no conversation to compare profiles on{why}")));
    }
    Ok(())
}

impl Args {
    /// The profiles in the order given, then the baselines.
    fn strategies(&self, config: &Config) -> Result<Vec<Strategy>, CliError> {
        let mut out: Vec<Strategy> = Vec::new();
        for name in self.profiles.iter().map(String::as_str).chain(["truncate", "none"]) {
            if out.iter().any(|known| known.name() == name) {
                continue;
            }
            out.push(match Strategy::baseline(name) {
                Some(baseline) => baseline,
                None => Strategy::Profile(Box::new(settings::connected(config.profile(name)?)?)),
            });
        }
        Ok(out)
    }

    fn setup(&self, config: &Config) -> Result<ReplaySetup, CliError> {
        Ok(ReplaySetup {
            profile: config.profile(BASE)?,
            target: self.budget.target(),
            model: self.same.model.clone(),
            style: self.same.style.map(Into::into),
            keep_recent: self
                .same
                .keep_recent
                .map(|all| usize::try_from(all).unwrap_or(usize::MAX)),
            ..ReplaySetup::default()
        })
    }

    /// The files to look at; what an earlier comparison wrote among them is none of them.
    fn candidates(&self) -> RecordingCandidates {
        let mut found = given(&self.inputs);
        if let Some(folder) = &self.out.outputs {
            found.files.retain(|file| !file.starts_with(folder));
        }
        found
    }

    /// What was compared, and how, in a line.
    fn about(&self, compared: &ComparisonResult) -> String {
        let conversations: BTreeSet<_> = compared.rows.iter().map(|row| &row.id).collect();
        let conversations = counted(conversations.len() as u64, "conversation");
        let held = match self.budget.target() {
            CompressionTarget::Tokens(most) => {
                format!("compressed once to {} tokens", grouped(most))
            }
            CompressionTarget::Chars(most) => {
                format!("compressed once to {} characters", grouped(most))
            }
            CompressionTarget::Bytes(most) => format!("compressed once to {} bytes", grouped(most)),
            CompressionTarget::Ratio(part) => format!("compressed once at --ratio {part}"),
            CompressionTarget::Trigger => {
                let mut limits =
                    compared.rows.iter().filter_map(|row| Some(row.played.as_ref()?.limit));
                let limit = limits.next().filter(|first| limits.all(|limit| limit == *first));
                let within = limit.map(|limit| format!(" within {} tokens", grouped(limit)));
                format!("played turn by turn{}", within.unwrap_or_default())
            }
        };
        format!("{conversations}, {held}; epitome {}", env!("CARGO_PKG_VERSION"))
    }

    fn compared(
        &self,
        candidates: RecordingCandidates,
        comparison: &Comparison,
        open: OpenStore,
    ) -> Result<ComparisonResult, CliError> {
        let names = comparison.strategies.iter().map(Strategy::name);
        let desk = ComparisonFiles::new(
            self.out.outputs.clone(),
            self.out.resume.as_deref(),
            names,
            open,
        )?;
        let desk = desk.shown(!self.quiet);
        let compared = ab(candidates, comparison, &desk);
        desk.end();
        Ok(compared)
    }

    /// Says what is not in the figures, and what could not be sent.
    fn notes(&self, compared: &ComparisonResult) {
        if self.quiet {
            return;
        }
        for SkippedFile { file, reason } in &compared.torn {
            fault::warn(&format!("{}: {reason}", file.display()));
        }
        if self.verbose {
            for row in &compared.rows {
                for reason in &row.faults {
                    fault::note(&format!("{} on {}: {reason}", row.profile, row.id));
                }
            }
            for SkippedFile { file, reason } in &compared.skipped {
                fault::note(&format!("left out {}: {reason}", file.display()));
            }
        } else if !compared.skipped.is_empty() && !compared.rows.is_empty() {
            let all = counted(compared.skipped.len() as u64, "file");
            fault::note(&format!("{all} left out, with nothing to ask for; `-v` lists them"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_something_on_both_sides() {
        assert_eq!(share("0.25"), Ok(0.25));
        for text in ["0", "1", "-0.5", "60", "half", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
