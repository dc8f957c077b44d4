//! Which folder is a project's.
//!
//! Invariant: files that left prompts make no project of the folder that a client happened to work in.
//! Asked where something of a project is looked for, and whose sessions are whose.

use std::path::{Path, PathBuf};

/// How the file of a configuration is called, in the user's folder and in a project's.
pub const CONFIG_FILE: &str = "epitome.toml";

/// Our folder in a project.
const EPITOME: &str = ".epitome";

/// What makes a folder a project's.
const MARKS: [&str; 2] = [CONFIG_FILE, ".git"];

/// What does so in [`EPITOME`] where nothing else does. Files that left prompts are there too, and must
/// not make a project of the folder that a client happened to work in.
const FALLBACK_MARKS: [&str; 3] = ["policies", "plugins", "augments"];

/// Finds the project around a folder: the nearest one upwards that something marks.
pub fn project_around(folder: &Path) -> Option<PathBuf> {
    let is_project = |folder: &&Path| is_marked(folder) || is_marked_within(folder);
    folder.ancestors().find(is_project).map(Path::to_owned)
}

/// Tells whether a folder is a project's by itself.
pub fn is_marked(folder: &Path) -> bool {
    MARKS.iter().any(|mark| folder.join(mark).exists())
}

/// Tells whether our folder in it makes it a project's, where nothing else does.
pub fn is_marked_within(folder: &Path) -> bool {
    FALLBACK_MARKS.iter().any(|mark| folder.join(EPITOME).join(mark).exists())
}
