//! Whether a policy may run that somebody else may have written.
//!
//! Invariant: what runs is covered by what the user trusted: the whole folder of policies, or the
//! policy and every folder that its modules come from. Called before anything is loaded.

use std::path::Path;

use epitome_lua::{Source, Standing, Trust};

use super::reference::PolicyRef;
use crate::config::Problem;

/// Why a policy may not run, and what to do about it.
pub(super) fn refusal(policy: &PolicyRef, trust: Option<&Trust>) -> Option<Problem> {
    let (Some(shelf), Some(folder)) = (policy.foreign(), policy.folder()) else { return None };
    let place = policy.place();
    let Some(trust) = trust else {
        let what = format!(
            "the policy `{}` came with the project, and there is no home folder to record in what \
             is trusted; `--untrusted` goes on with shipped policies",
            policy.name()
        );
        return Some(Problem::new(place, what));
    };
    let found = policy.found();
    // A link is trusted for where it leads, and not for what is there.
    let own = [&found.files].into_iter().chain(&found.libraries).filter_map(Source::folder);
    let own: Vec<_> = own.filter(|own| own.parent() == folder.parent()).collect();
    let is_covered = own.iter().all(|own| own.starts_with(shelf) && !own.is_symlink());
    let standing = match if is_covered { trust.standing(shelf) } else { Ok(Standing::Unknown) } {
        Ok(whole) if !whole.may_run() => worst(trust, &own).map(|parts| more_telling(parts, whole)),
        standing => standing,
    };
    let why = match standing {
        Ok(standing) if standing.may_run() => return None,
        Ok(Standing::Changed) => "is not what you trusted any more".to_owned(),
        Ok(_) => "came with the project and is not trusted".to_owned(),
        Err(error) => format!("cannot be checked: {error}"),
    };
    let name = policy.name();
    let folder = if is_covered { shelf } else { folder };
    let what = format!(
        "the policy `{name}` {why}; read it, then let it run with `epitome trust {}`, or go on with \
         shipped policies with `--untrusted`",
        folder.display()
    );
    Some(Problem::new(place, what))
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
