//! Whose sessions: which scopes of a journal somebody writes to, and which they may read.
//!
//! Invariant: nothing that is recorded for one project is read in another unless the user opens it,
//! and no tenant reads another in any case (RULES 66). What was recorded for no project belongs to
//! nobody in particular and is read along in all. This is the only place that knows how a scope is
//! spelled; keepers, levers and hubs ask it.

use std::path::{Path, PathBuf};

use epitome_extensions::project::{is_marked, is_marked_within};
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;

/// What stands between a profile and the folder of a project. No name of a profile holds it.
const AT: char = '@';

/// The tenant of a machine of one's own.
pub const LOCAL: &str = "local";

/// The scope in a store that belongs to a profile, of no project. Nothing that is recalled crosses
/// a scope (RULES 66).
pub fn scope(profile: &str) -> String {
    scope_of(LOCAL, profile)
}

/// The scope that belongs to a profile of a tenant, of no project.
pub fn scope_of(tenant: &str, profile: &str) -> String {
    format!("{tenant}/{profile}")
}

/// Returns the tenant that a scope of sessions belongs to.
pub fn tenant_of(scope: &str) -> &str {
    let none = of_no_project(scope);
    none.rsplit_once('/').map_or(none, |(tenant, _)| tenant)
}

/// Returns the scope that holds the ledger of a tenant: no session is recorded in it, since no name of
/// a profile holds a slash.
pub fn ledger_scope(tenant: &str) -> String {
    format!("{tenant}/ledger/paid")
}

/// Returns the scope that holds the arms of a tenant's units: no session is recorded in it, either.
pub fn experiment_scope(tenant: &str) -> String {
    format!("{tenant}/experiments/units")
}

/// Returns the scope that holds what the shadows of a tenant's held-out sessions came to: no session is
/// recorded in it, either.
pub fn shadow_scope(tenant: &str) -> String {
    format!("{tenant}/experiments/shadows")
}

/// Returns the scope of the same tenant and profile that belongs to no project.
pub fn of_no_project(scope: &str) -> &str {
    // A project is the absolute path of its folder.
    scope.split_once("@/").map_or(scope, |(none, _)| none)
}

/// Whose sessions somebody keeps: a tenant, and the project that they work in.
///
/// ```
/// use std::path::Path;
///
/// # use epitome_config::scope as epitome;
/// use epitome::{ScopeOwner, scope};
///
/// let nobody = ScopeOwner::from("local");
/// assert_eq!(nobody.scope("default"), scope("default"));
/// let here = nobody.within(Path::new("."), None);
/// assert!(here.scope("default").starts_with("local/default@/"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeOwner {
    tenant: String,
    /// The project's folder, then those below it up to where somebody stands: each was one by
    /// itself while nothing marked the project.
    folders: Vec<String>,
    /// Whether the user opened all projects to each other.
    everywhere: bool,
    /// Whether one profile was named, and no other is meant.
    alone: bool,
}

impl From<&str> for ScopeOwner {
    fn from(tenant: &str) -> Self {
        Self { tenant: tenant.to_owned(), folders: Vec::new(), everywhere: false, alone: false }
    }
}

impl ScopeOwner {
    /// In the project that a folder belongs to: the nearest folder upwards with an `epitome.toml` or a
    /// `.git`, else the nearest one with policies, plugins or augments of its own, else the folder itself. A home is no project of what is below it.
    #[must_use]
    pub fn within(self, folder: &Path, home: Option<&Path>) -> Self {
        let folder = real(folder);
        let home = home.map(real);
        let below_home = |folder: &&Path| home.as_deref().is_none_or(|it| !it.starts_with(folder));
        let ways = folder.ancestors().take_while(below_home);
        let ways: Vec<_> =
            if ways.clone().next().is_none() { vec![&*folder] } else { ways.collect() };
        let project = ways.iter().position(|folder| is_marked(folder));
        let fallback = || ways.iter().position(|folder| is_marked_within(folder));
        let project = project.or_else(fallback).unwrap_or(0);
        let folders = ways[..=project].iter().rev();
        Self { folders: folders.map(|folder| folder.display().to_string()).collect(), ..self }
    }

