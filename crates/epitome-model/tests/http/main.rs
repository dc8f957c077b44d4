//! Calls of a scripted provider over HTTP.

#[cfg(test)]
mod calls;
