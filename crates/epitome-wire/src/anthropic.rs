//! Reads messages of Anthropic's Messages API.
//!
//! Invariant: every block becomes a part, in order; a block of unknown type becomes an opaque one.
//! Called through `read`.

use epitome_types::{Entry, EntryId, PartBody, Role, Speaker, ToolCall, ToolResult};

use crate::image;
use crate::json::{JsonValue, JsonValueKind, Object};
use crate::opaque::{kind, opaque};
use crate::site::{BracketList, Content, Home, Parts, ReadMessage, Site, TextSite};
use crate::{WireError, speaker};

/// The top-level `system` prompt as an entry; edits never touch it.
pub(crate) fn system(value: JsonValue<'_>, id: EntryId) -> Result<Entry, WireError> {
    let mut parts = Parts::default();
    let mut add = |body| {
        parts.push(body, Speaker::Harness, Home::Content, TextSite::Fixed);
    };
    match value.kind() {
        JsonValueKind::Array => {
            for block in value.items()? {
                let block = block.object()?;
                add(match block.text("text") {
                    Some(text) => PartBody::Text(text.into_owned()),
                    None => PartBody::Opaque(opaque(&block)),
                });
            }
        }
        _ => add(PartBody::Text(value.str()?.into_owned())),
    }
    Ok(parts.entry(id, Role::System, value.span()).0)
}

/// One message.
pub(crate) fn message(object: &Object<'_>, id: EntryId) -> ReadMessage {
    let (value, role) = (object.value, role(object)?);
    let mut reader = AnthropicReader { role, beside_results: false, parts: Parts::default() };
    let content =
        object.get("content").ok_or_else(|| value.unexpected("a message with `content`"))?;
    let content = match content.kind() {
        JsonValueKind::String => {
            reader.text(content, Home::Content)?;
            Content::Text(content.span())
        }
        JsonValueKind::Array => {
            let blocks = content.objects()?;
            reader.blocks(&blocks.items)?;
            Content::Blocks(BracketList::of(&blocks))
        }
        _ => return Err(content.unexpected("a string or an array of blocks")),
    };
    let (entry, parts) = reader.parts.entry(id, role, value.span());
    let members = BracketList { span: value.span(), items: object.member_spans() };
    Ok((entry, Site { role, content, members, calls: None, images: None, parts }))
}

fn role(message: &Object<'_>) -> Result<Role, WireError> {
    const EXPECTED: &str = "`user`, `assistant` or `system`";
    let Some(role) = message.get("role") else {
        return Err(message.value.unexpected("a message with `role`"));
    };
    match role.str()?.as_ref() {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "system" => Ok(Role::System),
        _ => Err(role.unexpected(EXPECTED)),
    }
}

/// Reads the blocks of one message.
struct AnthropicReader {
    role: Role,
    /// Whether the message carries tool results: text beside them is rarely a person's.
    beside_results: bool,
    parts: Parts,
}

