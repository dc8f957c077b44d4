//! Where the files of a policy come from: a folder, or the program itself.
//!
//! Invariant: nothing outside the folder is read, links that lead out of it included. Read when a
//! generation is built and never again, so that what runs is what was checked.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// A folder of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicySource {
    /// On disk.
    Folder(PathBuf),
    /// Compiled into the program: path with `/`, and text.
    Embedded(&'static [(&'static str, &'static str)]),
}

/// A policy that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPolicy {
    /// Its name: that of its folder.
    pub name: String,
    /// Its folder, in which `policy.lua` stands.
    pub files: PolicySource,
    /// Where `require` looks next, in this order.
    pub libraries: Vec<PolicySource>,
}

impl PolicySource {
    /// The text of a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is larger than 1 MiB, or stands outside the folder.
    pub fn read(&self, path: &str) -> Result<Option<String>> {
        match self {
            Self::Embedded(files) => {
                let found = files.iter().find(|(name, _)| *name == path);
                Ok(found.map(|(_, text)| (*text).to_owned()))
            }
            Self::Folder(folder) => match inside(folder, path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                found => found.and_then(|file| read(&file)).map(Some),
            },
        }
    }

    /// The files of one of its folders whose names end in `.ending`, in order: names without it.
    ///
    /// # Errors
    ///
    /// When the folder is there and cannot be read.
    pub fn names(&self, folder: &str, ending: &str) -> Result<Vec<String>> {
        let stem = |name: &str| {
            let stem = name.strip_suffix(ending)?.strip_suffix('.')?;
            (!stem.contains('/')).then(|| stem.to_owned())
        };
        let mut names: Vec<String> = match self {
            Self::Embedded(files) => files
                .iter()
                .filter_map(|(name, _)| stem(name.strip_prefix(folder)?.strip_prefix('/')?))
                .collect(),
            Self::Folder(top) => match fs::read_dir(top.join(folder)) {
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                entries => entries?
                    .filter_map(|entry| {
                        Some(stem(&entry.map(|e| e.file_name()).ok()?.to_string_lossy()))
                    })
                    .flatten()
                    .collect(),
            },
        };
        names.sort();
        Ok(names)
    }

    /// The folder on disk, where it is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Embedded(_) => None,
        }
    }
}

fn inside(folder: &Path, path: &str) -> Result<PathBuf> {
    let file = folder.join(path).canonicalize()?;
    match file.starts_with(folder.canonicalize()?) {
        true => Ok(file),
        false => Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("`{path}` leads out of the folder `{}`", folder.display()),
        )),
    }
}

#[expect(clippy::disallowed_methods, reason = "policies are files, and this reads them")]
fn read(file: &Path) -> Result<String> {
    let size = fs::metadata(file)?.len();
    if size > LARGEST {
        let what = format!("`{}` has {size} bytes; at most {LARGEST} are read", file.display());
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    fs::read_to_string(file)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] =
        &[("policy.lua", "p"), ("prompts/b.md", "b"), ("prompts/a.md", "a"), ("prompts/a.txt", "")];

    #[track_caller]
    fn check(source: &PolicySource) {
        assert_eq!(source.read("policy.lua").unwrap().as_deref(), Some("p"));
        assert_eq!(source.read("prompts/b.md").unwrap().as_deref(), Some("b"));
        assert_eq!(source.read("other.lua").unwrap(), None);
        assert_eq!(source.names("prompts", "md").unwrap(), ["a", "b"]);
        assert_eq!(source.names("tests", "lua").unwrap(), [""; 0]);
    }

    #[test]
    fn a_folder_and_an_embedded_set_read_alike() {
        check(&PolicySource::Embedded(FILES));
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("prompts")).unwrap();
        for (name, text) in FILES {
            fs::write(folder.path().join(name), text).unwrap();
        }
        check(&PolicySource::Folder(folder.path().to_owned()));
    }

    #[test]
    fn what_leads_out_of_the_folder_is_not_read() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("policy");
        fs::create_dir(&folder).unwrap();
        fs::write(top.path().join("secret.lua"), "s").unwrap();
        let source = PolicySource::Folder(folder.clone());
        assert!(source.read("../secret.lua").is_err());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(top.path().join("secret.lua"), folder.join("a.lua"))
                .unwrap();
            assert!(source.read("a.lua").unwrap_err().to_string().contains("leads out of"));
        }
    }
}
