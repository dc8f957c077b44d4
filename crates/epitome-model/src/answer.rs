//! What an answer says, without the thoughts before it.
//!
//! Invariant: thoughts are never taken for what was said, and an answer that was cut off is none.
//! Called by the client where the kernel asks it for a text.

use epitome_kernel::ModelLimitHit;
use epitome_kernel::types::PartBody;
use epitome_wire::{Format, ResponseInfo};

/// What an answer says, where it can be used.
pub(crate) fn said(
    answer: &ResponseInfo,
    format: Format,
) -> Result<String, (String, ModelLimitHit)> {
    let mut text = String::new();
    for message in &answer.messages {
        let entry = epitome_wire::message(message, format);
        let entry = entry.map_err(|error| (error.to_string(), ModelLimitHit::Other))?;
        for part in &entry.parts {
            if let PartBody::Text(said) = &part.body {
                text.push_str(said);
            }
        }
    }
    let said = spoken(&text);
    let is_cut = matches!(answer.stop.as_deref(), Some("length" | "max_tokens"));
    let lacks = |cause: &str, lack| Err((cause.to_owned(), lack));
    match said.is_empty() {
        true if is_cut => {
            lacks("its answer was cut off before it said anything", ModelLimitHit::Thoughts)
        }
        true if thinks(answer, &text) => lacks("it thought and said nothing", ModelLimitHit::Other),
        false if is_cut => {
            lacks("its answer was cut off for being too long", ModelLimitHit::Answer)
        }
        _ => Ok(said.to_owned()),
    }
}

/// What is said, without the thoughts that some servers leave before it.
fn spoken(text: &str) -> &str {
    let text = text.trim();
    match (text.strip_prefix("<think>"), text.split_once("</think>")) {
        // Some templates open the thoughts themselves.
        (_, Some((_, said))) => said.trim_start(),
        (Some(_), None) => "",
        (None, None) => text,
    }
}

/// Whether there are thoughts in an answer of which this is the text.
fn thinks(answer: &ResponseInfo, text: &str) -> bool {
    let fields = ["\"reasoning_content\"", "\"reasoning\"", "\"thinking\""];
    let in_message = |message: &Vec<u8>| {
        let message = String::from_utf8_lossy(message);
        fields.iter().any(|field| message.contains(field))
    };
    !text.trim().is_empty() || answer.messages.iter().any(in_message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_not_said() {
        let check = |text: &str, expected: &str| assert_eq!(spoken(text), expected);
        check(" plain ", "plain");
        check("<think>\nhm\n</think>\n\nso", "so");
        check("<think>without end", "");
        check("hm, hm\n</think>\nso", "so");
        check("a <think> b", "a <think> b");
    }

    /// Where all of an answer went into thoughts, asking for less is of no use.
    #[test]
    fn what_is_lacking_of_an_answer_is_told() {
        let check = |content: &str, stop: &str, expected: Result<&str, ModelLimitHit>| {
            let message = serde_json::json!({"role": "assistant", "content": content}).to_string();
            let (messages, stop) = (vec![message.into_bytes()], Some(stop.to_owned()));
            let answer = ResponseInfo { messages, stop, ..ResponseInfo::default() };
            let found = said(&answer, Format::OpenAi).map_err(|(_, lack)| lack);
            assert_eq!(found.as_deref(), expected.as_deref(), "{content}");
        };
        check("All was said.", "stop", Ok("All was said."));
        check("All was", "length", Err(ModelLimitHit::Answer));
        check("<think>Hm", "length", Err(ModelLimitHit::Thoughts));
        check("", "length", Err(ModelLimitHit::Thoughts));
        check("<think>Hm</think>All", "length", Err(ModelLimitHit::Answer));
        check("<think>Hm", "stop", Err(ModelLimitHit::Other));
        check("", "stop", Ok(""));
    }
}
