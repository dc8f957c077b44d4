//! `epitome session show`: what is known of one session.
//!
//! Invariant: of what was said nothing is shown; the words of the session are what `export` writes.

use std::io::{self, Write};

use anstyle::Style;
use epitome::types::{EntryId, SessionInfo, Snapshot};
use epitome::{MessageInfo, PastCompression, RegretCounts, SessionAdmin, SessionHistory};
use serde::Serialize;

use crate::compression_table;
use crate::fault::CliError;
use crate::files;
use crate::journal::{self, JournalFlags};
use crate::snapshot;
use crate::text::{self, counted, grouped, moment, plain};

/// Shows a session: its facts, compressions, snapshots and pins
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session show debugging-session")]
pub(crate) struct Args {
    /// The session [default: the one used last]
    name: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// All that is shown.
#[derive(Serialize)]
struct ShownSession<'a> {
    #[serde(flatten)]
    info: &'a SessionInfo,
    /// The epoch in force.
    in_force: Option<String>,
    epochs: Vec<PastCompression>,
    snapshots: &'a [Snapshot],
    pins: Vec<EntryNames>,
    /// The answer to the newest message, where nobody went on from it yet.
    answer: Option<EntryNames>,
}

/// An entry by its names.
#[derive(Serialize)]
struct EntryNames {
    entry: String,
    key: String,
    role: epitome::types::Role,
    tokens: u64,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let keeper = args.journal.open_at(args.name.as_deref())?.keeper;
    let history = keeper.history(args.name.as_deref()).map_err(CliError::of)?;
    let snapshots = keeper.journal().snapshots(keeper.scope(), Some(&history.info.name));
    let snapshots = snapshots.map_err(|error| CliError::of_store(&error))?;
    let shown = ShownSession {
        info: &history.info,
        in_force: history.in_force().map(|epoch| epoch.id.short()),
        epochs: compressions(&keeper, &history)?,
        snapshots: &snapshots,
        pins: pins(&history),
        answer: answer(&history),
    };
    if args.journal.json {
        return journal::json(&shown);
    }
    files::to_stdout(|out| write(out, &shown))
}

/// The compressions, each with what was fetched again of what left with it.
fn compressions(
    keeper: &SessionAdmin,
    history: &SessionHistory,
) -> Result<Vec<PastCompression>, CliError> {
    let regrets = keeper.regret(history).map_err(CliError::of)?;
    let past = history.epochs().iter().map(|recorded| {
        let own = regrets.iter().find(|it| it.compaction == recorded.epoch.id);
        let regret = own.map(|it| it.counts(u32::MAX));
        PastCompression { regret, ..PastCompression::from(recorded) }
    });
    Ok(past.collect())
}

fn pins(history: &SessionHistory) -> Vec<EntryNames> {
    let pinned = history.pinned().into_iter();
    pinned.filter_map(|id| Some(entry(id, history.message(id)?))).collect()
}

fn answer(history: &SessionHistory) -> Option<EntryNames> {
    let place = EntryId(history.info.figures.messages);
    history.answer.as_ref().map(|message| entry(place, message))
}

fn entry(id: EntryId, message: &MessageInfo) -> EntryNames {
    let (entry, key) = (id.to_string(), message.key.short());
    EntryNames { entry, key, role: message.role, tokens: message.tokens }
}

/// What was fetched again, in words.
fn fetched_again(counts: &RegretCounts) -> String {
    let RegretCounts { left, again, again_tokens, again_recalled, .. } = *counts;
    let recalled = match again_recalled {
        0 => String::new(),
        some => format!(", {} of them recalled", grouped(some)),
    };
    format!(
        "fetched again {} of {}, {}{recalled}",
        grouped(again),
        counted(left, "text"),
        counted(again_tokens, "token")
    )
}

fn write(out: &mut dyn Write, shown: &ShownSession<'_>) -> io::Result<()> {
    let bold = Style::new().bold();
    let ShownSession { info, in_force, epochs, snapshots, pins, answer } = shown;
    let trashed = if info.trashed { "  (in the trash)" } else { "" };
    writeln!(out, "{bold}{}{bold:#}{trashed}", plain(&info.name))?;
    let [came, sent] = info.figures.tokens.map(grouped);
    let model = info.model.as_deref().unwrap_or("not stated");
    let mut fact = |name: &str, value: String| writeln!(out, "  {name:12} {}", plain(&value));
    fact("title", info.title.clone())?;
    fact("began", moment(&info.started) + " UTC")?;
    fact("last used", moment(&info.last) + " UTC")?;
    fact("format", format!("{}, model {model}", info.format))?;
    let (messages, turns) = (info.figures.messages.into(), info.figures.turns);
    fact("messages", format!("{} in {}", grouped(messages), counted(turns, "turn")))?;
    fact(
        "tokens",
        format!("{came} as said, {sent} as sent, limit {}", grouped(info.figures.limit)),
    )?;
    if info.figures.answers > 0 {
        fact("provider", text::usage(info.figures.answers, &info.figures.usage))?;
    }
    if let Some(answer) = answer {
        let tokens = counted(answer.tokens, "token");
        let what = format!("{} {}, {tokens}; nobody went on from it", answer.entry, answer.key);
        fact("answer", what)?;
    }
    fact(
        "in force",
        in_force
            .as_ref()
            .map_or("nothing: it is sent as it was said".to_owned(), |id| format!("epoch {id}")),
    )?;
    if !epochs.is_empty() {
        writeln!(out, "\n{bold}compressions{bold:#}")?;
        compression_table::write(out, epochs, in_force.as_deref())?;
        for one in epochs {
            let Some(again) = one.regret.filter(|it| it.again > 0) else { continue };
            writeln!(out, "  no. {}: {}", one.number, fetched_again(&again))?;
        }
    }
    if !snapshots.is_empty() {
        writeln!(out, "\n{bold}snapshots{bold:#}")?;
        snapshot::write(out, snapshots, false)?;
    }
    if !pins.is_empty() {
        writeln!(out, "\n{bold}pinned{bold:#}")?;
        for pin in pins {
            let role = format!("{:?}", pin.role).to_lowercase();
            writeln!(out, "  {:8} {} {role}, {} tokens", pin.entry, pin.key, grouped(pin.tokens))?;
        }
    }
    Ok(())
}
