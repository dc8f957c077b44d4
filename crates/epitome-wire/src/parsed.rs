//! The input as a provider's request, whatever it came as.
//!
//! Invariant: a request's own bytes are borrowed and never copied; only recordings are converted.
//! Called where a conversation comes in.

use std::borrow::Cow;

use crate::detect::detect;
use crate::document::RequestDocument;
use crate::error::WireError;
use crate::format::Format;
use crate::record::{self, TornLine, Transcript, transcribe, unmarked, untorn};

/// Why an input is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] WireError),
    /// A request of one provider was to be written as another's.
    #[error(
        "a request in the format {from} cannot be written as {to}; only recordings are converted"
    )]
    Conversion {
        /// The input's format.
        from: Format,
        /// The format asked for.
        to: Format,
    },
}

/// A request, and what it was made from.
#[derive(Debug)]
pub struct ParsedRequest<'a> {
    /// The request.
    pub bytes: Cow<'a, [u8]>,
    /// When each message was said, where a recording tells.
    pub at: Vec<Option<String>>,
    /// How often its client compressed the conversation before, where a recording tells.
    pub compressions: Option<u32>,
    /// How many parts a recording only gives an account of.
    pub left_out: usize,
    /// The input's format.
    pub from: Format,
    /// The request's own.
    pub format: Format,
    /// The last line of a recording, where it is not whole.
    pub torn: Option<TornLine>,
}

impl<'a> ParsedRequest<'a> {
    /// Reads the input, but for a last line that is torn: as `from`, or as what its content says; a
    /// recording becomes a request in the format `to`, or in the nearest one.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or a request is to be written in another format.
    pub fn read(
        input: &'a [u8],
        from: Option<Format>,
        to: Option<Format>,
    ) -> Result<Self, InputError> {
        let (whole, torn) = untorn(input);
        let from = from.map_or_else(|| detect(whole), Ok)?;
        let format = to.unwrap_or_else(|| record::nearest_format(whole, from));
        if from.is_recording() {
            let transcript = transcribe(whole, from, format)?;
            let Transcript { request, at, compressions, left_out } = transcript;
            let bytes = request.into();
            return Ok(Self { bytes, at, compressions, left_out, from, format, torn });
        }
        if format != from {
            return Err(InputError::Conversion { from, to: format });
        }
        let (bytes, at) = (unmarked(input).into(), Vec::new());
        Ok(Self { bytes, at, compressions: None, left_out: 0, from, format, torn: None })
    }

    /// The request, read.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn document(&self) -> Result<RequestDocument<'_>, WireError> {
        Ok(RequestDocument::parse(&self.bytes, self.format)?.with_times(&self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some editors put a mark before a text in UTF-8, which JSON knows nothing of.
    #[test]
    fn a_mark_before_a_request_is_no_part_of_it() {
        let plain = r#"[{"role":"user","content":"hi"}]"#;
        let marked = format!("\u{feff}{plain}");
        for from in [None, Some(Format::OpenAi)] {
            let request = ParsedRequest::read(marked.as_bytes(), from, None).unwrap();
            assert_eq!((&*request.bytes, request.format), (plain.as_bytes(), Format::OpenAi));
            assert_eq!(request.document().unwrap().entries().len(), 1);
        }
    }
}
