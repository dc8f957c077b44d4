//! The tests of the real program are in `main.rs`; this library is empty and lets cargo know the
//! package.
