//! What a user types for a model: `ollama:llama3.2:3b`, `openai:NAME@URL`, `anthropic:NAME`.
//!
//! Invariant: what is displayed is read as the same again. Called by whoever reads flags and
//! configuration.

use std::fmt;
use std::str::FromStr;

use epitome_wire::Format;

/// How a model is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelApi {
    /// Ollama's own (`/api/chat`).
    Ollama,
    /// OpenAI's chat completions: OpenAI, vLLM, llama-server, LM Studio, OpenRouter.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// A model, as it is named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelSpec {
    /// How it is spoken to.
    pub api: ModelApi,
    /// Its name there.
    pub name: String,
    /// Where it is, unless where its API usually is.
    pub base: Option<String>,
}

/// What was typed names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model `{given}` {what}; expected `ollama:NAME`, `openai:NAME@URL` or `anthropic:NAME`, \
     for example `ollama:llama3.2:3b`"
)]
pub struct SpecError {
    given: String,
    what: &'static str,
}

impl ModelApi {
    /// Its name in a [`ModelSpec`].
    pub fn name(self) -> &'static str {
        match self {
            ModelApi::Ollama => "ollama",
            ModelApi::OpenAi => "openai",
            ModelApi::Anthropic => "anthropic",
        }
    }

    /// The format of its requests.
    pub fn format(self) -> Format {
        match self {
            ModelApi::Ollama => Format::Ollama,
            ModelApi::OpenAi => Format::OpenAi,
            ModelApi::Anthropic => Format::Anthropic,
        }
    }
}

impl FromStr for ModelSpec {
    type Err = SpecError;

    fn from_str(given: &str) -> Result<Self, SpecError> {
        let error = |what| SpecError { given: given.to_owned(), what };
        let (api, rest) = given.split_once(':').ok_or_else(|| error("names no API"))?;
        let api = [ModelApi::Ollama, ModelApi::OpenAi, ModelApi::Anthropic]
            .into_iter()
            .find(|known| known.name() == api)
            .ok_or_else(|| error("names an API that is not known"))?;
        // A name may hold an `@` (`model@v1`); what follows the last one is an address.
        let (name, base) = match rest.rsplit_once('@') {
            Some((name, base)) if base.starts_with("http://") || base.starts_with("https://") => {
                (name, Some(base.trim_end_matches('/').to_owned()))
            }
            _ => (rest, None),
        };
        if name.is_empty() {
            return Err(error("has no name"));
        }
        Ok(Self { api, name: name.to_owned(), base })
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.api.name(), self.name)?;
        self.base.iter().try_for_each(|base| write!(f, "@{base}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(given: &str, api: ModelApi, name: &str, base: Option<&str>) {
        let expected = ModelSpec { api, name: name.to_owned(), base: base.map(str::to_owned) };
        assert_eq!(given.parse(), Ok(expected));
    }

    #[test]
    fn a_name_says_how_and_where() {
        check("ollama:llama3.2:3b", ModelApi::Ollama, "llama3.2:3b", None);
        check("anthropic:claude-sonnet-4-5", ModelApi::Anthropic, "claude-sonnet-4-5", None);
        check("openai:gpt@2024", ModelApi::OpenAi, "gpt@2024", None);
        let local = "http://127.0.0.1:8080/v1";
        check("openai:qwen@http://127.0.0.1:8080/v1/", ModelApi::OpenAi, "qwen", Some(local));
    }

    #[track_caller]
    fn check_refused(given: &str, expected: &str) {
        let error = given.parse::<ModelSpec>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(error.ends_with("for example `ollama:llama3.2:3b`"), "{error}");
    }

    #[test]
    fn what_is_no_model_is_told() {
        check_refused("llama3", "the model `llama3` names no API; expected `ollama:NAME`");
        check_refused("llama:3b", "the model `llama:3b` names an API that is not known;");
        check_refused("openai:@http://x", "the model `openai:@http://x` has no name;");
    }

    proptest! {
        #[test]
        fn what_is_displayed_is_read_again(name in "[a-z0-9.:@/-]{1,20}", at in any::<bool>()) {
            let base = at.then(|| "https://host/v1".to_owned());
            let spec = ModelSpec { api: ModelApi::OpenAi, name, base };
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }
}
