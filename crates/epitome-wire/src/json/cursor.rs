//! A strict one-pass scanner: steps over JSON without decoding it.
//!
//! Invariant: accepts exactly RFC 8259 up to 128 levels, never recurses, never panics, and looks
//! at each byte once. Called by `scan` (the hot path) and by `inside`.

use super::{JsonValue, JsonValueKind, MOST_NESTED, Object, Objects, Span, place};
use crate::WireError;

/// A position in a text.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// How many arrays and objects entered by [`Cursor::members`] and [`Cursor::items`] are open.
    depth: u32,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, depth: 0 }
    }

    /// Where it stands: right behind what was stepped over last.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes on behind a value of which is known where it ends.
    pub(crate) fn jump(&mut self, to: usize) {
        self.at = to;
    }

    /// Steps over one value.
    pub(crate) fn value(&mut self) -> Result<JsonValue<'a>, WireError> {
        let kind = self.peek_kind()?;
        let start = self.at;
        self.skip()?;
        Ok(JsonValue::new(self.text, Span::new(start, self.at), kind))
    }

    /// The kind of the value that begins here, after white space.
    pub(crate) fn peek_kind(&mut self) -> Result<JsonValueKind, WireError> {
        match self.peek() {
            Some(b'{') => Ok(JsonValueKind::Object),
            Some(b'[') => Ok(JsonValueKind::Array),
            Some(b'"') => Ok(JsonValueKind::String),
            Some(b't' | b'f') => Ok(JsonValueKind::Bool),
            Some(b'n') => Ok(JsonValueKind::Null),
            Some(b'-' | b'0'..=b'9') => Ok(JsonValueKind::Number),
            _ => Err(self.expected("a value")),
        }
    }

    /// Walks the members of the object that begins here; `each` gets the key and must step over
    /// the value.
    pub(crate) fn members(
        &mut self,
        mut each: impl FnMut(JsonValue<'a>, &mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.open(b'{', "an object")?;
        if !self.take(b'}') {
            loop {
                let key = self.key()?;
                each(key, self)?;
                if !self.take(b',') {
                    break;
                }
            }
            if !self.take(b'}') {
                return Err(self.expected("`,` or `}`"));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Walks the items of the array that begins here; `each` must step over the item.
    pub(crate) fn items(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.open(b'[', "an array")?;
        if !self.take(b']') {
            loop {
                each(self)?;
                if !self.take(b',') {
                    break;
                }
            }
            if !self.take(b']') {
                return Err(self.expected("`,` or `]`"));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Steps over the object that begins here and keeps its members.
    pub(crate) fn object(&mut self) -> Result<Object<'a>, WireError> {
        let kind = self.peek_kind()?;
        let start = self.at;
        let mut members = Vec::new();
        self.members(|key, cursor| {
            members.push((key, cursor.value()?));
            Ok(())
        })?;
        let value = JsonValue::new(self.text, Span::new(start, self.at), kind);
        Ok(Object { value, members })
    }

    /// Steps over the array of objects that begins here and keeps them.
    pub(crate) fn objects(&mut self) -> Result<Objects<'a>, WireError> {
        self.peek();
        let start = self.at;
        let mut items = Vec::new();
        self.items(|cursor| {
            items.push(cursor.object()?);
            Ok(())
        })?;
        Ok(Objects { span: Span::new(start, self.at), items })
    }

    /// Makes sure that nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), WireError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the input")),
        }
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                _ => return Some(*byte),
            }
        }
        None
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn open(&mut self, bracket: u8, expected: &'static str) -> Result<(), WireError> {
        if self.peek() != Some(bracket) {
            return Err(self.expected(expected));
        }
        if self.depth == MOST_NESTED {
            return Err(WireError::Deep { at: self.at, most: MOST_NESTED });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn key(&mut self) -> Result<JsonValue<'a>, WireError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in quotes"));
        }
        let start = self.at;
        self.string()?;
        let key = JsonValue::new(self.text, Span::new(start, self.at), JsonValueKind::String);
        if !self.take(b':') {
            return Err(self.expected("`:`"));
        }
        Ok(key)
    }

    /// Steps over one value of any kind. The open brackets are the bits of one number, a set bit
    /// for an object: that is what limits the depth to 128.
    fn skip(&mut self) -> Result<(), WireError> {
        let mut objects: u128 = 0;
        let mut open = 0;
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    if self.depth + open == MOST_NESTED {
                        return Err(WireError::Deep { at: self.at, most: MOST_NESTED });
                    }
                    self.at += 1;
                    let object = bracket == b'{';
                    if !self.take(if object { b'}' } else { b']' }) {
                        objects = objects << 1 | u128::from(object);
                        open += 1;
                        if object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                _ => return Err(self.expected("a value")),
            }
            loop {
                if open == 0 {
                    return Ok(());
                }
                let object = objects & 1 == 1;
                if self.take(b',') {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                if !self.take(if object { b'}' } else { b']' }) {
                    return Err(self.expected(if object { "`,` or `}`" } else { "`,` or `]`" }));
                }
                objects >>= 1;
                open -= 1;
            }
        }
    }

    /// Steps over the string that begins here.
    fn string(&mut self) -> Result<(), WireError> {
        let bytes = self.text.as_bytes();
        let end = string_end(bytes, self.at + 1);
        self.at = end.unwrap_or_else(|fault| fault);
        match (end, bytes.get(self.at)) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(b'\\')) => Err(self.expected("an escape sequence")),
            (Err(_), Some(_)) => Err(self.expected("an escape for the control character")),
            (Err(_), None) => Err(self.expected("the closing `\"` of a string")),
        }
    }

    fn number(&mut self) -> Result<(), WireError> {
        self.at += usize::from(self.byte() == Some(b'-'));
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), WireError> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn word(&mut self, word: &'static str) -> Result<(), WireError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[cold]
    fn expected(&self, expected: &'static str) -> WireError {
        WireError::Syntax { at: self.at, expected, place: place::container(self.text, self.at) }
    }
}

/// The offset behind the quote that closes the string whose content begins at `at`; of one that is not
/// sound, the offset of what is wrong.
fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        at = plain_until(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at += escape_len(bytes, at).ok_or(at)?,
            _ => return Err(at),
        }
    }
}

