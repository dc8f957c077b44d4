//! `epitome session list`: all sessions, the one used last first.
//!
//! Invariant: sessions are read and printed page by page, so that memory does not grow with them.

use std::collections::VecDeque;
use std::io::{self, Write};

use epitome::SessionAdmin;
use epitome::types::SessionInfo;
use serde::Serialize;

use crate::fault::{self, CliError};
use crate::files;
use crate::flags;
use crate::journal::{JournalFlags, OpenJournal};
use crate::table::{Column, TextTable, left, right};
use crate::text::{grouped, moment, often, plain};

/// So many sessions are read at a time.
const PAGE: usize = 512;

/// So many are listed unless the user says how many.
const MOST: u64 = 20;

const COLUMNS: [Column; 8] = [
    left("name").least(16),
    left("last used, UTC"),
    right("messages"),
    right("turns").spare(2),
    right("raw").spare(1),
    right("sent"),
    right("compressed").spare(3),
    left("title").least(8).spare(4),
];

/// Lists the sessions, the one used last first
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session list --limit 50")]
pub(crate) struct Args {
    /// So many at most; 0 for all [default: 20]
    #[arg(long, value_name = "N", value_parser = flags::number)]
    limit: Option<u64>,
    /// Those in the trash too
    #[arg(long)]
    trashed: bool,
    /// Those that no model answered too: requests that were refused, probes
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    journal: JournalFlags,
}

/// A session, and the profile that recorded it.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    info: SessionInfo,
    profile: String,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let journal = args.journal.open()?;
    let most = match usize::try_from(args.limit.unwrap_or(MOST)) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(most) => most,
    };
    let mut pages = Pages::new(&journal, args, most)?;
    let first = pages.next_page()?;
    if args.journal.json {
        list_json(first, &mut pages)?;
        // What reads the list cannot see that it ends there, and nobody asked for that.
        if args.limit.is_none() && !args.journal.quiet && pages.has_more() {
            fault::note("there are older sessions; `--limit 0` lists all");
        }
        return Ok(());
    }
    if args.journal.quiet {
        return Ok(());
    }
    if first.is_empty() {
        return files::to_stdout(|out| {
            let flag = journal.flag();
            match pages.passed_over {
                0 => writeln!(out, "no sessions; `epitome session import{flag} FILE` records one"),
                _ => writeln!(out, "no session was answered; `--all` shows what was sent"),
            }
        });
    }
    let mut failed = None;
    files::to_stdout(|out| {
        let mut table = TextTable::new(&COLUMNS);
        let mut page = first;
        while !page.is_empty() {
            table.print(out, &page.iter().map(row).collect::<Vec<_>>())?;
            match pages.next_page() {
                Ok(next) => page = next,
                Err(fault) => {
                    failed = Some(fault);
                    return Ok(());
                }
            }
        }
        pages.rest(out)
    })?;
    failed.map_or(Ok(()), Err)
}

/// Sessions, page by page.
struct Pages {
    sources: Vec<Source>,
    trashed: bool,
    /// Whether those are wanted that were never answered.
    all: bool,
    /// How many of these were passed over.
    passed_over: usize,
    /// So many are still to come.
    most: usize,
}

/// The sessions of one scope, the one used last first.
struct Source {
    keeper: SessionAdmin,
    read: VecDeque<SessionInfo>,
    skip: usize,
    /// Whether there are no more to read.
    is_exhausted: bool,
}

impl Pages {
    fn new(journal: &OpenJournal, args: &Args, most: usize) -> Result<Self, CliError> {
        let source =
            |keeper| Source { keeper, read: VecDeque::new(), skip: 0, is_exhausted: false };
        let sources = journal.keepers()?.into_iter().map(source).collect();
        Ok(Self { sources, trashed: args.trashed, all: args.all, passed_over: 0, most })
    }

    fn next_page(&mut self) -> Result<Vec<Listed>, CliError> {
        let mut page = Vec::new();
        while page.len() < PAGE.min(self.most) {
            let Some(next) = self.next()? else { break };
            page.push(next);
        }
        self.most -= page.len();
        Ok(page)
    }

    /// The one used last of those that are left in any scope.
    fn next(&mut self) -> Result<Option<Listed>, CliError> {
        let mut newest: Option<&mut Source> = None;
        for source in &mut self.sources {
            self.passed_over += source.fill(self.trashed, self.all)?;
            let Some(first) = source.read.front() else { continue };
            let is_newer = |other: &&mut Source| {
                other.read.front().is_none_or(|other| other.last < first.last)
            };
            if newest.as_ref().is_none_or(is_newer) {
                newest = Some(source);
            }
        }
        Ok(newest.and_then(|source| {
            let info = source.read.pop_front()?;
            Some(Listed { info, profile: source.keeper.recorder().to_owned() })
        }))
    }

    /// Whether it ends before the last of them.
    fn has_more(&mut self) -> bool {
        self.most == 0 && self.next().is_ok_and(|more| more.is_some())
    }

    /// Says that there are more.
    fn rest(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.has_more() {
            writeln!(out, "and older ones; `--limit 0` shows all")?;
        }
        if self.passed_over > 0 {
            writeln!(out, "and some that no model answered; `--all` shows them")?;
        }
        Ok(())
    }
}

impl Source {
    /// Reads on where nothing of the last page is left; gives how many it passed over.
    fn fill(&mut self, trashed: bool, all: bool) -> Result<usize, CliError> {
        let (journal, scope) = (self.keeper.journal(), self.keeper.scope());
        let mut passed_over = 0;
        while self.read.is_empty() && !self.is_exhausted {
            let page = journal.sessions(scope, self.skip, PAGE, trashed);
            let page = page.map_err(|error| CliError::of_store(&error))?;
            self.skip += page.len();
            self.is_exhausted = page.len() < PAGE;
            for info in page {
                let is_answered = self.keeper.is_answered(&info);
                match all || is_answered.map_err(|error| CliError::of_store(&error))? {
                    true => self.read.push_back(info),
                    false => passed_over += 1,
                }
            }
        }
        Ok(passed_over)
    }
}

fn row(listed: &Listed) -> Vec<String> {
    let session = &listed.info;
    let [came, sent] = session.figures.tokens.map(grouped);
    let trashed = if session.trashed { "(in the trash) " } else { "" };
    vec![
        plain(&session.name),
        moment(&session.last),
        grouped(session.figures.messages.into()),
        grouped(session.figures.turns),
        came,
        sent,
        often(session.figures.compressions.into()),
        format!("{trashed}{}", plain(&session.title)),
    ]
}

/// One array, written page by page.
fn list_json(mut page: Vec<Listed>, pages: &mut Pages) -> Result<(), CliError> {
    let mut before = "[";
    while !page.is_empty() {
        let mut lines = String::new();
        for session in &page {
            let json = serde_json::to_string(session).map_err(CliError::internal)?;
            lines.extend([before, "\n  ", &json]);
            before = ",";
        }
        files::bytes_to_stdout(lines.as_bytes())?;
        page = pages.next_page()?;
    }
    let end: &[u8] = if before == "[" { b"[]\n" } else { b"\n]\n" };
    files::bytes_to_stdout(end)
}
