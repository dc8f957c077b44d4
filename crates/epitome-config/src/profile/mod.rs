//! Profiles: the numbers and texts of a compression, by name.
//!
//! Invariant: no number stands in the code; a profile is read from TOML as a whole, and what was
//! read is sound. Made by the configuration, read by the compressor.

mod kept;
mod models;
mod modes;
pub mod options;
mod plain;
mod rules;
mod schedule;
mod window;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use epitome_extensions::plugins::{PluginRef, ProfilePlugins};
use epitome_extensions::policies::{ChainLink, LoadedPolicies, PolicyRef, ProfilePolicies};
use epitome_extensions::problem::{ConfigError, ConfigProblem};
use epitome_extract::KeepRules;
use epitome_kernel::{Policy, TokenCounter};
use epitome_plan::{
    ArrivalWording, ArriveOptions, BuiltinOptions, BuiltinPolicy, CachePrices, CompressOptions,
    ConstraintState, KernelTexts, RequestEnvelope, SummaryOptions,
};
use epitome_types::{CheckpointPlacement, ContentId};
use epitome_wire::{Format, OverflowSignatures, RequestDocument};
use serde_json::json;

use self::options::TextOptions;
pub use self::options::{GoalOptions, ProfileOptions, WorkStateOptions as StateOptions};
pub use self::rules::{MarkerSpellings, NeverRules, ProfilePolicy, ProfileRules, ToolRule};
pub use self::schedule::{AgeingStep, AgeingSteps, BudgetStep, BudgetSteps};
use crate::limits::WindowSetting;
use crate::models::{ModelTable, Models, Prices, SummarizerSpec};
use crate::redaction::RedactionPatterns;

/// The profiles that are compiled in: name and options.
pub const SHIPPED: [(&str, &str); 1] =
    [("default", include_str!("../../../../policies/default/options.toml"))];

/// What the policy that answers last is called.
pub const BUILTIN: &str = "builtin";

/// The hook that is asked for a plan, as reports name it.
const HOOK: &str = "plan";

/// How the model gets back what left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// Not at all.
    None,
    /// From the store, by its id.
    Store,
    /// As a file, too, that the client's own tools open.
    File,
}

/// The numbers and texts of a compression.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub(crate) name: String,
    /// The numbers and texts of what is built in.
    pub options: ProfileOptions,
    /// What it states itself, whichever policy decides.
    pub rules: ProfileRules,
    /// What is never recorded.
    pub redaction: RedactionPatterns,
    pub(crate) signatures: OverflowSignatures,
    pub(crate) stated: StatedDefaults,
    pub(crate) table: ModelTable,
    pub(crate) prices: Prices,
    pub(crate) policies: ProfilePolicies,
    pub(crate) plugins: ProfilePlugins,
    pub(crate) scribes: Vec<SummarizerSpec>,
    pub(crate) models: Models,
}

/// What a profile states in the place of a host that says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatedDefaults {
    pub(crate) mode: Option<String>,
    pub(crate) model: Option<String>,
    /// The name of a vocabulary.
    pub(crate) counter: Option<&'static str>,
    pub(crate) window: WindowSetting,
    /// The model whose window it is, where it was asked for by name.
    pub(crate) window_of: Option<String>,
    pub(crate) store: Option<PathBuf>,
}

impl Profile {
    /// The names of the profiles that are compiled in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.into_iter().map(|(name, _)| name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mode that its policies are told of, unless the host says otherwise.
    pub fn mode(&self) -> Option<&str> {
        self.stated.mode.as_deref()
    }

    /// The model that it counts tokens as, unless the host says otherwise.
    pub fn model(&self) -> Option<&str> {
        self.stated.model.as_deref()
    }

