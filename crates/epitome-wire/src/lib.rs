//! Provider and transcript formats: bytes to entries, edits to bytes.
//!
//! A request is read as spans over its own bytes ([`Document`]); edits replace spans, so whatever
//! no edit touched leaves with the bytes it came with (hazard 32). Recordings of clients are
//! turned into requests first ([`convert`]). [`validate`] is the last word before a body goes out.
//!
//! Invariant: no input makes this crate panic or overflow the stack; what it cannot read is an
//! error that names the byte. Called by the facade and, for requests, by the proxy.

mod anthropic;
mod detect;
mod document;
mod edit;
mod error;
mod format;
mod image;
mod json;
mod openai;
mod record;
mod scan;
mod site;
mod speaker;
mod validate;

pub use detect::detect;
pub use document::Document;
pub use error::WireError;
pub use format::Format;
pub use record::{Transcript, convert, transcribe};
pub use scan::{MessageSpan, Scan, scan};
pub use validate::{Violation, validate};
