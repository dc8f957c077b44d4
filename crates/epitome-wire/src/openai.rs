//! Reads messages of OpenAI-compatible chat completions APIs, and Ollama's of the same kind.
//!
//! Invariant: all reasoning, every piece of content, every image and every call becomes a part, in this
//! order.
//! Called through `read`.

use std::borrow::Cow;

use epitome_types::{EntryId, PartBody, Role, Speaker, ToolCall, ToolResult};

use crate::json::{JsonValue, JsonValueKind, Object};
use crate::opaque::{kind, opaque};
use crate::site::{Beside, BracketList, Content, Home, Parts, ReadMessage, Site, TextSite};
use crate::{WireError, image, speaker};

/// Whose messages they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenAiDialect {
    /// OpenAI's and its imitators': calls have ids, images are content.
    OpenAi,
    /// Ollama's: results name the tool or answer the calls in their order, images stand beside a
    /// content that is always one text.
    Ollama,
}

/// The members of a reply in which providers give its reasoning, and take it back.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "thinking", "reasoning_details"];

/// One message.
pub(crate) fn message(object: &Object<'_>, id: EntryId, dialect: OpenAiDialect) -> ReadMessage {
    let (value, role) = (object.value, role(object)?);
    let mut reader = OpenAiReader { dialect, role, parts: Parts::default() };
    if role == Role::Assistant {
        reader.beside_content(object)?;
    }
    let content = match object.get("content") {
        None if role == Role::Assistant || dialect == OpenAiDialect::Ollama => Content::Absent,
        None => return Err(value.unexpected("a message with `content`")),
        Some(content) => reader.content(object, content)?,
    };
    let images = if dialect == OpenAiDialect::Ollama { reader.images(object)? } else { None };
    let calls = reader.calls(object)?;
    let (entry, parts) = reader.parts.entry(id, role, value.span());
    let members = BracketList { span: value.span(), items: object.member_spans() };
    Ok((entry, Site { role, content, members, calls, images, parts }))
}

fn role(message: &Object<'_>) -> Result<Role, WireError> {
    const EXPECTED: &str = "`system`, `developer`, `user`, `assistant`, `tool` or `function`";
    let Some(role) = message.get("role") else {
        return Err(message.value.unexpected("a message with `role`"));
    };
    match role.str()?.as_ref() {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" | "function" => Ok(Role::Tool),
        _ => Err(role.unexpected(EXPECTED)),
    }
}

/// Reads one message.
struct OpenAiReader {
    dialect: OpenAiDialect,
    role: Role,
    parts: Parts,
}

impl OpenAiReader {
    fn content(
        &mut self,
        message: &Object<'_>,
        content: JsonValue<'_>,
    ) -> Result<Content, WireError> {
        if self.role == Role::Tool {
            self.result(message, content)?;
        }
        match content.kind() {
            JsonValueKind::Null => Ok(Content::Null(content.span())),
            JsonValueKind::String => {
                let calls = ["tool_calls", "function_call"].map(|key| message.some(key));
                let empty = content.span().len() == 2;
                // An empty text beside calls is no part of its own.
                if self.role != Role::Tool && !(empty && calls.iter().any(Option::is_some)) {
                    self.text(content, Home::Content)?;
                }
                Ok(Content::Text(content.span()))
            }
            JsonValueKind::Array => {
                let array = content.objects()?;
                if self.role != Role::Tool {
                    for (place, part) in array.items.iter().enumerate() {
                        self.part(part, Home::Block(place))?;
                    }
                }
                Ok(Content::Blocks(BracketList::of(&array)))
            }
            _ => Err(content.unexpected("a string, an array of parts, or null")),
        }
    }

    /// What a reply holds beside its content and calls that its model reads again. Clients send it back
    /// or leave it out as they like, so no message is known by it.
    fn beside_content(&mut self, message: &Object<'_>) -> Result<(), WireError> {
        let mut is_said = false;
        for key in REASONING {
            let Some((value, &place)) = message.some(key).zip(message.places(key).last()) else {
                continue;
            };
            // Where several members hold it, they say the same.
            let text = if is_said { String::new() } else { reasoning(value) };
            is_said |= !text.is_empty();
            let thought = PartBody::Thinking(text);
            let part =
                self.parts.push(thought, Speaker::Model, Home::Member(place), TextSite::Fixed);
            self.parts.set_known(part, Some(String::new()));
        }
        if let Some((refusal, &place)) =
            message.some("refusal").zip(message.places("refusal").last())
        {
            let said = PartBody::Text(refusal.str()?.into_owned());
            let site = TextSite::Literal(refusal.span());
            let part = self.parts.push(said, Speaker::Model, Home::Member(place), site);
            self.parts.set_known(part, Some(String::new()));
        }
        Ok(())
    }

    fn text(&mut self, text: JsonValue<'_>, home: Home) -> Result<(), WireError> {
        let decoded = text.str()?.into_owned();
        let speaker = speaker::of_text(self.role, &decoded);
        self.parts.push(PartBody::Text(decoded), speaker, home, TextSite::Literal(text.span()));
        Ok(())
    }

