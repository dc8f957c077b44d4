//! The tables `[experiment.NAME]`: which profiles new sessions are divided over.
//!
//! Invariant: an experiment that is handed out can be run: each arm is a profile that there is, and
//! each has a weight. Read by proxies, and by those who show what came of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, ConfigProblem};

/// The table.
const TABLE: &str = "experiment";

/// The heaviest that an arm can weigh, and the weights of all.
const HEAVIEST: u64 = 1_000_000;

/// An experiment: new sessions are divided over profiles, and what came of each is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentConfig {
    /// The profiles, at least two. The others are compared with the first. In the arm `none` every
    /// request goes out as it came, so that it measures what the others save.
    #[serde(default)]
    pub arms: Vec<String>,
    /// How many units each arm gets against the others, in the order of `arms`; otherwise as many
    /// each. Where they change, new units alone are divided by them.
    #[serde(default)]
    pub weights: Vec<u64>,
    /// What gets one arm as a whole: a session with its branches and agents, or all new sessions of a
    /// project.
    #[serde(default)]
    pub unit: ExperimentUnit,
    /// The clients that take part, by the names that they give themselves (`claude-cli`); none for all
    /// of them.
    #[serde(default)]
    pub clients: Vec<String>,
    /// The metric that decides. All are shown.
    #[serde(default)]
    pub primary: MetricName,
    /// How much worse than the first an arm may be. One that certainly is gets no new sessions.
    #[serde(default)]
    pub guardrails: GuardrailMargins,
}

/// What gets one arm as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentUnit {
    /// A session with its branches and agents.
    #[default]
    Session,
    /// All sessions of a project.
    Project,
}

/// What arms are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricName {
    /// Cost of a unit.
    #[default]
    Paid,
    /// Tokens that the provider counted for a unit.
    Tokens,
    /// Requests of a unit.
    Requests,
    /// The share of prompt tokens that was read from the cache.
    Cached,
    /// Requests that the provider refused as too long, for each request.
    Overflows,
    /// Requests that were not answered, for each request.
    Refusals,
    /// Time that a request took before it was sent.
    Prepared,
    /// Time from there until the first byte of the answer.
    Latency,
    /// Turns of the model, for each message that a person typed.
    Turns,
    /// Messages in which people say again what they said before, for each that they typed.
    Corrections,
    /// Calls of tools that failed, for each call.
    Failures,
    /// How many more calls failed in the ten turns behind a compression than in those before it, for each.
    FailuresAfter,
    /// Calls that were made before, with the same result, for each call.
    Repeats,
    /// Calls that asked for text which had left the prompt, for each call.
    Recalls,
    /// Texts that left in a compression and were fetched again within ten turns, for each that left.
    Regret,
    /// The same in tokens.
    RegretTokens,
}

/// How much worse an arm may be than the first: as a share of it (0.2 is a fifth), and for `refusals`
/// and `overflows` as a difference of the shares of requests (0.02 is two of a hundred).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardrailMargins {
    /// Cost of a unit.
    #[schemars(range(min = 0))]
    pub paid: Option<f64>,
    /// Tokens of a unit.
    #[schemars(range(min = 0))]
    pub tokens: Option<f64>,
    /// Requests of a unit.
    #[schemars(range(min = 0))]
    pub requests: Option<f64>,
    /// Requests that were refused as too long.
    #[schemars(range(min = 0))]
    pub overflows: Option<f64>,
    /// Requests that were not answered.
    #[schemars(range(min = 0))]
    pub refusals: Option<f64>,
    /// Time until the first byte of an answer.
    #[schemars(range(min = 0))]
    pub latency: Option<f64>,
}

