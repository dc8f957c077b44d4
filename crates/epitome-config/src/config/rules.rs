//! The rules that a profile states itself, read and checked.
//!
//! Invariant: a rule that cannot be meant is an error that names its line. Called where profiles are
//! resolved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use epitome_extensions::toml_file::read_plain_text;
use epitome_extract::KeepRules;
use figment::Figment;

use super::{Config, ConfigError, ConfigProblem};
use crate::profile::{AgeingStep, BudgetStep, MarkerSpellings, NeverRules, ProfileRules, ToolRule};

/// The key of the files by mode.
pub(super) const PROMPTS: &str = "prompts";

/// The keys of budgets by turns, and of what becomes of checkpoints by their age.
pub(super) const BUDGETS: &str = "budgets";
pub(super) const AGEING: &str = "ageing";

/// The rules as a profile states them.
pub(super) struct StatedRules {
    pub(super) keep: Option<Vec<String>>,
    pub(super) never: Option<Vec<String>>,
    pub(super) tools: BTreeMap<String, ToolRule>,
    pub(super) markers: MarkerSpellings,
    pub(super) prompts: BTreeMap<String, PathBuf>,
    pub(super) budgets: BTreeMap<String, BudgetStep>,
    pub(super) ageing: BTreeMap<String, AgeingStep>,
}

impl Config {
    /// The rules of a profile.
    pub(super) fn rules(
        &self,
        name: &str,
        figment: &Figment,
        stated: StatedRules,
    ) -> Result<ProfileRules, ConfigError> {
        let StatedRules { keep, never, tools, markers, prompts, budgets, ageing } = stated;
        let wrong = |path: &[&str], what: String| {
            let place = self.source_of(figment, path).unwrap_or_default();
            let what = format!("profile `{name}`: `{}`: {what}", path.join("."));
            ConfigProblem::new(place, what)
        };
        let keep = KeepRules::parse(&keep.unwrap_or_default())
            .map_err(|error| wrong(&["keep"], error.to_string()))?;
        let never = never.unwrap_or_default();
        if never.iter().any(|pattern| pattern.trim().is_empty()) {
            let what = "a pattern is empty; expected the name of a tool or a path, such as \
                        `migrations/*`";
            return Err(wrong(&["never"], what.to_owned()).into());
        }
        for (pattern, rule) in &tools {
            misfit(pattern, rule).map_or(Ok(()), |what| Err(wrong(&["tools", pattern], what)))?;
        }
        for (key, word) in markers.set() {
            if word.trim() != word || word.is_empty() || word.contains('\n') {
                let what = "expected the beginning of a line, without spaces around it";
                return Err(wrong(&["markers", key], what.to_owned()).into());
            }
        }
        let words = markers.words();
        let kinds = words.kinds();
        if let Some(pair) = kinds.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let what = format!("`{}` stands for two kinds of markers; expected one", pair[0].0);
            return Err(wrong(&["markers"], what).into());
        }
        let mut texts = BTreeMap::new();
        for (mode, file) in prompts {
            let key = format!("profile.{name}.{PROMPTS}.{mode}");
            let text = read_plain_text(&file, "a text for summaries", &key)?;
            texts.insert(mode, text.trim().to_owned());
        }
        let budgets = by_number(budgets).map_err(|name| {
            let what = "expected a number of messages that a person typed, such as `20`";
            wrong(&[BUDGETS, &name], what.to_owned())
        })?;
        let ageing = by_number(ageing).map_err(|name| {
            wrong(&[AGEING, &name], "expected an age in compressions, such as `3`".to_owned())
        })?;
        for (turn, step) in &budgets {
            if step.target.zip(step.soft).is_some_and(|(target, soft)| target > soft) {
                let what = "`target` is above `soft`; expected at most that";
                return Err(wrong(&[BUDGETS, &turn.to_string()], what.to_owned()).into());
            }
        }
        for ((_, before), (age, step)) in ageing.iter().zip(ageing.iter().skip(1)) {
            if step.level >= before.level {
                let what = "an older checkpoint is no more detailed; expected a lower `level` than \
                            that of the step before";
                return Err(wrong(&[AGEING, &age.to_string()], what.to_owned()).into());
            }
        }
        let never = NeverRules(never);
        Ok(ProfileRules { keep, never, tools, markers, prompts: texts, budgets, ageing })
    }
}

/// What is wrong with what is said of a tool.
fn misfit(pattern: &str, rule: &ToolRule) -> Option<String> {
    if pattern.trim().is_empty() {
        return Some("the name is empty; expected that of a tool, such as `web_*`".to_owned());
    }
    let mask = rule.mask.as_deref()?;
    if mask.trim().is_empty() {
        let what =
            "`mask` is empty; expected what stands in the place of a result, such as `[left out]`";
        return Some(what.to_owned());
    }
    if let Some(word) = unknown_placeholder(mask) {
        return Some(format!(
            "`mask` has `{word}`, which nothing fills in; expected `{{id}}`, `{{tokens}}` or `{{lines}}`"
        ));
    }
    let shortens = rule.digest.is_some() || rule.offload.is_some();
    let what = "`mask` stands in the place of a result; expected it without `digest` and `offload`";
    shortens.then(|| what.to_owned())
}

/// The first `{word}` of a mask that is not filled in.
fn unknown_placeholder(mask: &str) -> Option<&str> {
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase());
    let opened = mask.match_indices('{').filter_map(|(at, _)| {
        let word = mask[at + 1..].split_once('}')?.0;
        Some(word).filter(is_word).map(|word| &mask[at..at + word.len() + 2])
    });
    opened.into_iter().find(|word| !["{id}", "{tokens}", "{lines}"].contains(word))
}

/// Steps by the number that their key is.
///
/// # Errors
///
/// The key that is none.
fn by_number<T>(steps: BTreeMap<String, T>) -> Result<BTreeMap<u32, T>, String> {
    let number = |(name, step): (String, T)| match name.parse() {
        Ok(number) if u32::to_string(&number) == name => Ok((number, step)),
        _ => Err(name),
    };
    steps.into_iter().map(number).collect()
}
