//! What is measured: this program again, told what to be, or a server that somebody else started.
//!
//! Invariant: what was started here ends with this process, since its input does; what was not is
//! left running. Used by `main`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use super::{Fault, tree};

/// A server.
pub(super) struct Target {
    pub(super) name: String,
    pub(super) address: SocketAddr,
    /// Of the process whose tree is measured, where it is known.
    id: Option<u32>,
    started: Option<Child>,
}

impl Target {
    /// Starts one, which says where it listens.
    pub(super) fn start(name: &str, words: &[&str]) -> Result<Self, Fault> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("--serve")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let said = process.stdout.take().ok_or("no output")?;
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().parse().map_err(|_| format!("{name} did not start"))?;
        Ok(Self { name: name.into(), address, id: Some(process.id()), started: Some(process) })
    }

    /// One that runs: `NAME=URL` or `NAME=URL=PID`, the URL of no more than `http://` and an address.
    pub(super) fn rival(word: &str) -> Result<Self, Fault> {
        let wrong = || format!("{word:?}: write NAME=http://ADDRESS:PORT or that and =PID");
        let (name, rest) = word.split_once('=').ok_or_else(wrong)?;
        let (url, id) = match rest.split_once('=') {
            Some((url, id)) => (url, Some(id.parse().map_err(|_| wrong())?)),
            None => (rest, None),
        };
        let address = url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
        let address = address.parse().map_err(|_| wrong())?;
        Ok(Self { name: name.into(), address, id, started: None })
    }

    /// Whether it is a part of this program.
    pub(super) fn ours(&self) -> bool {
        self.started.is_some()
    }

    /// Milliseconds of the processor that it used so far, not a number where nobody knows.
    pub(super) fn used(&self) -> Result<f64, Fault> {
        self.id.map_or(Ok(f64::NAN), tree::used)
    }

    /// Megabytes of memory that it holds, not a number where nobody knows.
    pub(super) fn resident(&self) -> Result<f64, Fault> {
        self.id.map_or(Ok(f64::NAN), tree::resident)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let Some(process) = &mut self.started else { return };
        drop(process.stdin.take());
        if let Err(error) = process.wait() {
            println!("{} did not end: {error}", self.name);
        }
    }
}
