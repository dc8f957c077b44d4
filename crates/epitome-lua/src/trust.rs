//! Which folders of policies the user trusts.
//!
//! Invariant: a folder is trusted for what is in it, by its hash, unless the user made it. The
//! record stands among the user's own data, readable for nobody else, and never in the folder.
//! Called by hosts before they load what a repository brought.

use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

/// The most that a trusted folder may hold, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// The most files that it may hold.
const MOST_FILES: usize = 10_000;

/// How a folder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody said anything of it.
    Unknown,
    /// It was trusted, and is not what it was then.
    Changed,
    /// It is what was trusted.
    Trusted,
    /// The user made it.
    Own,
}

impl Standing {
    /// Whether what is in the folder may run.
    pub fn may_run(self) -> bool {
        matches!(self, Self::Trusted | Self::Own)
    }
}

/// The record of trusted folders: one line for each, its path and its hash.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
}

/// What stands in the place of a hash for folders of the user's own.
const OWN: &str = "own";

impl Trust {
    /// The record in this file, which need not be there yet.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// How a folder stands.
    ///
    /// # Errors
    ///
    /// When the record or the folder cannot be read.
    pub fn standing(&self, folder: &Path) -> Result<Standing> {
        let path = canonical(folder)?;
        Ok(match self.recorded()?.into_iter().find(|(known, _)| *known == path) {
            None => Standing::Unknown,
            Some((_, hash)) if hash == OWN => Standing::Own,
            Some((_, hash)) if hash == folder_hash(folder)? => Standing::Trusted,
            Some(_) => Standing::Changed,
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

    /// Records a folder as the user's own: whatever it will hold may run.
    ///
    /// # Errors
    ///
    /// When there is no such folder or the record cannot be written.
    pub fn own(&self, folder: &Path) -> Result<()> {
        self.record(folder, OWN)
    }

    fn record(&self, folder: &Path, hash: &str) -> Result<()> {
        let path = canonical(folder)?;
        let mut lines = self.recorded()?;
        lines.retain(|(known, _)| *known != path);
        lines.push((path, hash.to_owned()));
        lines.sort();
        let text: String = lines.iter().map(|(path, hash)| format!("{hash}\t{path}\n")).collect();
        replace(&self.file, &text)
    }

    /// Paths and hashes.
    fn recorded(&self) -> Result<Vec<(String, String)>> {
        let mut text = String::new();
        match OpenOptions::new().read(true).open(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?.read_to_string(&mut text)?,
        };
        let line = |line: &str| {
            let (hash, path) = line.split_once('\t')?;
            Some((path.to_owned(), hash.to_owned()))
        };
        Ok(text.lines().filter_map(line).collect())
    }
}

/// The hash of all files in a folder, by path and content: `b3:` and hexadecimal digits. Of a link
/// it covers where it leads, not what is there.
///
/// # Errors
///
/// When something cannot be read, or is too much to be a folder of policies.
pub fn folder_hash(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)?;
    files.sort();
    let mut hasher = blake3::Hasher::new();
    let mut left = MOST_BYTES;
    for (name, path) in files {
        let content = content(&path, &mut left)?;
        for piece in [name.as_bytes(), &content] {
            hasher.update(&(piece.len() as u64).to_le_bytes());
            hasher.update(piece);
        }
    }
    Ok(format!("b3:{}", hasher.finalize().to_hex()))
}

fn collect(folder: &Path, below: &str, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
        if files.len() > MOST_FILES {
            return Err(too_much(folder));
        }
    }
    Ok(())
}

fn content(path: &Path, left: &mut u64) -> Result<Vec<u8>> {
    let facts = fs::symlink_metadata(path)?;
    if facts.is_symlink() {
        return Ok(fs::read_link(path)?.into_os_string().into_encoded_bytes());
    }
    if !facts.is_file() {
        let what = format!("`{}` is neither a file nor a folder", path.display());
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    *left = left.checked_sub(facts.len()).ok_or_else(|| too_much(path))?;
    let mut content = Vec::new();
    OpenOptions::new().read(true).open(path)?.read_to_end(&mut content)?;
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

/// Puts a new file in the place of the old one; another program sees one or the other.
fn replace(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut folders = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.recursive(true).create(folder)?;
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut written = options.open(&new)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&new, file)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
mod tests {
    use super::*;

    struct Place {
        top: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self { top: tempfile::tempdir().unwrap() };
            fs::create_dir_all(place.folder().join("team")).unwrap();
            place.write("return {}");
            place
        }

        fn folder(&self) -> PathBuf {
            self.top.path().join("policies")
        }

        fn write(&self, text: &str) {
            fs::write(self.folder().join("team/policy.lua"), text).unwrap();
        }

        fn trust(&self) -> Trust {
            Trust::at(self.top.path().join("data/trusted"))
        }

        #[track_caller]
        fn check(&self, expected: Standing) {
            assert_eq!(self.trust().standing(&self.folder()).unwrap(), expected);
        }
    }

    #[test]
    fn a_folder_is_trusted_for_what_is_in_it() {
        let place = Place::new();
        place.check(Standing::Unknown);
        place.trust().trust(&place.folder()).unwrap();
        place.check(Standing::Trusted);
        place.write("return { }");
        place.check(Standing::Changed);
        place.write("return {}");
        place.check(Standing::Trusted);
        fs::write(place.folder().join("new"), "").unwrap();
        place.check(Standing::Changed);
        place.trust().trust(&place.folder()).unwrap();
        place.check(Standing::Trusted);
    }

    #[test]
    fn ones_own_folder_is_never_asked_for() {
        let place = Place::new();
        place.trust().own(&place.folder()).unwrap();
        place.write("return { }");
        place.check(Standing::Own);
        assert_eq!(place.trust().folders().unwrap(), [place.folder().canonicalize().unwrap()]);
        let other = tempfile::tempdir().unwrap();
        assert_eq!(place.trust().standing(other.path()).unwrap(), Standing::Unknown);
    }

    #[test]
    fn contents_cannot_be_moved_between_files() {
        let place = Place::new();
        let before = folder_hash(&place.folder()).unwrap();
        fs::rename(place.folder().join("team/policy.lua"), place.folder().join("team/other.lua"))
            .unwrap();
        assert_ne!(folder_hash(&place.folder()).unwrap(), before);
    }

    #[cfg(unix)]
    #[test]
    fn the_record_is_the_users_own() {
        use std::os::unix::fs::PermissionsExt;
        let place = Place::new();
        place.trust().trust(&place.folder()).unwrap();
        let mode = fs::metadata(&place.trust().file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let folder = place.trust().file.parent().unwrap().to_owned();
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        let left: Vec<_> = fs::read_dir(place.trust().file.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_counts_for_where_it_leads() {
        let place = Place::new();
        let link = place.folder().join("link");
        std::os::unix::fs::symlink("team", &link).unwrap();
        let before = folder_hash(&place.folder()).unwrap();
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("elsewhere", &link).unwrap();
        assert_ne!(folder_hash(&place.folder()).unwrap(), before);
    }
}
