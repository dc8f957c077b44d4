//! The keys of `epitome.toml`.
//!
//! Invariant: what a file or variable may say is declared here and in the options of a profile, and
//! nowhere else: the schema, the check and the reading follow from it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use epitome_extensions::toml_file::TomlSchema;
use epitome_store::Durability;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::experiments::ExperimentConfig;
use super::proxy::ProxyConfig;
use crate::profile::{AgeingStep, BudgetStep, MarkerSpellings, ProfileOptions, ToolRule};

/// The configuration of Epitome. Every key may be left out; what is not said here is inherited
/// from the user's own file, and at last from what is built in.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "epitome.toml", extend("additionalProperties" = false))]
pub(crate) struct ConfigToml {
    /// The profile for those who choose none.
    pub(crate) default_profile: String,
    /// The store of the journal and of `recall`: a path, relative to the file that names it. The
    /// file of a project names one in its own folder.
    #[expect(dead_code, reason = "declared for the schema; the nearest store is looked for")]
    pub(crate) store: Option<PathBuf>,
    /// The key that the files of stores are encrypted with: a file that `epitome store key FILE` makes.
    /// Stores in PostgreSQL are not. A path is relative to the file that names it. Said in one's own
    /// file, in variables and flags; never in the file of a project.
    pub(crate) store_key_file: Option<PathBuf>,
    /// What survives a power cut: `normal` keeps the store sound and may lose the newest records,
    /// `full` waits for the disk every time.
    pub(crate) durability: DurabilityName,
    /// Whether `recall`, the lists of sessions and the tools of an agent read the sessions of all
    /// projects, and not of the one alone that they are used in. Said in one's own file, in
    /// variables and flags; never in the file of a project.
    pub(crate) everywhere: bool,
    /// Whose sessions commands read and change: the name before a token in the file of `--token-file`, or `local`
    /// for those of a proxy without tokens. Said in one's own file, in variables and flags; never in
    /// the file of a project.
    pub(crate) tenant: String,
    /// A price table of one's own, in TOML. A path is relative to the file that names it.
    pub(crate) prices: Option<PathBuf>,
    /// A model table of one's own, in TOML: windows and sizes by the beginnings of models' names. A
    /// path is relative to the file that names it.
    pub(crate) models: Option<PathBuf>,
    #[serde(flatten)]
    pub(crate) extensions: ExtensionKeys,
    pub(crate) proxy: ProxyConfig,
    /// Experiments on live sessions, by name.
    #[serde(default)]
    pub(crate) experiment: BTreeMap<String, ExperimentConfig>,
    /// Profiles, by name.
    #[serde(default)]
    #[expect(dead_code, reason = "declared for the schema; profiles are read one by one")]
    pub(crate) profile: BTreeMap<String, ProfileToml>,
}

/// Keys at the top that say where extensions are, and what those are given.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExtensionKeys {
    /// A folder of policies. Said by a project it is searched with the project's
    /// `.epitome/policies`, the nearer one first; said in one's own file, after one's own policies.
    /// A path is relative to the file that names it.
    #[expect(dead_code, reason = "declared for the schema; it is looked for layer by layer")]
    pub(crate) policies: Option<PathBuf>,
    /// A folder of plugins, searched in the same order. A path is relative to the file that names
    /// it.
    #[expect(dead_code, reason = "declared for the schema; it is looked for layer by layer")]
    pub(crate) plugins: Option<PathBuf>,
    /// The variables of the environment that plugins may have, by plugin. Said in one's own file,
    /// in variables and flags; never in the file of a project.
    #[serde(default)]
    pub(crate) grants: BTreeMap<String, Vec<String>>,
}

