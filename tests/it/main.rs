//! Drives the real program, as users and scripts do.
//!
//! Invariant: what is checked here is checked from outside, with tokens, sizes and rules worked
//! out again and nothing borrowed from the program's own crates.

#[cfg(test)]
mod ab;
#[cfg(test)]
mod background;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod chat;
#[cfg(test)]
mod chat_typed;
#[cfg(test)]
mod checkpoint;
#[cfg(test)]
mod clockless;
#[cfg(test)]
mod compress;
#[cfg(test)]
mod config;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod cookbook;
#[cfg(test)]
mod digests;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod early;
#[cfg(test)]
mod experiment;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod goal;
#[cfg(test)]
mod heard;
#[cfg(test)]
mod hops;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod imported;
#[cfg(test)]
mod keep;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod lead;
#[cfg(test)]
mod live;
#[cfg(test)]
mod marks;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod measure;
#[cfg(all(test, target_os = "linux"))]
mod memory;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod mode;
#[cfg(test)]
mod models;
#[cfg(test)]
mod modules;
#[cfg(test)]
mod old_names;
#[cfg(test)]
mod own_calls;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod playing;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod program;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod ranking;
#[cfg(test)]
mod recall;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod report;
#[cfg(test)]
mod resolve;
#[cfg(test)]
mod run;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod savings;
#[cfg(test)]
mod scan;
#[cfg(test)]
mod sealed;
#[cfg(test)]
mod session;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod shared_data;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod statusline;
#[cfg(test)]
mod store;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod templates;
#[cfg(test)]
mod tiered;
#[cfg(test)]
mod top;
#[cfg(test)]
mod torn;
#[cfg(test)]
mod trusted;
#[cfg(test)]
mod tutorial;
#[cfg(test)]
mod verdicts;
#[cfg(test)]
mod what_if;
#[cfg(test)]
mod windows;
#[cfg(test)]
mod written;
