//! Ctrl-D between two prompts: a character that waits for the next one, like all else that is typed.
//!
//! A terminal that nobody edits lines on would keep an end of input in its place, and the editor, which
//! turns that off, would read nothing of it.
//!
//! Invariant: dropped, it leaves the terminal as it was found. Called where lines come from.

use std::io;

use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// What stands for no key.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// The terminal while Ctrl-D has no meaning there.
pub(super) struct EndKey {
    before: Termios,
}

impl EndKey {
    /// Takes the meaning away; nothing where the terminal cannot be set, and is as it was.
    pub(super) fn kept() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut kept = before.clone();
        kept.special_codes[SpecialCodeIndex::VEOF] = NO_KEY;
        tcsetattr(io::stdin(), OptionalActions::Now, &kept).ok()?;
        Some(Self { before })
    }
}

impl Drop for EndKey {
    fn drop(&mut self) {
        // A terminal that is gone has no key either.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}
