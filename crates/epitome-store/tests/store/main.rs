//! The stores, seen through the port: one suite for both, and what holds for files alone.

#[cfg(test)]
mod common;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod file;
