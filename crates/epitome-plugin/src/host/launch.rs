//! How a program is started, and what it is held to.
//!
//! Invariant: plain data. Made by hosts.

use std::path::PathBuf;
use std::time::Duration;

/// How a program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// The program and its arguments: a name is looked for on the path, a path begins at `folder`.
    pub command: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The variables that it gets beside `PATH`.
    pub env: Vec<(String, String)>,
    /// What it may do besides.
    pub needs: ProcessNeeds,
    /// What it is held to.
    pub limits: ProcessLimits,
}

/// What a program may do where the kernel can keep it from that. It may read what its user may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessNeeds {
    /// Whether it may reach other machines and programs.
    pub network: bool,
    /// Whether it may write where its user may.
    pub files: bool,
}

/// What a program is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// How long it may take from its start to its hello.
    pub hello: Duration,
    /// How long it may take for an answer.
    pub call: Duration,
    /// Memory that each of its processes may write to, in bytes; held to on Linux.
    pub memory: Option<u64>,
    /// The longest line that it may write, in bytes.
    pub line: usize,
    /// How long it is left alone after each failure; after one more it stays off.
    pub pauses: Vec<Duration>,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(5),
            call: Duration::from_secs(2),
            memory: Some(1 << 30),
            line: 8 << 20,
            pauses: vec![Duration::ZERO, Duration::from_secs(1), Duration::from_secs(10)],
        }
    }
}
