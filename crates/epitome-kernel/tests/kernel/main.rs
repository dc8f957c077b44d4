//! The kernel's tests over whole conversations.

#[cfg(test)]
mod thread;
