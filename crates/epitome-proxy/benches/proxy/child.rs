//! A process that is measured: this program again, told what to be.
//!
//! Invariant: it ends with this process, since its input does. Used by `main`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use super::Fault;

/// Milliseconds of a tick in which the system accounts for time; a hundred a second on all Linux.
const TICK: f64 = 10.0;

/// A process that serves.
pub(super) struct Child {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    process: std::process::Child,
}

impl Child {
    /// Starts one, which says where it listens.
    pub(super) fn start(name: &'static str, words: &[&str]) -> Result<Self, Fault> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("--serve")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let said = process.stdout.take().ok_or("no output")?;
        BufReader::new(said).read_line(&mut line)?;
        Ok(Self { name, address: line.trim().parse()?, process })
    }

    /// Milliseconds of the processor that it used so far.
    pub(super) fn used(&self) -> Result<f64, Fault> {
        let stat = self.read("stat")?;
        let (_, fields) = stat.rsplit_once(')').ok_or("no name in stat")?;
        let ticks: f64 =
            fields.split_whitespace().skip(11).take(2).flat_map(str::parse::<f64>).sum();
        Ok(ticks * TICK)
    }

    /// Megabytes of memory that it holds.
    pub(super) fn resident(&self) -> Result<f64, Fault> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        Ok(kilobytes.ok_or("no VmRSS")?.parse::<f64>()? / 1024.0)
    }

    fn read(&self, what: &str) -> Result<String, Fault> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{what}", self.process.id()))?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        if let Err(error) = self.process.wait() {
            println!("{} did not end: {error}", self.name);
        }
    }
}