    fn part(&mut self, part: &Object<'_>, home: Home) -> Result<(), WireError> {
        let body = match kind(part).as_str() {
            "text" => {
                let text = part
                    .get("text")
                    .ok_or_else(|| part.value.unexpected("a text part with `text`"))?;
                return self.text(text, home);
            }
            "image_url" => PartBody::Image(image_of(part)),
            _ => PartBody::Opaque(opaque(part)),
        };
        let speaker = match self.role {
            Role::System => Speaker::Harness,
            Role::User => Speaker::Human,
            Role::Assistant => Speaker::Model,
            Role::Tool => Speaker::Tool,
        };
        self.parts.push(body, speaker, home, TextSite::Fixed);
        Ok(())
    }

    /// A whole tool message: the result, and the parts of a list within it.
    fn result(&mut self, message: &Object<'_>, content: JsonValue<'_>) -> Result<(), WireError> {
        let key = match self.dialect {
            OpenAiDialect::OpenAi => "tool_call_id",
            OpenAiDialect::Ollama => "tool_name",
        };
        let call = message.text(key).or_else(|| message.text("name")).unwrap_or_default();
        let (text, site) = match content.kind() {
            JsonValueKind::String => {
                (content.str()?.into_owned(), TextSite::Literal(content.span()))
            }
            _ => (String::new(), TextSite::Fixed),
        };
        let body = PartBody::Result(ToolResult { call: call.into_owned(), text, error: false });
        let outer = self.parts.push(body, Speaker::Tool, Home::Message, site);
        if content.kind() == JsonValueKind::Array {
            let inner = content.objects()?;
            self.parts.set_inner(outer, BracketList::of(&inner));
            for (item, part) in inner.items.iter().enumerate() {
                self.part(part, Home::Inner { outer, item })?;
            }
        }
        Ok(())
    }

    fn images(&mut self, message: &Object<'_>) -> Result<Option<Box<Beside>>, WireError> {
        let Some(images) = message.some("images") else { return Ok(None) };
        let items = images.items()?;
        let speaker = if self.role == Role::Tool { Speaker::Tool } else { Speaker::Human };
        for (place, image) in items.iter().enumerate() {
            let body = PartBody::Image(image::size(&image.str()?));
            self.parts.push(body, speaker, Home::Image(place), TextSite::Fixed);
        }
        let items = items.into_iter().map(JsonValue::span).collect();
        let list = Some(BracketList { span: images.span(), items });
        Ok(Some(Box::new(Beside { keys: message.places("images"), list })))
    }

    fn calls(&mut self, message: &Object<'_>) -> Result<Option<Box<Beside>>, WireError> {
        if let Some(calls) = message.some("tool_calls") {
            let calls = calls.objects()?;
            for (place, call) in calls.items.iter().enumerate() {
                let inner = call.some("function").or_else(|| call.some("custom"));
                let inner =
                    inner.ok_or_else(|| call.value.unexpected("a tool call with `function`"))?;
                let id = match self.dialect {
                    OpenAiDialect::OpenAi => Some(call.text("id").unwrap_or_default()),
                    // Not every client sends it back with the result.
                    OpenAiDialect::Ollama => None,
                };
                self.call(id, inner, place)?;
            }
            let keys = message.places("tool_calls");
            let list = Some(BracketList::of(&calls));
            return Ok(Some(Box::new(Beside { keys, list })));
        }
        if let Some(call) = message.some("function_call") {
            self.call(None, call, 0)?;
            let keys = message.places("function_call");
            return Ok(Some(Box::new(Beside { keys, list: None })));
        }
        Ok(None)
    }

    /// A call; one without an id goes by the name of its function.
    fn call(
        &mut self,
        id: Option<Cow<'_, str>>,
        function: JsonValue<'_>,
        place: usize,
    ) -> Result<(), WireError> {
        let object = function.object()?;
        let tool =
            object.text("name").ok_or_else(|| function.unexpected("a function with `name`"))?;
        let arguments = object.get("arguments").or_else(|| object.get("input"));
        let (arguments, site) = match arguments {
            Some(value) if value.kind() == JsonValueKind::String => (
                value.str()?.into_owned(),
                TextSite::Arguments { span: value.span(), literal: true },
            ),
            Some(value) => {
                (value.raw().to_owned(), TextSite::Arguments { span: value.span(), literal: false })
            }
            None => (String::new(), TextSite::Fixed),
        };
        let (tool, id) = (tool.clone().into_owned(), id.unwrap_or(tool).into_owned());
        let call = ToolCall { id, tool, arguments };
        self.parts.push(PartBody::Call(call), Speaker::Model, Home::Call(place), site);
        Ok(())
    }
}

/// The words of a member that holds reasoning: a text, or a list of pieces that may be sealed.
fn reasoning(value: JsonValue<'_>) -> String {
    if let Some(text) = value.as_str() {
        return text.into_owned();
    }
    let pieces = value.items().unwrap_or_default();
    let pieces = pieces.into_iter().filter_map(JsonValue::as_object);
    let texts = pieces.filter_map(|piece| {
        let text = piece.text("text").or_else(|| piece.text("summary"))?;
        Some(text.into_owned())
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn image_of(part: &Object<'_>) -> epitome_types::ImagePart {
    let url = match part.get("image_url") {
        Some(value) if value.kind() == JsonValueKind::Object => {
            value.as_object().and_then(|image| image.text("url"))
        }
        other => other.and_then(JsonValue::as_str),
    };
    image::size_of_url(url.as_deref().unwrap_or_default())
}
