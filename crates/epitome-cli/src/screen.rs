//! Lines for people that scroll by, and a block below them that is drawn again in place.
//!
//! Invariant: on anything but a terminal there is no block and no escape sequence. A block is
//! erased by the rows that it takes at the present width, so that a resize leaves nothing behind.
//! Called by the verbs that take a while.

use std::io::{self, IsTerminal, Write};
use std::mem;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use terminal_size::{Height, Width, terminal_size_of};

use crate::clock::now;
use crate::columns::{COLUMNS, stated_width};
use crate::text::width;

/// A block is drawn no more often than this.
const PAUSE: Duration = Duration::from_millis(40);

/// Where text for people goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// Standard output: the text is what was asked for.
    Out,
    /// Standard error: data goes to standard output, or nothing does.
    Err,
}

/// A terminal, or whatever stands in its place.
pub(crate) struct Screen {
    to: To,
    terminal: bool,
    live: bool,
    colored: bool,
    /// Columns of the lines of the block that is drawn.
    drawn: Vec<usize>,
    last: Option<Instant>,
}

impl Screen {
    /// A screen; `live` says whether a block is wanted, where it is a terminal.
    pub(crate) fn new(to: To, live: bool) -> Self {
        let (terminal, choice) = match to {
            To::Out => (io::stdout().is_terminal(), AutoStream::choice(&io::stdout())),
            To::Err => (io::stderr().is_terminal(), AutoStream::choice(&io::stderr())),
        };
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            to,
            terminal,
            live: live && terminal && !dumb,
            colored: choice != ColorChoice::Never,
            drawn: Vec::new(),
            last: None,
        }
    }

    /// Whether colours are shown.
    pub(crate) fn is_colored(&self) -> bool {
        self.colored
    }

    /// Whether blocks are drawn.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Columns that a line may take: those of the terminal, and any number where there is none.
    pub(crate) fn columns(&self) -> usize {
        self.size().0
    }

    /// Whether it is time to draw the block again.
    pub(crate) fn is_due(&self) -> bool {
        self.live && self.last.is_none_or(|last| last.elapsed() >= PAUSE)
    }

    /// Writes lines above the block, which has to be drawn again then.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        let lines = format!("{}{text}\n", self.erased());
        self.last = None;
        self.write(&lines)
    }

    /// Draws the block.
    pub(crate) fn draw(&mut self, block: &[String]) -> io::Result<()> {
        if !self.live {
            return Ok(());
        }
        let (_, rows) = self.size();
        let block = &block[..block.len().min(rows)];
        let frame = format!("{}{}", self.erased(), block.join("\n"));
        self.drawn = block.iter().map(|line| columns(line)).collect();
        self.last = Some(now());
        self.write(&frame)
    }

    /// Takes the block away.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let erased = self.erased();
        self.write(&erased)
    }

    /// What erases the block that is drawn.
    fn erased(&mut self) -> String {
        erase(&mem::take(&mut self.drawn), self.size().0)
    }

    /// Columns and rows.
    fn size(&self) -> (usize, usize) {
        let size = match self.to {
            To::Out => terminal_size_of(io::stdout()),
            To::Err => terminal_size_of(io::stderr()),
        };
        match size {
            Some((Width(columns), Height(rows))) if columns > 0 => (columns.into(), rows.into()),
            _ if self.terminal => (COLUMNS, usize::MAX),
            _ => (stated_width().unwrap_or(usize::MAX), usize::MAX),
        }
    }

    /// Writes text at once. A colour that is not wanted is left out; the moves of a block stay.
    fn write(&self, text: &str) -> io::Result<()> {
        fn all(mut out: impl Write, text: &str) -> io::Result<()> {
            out.write_all(text.as_bytes())?;
            out.flush()
        }
        let plain;
        let text = match self.colored {
            true => text,
            false => {
                plain = uncolored(text);
                &plain
            }
        };
        match self.to {
            To::Out => all(io::stdout().lock(), text),
            To::Err => all(io::stderr().lock(), text),
        }
    }
}

/// Columns of a line, its colours not counted.
fn columns(line: &str) -> usize {
    width(&strip_str(line).to_string())
}

/// The moves to the beginning of a block of lines with so many columns each, and its erasure. The
/// cursor stands at its end.
fn erase(drawn: &[usize], width: usize) -> String {
    let rows: usize = drawn.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum();
    match rows {
        0 => String::new(),
        1 => "\r\x1b[J".to_owned(),
        _ => format!("\r\x1b[{}A\x1b[J", rows - 1),
    }
}

/// A text without its colours: sequences that end with `m`.
fn uncolored(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(piece.len());
        match piece[end..].strip_prefix('m') {
            Some(rest) => out.push_str(rest),
            None => out.extend(["\x1b[", piece]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_erased_by_the_rows_it_takes_now() {
        let check = |drawn: &[usize], width, moves: &str| assert_eq!(erase(drawn, width), moves);
        check(&[], 80, "");
        check(&[79], 80, "\r\x1b[J");
        check(&[79, 0, 40], 80, "\r\x1b[2A\x1b[J");
        // The window became half as wide: the first line takes two rows.
        check(&[79, 0, 40], 40, "\r\x1b[3A\x1b[J");
    }

    #[test]
    fn colours_are_left_out_and_moves_stay() {
        let check = |text: &str, plain: &str| assert_eq!(uncolored(text), plain);
        check("plain", "plain");
        check("\x1b[1m\x1b[32mgreen\x1b[0m, \x1b[2A\x1b[Jmoved", "green, \x1b[2A\x1b[Jmoved");
        check("\x1b[", "\x1b[");
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(columns("\x1b[32m██\x1b[0m x"), 4);
    }
}