    /// The name of the vocabulary that it counts tokens in, in place of its model's.
    pub fn counter(&self) -> Option<&'static str> {
        self.stated.counter
    }

    /// The store that it means where none is named.
    pub fn store(&self) -> Option<&Path> {
        self.stated.store.as_deref()
    }

    /// The policies that the configuration names for it, in the order in which they are asked;
    /// plugins that answer hooks stand among them. What is built in stands behind them.
    pub fn chain(&self) -> &[ChainLink] {
        &self.policies.chain
    }

    /// Those of them that are in Lua.
    pub fn policies(&self) -> Vec<&PolicyRef> {
        self.policies.named().collect()
    }

    /// The plugins that it names.
    pub fn plugins(&self) -> &[PluginRef] {
        &self.plugins.named
    }

    /// The same, as what asks them is given them.
    pub fn plugin_runner(&self) -> &ProfilePlugins {
        &self.plugins
    }

    /// The names of the plugins that digest the results of a tool, in the order in which they are
    /// asked.
    pub fn digests(&self, tool: &str) -> &[String] {
        self.plugins.of(tool)
    }

    /// With a policy of the host's own. It is asked before those of the configuration, and after
    /// those that were added before.
    ///
    /// ```
    /// # mod epitome {
    /// #     pub use epitome_config::profile::Profile;
    /// #     pub use epitome_kernel::{HookResult, NextPolicies, Policy};
    /// #     pub use epitome_types as types;
    /// # }
    /// use epitome::{HookResult, Policy, Profile, NextPolicies, types::hook};
    ///
    /// /// Warns early, and leaves everything else to whoever is asked next.
    /// struct Early;
    ///
    /// impl Policy for Early {
    ///     fn name(&self) -> &str {
    ///         "early"
    ///     }
    ///
    ///     fn budgets(&self, job: &hook::BudgetsJob, rest: &NextPolicies<'_>) -> HookResult<hook::Budgets> {
    ///         let others = rest.budgets(job)?.unwrap_or_default();
    ///         Ok(Some(hook::Budgets { warn: others.warn.map(|tokens| tokens / 2), ..others }))
    ///     }
    /// }
    ///
    /// let profile = Profile::default().with_policy(Early);
    /// assert_ne!(profile.config(), Profile::default().config());
    /// ```
    #[must_use]
    pub fn with_policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policies = self.policies.with(Arc::new(policy));
        self
    }

    /// Whether the policies and plugins that it names may run; nothing is run to find out.
    ///
    /// # Errors
    ///
    /// The first that may not, with the remedy.
    pub fn permitted(&self) -> Result<(), ConfigError> {
        self.policies.permitted()?;
        Ok(self.plugins.permitted()?)
    }

    /// Why one of its policies may not run, with the remedy; `None` where it may.
    pub fn refusal(&self, policy: &PolicyRef) -> Option<ConfigProblem> {
        self.policies.refusal(policy)
    }

    /// Its policies, ready to be asked. They are loaded when this is first called, once for all
    /// clones of the profile; `counter` counts for them.
    ///
    /// # Errors
    ///
    /// When one may not run, cannot be read or run, or does not have the options that are set.
    pub fn load(&self, counter: &Arc<dyn TokenCounter>) -> Result<LoadedPolicies, ConfigError> {
        self.policies.load(counter, &self.plugins)
    }

    /// The window that it states, unless the host says otherwise.
    pub fn window(&self) -> WindowSetting {
        self.stated.window
    }

    /// How a prompt that is too long is told from other refusals.
    pub fn signatures(&self) -> &OverflowSignatures {
        &self.signatures
    }

    /// The same profile with another price table.
    #[must_use]
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// What models cost.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// What a cached token costs where nothing is known of the model, against one that is not
    /// cached: the unit in which costs of different models are compared.
    pub fn cache_rule(&self) -> CachePrices {
        self.or_as_set(self.prices.cache(None, false))
    }

    /// What a cached token of a model costs (RULES 114); `hour` says that what is written is kept
    /// for an hour.
    pub fn cache_prices(&self, model: Option<&str>, hour: bool) -> CachePrices {
        self.or_as_set(self.prices.cache(model.or(self.model()), hour))
    }

    /// The same for a server that is paid nothing, whatever its cache holds.
    pub fn unpaid(&self) -> CachePrices {
        self.or_as_set(CachePrices { read: 0.0, write: 0.0 })
    }

    fn or_as_set(&self, by_model: CachePrices) -> CachePrices {
        let cache = &self.options.cache;
        CachePrices {
            read: cache.read.unwrap_or(by_model.read),
            write: cache.write.unwrap_or(by_model.write),
        }
    }

    /// What is known of models by their names.
    pub fn model_table(&self) -> &ModelTable {
        &self.table
    }

    /// Its models, ready to be asked.
    pub fn connected_models(&self) -> &Models {
        &self.models
    }

    /// The largest prompt that a model takes, in tokens: as the user says that its provider does, or
    /// as is known of it, or what is guessed for the format.
    pub fn window_of_model(&self, model: Option<&str>, format: Format) -> u64 {
        if let WindowSetting::Limit(stated) = self.stated.window {
            return stated;
        }
        let listed = model.and_then(|model| self.table.of(model)).filter(|it| it.is_fixed());
        listed.map_or_else(|| self.options.limit.guess(format), |listed| listed.window)
    }

    /// The hash of its effective options, overrides included, and of its policies and plugins with
    /// theirs: equal decisions, equal hash. They are read and not run.
    ///
    /// It covers the options under the names that users write, in the order of the alphabet: no
    /// name or order in the code changes it.
    pub fn config(&self) -> String {
        let named = self.scribes.iter().filter(|scribe| **scribe != SummarizerSpec::Extractive);
        let mut decides = json!({
            "options": self.options,
            "policies": self.policies.address(),
            "plugins": self.plugins.address(),
            "mode": self.stated.mode,
            "models": named.map(ToString::to_string).collect::<Vec<_>>(),
        });
        if self.rules != ProfileRules::default() {
            decides["rules"] = json!(self.rules);
        }
        decides.sort_all_objects();
        format!("b3:{}", ContentId::for_text(&decides.to_string()))
    }

    /// The lines that stay word for word.
    pub fn keep(&self) -> &KeepRules {
        &self.rules.keep
    }

    /// The policy that is asked first: what the profile decides itself, if anything.
    pub fn own_policy(&self) -> Option<ProfilePolicy> {
        ProfilePolicy::for_rules(&self.rules)
    }

    /// The policy that is asked last, with the options of this profile.
    pub fn built_in(&self) -> BuiltinPolicy {
        let ProfileOptions {
            trigger, limit, tool_results: arrive, compress, summaries, goals, ..
        } = &self.options;
        let options = BuiltinOptions {
            warn: trigger.warn,
            ahead: trigger.prefetch,
            soft: trigger.soft,
            target: trigger.target,
            reserve: limit.reserve,
            reserve_share: limit.reserve_share,
            cooldown: compress.minimum_gain,
            markers: self.rules.markers.words(),
            arrive: ArriveOptions {
                digest_from: arrive.digest_from,
                digest_share: arrive.digest_share,
                offload_above: arrive.offload_above,
                offload_share: arrive.offload_share,
                preview: arrive.preview,
                preview_share: arrive.preview_share,
                exempt: arrive.exempt.clone(),
            },
            summaries: SummaryOptions {
                style: summaries.style.into(),
                ask: summaries.prompt.clone(),
                share: summaries.share,
                forgotten: summaries.missing_facts_heading.clone(),
                beside: summaries.extract_heading.clone(),
            },
            goal_teaching: goals.teach.then(|| self.rules.markers.taught(goals.markers.trim())),
        };
        BuiltinPolicy::new(BUILTIN, options)
    }

    /// How what is made smaller on arrival is written.
    pub fn door(&self, back: Back) -> ArrivalWording {
        let marker = self.words(back).marker.clone();
        ArrivalWording {
            marker,
            passage_bytes: self.options.compress.passage_bytes,
            kept: self.options.work_state.kept.clone(),
        }
    }

    /// What stands where something left, by the way back that there is (RULES 119).
    fn words(&self, back: Back) -> &TextOptions {
        let texts = &self.options.texts;
        match back {
            Back::None => &texts.bare,
            Back::Store => &texts.stored,
            Back::File => &texts.files,
        }
    }

    /// Whether what the model of a request thought has to leave with what stands before it: its
    /// provider binds it to that (RULES 139 and 140). Models that bind take no budget to think.
    pub fn unbinds(&self, request: &RequestDocument<'_>) -> bool {
        let is_signed = matches!(request.format(), Format::Anthropic | Format::Responses);
        is_signed && !request.has_thinking_budget() && self.table.binds(request.model())
    }

    /// What the kernel is told.
    pub fn compress(&self, back: Back, envelope: RequestEnvelope) -> CompressOptions {
        let (compress, words) = (&self.options.compress, self.words(back));
        CompressOptions {
            stand: CheckpointPlacement::default(),
            unbind: false,
            inputs: Vec::new(),
            keep_recent_share: compress.keep_recent_share,
            keep_recent_slack: compress.keep_recent_slack,
            newest_results_share: compress.newest_results_share,
            keep_recent_messages: compress.keep_recent_messages,
            minimum_gain: compress.minimum_gain,
            digest_tokens: compress.digest_tokens,
            style: compress.style.into(),
            originals: true,
            passages: back != Back::None,
            passage_bytes: compress.passage_bytes,
            ladder: compress.ladder.iter().copied().map(Into::into).collect(),
            texts: KernelTexts {
                label: words.label.clone(),
                label_short: words.label_short.clone(),
                label_share: compress.label_share,
                marker: words.marker.clone(),
                stub: words.placeholder.clone(),
                line_chars: compress.line_chars,
            },
            state: None,
            demands: ConstraintState::default(),
            envelope,
            policy: self.name.clone(),
            hook: HOOK.to_owned(),
        }
    }
}

