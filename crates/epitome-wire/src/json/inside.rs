//! What stands inside a value: its items, its members.
//!
//! Invariant: each level that is looked into is walked once more, and nothing below it is. Called
//! by every reader of this crate, through [`JsonValue`].

use super::{Cursor, JsonValue, JsonValueKind, Object, Objects};
use crate::WireError;

impl<'a> JsonValue<'a> {
    /// The items of an array.
    pub(crate) fn items(self) -> Result<Vec<JsonValue<'a>>, WireError> {
        let mut items = Vec::new();
        self.inside(JsonValueKind::Array, "an array")?.items(|cursor| {
            items.push(cursor.value()?);
            Ok(())
        })?;
        Ok(items)
    }

    /// The items of an array that holds objects only.
    pub(crate) fn objects(self) -> Result<Objects<'a>, WireError> {
        self.inside(JsonValueKind::Array, "an array")?.objects()
    }

    /// The members, where it is an object.
    pub(crate) fn as_object(self) -> Option<Object<'a>> {
        if self.kind() == JsonValueKind::Object { self.object().ok() } else { None }
    }

    /// The members of what must be an object.
    pub(crate) fn object(self) -> Result<Object<'a>, WireError> {
        self.inside(JsonValueKind::Object, "an object")?.object()
    }

    fn inside(self, kind: JsonValueKind, expected: &'static str) -> Result<Cursor<'a>, WireError> {
        if self.kind() != kind {
            return Err(self.unexpected(expected));
        }
        #[cfg(test)]
        tests::WALKED.set(tests::WALKED.get() + self.span().len());
        Ok(Cursor::new(self.text(), self.span().start()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::{Format, RequestDocument};

    thread_local! {
        /// How many bytes this thread has walked again, after the first pass over them.
        pub(super) static WALKED: Cell<usize> = const { Cell::new(0) };
    }

    /// Each level that a reader looks into is walked once more: the blocks of a message, the
    /// blocks in a result. What is nested deeper costs nothing.
    #[test]
    fn a_request_is_walked_a_fixed_number_of_times() {
        let check = |name: &str, format: Format, message: &str, most: usize| {
            let messages = vec![message; 1_500_000 / message.len()].join(",");
            let body = format!(r#"{{"messages":[{messages}]}}"#);
            let before = WALKED.get();
            RequestDocument::parse(body.as_bytes(), format).unwrap();
            let walked = WALKED.get() - before;
            assert!(walked <= most * body.len(), "{name}: {walked} of {} bytes", body.len());
        };
        let text = "let caf\\u00e9 = 1;\\n".repeat(100);
        let user = |content: &str| format!(r#"{{"role":"user","content":{content}}}"#);
        let result = |content: &str| {
            user(&format!(r#"[{{"type":"tool_result","tool_use_id":"i","content":{content}}}]"#))
        };
        let block = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        let deep = format!(r#"{}"{text}"{}"#, r#"{"a":["#.repeat(50), "]}".repeat(50));
        let image = format!(r#"[{{"type":"image","source":{{"type":"base64","data":"{text}"}}}}]"#);
        let check_anthropic = |name, message: &str, most| {
            check(name, Format::Anthropic, message, most);
        };
        check_anthropic("a string", &user(&format!("\"{text}\"")), 0);
        check_anthropic("blocks", &user(&block), 1);
        check_anthropic("a result", &result(&format!("\"{text}\"")), 1);
        check_anthropic("blocks in a result", &result(&block), 2);
        check_anthropic("an image in a result", &result(&image), 3);
        check_anthropic("nested", &user(&format!(r#"[{{"type":"document","source":{deep}}}]"#)), 1);
        let call = format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"i","function":{{"name":"t","arguments":"{text}"}}}}]}}"#
        );
        check("a call", Format::OpenAi, &call, 2);
    }
}
