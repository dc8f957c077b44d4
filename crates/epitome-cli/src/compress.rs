//! `epitome compress`: one conversation in, a smaller valid one out.
//!
//! Invariant: nothing is written unless everything can be: the conversation, the report and what
//! left the prompt.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use epitome::{
    CompressedPrompt, CompressionReport, CompressionTarget, Compressor, Durability, MemoryStore,
    Profile, untorn,
};

use crate::cassette::TapeFlags;
use crate::clock::{now, since};
use crate::fault::{CliError, warn};
use crate::files::PendingFile;
use crate::flags::{self, Common, ReadingFlags, SummarizerFlags, SummaryFlags, WindowFlags};
use crate::lazy_store::LazyStore;
use crate::lost::Destination;
use crate::outputs::{FileFate, apart};
use crate::{files, lost, plan, report, settings, stores};

/// Compresses one conversation and writes it in the format it came in, valid for its provider
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    epitome compress --ratio 4 --store session.db --output smaller.json session.jsonl")]
pub(crate) struct Args {
    /// The conversation: a request to a provider, or a client's recording; `-` or nothing reads
    /// standard input
    input: Option<PathBuf>,
    #[command(flatten)]
    budget: CompressBudgetFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    summary: SummaryFlags,
    #[command(flatten)]
    summarizers: SummarizerFlags,
    #[command(flatten)]
    tape: TapeFlags,
    /// Counts tokens as this model does
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    reading: ReadingFlags,
    #[command(flatten)]
    out: OutputFlags,
    #[command(flatten)]
    common: Common,
}

/// Where the conversation goes, what left it, and what is said of it.
#[derive(clap::Args)]
struct OutputFlags {
    /// Writes the conversation to a file instead of standard output, which is `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Writes the report as JSON to a file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Prints the report as JSON on standard output; needs --output or --dry-run
    #[arg(long)]
    json: bool,
    /// Prints what would be done and writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Keeps what leaves the prompt in this file, for `epitome recall`
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
}

/// A size to shrink to at once, at most one of these; without any, a prompt that fills its window
/// is compressed as the profile says.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(crate) struct CompressBudgetFlags {
    /// Shrinks to N tokens: text, call arguments and 4 a message
    #[arg(long, value_name = "N", value_parser = flags::number, allow_negative_numbers = true)]
    max_tokens: Option<u64>,
    /// Shrinks to N characters of the message texts joined by a newline
    #[arg(long, value_name = "N", value_parser = flags::number, allow_negative_numbers = true)]
    max_chars: Option<u64>,
    /// Shrinks to N bytes of the encoded request
    #[arg(long, value_name = "N", value_parser = flags::number, allow_negative_numbers = true)]
    max_bytes: Option<u64>,
    /// Shrinks the tokens that are not pinned to this part: 4 is a quarter
    #[arg(long, value_name = "R", value_parser = flags::ratio, allow_negative_numbers = true)]
    ratio: Option<f64>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    args.apart()?;
    let file = files::named(args.out.output.as_deref());
    if args.out.json && file.is_none() && !args.out.dry_run {
        return Err(CliError::usage(
            "`--json` prints the report on standard output, where the conversation goes; \
             name a file for that with `--output`",
        ));
    }
    let config = args.common.profile.load(|sources| {
        let sources = settings::text(sources, "--model", "model", args.model.as_deref());
        args.summarizers.set(args.summary.set(args.window.set(sources)))
    })?;
    let (profile, tape) = args.tape.connected(config.profile_in_use()?)?;
    settings::tell_of_mode(&profile, profile.mode());
    let asked = profile.names_models();
    let start = now();
    let input = files::read(args.input.as_deref(), args.reading.max_input)?;
    if input.trim_ascii().is_empty() {
        let name = files::name(args.input.as_deref());
        return Err(CliError::unreadable(format!("{name}: is empty; expected one conversation")));
    }
    let output = prepare(args, file)?;
    let report_file = prepare(args, args.out.report.as_deref())?;
    let torn = untorn(&input).1.map(|torn| torn.to_string());
    let compressed = compress(args, profile, config.durability(), input);
    if let Some(tape) = tape {
        tape.end(args.common.quiet)?;
    }
    let compressed = compressed?;
    if let Some(store) = args.out.store.as_deref().filter(|_| !args.out.dry_run) {
        stores::remember(&config, store);
    }
    if args.out.dry_run {
        let mut report = CompressionReport { elapsed_ms: since(start), ..compressed.report };
        let planned =
            args.out.store.as_ref().map_or(Destination::Nowhere, |_| Destination::Planned);
        report.warnings.extend(lost::warnings(&report.must_keep, planned));
        args.tell(&report.warnings, torn.as_deref());
        return if args.out.json { print(&report) } else { plan::print(&report) };
    }
    let report = write(args, output, report_file, compressed, start)?;
    args.tell(&report.warnings, torn.as_deref());
    let shown = file.is_some() || io::stdout().is_terminal();
    if args.common.verbose || shown && !args.common.quiet && !args.out.json {
        report::show(&report, asked, args.out.store.as_deref());
    }
    Ok(())
}

