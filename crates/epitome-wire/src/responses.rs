//! Reads items of OpenAI's Responses API.
//!
//! Invariant: every item is an entry of its own, in order; one of unknown type is an opaque part.
//! Called through `read`.

use epitome_types::{ContentId, EntryId, PartBody, Role, Speaker, ToolCall, ToolResult};

use crate::json::{JsonValue, JsonValueKind, Object};
use crate::opaque::{kind, opaque};
use crate::site::{BracketList, Content, Home, Parts, ReadMessage, Site, TextSite};
use crate::{WireError, image, speaker};

/// The one text that `input` consists of where it is no list: a message of the user.
pub(crate) fn prompt(text: JsonValue<'_>, id: EntryId) -> ReadMessage {
    let mut reader = ResponsesReader { role: Role::User, parts: Parts::default() };
    reader.text(text, Home::Content)?;
    let (entry, parts) = reader.parts.entry(id, Role::User, text.span());
    let members = BracketList { span: text.span(), items: Vec::new() };
    Ok((
        entry,
        Site {
            role: Role::User,
            content: Content::Text(text.span()),
            members,
            calls: None,
            images: None,
            parts,
        },
    ))
}

/// What stands around a text that is the whole input, to make a message of it.
pub(crate) const BARE: (&str, &str) = (r#"{"type":"message","role":"user","content":"#, "}");

/// The message that a literal which is the whole input stands for.
pub(crate) fn bare_message(literal: &str) -> String {
    [BARE.0, literal, BARE.1].concat()
}

/// One item.
pub(crate) fn item(object: &Object<'_>, id: EntryId) -> ReadMessage {
    let mut reader = ResponsesReader { role: Role::Assistant, parts: Parts::default() };
    let content = match kind(object).as_str() {
        "message" | "" => reader.message(object)?,
        kind => {
            reader.single(kind, object)?;
            Content::Absent
        }
    };
    let role = reader.role;
    let (entry, parts) = reader.parts.entry(id, role, object.value.span());
    let members = BracketList { span: object.value.span(), items: object.member_spans() };
    Ok((entry, Site { role, content, members, calls: None, images: None, parts }))
}

/// Reads one item.
struct ResponsesReader {
    role: Role,
    parts: Parts,
}

impl ResponsesReader {
    fn message(&mut self, object: &Object<'_>) -> Result<Content, WireError> {
        self.role = role(object)?;
        let content = object.get("content");
        let content = content.ok_or_else(|| object.value.unexpected("a message with `content`"))?;
        match content.kind() {
            JsonValueKind::String => {
                self.text(content, Home::Content)?;
                Ok(Content::Text(content.span()))
            }
            JsonValueKind::Array => {
                let blocks = content.objects()?;
                for (place, block) in blocks.items.iter().enumerate() {
                    self.block(block, Home::Block(place))?;
                }
                Ok(Content::Blocks(BracketList::of(&blocks)))
            }
            _ => Err(content.unexpected("a string or an array of content")),
        }
    }

    fn text(&mut self, text: JsonValue<'_>, home: Home) -> Result<(), WireError> {
        let decoded = text.str()?.into_owned();
        let speaker = speaker::of_text(self.role, &decoded);
        self.parts.push(PartBody::Text(decoded), speaker, home, TextSite::Literal(text.span()));
        Ok(())
    }

    fn block(&mut self, block: &Object<'_>, home: Home) -> Result<(), WireError> {
        let own = match self.role {
            Role::System => Speaker::Harness,
            Role::User => Speaker::Human,
            Role::Assistant => Speaker::Model,
            Role::Tool => Speaker::Tool,
        };
        let body = match kind(block).as_str() {
            "input_text" | "output_text" | "text" => {
                let text = block.get("text");
                return self
                    .text(text.ok_or_else(|| block.value.unexpected("a text with `text`"))?, home);
            }
            "refusal" => {
                let text = block.get("refusal");
                let text = text.ok_or_else(|| block.value.unexpected("`refusal` with a text"))?;
                return self.text(text, home);
            }
            "input_image" => {
                let url = block.text("image_url").or_else(|| block.text("file_id"));
                PartBody::Image(image::size_of_url(&url.unwrap_or_default()))
            }
            _ => PartBody::Opaque(opaque(block)),
        };
        self.parts.push(body, own, home, TextSite::Fixed);
        Ok(())
    }

    /// An item that is one part.
    fn single(&mut self, kind: &str, item: &Object<'_>) -> Result<(), WireError> {
        match kind {
            "reasoning" => {
                self.reasoning(item);
                return Ok(());
            }
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
            | "apply_patch_call" => return self.call(kind, item),
            _ => {}
        }
        let is_output = kind.ends_with("_output") && item.text("call_id").is_some();
        let output = item.some("output").filter(|_| is_output);
        if let Some(output) = output
            .filter(|output| matches!(output.kind(), JsonValueKind::String | JsonValueKind::Array))
        {
            return self.result(item, output);
        }
        self.opaque(kind, item);
        Ok(())
    }

    /// What is sealed in it tells it from other reasoning: often no word of it is readable.
    fn reasoning(&mut self, item: &Object<'_>) {
        let lists =
            ["summary", "content"].into_iter().filter_map(|key| item.some(key)?.items().ok());
        let blocks = lists.flatten().filter_map(JsonValue::as_object);
        let texts: Vec<_> =
            blocks.filter_map(|block| Some(block.text("text")?.into_owned())).collect();
        let text = texts.join("\n");
        let sealed = item.text("encrypted_content").or_else(|| item.text("id"));
        let known_as = sealed.map(|sealed| format!("{text}\n{}", ContentId::for_text(&sealed)));
        let part = self.parts.push(
            PartBody::Thinking(text),
            Speaker::Model,
            Home::Message,
            TextSite::Fixed,
        );
        self.parts.set_known(part, known_as);
    }

    fn call(&mut self, kind: &str, item: &Object<'_>) -> Result<(), WireError> {
        let id = item.text("call_id").or_else(|| item.text("id"));
        let id = id.ok_or_else(|| item.value.unexpected("a call with `call_id`"))?.into_owned();
        let tool = match item.text("name") {
            // Tools of MCP servers: with their server they are named as other clients name them.
            Some(name) => match item.text("namespace").filter(|space| !space.is_empty()) {
                Some(space) => format!("{}__{name}", space.trim_end_matches('_')),
                None => name.into_owned(),
            },
            None if kind != "function_call" => kind.trim_end_matches("_call").to_owned(),
            None => return Err(item.value.unexpected("a function call with `name`")),
        };
        let given = ["arguments", "input", "action", "operation"];
        let (arguments, site) = match given.into_iter().find_map(|key| item.some(key)) {
            Some(value) if value.kind() == JsonValueKind::String => (
                value.str()?.into_owned(),
                TextSite::Arguments { span: value.span(), literal: true },
            ),
            Some(value) => {
                (value.raw().to_owned(), TextSite::Arguments { span: value.span(), literal: false })
            }
            None => (String::new(), TextSite::Fixed),
        };
        let call = ToolCall { id, tool, arguments };
        let part = self.parts.push(PartBody::Call(call), Speaker::Model, Home::Message, site);
        // Clients send the items of this API back as they came: calls are known by their bytes.
        self.parts.set_known(part, None);
        Ok(())
    }

    fn result(&mut self, item: &Object<'_>, output: JsonValue<'_>) -> Result<(), WireError> {
        self.role = Role::Tool;
        let call = item.text("call_id").unwrap_or_default().into_owned();
        let (text, site) = match output.kind() {
            JsonValueKind::String => (output.str()?.into_owned(), TextSite::Literal(output.span())),
            _ => (String::new(), TextSite::Fixed),
        };
        let body = PartBody::Result(ToolResult { call, text, error: false });
        let outer = self.parts.push(body, Speaker::Tool, Home::Message, site);
        if output.kind() == JsonValueKind::Array {
            let inner = output.objects()?;
            self.parts.set_inner(outer, BracketList::of(&inner));
            for (place, block) in inner.items.iter().enumerate() {
                self.block(block, Home::Inner { outer, item: place })?;
            }
        }
        Ok(())
    }

    /// Any other item. What a provider compacted stands for the beginning of the conversation
    /// (RULES 125): it has the role of a system prompt, so that it never leaves.
    fn opaque(&mut self, kind: &str, item: &Object<'_>) {
        let id = |key| item.text(key).map(|id| id.into_owned());
        let mut opaque = opaque(item);
        let mut speaker = Speaker::Model;
        match kind {
            "mcp_approval_request" => opaque.calls = id("id"),
            "mcp_approval_response" => opaque.answers = id("approval_request_id"),
            _ if kind.ends_with("_call") => opaque.calls = id("call_id"),
            _ if kind.ends_with("_output") => opaque.answers = id("call_id"),
            _ if kind.contains("compaction") => {
                (self.role, speaker) = (Role::System, Speaker::Harness);
            }
            _ => {}
        }
        if opaque.answers.is_some() {
            (self.role, speaker) = (Role::Tool, Speaker::Tool);
        }
        self.parts.push(PartBody::Opaque(opaque), speaker, Home::Message, TextSite::Fixed);
    }
}

fn role(message: &Object<'_>) -> Result<Role, WireError> {
    const EXPECTED: &str = "`system`, `developer`, `user` or `assistant`";
    let Some(role) = message.get("role") else {
        return Err(message.value.unexpected("an item with `type`, or a message with `role`"));
    };
    match role.str()?.as_ref() {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        _ => Err(role.unexpected(EXPECTED)),
    }
}
