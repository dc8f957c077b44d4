//! `epitome session list`: all sessions, the one used last first.
//!
//! Invariant: sessions are read and printed page by page, so that memory does not grow with them.

use std::io::{self, Write};

use epitome::types::SessionInfo;

use crate::fault::Fault;
use crate::files;
use crate::flags;
use crate::journal::{Journal, JournalFlags};
use crate::table::{Column, Table, left, right};
use crate::text::{counted, grouped, moment, plain};

/// So many sessions are read at a time.
const PAGE: usize = 512;

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
    /// So many at most; 0 for all
    #[arg(long, value_name = "N", default_value = "20", value_parser = flags::number)]
    limit: u64,
    /// Those in the trash too
    #[arg(long)]
    trashed: bool,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let journal = args.journal.open()?;
    let most = match usize::try_from(args.limit) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(most) => most,
    };
    let mut pages = Pages { journal: &journal, trashed: args.trashed, most, skip: 0 };
    let first = pages.next_page()?;
    if args.journal.json {
        return list_json(first, &mut pages);
    }
    if args.journal.quiet {
        return Ok(());
    }
    if first.is_empty() {
        return files::to_stdout(|out| {
            let flag = journal.flag();
            writeln!(out, "no sessions; `epitome session import{flag} FILE` records one")
        });
    }
    let mut failed = None;
    files::to_stdout(|out| {
        let mut table = Table::new(&COLUMNS);
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
struct Pages<'j> {
    journal: &'j Journal,
    trashed: bool,
    most: usize,
    skip: usize,
}

impl Pages<'_> {
    fn next_page(&mut self) -> Result<Vec<SessionInfo>, Fault> {
        let most = PAGE.min(self.most - self.skip);
        if most == 0 {
            return Ok(Vec::new());
        }
        let page = self.read(most)?;
        self.skip += page.len();
        Ok(page)
    }

    fn read(&self, most: usize) -> Result<Vec<SessionInfo>, Fault> {
        let keeper = &self.journal.keeper;
        let page = keeper.journal().sessions(keeper.scope(), self.skip, most, self.trashed);
        page.map_err(|error| Fault::of_store(&error))
    }

    /// Says that there are more.
    fn rest(&self, out: &mut dyn Write) -> io::Result<()> {
        let there_are = self.skip == self.most && self.read(1).is_ok_and(|more| !more.is_empty());
        match there_are {
            true => writeln!(out, "and older ones; `--limit 0` shows all"),
            false => Ok(()),
        }
    }
}

fn row(session: &SessionInfo) -> Vec<String> {
    let [came, sent] = session.tokens.map(grouped);
    let trashed = if session.trashed { "(in the trash) " } else { "" };
    vec![
        plain(&session.name),
        moment(&session.last),
        grouped(session.messages.into()),
        grouped(session.turns),
        came,
        sent,
        counted(session.compressions.into(), "time").replace("0 times", ""),
        format!("{trashed}{}", plain(&session.title)),
    ]
}

/// One array, written page by page.
fn list_json(mut page: Vec<SessionInfo>, pages: &mut Pages<'_>) -> Result<(), Fault> {
    let mut before = "[";
    while !page.is_empty() {
        let mut lines = String::new();
        for session in &page {
            let json = serde_json::to_string(session).map_err(Fault::internal)?;
            lines.extend([before, "\n  ", &json]);
            before = ",";
        }
        files::bytes_to_stdout(lines.as_bytes())?;
        page = pages.next_page()?;
    }
    let end: &[u8] = if before == "[" { b"[]\n" } else { b"\n]\n" };
    files::bytes_to_stdout(end)
}
