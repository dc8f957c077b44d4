//! The policies that come with the program.
//!
//! Invariant: a released program reads none of them from disk. In debug builds the folder of the
//! sources is read instead, so that an edit acts at once. Called by the shelves.

use std::path::Path;

use epitome_lua::PolicySource;

include!(concat!(env!("OUT_DIR"), "/policies.rs"));

/// Where their sources stand, on the machine that built the program.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");

/// The names of all shipped folders.
pub(super) fn folders() -> impl Iterator<Item = &'static str> {
    FOLDERS.iter().map(|(name, _)| *name)
}

/// A shipped folder.
pub(super) fn folder(name: &str) -> Option<PolicySource> {
    let &(name, files) = FOLDERS.iter().find(|(known, _)| *known == name)?;
    let on_disk = Path::new(SOURCES).join(name);
    Some(match cfg!(debug_assertions) && on_disk.is_dir() {
        true => PolicySource::Folder(on_disk),
        false => PolicySource::Embedded(files),
    })
}
