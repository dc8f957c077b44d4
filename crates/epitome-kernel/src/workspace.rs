//! The port to the folder that a client works in.

/// The folder that a client works in: what its own tools can open. Without one nothing is persisted
/// and nothing can be exported (RULES 65).
pub trait Workspace: Send + Sync {
    /// Whether the file at a path, relative to the folder or absolute and in it, holds exactly these
    /// bytes.
    fn persisted(&self, path: &str, bytes: &[u8]) -> bool;

    /// Whether the file at a path, relative to the folder or absolute and in it, holds a piece of
    /// text. One that cannot be read, or is too large to be looked at, holds nothing.
    fn holds(&self, _path: &str, _piece: &str) -> bool {
        false
    }

    /// A mark of the file at a path: another one once the file is written to or replaced, and none
    /// where there is no file. It is asked of every file that a prompt names, with every request. A
    /// workspace that does not say takes its files to last.
    fn stamp(&self, _path: &str) -> Option<u64> {
        Some(0)
    }

    /// Puts a whole file at a path relative to the folder, in the place of any that is there: on
    /// return the client can open it.
    ///
    /// # Errors
    ///
    /// When the path leads elsewhere or cannot be written; then the file is the old one, or none.
    fn export(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError>;

    /// Adds bytes at the end of the file at a path relative to the folder; where there is none it
    /// is made.
    ///
    /// # Errors
    ///
    /// As [`Workspace::export`]; also where a workspace only puts whole files.
    fn append(&self, path: &str, _bytes: &[u8]) -> Result<(), WorkspaceError> {
        let cause = "files are not added to here".to_owned();
        Err(WorkspaceError { path: path.to_owned(), cause })
    }
}

/// Why a file is not in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file `{path}` is not in the workspace: {cause}")]
pub struct WorkspaceError {
    /// The file, as the workspace names it.
    pub path: String,
    /// Why not.
    pub cause: String,
}
