//! Checks of the store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use epitome::{SEALED, SessionArchive, SqliteStore, StoreError};
use rustix::fs::Access;

use super::{DoctorFinding, Patient};
use crate::text::{counted, grouped};
use crate::{store, store_key};

/// A larger store is not verified here, since that would take long.
const QUICK: u64 = 256 << 20;
/// With less room than this a session may not be recorded any longer.
const LITTLE: u64 = 64 << 20;
/// With less room than this somebody should look.
const TIGHT: u64 = 1 << 30;

/// Whether others can read what was said.
pub(super) fn files(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "files";
    if !patient.path.exists() {
        return Vec::new();
    }
    let mut open = Vec::new();
    let beside = |end: &str| PathBuf::from(format!("{}{end}", patient.path.display()));
    for file in [patient.path.clone(), beside("-wal"), beside("-shm")] {
        open.extend(readable_by_others(&file, "600"));
    }
    // Any other folder is the user's affair: the files in it cannot be read all the same.
    let folder = patient.path.parent().filter(|_| patient.usual);
    open.extend(folder.and_then(|folder| readable_by_others(folder, "700")));
    if open.is_empty() {
        return vec![DoctorFinding::ok(ABOUT, "readable by you only")];
    }
    let found = |(path, mode, remedy): (PathBuf, u32, String)| {
        let found = format!("{} has the mode {mode:o}: others may read it", path.display());
        DoctorFinding::fail(ABOUT, found, remedy)
    };
    open.into_iter().map(found).collect()
}

fn readable_by_others(path: &Path, mode: &str) -> Option<(PathBuf, u32, String)> {
    let found = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let remedy = format!("chmod {mode} {}", path.display());
    (found & 0o077 != 0).then(|| (path.to_owned(), found, remedy))
}

/// Whether there is room to record more.
pub(super) fn room(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "room";
    const REMEDY: &str = "make room, or name a store elsewhere with `--store`";
    let folder = patient.path.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(about) = rustix::fs::statvfs(folder) else { return Vec::new() };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    let found = format!("{} MiB free in {}", grouped(free >> 20), folder.display());
    vec![match free {
        _ if free < LITTLE => DoctorFinding::fail(ABOUT, found, REMEDY),
        _ if free < TIGHT => DoctorFinding::warn(ABOUT, found, REMEDY),
        _ => DoctorFinding::ok(ABOUT, found),
    }]
}

/// Whether the database that is the store answers.
fn database(about: &'static str, patient: &Patient) -> DoctorFinding {
    let shown = store::shown(&patient.path);
    match store::open_existing(&patient.path) {
        Ok(_) => DoctorFinding::ok(about, format!("{shown} answers, its schema is known")),
        Err(error) => {
            let remedy = "start the server, mend its address, or name another store with `--store`";
            DoctorFinding::fail(about, error.to_string(), remedy)
        }
    }
}

/// Whether a store that is not there yet can be made.
fn to_be_made(about: &'static str, path: &Path) -> DoctorFinding {
    let shown = path.display();
    let above = path.ancestors().skip(1).find(|above| above.exists());
    let above = above.unwrap_or(Path::new("."));
    let is_writable = above.is_dir() && rustix::fs::access(above, Access::WRITE_OK).is_ok();
    if is_writable {
        let found = format!("there is none yet at {shown}; the first session makes it");
        return DoctorFinding::ok(about, found);
    }
    let found = format!("{shown} cannot be made: nothing can be written in {}", above.display());
    let remedy = "make that a folder that can be written, or name another store with `--store`";
    DoctorFinding::fail(about, found, remedy)
}

/// Whether the store can be opened and holds what was written.
pub(super) fn store(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "store";
    let path = patient.path.display();
    if store::is_database(&patient.path) {
        return vec![database(ABOUT, patient)];
    }
    if !patient.path.exists() {
        return vec![to_be_made(ABOUT, &patient.path)];
    }
    let opened = store_key::file(&patient.path).and_then(SqliteStore::open_existing);
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            let remedy = match error {
                StoreError::Damaged { .. } => {
                    "`epitome store salvage PATH NEW` saves what can be read"
                }
                StoreError::Broken { what: SEALED, .. } => {
                    "nothing is lost: with its own key it opens"
                }
                _ => "move the file away, or name another store with `--store`",
            };
            return vec![DoctorFinding::fail(ABOUT, error.to_string(), remedy)];
        }
    };
    if store.is_read_only() {
        let found = format!("{path} is read-only: nothing new is kept in it");
        let remedy = "make the file and its folder writable, or name another store with `--store`";
        return vec![DoctorFinding::warn(ABOUT, found, remedy)];
    }
    let size = fs::metadata(&patient.path).map_or(0, |about| about.len());
    let opens = format!("{path} opens, {} KiB, its schema is known", grouped(size.div_ceil(1024)));
    if size > QUICK {
        let remedy = "`epitome session verify` takes its time and looks at all of it";
        return vec![DoctorFinding::ok(
            ABOUT,
            format!("{opens}; too large to verify here: {remedy}"),
        )];
    }
    match store.verify(false) {
        Ok(findings) if findings.is_empty() => {
            vec![DoctorFinding::ok(ABOUT, format!("{opens} and all is as it was written"))]
        }
        Ok(findings) => {
            let found = counted(findings.len() as u64, "finding");
            let remedy = "`epitome session verify` names them, `--repair` mends what can be, and \
                `epitome store salvage` saves the rest";
            vec![DoctorFinding::fail(ABOUT, format!("{path} is damaged: {found}"), remedy)]
        }
        Err(error) => {
            let remedy = "`epitome session verify` tells more";
            vec![DoctorFinding::fail(ABOUT, error.to_string(), remedy)]
        }
    }
}
