//! Whoever looks at the page, and what of the store they may see.
//!
//! Invariant: a keeper is always one of the visitor's own tenant, whatever an address says.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use epitome::{ExperimentConfig, Profile, ScopeOwner, SessionAdmin, SessionArchive};

use crate::address::{PageQuery, SessionLink};
use crate::error::PageError;
use crate::money::MoneyMemo;

/// The profiles that sessions are recorded with, by their names.
type ProfilesByName = dyn Fn(&str) -> Option<Profile> + Send + Sync;

/// What the page is about.
#[derive(Clone)]
pub struct PageSource {
    /// The store.
    pub store: Arc<dyn SessionArchive>,
    /// Whose sessions are shown, but for the tenant.
    pub owner: ScopeOwner,
    /// The usual profile.
    pub profile: Profile,
    /// All others.
    pub profiles: Arc<ProfilesByName>,
    /// The experiments that are configured.
    pub experiments: BTreeMap<String, ExperimentConfig>,
}

impl fmt::Debug for PageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, profile, .. } = self;
        f.debug_struct("PageSource")
            .field("owner", owner)
            .field("profile", &profile.name())
            .finish_non_exhaustive()
    }
}

impl PageSource {
    /// The keeper of all sessions of a tenant, whichever project they belong to: the page is for people.
    pub(crate) fn admin(&self, tenant: &str) -> SessionAdmin {
        let owner = self.owner.of_tenant(tenant).everywhere();
        SessionAdmin::of(Arc::clone(&self.store), self.profile.clone(), owner)
    }

    /// A keeper that goes by the profile which recorded its sessions, where that is configured still.
    fn as_recorded(&self, admin: SessionAdmin) -> SessionAdmin {
        let recorder = admin.recorder();
        match (recorder == admin.profile().name(), (self.profiles)(recorder)) {
            (false, Some(profile)) => admin.as_of(profile),
            _ => admin,
        }
    }
}

/// Whoever looks, and what at.
pub(crate) struct PageVisit<'p> {
    pub(crate) source: &'p PageSource,
    /// The keeper of all that may be seen.
    pub(crate) admin: SessionAdmin,
    pub(crate) query: PageQuery,
    /// What was paid and saved.
    pub(crate) money: Arc<MoneyMemo>,
    /// Held by whoever makes findable what was said last.
    pub(crate) indexing: Arc<Mutex<()>>,
    /// What forms carry.
    pub(crate) form_token: String,
    /// The time, ISO 8601.
    pub(crate) now: String,
}

impl PageVisit<'_> {
    /// The keeper of a session, and its links.
    pub(crate) fn session(&self, name: &str) -> Result<(SessionAdmin, SessionLink), PageError> {
        let tenant = self.admin.tenant();
        let keeper = match self.query.get("in") {
            Some(scope) => {
                let scope = format!("{tenant}/{scope}");
                let mut readers = self.admin.readers()?.into_iter();
                readers.find(|reader| reader.scope() == scope).ok_or(PageError::NotThere)?
            }
            None => self.admin.clone().of_session(Some(name))?,
        };
        let link = SessionLink::new(tenant, keeper.scope(), name);
        Ok((self.source.as_recorded(keeper), link))
    }
}