/// The profile for those who choose none.
impl Default for Profile {
    #[expect(clippy::expect_used, reason = "the text is compiled in, and a test parses it")]
    fn default() -> Self {
        // Every builder begins with it, and the text is the same each time.
        static PARSED: LazyLock<Profile> =
            LazyLock::new(|| plain::profile().expect("the options of a shipped profile are sound"));
        PARSED.clone()
    }
}

#[cfg(test)]
mod tests {
    use epitome_count::VocabularyCounter;
    use epitome_kernel::TokenCounter;

    use super::*;

    #[test]
    fn a_configuration_that_says_nothing_says_the_same() {
        let (plain, configured) = (Profile::default(), Profile::shipped("default").unwrap());
        assert_eq!(plain, configured);
        assert_eq!(plain.config(), configured.config());
    }

    #[test]
    fn shipped_profiles_are_sound() {
        for name in Profile::names() {
            assert_eq!(Profile::shipped(name).map(|profile| profile.name), Ok(name.to_owned()));
        }
        let check = |name, expected: &str| {
            assert_eq!(Profile::shipped(name).unwrap_err().to_string(), expected);
        };
        check("defualt", "unknown profile `defualt`; did you mean `default`?");
        check(
            "other",
            "unknown profile `other`; there is `default`, `early`, `none`, `ollm`, `staged`, `tiered`, \
             `truncate`, `watermark`",
        );
    }

