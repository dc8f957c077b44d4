//! Files in a client's folder that hold what left its prompts, when a session goes.
//!
//! Invariant: only files of the named sessions are removed; where they cannot be found, it is said
//! that they remain. Called by `erase` and `delete`.

use std::path::{Path, PathBuf};

use epitome::{SessionAdmin, WorkspaceFolder, remove_offloaded};

use crate::fault::{self, CliError};
use crate::text::counted;

/// What prompts say where a file stands for what left them.
const NAMED: &str = ".epitome/offloaded";

/// Where the client of a session worked.
#[derive(clap::Args)]
pub(crate) struct WorkspaceFlag {
    /// The folder of the session's client, whose files with what left its prompts go too [default:
    /// the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Sessions that go, and whether their prompts name files.
pub(super) struct Offloaded<'a> {
    folder: &'a Path,
    sessions: Vec<(String, bool)>,
}

impl WorkspaceFlag {
    /// What there is of these sessions, while the journal still knows.
    pub(super) fn of<'a>(
        &'a self,
        keeper: &SessionAdmin,
        sessions: impl IntoIterator<Item = String>,
    ) -> Offloaded<'a> {
        let known = |session: String| {
            let names_files = names_files(keeper, &session).unwrap_or_default();
            (session, names_files)
        };
        let folder = self.workspace.as_deref().unwrap_or(Path::new("."));
        Offloaded { folder, sessions: sessions.into_iter().map(known).collect() }
    }
}

impl Offloaded<'_> {
    /// Removes their files, and tells of it.
    pub(super) fn remove(&self, quiet: bool) -> Result<(), CliError> {
        let workspace = WorkspaceFolder::new(self.folder);
        let folder = self.folder.display();
        for (session, names_files) in &self.sessions {
            let gone = remove_offloaded(&workspace, session)
                .map_err(|error| CliError::usage(format!("{folder}: {error}")))?;
            let told = match gone {
                0 if !names_files => continue,
                0 => format!(
                    "files with what left the prompts of {session} remain in `{NAMED}` of its \
                     client's folder; name that with `--workspace` to remove them"
                ),
                _ => {
                    let gone = counted(gone.into(), "file");
                    format!("{gone} with what left the prompts of {session} went from {folder}")
                }
            };
            if !quiet {
                fault::note(&told);
            }
        }
        Ok(())
    }
}

/// Whether what was made of a session's messages names files; nothing where it cannot be read.
fn names_files(keeper: &SessionAdmin, session: &str) -> Option<bool> {
    let history = keeper.history(Some(session)).ok()?;
    let arrived =
        keeper.journal().rewrites(keeper.scope(), &history.info.name, history.keys()).ok()?;
    let plans = history.epochs().iter().map(|recorded| serde_json::to_string(&recorded.epoch.plan));
    let names = |text: &str| text.contains(NAMED);
    let in_plans = plans.flatten().any(|plan| names(&plan));
    Some(in_plans || arrived.iter().any(|rewrite| names(&rewrite.with)))
}
