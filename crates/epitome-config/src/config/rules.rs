//! The rules that a profile states itself, read and checked.
//!
//! Invariant: a rule that cannot be meant is an error that names its line. Called where profiles are
//! resolved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use epitome_extensions::toml_file::read_text;
use epitome_extract::KeepRules;
use figment::Figment;

use super::{Config, ConfigError, ConfigProblem};
use crate::profile::{MarkerSpellings, NeverRules, ProfileRules, ToolRule};

/// The key of the files by mode.
pub(super) const PROMPTS: &str = "prompts";

/// The rules as a profile states them.
pub(super) struct StatedRules {
    pub(super) keep: Option<Vec<String>>,
    pub(super) never: Option<Vec<String>>,
    pub(super) tools: BTreeMap<String, ToolRule>,
    pub(super) markers: MarkerSpellings,
    pub(super) prompts: BTreeMap<String, PathBuf>,
}

impl Config {
    /// The rules of a profile.
    pub(super) fn rules(
        &self,
        name: &str,
        figment: &Figment,
        stated: StatedRules,
    ) -> Result<ProfileRules, ConfigError> {
        let StatedRules { keep, never, tools, markers, prompts } = stated;
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
            if rule.mask.is_some() && (rule.digest.is_some() || rule.offload.is_some()) {
                let what = "`mask` stands in the place of a result; expected it without `digest` and \
                            `offload`";
                return Err(wrong(&["tools", pattern], what.to_owned()).into());
            }
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
            let text = read_text(&file, "a text for summaries", &key)?;
            texts.insert(mode, text.trim().to_owned());
        }
        Ok(ProfileRules { keep, never: NeverRules(never), tools, markers, prompts: texts })
    }
}
