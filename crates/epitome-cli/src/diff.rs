//! `epitome diff`: what the model saw against what happened.
//!
//! Invariant: each cut says what stood there, what stands there now, who asked for it and why, and
//! how to get it back.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use epitome::{DiffEdit, DiffEntry, SessionDiff};

use crate::columns::output_width;
use crate::fault::CliError;
use crate::files;
use crate::journal::{self, JournalFlags};
use crate::table::{Column, TextTable, left, right};
use crate::text::{clipped, counted, grouped, plain};

/// Cells before the values of a cut.
const INDENT: usize = 9;

const ENTRIES: [Column; 5] = [left(""), left("").least(9), right(""), left("").least(12), left("")];

/// Shows what the model saw of a session against what happened: each cut, who asked for it and why
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome diff debugging-session")]
pub(crate) struct Args {
    /// The session [default: the one used last]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let journal = args.journal.open_at(args.session.as_deref())?;
    let diff = journal.keeper.diff(args.session.as_deref()).map_err(CliError::of)?;
    if args.journal.json {
        return journal::json(&diff);
    }
    let recall = format!("epitome recall{}", journal.flag());
    files::to_stdout(|out| write(out, &diff, &recall))
}

fn write(out: &mut dyn Write, diff: &SessionDiff, recall: &str) -> io::Result<()> {
    let bold = Style::new().bold();
    let [came, sent] = diff.tokens.map(grouped);
    let messages = counted(diff.messages as u64, "message");
    writeln!(out, "{bold}{}{bold:#}  {messages}", plain(&diff.session))?;
    if diff.cuts.is_empty() {
        return writeln!(out, "the model saw all {came} tokens of the messages as they were said");
    }
    writeln!(
        out,
        "{came} tokens of messages as said, {sent} as sent, {}",
        counted(diff.cuts.len() as u64, "cut")
    )?;
    if let Some(must_keep) = &diff.must_keep {
        let kept = format!("kept at the last compression: {must_keep}");
        writeln!(out, "{}", clipped(&kept, output_width()))?;
    }
    diff.cuts.iter().try_for_each(|cut| {
        writeln!(out)?;
        write_cut(out, cut, recall)
    })
}

fn write_cut(out: &mut dyn Write, cut: &DiffEdit, recall: &str) -> io::Result<()> {
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold();
    let [before, after] = cut.tokens.map(grouped);
    let range = match cut.entries.as_slice() {
        [] => String::new(),
        [one] => one.entry.clone(),
        [first, .., last] => format!("{}-{}", first.entry, last.entry),
    };
    let how = cut.how;
    writeln!(out, "{yellow}{range} {how}{yellow:#}  {before} → {after} tokens")?;
    let most = output_width();
    let mut line = |name: &str, value: &str| {
        let line = format!("  {name:7}{}", plain(value));
        // Half a command brings nothing back.
        let most = if name == "back" { usize::MAX } else { most };
        writeln!(out, "{}", clipped(&line, most))
    };
    let at = cut.line.map(|line| format!(":{line}")).unwrap_or_default();
    let epoch = cut.epoch.as_ref().map(|epoch| format!(", epoch {epoch}")).unwrap_or_default();
    line("by", &format!("policy {}{at}, hook {}{epoch}", cut.policy, cut.hook))?;
    if !cut.reason.is_empty() {
        line("why", &cut.reason)?;
    }
    line("now", cut.now.as_deref().unwrap_or("nothing stands there"))?;
    if let Some(id) = &cut.recall {
        line("back", &format!("{recall} {id}"))?;
    }
    if cut.entries.is_empty() {
        return Ok(());
    }
    line("was", "")?;
    let row = |entry: &DiffEntry| {
        vec![
            entry.entry.clone(),
            plain(&entry.name),
            grouped(entry.tokens),
            plain(&entry.text),
            entry.recall.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = cut.entries.iter().map(row).collect();
    TextTable::new(&ENTRIES).indented(INDENT).print(out, &rows)
}
