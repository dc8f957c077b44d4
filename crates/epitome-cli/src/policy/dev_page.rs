//! The page of `epitome policy dev`, while that runs.
//!
//! Invariant: it stands on this machine alone, under a secret that is drawn for it and kept nowhere.

use std::net::SocketAddr;
use std::sync::Arc;

use epitome_page::{PolicyTrial, TrialPage};
use epitome_proxy::LocalPage;
use tokio::runtime::Runtime;

use crate::fault::CliError;
use crate::proxy;

/// A page that is served.
pub(super) struct DevPage {
    page: Arc<TrialPage>,
    address: SocketAddr,
    secret: String,
    /// Serves it until it is dropped.
    _runtime: Runtime,
}

impl DevPage {
    /// Begins to serve one.
    pub(super) fn open() -> Result<Self, CliError> {
        let secret = proxy::drawn_secret().map_err(CliError::internal)?;
        let page = Arc::new(TrialPage::new(&secret));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(CliError::internal)?;
        let local = runtime.block_on(LocalPage::bind());
        let local = local.map_err(|error| {
            CliError::usage(format!("the page has no port of this machine: {error}"))
        })?;
        let address = local.address();
        runtime.spawn(local.serve(Arc::clone(&page)));
        Ok(Self { page, address, secret, _runtime: runtime })
    }

    /// The address that opens it.
    pub(super) fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.secret)
    }

    /// Shows what came of a try.
    pub(super) fn show(&self, trial: PolicyTrial) {
        self.page.show(trial);
    }

    /// Shows why a policy could not be tried.
    pub(super) fn show_error(&self, policy: &str, error: &CliError) {
        self.show(PolicyTrial {
            policy: policy.to_owned(),
            at: epitome::system_time(),
            wrong: vec![error.line().to_owned()],
            ..PolicyTrial::default()
        });
    }
}
