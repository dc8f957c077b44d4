//! Writes paired turns as a request of a provider.
//!
//! Invariant: one item of `at` for each message written. Called by `transcribe`.

use std::borrow::Cow;

use epitome_types::Role;

use super::{RecordedMessage, RecordedPiece, RecordedResult, Transcript};
use crate::assemble::MAX_TOKENS;
use crate::json::literal;

/// Stands first where a recording begins with a reply (RULES 106).
const OPENING: &str = "(The recording begins here.)";

/// A request to Anthropic's Messages API.
pub(super) fn anthropic(model: Option<&str>, turns: Vec<RecordedMessage<'_>>) -> Transcript {
    let mut out = Messages::default();
    let (system, turns): (Vec<_>, Vec<_>) =
        turns.into_iter().partition(|turn| turn.role == Role::System);
    let mut turns = turns.into_iter().peekable();
    if turns.peek().is_none_or(|turn| turn.role != Role::User) {
        out.add("user", &literal(OPENING), None);
    }
    while let Some(RecordedMessage { role, at, mut pieces }) = turns.next() {
        // The results of one reply share a message (RULES 102).
        while role == Role::Tool
            && let Some(mut next) = turns.next_if(|next| next.role == Role::Tool)
        {
            pieces.append(&mut next.pieces);
        }
        let role = if role == Role::Assistant { "assistant" } else { "user" };
        out.add(role, &blocks(&pieces), at);
    }
    let mut head = named(model);
    head += &format!(r#""max_tokens":{MAX_TOKENS},"#);
    let system = system.iter().map(|turn| texts(&turn.pieces)).collect::<Vec<_>>().join("\n\n");
    if !system.is_empty() {
        head += &format!(r#""system":{},"#, literal(&system));
    }
    out.request("messages", &head)
}

/// A request to a chat completions API.
pub(super) fn openai(model: Option<&str>, turns: Vec<RecordedMessage<'_>>) -> Transcript {
    let mut out = Messages::default();
    for RecordedMessage { role, at, mut pieces } in turns {
        pieces.retain(|piece| !matches!(piece, RecordedPiece::Native { .. }));
        match role {
            _ if pieces.is_empty() => {}
            Role::System => out.add("system", &literal(&texts(&pieces)), at),
            Role::User => out.add("user", &parts(&pieces), at),
            Role::Assistant => out.add("assistant", &reply(&pieces), at),
            Role::Tool => {
                for answer in pieces.iter().filter_map(answer) {
                    let text = literal(&texts(&answer.content));
                    let more = format!(r#"{text},"tool_call_id":{}"#, literal(&answer.call));
                    out.add("tool", &more, at.clone());
                }
            }
        }
    }
    out.request("messages", &named(model))
}

/// A request to the Responses API.
pub(super) fn responses(model: Option<&str>, turns: Vec<RecordedMessage<'_>>) -> Transcript {
    let mut out = Messages::default();
    for RecordedMessage { role, at, mut pieces } in turns {
        pieces.retain(|piece| !matches!(piece, RecordedPiece::Native { .. }));
        let mut said: Vec<_> = pieces.iter().filter_map(|piece| input(role, piece)).collect();
        if !said.is_empty() {
            let role = match role {
                Role::System => "system",
                Role::Assistant => "assistant",
                Role::User | Role::Tool => "user",
            };
            let content = std::mem::take(&mut said).join(",");
            out.item(
                &format!(r#"{{"type":"message","role":"{role}","content":[{content}]}}"#),
                at.clone(),
            );
        }
        for piece in &pieces {
            match piece {
                RecordedPiece::Call(call) => out.item(
                    &format!(
                        r#"{{"type":"function_call","call_id":{},"name":{},"arguments":{}}}"#,
                        literal(&call.id),
                        literal(&call.tool),
                        literal(&call.arguments)
                    ),
                    at.clone(),
                ),
                RecordedPiece::Answer(answer) => out.item(
                    &format!(
                        r#"{{"type":"function_call_output","call_id":{},"output":{}}}"#,
                        literal(&answer.call),
                        literal(&texts(&answer.content))
                    ),
                    at.clone(),
                ),
                RecordedPiece::Text(_)
                | RecordedPiece::Image { .. }
                | RecordedPiece::Native { .. } => {}
            }
        }
    }
    // An empty list is no request.
    if out.at.is_empty() {
        let text = literal(OPENING);
        out.item(&format!(r#"{{"type":"message","role":"user","content":{text}}}"#), None);
    }
    out.request("input", &named(model))
}

/// A text or an image as content of the Responses API.
fn input(role: Role, piece: &RecordedPiece<'_>) -> Option<String> {
    match piece {
        RecordedPiece::Text(text) => {
            let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
            Some(format!(r#"{{"type":"{kind}","text":{}}}"#, literal(text)))
        }
        RecordedPiece::Image { media, data } => {
            let url = literal(&format!("data:{media};base64,{data}"));
            Some(format!(r#"{{"type":"input_image","image_url":{url}}}"#))
        }
        RecordedPiece::Native { .. } | RecordedPiece::Call(_) | RecordedPiece::Answer(_) => None,
    }
}

/// A request to Ollama's chat.
pub(super) fn ollama(model: Option<&str>, turns: Vec<RecordedMessage<'_>>) -> Transcript {
    let mut out = Messages::default();
    // The tool that each call asked for.
    let mut tools = std::collections::BTreeMap::new();
    for RecordedMessage { role, at, mut pieces } in turns {
        pieces.retain(|piece| !matches!(piece, RecordedPiece::Native { .. }));
        match role {
            _ if pieces.is_empty() => {}
            Role::System => out.add("system", &literal(&texts(&pieces)), at),
            Role::User => {
                let said = pieces.iter().filter_map(|piece| match piece {
                    RecordedPiece::Text(text) => Some(text.as_ref()),
                    _ => None,
                });
                let said = literal(&said.collect::<Vec<_>>().join("\n\n"));
                let images = pieces.iter().filter_map(|piece| match piece {
                    RecordedPiece::Image { data, .. } => Some(literal(data)),
                    _ => None,
                });
                let images = images.collect::<Vec<_>>().join(",");
                let more = match images.is_empty() {
                    true => said,
                    false => format!(r#"{said},"images":[{images}]"#),
                };
                out.add("user", &more, at);
            }
            Role::Assistant => {
                let calls = pieces.iter().filter_map(|piece| match piece {
                    RecordedPiece::Call(call) => {
                        tools.insert(call.id.clone().into_owned(), literal(&call.tool));
                        Some(format!(
                            r#"{{"function":{{"name":{},"arguments":{}}}}}"#,
                            literal(&call.tool),
                            call.arguments
                        ))
                    }
                    _ => None,
                });
                let calls = calls.collect::<Vec<_>>().join(",");
                let text = literal(&texts(&pieces));
                let more = match calls.is_empty() {
                    true => text,
                    false => format!(r#"{text},"tool_calls":[{calls}]"#),
                };
                out.add("assistant", &more, at);
            }
            Role::Tool => {
                for answer in pieces.iter().filter_map(answer) {
                    let text = literal(&texts(&answer.content));
                    let tool = tools.get(answer.call.as_ref());
                    let tool =
                        tool.map_or_else(String::new, |tool| format!(r#","tool_name":{tool}"#));
                    out.add("tool", &format!("{text}{tool}"), at.clone());
                }
            }
        }
    }
    out.request("messages", &named(model))
}

/// The member that names the model.
fn named(model: Option<&str>) -> String {
    model.map_or_else(String::new, |model| format!(r#""model":{},"#, literal(model)))
}

/// The messages written so far.
#[derive(Default)]
struct Messages {
    json: String,
    at: Vec<Option<String>>,
}

impl Messages {
    /// Adds a message; behind the content further members may follow.
    fn add(&mut self, role: &str, content: &str, at: Option<Cow<'_, str>>) {
        self.item(&format!(r#"{{"role":"{role}","content":{content}}}"#), at);
    }

    fn item(&mut self, json: &str, at: Option<Cow<'_, str>>) {
        let comma = if self.json.is_empty() { "" } else { ",\n" };
        self.json += comma;
        self.json += json;
        self.at.push(at.map(Cow::into_owned));
    }

    fn request(self, key: &str, head: &str) -> Transcript {
        let request = format!("{{{head}\"{key}\":[\n{}\n]}}\n", self.json);
        Transcript { request: request.into_bytes(), at: self.at, ..Transcript::default() }
    }
}

/// Anthropic's content: a string where one text is all, else blocks.
fn blocks(pieces: &[RecordedPiece<'_>]) -> String {
    if let [RecordedPiece::Text(text)] = pieces {
        return literal(text);
    }
    let blocks: Vec<_> = pieces.iter().map(block).collect();
    format!("[{}]", blocks.join(","))
}

fn block(piece: &RecordedPiece<'_>) -> String {
    match piece {
        RecordedPiece::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, literal(text)),
        RecordedPiece::Image { media, data } => format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":{},"data":{}}}}}"#,
            literal(media),
            literal(data)
        ),
        RecordedPiece::Native { json, .. } => json.to_string(),
        RecordedPiece::Call(call) => format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{}}}"#,
            literal(&call.id),
            literal(&call.tool),
            call.arguments
        ),
        RecordedPiece::Answer(answer) => {
            let error = if answer.error { r#","is_error":true"# } else { "" };
            let content = match answer.content.as_slice() {
                [] => String::new(),
                content => format!(r#","content":{}"#, blocks(content)),
            };
            format!(
                r#"{{"type":"tool_result","tool_use_id":{}{content}{error}}}"#,
                literal(&answer.call)
            )
        }
    }
}

/// The user's content for chat completions: a string where there are only texts, else parts.
fn parts(pieces: &[RecordedPiece<'_>]) -> String {
    let parts: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            RecordedPiece::Text(_) => Some(block(piece)),
            RecordedPiece::Image { media, data } => {
                let url = literal(&format!("data:{media};base64,{data}"));
                Some(format!(r#"{{"type":"image_url","image_url":{{"url":{url}}}}}"#))
            }
            RecordedPiece::Native { .. } | RecordedPiece::Call(_) | RecordedPiece::Answer(_) => {
                None
            }
        })
        .collect();
    match pieces {
        [RecordedPiece::Text(text)] => literal(text),
        _ => format!("[{}]", parts.join(",")),
    }
}

/// The texts, a blank line between; images are named only, where no image may stand.
fn texts(pieces: &[RecordedPiece<'_>]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        RecordedPiece::Text(text) => Some(text.as_ref()),
        RecordedPiece::Image { .. } => Some("(image)"),
        RecordedPiece::Native { .. } | RecordedPiece::Call(_) | RecordedPiece::Answer(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The model's content for chat completions, its calls behind it.
fn reply(pieces: &[RecordedPiece<'_>]) -> String {
    let text = texts(pieces);
    let calls: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            RecordedPiece::Call(call) => Some(format!(
                r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
                literal(&call.id),
                literal(&call.tool),
                literal(&call.arguments)
            )),
            _ => None,
        })
        .collect();
    match (text.is_empty(), calls.is_empty()) {
        (_, true) => literal(&text),
        (true, false) => format!(r#"null,"tool_calls":[{}]"#, calls.join(",")),
        (false, false) => format!(r#"{},"tool_calls":[{}]"#, literal(&text), calls.join(",")),
    }
}

fn answer<'p, 'a>(piece: &'p RecordedPiece<'a>) -> Option<&'p RecordedResult<'a>> {
    match piece {
        RecordedPiece::Answer(answer) => Some(answer),
        _ => None,
    }
}
