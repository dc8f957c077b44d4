//! Watches the files of policies and reloads what changed.
//!
//! Invariant: nothing is watched before a host asks for it, nor after its [`Watch`] falls. What
//! broke goes on being watched, so that mending it is enough.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::live::LuaPolicy;
use crate::source::{FoundPolicy, PolicySource};

/// How long nothing may change before files are read that conversations depend on: editors write in
/// several steps.
pub const SETTLE: Duration = Duration::from_millis(200);
/// After so many changes in a row they are read nevertheless.
const MOST_CHANGES: u32 = 50;

/// A policy's files have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReload {
    /// The policy.
    pub policy: String,
    /// The number of the generation that is in force now.
    pub generation: u64,
    /// Why it is still the old one, with file and line; `None` where it is the new one, or where
    /// the files say again what they said before they broke.
    pub error: Option<String>,
}

/// The files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be watched for changes: {cause}", path.display())]
pub struct WatchError {
    /// The folder.
    pub path: PathBuf,
    /// The cause, as the system says it.
    pub cause: String,
}

/// Policies being watched.
pub struct PolicyWatch {
    stop: Sender<WatchMessage>,
}

enum WatchMessage {
    Changed,
    Stop,
}

impl fmt::Debug for PolicyWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl PolicyWatch {
    /// Watches the folders of policies and of the modules that they use, and tells of what became
    /// of each change, on a thread of its own.
    ///
    /// # Errors
    ///
    /// When the system does not let a folder be watched.
    pub fn start(
        policies: Vec<Arc<LuaPolicy>>,
        tell: impl FnMut(PolicyReload) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let folders = folders(policies.iter().map(|policy| policy.found()));
        let mut reloader = PolicyReloader { policies, broken: BTreeSet::new(), tell };
        Self::folders(folders, SETTLE, move || reloader.reload())
    }

    /// Watches the folders of policies and of the modules that they use, whether or not they can be
    /// loaded, and those that `files` stand in. Calls `changed` after each change, once there was none for as
    /// long as `settle`, on a thread of its own.
    ///
    /// # Errors
    ///
    /// When the system does not let a folder be watched.
    pub fn files(
        policies: &[FoundPolicy],
        files: &[PathBuf],
        settle: Duration,
        changed: impl FnMut() + Send + 'static,
    ) -> Result<Self, WatchError> {
        let beside: BTreeSet<_> = files.iter().filter_map(|file| file.parent()).collect();
        let beside =
            beside.into_iter().map(|folder| (folder.to_owned(), RecursiveMode::NonRecursive));
        // A folder that is watched with all that is in it is watched so at last.
        let all = beside.chain(folders(policies.iter())).collect();
        Self::folders(all, settle, changed)
    }

    fn folders(
        folders: Vec<(PathBuf, RecursiveMode)>,
        settle: Duration,
        tell: impl FnMut() + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (stop, messages) = mpsc::channel();
        let changed = stop.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is no change; whatever else is not understood may be one.
            let read = event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_)));
            if !read {
                // The thread may have ended.
                drop(changed.send(WatchMessage::Changed));
            }
        });
        let failed = |path: PathBuf| {
            move |cause: notify::Error| WatchError { path, cause: cause.to_string() }
        };
        let mut watcher = watcher.map_err(failed(PathBuf::new()))?;
        for (folder, mode) in &folders {
            if folder.is_dir() {
                watcher.watch(folder, *mode).map_err(failed(folder.clone()))?;
            }
        }
        let thread = WatchThread { watcher, folders, settle, tell };
        let spawned = thread::Builder::new()
            .name("policy-watch".to_owned())
            .spawn(move || thread.run(&messages));
        spawned.map_err(|error| WatchError { path: PathBuf::new(), cause: error.to_string() })?;
        Ok(Self { stop })
    }
}

impl Drop for PolicyWatch {
    fn drop(&mut self) {
        // The thread may have ended.
        drop(self.stop.send(WatchMessage::Stop));
    }
}

/// The folders of policies and libraries, and those that hold them: a folder that is replaced as a
/// whole has to be watched anew.
fn folders<'a>(policies: impl Iterator<Item = &'a FoundPolicy>) -> Vec<(PathBuf, RecursiveMode)> {
    let sources = policies.flat_map(|found| std::iter::once(&found.files).chain(&found.libraries));
    let own: BTreeSet<PathBuf> =
        sources.filter_map(PolicySource::folder).map(ToOwned::to_owned).collect();
    let parents: BTreeSet<PathBuf> =
        own.iter().filter_map(|folder| folder.parent()).map(ToOwned::to_owned).collect();
    let parents = parents.into_iter().map(|folder| (folder, RecursiveMode::NonRecursive));
    parents.chain(own.into_iter().map(|folder| (folder, RecursiveMode::Recursive))).collect()
}

struct WatchThread<F> {
    watcher: RecommendedWatcher,
    folders: Vec<(PathBuf, RecursiveMode)>,
    settle: Duration,
    tell: F,
}

impl<F: FnMut()> WatchThread<F> {
    fn run(mut self, messages: &Receiver<WatchMessage>) {
        while let Ok(WatchMessage::Changed) = messages.recv() {
            if !settled(messages, self.settle) {
                return;
            }
            self.watch_again();
            (self.tell)();
        }
    }

    /// A folder that was taken away and put back is another one.
    fn watch_again(&mut self) {
        for (folder, mode) in &self.folders {
            if folder.is_dir() {
                // What cannot be watched any more was told when it was first asked for.
                drop(self.watcher.watch(folder, *mode));
            }
        }
    }
}

/// Takes up what the files of policies say now.
struct PolicyReloader<F> {
    policies: Vec<Arc<LuaPolicy>>,
    /// Those whose files could not be loaded when they were last looked at.
    broken: BTreeSet<usize>,
    tell: F,
}

impl<F: FnMut(PolicyReload)> PolicyReloader<F> {
    fn reload(&mut self) {
        for (at, policy) in self.policies.iter().enumerate() {
            let error = match policy.reload() {
                Ok(changed) => {
                    let mended = self.broken.remove(&at);
                    if !changed && !mended {
                        continue;
                    }
                    None
                }
                Err(error) => {
                    self.broken.insert(at);
                    Some(error.to_string())
                }
            };
            let generation = policy.current().1;
            let policy = policy.found().name.clone();
            (self.tell)(PolicyReload { policy, generation, error });
        }
    }
}

/// Waits until nothing changes; whether to go on.
fn settled(messages: &Receiver<WatchMessage>, settle: Duration) -> bool {
    for _ in 0..MOST_CHANGES {
        match messages.recv_timeout(settle) {
            Ok(WatchMessage::Changed) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}
