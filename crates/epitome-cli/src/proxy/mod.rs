//! What `serve` and `run` share: flags, the proxy's settings, its log.
//!
//! Invariant: a proxy that cannot start says so before anything depends on it.

mod arms;
mod books;
mod cockpit;
mod flags;
mod log;
mod start;

pub(crate) use cockpit::address as page_address;
pub(crate) use flags::ProxyFlags;
pub(crate) use log::{to_file, to_stderr};
pub(crate) use start::{StartOverrides, prepared};

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::time::Duration;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::fault::CliError;

/// How long streams may go on once the proxy is told to stop.
pub(crate) const FINISH: Duration = Duration::from_secs(30);

/// The runtime that a proxy runs on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::internal)?;
    let entered = runtime.enter();
    // Where files may not grow further, that is an error of the write and not the end of the process.
    drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw())));
    drop(entered);
    Ok(runtime)
}

/// 128 bits that nobody can guess, as text.
pub(crate) fn drawn() -> io::Result<String> {
    drawn_bytes::<16>()
}

/// A secret of 256 bits, as text.
pub(crate) fn drawn_secret() -> io::Result<String> {
    drawn_bytes::<32>()
}

/// So many bytes that nobody can guess, as text.
fn drawn_bytes<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    OpenOptions::new().read(true).open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
