//! What never reaches the disk: matches of the profile's patterns, replaced before they are
//! recorded (RULES 1).
//!
//! Invariant: every text that the journal is given has been through here; the client's own request
//! is sent as it came.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use epitome_kernel::Eviction;
use epitome_types::{ArrivalRewrite, Op, Plan};
#[cfg(feature = "redact")]
use regex::Regex;

#[cfg(not(feature = "redact"))]
use self::unread::Regex;

#[cfg(not(feature = "redact"))]
mod unread {
    //! Where regular expressions are not compiled in: there is no pattern, and none can be read.

    use std::borrow::Cow;

    /// A pattern, of which there is none.
    #[derive(Clone, Debug)]
    pub(super) enum Regex {}

    impl Regex {
        pub(super) fn new(_pattern: &str) -> Result<Self, &'static str> {
            Err("patterns are not compiled in; build with the feature `redact`")
        }

        pub(super) fn as_str(&self) -> &str {
            match *self {}
        }

        pub(super) fn is_match(&self, _text: &str) -> bool {
            match *self {}
        }

        pub(super) fn replace_all<'t>(&self, _text: &'t str, _with: &str) -> Cow<'t, str> {
            match *self {}
        }
    }
}

/// What stands where something was taken out.
const MASK: &str = "[redacted]";

/// Patterns whose matches are not recorded.
#[derive(Clone, Debug, Default)]
pub struct RedactionPatterns {
    /// What looks like a key: no match begins with what JSON escapes, so that a message without one
    /// is told as it stands.
    keys: Option<KeyPatterns>,
    /// What the user wants masked beside that.
    patterns: Vec<Regex>,
}

/// Patterns as one, compiled when a text is first held to it: most commands record nothing, and would
/// take milliseconds longer to start.
#[derive(Clone, Debug)]
struct KeyPatterns {
    any: String,
    read: Arc<OnceLock<Option<Regex>>>,
}

