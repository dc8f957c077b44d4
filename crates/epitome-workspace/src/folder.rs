//! A folder as a workspace: files that a client's own tools open in the place of what left its
//! prompt.
//!
//! Invariant: nothing is written outside of `.epitome` in the folder, nor among what is run from
//! there, and no link is followed on the way; a file is the old one or the whole new one,
//! readable by its owner only. Made by hosts, called by live sessions.

mod owned;

use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use epitome_kernel::{Workspace, WorkspaceError};

/// The only folder that is written to, relative to the workspace.
const OURS: &str = ".epitome";

/// What stands in it that is run: nothing is written there.
const OWN: [&str; 2] = ["plugins", "policies"];

/// Keeps what is exported out of a repository.
const IGNORE: &str = ".gitignore";

/// A larger file is not searched, in bytes.
const LARGEST: u64 = 4 << 20;

/// A folder that a client works in.
#[derive(Clone, Debug)]
pub struct WorkspaceFolder {
    root: PathBuf,
}

impl WorkspaceFolder {
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
        let own = parts.clone().nth(1).map(Component::as_os_str);
        // Some file systems take names that differ in case for one.
        if OWN.iter().any(|name| own.is_some_and(|own| own.eq_ignore_ascii_case(name))) {
            return Err(refused("what is in this folder is run, and its user's"));
        }
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

impl Workspace for WorkspaceFolder {
    fn persisted(&self, path: &str, bytes: &[u8]) -> bool {
        self.real(path).is_some_and(|file| holds(&file, bytes).unwrap_or(false))
    }

    fn holds(&self, path: &str, piece: &str) -> bool {
        let text = self.real(path).and_then(|file| read(&file, LARGEST).ok().flatten());
        text.is_some_and(|text| text.contains(piece))
    }

    fn stamp(&self, path: &str) -> Option<u64> {
        // One look, and no link is followed to the file.
        let about = fs::symlink_metadata(self.root.join(path)).ok().filter(Metadata::is_file)?;
        let mut hasher = DefaultHasher::new();
        (about.len(), about.modified().ok(), inode(&about)).hash(&mut hasher);
        Some(hasher.finish())
    }

    fn export(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let (folder, inside) = self.room(path)?;
        replace(&folder, &inside, bytes).map_err(|error| failed(path, &error))
    }

    fn append(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let (_, inside) = self.room(path)?;
        let file = private_file().append(true).create(true).open(inside);
        file.and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(path, &error))
    }
}

impl WorkspaceFolder {
    /// The file at a path that leads to one in the folder, links followed.
    fn real(&self, path: &str) -> Option<PathBuf> {
        let root = fs::canonicalize(&self.root).ok()?;
        fs::canonicalize(root.join(path)).ok().filter(|file| file.starts_with(&root))
    }

    /// The folder of a file that is written, and the file; the folder is made, with what keeps git
    /// away from the file.
    fn room(&self, path: &str) -> Result<(PathBuf, PathBuf), WorkspaceError> {
        let inside = self.inside(path)?;
        // A path that is checked has a folder above it.
        let folder = inside.parent().unwrap_or(&self.root).to_owned();
        let made = || {
            private_folders().recursive(true).create(&folder)?;
            // Beside what is its user's only the file itself is kept from git.
            let all = folder != self.root.join(OURS);
            let name = inside.file_name().unwrap_or_default().to_string_lossy().into_owned();
            ignore(&folder, if all { "*".to_owned() } else { format!("/{name}") })
        };
        made().map_err(|error| failed(path, &error))?;
        Ok((folder, inside))
    }
}

/// Has git ignore what a pattern in a folder means.
fn ignore(folder: &Path, pattern: String) -> io::Result<()> {
    let file = folder.join(IGNORE);
    let known = match read(&file, LARGEST) {
        Err(error) if error.kind() == ErrorKind::NotFound => format!("/{IGNORE}\n"),
        known => known?.unwrap_or_default(),
    };
    match known.lines().any(|line| line == "*" || line == pattern) {
        true => Ok(()),
        false if pattern == "*" => replace(folder, &file, b"*\n"),
        false => replace(folder, &file, format!("{known}{pattern}\n").as_bytes()),
    }
}

