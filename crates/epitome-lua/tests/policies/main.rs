//! Policies as a host uses them: loaded, put into a chain, asked.

mod attacks;
mod errors;
mod hooks;
mod support;