impl KeyPatterns {
    fn regex(&self) -> Option<&Regex> {
        self.read.get_or_init(|| read(&self.any).ok()).as_ref()
    }
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` cannot be read: {cause}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub cause: String,
}

/// Two redactions are the same where their patterns are.
impl PartialEq for RedactionPatterns {
    fn eq(&self, other: &Self) -> bool {
        let keys = |of: &Self| of.keys.as_ref().map(|keys| keys.any.clone());
        let patterns = |of: &Self| of.patterns.iter().map(|it| it.as_str().to_owned()).collect();
        let patterns: [Vec<String>; 2] = [patterns(self), patterns(other)];
        keys(self) == keys(other) && patterns[0] == patterns[1]
    }
}

impl RedactionPatterns {
    /// A redaction by these patterns.
    ///
    /// # Errors
    ///
    /// When one of them is no regular expression.
    pub fn new(patterns: &[String]) -> Result<Self, PatternError> {
        let patterns = patterns.iter().map(|pattern| read(pattern)).collect::<Result<_, _>>()?;
        Ok(Self { keys: None, patterns })
    }

    /// The same, and what looks like a key by these patterns, which [`RedactionPatterns::check`] takes.
    /// Where patterns are not compiled in, no key is told from other texts.
    #[must_use]
    pub fn with_keys(self, keys: &[String]) -> Self {
        let any = (!keys.is_empty()).then(|| format!("(?:{})", keys.join(")|(?:")));
        Self { keys: any.map(|any| KeyPatterns { any, read: Arc::default() }), ..self }
    }

    /// Whether these patterns can be read.
    ///
    /// # Errors
    ///
    /// When one of them is no regular expression.
    pub fn check(patterns: &[String]) -> Result<(), PatternError> {
        patterns.iter().try_for_each(|pattern| read(pattern).map(drop))
    }

    fn keys(&self) -> Option<&Regex> {
        self.keys.as_ref().and_then(KeyPatterns::regex)
    }

    fn all(&self) -> impl Iterator<Item = &Regex> {
        self.keys().into_iter().chain(&self.patterns)
    }

    /// The text as it may be recorded.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.all().fold(Cow::Borrowed(text), |text, pattern| {
            match pattern.replace_all(&text, MASK) {
                Cow::Borrowed(_) => text,
                Cow::Owned(masked) => Cow::Owned(masked),
            }
        })
    }

    /// An encoded message as it may be recorded: each string of it is redacted by itself, so that
    /// it stays sound JSON whatever a pattern takes.
    pub fn json<'t>(&self, raw: &'t str) -> Cow<'t, str> {
        if self.patterns.is_empty() && self.keys().is_none_or(|keys| !keys.is_match(raw)) {
            return Cow::Borrowed(raw);
        }
        let (mut out, mut is_masked) = (String::new(), false);
        let mut at = 0;
        while let Some(start) = raw[at..].find('"').map(|quote| at + quote) {
            let end = literal_end(raw, start);
            out.push_str(&raw[at..start]);
            let literal = &raw[start..end];
            match serde_json::from_str::<String>(literal) {
                Ok(text) => match self.text(&text) {
                    Cow::Borrowed(_) => out.push_str(literal),
                    Cow::Owned(masked) => {
                        out.push_str(&serde_json::Value::from(masked).to_string());
                        is_masked = true;
                    }
                },
                Err(_) => out.push_str(literal),
            }
            at = end;
        }
        out.push_str(&raw[at..]);
        if is_masked { Cow::Owned(out) } else { Cow::Borrowed(raw) }
    }

    /// How many masks stand in what was recorded.
    pub fn masks(recorded: &[u8]) -> u64 {
        memchr::memmem::find_iter(recorded, MASK).count() as u64
    }

    /// Redacts an owned text in its place.
    fn redact(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }

    /// Redacts what leaves the prompt.
    pub fn departure(&self, departure: &mut Eviction) {
        departure.blobs.iter_mut().for_each(|blob| self.redact(&mut blob.text));
        departure.passages.iter_mut().for_each(|passage| self.redact(&mut passage.text));
    }

    /// Redacts what stands in the place of a tool result.
    pub fn rewrite(&self, rewrite: &mut ArrivalRewrite) {
        self.redact(&mut rewrite.with);
    }

    /// Redacts what stands in the place of a run.
    pub fn plan(&self, plan: &mut Plan) {
        for op in &mut plan.ops {
            match op {
                Op::Replace { with: text, .. }
                | Op::Insert { text, .. }
                | Op::State { text, .. } => self.redact(text),
                Op::Summarize(checkpoint) => self.redact(&mut checkpoint.text),
                Op::Drop { .. } | Op::Strip { .. } | Op::Unbind { .. } => {}
            }
        }
    }
}

fn read(pattern: &str) -> Result<Regex, PatternError> {
    Regex::new(pattern).map_err(|error| PatternError {
        pattern: pattern.to_owned(),
        cause: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
    })
}

/// Where the string literal that begins at `start` ends.
fn literal_end(raw: &str, start: usize) -> usize {
    let mut escaped = false;
    let end = raw[start + 1..].bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(raw.len(), |end| start + end + 2)
}

#[cfg(test)]
#[cfg(feature = "redact")]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_sound_json() {
        let all = RedactionPatterns::new(&["secret.*".to_owned()]).unwrap();
        let raw = r#"{"role":"user","content":"a\nsecret \"x\" y","n":1.0}"#;
        assert_eq!(all.json(raw), r#"{"role":"user","content":"a\n[redacted]","n":1.0}"#);
        assert_eq!(RedactionPatterns::default().json(raw), raw);
    }

    #[test]
    fn matches_are_masked_and_bad_patterns_named() {
        let keys = RedactionPatterns::new(&["sk-[a-z0-9]{4,}".to_owned()]);
        let masked = keys.map(|keys| keys.text("use sk-abcd1234, not sk-x").into_owned());
        assert_eq!(masked, Ok("use [redacted], not sk-x".to_owned()));
        let error = RedactionPatterns::new(&["(".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "the pattern `(` cannot be read: error: unclosed group");
    }

    /// What looks like a key, put together here so that no file holds one.
    #[test]
    fn keys_are_told_from_what_only_looks_like_them() {
        let profile = crate::profile::Profile::default();
        assert_eq!(RedactionPatterns::check(&profile.options.redact.keys), Ok(()));
        let redaction = profile.redaction;
        let filled =
            |start: &str, long: usize| format!("{start}{}", "Ab3x9Q".repeat(12)[..long].to_owned());
        let keys = [
            filled("sk-ant-api03-", 40),
            filled("sk-proj-", 40),
            filled("sk-", 48),
            filled("sk-or-v1-", 64),
            filled("AIza", 35),
            format!("AKIA{}", &"ABCD1234".repeat(2)),
            filled("gsk_", 52),
            filled("ghp_", 36),
            filled("github_pat_", 40),
            filled("hf_", 34),
            filled("xoxb-", 30),
            filled("sk_live_", 24),
        ];
        for key in keys {
            let said = format!("export KEY={key}; go");
            assert_eq!(redaction.text(&said), "export KEY=[redacted]; go", "{key}");
            let message = serde_json::json!({"role": "user", "content": said}).to_string();
            assert!(!redaction.json(&message).contains(&key), "{key}");
        }
        let pem = ["-----BEGIN RSA ", "PRIVATE KEY-----\nMIIE\nx=\n-----END RSA PRIVATE KEY-----"];
        let message = serde_json::json!({"content": format!("a {} b", pem.concat())}).to_string();
        assert_eq!(redaction.json(&message), r#"{"content":"a [redacted] b"}"#);
        let none = [
            "sk-ant-... or sk-YOUR_KEY",
            "task-0123456789abcdef0123456789abcdef0123",
            "a commit 0123456789abcdef0123456789abcdef01234567",
            "class=\"risk-assessment-of-a-very-long-name-of-some-kind\"",
            "AIzaShort, AKIA, hf_transformers, ghp_test",
        ];
        for said in none {
            assert_eq!(redaction.text(said), said);
        }
    }
}