    /// They are paid for with every request; an id is 3 to 8 tokens of them.
    #[test]
    fn labels_are_short() {
        let texts = Profile::default().options.texts;
        for (label, most) in
            [(&texts.files.label, 20), (&texts.stored.label, 14), (&texts.bare.label, 14)]
        {
            let ids = (0..200).map(|number| ContentId::for_text(&format!("{number}")).short());
            let labels = ids.map(|id| label.replace("{id}", &id));
            let tokens: u64 = labels.map(|label| VocabularyCounter::default().count(&label)).sum();
            assert!(tokens <= most * 200, "{label}: {} on average", tokens as f64 / 200.0);
        }
    }

    #[test]
    fn only_what_is_stored_names_a_way_back() {
        let texts = Profile::default().options.texts;
        let TextOptions { label, label_short, marker, placeholder } = &texts.stored;
        assert!(
            [label, marker, placeholder].iter().all(|text| text.contains("epitome recall {id}"))
        );
        assert!(label_short.contains("{id}"));
        let TextOptions { label, label_short, marker, placeholder } = &texts.files;
        let file = ".epitome/offloaded/{id}.md";
        assert!([label, label_short, marker, placeholder].iter().all(|text| text.contains(file)));
        let TextOptions { label, label_short, marker, placeholder } = &texts.bare;
        let bare = [label, label_short, marker, placeholder];
        assert!(bare.iter().all(|text| !text.contains("recall") && !text.contains("{id}")));
    }

    #[test]
    fn the_hash_tells_options_apart() {
        let (one, same) = (Profile::default(), Profile::default());
        assert_eq!(one.config(), same.config());
        assert!(one.config().starts_with("b3:"));
        let mut other = Profile::default();
        other.options.compress.keep_recent_messages = Some(4);
        assert_ne!(one.config(), other.config());
        let mut other = Profile::default();
        other.stated.mode = Some("planning".to_owned());
        assert_ne!(one.config(), other.config());
    }
}
