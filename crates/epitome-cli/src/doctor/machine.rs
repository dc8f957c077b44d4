//! Checks of the program and the terminal.

use std::env;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};

use super::{DoctorFinding, Patient};
use crate::columns::output_width;

/// Whether the program is found where a client would look for it.
pub(super) fn program(_: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "program";
    let version = env!("CARGO_PKG_VERSION");
    let own = env::current_exe().and_then(|path| path.canonicalize()).ok();
    let found = on_path("epitome");
    vec![match (found, own) {
        (Some(found), Some(own)) if found.canonicalize().is_ok_and(|found| found == own) => {
            DoctorFinding::ok(ABOUT, format!("epitome {version} at {}", found.display()))
        }
        (Some(found), own) => DoctorFinding::warn(
            ABOUT,
            format!("the epitome on your PATH is another one: {}", found.display()),
            match own {
                Some(own) => format!("this one is {}; put its folder first", own.display()),
                None => "install this one over it".to_owned(),
            },
        ),
        (None, own) => DoctorFinding::warn(
            ABOUT,
            format!("epitome {version} is not on your PATH"),
            match own.as_deref().and_then(Path::parent) {
                Some(folder) => format!("add {} to PATH", folder.display()),
                None => "add its folder to PATH".to_owned(),
            },
        ),
    }]
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// What tables and colours go by.
pub(super) fn terminal(_: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "terminal";
    let colors = match anstream::AutoStream::choice(&stdout()) {
        anstream::ColorChoice::Never => "no colours",
        _ => "colours",
    };
    if !stdout().is_terminal() {
        return vec![DoctorFinding::ok(ABOUT, "standard output is no terminal: plain text")];
    }
    let columns = output_width();
    vec![match columns {
        ..60 => DoctorFinding::warn(
            ABOUT,
            format!("{columns} columns, {colors}: tables leave out most of theirs"),
            "make the window wider, or use `--json`",
        ),
        _ => DoctorFinding::ok(ABOUT, format!("{columns} columns, {colors}")),
    }]
}
