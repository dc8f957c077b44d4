//! The shipped policies, driven through the kernel in whole conversations.

mod client;
mod default;
mod ollm;
