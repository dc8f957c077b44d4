//! The last line of a session whose store does not answer in time, such as a database far away.
//!
//! Invariant: nobody waits for it. A process of its own asks the store and leaves the line in the
//! user's data folder, where the next call finds it. Called by `statusline` alone.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use epitome::session_hash;

use super::{Args, StatusInput};
use crate::files;

/// The folder of the lines, in the user's data folder.
const FOLDER: &str = "statusline";

/// So many are kept, the newest.
const KEPT: usize = 64;

/// The largest line that is read, in bytes.
const MOST: u64 = 4096;

/// The line that was left for a session; empty where there is none.
pub(super) fn line(args: &Args, input: &StatusInput) -> String {
    let read = || {
        let bytes = files::read(Some(&path(args, input)?), MOST).ok()?;
        String::from_utf8(bytes).ok()
    };
    read().unwrap_or_default()
}

/// Has a process of its own leave the line of a session.
pub(super) fn refresh(args: &Args, input: &[u8]) {
    let Ok(program) = env::current_exe() else { return };
    // The words before the user's own command, and before the `--` there.
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let own = words.len().saturating_sub(args.command.len());
    let words = words[..own].iter().filter(|word| *word != "--");
    let mut command = Command::new(program);
    command.args(words).arg("--refresh").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    if let Some(mut stdin) = child.stdin.take() {
        // It is read at once; where that process failed, there is no line.
        stdin.write_all(input).unwrap_or_default();
    }
}

/// Leaves the line of a session, in the place of the one before.
pub(super) fn keep(args: &Args, input: &StatusInput, line: &str) {
    let Some(path) = path(args, input) else { return };
    let Some(folder) = path.parent() else { return };
    if files::make_private_folder(folder).is_ok()
        && let Err(error) = files::write_private(&path, line.as_bytes())
    {
        tracing::debug!("the line is not kept: {error}");
    }
    prune(folder);
}

/// Removes the oldest lines.
fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let dated = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
    });
    let mut all: Vec<_> = dated.collect();
    all.sort();
    let old = all.len().saturating_sub(KEPT);
    // Another process may have removed it.
    all[..old].iter().for_each(|(_, path)| fs::remove_file(path).unwrap_or_default());
}

/// The file of a session, by a name that tells nothing of it.
fn path(args: &Args, input: &StatusInput) -> Option<PathBuf> {
    if input.session_id.is_empty() {
        return None;
    }
    let config = args.profile.load(|sources| sources).ok()?;
    let about = format!("{:?} {:?}", args.store, args.scopes);
    Some(config.data()?.join(FOLDER).join(session_hash(&about, &input.session_id)))
}
