//! The files of the workspace, read once.
//!
//! Invariant: paths are relative to the top and use `/`; what `.gitignore` names is not there.
//! Every check gets one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Endings of the files that people write and that the checks read. Everything else is data: its
/// name counts, its content does not.
const SOURCES: &[&str] = &[".rs", ".toml", ".md", ".lua", ".sh", ".yml", ".yaml"];

/// All files by path, each with its text (empty for data files).
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the tree under `root`.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let ignored = read_text(&root.join(".gitignore"))?;
        let mut tree = Self::default();
        tree.read_folder(root, "", &Ignored::parse(&ignored))?;
        Ok(tree)
    }

    fn read_folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        ignored: &Ignored,
    ) -> anyhow::Result<()> {
        let items =
            fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        for item in items {
            let item = item.with_context(|| format!("reading {}", folder.display()))?;
            let name = item.file_name().to_string_lossy().into_owned();
            if ignored.covers(&name) {
                continue;
            }
            let path = format!("{prefix}{name}");
            if item.file_type()?.is_dir() {
                self.read_folder(&item.path(), &format!("{path}/"), ignored)?;
            } else {
                let text = if is_source(&path) { read_text(&item.path())? } else { String::new() };
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// Every file: its path and its text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files whose path ends with `ending`.
    pub(crate) fn ending(&self, ending: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| path.ends_with(ending))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is such a file or folder.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.keys().any(|file| file == path || file.starts_with(&folder))
    }

    /// A tree made of `(path, text)` pairs.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let owned = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { files: owned.collect() }
    }
}

#[expect(clippy::disallowed_methods, reason = "this tool reads the tree it checks")]
fn read_text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {} as text", path.display()))
}

fn is_source(path: &str) -> bool {
    path.starts_with(".ci/") || SOURCES.iter().any(|ending| path.ends_with(ending))
}

/// The two forms of pattern that `.gitignore` uses here: a name, and a star with an ending.
struct Ignored {
    names: Vec<String>,
    endings: Vec<String>,
}

impl Ignored {
    fn parse(text: &str) -> Self {
        let mut ignored = Self { names: vec![".git".to_owned()], endings: Vec::new() };
        for line in text.lines().map(str::trim) {
            match line.strip_prefix('*') {
                Some(ending) => ignored.endings.push(ending.to_owned()),
                None if line.is_empty() || line.starts_with('#') => {}
                None => ignored.names.push(line.trim_matches('/').to_owned()),
            }
        }
        ignored
    }

    fn covers(&self, name: &str) -> bool {
        self.names.iter().any(|ignored| ignored == name)
            || self.endings.iter().any(|ending| name.ends_with(ending.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_names_and_endings_are_left_out() {
        let ignored = Ignored::parse("# built\ntarget/\n\n*.db\n");
        for name in [".git", "target", "epitome.db"] {
            assert!(ignored.covers(name), "{name}");
        }
        for name in ["targets", "db", ".gitignore", "built", ""] {
            assert!(!ignored.covers(name), "{name}");
        }
    }

    #[test]
    fn a_folder_is_held_through_its_files() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", "")]);
        assert!(tree.holds("crates/a") && tree.holds("crates/a/src/lib.rs") && tree.holds(""));
        assert!(!tree.holds("crates/a/src/lib") && !tree.holds("crates/b"));
    }
}
