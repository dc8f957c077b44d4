//! From the configuration to the settings of a proxy.
//!
//! Invariant: whatever is wrong is found before the proxy listens: the profile's policies run, the
//! store opens, every address can be read.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use epitome::types::Actor;
use epitome::{
    Compressor, Config, Format, ModelCalls, Profile, ProxyConfig, SessionControls, SessionRouter,
    TokenCounter, VocabularyCounter, WorkspaceFolder,
};
use epitome_mcp::McpHttp;
use epitome_proxy::{
    OwnCost, OwnModelCost, ProxySettings, Rates, UpstreamApi, UpstreamUrl, Upstreams,
};
use tokio::runtime::Handle;

use crate::events::logged;
use crate::fault::CliError;
use crate::journal::store_path;
use crate::proxy::books::KeptFigures;
use crate::{proxy, settings, store, stores};

/// Says what tokens cost. There is one proxy in a process.
static PROFILE: OnceLock<Profile> = OnceLock::new();

/// What takes the place of the configuration.
#[derive(Debug, Default)]
pub(crate) struct StartOverrides<'a> {
    /// The folder that the client works in, where none is named.
    pub(crate) workspace: Option<&'a Path>,
    /// Leaves the levers at `/mcp` out.
    pub(crate) no_mcp: bool,
    /// Whether it goes on from the figures of those before it, and leaves its own.
    pub(crate) goes_on: bool,
}

/// The settings of a proxy, but for where it listens. Models write in the background, on `runtime`.
pub(crate) fn prepared(
    config: &Config,
    table: &ProxyConfig,
    given: &StartOverrides<'_>,
    runtime: &Handle,
) -> Result<ProxySettings, CliError> {
    let profile =
        settings::connected(config.profile_in_use()?)?.with_prices(settings::prices(config)?);
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    profile.load(&counter)?;
    let path = store_path(None, config)?;
    let store = store::open_live(&path, config.durability()).map_err(CliError::of_output)?;
    stores::remember_configured(config);
    drop(PROFILE.set(profile.clone()));

    let cache = profile.cache_rule();
    let project = table.workspace.as_deref().or(given.workspace);
    let workspace = project.map(WorkspaceFolder::new);
    let augments = config.augments(project);
    // Whoever serves no folder in particular keeps what it hears for no project.
    let owner = config.owner(project);
    let mcp = {
        let (store, profile, augments) = (store.clone(), profile.clone(), augments.clone());
        let owner = owner.clone();
        McpHttp::new(move |tenant| {
            let owner = owner.of_tenant(tenant);
            let levers = SessionControls::new(store.clone(), profile.clone(), owner, Actor::Model);
            levers.with_augments(augments.clone())
        })
    };
    let runtime = runtime.clone();
    let books = KeptFigures {
        store: store.clone(),
        name: proxy::drawn().map_err(CliError::internal)?,
        goes_on: given.goes_on,
        owner: owner.clone(),
        profile: profile.name().to_owned(),
    };
    let hub = SessionRouter::new(store, move || {
        let builder = Compressor::builder().profile(profile.clone()).watch().on_event(logged);
        let builder = builder.augments(augments.clone()).background(runtime.clone());
        let builder = builder.owner(owner.clone());
        match &workspace {
            Some(workspace) => builder.workspace(workspace.clone()),
            None => builder,
        }
    });
    let mut settings = ProxySettings::new(Arc::new(hub));
    settings.upstreams = upstreams(config, table)?;
    settings.mcp = (!given.no_mcp).then(|| Arc::new(mcp));
    settings.ledger.keeper = Some(Arc::new(books));
    settings.shadow = table.shadow;
    settings.dump.clone_from(&table.dump);
    settings.ledger.terms.cache = cache;
    settings.ledger.terms.rates = rates;
    settings.ledger.terms.own = own;
    Ok(settings)
}

/// Where requests go.
fn upstreams(config: &Config, table: &ProxyConfig) -> Result<Upstreams, CliError> {
    let url = |key: &str, address: &str| match address {
        "" => Ok(None),
        _ => {
            let url = address.parse::<UpstreamUrl>();
            url.map(Some).map_err(|error| CliError::usage(format!("proxy.{key}: {error}")))
        }
    };
    let keys = [
        (UpstreamApi::Anthropic, "anthropic_upstream", &table.anthropic_upstream),
        (UpstreamApi::OpenAi, "openai_upstream", &table.openai_upstream),
        (UpstreamApi::Ollama, "ollama_upstream", &table.ollama_upstream),
    ];
    let unsaid =
        keys.iter().filter(|(_, key, address)| !address.is_empty() && !config.says_of_proxy(key));
    Ok(Upstreams {
        defaults: unsaid.map(|(api, ..)| *api).collect(),
        anthropic: url("anthropic_upstream", &table.anthropic_upstream)?,
        openai: url("openai_upstream", &table.openai_upstream)?,
        ollama: url("ollama_upstream", &table.ollama_upstream)?,
    })
}

/// What the models that write summaries were asked for.
fn own() -> Vec<OwnModelCost> {
    let Some(profile) = PROFILE.get() else { return Vec::new() };
    let cost = |call: ModelCalls| {
        let (tokens, dollars) = profile.cost_of(&call);
        let calls = call.sum.calls;
        let unpriced = if dollars.is_none() { calls } else { 0 };
        let cost = OwnCost { calls, tokens, dollars: dollars.unwrap_or_default(), unpriced };
        OwnModelCost { model: call.model, unpaid: call.unpaid, cost, usage: call.sum.usage }
    };
    profile.own_calls().into_iter().map(cost).collect()
}

/// What is known of a model.
fn rates(model: Option<&str>, api: UpstreamApi, hour: bool) -> Option<Rates> {
    let profile = PROFILE.get()?;
    let format = match api {
        UpstreamApi::Anthropic => Format::Anthropic,
        UpstreamApi::OpenAi => Format::OpenAi,
        UpstreamApi::Ollama => Format::Ollama,
    };
    let price = profile.prices().of(model).filter(|_| api != UpstreamApi::Ollama);
    Some(Rates {
        cache: profile.cache_prices(model, hour),
        price: price.map(|quote| quote.price),
        window: profile.window_of_model(model, format),
        output: profile.prices().output(model),
    })
}
