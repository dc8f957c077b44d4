//! Which files a scan looks at: what clients keep of this user, or what is named.
//!
//! Invariant: each file once, however it is reached, in the order in which it is found.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::files;

/// The ending of the files that clients record sessions in.
const SESSION: &str = "jsonl";

/// The folders in which clients keep the sessions of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFolders {
    /// Claude Code's: a folder for each project.
    pub claude_code: PathBuf,
    /// Codex': a folder for each day.
    pub codex: PathBuf,
    /// Pi's: a folder for each project.
    pub pi: PathBuf,
}

/// Files that may hold a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingCandidates {
    /// The files.
    pub files: Vec<PathBuf>,
    /// What was named or found, and cannot be looked at.
    pub skipped: Vec<SkippedFile>,
}

/// A file that is not in the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// The file.
    pub file: PathBuf,
    /// Why, in one line.
    pub reason: String,
}

impl ClientFolders {
    /// The folders that an environment says; none where there is no home.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME");
        let folder = |name: &str, usual: &str| {
            set(name).or_else(|| home.as_ref().map(|home| home.join(usual)))
        };
        Some(Self {
            claude_code: folder("CLAUDE_CONFIG_DIR", ".claude")?.join("projects"),
            codex: folder("CODEX_HOME", ".codex")?.join("sessions"),
            pi: folder("PI_CODING_AGENT_DIR", ".pi/agent")?.join("sessions"),
        })
    }
}

/// The sessions that clients keep of this user. A client that is not there keeps none.
pub fn own(homes: &ClientFolders) -> RecordingCandidates {
    let ClientFolders { claude_code, codex, pi } = homes;
    let is_session = |path: &Path| path.extension() == Some(OsStr::new(SESSION));
    let mut found = FileVerdict::default();
    for folder in [claude_code, codex, pi].into_iter().filter(|folder| folder.is_dir()) {
        found.walk(folder, &is_session);
    }
    found.candidates
}

/// Files as they are named, and every file in the folders that are.
pub fn given(paths: &[PathBuf]) -> RecordingCandidates {
    let mut found = FileVerdict::default();
    for path in paths {
        if path.is_dir() {
            found.walk(path, &|_| true);
        } else {
            found.add(path.clone());
        }
    }
    found.candidates
}

#[derive(Default)]
struct FileVerdict {
    candidates: RecordingCandidates,
    known: BTreeSet<PathBuf>,
}

impl FileVerdict {
    fn walk(&mut self, folder: &Path, wanted: &dyn Fn(&Path) -> bool) {
        let mut all = Vec::new();
        let skipped = &mut self.candidates.skipped;
        files::walk(folder, wanted, &mut all, &mut |path, reason| {
            skipped.push(SkippedFile { file: path.to_owned(), reason });
        });
        all.into_iter().for_each(|file| self.add(file));
    }

    fn add(&mut self, file: PathBuf) {
        if self.known.insert(files::real(&file)) {
            self.candidates.files.push(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::options().create(true).append(true).open(path).unwrap();
    }

    fn names(folder: &Path, found: &RecordingCandidates) -> Vec<String> {
        let inside = |file: &PathBuf| file.strip_prefix(folder).unwrap().display().to_string();
        found.files.iter().map(inside).collect()
    }

    #[test]
    fn variables_of_clients_go_before_the_home() {
        let of = |variables: &[(&str, &str)]| {
            ClientFolders::of(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let homes = of(&[("HOME", "/srv/me"), ("CODEX_HOME", "/codex"), ("CLAUDE_CONFIG_DIR", "")]);
        let homes = homes.unwrap();
        assert_eq!(homes.claude_code, Path::new("/srv/me/.claude/projects"));
        assert_eq!(homes.codex, Path::new("/codex/sessions"));
        assert_eq!(homes.pi, Path::new("/srv/me/.pi/agent/sessions"));
        assert_eq!(of(&[("CODEX_HOME", "/codex")]), None);
    }

    #[test]
    fn own_sessions_are_found_in_order() {
        let home = tempfile::tempdir().unwrap();
        let files = [
            ".codex/sessions/2025/11/02/b.jsonl",
            ".claude/projects/p/two.jsonl",
            ".claude/projects/p/one.jsonl",
            ".claude/projects/p/notes.md",
            ".claude/settings.json",
        ];
        files.iter().for_each(|file| touch(&home.path().join(file)));
        let path = home.path().as_os_str().to_owned();
        let homes = ClientFolders::of(|name| (name == "HOME").then(|| path.clone())).unwrap();
        let found = own(&homes);
        assert_eq!(names(home.path(), &found), [files[2], files[1], files[0]]);
        assert_eq!(found.skipped, []);
    }

    #[test]
    fn folders_are_walked_and_no_file_counts_twice() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        ["b/x.json", "b/.git/config", "a.txt", "b/c/y"].iter().for_each(|name| touch(&at(name)));
        let found = given(&[at("b/c/y"), folder.path().to_owned(), at("gone")]);
        assert_eq!(names(folder.path(), &found), ["b/c/y", "a.txt", "b/x.json", "gone"]);
    }
}
