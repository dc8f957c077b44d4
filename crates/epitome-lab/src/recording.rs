//! A recorded conversation as the last request that its client could have made.
//!
//! Invariant: a request's own bytes stay as they are; only recordings are converted.

use epitome::{
    Error, Format, RequestDocument, TornLine, WireError, detect, nearest_format, transcribe, untorn,
};

/// A recorded conversation.
#[derive(Clone, Debug)]
pub struct Recording {
    request: Vec<u8>,
    from: Format,
    format: Format,
    torn: Option<TornLine>,
}

impl Recording {
    /// Reads a conversation: as `from`, or as what its content says. A client's recording becomes
    /// a request in the format `to`, or in the nearest one.
    ///
    /// # Errors
    ///
    /// When it cannot be read (the error names the place), or a request was to be converted.
    pub fn read(bytes: &[u8], from: Option<Format>, to: Option<Format>) -> Result<Self, Error> {
        let (whole, torn) = untorn(bytes);
        let from = from.map_or_else(|| detect(whole), Ok)?;
        let format = to.unwrap_or_else(|| nearest_format(whole, from));
        let request = match from.is_recording() {
            true => transcribe(whole, from, format)?.request,
            false if format == from => bytes.to_vec(),
            false => return Err(Error::Conversion { from, to: format }),
        };
        let recording = Self { request, from, format, torn };
        recording.document()?;
        Ok(recording)
    }

    /// The format it was read from: which client it is of.
    pub fn from(&self) -> Format {
        self.from
    }

    /// Its last line, where that is not whole and was left out.
    pub fn torn(&self) -> Option<TornLine> {
        self.torn
    }

    /// The format of its requests.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The whole of it, as one request.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// A prompt in the format of its requests as people read it: each message begins with its role.
    ///
    /// # Errors
    ///
    /// When it is no such prompt.
    pub fn readable(&self, prompt: &[u8]) -> Result<String, Error> {
        let document = RequestDocument::parse(prompt, self.format)?;
        let entries = document.entries().iter();
        let messages = entries.map(|entry| format!("{}: {}", entry.role.name(), entry.readable()));
        Ok(messages.collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn document(&self) -> Result<RequestDocument<'_>, WireError> {
        RequestDocument::parse(&self.request, self.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, to: Option<Format>, expected: Result<(Format, Format), &str>) {
        let read = Recording::read(text.as_bytes(), None, to);
        let read = read.map(|recording| (recording.from(), recording.format()));
        match (read, expected) {
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            (read, expected) => assert_eq!(read.ok(), expected.ok()),
        }
    }

    #[test]
    fn a_prompt_is_read_by_people() {
        let recording = Recording::read(b"[]", None, None).unwrap();
        let prompt =
            br#"[{"role":"user","content":"Go\non."},{"role":"assistant","content":"So."}]"#;
        assert_eq!(recording.readable(prompt).unwrap(), "user: Go\non.\nassistant: So.");
        assert!(recording.readable(b"{").is_err());
    }

    #[test]
    fn a_recording_is_read_as_its_client_would_send_it() {
        let pi = "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
        check(pi, None, Ok((Format::Pi, Format::Anthropic)));
        check(pi, Some(Format::OpenAi), Ok((Format::Pi, Format::OpenAi)));
        check("[]", None, Ok((Format::OpenAi, Format::OpenAi)));
        check("[]", Some(Format::Anthropic), Err("only recordings are converted"));
        check("[1]", None, Err("byte 1"));
        check("{\"type\":\"x\"}", None, Err("not recognised"));
    }
}
