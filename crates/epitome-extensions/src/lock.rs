//! The lock of policies that were added from elsewhere: which they are, and what they hold.
//!
//! Invariant: a policy that the lock names is never one of the user's own: it runs once the user trusts
//! what it holds. A hash covers each file by its path. Written by the command, read by the configuration.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::name::is_name;
use crate::problem::ConfigError;
use crate::toml_file::read_text;

/// The name of the file, beside the folder of policies.
const FILE: &str = "policies.lock";

/// The most files that a shared policy holds.
const MOST_FILES: usize = 500;

/// The most bytes that they hold together.
const MOST_BYTES: u64 = 8 << 20;

/// The policies that were added, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyLock {
    /// Each of them.
    #[serde(default, rename = "policy")]
    pub policies: Vec<LockedPolicy>,
}

/// A policy that was added.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LockedPolicy {
    /// Its name here.
    pub name: String,
    /// Where it is from: a folder, or `URL@REV` of a repository with `#FOLDER` in it.
    pub source: String,
    /// The commit that it was taken from, where the source is a repository.
    #[serde(default)]
    pub revision: Option<String>,
    /// The hash of each file, by its path in the folder.
    pub files: BTreeMap<String, String>,
}

/// How what is there stands to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockState {
    /// It is what was added.
    Locked,
    /// It was changed since.
    Edited,
    /// It is not there.
    Missing,
}

impl PolicyLock {
    /// The lock of a folder of policies.
    pub fn path(shelf: &Path) -> PathBuf {
        shelf.parent().unwrap_or(shelf).join(FILE)
    }

    /// Reads the lock of a folder of policies; an empty one where there is none.
    ///
    /// # Errors
    ///
    /// When it is there and is no lock.
    pub fn read(shelf: &Path) -> std::result::Result<Self, ConfigError> {
        let path = Self::path(shelf);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = read_text(&path, "a lock of policies", "policy add")?;
        let wrong = |cause: String| ConfigError::Unreadable {
            file: path.display().to_string(),
            cause: format!("{cause}; expected what `epitome policy add` writes"),
        };
        let lock: Self =
            toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
        match lock.policies.iter().find(|one| !is_name(&one.name)) {
            Some(one) => Err(wrong(format!("`{}` is no name of a policy", one.name))),
            None => Ok(lock),
        }
    }

    /// The policy of a name.
    pub fn find(&self, name: &str) -> Option<&LockedPolicy> {
        self.policies.iter().find(|one| one.name == name)
    }

    /// Puts a policy in the place of the one of its name, if there is one.
    pub fn put(&mut self, policy: LockedPolicy) {
        self.policies.retain(|one| one.name != policy.name);
        self.policies.push(policy);
        self.policies.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// The lock as a file says it.
    pub fn render(&self) -> String {
        // TOML has no bare DEL, which JSON has.
        let quoted =
            |text: &str| serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
        let mut out = String::from(
            "# Written by `epitome policy add`. `epitome policy update --locked` fetches exactly this.\n",
        );
        for LockedPolicy { name, source, revision, files } in &self.policies {
            let lines =
                [("name", Some(name)), ("source", Some(source)), ("revision", revision.as_ref())];
            out += "\n[[policy]]\n";
            for (key, text) in lines {
                out += &text.map(|text| format!("{key} = {}\n", quoted(text))).unwrap_or_default();
            }
            out += "[policy.files]\n";
            for (path, hash) in files {
                out += &format!("{} = {}\n", quoted(path), quoted(hash));
            }
        }
        out
    }
}

impl LockedPolicy {
    /// How what is there stands to what was added.
    pub fn state(&self, shelf: &Path) -> LockState {
        match policy_files(&shelf.join(&self.name)) {
            Ok(files) if hashes(&files) == self.files => LockState::Locked,
            Err(error) if error.kind() == ErrorKind::NotFound => LockState::Missing,
            Ok(_) | Err(_) => LockState::Edited,
        }
    }
}

/// The hash of each file, by its path.
pub fn hashes(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    files.iter().map(|(path, bytes)| (path.clone(), file_hash(bytes))).collect()
}

/// The hash of what a file holds.
pub fn file_hash(bytes: &[u8]) -> String {
    format!("b3:{}", blake3::hash(bytes).to_hex())
}

/// The files of a policy, by their paths in its folder.
///
/// # Errors
///
/// When one cannot be read or is a link, or they are too much to be a policy.
pub fn policy_files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let (mut files, mut open, mut left) = (BTreeMap::new(), vec![folder.to_owned()], MOST_BYTES);
    while let Some(below) = open.pop() {
        for entry in std::fs::read_dir(&below)? {
            let path = entry?.path();
            let kind = path.symlink_metadata()?.file_type();
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned);
            let name = name.filter(|_| kind.is_file()).ok_or_else(|| {
                Error::other(format!(
                    "{} is no plain file; a shared policy has no links",
                    path.display()
                ))
            })?;
            let mut bytes = Vec::new();
            OpenOptions::new().read(true).open(&path)?.take(left + 1).read_to_end(&mut bytes)?;
            left = left.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
            files.insert(name, bytes);
            if files.len() > MOST_FILES {
                return Err(too_much());
            }
        }
    }
    Ok(files)
}

fn too_much() -> Error {
    Error::other(format!(
        "it holds more than {MOST_FILES} files or {} MiB; expected the folder of one policy",
        MOST_BYTES >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
    #[test]
    fn what_is_written_is_read() {
        let top = tempfile::tempdir().unwrap();
        let shelf = top.path().join("policies");
        let policy = shelf.join("team");
        std::fs::create_dir_all(policy.join("tests")).unwrap();
        std::fs::write(policy.join("policy.lua"), "return {}").unwrap();
        std::fs::write(policy.join("tests/a \"b\"\u{7f}.lua"), "").unwrap();
        let files = hashes(&policy_files(&policy).unwrap());
        let source = "https://git.example/p@v1#sub \\ é".to_owned();
        let one = |name: &str| LockedPolicy {
            name: name.to_owned(),
            source: source.clone(),
            revision: Some("0a".to_owned()),
            files: files.clone(),
        };
        let mut lock = PolicyLock::default();
        lock.put(one("team"));
        lock.put(LockedPolicy { revision: None, ..one("a") });
        std::fs::write(PolicyLock::path(&shelf), lock.render()).unwrap();
        let read = PolicyLock::read(&shelf).unwrap();
        assert_eq!(read, lock);
        assert_eq!(read.find("team").unwrap().state(&shelf), LockState::Locked);
        assert_eq!(read.find("a").unwrap().state(&shelf), LockState::Missing);
        std::fs::write(policy.join("policy.lua"), "return { }").unwrap();
        assert_eq!(read.find("team").unwrap().state(&shelf), LockState::Edited);
        std::fs::write(
            PolicyLock::path(&shelf),
            "[[policy]]\nname = '../x'\nsource = ''\nfiles = {}",
        )
        .unwrap();
        let error = PolicyLock::read(&shelf).unwrap_err().to_string();
        assert!(error.contains("`../x` is no name of a policy"), "{error}");
    }
}
