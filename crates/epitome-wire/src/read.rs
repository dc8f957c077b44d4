//! One message of any provider's request.
//!
//! Invariant: the only place that knows which reader belongs to which format. Called by whatever
//! reads a whole request or a message by itself.

use epitome_types::EntryId;

use crate::json::{JsonValue, JsonValueKind, Object};
use crate::openai::OpenAiDialect;
use crate::site::ReadMessage;
use crate::{Format, anthropic, openai, responses};

/// A message, as an object. A recording's format stands for its nearest provider's.
pub(crate) fn message(object: &Object<'_>, format: Format, id: EntryId) -> ReadMessage {
    match format.nearest() {
        Format::Anthropic => anthropic::message(object, id),
        Format::Responses => responses::item(object, id),
        Format::Ollama => openai::message(object, id, OpenAiDialect::Ollama),
        _ => openai::message(object, id, OpenAiDialect::OpenAi),
    }
}

/// A message, as a value: where a format takes a bare text for one, that too.
pub(crate) fn value(value: JsonValue<'_>, format: Format, id: EntryId) -> ReadMessage {
    if format == Format::Responses && value.kind() == JsonValueKind::String {
        return responses::prompt(value, id);
    }
    message(&value.object()?, format, id)
}
