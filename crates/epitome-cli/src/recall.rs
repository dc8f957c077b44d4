//! `epitome recall`: finds what left a prompt, and what was said in the sessions of the journal.
//!
//! Invariant: reads a store and never makes one; what it prints fits the tokens allowed.

use std::path::PathBuf;

use epitome::{
    Config, Excerpt, LineRange, PassageOrigin, RecallResult, RecalledPassage, ScopeOwner,
    SessionAdmin, StoreError, StoredText, for_model,
};
use serde::Serialize;

use crate::catch_up::catch_up;
use crate::fault::CliError;
use crate::flags::{self, Common};
use crate::journal::store_path;
use crate::text::{clipped, plain};
use crate::{fault, files, settings, shell, store, stores};

/// Counts the tokens of excerpts where neither a flag nor the profile names a model.
const VOCABULARY: &str = "o200k_base";
/// What is said of a query that asks for nothing.
const EMPTY: &str = "nothing found: the query is empty; name what to look for, in any words";
/// So many cells of what is no id are repeated: an id has 64.
const ID: usize = 80;

/// Searches what compressions took out of prompts, and all that was said in the journal's sessions
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome recall --store session.db --max-tokens 800 'connection refused'"
)]
pub(crate) struct Args {
    /// What to look for, in any words, or the id that stands where something left a prompt; a phrase
    /// in quotes must occur as it is; put `--` before a text that looks like a flag
    #[arg(allow_hyphen_values = true, required_unless_present = "id", conflicts_with_all = ["id", "lines"])]
    query: Option<String>,
    /// Another thing to look for in the same call; all share the tokens
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true, requires = "query")]
    also: Vec<String>,
    /// Prints the original with this id, or with the only id that begins so
    #[arg(long)]
    id: Option<String>,
    /// Only these lines of the original: `3`, `3-8` or `3-`
    #[arg(long, value_name = "A-B", requires = "id")]
    lines: Option<LineRange>,
    /// The most that all excerpts may take together
    #[arg(long, value_name = "N", default_value = "1000", value_parser = flags::number)]
    max_tokens: u64,
    /// Reads the sessions of all projects, and not of the one alone that the current folder is in
    #[arg(long)]
    everywhere: bool,
    /// Counts tokens as this model does
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
    /// Prints JSON: a list of objects with `id`, `content`, `source`, and who said it when
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct RecallOutput<'a> {
    id: String,
    content: &'a str,
    source: &'a str,
    /// What it is called in other sessions that said the same.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    also: &'a [String],
    #[serde(flatten)]
    origin: &'a PassageOrigin,
    /// Of several queries those that it answers.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    queries: &'a [String],
    /// The name in another one that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<&'a str>,
}

impl<'a> From<&'a RecalledPassage> for RecallOutput<'a> {
    fn from(passage: &'a RecalledPassage) -> Self {
        let RecalledPassage { excerpt, origin, queries, through } = passage;
        let Excerpt { id, text, source, also } = excerpt;
        let (id, through) = (id.to_string(), through.as_deref());
        Self { id, content: text, source, also, origin, queries, through }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let config = args
        .common
        .profile
        .load(|sources| settings::text(sources, "--model", "model", args.model.as_deref()))?;
    let profile = config.profile_in_use()?;
    let path = store_path(args.store.as_deref(), &config)?;
    if !store::is_there(&path) {
        if let Some(blob) = args.elsewhere(&config) {
            return original(args, &blob);
        }
        if let Some(id) = args.named_id() {
            return Err(unknown(id));
        }
        let flag = shell::store_flag(Some(&path));
        let path = path.display();
        return Err(CliError::unreadable(format!(
            "no store at {path}; `epitome compress{flag} FILE` makes one"
        )));
    }
    let store = store::open_existing(&path).map_err(|error| CliError::of_store(&error))?;
    let counter = for_model(profile.model().unwrap_or(VOCABULARY));
    let keeper = SessionAdmin::of(store.clone(), profile, args.owner(&config));
    if let Some(id) = &args.id {
        let blob = keeper.original(&*store, id, |keeper| catch_up(keeper, args.common.quiet));
        let blob = blob.or_else(|error| args.elsewhere(&config).ok_or(error));
        return original(
            args,
            &blob.map_err(|error| match error {
                StoreError::Unknown { id } => unknown(&id),
                other => CliError::of_store(&other),
            })?,
        );
    }
    let query = args.query.as_deref().unwrap_or_default();
    if !args.also.is_empty() {
        let queries: Vec<&str> =
            [query].into_iter().chain(args.also.iter().map(String::as_str)).collect();
        let found = keeper.recall_several(&*store, &queries, args.max_tokens, &counter, |keeper| {
            catch_up(keeper, args.common.quiet);
        });
        let found = found.map_err(|error| CliError::of_store(&error))?;
        if !args.common.quiet {
            let notes = found.note(true).unwrap_or_default();
            notes.lines().for_each(|note| fault::note(&plain(note)));
        }
        return show(args, &found.found);
    }
    let found = keeper.recall(&*store, query, args.max_tokens, &counter, |keeper| {
        catch_up(keeper, args.common.quiet);
    });
    match found.map_err(|error| CliError::of_store(&error))? {
        // What stands in a prompt is short: `epitome recall 9ac89c67`.
        RecallResult::Original(blob) => original(args, &blob),
        RecallResult::Answer(answer) => {
            if let Some(blob) = args.elsewhere(&config) {
                return original(args, &blob);
            }
            let id = args.named_id().filter(|_| answer.found.is_empty());
            let empty = || query.trim().is_empty().then(|| EMPTY.to_owned());
            let note = id.map(no_original).or_else(empty).or_else(|| answer.note(false));
            if let Some(note) = note.filter(|_| !args.common.quiet) {
                fault::note(&plain(&note));
            }
            show(args, &answer.found)
        }
    }
}

