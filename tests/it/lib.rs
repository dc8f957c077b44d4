//! The integration tests live in `main.rs`; this library is empty.