/// A profile: what it does differently from the one that it inherits from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileToml {
    /// The profile that says what this one does not; `default` unless told otherwise.
    #[expect(
        dead_code,
        reason = "declared for the schema; it says what is read, and in what order"
    )]
    pub(crate) inherits: Option<String>,
    /// Its policies, in the order in which they are asked; `plugin:NAME` is a plugin that answers
    /// hooks. Otherwise the policy of its name and what that extends, then those of the profile
    /// that it inherits from.
    #[expect(dead_code, reason = "declared for the schema; it is looked for layer by layer")]
    pub(crate) policies: Option<Vec<String>>,
    /// The plugins that digest tool results, in the order in which they are asked; the first that
    /// has a digest wins.
    pub(crate) digests: Option<Vec<String>>,
    /// The same for the results of some tools, by name or pattern (`web_*`) in any case; of those
    /// that mean a tool the one that says most of its name. An empty list leaves the results as
    /// they are.
    #[serde(default)]
    pub(crate) digests_by_tool: BTreeMap<String, Vec<String>>,
    /// The lines that stay in the prompt word for word, whatever leaves and whoever decides: regular
    /// expressions, each match with the whole lines that it stands in, and kinds of facts
    /// (`constraint`, `path`, `error`, `identifier`, `number`, `url`), of each fact the newest line.
    /// The newest stay where there is no room for all; a warning says so.
    pub(crate) keep: Option<Vec<String>>,
    /// The tool results that nothing shortens, sums up or takes out: names of tools, and paths that
    /// their calls name, in any case and with `*` for any letters. What has a `/` or a `.` is a path,
    /// too, or the end of one. Where they do not fit, the conversation is refused, and they are named.
    pub(crate) never: Option<Vec<String>>,
    /// What becomes of the results of tools before they are first sent, by name or pattern (`web_*`)
    /// in any case; of those that mean a tool the one that says most of its name.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, ToolRule>,
    /// Other words for the markers of goals in what the model says.
    #[serde(default)]
    pub(crate) markers: MarkerSpellings,
    /// What a model's summaries dwell on, by mode: files of text. A path is relative to the file that
    /// names it. The file of a project names files in its own folder.
    #[serde(default)]
    pub(crate) prompts: BTreeMap<String, PathBuf>,
    /// Bounds of the prompt, by the number of messages that a person typed: each holds from there on,
    /// whichever policy decides.
    #[serde(default)]
    pub(crate) budgets: BTreeMap<String, BudgetStep>,
    /// What becomes of checkpoints, by their age in compressions: whichever policy decides, each comes
    /// to the level of the last step that it has reached.
    #[serde(default)]
    pub(crate) ageing: BTreeMap<String, AgeingStep>,
    /// Who writes summaries, in the order in which they are asked: `ollama:NAME`,
    /// `openai:NAME@URL`, `anthropic:NAME`, and `extractive`, which asks no model and stands last
    /// in any case. `talking` is the model that a conversation is with, where Epitome talks with
    /// it itself (`chat`), and nobody elsewhere; so it is in `ollm`. Policies may ask them, too.
    /// Said in one's own file, in variables and flags; never in the file of a project.
    pub(crate) summarizers: Option<Vec<String>>,
    /// The mode that its policies are told of: `developer`, `planning`, whatever they know.
    pub(crate) mode: Option<String>,
    /// Counts tokens, and pays, as for this model; otherwise for the one that a request names.
    pub(crate) model: Option<String>,
    /// The vocabulary that tokens are counted in, in place of the model's.
    pub(crate) counter: Option<CounterName>,
    /// The store for those who name none, in place of the one for all profiles. A path is relative
    /// to the file that names it.
    #[expect(dead_code, reason = "declared for the schema; the nearest store is looked for")]
    pub(crate) store: Option<PathBuf>,
    /// The model whose window, by the model table, holds; `context_size` may choose one of its
    /// context sizes.
    pub(crate) window: Option<String>,
    /// The context size chosen, in tokens; the prompt may take a share of it. Either this or
    /// `prompt_limit`.
    #[schemars(range(min = 1))]
    pub(crate) context_size: Option<u64>,
    /// The largest prompt that the provider accepts, in tokens. Either this or
    /// `context_size`.
    #[schemars(range(min = 1))]
    pub(crate) prompt_limit: Option<u64>,
    pub(crate) options: PolicyOptions,
}

/// The options of a profile's policies, by policy.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PolicyOptions {
    /// Those of what is built in, and of the shipped policy `default`.
    pub(crate) default: ProfileOptions,
    /// Those of any other policy, as it declares them.
    #[serde(flatten)]
    #[expect(dead_code, reason = "declared for the schema; it is read policy by policy")]
    pub(crate) others: BTreeMap<String, Map<String, Json>>,
}

/// A vocabulary that is compiled in, by the name of its counter.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum CounterName {
    #[serde(rename = "o200k_base")]
    O200k,
    #[serde(rename = "cl100k_base")]
    Cl100k,
}

impl CounterName {
    /// The name of the vocabulary.
    pub(crate) fn vocabulary(self) -> &'static str {
        match self {
            CounterName::O200k => "o200k_base",
            CounterName::Cl100k => "cl100k_base",
        }
    }
}

/// [`Durability`], as TOML spells it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum DurabilityName {
    Normal,
    Full,
}

impl From<DurabilityName> for Durability {
    fn from(name: DurabilityName) -> Self {
        match name {
            DurabilityName::Normal => Durability::Normal,
            DurabilityName::Full => Durability::Full,
        }
    }
}

/// The schema of `epitome.toml`.
pub(crate) fn schema() -> TomlSchema {
    TomlSchema::of::<ConfigToml>()
}