impl AnthropicReader {
    fn blocks(&mut self, blocks: &[Object<'_>]) -> Result<(), WireError> {
        self.beside_results = blocks.iter().any(|block| kind(block) == "tool_result");
        blocks
            .iter()
            .enumerate()
            .try_for_each(|(place, block)| self.block(block, Home::Block(place)))
    }

    fn text(&mut self, text: JsonValue<'_>, home: Home) -> Result<(), WireError> {
        let decoded = text.str()?;
        let speaker = if self.beside_results && speaker::begins_as_reminder(&decoded) {
            Speaker::Harness
        } else {
            speaker::of_text(self.role, &decoded)
        };
        self.parts.push(
            PartBody::Text(decoded.into_owned()),
            speaker,
            home,
            TextSite::Literal(text.span()),
        );
        Ok(())
    }

    fn block(&mut self, block: &Object<'_>, home: Home) -> Result<(), WireError> {
        let own = match self.role {
            Role::Assistant => Speaker::Model,
            Role::System => Speaker::Harness,
            Role::User | Role::Tool => Speaker::Human,
        };
        let (body, speaker, text) = match kind(block).as_str() {
            "text" => return self.text(member(block, "text", "a text block with `text`")?, home),
            "tool_use" => {
                let (call, text) = call(block)?;
                (PartBody::Call(call), Speaker::Model, text)
            }
            "tool_result" => return self.result(block, home),
            "thinking" => {
                let text = member(block, "thinking", "a thinking block with `thinking`")?.str()?;
                (PartBody::Thinking(text.into_owned()), Speaker::Model, TextSite::Fixed)
            }
            "redacted_thinking" => {
                (PartBody::Thinking(String::new()), Speaker::Model, TextSite::Fixed)
            }
            "image" => (PartBody::Image(image_of(block)), own, TextSite::Fixed),
            other if other.ends_with("_tool_result") => {
                (PartBody::Opaque(opaque(block)), Speaker::Tool, TextSite::Fixed)
            }
            _ => (PartBody::Opaque(opaque(block)), own, TextSite::Fixed),
        };
        self.parts.push(body, speaker, home, text);
        Ok(())
    }

    fn result(&mut self, block: &Object<'_>, home: Home) -> Result<(), WireError> {
        let call =
            member(block, "tool_use_id", "a tool result with `tool_use_id`")?.str()?.into_owned();
        let error = block.is_true("is_error");
        let mut add = |text: String, site| {
            self.parts.push(
                PartBody::Result(ToolResult { call: call.clone(), text, error }),
                Speaker::Tool,
                home,
                site,
            )
        };
        let Some(content) = block.some("content") else {
            add(String::new(), TextSite::Fixed);
            return Ok(());
        };
        if content.kind() == JsonValueKind::String {
            add(content.str()?.into_owned(), TextSite::Literal(content.span()));
            return Ok(());
        }
        if content.kind() != JsonValueKind::Array {
            return Err(content.unexpected("a string or an array of blocks"));
        }
        let outer = add(String::new(), TextSite::Fixed);
        let inner = content.objects()?;
        self.parts.set_inner(outer, BracketList::of(&inner));
        for (item, block) in inner.items.iter().enumerate() {
            let home = Home::Inner { outer, item };
            let (body, text) = match kind(block).as_str() {
                "text" => {
                    let text = member(block, "text", "a text block with `text`")?;
                    (PartBody::Text(text.str()?.into_owned()), TextSite::Literal(text.span()))
                }
                "image" => (PartBody::Image(image_of(block)), TextSite::Fixed),
                _ => (PartBody::Opaque(opaque(block)), TextSite::Fixed),
            };
            self.parts.push(body, Speaker::Tool, home, text);
        }
        Ok(())
    }
}

fn call(block: &Object<'_>) -> Result<(ToolCall, TextSite), WireError> {
    let text =
        |key, expected| Ok::<_, WireError>(member(block, key, expected)?.str()?.into_owned());
    let input = member(block, "input", "a tool call with `input`")?;
    let call = ToolCall {
        id: text("id", "a tool call with `id`")?,
        tool: text("name", "a tool call with `name`")?,
        arguments: input.raw().to_owned(),
    };
    Ok((call, TextSite::Arguments { span: input.span(), literal: false }))
}

fn image_of(block: &Object<'_>) -> epitome_types::ImagePart {
    let source = block.get("source").and_then(JsonValue::as_object);
    let text = |key| source.as_ref().and_then(|source| source.text(key));
    match text("data") {
        Some(data) => image::size(&data),
        // Elsewhere: known by its address or the id of its file.
        None => image::size_of_url(&text("url").or_else(|| text("file_id")).unwrap_or_default()),
    }
}

fn member<'a>(
    block: &Object<'a>,
    key: &str,
    expected: &'static str,
) -> Result<JsonValue<'a>, WireError> {
    block.get(key).ok_or_else(|| block.value.unexpected(expected))
}
