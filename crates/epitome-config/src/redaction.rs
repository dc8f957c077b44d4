//! What never reaches the disk: matches of the profile's patterns, replaced before they are
//! recorded (RULES 1).
//!
//! Invariant: every text that the journal is given has been through here; the client's own request
//! is sent as it came. Where a request is read its messages go through here before anybody makes
//! anything of them, so that what is made, and the addresses of that, are of what is recorded.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use epitome_types::{ArrivalRewrite, Entry, Op, PartBody, Plan};
#[cfg(feature = "redact")]
use regex::Regex;

#[cfg(not(feature = "redact"))]
use self::unread::Regex;

#[cfg(not(feature = "redact"))]
mod unread;

/// What stands where something was taken out.
const MASK: &str = "[redacted]";

/// Patterns whose matches are not recorded.
#[derive(Clone, Debug, Default)]
pub struct RedactionPatterns {
    /// What looks like a key.
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

    /// The text as it may be recorded.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.masked(text, &mut []).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// The text with masks, where it has to have any; places in it move along.
    fn masked(&self, text: &str, places: &mut [usize]) -> Option<String> {
        let keys = self.keys().map(|keys| found(keys, text, true)).unwrap_or_default();
        let mut out = mask(text, &keys, places);
        for pattern in &self.patterns {
            let text = out.as_deref().unwrap_or(text);
            out = mask(text, &found(pattern, text, false), places).or(out);
        }
        out
    }

    /// An encoded message as it may be recorded: each string of it is redacted by itself, so that
    /// it stays sound JSON whatever a pattern takes.
    pub fn json<'t>(&self, raw: &'t str) -> Cow<'t, str> {
        // A key says the same there as it stands, unless its letters are written as numbers.
        let has_key = |keys: &Regex| !found(keys, raw, true).is_empty();
        let is_spelt = memchr::memmem::find(raw.as_bytes(), b"\\u00").is_some();
        if self.patterns.is_empty() && !self.keys().is_some_and(|keys| is_spelt || has_key(keys)) {
            return Cow::Borrowed(raw);
        }
        let (mut out, mut is_masked) = (String::new(), false);
        let mut at = 0;
        while let Some(start) = raw[at..].find('"').map(|quote| at + quote) {
            let end = literal_end(raw, start);
            out.push_str(&raw[at..start]);
            let literal = &raw[start..end];
            match decoded(literal).map(|text| self.masked(&text, &mut [])) {
                Some(Some(masked)) => {
                    out.push_str(&serde_json::Value::from(masked).to_string());
                    is_masked = true;
                }
                _ => out.push_str(literal),
            }
            at = end;
        }
        out.push_str(&raw[at..]);
        if is_masked { Cow::Owned(out) } else { Cow::Borrowed(raw) }
    }

    /// A message as it may be recorded, where that is another one than this.
    pub fn entry(&self, entry: &Entry) -> Option<Entry> {
        let mut masked: Option<Entry> = None;
        for (at, part) in entry.parts.iter().enumerate() {
            let mut places: Vec<usize> =
                part.files.iter().flat_map(|copy| [copy.body.start, copy.body.end]).collect();
            let new = match &part.body {
                PartBody::Text(text) | PartBody::Thinking(text) => self.masked(text, &mut places),
                PartBody::Result(result) => self.masked(&result.text, &mut places),
                PartBody::Call(call) => owned(self.json(&call.arguments)),
                PartBody::Opaque(block) => owned(self.json(&block.text)),
                PartBody::Image(_) => None,
            };
            let Some(new) = new else { continue };
            let whole = masked.get_or_insert_with(|| entry.clone());
            let Some(part) = whole.parts.get_mut(at) else { continue };
            for (copy, place) in part.files.iter_mut().zip(places.chunks_exact(2)) {
                copy.body = place[0]..place[1];
            }
            match &mut part.body {
                PartBody::Text(text) | PartBody::Thinking(text) => *text = new,
                PartBody::Result(result) => result.text = new,
                PartBody::Call(call) => call.arguments = new,
                PartBody::Opaque(block) => (block.text, block.data) = (new, 0..0),
                PartBody::Image(_) => {}
            }
        }
        masked
    }

    /// Messages as they may be recorded; the same ones where that is what they say.
    pub fn entries<'e>(&self, entries: &'e [Entry]) -> Cow<'e, [Entry]> {
        if entries.iter().all(|entry| self.entry(entry).is_none()) {
            return Cow::Borrowed(entries);
        }
        let masked = |entry: &Entry| self.entry(entry).unwrap_or_else(|| entry.clone());
        entries.iter().map(masked).collect()
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

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