impl MetricName {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 16] = [
        Self::Paid,
        Self::Tokens,
        Self::Requests,
        Self::Cached,
        Self::Overflows,
        Self::Refusals,
        Self::Prepared,
        Self::Latency,
        Self::Turns,
        Self::Corrections,
        Self::Failures,
        Self::FailuresAfter,
        Self::Repeats,
        Self::Recalls,
        Self::Regret,
        Self::RegretTokens,
    ];

    /// Whether the ledger does not tell it, and each message of the sessions is read for it.
    #[must_use]
    pub fn is_of_histories(self) -> bool {
        matches!(
            self,
            Self::Turns
                | Self::Corrections
                | Self::Failures
                | Self::FailuresAfter
                | Self::Repeats
                | Self::Recalls
                | Self::Regret
                | Self::RegretTokens
        )
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Tokens => "tokens",
            Self::Requests => "requests",
            Self::Cached => "cached",
            Self::Overflows => "overflows",
            Self::Refusals => "refusals",
            Self::Prepared => "prepared",
            Self::Latency => "latency",
            Self::Turns => "turns",
            Self::Corrections => "corrections",
            Self::Failures => "failures",
            Self::FailuresAfter => "failures-after",
            Self::Repeats => "repeats",
            Self::Recalls => "recalls",
            Self::Regret => "regret",
            Self::RegretTokens => "regret-tokens",
        }
    }
}

impl JsonSchema for MetricName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MetricName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Self::ALL.map(Self::word)})
    }
}

impl JsonSchema for ExperimentUnit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ExperimentUnit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": ["session", "project"]})
    }
}

impl GuardrailMargins {
    /// Those that are set.
    pub fn set(&self) -> impl Iterator<Item = (MetricName, f64)> {
        let all = [
            (MetricName::Paid, self.paid),
            (MetricName::Tokens, self.tokens),
            (MetricName::Requests, self.requests),
            (MetricName::Overflows, self.overflows),
            (MetricName::Refusals, self.refusals),
            (MetricName::Latency, self.latency),
        ];
        all.into_iter().filter_map(|(name, margin)| Some((name, margin?)))
    }
}

impl ExperimentConfig {
    /// The arm in which every request goes out as it came.
    pub const HOLD_OUT: &'static str = "none";

    /// An experiment of which nothing but its arms is known.
    pub fn of_arms(arms: Vec<String>) -> Self {
        Self {
            arms,
            weights: Vec::new(),
            unit: ExperimentUnit::default(),
            clients: Vec::new(),
            primary: MetricName::default(),
            guardrails: GuardrailMargins::default(),
        }
    }

    /// Each arm with its weight.
    pub fn weighted(&self) -> impl Iterator<Item = (&str, u64)> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(1));
        self.arms.iter().map(String::as_str).zip(weights)
    }
}

impl Config {
    /// The experiments, by name.
    pub fn experiments(&self) -> &BTreeMap<String, ExperimentConfig> {
        &self.settings.experiment
    }

    /// Finds what cannot be run.
    pub(super) fn check_experiments(&self) -> Result<(), ConfigError> {
        if self.settings.experiment.is_empty() {
            return Ok(());
        }
        let known = self.profiles();
        for (name, experiment) in &self.settings.experiment {
            let Some((key, what)) = wrong(name, experiment, &known) else { continue };
            let path = [TABLE, name, key];
            let path = if key.is_empty() { &path[..2] } else { &path };
            let place = self.source_of(&self.whole, path);
            let place = place.or_else(|| self.source_of(&self.whole, &path[..2]));
            return Err(ConfigProblem::new(place.unwrap_or_default(), what).into());
        }
        Ok(())
    }
}

