//! The key `summarizers` of a profile: who writes its summaries.
//!
//! Invariant: no file that may have come with a repository says it, since conversations go to whom
//! it names (RULES 69). Read where profiles are resolved.

use figment::Figment;

use super::{Config, ConfigProblem};
use crate::models::SummarizerSpec;

/// The key.
pub(super) const KEY: &str = "summarizers";

impl Config {
    /// Whoever is named, in order.
    pub(super) fn scribes(
        &self,
        figment: &Figment,
        names: &[String],
    ) -> Result<Vec<SummarizerSpec>, ConfigProblem> {
        let place = || self.source(figment, KEY).unwrap_or_default();
        let mut scribes = Vec::new();
        for name in names {
            if scribes.last() == Some(&SummarizerSpec::Extractive) {
                let what = format!("`{name}` is never asked: `extractive` before it cannot fail");
                return Err(ConfigProblem::new(place(), what));
            }
            let scribe = name.parse().map_err(|error| {
                ConfigProblem::new(place(), format!("{error}; `extractive` asks no model"))
            })?;
            scribes.push(scribe);
        }
        Ok(scribes)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Config, ConfigSources};

    const PATH: &str = "epitome.toml";

    fn load(text: &str) -> Result<Vec<String>, String> {
        let sources = ConfigSources::default().text(Path::new(PATH), text);
        let config = Config::load(sources).map_err(|error| error.to_string())?;
        let profile = config.profile_in_use().map_err(|error| error.to_string())?;
        Ok(profile.summarizers().iter().map(ToString::to_string).collect())
    }

    #[track_caller]
    fn check(names: &str, expected: &[&str]) {
        assert_eq!(load(&format!("[profile.default]\nsummarizers = {names}\n")).unwrap(), expected);
    }

    #[track_caller]
    fn check_refused(names: &str, expected: &str) {
        let error = load(&format!("[profile.default]\nsummarizers = {names}\n")).unwrap_err();
        assert!(error.starts_with(&format!("{PATH}:2: {expected}")), "{error}");
    }

    #[test]
    fn whoever_writes_summaries_is_named_in_order() {
        assert_eq!(load("").unwrap(), ["extractive"]);
        check("['ollama:l', 'openai:q@http://h/v1']", &["ollama:l", "openai:q@http://h/v1"]);
        check("['ollama:l', 'extractive']", &["ollama:l", "extractive"]);
        check_refused("['extractive', 'ollama:l']", "`ollama:l` is never asked");
        check_refused("['llama']", "the model `llama` names no API");
    }

    /// RULES 21: "written by the model that talks unless the profile names another".
    #[test]
    fn in_ollm_the_model_that_talks_writes_them() {
        let of = |text: &str| {
            let config =
                Config::load(ConfigSources::default().text(Path::new(PATH), text)).unwrap();
            let profile = config.profile("ollm").unwrap();
            assert_eq!(profile.names_models(), text.contains("ollama:"));
            profile.summarizers().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(""), "talking extractive");
        assert_eq!(of("[profile.ollm]\nsummarizers = ['extractive']\n"), "extractive");
        assert_eq!(of("[profile.ollm]\nsummarizers = ['ollama:l']\n"), "ollama:l");
    }

    #[test]
    fn whom_conversations_go_to_is_the_users_own_affair() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(PATH);
        let text = "[profile.default]\nsummarizers = ['openai:q@https://elsewhere.example']\n";
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&file)
            .and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes()))
            .unwrap();
        let found = ConfigSources::default().project(folder.path()).unwrap();
        let error = Config::load(found).unwrap_err().to_string();
        assert!(error.contains("epitome.toml:2: `profile.default.summarizers` is not read"));
        let named = Config::load(ConfigSources::default().file(&file).unwrap()).unwrap();
        assert!(named.profile_in_use().unwrap().names_models());
        let flags = ConfigSources::default().flag_of_profile(
            "--summarizer",
            "summarizers",
            vec!["ollama:l".to_owned()],
        );
        assert!(Config::load(flags).unwrap().profile_in_use().unwrap().names_models());
    }
}
