//! From the configuration to the settings of a proxy.
//!
//! Invariant: whatever is wrong is found before the proxy listens: the profile's policies run, the
//! store opens, every address can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use epitome::augments::AugmentFolders;
use epitome::types::Actor;
use epitome::{
    Compressor, Config, ExperimentBook, ExperimentConfig, ExperimentUnit, Format, ModelCalls,
    PaidArm, Profile, ProxyConfig, ScopeOwner, SessionArchive, SessionControls, SessionRouter,
    TokenCounter, VocabularyCounter, WorkspaceFolder,
};
use epitome_mcp::McpHttp;
use epitome_proxy::{
    AccessToken, OwnCost, OwnModelCost, ProxySettings, Rates, UpstreamApi, UpstreamUrl, Upstreams,
};
use tokio::runtime::Handle;

use crate::events::logged;
use crate::fault::CliError;
use crate::journal::store_path;
use crate::proxy::arms::{ExperimentArms, ServedArm};
use crate::proxy::books::KeptFigures;
use crate::proxy::cockpit;
use crate::{clock, proxy, settings, store, stores};

/// Say what tokens cost, the usual one first. There is one proxy in a process.
static PROFILES: OnceLock<Vec<(Option<PaidArm>, Profile)>> = OnceLock::new();

/// What takes the place of the configuration.
#[derive(Debug, Default)]
pub(crate) struct StartOverrides<'a> {
    /// The folder that the client works in, where none is named.
    pub(crate) workspace: Option<&'a Path>,
    /// Leaves the levers at `/mcp` out.
    pub(crate) no_mcp: bool,
    /// The tokens that clients show, where they must.
    pub(crate) tokens: Option<Vec<AccessToken>>,
    /// Whether it goes on from the figures of those before it, and leaves its own.
    pub(crate) goes_on: bool,
    /// The flags that another command needs to mean the same store.
    pub(crate) store_flag: String,
}

/// The settings of a proxy, but for where it listens. Models write in the background, on `runtime`.
pub(crate) fn prepared(
    config: &Config,
    table: &ProxyConfig,
    given: &StartOverrides<'_>,
    runtime: &Handle,
) -> Result<ProxySettings, CliError> {
    clock::check_is_set()?;
    let profile = loaded(config, config.profile_in_use()?)?;
    let path = store_path(None, config)?;
    let store = store::open_live(&path, config.durability()).map_err(CliError::of_output)?;
    stores::remember_configured(config);

    let project = table.workspace.as_deref().or(given.workspace);
    // Whoever serves no folder in particular keeps what it hears for no project.
    let owner = config.owner(project);
    let ground = HubGround {
        store: store.clone(),
        augments: config.augments(project),
        workspace: project.map(WorkspaceFolder::new),
        owner: owner.clone(),
        runtime: runtime.clone(),
        store_flag: given.store_flag.clone(),
    };
    let hub = ground.hub(&profile);
    let arms = arm_profiles(config, &*store, owner.tenant())?;
    let of_arms = arms.iter().map(|(arm, profile)| (Some(arm.clone()), profile.clone()));
    drop(PROFILES.set([(None, profile.clone())].into_iter().chain(of_arms).collect()));
    let books = KeptFigures {
        store: store.clone(),
        name: proxy::drawn().map_err(CliError::internal)?,
        goes_on: given.goes_on,
        owner: owner.clone(),
        profile: profile.name().to_owned(),
    };
    let mut settings = ProxySettings::new(Arc::clone(&hub));
    settings.upstreams = upstreams(config, table)?;
    // What goes out as it came compares nothing.
    if !arms.is_empty() && !table.shadow {
        tell_of_projects(config, &owner);
        settings.arms = Some(Arc::new(ExperimentArms {
            store,
            owner,
            usual: hub,
            arms: arms.iter().map(|(arm, it)| (arm.clone(), ground.arm(arm, it))).collect(),
            experiments: config.experiments().clone(),
            met: Mutex::default(),
        }));
    }
    settings.ledger.terms.cache = profile.cache_rule();
    settings.access.tokens.clone_from(&given.tokens);
    let (of_page, tokens) = (ground.store.clone(), given.tokens.as_deref());
    let page = cockpit::page(config, of_page, ground.owner.clone(), &profile, tokens);
    let (page, shared) = match page {
        Some(page) if !given.goes_on => cockpit::shared(page, &ground.store),
        page => (page, None),
    };
    (settings.own.page, settings.own.shared) = (page.map(Arc::new), shared);
    settings.own.mcp = (!given.no_mcp).then(|| Arc::new(ground.levers(profile, arms)));
    settings.ledger.keeper = Some(Arc::new(books));
    settings.shadow = table.shadow;
    settings.dump.clone_from(&table.dump);
    #[cfg(feature = "otel")]
    {
        settings.ledger.telemetry = telemetry();
    }
    settings.ledger.terms.rates = rates;
    settings.ledger.terms.own = own;
    Ok(settings)
}

/// Where figures are exported to, by the variables that OpenTelemetry has for it. What cannot be used
/// is said, and the proxy serves without it.
#[cfg(feature = "otel")]
fn telemetry() -> Option<epitome_proxy::TelemetryTarget> {
    let variable = |name: &str| std::env::var(name).ok();
    epitome_proxy::TelemetryTarget::from_variables(variable).unwrap_or_else(|error| {
        crate::fault::warn(&format!("nothing is exported to OpenTelemetry: {error}"));
        None
    })
}