impl Args {
    /// Whose sessions are read.
    fn owner(&self, config: &Config) -> ScopeOwner {
        let owner = self.common.profile.owner(config);
        if self.everywhere { owner.everywhere() } else { owner }
    }

    /// What has the form of an id.
    fn named_id(&self) -> Option<&str> {
        self.id.as_deref().or(self.query.as_deref().filter(|query| stores::is_id(query)))
    }

    /// The original in another store of this user's, where an id is asked for as prompts say it and
    /// no store is named.
    fn elsewhere(&self, config: &Config) -> Option<StoredText> {
        let id = self.id.as_deref().or(self.query.as_deref()).filter(|_| self.store.is_none())?;
        stores::elsewhere(config, &self.owner(config), id)
    }
}

fn unknown(id: &str) -> CliError {
    CliError::unreadable(no_original(id))
}

/// That no session which is read here has an original, and where else it may be.
fn no_original(id: &str) -> String {
    format!(
        "no original with the id `{}` in the sessions that are read here; `--everywhere` reads those \
         of all projects, and those in the trash come back with `epitome session restore NAME`",
        clipped(id, ID)
    )
}

fn original(args: &Args, blob: &StoredText) -> Result<(), CliError> {
    let text = args.lines.map_or_else(|| blob.text.clone(), |lines| lines.of(&blob.text));
    if args.json {
        let found = RecallOutput {
            id: blob.id.to_string(),
            content: &text,
            source: &blob.source,
            also: &[],
            origin: &PassageOrigin::parse(&blob.source),
            queries: &[],
            through: None,
        };
        return json(&[found]);
    }
    files::bytes_to_stdout(text.as_bytes())?;
    if !args.common.quiet && is_list(&blob.text) {
        let flag = shell::store_flag(args.store.as_deref());
        fault::note(&format!(
            "each line begins a message; `epitome recall{flag} ID`, with the id before it, prints it whole"
        ));
    }
    Ok(())
}

/// Whether an original is of several messages: each line gives an id and the place of one (`e7`), or
/// the place alone of one that says nothing. A list of commits has ids too, and no such places.
fn is_list(text: &str) -> bool {
    let is_place = |word: &str| {
        let number = word.strip_prefix('e').filter(|number| !number.is_empty());
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let is_listed = |line: &str| {
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        is_place(first) || stores::is_id(first) && words.next().is_some_and(is_place)
    };
    !text.is_empty() && text.lines().all(is_listed)
}

fn show(args: &Args, found: &[RecalledPassage]) -> Result<(), CliError> {
    if args.json {
        return json(&found.iter().map(RecallOutput::from).collect::<Vec<_>>());
    }
    files::to_stdout(|out| {
        let style = anstyle::Style::new().bold();
        for (at, passage) in found.iter().enumerate() {
            let gap = if at == 0 { "" } else { "\n" };
            let (head, text) = (head(passage), passage.excerpt.text.trim_end());
            writeln!(out, "{gap}{style}{head}{style:#}\n{text}")?;
        }
        Ok(())
    })
}

/// The id of a passage, what it is called in every session that said it, who said it when, and what
/// it was found by where that is not the one query.
pub(crate) fn head(passage: &RecalledPassage) -> String {
    let RecalledPassage { excerpt, origin, queries, through } = passage;
    let Excerpt { id, source, also, .. } = excerpt;
    let names = [source].into_iter().chain(also).map(String::as_str);
    let mut parts = vec![names.collect::<Vec<_>>().join(", ")];
    parts.extend(origin.beyond(source));
    parts.extend(through.iter().map(|word| format!("through {word}")));
    parts.extend((!queries.is_empty()).then(|| format!("for {}", queries.join("; "))));
    plain(&format!("{}  {}", id.short(), parts.join("  ")))
}

fn json(found: &[RecallOutput<'_>]) -> Result<(), CliError> {
    let json = serde_json::to_string(found).map_err(CliError::internal)?;
    files::bytes_to_stdout(format!("{json}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is_list;

    #[test]
    fn a_list_of_messages_is_told_from_other_lists() {
        assert!(is_list("9ac89c67 e3 user: Mend it.\ne4 assistant\n0123abcd e5 read result: x\n"));
        for text in ["", "9ac89c67 ci: Mend it.\n", "e3 and more\nnothing\n", "9ac89c67 e3: a\n"] {
            assert!(!is_list(text), "{text}");
        }
    }
}