/// What a file of at most so many bytes says; nothing where it is none, or is no text.
fn read(path: &Path, most: u64) -> io::Result<Option<String>> {
    // What is no file may never end.
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > most {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(about.len() as usize);
    OpenOptions::new().read(true).open(path)?.take(most).read_to_end(&mut found)?;
    Ok(String::from_utf8(found).ok())
}

/// Files beside the one that they replace are private from the moment that they exist.
fn replace(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

/// Whether a file holds exactly these bytes; one of another size is not read.
fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    // What is no file may never end.
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut file = OpenOptions::new().read(true).open(path)?;
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

/// Tells a file from one that took its place.
#[cfg(unix)]
fn inode(about: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    about.ino()
}

#[cfg(not(unix))]
fn inode(_about: &Metadata) -> u64 {
    0
}

fn failed(path: &str, error: &io::Error) -> WorkspaceError {
    let cause = error.to_string();
    let cause = cause.split(" (os error").next().unwrap_or_default().to_owned();
    WorkspaceError { path: path.to_owned(), cause }
}

#[cfg(unix)]
fn private_file() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_file() -> OpenOptions {
    OpenOptions::new()
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
        let error = WorkspaceFolder::new(folder.path()).export(path, b"x").unwrap_err();
        assert!(error.to_string().contains(cause), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{path}");
    }

    #[test]
    fn a_file_is_there_whole_and_for_git_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = WorkspaceFolder::new(folder.path());
        assert!(!workspace.persisted(FILE, b"one\n"));
        for text in [&b"one\n"[..], b"two\n", b""] {
            let before = workspace.stamp(FILE);
            workspace.export(FILE, text).unwrap();
            assert!(workspace.persisted(FILE, text));
            assert!(workspace.stamp(FILE).is_some() && workspace.stamp(FILE) != before);
            assert!(!workspace.persisted(FILE, b"six\n"));
        }
        let ours = folder.path().join(".epitome/offloaded");
        let mut names: Vec<_> =
            fs::read_dir(&ours).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".gitignore", "1a2b3c4d.md"]);
        assert_eq!(read(&ours.join(IGNORE), LARGEST).unwrap().as_deref(), Some("*\n"));
    }

    #[test]
    fn what_is_added_stands_behind_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = WorkspaceFolder::new(folder.path());
        for text in ["one\n", "two\n"] {
            workspace.append(".epitome/LOG.md", text.as_bytes()).unwrap();
        }
        workspace.append(".epitome/OTHER.md", b"").unwrap();
        assert!(workspace.persisted(".epitome/LOG.md", b"one\ntwo\n"));
        // What else stands there may belong to the repository.
        let ignored = read(&folder.path().join(".epitome/.gitignore"), 99).unwrap();
        assert_eq!(ignored.as_deref(), Some("/.gitignore\n/LOG.md\n/OTHER.md\n"));
    }

    #[test]
    fn a_file_holds_what_was_written_to_it() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let workspace = WorkspaceFolder::new(folder.path());
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("src")).unwrap();
        for (name, text) in [("src/a.rs", "fn a() {}\nfn b() {}\n"), ("../x", "fn b() {}")] {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(if name == "../x" { outside.path().join("x") } else { at(name) })
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .unwrap();
        }
        for path in ["src/a.rs", "./src/a.rs", "src/../src/a.rs", at("src/a.rs").to_str().unwrap()]
        {
            assert!(workspace.holds(path, "fn b() {}"), "{path}");
            assert!(!workspace.holds(path, "fn c() {}"), "{path}");
            assert!(workspace.persisted(path, b"fn a() {}\nfn b() {}\n"), "{path}");
        }
        let other = outside.path().join("x");
        assert!(!workspace.holds(other.to_str().unwrap(), "fn b() {}"));
        assert!(!workspace.persisted(other.to_str().unwrap(), b"fn b() {}"));
        assert!(!workspace.holds("src", "") && !workspace.holds("src/b.rs", ""));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&other, at("link")).unwrap();
            std::os::unix::fs::symlink(at("src/a.rs"), at("own")).unwrap();
            assert!(!workspace.holds("link", "fn b() {}"));
            assert!(workspace.holds("own", "fn b() {}"));
        }
        let large = OpenOptions::new().write(true).create_new(true).open(at("large")).unwrap();
        large.set_len(LARGEST + 1).unwrap();
        assert!(!workspace.holds("large", "\0"));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        WorkspaceFolder::new(folder.path()).export(FILE, b"secret").unwrap();
        WorkspaceFolder::new(folder.path()).append(".epitome/LOG.md", b"secret").unwrap();
        let mode =
            |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode();
        for path in [".epitome", ".epitome/offloaded"] {
            assert_eq!(mode(path) & 0o777, 0o700, "{path}");
        }
        for path in [FILE, ".epitome/LOG.md", ".epitome/.gitignore"] {
            assert_eq!(mode(path) & 0o777, 0o600, "{path}");
        }
    }

    #[test]
    fn nothing_escapes_the_folder() {
        for path in ["x.md", "src/main.rs", "", "/etc/x", "../.epitome/x"] {
            check_refused(path, "only what is in `.epitome`");
        }
        for path in
            [".epitome/policies/a/policy.lua", ".epitome/plugins/a/b.md", ".epitome/Policies/x.md"]
        {
            check_refused(path, "its user's");
        }
        for path in [".epitome/../x", ".epitome/offloaded/../../x"] {
            check_refused(path, "not a plain one");
        }
        let folder = tempfile::tempdir().unwrap();
        let inner = WorkspaceFolder::new(&folder.path().join("a"));
        assert!(!inner.persisted("../x", b"") && !inner.holds("../x", ""));
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
            let workspace = WorkspaceFolder::new(folder.path());
            for write in [WorkspaceFolder::export, WorkspaceFolder::append] {
                let error = write(&workspace, FILE, b"x").unwrap_err();
                assert!(error.cause.contains("is a link"), "{error}");
            }
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_go_by_their_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = WorkspaceFolder::new(folder.path());
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
