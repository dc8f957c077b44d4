//! One client over standard input and output.
//!
//! Invariant: standard output holds messages of the protocol and nothing else; the server ends with
//! its input.

use epitome::SessionControls;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio as streams;

use crate::server::McpServer;

/// Why a client could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// It did not begin as clients do.
    #[error("the client did not say what it is: {0}; start this from an MCP client")]
    Beginning(String),
    /// The server failed.
    #[error("the server ended in the middle: {0}")]
    Broken(String),
}

/// Serves the client that started this process, until it closes standard input.
///
/// # Errors
///
/// When what comes is not the beginning of the protocol.
pub async fn stdio(levers: SessionControls) -> Result<(), StdioError> {
    let running = match McpServer::new(levers, None).serve(streams()).await {
        Ok(running) => running,
        // It went before it said anything, as those do that only look whether the program is there.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Beginning(error.to_string())),
    };
    running.waiting().await.map(drop).map_err(|error| StdioError::Broken(error.to_string()))
}