/// What the conversations of all profiles have in common.
struct HubGround {
    store: Arc<dyn SessionArchive>,
    augments: AugmentFolders,
    workspace: Option<WorkspaceFolder>,
    owner: ScopeOwner,
    runtime: Handle,
    store_flag: String,
}

impl HubGround {
    /// An arm with its conversations.
    fn arm(&self, arm: &PaidArm, profile: &Profile) -> ServedArm {
        let router = self.router(profile);
        let router = match arm.arm == ExperimentConfig::HOLD_OUT {
            true => router.holding_out(),
            false => router,
        };
        ServedArm { hub: Arc::new(router), profile: profile.clone() }
    }

    /// The conversations of a profile.
    fn hub(&self, profile: &Profile) -> Arc<SessionRouter> {
        Arc::new(self.router(profile))
    }

    fn router(&self, profile: &Profile) -> SessionRouter {
        let (augments, workspace) = (self.augments.clone(), self.workspace.clone());
        let (profile, owner, runtime) = (profile.clone(), self.owner.clone(), self.runtime.clone());
        let settings = move || {
            let builder = Compressor::builder().profile(profile.clone()).watch().on_event(logged);
            let builder = builder.augments(augments.clone()).background(runtime.clone());
            let builder = builder.owner(owner.clone());
            match &workspace {
                Some(workspace) => builder.workspace(workspace.clone()),
                None => builder,
            }
        };
        SessionRouter::new(Arc::clone(&self.store), settings)
    }

    /// The levers of the sessions of all profiles.
    fn levers(self, usual: Profile, arms: BTreeMap<PaidArm, Profile>) -> McpHttp {
        let Self { store, augments, owner, store_flag, .. } = self;
        let arms: BTreeMap<_, _> = arms.into_iter().map(|(arm, it)| (arm.arm, it)).collect();
        McpHttp::new(move |tenant, profile| {
            let owner = owner.of_tenant(tenant);
            let profile = profile.and_then(|name| arms.get(name)).unwrap_or(&usual).clone();
            let levers = SessionControls::new(store.clone(), profile, owner, Actor::Model);
            levers.with_augments(augments.clone()).with_store_flag(store_flag.clone())
        })
    }
}

/// Names the experiments on projects where it is not known which one is served.
fn tell_of_projects(config: &Config, owner: &ScopeOwner) {
    if owner.project().is_some() {
        return;
    }
    for (name, experiment) in config.experiments() {
        if experiment.unit == ExperimentUnit::Project {
            let message = "no session takes part in an experiment whose unit is the project, since \
                           none is served in particular; name its folder with --workspace";
            tracing::warn!(experiment = name, "{message}");
        }
    }
}

/// A profile whose policies run.
fn loaded(config: &Config, profile: Profile) -> Result<Profile, CliError> {
    let profile = settings::connected(profile)?.with_prices(settings::prices(config)?);
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    profile.load(&counter)?;
    Ok(profile)
}

/// The profiles of all arms: those that are configured, and those that sessions still have. Each is
/// one of its own, so that it is known which arm asked a model.
fn arm_profiles(
    config: &Config,
    store: &dyn SessionArchive,
    tenant: &str,
) -> Result<BTreeMap<PaidArm, Profile>, CliError> {
    let mut profiles = BTreeMap::new();
    for (name, experiment) in config.experiments() {
        let paid = |arm: &String| PaidArm {
            experiment: name.clone(),
            arm: arm.clone(),
            unit: String::new(),
        };
        for arm in &experiment.arms {
            profiles.insert(paid(arm), loaded(config, config.profile(arm)?)?);
        }
        let recorded = ExperimentBook::new(store, tenant).units(name).unwrap_or_else(|error| {
            tracing::warn!(experiment = name, %error, "its units cannot be read");
            BTreeMap::new()
        });
        let arms: BTreeSet<_> = recorded.into_values().filter_map(|record| record.arm).collect();
        for arm in arms.iter().filter(|arm| !experiment.arms.contains(arm)) {
            let profile = config.profile(arm).map_err(CliError::from);
            match profile.and_then(|profile| loaded(config, profile)) {
                Ok(profile) => drop(profiles.insert(paid(arm), profile)),
                Err(_) => {
                    let message = "sessions have an arm whose profile is gone; they go on with the \
                                   usual one";
                    tracing::warn!(experiment = name, arm, "{message}");
                }
            }
        }
    }
    Ok(profiles)
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
    let profiles = PROFILES.get().into_iter().flatten();
    let cost = |profile: &Profile, call: ModelCalls| {
        let (tokens, dollars) = profile.cost_of(&call);
        let calls = call.sum.calls;
        let unpriced = if dollars.is_none() { calls } else { 0 };
        let cost = OwnCost { calls, tokens, dollars: dollars.unwrap_or_default(), unpriced };
        let (model, unpaid, usage) = (call.model, call.unpaid, call.sum.usage);
        let conversation =
            call.session.map(|it| [epitome::tenant_of(&it.scope).to_owned(), it.name]);
        OwnModelCost { model, unpaid, conversation, arm: None, cost, usage }
    };
    let calls = profiles.map(|(arm, profile)| {
        let calls = profile.own_calls().into_iter();
        calls
            .map(|call| OwnModelCost { arm: arm.clone(), ..cost(profile, call) })
            .collect::<Vec<_>>()
    });
    calls.flatten().collect()
}

/// What is known of a model.
fn rates(model: Option<&str>, api: UpstreamApi, hour: bool) -> Option<Rates> {
    let (_, profile) = PROFILES.get()?.first()?;
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
