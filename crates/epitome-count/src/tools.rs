//! What tool schemas cost: each as compact JSON, plus what a format adds around them. Counted per
//! tool, so that a cached counter knows the tools of the last request. Called when a request's
//! system tokens are summed.

use std::borrow::Cow;

use epitome_kernel::TokenCounter;

/// How a format hands tools to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFormat {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions and responses.
    OpenAi,
    /// Tools pasted into the system prompt by a chat template (Ollama and other local servers).
    Template,
}

impl ToolFormat {
    /// Tokens that any tools add, and tokens that each tool adds, beside the tools themselves.
    ///
    /// Anthropic publishes the size of its tool prompt, OpenAI the figures of its example counter;
    /// templates differ, theirs is a round figure.
    const fn overhead(self) -> (u64, u64) {
        match self {
            Self::Anthropic => (346, 0),
            Self::OpenAi => (12, 7),
            Self::Template => (40, 4),
        }
    }
}

/// Tokens of tool schemas, each given as its JSON text; 0 without tools.
pub fn tools(counter: &dyn TokenCounter, format: ToolFormat, schemas: &[&str]) -> u64 {
    if schemas.is_empty() {
        return 0;
    }
    let compact: Vec<Cow<'_, str>> = schemas.iter().map(|json| compact(json)).collect();
    let texts: Vec<&str> = compact.iter().map(AsRef::as_ref).collect();
    let (fixed, each) = format.overhead();
    fixed + counter.count_all(&texts).iter().map(|tokens| tokens + each).sum::<u64>()
}

/// JSON without the white space between its tokens. Text that is not JSON loses white space outside
/// of quotes, nothing else.
fn compact(json: &str) -> Cow<'_, str> {
    let mut quoted = false;
    let mut escaped = false;
    let mut keep = |c: char| {
        let kept = quoted || !matches!(c, ' ' | '\t' | '\r' | '\n');
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            _ => {}
        }
        kept
    };
    match json.char_indices().find(|&(_, c)| !keep(c)) {
        None => Cow::Borrowed(json),
        Some((at, _)) => {
            let mut text = String::with_capacity(json.len());
            text.push_str(&json[..at]);
            text.extend(json[at..].chars().filter(|&c| keep(c)));
            Cow::Owned(text)
        }
    }
}

#[cfg(test)]
#[cfg(feature = "o200k")]
mod tests {
    use super::*;
    use crate::VocabularyCounter;

    fn check(json: &str, expected: &str) {
        assert_eq!(compact(json), expected);
    }

    #[test]
    fn compact_keeps_strings() {
        check(r#"{"a":1}"#, r#"{"a":1}"#);
        check("{ \"a b\" :\n\t[1, 2] }\r\n", r#"{"a b":[1,2]}"#);
        check(r#"{"q": "say \" x \\" , "r": " "}"#, r#"{"q":"say \" x \\","r":" "}"#);
        check(r#"" \\\" " , " ""#, r#"" \\\" "," ""#);
    }

    #[test]
    fn tools_are_counted_compact_and_one_by_one() {
        let counter = VocabularyCounter::default();
        let tool = r#"{"name":"read","input_schema":{"type":"object"}}"#;
        let pretty = "{\n  \"name\": \"read\",\n  \"input_schema\": {\"type\": \"object\"}\n}";
        let alone = counter.count(tool);
        assert_eq!(tools(&counter, ToolFormat::Anthropic, &[]), 0);
        assert_eq!(tools(&counter, ToolFormat::Anthropic, &[pretty]), 346 + alone);
        assert_eq!(tools(&counter, ToolFormat::OpenAi, &[tool, pretty]), 12 + 2 * (alone + 7));
    }
}
