//! What a plugin in a folder is made of, as one hash.
//!
//! Invariant: what a plugin does not run (its samples, what a build leaves beside its program) has no
//! part in it. Nothing is run.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read, Result};
use std::path::{Path, PathBuf};

use super::placed::MadeOf;
use super::reference::PluginRef;

/// Folders that hold nothing that a plugin runs.
const LEFT_OUT: [&str; 4] = ["__pycache__", "node_modules", "samples", "target"];
/// The most files that are looked at.
const MOST_FILES: usize = 1000;
/// Of a larger file size and time stand for its content, in bytes.
const LARGEST: u64 = 8 << 20;

/// The hash of the files that a plugin may run; `None` where they cannot be read.
pub(super) fn files(plugin: &PluginRef) -> Option<String> {
    let MadeOf::Folder { folder, manifest } = &plugin.placed.made_of else { return None };
    let mut found = BTreeMap::new();
    collect(folder, "", &mut found).ok()?;
    // What is named runs, wherever it stands.
    for word in manifest.command.iter().chain(&manifest.module) {
        let path = folder.join(word);
        if path.is_file() {
            found.insert(word.clone(), path);
        }
    }
    let mut hasher = blake3::Hasher::new();
    for (name, path) in &found {
        hasher.update(name.as_bytes());
        hasher.update(&content(path).ok()?);
    }
    Some(hasher.finalize().to_hex().to_string())
}

fn collect(folder: &Path, below: &str, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || LEFT_OUT.contains(&&*name) || found.len() >= MOST_FILES {
            continue;
        }
        let kind = entry.file_type()?;
        let path = format!("{below}{name}");
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), found)?;
        } else if entry.path().is_file() {
            found.insert(path, entry.path());
        }
    }
    Ok(())
}

fn content(path: &Path) -> Result<Vec<u8>> {
    let facts = fs::metadata(path)?;
    if facts.len() > LARGEST {
        return Ok(format!("{} {:?}", facts.len(), facts.modified()?).into_bytes());
    }
    let mut bytes = facts.len().to_le_bytes().to_vec();
    OpenOptions::new().read(true).open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