    /// The same for another tenant of the same host.
    #[must_use]
    pub fn of_tenant(&self, tenant: &str) -> Self {
        Self { tenant: tenant.to_owned(), ..self.clone() }
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Reads the sessions of all projects of its tenant.
    #[must_use]
    pub fn everywhere(self) -> Self {
        Self { everywhere: true, ..self }
    }

    /// Reads what one profile recorded, since somebody named it.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// The profile that records in a scope; none where the scope is another tenant's.
    pub fn profile_of<'s>(&self, scope: &'s str) -> Option<&'s str> {
        let rest = scope.strip_prefix(&self.tenant)?.strip_prefix('/')?;
        Some(rest.split_once(AT).map_or(rest, |(of, _)| of))
    }

    /// The project's folder; none where it belongs to no project.
    pub fn project(&self) -> Option<&str> {
        self.folders.first().map(String::as_str)
    }

    /// Where sessions with a profile are recorded.
    pub fn scope(&self, profile: &str) -> String {
        let none = self.without_project(profile);
        match self.project() {
            Some(project) => format!("{none}{AT}{project}"),
            None => none,
        }
    }

    /// Where sessions with a profile were recorded that belong to no project.
    pub fn without_project(&self, profile: &str) -> String {
        scope_of(&self.tenant, profile)
    }

    /// The scopes of a journal that may be read, whichever profile made them: those of the project,
    /// then what belongs to no project, then others where the user opened them; within each of
    /// these the one of `profile` first. The one that is written to comes first, whether or not it
    /// is there yet.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn reads(
        &self,
        journal: &dyn SessionArchive,
        profile: &str,
    ) -> Result<Vec<String>, StoreError> {
        let own = self.scope(profile);
        let rank = |scope: &String| Some((self.rank(scope, profile)?, scope.clone()));
        let found = journal.scopes()?;
        let mut found: Vec<_> =
            found.iter().filter(|scope| **scope != own).filter_map(rank).collect();
        found.sort();
        Ok([own].into_iter().chain(found.into_iter().map(|(_, scope)| scope)).collect())
    }

    /// How near a scope is, and whether it is of another profile; `None` where it may not be read.
    fn rank(&self, scope: &str, profile: &str) -> Option<(usize, bool)> {
        let rest = scope.strip_prefix(&self.tenant)?.strip_prefix('/')?;
        let (of, project) = match rest.split_once(AT) {
            Some((of, project)) => (of, Some(project)),
            None => (rest, None),
        };
        if of.contains('/') || self.alone && of != profile {
            return None;
        }
        let far = self.folders.len();
        let near = match project {
            None => Some(far),
            Some(project) => self.folders.iter().position(|folder| folder == project),
        };
        let near = near.or_else(|| self.everywhere.then_some(far + 1))?;
        Some((near, of != profile))
    }
}

