//! Provider and transcript formats: bytes to entries, edits to bytes.
//!
//! A request is read as spans over its own bytes ([`RequestDocument`]); edits replace spans, so whatever
//! no edit touched leaves with the bytes it came with (RULES 132). Recordings of clients are
//! turned into requests first ([`convert`]); [`RequestDocument::turns`] finds the requests that a client
//! made on the way to one, [`assemble`] makes one of recorded messages, and [`mod@export`] writes a
//! conversation for people and other programs. [`validate`] is the last word before a body goes out.
//!
//! Invariant: no input makes this crate panic or overflow the stack; what it cannot read is an
//! error that names the byte. Called by the facade and, for requests, by the proxy.

mod anthropic;
mod assemble;
mod attached;
mod base64;
mod canonical;
mod detect;
mod document;
mod edit;
mod error;
pub mod export;
mod file_copy;
mod format;
mod format_name;
mod image;
mod json;
mod message;
mod note;
mod opaque;
mod openai;
mod opener;
mod overflow;
mod parameter;
mod parsed;
mod read;
mod record;
mod reply;
mod responses;
mod scan;
mod site;
mod speaker;
mod system;
mod turns;
mod validate;
mod volatile;

pub use assemble::assemble;
pub use detect::detect;
pub use document::RequestDocument;
pub use edit::MessageLayout;
pub use error::WireError;
pub use file_copy::holds_files;
pub use format::Format;
pub use message::message;
pub use opener::opens_what_left;
pub use overflow::{OverflowSignatures, SignatureError, overflow};
pub use parameter::{parameter, with_parameter};
pub use parsed::{InputError, ParsedRequest};
pub use record::{TornLine, Transcript, convert, nearest_format, transcribe, untorn};
pub use reply::{ResponseInfo, ResponseParser};
pub use scan::{MessageSpan, RequestScan, scan, scan_after};
pub use system::{system, with_system};
pub use validate::{RuleViolation, validate};
