//! What a message says, wherever pieces of it may have been copied to.
//!
//! Invariant: pure; both stores look for the same copies. Called when something is to go for good.

use epitome_kernel::types::{ContentId, Epoch, Op};
use rustc_hash::FxHashSet;
use serde_json::Value;

/// The addresses under which copies of a message may be kept: of its readable text, and of every
/// string in it, since parts are kept under their own.
pub(crate) fn addresses(text: ContentId, bytes: Option<&[u8]>) -> FxHashSet<ContentId> {
    let mut found: FxHashSet<ContentId> =
        strings(bytes).iter().map(|string| ContentId::of(string)).collect();
    found.insert(text);
    found
}

/// Whether a title was made of the message.
pub(crate) fn made(title: &str, bytes: Option<&[u8]>) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = words(title.trim_end_matches(['…', '.']));
    !title.is_empty() && strings(bytes).iter().any(|string| words(string).contains(&title))
}

/// The addresses of what an epoch sends, and of the lists that its checkpoints lead to.
pub(crate) fn of_epoch(epoch: &Epoch) -> FxHashSet<ContentId> {
    let mut found = FxHashSet::default();
    for op in &epoch.plan.ops {
        match op {
            Op::Replace { with: text, .. } | Op::Insert { text, .. } => {
                found.insert(ContentId::of(text));
            }
            Op::Summarize(checkpoint) => {
                found.extend([checkpoint.id, ContentId::of(&checkpoint.text)]);
            }
            Op::Drop { .. } => {}
        }
    }
    found
}

/// Every string of an encoded message; all of it where it is no JSON.
fn strings(bytes: Option<&[u8]>) -> Vec<String> {
    let Some(bytes) = bytes else { return Vec::new() };
    let mut found = Vec::new();
    match serde_json::from_slice(bytes) {
        Ok(value) => gather(value, &mut found),
        Err(_) => found.extend(String::from_utf8(bytes.to_vec())),
    }
    found
}

fn gather(value: Value, found: &mut Vec<String>) {
    match value {
        Value::String(string) => found.push(string),
        Value::Array(values) => values.into_iter().for_each(|value| gather(value, found)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| gather(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_a_place_to_look() {
        let bytes = br#"{"role":"user","content":[{"type":"text","text":"one \u00e9"},{"n":1}]}"#;
        let found = addresses(ContentId::of("whole"), Some(bytes));
        for text in ["whole", "one é", "user", "text"] {
            assert!(found.contains(&ContentId::of(text)), "{text}");
        }
        assert_eq!(found.len(), 4);
        assert!(addresses(ContentId::of(""), Some(b"plain")).contains(&ContentId::of("plain")));
    }

    #[test]
    fn a_title_is_told_from_others() {
        let bytes = br#"{"content":"My password  is\nhunter2, remember it"}"#;
        assert!(made("My password is hunter2…", Some(bytes)));
        assert!(made("My password is", Some(bytes)));
        assert!(!made("Your password", Some(bytes)));
        assert!(!made("", Some(bytes)));
        assert!(!made("My password", None));
    }
}
