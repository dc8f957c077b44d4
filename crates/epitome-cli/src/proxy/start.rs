//! From the configuration to the settings of a proxy.
//!
//! Invariant: whatever is wrong is found before the proxy listens: the profile's policies run, the
//! store opens, every address can be read.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use epitome::types::By;
use epitome::{
    Compressor, Config, Counter, Folder, Hub, Levers, ProxyTable, Sqlite, VocabularyCounter,
};
use epitome_lab::Prices;
use epitome_mcp::Http;
use epitome_proxy::{Settings, Upstreams, Url};
use tokio::runtime::Handle;

use crate::fault::Fault;
use crate::journal::store_path;
use crate::news::logged;
use crate::settings;

/// What tokens cost. There is one proxy in a process.
static PRICES: OnceLock<Prices> = OnceLock::new();

/// What takes the place of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Given<'a> {
    /// The folder that the client works in, where none is named.
    pub(crate) workspace: Option<&'a Path>,
    /// Leaves the levers at `/mcp` out.
    pub(crate) no_mcp: bool,
}

/// The settings of a proxy, but for where it listens. Models write in the background, on `runtime`.
pub(crate) fn prepared(
    config: &Config,
    table: &ProxyTable,
    given: &Given<'_>,
    runtime: &Handle,
) -> Result<Settings, Fault> {
    let profile = settings::connected(config.chosen()?)?;
    let counter: Arc<dyn Counter> = Arc::new(VocabularyCounter::default());
    profile.load(&counter)?;
    let store = Sqlite::open_with(&store_path(None, config)?, config.durability());
    let store = Arc::new(store.map_err(Fault::of_output)?);
    drop(PRICES.set(settings::prices(config)?));

    let cache = profile.cache_prices();
    let project = table.workspace.as_deref().or(given.workspace);
    let workspace = project.map(Folder::new);
    let augments = config.augments(project);
    let mcp = {
        let (store, profile, augments) = (store.clone(), profile.clone(), augments.clone());
        Http::new(move |tenant| {
            let levers = Levers::new(store.clone(), profile.clone(), tenant, By::Model);
            levers.with_augments(augments.clone())
        })
    };
    let runtime = runtime.clone();
    let hub = Hub::new(store, move || {
        let builder = Compressor::builder().profile(profile.clone()).watch().on_event(logged);
        let builder = builder.augments(augments.clone()).background(runtime.clone());
        match &workspace {
            Some(workspace) => builder.workspace(workspace.clone()),
            None => builder,
        }
    });
    let mut settings = Settings::new(Arc::new(hub));
    settings.upstreams = upstreams(table)?;
    settings.mcp = (!given.no_mcp).then(|| Arc::new(mcp));
    settings.shadow = table.shadow;
    settings.dump.clone_from(&table.dump);
    settings.terms.cache = cache;
    settings.terms.price = price;
    Ok(settings)
}

/// Where requests go.
fn upstreams(table: &ProxyTable) -> Result<Upstreams, Fault> {
    let url = |key: &str, address: &str| match address {
        "" => Ok(None),
        _ => {
            let url = address.parse::<Url>();
            url.map(Some).map_err(|error| Fault::usage(format!("proxy.{key}: {error}")))
        }
    };
    Ok(Upstreams {
        anthropic: url("anthropic_upstream", &table.anthropic_upstream)?,
        openai: url("openai_upstream", &table.openai_upstream)?,
        ollama: url("ollama_upstream", &table.ollama_upstream)?,
    })
}

/// US dollars for a million tokens, of the models that the table names.
fn price(model: &str) -> Option<f64> {
    let quote = PRICES.get()?.of(Some(model));
    quote.entry.map(|_| quote.price.input)
}