/// Where a pattern is found, in order; a key begins where a word does, and ends where it does.
fn found(pattern: &Regex, text: &str, is_key: bool) -> Vec<Range<usize>> {
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some(range) = pattern.find_at(text, at).map(|found| found.range()) {
        let Range { start, mut end } = range;
        if is_key && !begins_word(text.as_bytes(), start) {
            at = start + 1;
            continue;
        }
        if is_key {
            let rest = text[end..].bytes();
            end += rest.take_while(|byte| is_word(*byte) || *byte == b'-').count();
        }
        if start < end {
            ranges.push(start..end);
        }
        // An empty match is passed over by one character.
        let next = text[end..].chars().next().map_or(1, char::len_utf8);
        at = if start < end { end } else { end + next };
        if at > text.len() {
            break;
        }
    }
    ranges
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a word may begin at a place: the letter of an escape (`\n`, `\u000a`, `%20`, the end of a
/// colour) belongs to no word.
fn begins_word(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let (Some(first), Some(last)) = (text.get(at), before.last()) else { return true };
    if !is_word(*first) || !is_word(*last) {
        return true;
    }
    let ends_with = |sign: u8, length: usize| {
        before.len().checked_sub(length).is_some_and(|from| before[from] == sign)
    };
    let is_hex = |length: usize| {
        let from = before.len().saturating_sub(length);
        before[from..].iter().all(u8::is_ascii_hexdigit)
    };
    let is_letter = matches!(last, b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'a' | b'e' | b'0');
    let is_unicode = ends_with(b'\\', 6) && ends_with(b'u', 5) && is_hex(4);
    let is_percent = ends_with(b'%', 3) && is_hex(2);
    // Of a name and its key, `KEY_sk-…`, only the key is one.
    let is_joint = *last == b'_';
    is_letter && ends_with(b'\\', 2) || is_unicode || is_percent || is_joint || ends_colour(before)
}

/// Whether a text ends with what sets a colour or clears a line: the sign of an escape or its name,
/// a bracket, numbers and a letter.
fn ends_colour(text: &[u8]) -> bool {
    let Some((last, rest)) = text.split_last() else { return false };
    let numbers = rest.iter().rev().take_while(|it| matches!(it, b'0'..=b'9' | b';')).count();
    let Some((b'[', sign)) = rest[..rest.len() - numbers].split_last() else { return false };
    let is_escape = [&b"\x1b"[..], b"001b", b"001B", b"x1b", b"x1B", b"033", b"\\e"];
    *last == b'm' || last.is_ascii_alphabetic() && is_escape.iter().any(|it| sign.ends_with(it))
}

/// The text with masks in these ranges, where there are any; places in it move along.
fn mask(text: &str, ranges: &[Range<usize>], places: &mut [usize]) -> Option<String> {
    if ranges.is_empty() {
        return None;
    }
    for place in places.iter_mut() {
        let before = ranges.iter().take_while(|range| range.start < *place);
        let (mut gone, mut end) = (0, *place);
        before.clone().for_each(|range| {
            gone += range.len();
            end = end.max(range.end);
        });
        *place = end - gone + before.count() * MASK.len();
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        out.push_str(&text[at..range.start]);
        out.push_str(MASK);
        at = range.end;
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// What a string literal says. Half a character, which clients leave where they cut, is none.
fn decoded(literal: &str) -> Option<Cow<'_, str>> {
    let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    let whole = || literal.replace("\\ud", "\\uf").replace("\\uD", "\\uf");
    let read = serde_json::from_str::<String>(literal);
    read.or_else(|_| serde_json::from_str(&whole())).ok().map(Cow::Owned)
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
            filled("ya29.", 60),
            filled("pypi-", 60),
            format!("SG.{}.{}", filled("", 22), filled("", 43)),
            format!("dop_v1_{}", "0123456789abcdef".repeat(4)),
            format!("shpat_{}", "0123456789abcdef".repeat(2)),
            filled("lin_api_", 40),
            filled("hvs.", 60),
            format!("AGE-SECRET-KEY-1{}", "QPZRY9X8GF2TVDW0S3JN54KHCE".repeat(3)[..58].to_owned()),
            format!("eyJ{}.eyJ{}.{}", filled("", 30), filled("", 40), filled("", 43)),
        ];
        for key in keys {
            let said = format!("export KEY={key}; go");
            assert_eq!(redaction.text(&said), "export KEY=[redacted]; go", "{key}");
            let message = serde_json::json!({"role": "user", "content": said}).to_string();
            assert!(!redaction.json(&message).contains(&key), "{key}");
        }
        let none = [
            "sk-ant-... or sk-YOUR_KEY",
            "task-0123456789abcdef0123456789abcdef0123",
            "a commit 0123456789abcdef0123456789abcdef01234567",
            "class=\"risk-assessment-of-a-very-long-name-of-some-kind\"",
            "AIzaShort, AKIA, hf_transformers, ghp_test",
            "It must begin with -----BEGIN PRIVATE KEY-----. Never delete /srv/data9 - ask Maria.",
            "if text.startswith(\"-----BEGIN PRIVATE KEY-----\"):\n    return load(text, password)",
        ];
        for said in none {
            assert_eq!(redaction.text(said), said);
            let message = serde_json::json!({"content": said}).to_string();
            assert_eq!(redaction.json(&message), message);
        }
    }

    /// A key as it stands where escapes, colours or other encodings come before it.
    #[test]
    fn a_key_is_told_wherever_it_begins() {
        let redaction = crate::profile::Profile::default().redaction;
        let key = format!("sk-ant-api03-{}", "Ab3x9Q".repeat(7));
        let coloured = "\u{1b}[01;31m\u{1b}[K";
        for before in
            ["\n", "\t", "\r\n", "\u{1b}[31m", coloured, "x=%20", "密钥", "\"", "a-", "A_"]
        {
            let said = format!("my key:{before}{key}\nand more");
            assert!(!redaction.text(&said).contains(&key), "{before:?}");
            let message = serde_json::json!({"content": said}).to_string();
            let nested = serde_json::json!({"arguments": message}).to_string();
            let twice = serde_json::json!({"text": nested}).to_string();
            for raw in [message, nested, twice] {
                let masked = redaction.json(&raw);
                assert!(!masked.contains(&key), "{before:?}: {masked}");
                assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
            }
        }
        for raw in [
            format!("{{\"a\":\"\\u0073{}\"}}", &key[1..]),
            format!("{{\"a\":\"half \\ud83d {key}\"}}"),
            format!("{{\"{key}\":1}}"),
        ] {
            assert!(!redaction.json(&raw).contains(&key[1..]), "{raw}");
        }
        assert_eq!(redaction.text(&format!("x{key}")), format!("x{key}"));
        let long = key.repeat(40);
        assert_eq!(redaction.text(&format!("a {long} b")), "a [redacted] b");
        // What is no key everywhere takes no longer than its length.
        let many = "xsk-ant-".repeat(100_000);
        assert_eq!(redaction.text(&many), many);
    }

    /// A private key in the ways in which tools show one, put together so that no file holds one.
    #[test]
    fn a_private_key_is_told_with_all_its_lines() {
        let redaction = crate::profile::Profile::default().redaction;
        let line = |at: usize| format!("{at:02}{}", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(2));
        let lines: Vec<String> = (0..20).map(|at| line(at)[..64].to_owned()).collect();
        let [head, end] =
            ["BEGIN", "END"].map(|it| format!("-----{it} RSA PRIVATE {}-----", "KEY"));
        let bare: Vec<&str> = std::iter::once(&*head)
            .chain(lines.iter().map(String::as_str))
            .chain(["Ab3x9Q==", &*end])
            .collect();
        let fields = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC,0A1B2C", ""];
        let sealed = [&bare[..1], &fields, &bare[1..]].concat();
        let shown = |marked: fn(&str) -> String| {
            bare.iter().map(|line| marked(line)).collect::<Vec<_>>().join("\n")
        };
        let texts = [
            bare.join("\n"),
            bare.join("\r\n"),
            bare.join("\\n"),
            sealed.join("\n"),
            shown(|line| format!("-{line}")),
            shown(|line| format!("+{line}")),
            shown(|line| format!("> {line}")),
            shown(|line| format!("    12→{line}")),
            shown(|line| format!("    \"{line}\\n\" +")),
            bare[..bare.len() - 2].join("\n"),
        ];
        for text in texts {
            let said = format!("Here it is:\n{text}\nKeep it well, and go on.");
            let masked = redaction.text(&said).into_owned();
            assert!(lines.iter().all(|line| !masked.contains(line)), "{masked}");
            assert!(masked.starts_with("Here it is:") && masked.ends_with("go on."), "{masked}");
            let message = serde_json::json!({"content": said}).to_string();
            let masked = redaction.json(&message);
            assert!(lines.iter().all(|line| !masked.contains(line)), "{masked}");
            assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
        }
    }

    #[test]
    fn copies_of_files_stay_where_they_are() {
        let redaction = RedactionPatterns::new(&["secret[0-9]*".to_owned()]).unwrap();
        let text = "a secret1234567890 <secret1>body secret2 end</x> secret3";
        let body = text.find("body").unwrap()..text.find("</x>").unwrap();
        let mut places = [body.start, body.end];
        let masked = redaction.masked(text, &mut places).unwrap();
        assert_eq!(&masked[places[0]..places[1]], "body [redacted] end");
    }
}
