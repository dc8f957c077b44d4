//! The input as a provider's request, whatever it came as.
//!
//! Invariant: a request's own bytes are borrowed and never copied; only recordings are converted.
//! Called by the compressor.

use std::borrow::Cow;

use epitome_wire::{Format, RequestDocument, TornLine, WireError, detect, transcribe, untorn};

use crate::Error;
use crate::session::RequestSource;

/// A request, and what it was made from.
pub(crate) struct ParsedRequest<'a> {
    bytes: Cow<'a, [u8]>,
    /// When each message was said, where a recording tells.
    at: Vec<Option<String>>,
    /// The input's format.
    pub(crate) from: Format,
    /// The request's own.
    pub(crate) format: Format,
    /// The last line of a recording, where it is not whole.
    pub(crate) torn: Option<TornLine>,
}

impl<'a> ParsedRequest<'a> {
    /// Reads the input, but for a last line that is torn: as `from`, or as what its content says; a recording becomes a request in
    /// the format `to`, or in the nearest one.
    pub(crate) fn read(
        input: &'a [u8],
        from: Option<Format>,
        to: Option<Format>,
    ) -> Result<Self, Error> {
        let (whole, torn) = untorn(input);
        let from = from.map_or_else(|| detect(whole), Ok)?;
        let format = to.unwrap_or(from.nearest());
        if from.is_recording() {
            let transcript = transcribe(whole, from, format)?;
            let bytes = transcript.request.into();
            return Ok(Self { bytes, at: transcript.at, from, format, torn });
        }
        if format != from {
            return Err(Error::Conversion { from, to: format });
        }
        Ok(Self { bytes: input.into(), at: Vec::new(), from, format, torn: None })
    }

    /// The request, to be read as far as it is needed.
    pub(crate) fn source(&self) -> Result<RequestSource<'_>, WireError> {
        RequestSource::of(&self.bytes, self.format, &self.at)
    }

    /// The request, read.
    pub(crate) fn document(&self) -> Result<RequestDocument<'_>, WireError> {
        Ok(RequestDocument::parse(&self.bytes, self.format)?.with_times(&self.at))
    }
}
