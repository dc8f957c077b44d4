//! The input as a provider's request, to be read as far as it is needed.
//!
//! Invariant: its bytes are borrowed and never copied. Read by the compressor and by sessions.

pub(crate) use epitome_wire::ParsedRequest;
use epitome_wire::WireError;

use crate::source::RequestSource;

/// What a request is read from, bit by bit.
pub(crate) trait AsSource {
    /// The request, to be read as far as it is needed.
    fn source(&self) -> Result<RequestSource<'_>, WireError>;
}

impl AsSource for ParsedRequest<'_> {
    fn source(&self) -> Result<RequestSource<'_>, WireError> {
        RequestSource::of(&self.bytes, self.format, &self.at)
    }
}
