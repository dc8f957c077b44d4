//! Puts a compressor together; everything has a default.
//!
//! Invariant: building cannot fail and touches nothing. Called by hosts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome_extensions::plugins::{DigestRunner, LoadedPlugin, PluginPolicy};
use epitome_extensions::problem::{ConfigError, ConfigProblem};
use epitome_kernel::{
    HookNotes, LanguageModel, OriginalStore, Policy, PolicyChain, PolicyError, PolicyTracer,
    Summarizer, TokenCounter, ToolDigester, Workspace,
};
use epitome_plugin::Plugin;
use epitome_types::hook::Budgets;
use epitome_types::{Event, SummaryStyle};
use epitome_wire::{Format, RequestDocument};
use epitome_workspace::augments::AugmentFolders;
use tokio::runtime::Handle;

use crate::limits::{CompressionTarget, LimitSource, PromptLimit, WindowSetting};
use crate::listener::EventListener;
use crate::policy_runner::PolicyRunner;
use crate::setup::{
    Counting, DepartureSettings, FormatSettings, OwnPolicies, PolicySettings, SizeSettings,
    WriterSettings,
};
use crate::tape::StepTape;
use crate::time_budget::ModelTimeBudget;
use epitome_admin::clock::{Clock, system_time};
use epitome_config::profile::Profile;
use epitome_config::scope::{LOCAL, ScopeOwner};

/// A compressor in the making. It is made once and gives any number of compressors and sessions by
/// being cloned.
#[derive(Clone)]
pub struct CompressorBuilder {
    pub(crate) profile: Profile,
    pub(crate) sizes: SizeSettings,
    pub(crate) formats: FormatSettings,
    pub(crate) writers: WriterSettings,
    pub(crate) departures: DepartureSettings,
    pub(crate) owner: ScopeOwner,
    pub(crate) augments: AugmentFolders,
    pub(crate) digester: Option<Arc<dyn ToolDigester>>,
    pub(crate) deciders: PolicySettings,
    pub(crate) clock: Clock,
    pub(crate) listeners: Vec<EventListener>,
    /// Where each answer from outside of a turn is written down, if anywhere.
    pub(crate) tape: Option<Arc<StepTape>>,
}

impl Default for CompressorBuilder {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            sizes: SizeSettings::default(),
            formats: FormatSettings::default(),
            writers: WriterSettings::default(),
            departures: DepartureSettings::default(),
            owner: ScopeOwner::from(LOCAL),
            augments: AugmentFolders::default(),
            digester: None,
            deciders: PolicySettings::default(),
            clock: Arc::new(system_time),
            listeners: Vec::new(),
            tape: None,
        }
    }
}

