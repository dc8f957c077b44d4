//! The folders that augments are looked for in.
//!
//! Invariant: only `GROUP/NAME.md` is read, a bounded number of files of a bounded size; in a folder
//! that came with a project no link is followed, so that nothing outside of it can be named.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::error::{AugmentError, AugmentFault};
use super::library::AugmentLibrary;
use super::text::{Augment, is_plain};

/// The largest file that is read, in bytes: a long text, and still a small part of a prompt.
const MOST: u64 = 64 << 10;
/// So many files are read.
const FILES: usize = 1000;
/// The name of the folders.
const NAME: &str = "augments";

/// The folders that augments are looked for in, one after the other: the first name wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AugmentFolders {
    all: Vec<AugmentFolder>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AugmentFolder {
    folder: PathBuf,
    /// The folder below which no link is followed; none where whoever made a link is the user.
    within: Option<PathBuf>,
}

/// The name of a file, and what it holds.
type AugmentFile = (String, Result<Augment, AugmentError>);

impl AugmentFolders {
    /// The usual folders: of the project that a client works in, then those of the user, in the
    /// folder of the configuration.
    pub fn new(project: Option<&Path>, user: Option<&Path>) -> Self {
        let of_project = project.into_iter().flat_map(|project| {
            let folders = [project.join(".epitome").join(NAME), project.join(NAME)];
            folders.map(|folder| AugmentFolder { folder, within: Some(project.to_owned()) })
        });
        let of_user = user.map(|user| AugmentFolder { folder: user.join(NAME), within: None });
        Self { all: of_project.chain(of_user).collect() }
    }

    /// Reads what there is now. A folder that is not there holds nothing.
    pub fn read(&self) -> AugmentLibrary {
        let (mut found, mut besides) = (Vec::new(), Vec::new());
        for place in &self.all {
            for group in names(&place.folder, &mut besides) {
                let inside = place.folder.join(&group);
                if !inside.is_dir() {
                    continue;
                }
                let is_file = |name: &String| name.ends_with(".md");
                for file in names(&inside, &mut besides).into_iter().filter(is_file) {
                    let path = inside.join(&file);
                    if found.len() == FILES {
                        besides.push(AugmentError::of(&path, None, AugmentFault::TooMany(FILES)));
                        return AugmentLibrary::new(found, besides);
                    }
                    match read(&group, &file, &path, place.within.as_deref()) {
                        Ok(one) => found.push(one),
                        Err(error) => besides.push(error),
                    }
                }
            }
        }
        AugmentLibrary::new(found, besides)
    }
}

