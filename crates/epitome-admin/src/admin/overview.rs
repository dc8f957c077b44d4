//! The sessions of a tenant in pages, whichever project and profile recorded them.
//!
//! Invariant: of a session no message is read, and of the ledger the records of the shown ones alone.
//! Nothing of another tenant is read.

use epitome_config::scope::of_no_project;
use epitome_types::SessionInfo;

use super::{PAGE, SessionAdmin, WindowLevel};
use crate::error::AdminError;
use crate::savings::{SavingsLedger, SavingsSums, session_hash};

/// Which sessions are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverviewFilter {
    /// Those whose name, title or model holds these words.
    pub words: String,
    /// Those of a project, by its folder.
    pub project: Option<String>,
    /// Those of a profile.
    pub profile: Option<String>,
    /// Those of a model.
    pub model: Option<String>,
}

/// A page of sessions.
#[derive(Clone, Debug, Default)]
pub struct OverviewPage {
    /// The sessions, the one used last first.
    pub rows: Vec<OverviewRow>,
    /// Whether there are more behind them.
    pub has_more: bool,
}

/// A session in a page.
#[derive(Clone, Debug)]
pub struct OverviewRow {
    /// The scope that it is recorded in.
    pub scope: String,
    /// The session.
    pub info: SessionInfo,
    /// How full its window is.
    pub level: WindowLevel,
    /// The program that asks; none where nothing came through a proxy.
    pub client: Option<String>,
    /// Its part of the ledger; none where nothing was paid.
    pub money: Option<SavingsSums>,
}

impl OverviewRow {
    /// The folder of its project.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        project_of(&self.scope)
    }
}

/// The folder of the project that a scope belongs to.
#[must_use]
pub fn project_of(scope: &str) -> Option<&str> {
    let none = of_no_project(scope);
    scope.strip_prefix(none)?.strip_prefix('@')
}

impl OverviewFilter {
    /// Whether what is shown can only be told by looking at each session.
    fn is_by_session(&self) -> bool {
        !self.words.trim().is_empty() || self.model.is_some()
    }

    fn takes_scope(&self, keeper: &SessionAdmin) -> bool {
        let project = project_of(keeper.scope());
        self.project.as_deref().is_none_or(|it| project == Some(it))
            && self.profile.as_deref().is_none_or(|it| keeper.recorder() == it)
    }

    fn takes(&self, info: &SessionInfo) -> bool {
        let model = info.model.as_deref().unwrap_or_default();
        let text = format!("{}\n{}\n{model}", info.name, info.title).to_lowercase();
        let words = self.words.to_lowercase();
        self.model.as_deref().is_none_or(|it| model == it)
            && words.split_whitespace().all(|word| text.contains(word))
    }
}

impl SessionAdmin {
    /// The sessions that it may read, the one used last first: at most `most` after skipping `skip`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn overview(
        &self,
        filter: &OverviewFilter,
        skip: usize,
        most: usize,
    ) -> Result<OverviewPage, AdminError> {
        let end = skip.saturating_add(most);
        let found = self.used_last(filter, end.saturating_add(1))?;
        let has_more = found.len() > end;
        let shown = found.into_iter().take(end).skip(skip);
        let rows = shown.map(|(keeper, info)| keeper.row(info)).collect::<Result<_, _>>()?;
        Ok(OverviewPage { rows, has_more })
    }

    /// The sessions that a filter takes and that were used last, each with its keeper, the last one
    /// first: at most `most`.
    pub(super) fn used_last(
        &self,
        filter: &OverviewFilter,
        most: usize,
    ) -> Result<Vec<(Self, SessionInfo)>, AdminError> {
        let mut keepers = self.readers()?;
        keepers.retain(|keeper| filter.takes_scope(keeper));
        let mut found = Vec::new();
        for keeper in keepers {
            let newest = keeper.newest(filter, most)?.into_iter();
            found.extend(newest.map(|info| (keeper.clone(), info)));
        }
        found.sort_by(|(_, one), (_, other)| other.last.cmp(&one.last));
        found.truncate(most);
        Ok(found)
    }

    /// Its newest sessions that a filter takes, at most `most`.
    fn newest(&self, filter: &OverviewFilter, most: usize) -> Result<Vec<SessionInfo>, AdminError> {
        if !filter.is_by_session() {
            return Ok(self.journal.sessions(&self.scope, 0, most, false)?);
        }
        let (mut found, mut skip) = (Vec::new(), 0);
        while found.len() < most {
            let page = self.journal.sessions(&self.scope, skip, PAGE, false)?;
            let is_last = page.len() < PAGE;
            skip += page.len();
            found.extend(page.into_iter().filter(|info| filter.takes(info)));
            if is_last {
                break;
            }
        }
        found.truncate(most);
        Ok(found)
    }

    /// A session as a row.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn row(&self, info: SessionInfo) -> Result<OverviewRow, AdminError> {
        let hash = session_hash(&self.scope, &info.name);
        let ledger = SavingsLedger::load_session(&*self.journal, self.tenant(), &hash)?;
        Ok(OverviewRow {
            scope: self.scope.clone(),
            level: self.level(info.figures.tokens[1], info.figures.limit),
            client: ledger.clients().remove(&hash),
            money: ledger.by_session().remove(&hash),
            info,
        })
    }
}
