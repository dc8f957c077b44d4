//! The whole terminal: keys one by one, and frames in place of each other.
//!
//! Invariant: dropped, it leaves the terminal as it was found.

use std::io::{self, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use terminal_size::{Height, Width, terminal_size_of};

use super::keys::TypedBytes;
use super::view::TopView;
use crate::columns::COLUMNS;

/// Rows of a terminal that does not say how many it has.
const ROWS: usize = 24;

/// The bytes of one key come sooner after each other than those of two.
const FOLLOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Another screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
/// The cursor, and the screen before.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first cell.
const HOME: &str = "\x1b[H";
/// Erases the rest of a line.
const REST: &str = "\x1b[K";
/// Erases what stands below.
const BELOW: &str = "\x1b[J";

/// The terminal while it is ours.
pub(super) struct FullScreen {
    before: Termios,
    is_colored: bool,
}

impl FullScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// When it cannot be read or set.
    pub(super) fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        // Ctrl-C is a key as well, so that the terminal is put back behind it.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        let is_colored = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let screen = Self { before, is_colored };
        write(ENTER)?;
        Ok(screen)
    }

    /// Draws a frame.
    pub(super) fn draw(&self, view: &TopView) -> io::Result<()> {
        let (columns, rows) = match terminal_size_of(io::stdout()) {
            Some((Width(columns), Height(rows))) if columns > 0 && rows > 0 => {
                (usize::from(columns), usize::from(rows))
            }
            _ => (COLUMNS, ROWS),
        };
        let lines = view.frame(columns, rows)?;
        let shown = |line: &String| match self.is_colored {
            true => line.clone(),
            false => strip_str(line).to_string(),
        };
        let lines: Vec<_> = lines.iter().map(|line| shown(line) + REST).collect();
        write(&format!("{HOME}{}{BELOW}", lines.join("\r\n")))
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        // Nobody is left to tell when that fails.
        drop(write(LEAVE));
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}

/// The bytes that are typed.
pub(super) struct TerminalKeys;

impl TypedBytes for TerminalKeys {
    fn wait(&mut self) -> Option<u8> {
        let mut byte = [0];
        loop {
            match rustix::io::read(io::stdin(), &mut byte) {
                Ok(1) => return Some(byte[0]),
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return None,
            }
        }
    }

    fn follow(&mut self) -> Option<u8> {
        let stdin = io::stdin();
        let mut typed = [PollFd::new(&stdin, PollFlags::IN)];
        // A signal ends the waiting early, and with it the key.
        let is_there = rustix::event::poll(&mut typed, Some(&FOLLOW)).is_ok_and(|ready| ready > 0);
        is_there.then(|| self.wait()).flatten()
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
