//! A folder of policies as one hash.
//!
//! Invariant: it covers what is in the folder and what its links lead to; a folder that is too large has
//! none. Called by the record of trust, and for what stands behind links out of a folder of the user's own.

use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

/// The most that a trusted folder may hold, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// The most files that it may hold.
const MOST_FILES: usize = 10_000;
/// The most files that are walked through elsewhere, where a link of the user's own leads.
const MOST_WALKED: usize = 200_000;

/// The hash of all files in a folder, by path and content: `b3:` and hexadecimal digits. Of a link
/// it covers where it leads, and what is there where that is outside of the folder.
///
/// # Errors
///
/// When something cannot be read, or is too much to be a folder of policies.
pub fn folder_hash(folder: &Path) -> Result<String> {
    let top = folder.canonicalize()?;
    let mut hasher = blake3::Hasher::new();
    let mut left = MOST_BYTES;
    for (name, path) in Walk::through(&top, MOST_FILES)? {
        let content = content(&top, &path, &mut left)?;
        for piece in [name.as_bytes(), &content] {
            hasher.update(&(piece.len() as u64).to_le_bytes());
            hasher.update(piece);
        }
    }
    Ok(format!("b3:{}", hasher.finalize().to_hex()))
}

/// The same by what stands beside the contents: how large each file is, and when it was written.
/// No program can set all of that back.
///
/// # Errors
///
/// When something cannot be read, or holds more than anybody can walk through.
pub(crate) fn folder_facts(folder: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for (name, path) in Walk::through(&folder.canonicalize()?, MOST_WALKED)? {
        let facts = [fs::symlink_metadata(&path), fs::metadata(&path)];
        for facts in facts.iter().flatten() {
            hasher.update(format!("{name}\0{} {:?}", facts.len(), facts.modified()).as_bytes());
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                let changed = (facts.ino(), facts.ctime(), facts.ctime_nsec());
                hasher.update(format!(" {changed:?}").as_bytes());
            }
        }
    }
    Ok(format!("facts:{}", hasher.finalize().to_hex()))
}

/// A walk through a folder, and through those elsewhere that its links lead to.
struct Walk {
    /// The folders that led to where it is, the first of which is trusted.
    way: Vec<PathBuf>,
    files: Vec<(String, PathBuf)>,
    most: usize,
}

impl Walk {
    /// Names and paths of all files, in order.
    fn through(top: &Path, most: usize) -> Result<Vec<(String, PathBuf)>> {
        let mut walk = Self { way: vec![top.to_owned()], files: Vec::new(), most };
        walk.collect(top, "")?;
        walk.files.sort();
        Ok(walk.files)
    }

    fn collect(&mut self, folder: &Path, below: &str) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.collect(&entry.path(), &format!("{name}/"))?;
                continue;
            }
            self.files.push((name.clone(), entry.path()));
            if self.files.len() > self.most {
                return Err(too_much(folder));
            }
            if kind.is_symlink()
                && let Some(there) =
                    outside(&self.way[0], &entry.path()).filter(|there| there.is_dir())
                && !self.way.contains(&there)
            {
                self.way.push(there.clone());
                self.collect(&there, &format!("{name}/"))?;
                self.way.pop();
            }
        }
        Ok(())
    }
}

/// Where a link leads, if that is outside of the folder.
fn outside(top: &Path, link: &Path) -> Option<PathBuf> {
    link.canonicalize().ok().filter(|there| !there.starts_with(top))
}

fn content(top: &Path, path: &Path, left: &mut u64) -> Result<Vec<u8>> {
    let facts = fs::symlink_metadata(path)?;
    let mut content = Vec::new();
    let (path, facts) = match facts.is_symlink() {
        false => (path.to_owned(), facts),
        true => {
            content = fs::read_link(path)?.into_os_string().into_encoded_bytes();
            // What is inside counts where it stands.
            let there =
                outside(top, path).and_then(|there| Some((fs::metadata(&there).ok()?, there)));
            match there {
                Some((facts, there)) if !facts.is_dir() => (there, facts),
                _ => return Ok(content),
            }
        }
    };
    if !facts.is_file() {
        let what = format!("`{}` is neither a file nor a folder", path.display());
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    *left = left.checked_sub(facts.len()).ok_or_else(|| too_much(&path))?;
    OpenOptions::new().read(true).open(&path)?.read_to_end(&mut content)?;
    Ok(content)
}

fn too_much(path: &Path) -> Error {
    let what = format!(
        "`{}` is too much for a folder of policies: at most {MOST_FILES} files of {} MiB in all",
        path.display(),
        MOST_BYTES >> 20,
    );
    Error::new(ErrorKind::InvalidInput, what)
}
