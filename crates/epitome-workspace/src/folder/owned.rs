//! Takes what a session wrote out of the files that several sessions write to.
//!
//! Invariant: nothing but the blocks of that session goes. Called where a session is erased.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use epitome_kernel::WorkspaceError;

use super::{OURS, OWN, WorkspaceFolder, failed, read, replace};
use crate::block::{BEGINS, heading};

/// The folder of files that hold no blocks.
const WHOLE: &str = "offloaded";

/// So many folders deep files are looked for.
const DEEPEST: u32 = 4;

impl WorkspaceFolder {
    /// Takes what a session wrote out of the files with [blocks](crate::block); gives how many files it
    /// wrote to. A file that holds nothing else is removed.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read, or a file not written.
    pub fn forget(&self, session: &str) -> Result<u32, WorkspaceError> {
        let Ok(ours) = self.inside(OURS) else { return Ok(0) };
        let mut files = Vec::new();
        gather(&ours, 0, &mut files).map_err(|error| failed(OURS, &error))?;
        let heading = heading(session);
        let mut gone = 0;
        for file in files {
            let at = |error: io::Error| failed(&file.display().to_string(), &error);
            let Some(text) = read(&file, u64::MAX).map_err(at)? else { continue };
            if let Some(rest) = without(&text, &heading) {
                match rest.is_empty() {
                    true => fs::remove_file(&file).map_err(at)?,
                    false => replace(file.parent().unwrap_or(&ours), &file, rest.as_bytes())
                        .map_err(at)?,
                }
                gone += 1;
            }
        }
        Ok(gone)
    }
}

/// The rest of a file without the blocks of a session; `None` where there are none.
fn without(text: &str, heading: &str) -> Option<String> {
    let mut blocks = Vec::new();
    for line in text.split_inclusive('\n') {
        match blocks.last_mut() {
            Some(block) if !line.starts_with(BEGINS) => *block += line,
            _ => blocks.push(line.to_owned()),
        }
    }
    let before = blocks.len();
    blocks.retain(|block| !block.starts_with(heading));
    (blocks.len() < before).then(|| blocks.concat())
}

/// The Markdown files in a folder, but for what is not a session's, or whole and its own.
fn gather(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let all = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        all => all?,
    };
    for one in all {
        let one = one?;
        let (kind, path) = (one.file_type()?, one.path());
        let others = OWN.iter().chain([&WHOLE]);
        let is_other = depth == 0 && others.into_iter().any(|other| one.file_name() == *other);
        if kind.is_dir() && depth < DEEPEST && !is_other {
            gather(&path, depth + 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|name| name == "md") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use epitome_kernel::Workspace;

    use super::*;
    use crate::block;

    #[test]
    fn what_a_session_wrote_can_be_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = WorkspaceFolder::new(folder.path());
        let (log, archive) = (".epitome/LOG.md", ".epitome/archive/a_full.md");
        for (session, text) in [("a", "one"), ("b", "two\n<!-- session a -->\n"), ("a", "three")] {
            workspace.append(log, block(session, text).as_bytes()).unwrap();
        }
        workspace.export(archive, block("a", "all of it").as_bytes()).unwrap();
        let whole = block("a", "read from a log");
        workspace.export(".epitome/offloaded/x.md", whole.as_bytes()).unwrap();
        assert_eq!(workspace.forget("c"), Ok(0));
        assert_eq!(workspace.forget("a"), Ok(2));
        let left = "<!-- session b -->\ntwo\n <!-- session a -->\n";
        assert!(workspace.persisted(log, left.as_bytes()));
        assert!(!folder.path().join(archive).exists());
        assert_eq!(workspace.forget("a"), Ok(0));
        assert!(workspace.persisted(".epitome/offloaded/x.md", whole.as_bytes()));
        assert_eq!(workspace.forget("b"), Ok(1));
        assert!(!folder.path().join(log).exists());
    }

    #[test]
    fn names_cannot_close_the_line_that_holds_them() {
        assert_eq!(block("a --> b\nc", "x"), "<!-- session a - -> b c -->\nx\n");
        let own = block("a", "<!-- session b -->\n");
        assert_eq!(without(&own, &heading("b")), None);
    }

    #[test]
    fn a_folder_without_files_has_nothing_to_forget() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(WorkspaceFolder::new(folder.path()).forget("a"), Ok(0));
    }
}