impl Args {
    /// Says what a report warns of; of what is torn with the name of the file.
    fn tell(&self, warnings: &[String], torn: Option<&str>) {
        let name = files::name(self.input.as_deref());
        let told = warnings.iter().filter(|_| !self.common.quiet);
        told.for_each(|line| match torn == Some(line) {
            true => warn(&format!("{name}: {line}")),
            false => warn(line),
        });
    }

    /// Sees that no file is named twice that would be written.
    fn apart(&self) -> Result<(), CliError> {
        let [record, cassette] = self.tape.files();
        apart(&[
            ("the input", self.input.as_deref(), FileFate::Input),
            ("`--output`", self.out.output.as_deref(), FileFate::Output),
            ("`--report`", self.out.report.as_deref(), FileFate::Written),
            ("`--store`", self.out.store.as_deref(), FileFate::Store),
            self.common.profile.file(),
            record,
            cassette,
        ])
    }
}

/// Checks that an output can be written, unless nothing will be.
fn prepare(args: &Args, path: Option<&Path>) -> Result<Option<PendingFile>, CliError> {
    path.filter(|_| !args.out.dry_run).map(PendingFile::prepare).transpose()
}

fn compress(
    args: &Args,
    profile: Profile,
    durability: Durability,
    input: Vec<u8>,
) -> Result<CompressedPrompt, CliError> {
    let scope = epitome::scope(profile.name());
    let mut builder = Compressor::builder().profile(profile).target(args.budget.target());
    if let Some(format) = args.reading.format.0 {
        builder = builder.input_format(format);
    }
    if let Some(format) = args.reading.to {
        builder = builder.output_format(format);
    }
    builder = match &args.out.store {
        None => builder.without_originals(),
        // The plan names the way back as it would, and nothing is written.
        Some(_) if args.out.dry_run => builder.store(Arc::new(MemoryStore::new()), &scope),
        Some(path) => builder.store(Arc::new(LazyStore { path: path.clone(), durability }), &scope),
    };
    // The extractive summariser never waits; a runtime is there for models.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::internal)?;
    let name = files::name(args.input.as_deref());
    let compressed = runtime.block_on(builder.build().compress_owned(input));
    compressed.map_err(|error| CliError::of_compression(error, &name))
}

/// Writes the conversation, then the report; both stand prepared.
fn write(
    args: &Args,
    output: Option<PendingFile>,
    report_file: Option<PendingFile>,
    compressed: CompressedPrompt,
    start: Instant,
) -> Result<CompressionReport, CliError> {
    let CompressedPrompt { bytes, mut report, departure } = compressed;
    // It is as large as the conversation, and in the store.
    drop(departure);
    let store = Destination::in_store(args.out.store.as_deref());
    lost::name_commands(&mut report.must_keep, store);
    report.warnings.extend(lost::warnings(&report.must_keep, store));
    match output {
        None => files::bytes_to_stdout(&bytes)?,
        Some(mut file) => {
            file.write(&bytes)?;
            file.finish()?;
        }
    }
    report.elapsed_ms = since(start);
    if let Some(mut file) = report_file {
        file.write_as(|out| encode(&report, out))?;
        file.finish()?;
    }
    if args.out.json {
        print(&report)?;
    }
    Ok(report)
}

/// Writes a report bit by bit: what it names may be as large as the conversation.
fn encode(report: &CompressionReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

fn print(report: &CompressionReport) -> Result<(), CliError> {
    files::parts_to_stdout(|out| encode(report, out))
}

impl CompressBudgetFlags {
    /// The size that they state.
    pub(crate) fn target(&self) -> CompressionTarget {
        let tokens = self.max_tokens.map(CompressionTarget::Tokens);
        let chars = self.max_chars.map(CompressionTarget::Chars);
        let bytes = self.max_bytes.map(CompressionTarget::Bytes);
        let ratio = self.ratio.map(CompressionTarget::Ratio);
        tokens.or(chars).or(bytes).or(ratio).unwrap_or_default()
    }
}
