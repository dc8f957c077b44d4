//! Saves of a policy that is tried: whether its files say something else than when a try was begun.
//!
//! Invariant: equal contents are tried once, however often they are written. What cannot be whole yet is
//! given the time that an editor takes for all steps of a save.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use epitome::lua::{FoundPolicy, PolicySource, PolicyWatch};

use crate::fault::CliError;

/// How long nothing may change before the files are looked at.
const SETTLE: Duration = Duration::from_millis(40);
/// How much longer is waited for the rest of a save where a file is empty or cannot be loaded.
const REST: Duration = Duration::from_millis(300);
/// The largest file that is told by what it says; a larger one by its size and time.
const LARGEST: u64 = 1 << 20;

/// The saves of a policy, while it is tried again and again.
pub(super) struct PolicySaves {
    shared: Arc<SharedSaves>,
    changes: mpsc::Receiver<()>,
    _watch: PolicyWatch,
}

struct SharedSaves {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    tried: Mutex<SavedFiles>,
    is_newer: AtomicBool,
}

/// Says while a policy is tried whether it was saved with other contents meanwhile.
#[derive(Clone, Default)]
pub(super) struct NewerSave(Option<Arc<SharedSaves>>);

impl NewerSave {
    /// Whether what is tried is no longer what the files say.
    pub(super) fn is_there(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.is_newer.load(Ordering::Acquire))
    }
}

impl PolicySaves {
    /// Watches the folders of policies and of the modules that they use, and these files.
    pub(super) fn watch(policies: &[FoundPolicy], files: Vec<PathBuf>) -> Result<Self, CliError> {
        let sources = policies.iter().flat_map(|it| [&it.files].into_iter().chain(&it.libraries));
        let mut folders: Vec<_> = sources.filter_map(PolicySource::folder).collect();
        folders.sort_unstable();
        folders.dedup();
        let folders = folders.into_iter().map(Path::to_owned).collect();
        let (tried, is_newer) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(SharedSaves { folders, files, tried, is_newer });
        let (tell, changes) = mpsc::channel();
        let watched = Arc::clone(&shared);
        let watch = PolicyWatch::files(policies, &shared.files, SETTLE, move || {
            if watched.look() {
                tell.send(()).unwrap_or_default();
            }
        });
        let watch = watch.map_err(CliError::internal)?;
        Ok(Self { shared, changes, _watch: watch })
    }

    /// A try is begun with what the files say now.
    pub(super) fn begin(&self) -> NewerSave {
        // Held until all is as it was at one moment.
        let mut tried = self.shared.tried();
        while self.changes.try_recv().is_ok() {}
        self.shared.is_newer.store(false, Ordering::Release);
        *tried = self.shared.read();
        NewerSave(Some(Arc::clone(&self.shared)))
    }

    /// Waits until the files say something else than when the last try was begun; whether that may come.
    pub(super) fn wait(&self) -> bool {
        while !self.is_newer() {
            if self.changes.recv().is_err() {
                return false;
            }
        }
        true
    }

    /// Whether the files say nothing else either once an editor has had the time for the rest of a save.
    pub(super) fn stays(&self) -> bool {
        match self.changes.recv_timeout(REST) {
            Ok(()) => !self.is_newer(),
            // That nothing will be told any more shows at the next wait.
            Err(_) => true,
        }
    }

    /// Whether one of the files that were there when the last try was begun is a script that says nothing.
    pub(super) fn is_begun(&self) -> bool {
        self.shared.tried().has_empty
    }

    fn is_newer(&self) -> bool {
        self.shared.is_newer.load(Ordering::Acquire)
    }
}

impl SharedSaves {
    /// Whether the files say something else than what is tried.
    fn look(&self) -> bool {
        let tried = self.tried();
        let is_newer = self.read() != *tried;
        self.is_newer.store(is_newer, Ordering::Release);
        is_newer
    }

    fn read(&self) -> SavedFiles {
        let mut saved = SavedFiles::read(&self.folders);
        self.files.iter().for_each(|file| saved.add(file.clone()));
        saved
    }

    fn tried(&self) -> MutexGuard<'_, SavedFiles> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What files say.
#[derive(Debug, Default, PartialEq, Eq)]
struct SavedFiles {
    files: Vec<(PathBuf, Vec<u8>)>,
    has_empty: bool,
}

impl SavedFiles {
    /// What all files below these folders say, but for those that editors and version control keep.
    fn read(folders: &[PathBuf]) -> Self {
        let mut saved = Self::default();
        folders.iter().for_each(|folder| saved.add_folder(folder));
        saved.files.sort_unstable();
        saved
    }

    fn add_folder(&mut self, folder: &Path) {
        // What is not there says nothing.
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if name.starts_with(['.', '#']) || name.ends_with('~') {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                self.add_folder(&path);
            } else {
                self.add(path);
            }
        }
    }

    /// What a file says; one that is not there says nothing.
    #[expect(clippy::disallowed_methods, reason = "the files of a policy are what is tried")]
    fn add(&mut self, path: PathBuf) {
        let Some(about) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else { return };
        let is_script = path.extension().is_some_and(|ending| ending == "lua");
        self.has_empty |= about.len() == 0 && is_script;
        let said = match about.len() <= LARGEST {
            true => fs::read(&path).unwrap_or_default(),
            false => format!("{} {:?}", about.len(), about.modified().ok()).into_bytes(),
        };
        self.files.push((path, said));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_the_same_until_one_says_something_else() {
        let folder = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the files that are read")]
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let read = || SavedFiles::read(&[folder.path().to_owned()]);
        write("policy.lua", "return {}\n");
        let first = read();
        assert!(!first.has_empty);
        write("policy.lua", "return {}\n");
        write(".policy.lua.swp", "an editor's");
        write("policy.lua~", "return {}\n");
        assert_eq!(read(), first);
        write("policy.lua", "");
        assert!(read().has_empty && read() != first);
        write("policy.lua", "return {}\n");
        fs::create_dir(folder.path().join("tests")).unwrap();
        assert_eq!(read(), first);
        write("tests/all.lua", "return {}\n");
        assert_ne!(read(), first);
        fs::remove_file(folder.path().join("tests/all.lua")).unwrap();
        assert_eq!(read(), first);
        assert_eq!(SavedFiles::read(&[folder.path().join("none")]), SavedFiles::default());
    }
}
