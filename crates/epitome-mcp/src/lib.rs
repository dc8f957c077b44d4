//! The levers of a session as an MCP server.