impl CompressorBuilder {
    /// The profile; `default` unless told otherwise.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self.deciders.forget_own();
        self
    }

    /// How far to compress; as the profile says unless told otherwise.
    #[must_use]
    pub fn target(mut self, target: CompressionTarget) -> Self {
        self.sizes.target = target;
        self
    }

    /// How large a prompt the provider takes; as the profile states it, or else guesses it from the
    /// format, unless told otherwise.
    #[must_use]
    pub fn window(mut self, window: WindowSetting) -> Self {
        self.sizes.window = window;
        self
    }

    /// The input's format; recognised by its content unless told otherwise.
    #[must_use]
    pub fn input_format(mut self, format: Format) -> Self {
        self.formats.input = Some(format);
        self
    }

    /// The provider format that recordings are written in; the nearest unless told otherwise.
    #[must_use]
    pub fn output_format(mut self, format: Format) -> Self {
        self.formats.output = Some(format);
        self
    }

    /// Counts as this model does. Unless told so here or by the profile, budgets are counted in `o200k_base`, and
    /// a window in the tokens of the model that the request names.
    #[must_use]
    pub fn count_as(mut self, name: &str) -> Self {
        self.sizes.counting = Counting::Model(name.to_owned());
        self
    }

    /// Counts with the host's own counter, in place of a model's.
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.sizes.counting = Counting::Own(Arc::new(counter));
        self
    }

    /// Adds a summariser behind those already named: the next is asked where one fails. Without
    /// any it is the extractive one.
    #[must_use]
    pub fn summarizer(mut self, summarizer: impl Summarizer + 'static) -> Self {
        self.writers.summarizers.push(Arc::new(summarizer));
        self
    }

    /// Keeps what leaves the prompt in a store, under a scope ([`scope`](epitome_config::scope::scope) makes one). The
    /// host shares it, to search in it later.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn OriginalStore>, scope: &str) -> Self {
        self.departures.store = Some((store, scope.to_owned()));
        self
    }

    /// Leaves the texts that leave a prompt out of [`crate::CompressedPrompt::departure`]. Together they are
    /// as large as the conversation, and a host that keeps none of them needs no memory for them.
    /// Where there is a store it is told of them all the same.
    #[must_use]
    pub fn without_originals(mut self) -> Self {
        self.departures.originals = false;
        self
    }

    /// The folder that the client of a session works in. What leaves its prompt stands there as
    /// files, `.epitome/offloaded/ID.md`, which the client's own tools open.
    #[must_use]
    pub fn workspace(mut self, workspace: impl Workspace + 'static) -> Self {
        self.departures.workspace = Some(Arc::new(workspace));
        self
    }

    /// Whose the sessions are; without this they belong to no project. What is recorded for one
    /// project is read in no other, unless its user opens it.
    #[must_use]
    pub fn owner(mut self, owner: ScopeOwner) -> Self {
        self.owner = owner;
        self
    }

    /// Where a session finds the augments that its user or agent activates; without any there are
    /// none. Those that are active stand in the prompt from each compression on.
    #[must_use]
    pub fn augments(mut self, folders: AugmentFolders) -> Self {
        self.augments = folders;
        self
    }

    /// How summaries are worded, in place of the profile's option.
    #[must_use]
    pub fn style(mut self, style: SummaryStyle) -> Self {
        self.profile.options.compress.style = style.into();
        self
    }

    /// How many of the newest messages are left alone, in place of the profile's share.
    #[must_use]
    pub fn keep_recent(mut self, messages: usize) -> Self {
        self.profile.options.compress.keep_recent_messages = Some(messages);
        self
    }

    /// Makes tool results smaller before they are first sent, in place of all plugins.
    #[must_use]
    pub fn digester(mut self, digester: impl ToolDigester + 'static) -> Self {
        self.digester = Some(Arc::new(digester));
        self
    }

    /// Adds a plugin of the host's own, behind those already added and before the profile's. It is
    /// asked for digests wherever the profile asks anybody, and its hooks are a policy.
    ///
    /// ```
    /// use epitome::plugin::{PluginInfo, DigestInput, DigestOutput, PluginFailure, Plugin};
    ///
    /// /// Knows what the team's own tool prints.
    /// struct Tickets;
    ///
    /// impl Plugin for Tickets {
    ///     fn about(&self) -> PluginInfo {
    ///         PluginInfo::new("tickets", "1").with_digest()
    ///     }
    ///
    ///     fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
    ///         let open = |line: &&str| line.contains("OPEN");
    ///         let text: Vec<_> = job.text.lines().filter(open).collect();
    ///         let (text, kind) = (text.join("\n"), "tickets".into());
    ///         let is_one = job.tool == "list_tickets" && !text.is_empty();
    ///         Ok(is_one.then_some(DigestOutput { text, kind, left: Vec::new() }))
    ///     }
    /// }
    ///
    /// let compressor = epitome::Compressor::builder().plugin(Tickets).build();
    /// ```
    #[must_use]
    pub fn plugin(mut self, plugin: impl Plugin + 'static) -> Self {
        self.deciders.plugins.push(Arc::new(plugin));
        self
    }

    /// Says the time that texts in a prompt state, ISO 8601, in place of the request's: of a recording,
    /// when its newest message was said. `None` where nobody knows; then none is stated.
    #[must_use]
    pub fn text_time(mut self, time: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.deciders.text_time = Some(Arc::new(time));
        self
    }

    /// Says what time it is, in place of the machine's clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Adds a policy of the host's own, behind those already added and before the profile's: the
    /// first that has an opinion decides.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.deciders.policies.push(Arc::new(policy));
        self
    }

    /// Adds a language model behind those already named: the next is asked where one fails, and the
    /// summarisers after all of them. They write the checkpoints where a policy words the question
    /// (`prompt`), and answer what policies ask. As the profile says unless told otherwise; without
    /// any none is asked.
    #[must_use]
    pub fn model(self, model: impl LanguageModel + 'static) -> Self {
        self.models(vec![Arc::new(model)])
    }

    /// Adds several language models, as [`model`] does.
    #[must_use]
    pub fn models(mut self, models: Vec<Arc<dyn LanguageModel>>) -> Self {
        self.writers.add_models(models);
        self
    }

    /// The mode that policies are told of (`developer`, `planning`, ...); as the profile says unless
    /// told otherwise.
    #[must_use]
    pub fn mode(mut self, mode: &str) -> Self {
        self.deciders.mode = Some(mode.to_owned());
        self
    }

    /// Has the policies watched while they are asked.
    #[must_use]
    pub fn tracer(mut self, tracer: impl PolicyTracer + 'static) -> Self {
        self.deciders.tracer = Some(Arc::new(tracer));
        self
    }

    /// Has a session take up files of its policies that change while it goes on, and tell of it.
    #[must_use]
    pub fn watch(mut self) -> Self {
        self.deciders.watched = true;
        self
    }

    /// Has models write the summaries of a session in the background, on this runtime: no prompt
    /// waits for them. A compression is made without, and what a model wrote stands in the prompt
    /// from the next compression on, or where the provider has nothing cached that it would cost;
    /// models are asked in advance where the profile says so. What policies ask about a new
    /// message is answered there, too. Without a runtime models are waited for, as long as the
    /// profile lets them take.
    #[must_use]
    pub fn background(mut self, runtime: Handle) -> Self {
        self.writers.runtime = Some(runtime);
        self
    }

    /// Tells the host what happens to a session, as soon as a prompt is made; the prompt brings the
    /// same events. Every listener is told.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// With everything settled that the host left open.
    pub(crate) fn settled(mut self) -> Self {
        self.sizes.settle(&self.profile);
        self.writers.settle(&self.profile);
        if self.deciders.mode.is_none() {
            self.deciders.mode = self.profile.mode().map(str::to_owned);
        }
        self
    }

    /// The limit of prompts to a model, as somebody states or guesses it.
    pub fn limit(&self, format: Format, model: Option<&str>) -> PromptLimit {
        let window = match self.sizes.window {
            WindowSetting::Guessed => self.profile.window(),
            stated => stated,
        };
        let model = match &self.sizes.counting {
            Counting::Model(name) => self.profile.model_table().of(name).map(|_| &**name).or(model),
            _ => model,
        };
        window.known(&self.profile, format, model)
    }

    /// The same of a request, which may state it itself.
    pub fn limit_for_request(&self, request: &RequestDocument<'_>) -> PromptLimit {
        let known = self.limit(request.format(), request.model());
        let own = PromptLimit::of_request(request.context_size());
        own.filter(|_| known.source != LimitSource::User).unwrap_or(known)
    }

    /// The bounds of a prompt where policies leave them open, in tokens.
    pub(crate) fn bounds(&self, limit: u64) -> Budgets {
        self.deciders.own(&self.profile).last.bounds(limit)
    }

    /// Whoever decides, with what was noted earlier: the host's policies, the profile's, and the
    /// one that is built in.
    pub(crate) fn council(
        &self,
        counter: &Arc<dyn TokenCounter>,
        memos: BTreeMap<String, String>,
    ) -> Result<PolicyRunner, ConfigError> {
        let OwnPolicies { first, last, rules } = self.deciders.own(&self.profile).clone();
        let mut policies: Vec<_> =
            first.into_iter().chain(self.deciders.policies.iter().cloned()).collect();
        let own = self.deciders.plugins.iter().filter(|plugin| !plugin.about().hooks.is_empty());
        let hooked = own.map(|plugin| PluginPolicy::new(LoadedPlugin::of_host(Arc::clone(plugin))));
        policies.extend(hooked.map(|hooked| Arc::new(hooked) as Arc<dyn Policy>));
        let loaded = self.profile.load(counter)?;
        policies.extend(loaded.current());
        policies.push(last);
        let chain = PolicyChain::new(policies, memos).traced(self.deciders.tracer.clone());
        let failed = |hook| {
            move |ConfigProblem { place, what }: &ConfigProblem| PolicyError {
                policy: place.clone(),
                hook,
                what: what.clone(),
            }
        };
        let mut notes = HookNotes::default();
        notes.errors.extend(loaded.left_out().iter().map(failed("extends")));
        notes.errors.extend(loaded.passed_over().iter().map(failed("load")));
        let within = self.patience();
        Ok(PolicyRunner {
            chain,
            models: self.writers.models.clone(),
            within,
            patience: Arc::new(ModelTimeBudget::new(&self.clock, within)),
            window_share: self.profile.options.summaries.window_share,
            counter: Arc::clone(counter),
            clock: self.clock.clone(),
            text_time: self.deciders.text_time.clone(),
            failures: Arc::default(),
            notes: Arc::new(Mutex::new(notes)),
            tape: self.tape.clone(),
            rules,
        })
    }

    /// Where models write in the background, if they do.
    pub(crate) fn in_background(&self) -> Option<Handle> {
        self.writers.in_background(&self.profile)
    }

    /// How long models may take for what one compression asks of them.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.profile.options.summaries.timeout_seconds)
    }

    /// Whoever digests tool results.
    pub(crate) fn desk<'a>(&'a self, council: &'a PolicyRunner) -> DigestRunner<'a> {
        DigestRunner::new(&self.deciders.plugins, self.profile.plugin_runner(), &council.failures)
    }
}
