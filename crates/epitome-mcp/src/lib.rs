//! The levers of a session as an MCP server, so that the agent can pull them itself.
//!
//! [`stdio`] serves one client over standard input and output, [`McpHttp`] answers requests of a host
//! that listens. Both are the same server: `table` declares its tools, `args` what they take,
//! `words` what they say, `documents` what can be read besides; the protocol is the official
//! SDK's.
//!
//! Invariant: the server keeps nothing. What a tool does is recorded in the journal before it
//! answers, so a client that goes away loses nothing and leaves nothing behind, and any number of
//! clients may talk at once.

mod args;
mod documents;
mod http;
mod misfit;
mod schema;
mod server;
mod stdio;
mod table;
mod words;

pub use http::McpHttp;
pub use stdio::{StdioError, stdio};
