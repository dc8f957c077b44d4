//! How large a conversation is, as its client is told.
//!
//! Invariant: an answer is only ever raised, and only where the client's own history has outgrown
//! its window: then it must look full in the end, or the client never compacts (RULES 128). Called
//! by `handler`.

use bytes::Bytes;
use epitome::Prompt;
use serde_json::Value;

/// The provider's count of what would be sent, raised to the floor; none where it is above it.
pub(crate) fn raised(answer: &[u8], prompt: &Prompt, share: f64) -> Option<Bytes> {
    let floor = floor(prompt.tokens[0], prompt.limit, share)?;
    let mut answer: Value = serde_json::from_slice(answer).ok()?;
    let count = answer.get_mut("input_tokens")?;
    if count.as_u64()? >= floor {
        return None;
    }
    *count = Value::from(floor);
    Some(answer.to_string().into())
}

/// The least that is told of so many raw tokens.
fn floor(raw: u64, window: u64, share: f64) -> Option<u64> {
    (raw > window).then(|| (raw as f64 * share.clamp(0.0, 1.0)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_windows_look_full() {
        assert_eq!(floor(200_000, 200_000, 0.25), None);
        assert_eq!(floor(200_001, 200_000, 0.25), Some(50_000));
        assert_eq!(floor(800_000, 200_000, 0.25), Some(200_000));
        assert_eq!(floor(800_000, 200_000, 7.0), Some(800_000));
    }
}