/// The names in a folder, in order, hidden ones left out.
fn names(folder: &Path, errors: &mut Vec<AugmentError>) -> Vec<String> {
    let unreadable = |error: &std::io::Error| {
        AugmentError::of(folder, None, AugmentFault::Unreadable(error.to_string()))
    };
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            errors.push(unreadable(&error));
            return Vec::new();
        }
    };
    let names = files.filter_map(Result::ok).map(|file| file.file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

fn read(
    group: &str,
    file: &str,
    path: &Path,
    within: Option<&Path>,
) -> Result<AugmentFile, AugmentError> {
    let wrong = |fault| AugmentError::of(path, None, fault);
    let bare = file.trim_end_matches(".md");
    if let Some(name) = [group, bare].into_iter().find(|name| !is_plain(name)) {
        return Err(wrong(AugmentFault::Name(name.to_owned())));
    }
    let name = format!("{group}/{bare}");
    let augment = text(path, within).and_then(|text| Augment::read(&name, path, &text));
    Ok((name, augment))
}

fn text(path: &Path, within: Option<&Path>) -> Result<String, AugmentError> {
    let wrong = |fault| AugmentError::of(path, None, fault);
    let unreadable = |error: std::io::Error| wrong(AugmentFault::Unreadable(error.to_string()));
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
    if let Some(within) = within
        && path.ancestors().take_while(|path| *path != within).any(is_link)
    {
        return Err(wrong(AugmentFault::Link));
    }
    let about = fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() {
        return Err(wrong(AugmentFault::Unreadable("it is no file".to_owned())));
    }
    let mut bytes = Vec::new();
    let file = fs::OpenOptions::new().read(true).open(path).map_err(unreadable)?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST {
        let size = about.len().max(bytes.len() as u64);
        return Err(wrong(AugmentFault::TooLarge { size, most: MOST }));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        AugmentError::of(path, Some(line), AugmentFault::NotUtf8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test writes the files that users would")]
    fn put(root: &Path, path: &str, bytes: impl AsRef<[u8]>) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn texts(library: &AugmentLibrary) -> Vec<String> {
        library.augments().map(|one| format!("{} {}", one.name, one.text)).collect()
    }

    #[test]
    fn the_project_goes_before_the_user_and_files_before_memory() {
        // RULES 40: `augments/<group>/<name>.md`; an edit on disk holds from the next look on.
        let (project, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = AugmentFolders::new(Some(project.path()), Some(user.path()));
        assert_eq!(texts(&folders.read()), Vec::<String>::new());
        put(user.path(), "augments/a/one.md", "user");
        put(user.path(), "augments/a/two.md", "user");
        put(project.path(), "augments/a/one.md", "project");
        put(project.path(), ".epitome/augments/b/ours.md", "ours");
        put(project.path(), "augments/README.md", "no augment");
        put(project.path(), "augments/a/notes.txt", "no augment");
        put(project.path(), "augments/a/deep/er.md", "no augment");
        let library = folders.read();
        assert_eq!(texts(&library), ["a/one project", "a/two user", "b/ours ours"]);
        assert_eq!(library.errors(), []);
        put(project.path(), "augments/a/one.md", "edited");
        fs::remove_file(user.path().join("augments/a/two.md")).unwrap();
        assert_eq!(texts(&folders.read()), ["a/one edited", "b/ours ours"]);
    }

    #[test]
    fn each_file_that_cannot_be_used_is_named() {
        let project = tempfile::tempdir().unwrap();
        put(project.path(), "augments/a/big.md", "x".repeat(MOST as usize + 1));
        put(project.path(), "augments/a/bytes.md", b"one\ntwo \xff\n");
        put(project.path(), "augments/a/fits.md", "x".repeat(MOST as usize));
        put(project.path(), "augments/a/my notes.md", "text");
        let library = AugmentFolders::new(Some(project.path()), None).read();
        let errors: Vec<_> = library.errors().iter().map(ToString::to_string).collect();
        let at = |name: &str| project.path().join("augments/a").join(name).display().to_string();
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(
            errors[0].starts_with(&format!("{}: `my notes` cannot be a name", at("my notes.md")))
        );
        assert!(
            errors[1].starts_with(&format!("{}: takes 65537 bytes; an augment may", at("big.md")))
        );
        assert!(errors[2].starts_with(&format!("{}:2: is no UTF-8", at("bytes.md"))), "{errors:?}");
        assert_eq!(library.augments().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_project_links_to_nothing_outside() {
        use std::os::unix::fs::symlink;
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(home.path(), "elsewhere/a/secret.md", "secret");
        put(project.path(), "augments/b/fine.md", "fine");
        symlink(home.path().join("elsewhere/a"), project.path().join("augments/a")).unwrap();
        let secret = home.path().join("elsewhere/a/secret.md");
        symlink(&secret, project.path().join("augments/b/link.md")).unwrap();
        symlink(home.path().join("ours"), project.path().join(".epitome")).unwrap();
        put(home.path(), "ours/augments/c/secret.md", "secret");
        let library = AugmentFolders::new(Some(project.path()), None).read();
        assert_eq!(texts(&library), ["b/fine fine"]);
        let errors = library.errors();
        assert!(errors.iter().all(|error| error.fault == AugmentFault::Link), "{errors:?}");
        assert_eq!(errors.len(), 3, "{errors:?}");
        // What the user links to is the user's own.
        symlink(home.path().join("elsewhere"), home.path().join("augments")).unwrap();
        let library = AugmentFolders::new(None, Some(home.path())).read();
        assert_eq!(texts(&library), ["a/secret secret"]);
    }
}
