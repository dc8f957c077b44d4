//! Whether something may run that somebody else may have written: a policy, a plugin.
//!
//! Invariant: what runs is covered by what the user trusted: the whole folder of such things, or
//! the thing and every folder that it is made of. Called before anything is loaded or started.

use std::path::Path;

use epitome_lua::{Standing, Trust};

use crate::config::Problem;

/// Something that came with a project.
pub(crate) struct Brought<'a> {
    /// What it is: `policy` or `plugin`.
    pub(crate) what: &'static str,
    pub(crate) name: &'a str,
    /// Its file, as messages name it.
    pub(crate) place: String,
    /// The folder of such things that it stands in.
    pub(crate) shelf: &'a Path,
    /// Its own folder.
    pub(crate) folder: &'a Path,
    /// The folders beside it that it is made of, its own among them.
    pub(crate) parts: Vec<&'a Path>,
}

impl Brought<'_> {
    /// Why it may not run, and what to do about it.
    pub(crate) fn refusal(self, trust: Option<&Trust>) -> Option<Problem> {
        let Self { what, name, place, shelf, folder, parts } = self;
        let others = if what == "policy" { "policies" } else { "plugins" };
        let Some(trust) = trust else {
            let what = format!(
                "the {what} `{name}` came with the project, and there is no home folder to record \
                 in what is trusted; `--untrusted` goes on with shipped {others}",
            );
            return Some(Problem::new(place, what));
        };
        // A link is trusted for where it leads, and not for what is there.
        let is_covered = parts.iter().all(|part| part.starts_with(shelf) && !part.is_symlink());
        let whole = if is_covered { trust.standing(shelf) } else { Ok(Standing::Unknown) };
        let standing = match whole {
            Ok(whole) if !whole.may_run() => {
                worst(trust, &parts).map(|parts| more_telling(parts, whole))
            }
            standing => standing,
        };
        let why = match standing {
            Ok(standing) if standing.may_run() => return None,
            Ok(Standing::Changed) => "is new, or not what you trusted any more".to_owned(),
            Ok(_) => "came with the project and is not trusted".to_owned(),
            Err(error) => format!("cannot be checked: {error}"),
        };
        let folder = if is_covered { shelf } else { folder }.display();
        let what = format!(
            "the {what} `{name}` {why}; read it, then let it run with `epitome trust {folder}`, or \
             go on with shipped {others} with `--untrusted`",
        );
        Some(Problem::new(place, what))
    }
}

/// The standing of the least trusted of some folders.
fn worst(trust: &Trust, folders: &[&Path]) -> std::io::Result<Standing> {
    let mut worst = Standing::Own;
    for folder in folders {
        let standing = trust.standing(folder)?;
        if !standing.may_run() {
            return Ok(standing);
        }
        worst = standing;
    }
    Ok(worst)
}

/// The standing of the parts, unless they may not run and that of the whole says more.
fn more_telling(parts: Standing, whole: Standing) -> Standing {
    if !parts.may_run() && whole == Standing::Changed { whole } else { parts }
}
