//! The proxy over real sockets: what an upstream sees, and what comes back.

mod lab;
mod pass;
mod refuse;
mod stream;
mod talk;