/// A folder as everybody sees it.
fn real(folder: &Path) -> PathBuf {
    let absolute = || std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    folder.canonicalize().unwrap_or_else(|_| absolute())
}

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;

    use epitome_kernel::{Eviction, OriginalStore, StoredText};
    use epitome_store::MemoryStore;
    use epitome_types::ContentId;

    use super::*;

    /// What an owner may read of these scopes, below `top`.
    #[track_caller]
    fn check(owner: &ScopeOwner, top: &Path, expected: &[&str]) {
        let top = real(top).display().to_string();
        let journal = MemoryStore::new();
        let kept = [
            "local/default",
            "local/ollm",
            "local/default@TOP/a",
            "local/ollm@TOP/a",
            "local/default@TOP/a/sub",
            "local/default@TOP/b",
            "team/default",
            "team/default@TOP/a",
            "local/other/default@TOP/a",
        ];
        for scope in kept {
            let text = "said".to_owned();
            let id = ContentId::for_text(&text);
            let blobs = vec![StoredText { id, source: "e1".to_owned(), text }];
            let kept = Eviction { blobs, ..Eviction::default() };
            journal.keep(&scope.replace("TOP", &top), &kept).unwrap();
        }
        let found = owner.reads(&journal, "default").unwrap();
        let found: Vec<_> = found.iter().map(|scope| scope.replace(&top, "TOP")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn one_project_reads_no_other() {
        let top = tempfile::tempdir().unwrap();
        create_dir_all(top.path().join("a/.git")).unwrap();
        create_dir_all(top.path().join("a/sub/deep")).unwrap();
        create_dir_all(top.path().join("b")).unwrap();
        let local = || ScopeOwner::from(LOCAL);
        let own = ["local/default@TOP/a", "local/ollm@TOP/a"];
        let none = ["local/default", "local/ollm"];
        let within = |folder: &str| local().within(&top.path().join(folder), None);
        check(&within("a"), top.path(), &[own, none].concat());
        // Where somebody stands below, what was recorded there before there was a project counts.
        let below = [&own[..], &["local/default@TOP/a/sub"], &none].concat();
        check(&within("a/sub/deep"), top.path(), &below);
        check(&within("b"), top.path(), &["local/default@TOP/b", none[0], none[1]]);
        check(&local(), top.path(), &none);
        let all = [&own[..], &none, &["local/default@TOP/a/sub", "local/default@TOP/b"]].concat();
        check(&within("a").everywhere(), top.path(), &all);
        check(&within("a").alone(), top.path(), &[own[0], none[0]]);
        check(&within("a").of_tenant("team"), top.path(), &["team/default@TOP/a", "team/default"]);
    }

    #[test]
    fn files_that_left_prompts_make_no_project() {
        let top = tempfile::tempdir().unwrap();
        create_dir_all(top.path().join("repo/.git")).unwrap();
        let project = |folder: &str| {
            let owner = ScopeOwner::from(LOCAL).within(&top.path().join(folder), None);
            let project = owner.project().map(str::to_owned);
            project.and_then(|it| {
                it.strip_prefix(&real(top.path()).display().to_string()).map(str::to_owned)
            })
        };
        create_dir_all(top.path().join("plain/sub")).unwrap();
        create_dir_all(top.path().join("repo/sub")).unwrap();
        let before = (project("repo/sub"), project("plain/sub"));
        assert_eq!(before, (Some("/repo".to_owned()), Some("/plain/sub".to_owned())));
        for left in
            ["repo/sub/.epitome/offloaded", "plain/sub/.epitome/archive", "plain/.epitome/archive"]
        {
            create_dir_all(top.path().join(left)).unwrap();
        }
        assert_eq!((project("repo/sub"), project("plain/sub")), before);
        create_dir_all(top.path().join("repo/sub/.epitome/policies")).unwrap();
        create_dir_all(top.path().join("plain/.epitome/policies")).unwrap();
        let marked = (project("repo/sub"), project("plain/sub"));
        assert_eq!(marked, (Some("/repo".to_owned()), Some("/plain".to_owned())));
    }

    #[test]
    fn a_home_is_no_project_of_what_is_below_it() {
        let home = tempfile::tempdir().unwrap();
        create_dir_all(home.path().join(".git")).unwrap();
        create_dir_all(home.path().join("plain/sub")).unwrap();
        let owner = |folder: &Path| ScopeOwner::from(LOCAL).within(folder, Some(home.path()));
        let shown = |folder: &Path| real(folder).display().to_string();
        let plain = home.path().join("plain");
        assert_eq!(owner(&plain).project(), Some(&*shown(&plain)));
        assert_eq!(owner(home.path()).project(), Some(&*shown(home.path())));
    }
}
