//! Whether what changed in a folder of the user's own was changed by the user.
//!
//! A folder by `policy new` runs without being asked about, but where it lies in a repository a pull
//! may have changed it. What can be told apart: a file that differs from what git has staged was
//! edited here, and so was one that git does not track. All that is as git has it may have come with
//! a pull, and runs only where the same bytes were the user's own before. An edit is made of what is
//! staged and of what was written here, so it counts as the user's only where what is staged does.
//!
//! Invariant: in doubt it is not the user's: without git, behind a link that leads out, in a
//! repository within, where another tool than git checks files out. What is too large to remember
//! stops nothing. Called by the record of trust.

mod tracked;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::folder::{folder_facts, folder_hash};
use tracked::Tracked;

/// What makes a folder a repository.
const REPOSITORIES: [&str; 4] = [".git", ".jj", ".hg", ".svn"];

/// The most files that are remembered of a folder at a time; of more, build products are among them.
const REMEMBERED: usize = 512;

/// The largest file that is remembered as the user's, in bytes.
const LARGEST: u64 = 64 << 20;

/// The most entries of a folder that are looked at.
const MOST: usize = 200_000;

/// What a folder of the user's own holds.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// The contents that only count where they were the user's own before, those below edits among
    /// them: path and content, as one hash.
    pub(crate) doubted: BTreeSet<String>,
    /// The contents that the user wrote.
    pub(crate) written: BTreeSet<String>,
}

/// A file of a folder.
struct Piece {
    name: String,
    path: PathBuf,
    /// Whether what is there is elsewhere, or of a repository within.
    strange: bool,
}

/// Looks at a folder, by its one path.
///
/// # Errors
///
/// When something in it cannot be read.
pub(crate) fn look(folder: &Path) -> Result<Looked> {
    let mut pieces = Vec::new();
    collect(folder, &Below { top: folder, before: "", strange: false }, &mut pieces)?;
    let tracked = folder.ancestors().find(|folder| is_repository(folder)).map(|top| {
        // What another tool checks out beside git, git takes for edited.
        let git_alone = repositories(top).all(|name| name == ".git");
        git_alone.then(|| Tracked::of(folder, &pieces)).flatten()
    });
    let mut looked = Looked::default();
    if let Some(Some(tracked)) = &tracked {
        looked.doubted = tracked.below_edits(folder, &pieces);
    }
    let mut all = BTreeSet::new();
    for piece in &pieces {
        let doubted = piece.strange
            || match &tracked {
                None => false,
                Some(None) => true,
                Some(Some(tracked)) => tracked.is_unchanged(piece),
            };
        if doubted {
            looked.doubted.insert(said(piece)?);
        } else if tracked.as_ref().is_none_or(|it| it.as_ref().is_some_and(|it| it.knows(piece))) {
            all.insert(&piece.name);
        }
    }
    if all.len() <= REMEMBERED {
        let small =
            |piece: &&Piece| fs::metadata(&piece.path).is_ok_and(|facts| facts.len() <= LARGEST);
        let own = |piece: &&Piece| !piece.strange && all.contains(&piece.name);
        for piece in pieces.iter().filter(own).filter(small) {
            looked.written.insert(said(piece)?);
        }
    }
    Ok(looked)
}

/// Everything in a folder, as its author has it now.
///
/// # Errors
///
/// When something in it cannot be read.
pub(crate) fn all(folder: &Path) -> Result<BTreeSet<String>> {
    let looked = look(folder)?;
    Ok(looked.doubted.into_iter().chain(looked.written).collect())
}

/// The kinds of repository that a folder is the top of.
fn repositories(folder: &Path) -> impl Iterator<Item = &'static str> {
    let is_there = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    REPOSITORIES.into_iter().filter(is_there)
}

fn is_repository(folder: &Path) -> bool {
    repositories(folder).next().is_some()
}

/// Where a walk is.
struct Below<'a> {
    top: &'a Path,
    before: &'a str,
    strange: bool,
}

fn collect(folder: &Path, at: &Below<'_>, pieces: &mut Vec<Piece>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = format!("{}{}", at.before, entry.file_name().to_string_lossy());
        if kind.is_dir() {
            if entry.file_name() == ".git" {
                continue;
            }
            let strange = at.strange || is_repository(&path);
            let below = Below { top: at.top, before: &format!("{name}/"), strange };
            collect(&path, &below, pieces)?;
        } else {
            let leads_out = || path.canonicalize().is_ok_and(|there| !there.starts_with(at.top));
            let strange = at.strange || (kind.is_symlink() && leads_out());
            pieces.push(Piece { name, path, strange });
        }
        if pieces.len() > MOST {
            return Err(too_much(folder));
        }
    }
    Ok(())
}

/// Path and content of a file, as one hash; of a link where it leads, and what is there.
fn said(piece: &Piece) -> Result<String> {
    let mut hasher = named(&piece.name);
    if let Ok(link) = fs::read_link(&piece.path) {
        let link = link.into_os_string().into_encoded_bytes();
        hasher.update(&(link.len() as u64).to_le_bytes()).update(&link);
        if let Ok(there) = piece.path.canonicalize()
            && there.is_dir()
        {
            hasher.update(behind(&there)?.as_bytes());
            return Ok(hasher.finalize().to_hex().to_string());
        }
    }
    match fs::metadata(&piece.path) {
        // A link that leads nowhere.
        Err(_) => {}
        Ok(facts) if !facts.is_file() => {}
        Ok(_) => drop(hasher.update_reader(OpenOptions::new().read(true).open(&piece.path)?)?),
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The beginning of such a hash: the path, which its content follows.
fn named(name: &str) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
    hasher
}

/// What is in a folder elsewhere, as one hash; of one that is too large to be read, when each file
/// of it was written last.
fn behind(folder: &Path) -> Result<String> {
    match folder_hash(folder) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => folder_facts(folder),
        hash => hash,
    }
}

fn too_much(path: &Path) -> Error {
    let what = format!("`{}` is too much to tell whether you wrote it", path.display());
    Error::new(ErrorKind::InvalidInput, what)
}
