//! The page for people, as `serve` and `run` offer it.
//!
//! Invariant: its secret is drawn once and kept in a file of its user alone; whoever reads that file may
//! look. Where clients show tokens, each of them opens the page of its own tenant and nothing else does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{Config, LOCAL, Profile, ScopeOwner, SessionArchive};
use epitome_page::{CockpitPage, PageHolder, PageSource};
use epitome_proxy::{AccessToken, SharedPage};

use super::{drawn, drawn_secret};
use crate::fault::CliError;
use crate::settings;

/// The scope of what is kept of the page, which is nobody's sessions.
const SCOPE: &str = "page of runs";
/// The name of the store.
const STORE: &str = "store";
/// The port at which the page of its runs stands.
const PORT: &str = "port";
/// Ports that it may stand at.
const PORTS: RangeInclusive<u16> = 8788..=8797;

/// The file of the secret, in the user's data folder.
const FILE: &str = "page.token";

/// The page of a proxy; none where there is nowhere to keep its secret.
pub(super) fn page(
    config: &Config,
    store: Arc<dyn SessionArchive>,
    owner: ScopeOwner,
    profile: &Profile,
    tokens: Option<&[AccessToken]>,
) -> Option<CockpitPage> {
    let holders = match tokens {
        Some(tokens) => tokens.iter().map(AccessToken::page_holder).collect(),
        None => match secret(config) {
            Ok(secret) => vec![PageHolder::new(LOCAL, &secret)],
            Err(error) => {
                tracing::warn!("there is no page for people: {}", error.line());
                return None;
            }
        },
    };
    let profiles = profiles(config, &*store, profile);
    let source = PageSource {
        store,
        owner,
        profile: profile.clone(),
        profiles: Arc::new(move |name| profiles.get(name).cloned()),
        experiments: config.experiments().clone(),
    };
    Some(CockpitPage::new(source, holders))
}

/// The page with the address that all runs of a store share: the port that they had before, else the
/// first that is free. None where the store remembers nothing.
pub(super) fn shared(
    page: CockpitPage,
    store: &Arc<dyn SessionArchive>,
) -> (Option<CockpitPage>, Option<SharedPage>) {
    let known = || -> Option<(String, Option<String>, String)> {
        let id = store.learn_once(SCOPE, STORE, &drawn().ok()?).ok()?;
        let port = store.lessons_about(SCOPE, PORT).ok()?.remove(PORT);
        Some((id, port, drawn().ok()?))
    };
    let Some((id, kept, challenge)) = known() else { return (Some(page), None) };
    let kept = kept.and_then(|port| port.parse::<u16>().ok());
    let ports = kept.into_iter().chain(PORTS.filter(|port| Some(*port) != kept)).collect();
    let store = Arc::clone(store);
    let chosen = move |port: u16| {
        if kept != Some(port)
            && let Err(error) = store.learn(SCOPE, PORT, &port.to_string())
        {
            tracing::warn!(%error, "the address of the page is not kept");
        }
    };
    let shared = SharedPage { challenge, ports, chosen: Arc::new(chosen) };
    (Some(page.named(&id)), Some(shared))
}

/// The address of the page of a proxy that listens there: with the secret, where clients show none. There
/// is none on an address that others can reach.
pub(crate) fn address(config: &Config, at: SocketAddr, is_shared: bool) -> Option<String> {
    let token = if is_shared { "TOKEN".to_owned() } else { secret(config).ok()? };
    at.ip().is_loopback().then(|| format!("http://{at}/?token={token}"))
}

/// The profiles that sessions are recorded with, and those of experiments.
fn profiles(
    config: &Config,
    store: &dyn SessionArchive,
    usual: &Profile,
) -> BTreeMap<String, Profile> {
    let scopes = store.scopes().unwrap_or_default();
    // A scope is `TENANT/PROFILE`, perhaps with the folder of a project behind it.
    let recorded = scopes.iter().filter_map(|scope| {
        let named = scope.split_once("@/").map_or(scope.as_str(), |(named, _)| named);
        named.rsplit_once('/').map(|(_, profile)| profile.to_owned())
    });
    let arms = config.experiments().values().flat_map(|it| it.arms.iter().cloned());
    let names: BTreeSet<String> = recorded.chain(arms).collect();
    let others = names.into_iter().filter(|name| name != usual.name());
    let load = |name: String| {
        let profile = config.profile(&name).ok()?;
        let profile = settings::connected(profile).ok()?;
        Some((name, profile.with_prices(usual.prices().clone())))
    };
    others.filter_map(load).collect()
}

/// The secret of the user: from its file, which is made where there is none.
fn secret(config: &Config) -> Result<String, CliError> {
    let Some(folder) = config.data() else {
        return Err(CliError::usage("no home folder to keep the secret of the page in"));
    };
    let path = folder.join(FILE);
    let kept = || read(&path).filter(|secret| secret.len() >= 64);
    if let Some(secret) = kept() {
        return Ok(secret);
    }
    match write(folder, &path) {
        Ok(secret) => Ok(secret),
        // Another process was faster.
        Err(error) => kept().ok_or_else(|| {
            CliError::usage(format!(
                "cannot keep the secret of the page in {}: {error}",
                path.display()
            ))
        }),
    }
}

fn read(path: &Path) -> Option<String> {
    let bytes = crate::files::read(Some(path), 1 << 10).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// Writes a secret that nobody else may read.
fn write(folder: &Path, path: &PathBuf) -> io::Result<String> {
    let secret = drawn_secret()?;
    fs::create_dir_all(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    Ok(secret)
}
