//! Whether something may run that somebody else may have written: a policy, a plugin.
//!
//! Invariant: what runs is covered by what the user trusted: the whole folder of such things, or
//! the thing and every folder that it is made of. Called before anything is loaded or started.

use std::path::Path;

use epitome_lua::{TrustStatus, TrustStore};

#[cfg(feature = "find")]
use crate::origin::ExtensionOrigin;
use crate::problem::ConfigProblem;

/// Something that came with a project.
pub(crate) struct ProjectExtension<'a> {
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

/// Why something may not run.
pub(crate) struct Refusal {
    what: &'static str,
    name: String,
    place: String,
    why: String,
    /// What lets it run.
    remedy: String,
}

impl ProjectExtension<'_> {
    /// Why it may not run, and what to do about it.
    pub(crate) fn refusal(self, trust: Option<&TrustStore>) -> Option<Refusal> {
        let Self { what, name, place, shelf, folder, parts } = self;
        let Some(trust) = trust else {
            let why = "came with the project, and there is no home folder to record in what is \
                       trusted";
            let remedy = format!("`HOME=FOLDER epitome trust {}`", folder.display());
            let (name, why) = (name.to_owned(), why.to_owned());
            return Some(Refusal { what, name, place, why, remedy });
        };
        // A link is trusted for where it leads, and not for what is there.
        let is_covered = parts.iter().all(|part| part.starts_with(shelf) && !part.is_symlink());
        let whole = if is_covered { trust.standing(shelf) } else { Ok(TrustStatus::Unknown) };
        let standing = match whole {
            Ok(whole) if !whole.may_run() => {
                worst(trust, &parts).map(|parts| more_telling(parts, (whole, shelf)))
            }
            standing => standing.map(|standing| (standing, shelf)),
        };
        // Of what it is made of beside its own folder, that is read and trusted, by whoever wrote the rest.
        let at = standing.as_ref().map_or(shelf, |(_, at)| at);
        let helper = Some(at).filter(|at| *at != shelf && *at != folder);
        let usual = helper.unwrap_or(if is_covered { shelf } else { folder }).display();
        let own = helper.is_some() && matches!(trust.standing(folder), Ok(TrustStatus::Own));
        let usual = format!("`epitome trust {}{usual}`", if own { "--author " } else { "" });
        let (why, remedy) = match standing {
            Ok((standing, _)) if standing.may_run() => return None,
            Ok((TrustStatus::Pulled, yours)) => (
                "is yours, and git brought what you did not write, or has what never ran here"
                    .to_owned(),
                format!("`epitome trust --author {}`", yours.display()),
            ),
            Ok((TrustStatus::Changed, _)) => {
                ("is new, or not what you trusted any more".to_owned(), usual)
            }
            // One that was added from elsewhere is trusted by itself, whosever the folder is.
            Ok(_) if shelf == folder => {
                ("was added from elsewhere and is not trusted".to_owned(), usual)
            }
            Ok(_) => ("came with the project and is not trusted".to_owned(), usual),
            Err(error) => (format!("cannot be checked: {error}"), usual),
        };
        let part = helper.and_then(|helper| helper.file_name()).map(|part| part.to_string_lossy());
        let why = match part {
            Some(part) => format!("is made with `{part}`, which {why}"),
            None => why,
        };
        Some(Refusal { what, name: name.to_owned(), place, why, remedy })
    }
}

impl Refusal {
    /// A plugin runs something of the project that trust in its folder does not cover.
    pub(crate) fn outside(name: &str, place: String, path: &Path) -> Self {
        let why = format!(
            "runs {}, which is in the project and outside of the plugin's folder, so that trust in \
             the folder does not cover it",
            path.display()
        );
        let remedy = "`epitome trust` once that file stands in the folder and `command` says so";
        Self { what: "plugin", name: name.to_owned(), place, why, remedy: remedy.to_owned() }
    }

    /// As an error: nothing takes its place.
    pub(crate) fn problem(self) -> ConfigProblem {
        let Self { what, name, place, why, remedy } = self;
        let others = others(what);
        let what = format!(
            "the {what} `{name}` {why}; read it, then let it run with {remedy}, or go on with \
             shipped {others} with `--untrusted`"
        );
        ConfigProblem::new(place, what)
    }

    /// As a warning: the one that it would hide, which is `from` there, answers.
    #[cfg(feature = "find")]
    pub(crate) fn passed_over(self, from: ExtensionOrigin) -> ConfigProblem {
        let Self { what, name, place, why, remedy } = self;
        let what = format!(
            "the {what} `{name}` {why}: it is passed over, and the {from} one of that name \
             answers; read it, then let it run with {remedy}"
        );
        ConfigProblem::new(place, what)
    }
}

/// What there are several of.
fn others(what: &str) -> &'static str {
    if what == "policy" { "policies" } else { "plugins" }
}

/// The standing of the least trusted of some folders.
fn worst<'p>(trust: &TrustStore, folders: &[&'p Path]) -> std::io::Result<(TrustStatus, &'p Path)> {
    let mut worst = (TrustStatus::Own, Path::new(""));
    for folder in folders {
        worst = (trust.standing(folder)?, folder);
        if !worst.0.may_run() {
            break;
        }
    }
    Ok(worst)
}

/// The standing of the parts, unless they may not run and that of the whole says more.
fn more_telling<'p>(
    parts: (TrustStatus, &'p Path),
    whole: (TrustStatus, &'p Path),
) -> (TrustStatus, &'p Path) {
    let says_more = [TrustStatus::Changed, TrustStatus::Pulled].contains(&whole.0);
    if !parts.0.may_run() && parts.0 != TrustStatus::Pulled && says_more { whole } else { parts }
}
