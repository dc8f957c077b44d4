//! `epitome top`: all sessions, live in the terminal.
//!
//! Invariant: it only reads. On anything but a terminal it prints one table and ends; a terminal is
//! left as it was found, however it ends.

mod keys;
mod rows;
mod terminal;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::columns::output_width;
use crate::fault::CliError;
use crate::files;
use crate::journal::{self, JournalFlags};
use keys::TopKey;
use rows::{SortKey, TopPrompt, TopRow, TopTable};
use terminal::{FullScreen, TerminalKeys};
use view::TopView;

/// The table is read again so often.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows all sessions live: who asks, which model, how full the window is, what was saved
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome top --sort prompt\n\nKeys: l t p s n c m sort, \
                        r reverses, j k scroll, q quits")]
pub(crate) struct Args {
    /// Prints one table and ends, as on a pipe
    #[arg(long)]
    once: bool,
    /// The order
    #[arg(long, value_enum, default_value = "last")]
    sort: SortKey,
    /// So many sessions at most, those used last whatever the order; 0 for all
    #[arg(long, value_name = "N", default_value = "50", value_parser = crate::flags::number)]
    limit: u64,
    #[command(flatten)]
    journal: JournalFlags,
}

/// What the user or the machine wants of it.
enum TopNews {
    Key(TopKey),
    Resized,
    Ended,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let journal = args.journal.open()?;
    let load = || TopTable::load(&journal, args.limit);
    if args.journal.json {
        return journal::json(&load()?.sorted(args.sort, false));
    }
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let is_live = !args.once && !dumb && io::stdin().is_terminal() && io::stdout().is_terminal();
    if is_live {
        return live(args.sort, &load);
    }
    let table = load()?.sorted(args.sort, false);
    files::to_stdout(|out| view::once(out, &table, output_width()))
}

/// Draws the table again and again until the user has enough of it.
fn live(sort: SortKey, load: &dyn Fn() -> Result<TopTable, CliError>) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::internal)?;
    let mut view = TopView::new(sort, load()?);
    let screen = FullScreen::open().map_err(CliError::internal)?;
    let drawn: io::Result<()> = runtime.block_on(async {
        let mut news = listen()?;
        let mut tick = tokio::time::interval(PAUSE);
        screen.draw(&view)?;
        loop {
            tokio::select! {
                _ = tick.tick() => view.update(load()),
                heard = news.recv() => match heard {
                    Some(TopNews::Key(key)) if view.press(key) => {}
                    Some(TopNews::Resized) => {}
                    _ => return Ok(()),
                },
            }
            screen.draw(&view)?;
        }
    });
    drop(screen);
    // The reader of keys may wait for one that never comes.
    runtime.shutdown_background();
    drawn.map_err(CliError::internal)
}

/// Keys and signals.
fn listen() -> io::Result<mpsc::Receiver<TopNews>> {
    let (tell, news) = mpsc::channel(16);
    let ends = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in ends.into_iter().chain([SignalKind::window_change()]) {
        let (mut signal, tell) = (signal(kind)?, tell.clone());
        let is_end = kind != SignalKind::window_change();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                let heard = if is_end { TopNews::Ended } else { TopNews::Resized };
                if tell.send(heard).await.is_err() {
                    return;
                }
            }
        });
    }
    std::thread::spawn(move || {
        loop {
            let heard = keys::next(&mut TerminalKeys).map_or(TopNews::Ended, TopNews::Key);
            let is_end = matches!(heard, TopNews::Ended);
            if tell.blocking_send(heard).is_err() || is_end {
                return;
            }
        }
    });
    Ok(news)
}
