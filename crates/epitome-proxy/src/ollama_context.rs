//! The context size that Ollama is told to make room for, where its user chose one.
//!
//! Invariant: of a request nothing changes but `options.num_ctx`, and that only ever grows: one that
//! asks for more goes as it came. The same size is told with each request, so that no model is loaded
//! anew and what its server has cached stays of use (RULES 19, 153). Called by `prepare`.

use bytes::Bytes;
use epitome_wire::{parameter, with_parameter};

/// Where it stands.
const PATH: [&str; 2] = ["options", "num_ctx"];

/// A request that asks for at least so many tokens of context; `None` where it does already, or
/// cannot be read.
pub(crate) fn with_room(body: &[u8], size: u64) -> Option<Bytes> {
    let known = parameter(body, &PATH).and_then(|known| known.parse::<u64>().ok());
    if known.is_some_and(|known| known >= size) {
        return None;
    }
    with_parameter(body, &PATH, size).map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Option<&str>) {
        let told = with_room(body.as_bytes(), 8192);
        assert_eq!(told.as_deref().map(|it| std::str::from_utf8(it).unwrap()), expected);
    }

    #[test]
    fn the_context_size_only_ever_grows() {
        check("{}", Some(r#"{"options":{"num_ctx":8192}}"#));
        check(r#"{"options": {"num_ctx": 2048 }}"#, Some(r#"{"options": {"num_ctx": 8192 }}"#));
        check(r#"{"options":{"num_ctx":8192}}"#, None);
        check(r#"{"options":{"num_ctx":131072}}"#, None);
        check(r#"{"options":[8]}"#, None);
        check("[]", None);
    }
}
