//! A folder as a workspace: files that a client's own tools open in the place of what left its
//! prompt, and the [`augments`] that stand in it.
//!
//! Invariant: nothing is written outside of `.epitome` in the folder, and no link is followed on
//! the way there; a file is the old one or the whole new one, readable by its owner only. Made by
//! hosts, called by live sessions.

pub mod augments;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use epitome_kernel::{Workspace, WorkspaceError};

/// The only folder that is written to, relative to the workspace.
const OURS: &str = ".epitome";

/// Keeps what is exported out of a repository.
const IGNORE: (&str, &[u8]) = (".gitignore", b"*\n");

/// A folder that a client works in.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The workspace in this folder. Nothing is made before the first file.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Removes the files in a folder of the workspace whose first line holds a text, and says how
    /// many there were. A folder that is not there holds none.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read or a file of it not removed.
    pub fn remove(&self, folder: &str, text: &str) -> Result<u32, WorkspaceError> {
        let at = |error: io::Error| failed(folder, &error);
        let inside = self.inside(folder)?;
        let files = match fs::read_dir(&inside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            files => files.map_err(at)?,
        };
        let mut gone = 0;
        for file in files {
            let file = file.map_err(at)?;
            if file.file_type().map_err(at)?.is_file() && begins(&file.path(), text).map_err(at)? {
                fs::remove_file(file.path()).map_err(at)?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Where a path of the workspace leads.
    ///
    /// # Errors
    ///
    /// When it may not be written to, or there is a link on the way.
    fn inside(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let refused = |cause: &str| WorkspaceError { path: path.into(), cause: cause.into() };
        let mut parts = Path::new(path).components().peekable();
        if parts.peek() != Some(&Component::Normal(OURS.as_ref())) {
            return Err(refused("only what is in `.epitome` is written"));
        }
        let mut inside = self.root.clone();
        for part in parts {
            let Component::Normal(name) = part else {
                return Err(refused("the path is not a plain one"));
            };
            inside.push(name);
            if fs::symlink_metadata(&inside).is_ok_and(|about| about.is_symlink()) {
                let link = inside.display();
                return Err(refused(&format!("{link} is a link, and links are not followed")));
            }
        }
        Ok(inside)
    }
}

impl Workspace for Folder {
    fn persisted(&self, path: &str, bytes: &[u8]) -> bool {
        let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        plain && holds(&self.root.join(path), bytes).unwrap_or(false)
    }

    fn export(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let inside = self.inside(path)?;
        // A path that is checked has a folder above it.
        let folder = inside.parent().unwrap_or(&self.root);
        write(folder, &inside, bytes).map_err(|error| failed(path, &error))
    }
}

/// Puts a whole file into a folder, which is made with its `.gitignore` where there is none.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    private_folders().recursive(true).create(folder)?;
    let (name, ignored) = IGNORE;
    if !folder.join(name).exists() {
        replace(folder, &folder.join(name), ignored)?;
    }
    replace(folder, path, bytes)
}

/// Files beside the one that they replace are private from the moment that they exist.
fn replace(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

/// Whether a file holds exactly these bytes; one of another size is not read.
fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = OpenOptions::new().read(true).open(path)?;
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut found = Vec::with_capacity(bytes.len());
    file.read_to_end(&mut found)?;
    Ok(found == bytes)
}

/// Whether the first line of a file holds a text.
fn begins(path: &Path, text: &str) -> io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(OpenOptions::new().read(true).open(path)?).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).contains(text))
}

fn failed(path: &str, error: &io::Error) -> WorkspaceError {
    let cause = error.to_string();
    let cause = cause.split(" (os error").next().unwrap_or_default().to_owned();
    WorkspaceError { path: path.to_owned(), cause }
}

#[cfg(unix)]
fn private_folders() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn private_folders() -> DirBuilder {
    DirBuilder::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = ".epitome/offloaded/1a2b3c4d.md";

    fn check_refused(path: &str, cause: &str) {
        let folder = tempfile::tempdir().unwrap();
        let error = Folder::new(folder.path()).export(path, b"x").unwrap_err();
        assert!(error.to_string().contains(cause), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{path}");
    }

    #[test]
    fn a_file_is_there_whole_and_for_git_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Folder::new(folder.path());
        assert!(!workspace.persisted(FILE, b"one\n"));
        for text in [&b"one\n"[..], b"two\n", b""] {
            workspace.export(FILE, text).unwrap();
            assert!(workspace.persisted(FILE, text));
            assert!(!workspace.persisted(FILE, b"six\n"));
        }
        let ours = folder.path().join(".epitome/offloaded");
        let mut names: Vec<_> =
            fs::read_dir(&ours).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".gitignore", "1a2b3c4d.md"]);
        assert!(holds(&ours.join(".gitignore"), b"*\n").unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        Folder::new(folder.path()).export(FILE, b"secret").unwrap();
        let mode =
            |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode();
        for path in [".epitome", ".epitome/offloaded"] {
            assert_eq!(mode(path) & 0o777, 0o700, "{path}");
        }
        assert_eq!(mode(FILE) & 0o777, 0o600);
    }

    #[test]
    fn nothing_escapes_the_folder() {
        for path in ["x.md", "src/main.rs", "", "/etc/x", "../.epitome/x"] {
            check_refused(path, "only what is in `.epitome`");
        }
        for path in [".epitome/../x", ".epitome/offloaded/../../x"] {
            check_refused(path, "not a plain one");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(!Folder::new(&folder.path().join("a")).persisted("../x", b""));
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed() {
        let outside = tempfile::tempdir().unwrap();
        for link in [".epitome", ".epitome/offloaded", FILE] {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path().join(link);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(outside.path(), &at).unwrap();
            let workspace = Folder::new(folder.path());
            let error = workspace.export(FILE, b"x").unwrap_err();
            assert!(error.cause.contains("is a link"), "{error}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_go_by_their_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Folder::new(folder.path());
        assert_eq!(workspace.remove(".epitome/offloaded", "session a"), Ok(0));
        for (name, text) in [("1", "# session a, e4\nx"), ("2", "# session b\nsession a,")] {
            workspace.export(&format!(".epitome/offloaded/{name}.md"), text.as_bytes()).unwrap();
        }
        assert_eq!(workspace.remove(".epitome/offloaded", "session a,"), Ok(1));
        assert!(!folder.path().join(".epitome/offloaded/1.md").exists());
        assert!(folder.path().join(".epitome/offloaded/2.md").exists());
        assert!(workspace.remove("src", "x").is_err());
    }
}
