//! The stores, seen through the port: one suite for both, and what holds for files alone.

mod common;
mod conformance;
mod file;
