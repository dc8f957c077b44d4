//! What can be read of a session besides: goal, ledger, status, transcript.
//!
//! Invariant: each is made of the journal when it is asked for; an address without a session means
//! the one of this conversation.

use epitome::SessionControls;
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::words::InWords;

/// What all addresses begin with.
const SCHEME: &str = "epitome://";

/// The most of a transcript, in bytes of its messages: what a model reads of it stands in a prompt.
const MOST: usize = 256 << 10;

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum McpResource {
    Goal,
    Ledger,
    Status,
    Transcript,
}

const ALL: [McpResource; 4] =
    [McpResource::Goal, McpResource::Ledger, McpResource::Status, McpResource::Transcript];

impl McpResource {
    fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Ledger => "ledger",
            Self::Status => "status",
            Self::Transcript => "transcript",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Goal => "The goals with their milestones and decisions",
            Self::Ledger => "What was asked for and forbidden, the plan, files, what is done",
            Self::Status => "How full the context window is and what was done about it",
            Self::Transcript => "What was said last, whatever was compressed",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Goal | Self::Status => "text/plain",
            Self::Ledger => "application/json",
            Self::Transcript => "text/markdown",
        }
    }
}

/// The documents of this conversation.
pub(crate) fn list() -> Vec<Resource> {
    let resource = |one: McpResource| {
        Resource::new(format!("{SCHEME}{}", one.name()), one.name())
            .with_description(one.about())
            .with_mime_type(one.kind())
    };
    ALL.map(resource).to_vec()
}

/// The same of any session.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |one: McpResource| {
        ResourceTemplate::new(format!("{SCHEME}{}/{{session}}", one.name()), one.name())
            .with_description(format!("{}, of a session by its name", one.about()))
            .with_mime_type(one.kind())
    };
    ALL.map(template).to_vec()
}

/// Reads a document.
///
/// # Errors
///
/// For an address that is none, and where there is no such session.
pub(crate) fn read(
    levers: &SessionControls,
    session: Option<&str>,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let unknown = || {
        let known = ALL.map(|one| format!("{SCHEME}{}", one.name())).join(", ");
        let message =
            format!("no resource `{uri}`; there is {known}, each with `/SESSION` behind it");
        ErrorData::resource_not_found(message, None)
    };
    let path = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let (name, named) = path.split_once('/').map_or((path, None), |(name, of)| (name, Some(of)));
    let document = ALL.into_iter().find(|one| one.name() == name).ok_or_else(unknown)?;
    let named = named.map(decoded);
    let session = named.as_deref().or(session);
    let text = match document {
        McpResource::Goal => levers.goals(session).map(|goals| goals.words()),
        McpResource::Ledger => levers.ledger(session).and_then(|ledger| {
            serde_json::to_string_pretty(&ledger).or_else(|_| Ok(String::new()))
        }),
        McpResource::Status => levers.status(session).map(|status| status.words()),
        McpResource::Transcript => levers.transcript(session, MOST),
    };
    let text = text.map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
    Ok(ResourceContents::text(text, uri).with_mime_type(document.kind()))
}

/// A part of an address with its `%20` and the like put back.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(coded) => {
                bytes.push(coded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_put_back() {
        let check = |text: &str, expected: &str| assert_eq!(decoded(text), expected);
        check("a%20b%C3%A4", "a bä");
        check("100%", "100%");
        check("%zz%2", "%zz%2");
    }
}
