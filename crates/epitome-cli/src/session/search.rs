//! `epitome session search`: where something was said.
//!
//! Invariant: as `recall` searches, with the session and the entry of each excerpt named apart.

use epitome::{for_model, parted, search_note};
use serde::Serialize;

use crate::catch_up::catch_up;
use crate::fault::{CliError, note};
use crate::files;
use crate::flags;
use crate::journal::{self, JournalFlags};
use crate::text::plain;

/// Searches in all that was said, in every session
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session search 'connection refused'")]
pub(crate) struct Args {
    /// What to look for, in any words; a phrase in quotes must occur as it is
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// The most that all excerpts may take together
    #[arg(long, value_name = "N", default_value = "2000", value_parser = flags::number)]
    max_tokens: u64,
    #[command(flatten)]
    journal: JournalFlags,
}

/// An excerpt and where it stands.
#[derive(Serialize)]
struct SearchHit {
    /// The session; none for what was compressed outside of one.
    session: Option<String>,
    entry: String,
    what: String,
    id: String,
    content: String,
    /// The other sessions that said the same, with the entry of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let journal = args.journal.open()?;
    journal.keepers()?.iter().for_each(|keeper| catch_up(keeper, args.journal.quiet));
    let counter = for_model("o200k_base");
    let found = journal.keeper.search(&*journal.store, &args.query, args.max_tokens, &counter);
    let found = found.map_err(|error| CliError::of_store(&error))?;
    let missed = search_note(&found);
    let found: Vec<_> = found
        .found
        .into_iter()
        .map(|excerpt| {
            let (session, place) = parted(&excerpt.source);
            let (entry, what) = place.split_once(' ').unwrap_or((place, ""));
            SearchHit {
                session: session.map(str::to_owned),
                entry: entry.to_owned(),
                what: what.to_owned(),
                id: excerpt.id.to_string(),
                content: excerpt.text,
                also: excerpt.also,
            }
        })
        .collect();
    if args.journal.json {
        return journal::json(&found);
    }
    if let Some(missed) = missed.filter(|_| !args.journal.quiet) {
        note(&plain(&missed));
    }
    files::to_stdout(|out| {
        let bold = anstyle::Style::new().bold();
        for (at, SearchHit { session, entry, what, content, also, .. }) in found.iter().enumerate()
        {
            let gap = if at == 0 { "" } else { "\n" };
            let session = plain(session.as_deref().unwrap_or("no session named"));
            writeln!(out, "{gap}{bold}{session}  {entry} {what}{bold:#}")?;
            for other in also {
                writeln!(out, "{bold}also {}{bold:#}", plain(other))?;
            }
            for line in content.trim_end().lines() {
                writeln!(out, "  {}", plain(line))?;
            }
        }
        Ok(())
    })
}