/// What is wrong with an experiment, and at which key.
fn wrong(
    name: &str,
    experiment: &ExperimentConfig,
    profiles: &[String],
) -> Option<(&'static str, String)> {
    let ExperimentConfig { arms, weights, clients, .. } = experiment;
    let at = format!("`{TABLE}.{name}");
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    if name.is_empty() || !name.chars().all(is_plain) {
        let what = format!("{at}`: expected a name of letters, digits, `-`, `_` and `.`");
        return Some(("", what));
    }
    if arms.len() < 2 {
        let what = format!("{at}.arms` names {}; expected two profiles or more", arms.len());
        return Some(("arms", what));
    }
    for (place, arm) in arms.iter().enumerate() {
        if arms[..place].contains(arm) {
            let what = format!("{at}.arms` names `{arm}` twice; expected each profile once");
            return Some(("arms", what));
        }
        if !profiles.contains(arm) {
            let known = profiles.join(", ");
            let what = format!("{at}.arms`: there is no profile `{arm}`; expected one of {known}");
            return Some(("arms", what));
        }
    }
    if !weights.is_empty() && weights.len() != arms.len() {
        let (found, expected) = (weights.len(), arms.len());
        let what = format!("{at}.weights` has {found}; expected {expected}, one for each arm");
        return Some(("weights", what));
    }
    let is_light = weights.iter().all(|weight| *weight <= HEAVIEST);
    if !weights.is_empty() && (!is_light || weights.iter().filter(|it| **it > 0).count() < 2) {
        let what =
            format!("{at}.weights`: expected at least two above 0, and none above {HEAVIEST}");
        return Some(("weights", what));
    }
    if clients.iter().any(|client| client.trim().is_empty()) {
        let what = format!("{at}.clients` has an empty name; expected one such as claude-cli");
        return Some(("clients", what));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::ConfigSources;

    fn load(text: &str) -> Result<Config, String> {
        let sources = ConfigSources::default().text(Path::new("epitome.toml"), text);
        Config::load(sources).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check_refused(table: &str, expected: &str) {
        let error = load(&format!("[experiment.short]\n{table}\n")).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn an_experiment_says_little_and_means_much() {
        let config = load("[experiment.short]\narms = ['default', 'none']\n").unwrap();
        let short = &config.experiments()["short"];
        assert_eq!(short.weighted().collect::<Vec<_>>(), [("default", 1), ("none", 1)]);
        assert_eq!((short.unit, short.primary), (ExperimentUnit::Session, MetricName::Paid));
        assert_eq!(short.guardrails.set().count(), 0);
        let text = "[profile.short]\n[experiment.short]\narms = ['default', 'short', 'none']\n\
            weights = [45, 45, 10]\nunit = 'project'\nclients = ['claude-cli']\n\
            primary = 'tokens'\n[experiment.short.guardrails]\npaid = 0.2\nrefusals = 0.01\n";
        let config = load(text).unwrap();
        let short = &config.experiments()["short"];
        assert_eq!(short.weighted().last(), Some(("none", 10)));
        let guardrails: Vec<_> = short.guardrails.set().collect();
        assert_eq!(guardrails, [(MetricName::Paid, 0.2), (MetricName::Refusals, 0.01)]);
    }

    #[test]
    fn what_cannot_be_run_is_refused_where_it_stands() {
        let two = "arms = ['default', 'none']";
        check_refused("unit = 'session'", "epitome.toml:1: `experiment.short.arms` names 0;");
        check_refused("arms = ['none']", "epitome.toml:2: `experiment.short.arms` names 1;");
        check_refused(
            "arms = ['none', 'none']",
            "epitome.toml:2: `experiment.short.arms` names `none` twice",
        );
        check_refused(
            "arms = ['default', 'x']",
            "epitome.toml:2: `experiment.short.arms`: there is no profile `x`; expected one of default",
        );
        check_refused(
            &format!("{two}\nweights = [1]"),
            "epitome.toml:3: `experiment.short.weights` has 1; expected 2",
        );
        check_refused(
            &format!("{two}\nweights = [1, 0]"),
            "epitome.toml:3: `experiment.short.weights`: expected at least two",
        );
        check_refused(
            &format!("{two}\nunit = 'person'"),
            "epitome.toml:3: `experiment.short.unit`",
        );
        check_refused(&format!("{two}\narm = 1"), "epitome.toml:3: ");
        check_refused(&format!("{two}\nguardrails.paid = -1"), "epitome.toml:3: ");
        check_refused(&format!("{two}\nclients = ['']"), "epitome.toml:3: ");
        let error = load(&format!("[experiment.'a b']\n{two}\n")).unwrap_err();
        assert!(error.contains("expected a name of letters"), "{error}");
    }
}
