//! `epitome recall`: finds what left a prompt, and what was said in the sessions of the journal.
//!
//! Invariant: reads a store and never makes one; what it prints fits the tokens allowed.

use std::path::PathBuf;
use std::sync::Arc;

use epitome::{Blob, Excerpt, Keeper, Lines, Recalled, Sqlite, for_model};
use serde::Serialize;

use crate::catch_up::catch_up;
use crate::fault::Fault;
use crate::flags::{self, Common};
use crate::journal::store_path;
use crate::{fault, files, settings};

/// Counts the tokens of excerpts where neither a flag nor the profile names a model.
const VOCABULARY: &str = "o200k_base";

/// Searches what compressions took out of prompts, and all that was said in the journal's sessions
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome recall --store session.db --max-tokens 800 'connection refused'"
)]
pub(crate) struct Args {
    /// What to look for, in any words, or the id that stands where something left a prompt; put
    /// `--` before a text that looks like a flag
    #[arg(allow_hyphen_values = true, required_unless_present = "id", conflicts_with_all = ["id", "lines"])]
    query: Option<String>,
    /// Prints the original with this id, or with the only id that begins so
    #[arg(long)]
    id: Option<String>,
    /// Only these lines of the original: `3`, `3-8` or `3-`
    #[arg(long, value_name = "A-B", requires = "id")]
    lines: Option<Lines>,
    /// The most that all excerpts may take together
    #[arg(long, value_name = "N", default_value = "1000", value_parser = flags::number)]
    max_tokens: u64,
    /// Counts tokens as this model does
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    /// Prints JSON: a list of objects with `id`, `content` and `source`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Found<'a> {
    id: String,
    content: &'a str,
    source: &'a str,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let config = args
        .common
        .profile
        .load(|sources| settings::text(sources, "--model", "model", args.model.as_deref()))?;
    let profile = config.chosen()?;
    let path = store_path(args.store.as_deref(), &config)?;
    if !path.exists() {
        let path = path.display();
        return Err(Fault::unreadable(format!(
            "no store at {path}; `epitome compress --store {path}` makes one"
        )));
    }
    let store = Arc::new(Sqlite::open_existing(&path).map_err(|error| Fault::of_store(&error))?);
    let counter = for_model(profile.model().unwrap_or(VOCABULARY));
    let keeper = Keeper::new(store.clone(), profile);
    if let Some(id) = &args.id {
        let blob = keeper.original(&*store, id, |keeper| catch_up(keeper, args.common.quiet));
        return original(args, &blob.map_err(|error| Fault::of_store(&error))?);
    }
    let query = args.query.as_deref().unwrap_or_default();
    let found = keeper.recall(&*store, query, args.max_tokens, &counter, |keeper| {
        catch_up(keeper, args.common.quiet);
    });
    match found.map_err(|error| Fault::of_store(&error))? {
        // What stands in a prompt is short: `epitome recall 9ac89c67`.
        Recalled::Original(blob) => original(args, &blob),
        Recalled::Excerpts(found) => show(args, &found),
    }
}

fn original(args: &Args, blob: &Blob) -> Result<(), Fault> {
    let text = args.lines.map_or_else(|| blob.text.clone(), |lines| lines.of(&blob.text));
    if args.json {
        let found = Found { id: blob.id.to_string(), content: &text, source: &blob.source };
        return json(&[found]);
    }
    files::bytes_to_stdout(text.as_bytes())
}

fn show(args: &Args, found: &[Excerpt]) -> Result<(), Fault> {
    if args.json {
        let found = found.iter().map(|Excerpt { id, text, source }| Found {
            id: id.to_string(),
            content: text,
            source,
        });
        return json(&found.collect::<Vec<_>>());
    }
    if found.is_empty() && !args.common.quiet {
        fault::note("nothing found; try other words");
    }
    files::to_stdout(|out| {
        let style = anstyle::Style::new().bold();
        for (at, Excerpt { id, text, source }) in found.iter().enumerate() {
            let gap = if at == 0 { "" } else { "\n" };
            writeln!(out, "{gap}{style}{}  {source}{style:#}\n{}", id.short(), text.trim_end())?;
        }
        Ok(())
    })
}

fn json(found: &[Found<'_>]) -> Result<(), Fault> {
    let json = serde_json::to_string(found).map_err(Fault::internal)?;
    files::bytes_to_stdout(format!("{json}\n").as_bytes())
}
