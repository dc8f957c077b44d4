//! The parts of what a compressor is set up with.
//!
//! Invariant: plain data; what the host leaves open stays open until the profile is asked. Filled in
//! by the builder, read by compressors and sessions.

use std::sync::{Arc, OnceLock};

use epitome_config::models::Models;
use epitome_config::profile::{Profile, ProfileRules};
use epitome_extract::ExtractiveSummarizer;
use epitome_kernel::{
    LanguageModel, OriginalStore, Policy, PolicyTracer, Summarizer, TokenCounter, Workspace,
};
use epitome_plan::BuiltinPolicy;
use epitome_plugin::Plugin;
use epitome_wire::Format;
use tokio::runtime::Handle;

use crate::limits::{CompressionTarget, WindowSetting};
use crate::policy_runner::TextTime;

/// Who counts.
#[derive(Clone, Default)]
pub(crate) enum Counting {
    /// As budgets are defined, or as the model does that a request names.
    #[default]
    Default,
    /// As this model does.
    Model(String),
    /// The host.
    Own(Arc<dyn TokenCounter>),
}

/// How large a prompt may be.
#[derive(Clone, Default)]
pub(crate) struct SizeSettings {
    pub(crate) target: CompressionTarget,
    pub(crate) window: WindowSetting,
    pub(crate) counting: Counting,
}

impl SizeSettings {
    /// With what the profile says where the host left it open.
    pub(crate) fn settle(&mut self, profile: &Profile) {
        if self.window == WindowSetting::Guessed {
            self.window = profile.window();
        }
        let counted_as = profile.counter().or(profile.model());
        if let (Counting::Default, Some(name)) = (&self.counting, counted_as) {
            self.counting = Counting::Model(name.to_owned());
        }
    }
}

/// The formats that are read and written, where the host says so.
#[derive(Clone, Copy, Default)]
pub(crate) struct FormatSettings {
    pub(crate) input: Option<Format>,
    /// That of recordings.
    pub(crate) output: Option<Format>,
}

/// Who writes summaries.
#[derive(Clone, Default)]
pub(crate) struct WriterSettings {
    pub(crate) summarizers: Vec<Arc<dyn Summarizer>>,
    /// The models that are asked before those.
    pub(crate) models: Models,
    /// Where models write in the background, if they may.
    pub(crate) runtime: Option<Handle>,
}

impl WriterSettings {
    /// Who writes without a model, in order.
    pub(crate) fn summarizers(&self) -> Vec<&dyn Summarizer> {
        self.summarizers.iter().map(|one| &**one).collect()
    }

    /// Adds models behind those that are there.
    pub(crate) fn add_models(&mut self, models: Vec<Arc<dyn LanguageModel>>) {
        self.models.all.extend(models);
    }

    /// With what the profile says where the host left it open.
    pub(crate) fn settle(&mut self, profile: &Profile) {
        if self.models.all.is_empty() {
            self.models = profile.connected_models().clone();
        }
        if self.summarizers.is_empty() {
            self.summarizers.push(Arc::new(ExtractiveSummarizer::default()));
        }
    }

    /// Where models write in the background, if they do.
    pub(crate) fn in_background(&self, profile: &Profile) -> Option<Handle> {
        let is_on = !self.models.all.is_empty() && profile.options.summaries.background;
        self.runtime.clone().filter(|_| is_on)
    }
}

/// Where what leaves a prompt goes.
#[derive(Clone)]
pub(crate) struct DepartureSettings {
    /// A store, and the scope that it is kept under.
    pub(crate) store: Option<(Arc<dyn OriginalStore>, String)>,
    /// Whether a compression hands out the texts that left.
    pub(crate) originals: bool,
    /// The folder that the client works in.
    pub(crate) workspace: Option<Arc<dyn Workspace>>,
}

impl Default for DepartureSettings {
    fn default() -> Self {
        Self { store: None, originals: true, workspace: None }
    }
}

/// Who decides beside the profile, and what they are told.
#[derive(Clone, Default)]
pub(crate) struct PolicySettings {
    pub(crate) policies: Vec<Arc<dyn Policy>>,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    /// The mode that policies are told of.
    pub(crate) mode: Option<String>,
    /// The time that they may state in texts, where that is not the request's.
    pub(crate) text_time: Option<TextTime>,
    pub(crate) tracer: Option<Arc<dyn PolicyTracer>>,
    /// Whether files of policies that change are taken up.
    pub(crate) watched: bool,
    /// What the profile decides itself, once it was asked for.
    pub(crate) own: OnceLock<OwnPolicies>,
}

impl PolicySettings {
    /// What the profile decides itself.
    pub(crate) fn own(&self, profile: &Profile) -> &OwnPolicies {
        self.own.get_or_init(|| OwnPolicies::new(profile))
    }

    /// Has another profile asked from now on.
    pub(crate) fn forget_own(&mut self) {
        self.own = OnceLock::new();
    }
}

/// What a profile decides itself. Each turn asks it, and it is as costly to make as one is to take.
#[derive(Clone)]
pub(crate) struct OwnPolicies {
    /// Asked before all others, where it states anything.
    pub(crate) first: Option<Arc<dyn Policy>>,
    /// Asked behind all others.
    pub(crate) last: Arc<BuiltinPolicy>,
    pub(crate) rules: Arc<ProfileRules>,
}

impl OwnPolicies {
    fn new(profile: &Profile) -> Self {
        let first = profile.own_policy().map(|policy| Arc::new(policy) as Arc<dyn Policy>);
        let (last, rules) = (Arc::new(profile.built_in()), Arc::new(profile.rules.clone()));
        Self { first, last, rules }
    }
}