/// The length of the escape that begins at `at`, if it is one.
fn escape_len(bytes: &[u8], at: usize) -> Option<usize> {
    let letter = *bytes.get(at + 1)?;
    if ESCAPED[usize::from(letter)] {
        return Some(2);
    }
    let digits = bytes.get(at + 2..at + 6).filter(|_| letter == b'u')?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(6)
}

/// The bytes that a backslash may stand before, but for `u`.
const ESCAPED: [bool; 256] = {
    let mut out = [false; 256];
    let letters = b"\"\\/bfnrt";
    let mut at = 0;
    while at < letters.len() {
        out[letters[at] as usize] = true;
        at += 1;
    }
    out
};

/// The offset, from `at`, of the first byte that is not plain string content: a quote, a
/// backslash, a control character, or the end. Eight bytes a step.
fn plain_until(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // A borrow can only spoil bytes above the first real hit, and only that one is used.
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hits = (control
            | quote.wrapping_sub(ONES) & !quote
            | backslash.wrapping_sub(ONES) & !backslash)
            & HIGH;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::json::parse;

    /// Compares with serde_json, which refuses lone surrogates in strings only when it decodes.
    fn check(text: &str) {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text);
        let ours = parse(text);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{text}: {ours:?} {theirs:?}");
    }

    #[test]
    fn agrees_with_serde_json() {
        for text in [
            "1",
            "-0",
            "01",
            "-",
            "1.",
            "1.0",
            "1e2",
            "1E+2",
            "1e",
            ".5",
            "+1",
            "12345678901234567890123",
            "true",
            "tru",
            "nul",
            "null",
            "\"\"",
            "\"a",
            "\"\\/\\u00e9\"",
            "\"\\u00g9\"",
            "\"\\ud800\"",
            "\"\\x\"",
            "\"tab\there\"",
            "\"\u{7f}\u{80}é\"",
            "[]",
            "[1,]",
            "[,]",
            "[1 2]",
            "{}",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":1,\"a\":2}",
            "[[[]]]",
            "[}",
            "{]",
            "",
            " ",
            " [ 1 , 2 ] ",
            "1 1",
            "\u{feff}1",
        ] {
            check(text);
        }
    }

    #[test]
    fn depth_is_limited_to_128() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&nested(128)).is_ok());
        assert_eq!(
            parse(&nested(129)).unwrap_err().to_string(),
            "byte 128: expected at most 128 nested arrays and objects"
        );
        assert!(parse(&"[".repeat(1_000_000)).is_err());
        assert!(parse(&"{\"a\":".repeat(1_000_000)).is_err());
    }

    #[test]
    fn errors_name_the_container() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        };
        check(r#"{"messages":[1 2]}"#, "byte 15: expected `,` or `]` in `messages`");
        check(r#"{"a":[{"b":{"c":tru}}]}"#, "byte 16: expected a value in `a[0].b`");
        check(r#"{"a":[0,{"b":"x"#, "byte 15: expected the closing `\"` of a string in `a[1]`");
        check("[1", "byte 2: expected `,` or `]`");
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_noise(text in r#"[\[\]{},:"\\ua0-9e.+\- tfn\n]{0,24}"#) {
            check(&text);
        }

        #[test]
        fn long_strings_end_where_they_end(plain in "[a-zé中\u{7f}]{0,40}", odd in r#"("|\\n|\\"|\u{1}|)"#) {
            check(&format!("[\"{plain}{odd}{plain}\"]"));
        }
    }
}
