//! Which folders of policies the user trusts.
//!
//! Invariant: a folder is trusted for what is in it and for what its links lead to, by its hash,
//! unless the user made it; then it is trusted for what the user wrote into it. The record stands
//! among the user's own data, readable for nobody else, and never in the folder.
//! Called by hosts before they load what a repository brought.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::authored;
use crate::folder::folder_hash;
use crate::record_file::RecordFile;

/// How a folder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustStatus {
    /// Nobody said anything of it.
    Unknown,
    /// It was trusted, and is not what it was then.
    Changed,
    /// It is what was trusted.
    Trusted,
    /// The user made it, and what it holds now may have come from elsewhere.
    Pulled,
    /// The user made it.
    Own,
}

impl TrustStatus {
    /// Whether what is in the folder may run.
    pub fn may_run(self) -> bool {
        matches!(self, Self::Trusted | Self::Own)
    }
}

/// The record of trusted folders: one line for each, its path and its hash.
#[derive(Clone, Debug)]
pub struct TrustStore {
    file: RecordFile,
}

/// What stands in the place of a hash for folders of the user's own.
const OWN: &str = "own";

/// The contents that the user wrote into such folders, beside the record: one line for each, the
/// hash and the folder's path.
const AUTHORED: &str = "authored";

/// The most contents that are remembered of one folder; the oldest go first.
const MOST_CONTENTS: usize = 4096;

impl TrustStore {
    /// The record in this file, which need not be there yet.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { file: RecordFile::at(file) }
    }

    /// How a folder stands.
    ///
    /// # Errors
    ///
    /// When the record or the folder cannot be read.
    pub fn standing(&self, folder: &Path) -> Result<TrustStatus> {
        let path = canonical(folder)?;
        Ok(match self.recorded()?.into_iter().find(|(known, _)| *known == path) {
            None => TrustStatus::Unknown,
            Some((_, hash)) if hash == OWN => self.authored(&path)?,
            Some((_, hash)) if hash == folder_hash(folder)? => TrustStatus::Trusted,
            Some(_) => TrustStatus::Changed,
        })
    }

    /// Every folder that is recorded, in order.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub fn folders(&self) -> Result<Vec<PathBuf>> {
        Ok(self.recorded()?.into_iter().map(|(path, _)| path.into()).collect())
    }

    /// Trusts a folder as it is now; gives its hash.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read or the record cannot be written.
    pub fn trust(&self, folder: &Path) -> Result<String> {
        let hash = folder_hash(folder)?;
        self.record(folder, &hash)?;
        Ok(hash)
    }

    /// Records a folder as the user's own: what it holds now may run, and whatever the user writes
    /// into it. Where it lies in a repository, what may have come from elsewhere is asked about.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read or the record cannot be written.
    pub fn own(&self, folder: &Path) -> Result<()> {
        let path = canonical(folder)?;
        let (known, all) = (self.contents(&path)?, authored::all(Path::new(&path))?);
        self.remember(&path, all.difference(&known.into_iter().collect()))?;
        self.record(folder, OWN)
    }

    /// How a folder of the user's own stands. What the user wrote is remembered, so that it is the
    /// user's once it is committed, too.
    fn authored(&self, path: &str) -> Result<TrustStatus> {
        let looked = authored::look(Path::new(path))?;
        let known: BTreeSet<_> = self.contents(path)?.into_iter().collect();
        if !looked.doubted.is_subset(&known) {
            return Ok(TrustStatus::Pulled);
        }
        // A record that cannot be written asks once more at worst.
        drop(self.remember(path, looked.written.difference(&known)));
        Ok(TrustStatus::Own)
    }

    /// The contents that are remembered of a folder, oldest first.
    fn contents(&self, path: &str) -> Result<Vec<String>> {
        let lines = lines(&self.file.beside(AUTHORED).read()?);
        Ok(lines.into_iter().filter(|(of, _)| of == path).map(|(_, hash)| hash).collect())
    }

    /// Remembers more of them.
    fn remember<'h>(&self, path: &str, new: impl Iterator<Item = &'h String>) -> Result<()> {
        let new: Vec<_> = new.map(|hash| (path.to_owned(), hash.clone())).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.file.beside(AUTHORED).change(|old| {
            let (mut mine, mut all): (Vec<_>, Vec<_>) =
                lines(old).into_iter().partition(|(of, _)| of == path);
            let new: Vec<_> = new.into_iter().filter(|line| !mine.contains(line)).collect();
            mine.extend(new);
            all.extend_from_slice(&mine[mine.len().saturating_sub(MOST_CONTENTS)..]);
            Some(text(&all))
        })
    }

    fn record(&self, folder: &Path, hash: &str) -> Result<()> {
        let path = canonical(folder)?;
        self.file.change(|old| {
            let mut lines = lines(old);
            lines.retain(|(known, _)| *known != path);
            lines.push((path, hash.to_owned()));
            lines.sort();
            Some(text(&lines))
        })
    }

    /// Paths and hashes.
    fn recorded(&self) -> Result<Vec<(String, String)>> {
        Ok(lines(&self.file.read()?))
    }
}

/// The paths and hashes of a file.
fn lines(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (hash, path) = line.split_once('\t')?;
        Some((path.to_owned(), hash.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// The same as text.
fn text(lines: &[(String, String)]) -> String {
    lines.iter().map(|(path, hash)| format!("{hash}\t{path}\n")).collect()
}

/// The one path of a folder, which has to fit into a line.
fn canonical(folder: &Path) -> Result<String> {
    let path = folder.canonicalize()?;
    match path.to_str() {
        Some(text) if !text.contains('\n') => Ok(text.to_owned()),
        _ => {
            let what = format!("`{}` has a name that cannot be written down", path.display());
            Err(Error::new(ErrorKind::InvalidInput, what))
        }
    }
}

#[cfg(test)]
mod tests;
