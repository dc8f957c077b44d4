//! Conversations as text for a model to read.
//!
//! Invariant: what is cut from a conversation is its oldest text. Called by `answers`.

use anyhow::Result;
use serde_json::Value;

/// A conversation, a paragraph for each message.
pub(crate) fn transcript(messages: &[Value]) -> String {
    messages.iter().map(|message| said(message) + "\n\n").collect()
}

/// A message: who says it, its text, and its calls as `name(arguments)`.
pub(crate) fn said(message: &Value) -> String {
    let role = match message["role"].as_str().unwrap_or_default() {
        "system" | "developer" => "System",
        "assistant" => "Assistant",
        "tool" => "Tool",
        _ => "User",
    };
    let content = &message["content"];
    let mut out = format!("{role}: {}", content.as_str().unwrap_or_default());
    for part in content.as_array().into_iter().flatten() {
        out.push_str(part["text"].as_str().unwrap_or_default());
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let call = &call["function"];
        out.push_str(&format!("\n{}({})", text(&call["name"]), text(&call["arguments"])));
    }
    out
}

/// The newest messages, and of the one before them its end, in a room; instructions of the system
/// stay. `tokens` counts.
pub(crate) fn newest(
    messages: &[Value],
    room: usize,
    tokens: &mut dyn FnMut(&str) -> Result<usize>,
) -> Result<String> {
    let is_system = |message: &&Value| message["role"] == "system";
    let system: Vec<Value> = messages.iter().filter(is_system).cloned().collect();
    let others: Vec<Value> = messages.iter().filter(|it| !is_system(it)).cloned().collect();
    let (system, others) = (transcript(&system), transcript(&others));
    let with = |from: usize| format!("{system}{}", &others[from..]);
    let ends: Vec<usize> = others.char_indices().map(|(at, _)| at).chain([others.len()]).collect();
    let (mut exceeds, mut fits) = (0, ends.len() - 1);
    if tokens(&with(0))? <= room {
        return Ok(with(0));
    }
    while fits - exceeds > 1 {
        let middle = exceeds.midpoint(fits);
        match tokens(&with(ends[middle]))? <= room {
            true => fits = middle,
            false => exceeds = middle,
        }
    }
    Ok(with(ends[fits]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_text_fills_the_room() {
        let messages = [
            json!({"role": "system", "content": "Help."}),
            json!({"role": "user", "content": "one two three"}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "function": {"name": "look", "arguments": "{\"at\":1}"}}]}),
            json!({"role": "tool", "content": "four", "tool_call_id": "c"}),
        ];
        let mut words = |text: &str| Ok(text.split_whitespace().count());
        let mut cut = |room| newest(&messages, room, &mut words).unwrap();
        let rest = "Assistant: \nlook({\"at\":1})\n\nTool: four\n\n";
        assert_eq!(cut(7), format!("System: Help.\n\n three\n\n{rest}"));
        assert_eq!(cut(6), format!("System: Help.\n\n\n\n{rest}"));
        assert_eq!(cut(99), transcript(&messages));
    }
}
