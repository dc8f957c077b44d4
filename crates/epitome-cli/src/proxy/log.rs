//! The log of a proxy: a line for each request, and for what goes wrong.
//!
//! Invariant: no credential and no text of a conversation reaches it. Set up once, before the proxy
//! starts.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Mutex;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::ProxyFlags;
use crate::fault::CliError;
use crate::files;

/// From this size on a log is put aside and begun anew, in bytes.
const LARGEST: u64 = 8 << 20;

/// Logs to standard error.
pub(crate) fn to_stderr(flags: &ProxyFlags) {
    begin(flags, io::stderr, io::stderr().is_terminal());
}

/// Logs to a file of the user's own.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn to_file(flags: &ProxyFlags, path: &Path) -> Result<(), CliError> {
    let file = files::log(path, LARGEST)?;
    begin(flags, Mutex::new(file), false);
    Ok(())
}

fn begin(
    flags: &ProxyFlags,
    out: impl for<'w> MakeWriter<'w> + Send + Sync + 'static,
    colors: bool,
) {
    let (ours, proxy) = match (flags.quiet, flags.verbose) {
        (true, _) => (Level::ERROR, Level::ERROR),
        (_, true) => (Level::INFO, Level::DEBUG),
        _ => (Level::WARN, Level::INFO),
    };
    let targets = Targets::new().with_default(Level::WARN.min(ours)).with_targets([
        ("epitome", ours),
        // A policy speaks to its author, whatever else is said.
        ("policy", if flags.quiet { Level::ERROR } else { ours.max(Level::INFO) }),
        ("news", proxy),
        ("epitome_proxy", proxy),
    ]);
    // Events are said in words, as news.
    let targets = targets.with_target("epitome::events", LevelFilter::OFF);
    let colors = colors && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let layer = tracing_subscriber::fmt::layer().with_writer(out).with_ansi(colors);
    let layer = layer.with_target(false);
    // One that is there already is a host's own.
    drop(tracing_subscriber::registry().with(targets).with(layer).try_init());
}
