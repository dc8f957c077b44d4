//! What changed in a policy, as a diff.
//!
//! Invariant: a text of somebody else is printed without what a terminal would obey. What was trusted
//! last is kept with the user's own data, so that the next change can be shown.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use epitome::Config;
use epitome::lock::{LockState, PolicyLock, file_hash, policy_files};
use similar::TextDiff;

use crate::fault;
use crate::files;
use crate::text::plain;

/// The files of a policy, as texts, by their paths.
pub(super) type Texts = BTreeMap<String, String>;

/// The lines around a change.
const AROUND: usize = 2;

/// The most lines of a new file that are printed: whoever trusts it has to see it.
const NEW_LINES: usize = 1_000;

/// The folder of what was trusted, in the user's data.
const SEEN: &str = "trusted-policies";

/// The most bytes of a text that is kept.
const MOST: u64 = 16 << 20;

/// Files as texts.
pub(super) fn texts(files: &BTreeMap<String, Vec<u8>>) -> Texts {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    files.iter().map(|(path, bytes)| (path.clone(), text(bytes))).collect()
}

/// Prints what changed, file by file.
pub(super) fn print(out: &mut dyn Write, before: &Texts, after: &Texts) -> io::Result<()> {
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let empty = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        if old == new {
            continue;
        }
        let (old_text, new_text) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
        let (from, to) = (old.map_or("/dev/null", |_| path), new.map_or("/dev/null", |_| path));
        let diff = TextDiff::from_lines(old_text.as_str(), new_text.as_str());
        let diff = diff.unified_diff().context_radius(AROUND).header(from, to).to_string();
        let most = if old.is_none() { NEW_LINES } else { usize::MAX };
        for line in diff.lines().take(most) {
            writeln!(out, "{}", plain(line))?;
        }
        let more = diff.lines().count().saturating_sub(most);
        if more > 0 {
            writeln!(out, "… {more} more lines of {}; read them before you trust it", plain(path))?;
        }
    }
    Ok(())
}

/// A policy from elsewhere that is about to be trusted.
pub(crate) struct AddedPolicy {
    folder: PathBuf,
    /// What was trusted last.
    before: Texts,
    after: Texts,
    state: LockState,
}

/// The policy from elsewhere that a folder is, if it is one.
pub(crate) fn added_policy(config: &Config, folder: &Path) -> Option<AddedPolicy> {
    let shelf = folder.parent()?;
    let name = folder.file_name()?.to_str()?;
    let lock = PolicyLock::read(shelf).ok()?;
    let state = lock.find(name)?.state(shelf);
    let after = texts(&policy_files(folder).ok()?);
    let before = seen(config, folder).unwrap_or_default();
    Some(AddedPolicy { folder: folder.to_owned(), before, after, state })
}

impl AddedPolicy {
    /// Prints what is new since it was trusted last.
    pub(crate) fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { folder, before, after, state } = self;
        if before != after {
            writeln!(out, "{}", plain(&super::shown(folder)))?;
            print(out, before, after)?;
            writeln!(out)?;
        }
        match state {
            LockState::Edited => writeln!(out, "It is not what its lock says.\n"),
            LockState::Locked | LockState::Missing => Ok(()),
        }
    }

    /// Keeps what it holds, which is trusted now.
    pub(crate) fn keep(&self, config: &Config) {
        let Some(path) = record(config, &self.folder) else { return };
        let text = serde_json::to_vec(&self.after).unwrap_or_default();
        let folder = path.parent().unwrap_or(&path);
        let kept =
            files::make_private_folder(folder).and_then(|()| files::write_private(&path, &text));
        if let Err(error) = kept {
            fault::warn(&format!(
                "{}: {}; the next change of `{}` is shown as if all of it were new",
                path.display(),
                files::cause(&error),
                self.folder.display()
            ));
        }
    }
}

fn seen(config: &Config, folder: &Path) -> Option<Texts> {
    let path = record(config, folder)?;
    if !path.is_file() {
        return None;
    }
    let text = files::read(Some(&path), MOST).ok()?;
    serde_json::from_slice(&text).ok()
}

fn record(config: &Config, folder: &Path) -> Option<PathBuf> {
    let whole = folder.canonicalize().ok()?;
    let name = file_hash(whole.as_os_str().as_encoded_bytes());
    Some(config.data()?.join(SEEN).join(format!("{}.json", name.trim_start_matches("b3:"))))
}
