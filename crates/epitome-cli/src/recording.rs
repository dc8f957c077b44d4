//! A conversation that somebody recorded, as the verbs that play one read it.
//!
//! Invariant: whichever verb reads it, what is torn off at its end (as a crash leaves it) is told.

use epitome::Format;
use epitome_lab::Recording;

use crate::fault::{self, CliError};

/// Reads a recording of this name, as a format where one is named, to play it in another where that is.
pub(crate) fn read(
    name: &str,
    bytes: &[u8],
    [from, to]: [Option<Format>; 2],
) -> Result<Recording, CliError> {
    if bytes.trim_ascii().is_empty() {
        let line = format!("{name}: is empty; expected one conversation");
        return Err(CliError::unreadable(line));
    }
    let recording = Recording::read(bytes, from, to);
    let recording = recording.map_err(|error| CliError::of_compression(error, name))?;
    if let Some(torn) = recording.torn() {
        fault::warn_once(&format!("{name}: {torn}"));
    }
    Ok(recording)
}
