//! What was said in a session, read back for people.
//!
//! Invariant: read from the journal alone, so that nothing is shown that was redacted or erased.
//! Called at the beginning of a conversation, and where messages are listed.

use epitome::SessionAdmin;
use epitome::types::{EntryId, Role};
use serde_json::Value;

use crate::fault::CliError;

/// What opens a note of the program's own.
const NOTE: &str = "<epitome-note";

/// A message.
pub(super) struct Spoken {
    pub(super) id: EntryId,
    pub(super) role: Role,
    pub(super) text: String,
}

impl Spoken {
    /// Whether a person typed it.
    pub(super) fn is_typed(&self) -> bool {
        self.role == Role::User && !self.text.starts_with(NOTE)
    }
}

/// The last messages of a session, so many at most, oldest first.
pub(super) fn last(
    keeper: &SessionAdmin,
    session: &str,
    most: u32,
) -> Result<Vec<Spoken>, CliError> {
    let info = keeper.session(Some(session)).map_err(CliError::of)?;
    let first = info.figures.messages.saturating_sub(most);
    let said =
        keeper.journal().history(keeper.scope(), &info.name, info.head, first, most as usize);
    let said = said.map_err(|error| CliError::of_store(&error))?;
    let spoken = (first..).zip(said).map(|(place, said)| {
        let text = said.bytes.as_deref().map(text).unwrap_or_default();
        Spoken { id: EntryId(place), role: said.role, text }
    });
    Ok(spoken.collect())
}

/// The text of a message in any format.
fn text(bytes: &[u8]) -> String {
    let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match message.get("content").unwrap_or(&message) {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_in_any_format() {
        let check = |bytes: &str, said: &str| assert_eq!(text(bytes.as_bytes()), said);
        check(r#"{"role":"user","content":"Hello"}"#, "Hello");
        check(r#"{"role":"user","content":[{"type":"text","text":"a"},{"text":"b"}]}"#, "a\nb");
        check(r#""You are brief.""#, "You are brief.");
        check("{", "");
    }
}
