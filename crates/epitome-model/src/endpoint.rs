//! Where a model is, and which key goes there.
//!
//! Invariant: a key goes to nobody but whom it is meant for: that of a provider to that provider or
//! to the address that the environment names beside it, and to any other address the one that the
//! user set for such (`EPITOME_API_KEY`). Keys are read from the environment only, and never
//! printed.

use std::fmt;

use crate::address;
use crate::spec::{ModelApi, ModelSpec};

/// Where a model is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelEndpoint {
    /// The model.
    pub spec: ModelSpec,
    /// The address that the paths of its API follow, without a slash at its end.
    pub base: String,
    key: Option<String>,
}

/// A model cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The provider wants a key, and there is none.
    #[error("`{model}` wants a key, and `{variable}` is not set; set it to your key")]
    NoKey {
        /// The model.
        model: String,
        /// The variable that would hold it.
        variable: &'static str,
    },
    /// An address cannot be used.
    #[error("`{address}` of `{from}` is no address; expected one such as `http://127.0.0.1:11434`")]
    Address {
        /// What was given.
        address: String,
        /// By what.
        from: String,
    },
}

/// The places of an API: its variables for the address and the key, and where it usually is.
struct Usual {
    address: &'static str,
    variable: &'static str,
    key: Option<&'static str>,
}

/// The key for addresses that no provider's variable is meant for.
const OTHER_KEY: &str = "EPITOME_API_KEY";
/// A provider of many models, with a key of its own.
const ROUTER: (&str, &str) = ("https://openrouter.ai/", "OPENROUTER_API_KEY");

fn usual(api: ModelApi) -> Usual {
    let (address, variable, key) = match api {
        ModelApi::Ollama => ("http://127.0.0.1:11434", "OLLAMA_HOST", None),
        ModelApi::OpenAi => {
            ("https://api.openai.com/v1", "OPENAI_BASE_URL", Some("OPENAI_API_KEY"))
        }
        ModelApi::Anthropic => {
            ("https://api.anthropic.com", "ANTHROPIC_BASE_URL", Some("ANTHROPIC_API_KEY"))
        }
    };
    Usual { address, variable, key }
}

impl ModelEndpoint {
    /// Where a model is, as itself and the environment say; `var` reads a variable.
    ///
    /// # Errors
    ///
    /// When an address is none, or a key is missing without which the provider answers nobody.
    pub fn of(
        spec: ModelSpec,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EndpointError> {
        let var = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        let Usual { address, variable, key } = usual(spec.api);
        let (base, key) = match (&spec.base, var(variable)) {
            (Some(base), _) => {
                let name = if base.starts_with(ROUTER.0) { ROUTER.1 } else { OTHER_KEY };
                let own = base == address;
                (base.clone(), if own { key.and_then(&var) } else { var(name) })
            }
            (None, Some(base)) => (full(spec.api, &base), key.and_then(&var)),
            (None, None) => match key.map(|key| (key, var(key))) {
                Some((variable, None)) => {
                    return Err(EndpointError::NoKey { model: spec.to_string(), variable });
                }
                known => (address.to_owned(), known.and_then(|(_, value)| value)),
            },
        };
        if address::has_host(&base) {
            Ok(Self { spec, base: base.trim_end_matches('/').to_owned(), key })
        } else {
            let from = if spec.base.is_some() { spec.to_string() } else { variable.to_owned() };
            Err(EndpointError::Address { address: base, from })
        }
    }

    /// The headers that say who asks.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.key.as_deref();
        match self.spec.api {
            ModelApi::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_owned());
                key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
            }
            ModelApi::OpenAi | ModelApi::Ollama => {
                key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
        }
    }

    /// Whether it is where its API usually is, and not a server that speaks like it.
    pub(crate) fn is_usual(&self) -> bool {
        self.base == usual(self.spec.api).address
    }

    /// The address of the server, without the path that the API begins with.
    pub(crate) fn root(&self) -> &str {
        self.base.strip_suffix("/v1").unwrap_or(&self.base)
    }
}

/// An address as Ollama reads it too: host and port may stand alone, and a server that listens to
/// everybody is asked on this machine.
fn full(api: ModelApi, given: &str) -> String {
    if api != ModelApi::Ollama {
        return given.to_owned();
    }
    let (scheme, rest) = given.split_once("://").unwrap_or(("http", given));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.replace("0.0.0.0", "127.0.0.1");
    let port = if host.contains(':') { "" } else { ":11434" };
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{host}{port}{slash}{path}")
}

impl fmt::Debug for ModelEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "…");
        f.debug_struct("ModelEndpoint")
            .field("spec", &self.spec)
            .field("base", &self.base)
            .field("key", &key)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: &str, set: &[(&str, &str)]) -> Result<ModelEndpoint, EndpointError> {
        let var = |name: &str| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        ModelEndpoint::of(spec.parse().unwrap(), var)
    }

    #[track_caller]
    fn check(spec: &str, set: &[(&str, &str)], base: &str, key: Option<&str>) {
        let endpoint = of(spec, set).unwrap();
        assert_eq!((&*endpoint.base, endpoint.key.as_deref()), (base, key), "{spec}");
    }

    const KEYS: &[(&str, &str)] =
        &[("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a"), ("OPENROUTER_API_KEY", "r")];

    #[test]
    fn a_key_goes_to_whom_it_is_meant_for() {
        check("openai:gpt-5", KEYS, "https://api.openai.com/v1", Some("o"));
        check("anthropic:c", KEYS, "https://api.anthropic.com", Some("a"));
        check("ollama:l", KEYS, "http://127.0.0.1:11434", None);
        check("openai:q@http://127.0.0.1:8080/v1", KEYS, "http://127.0.0.1:8080/v1", None);
        let router = "https://openrouter.ai/api/v1";
        check(&format!("openai:q@{router}"), KEYS, router, Some("r"));
        check("openai:q@https://else.example/v1", KEYS, "https://else.example/v1", None);
        let other = [("EPITOME_API_KEY", "e")];
        check("openai:q@https://else.example/v1", &other, "https://else.example/v1", Some("e"));
        let named = [("OPENAI_BASE_URL", "http://lan:1/v1/"), ("OPENAI_API_KEY", "o")];
        check("openai:q", &named, "http://lan:1/v1", Some("o"));
    }

    #[test]
    fn an_address_of_ollama_may_be_short() {
        let check =
            |host: &str, base: &str| check("ollama:l", &[("OLLAMA_HOST", host)], base, None);
        check("0.0.0.0", "http://127.0.0.1:11434");
        check("box:80", "http://box:80");
        check("https://box/api-root/", "https://box:11434/api-root");
        check("  ", "http://127.0.0.1:11434");
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = of("openai:gpt-5", &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "`openai:gpt-5` wants a key, and `OPENAI_API_KEY` is not set; set it to your key"
        );
        let error = of("openai:q", &[("OPENAI_BASE_URL", "localhost")]).unwrap_err().to_string();
        assert!(error.starts_with("`localhost` of `OPENAI_BASE_URL` is no address"), "{error}");
    }

    #[test]
    fn a_key_is_not_printed() {
        let shown = format!("{:?}", of("openai:gpt-5", &[("OPENAI_API_KEY", "secret")]).unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
