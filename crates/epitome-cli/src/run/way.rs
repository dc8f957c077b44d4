//! How a client is started: what its process is told, and where its requests went until now.
//!
//! Invariant: pure; what is asked of the machine is asked of [`Surroundings`]. Made by the table of
//! clients and by those of them that take more than a row there, used by `run`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Stands in variables and arguments for the address of the proxy.
pub(super) const PROXY: &str = "{proxy}";

/// An API, and with it an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClientApi {
    Anthropic,
    OpenAi,
    Ollama,
}

/// What is asked of the machine, so that the table can be tested without one.
pub(super) trait Surroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// The text of a file.
    fn file(&self, path: &Path) -> Option<String>;
    /// The folder that the client will work in.
    fn folder(&self) -> &Path;

    /// A folder that a variable names, or that stands in the user's own.
    fn home(&self, variable: &str, usual: &str) -> PathBuf {
        let named = self.variable(variable).map(PathBuf::from);
        named
            .unwrap_or_else(|| PathBuf::from(self.variable("HOME").unwrap_or_default()).join(usual))
    }
}

/// How a client is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    /// Where its requests went until now, in place of what is configured: what says so, and the
    /// address.
    pub(super) upstreams: BTreeMap<ClientApi, (String, String)>,
    /// Variables of its process.
    pub(super) variables: Vec<(&'static str, String)>,
    /// Arguments before its own.
    pub(super) arguments: Vec<String>,
    /// Settings of its process, which are stronger than those in its files.
    pub(super) settings: Map<String, Value>,
    /// The status line that its files set, null where they set none; `None` where it is to stay as it
    /// is.
    pub(super) status_line: Option<Value>,
    /// More arguments, which give its agent the levers of its session beside all tools that it has.
    pub(super) mcp: Vec<String>,
    /// The window that it was told to compact in, in tokens, where that is known.
    pub(super) compacts_in: Option<u64>,
    /// Why the proxy would see nothing of it.
    pub(super) past: Option<String>,
}

/// The address that belongs to the upstream of an API.
pub(super) fn address(api: ClientApi) -> String {
    let name = match api {
        ClientApi::Anthropic => "anthropic",
        ClientApi::OpenAi => "openai",
        ClientApi::Ollama => "ollama",
    };
    format!("{PROXY}/to/{name}")
}

impl Way {
    /// Past the proxy, and why.
    pub(super) fn past(why: impl Into<String>) -> Self {
        Self { past: Some(why.into()), ..Self::default() }
    }

    /// The address that a client is given which goes on with paths like `/chat/completions`. An
    /// upstream whose own address ends in no version is spoken to without one.
    pub(super) fn versioned(&self, api: ClientApi) -> String {
        let plain = self.upstreams.get(&api).is_some_and(|(_, address)| {
            let address = address.trim_end_matches('/');
            !address.ends_with("/v1") && !is_bare(address)
        });
        let own = address(api);
        if plain { own } else { format!("{own}/v1") }
    }

    /// With what a variable says taken for an API's upstream.
    pub(super) fn known(&mut self, api: ClientApi, variable: &str, around: &dyn Surroundings) {
        let said = around.variable(variable).filter(|address| !address.trim().is_empty());
        if let Some(said) = said {
            let address = if api == ClientApi::Ollama { ollama(&said) } else { said };
            self.upstreams.entry(api).or_insert((variable.to_owned(), address));
        }
    }

    /// The variables by which all kinds of clients are told of an API.
    pub(super) fn told(&mut self, api: ClientApi, around: &dyn Surroundings) {
        let names: [&'static str; 2] = match api {
            ClientApi::Anthropic => ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"],
            ClientApi::OpenAi => ["OPENAI_BASE_URL", "OPENAI_API_BASE"],
            ClientApi::Ollama => ["OLLAMA_HOST", "OLLAMA_API_BASE"],
        };
        names.iter().for_each(|name| self.known(api, name, around));
        let address = match api {
            ClientApi::OpenAi => self.versioned(api),
            _ => address(api),
        };
        self.variables.extend(names.map(|name| (name, address.clone())));
    }
}

/// An address of Ollama, as its variable is read: a host, a port, both, or all of it. A server that
/// listens everywhere is reached on this machine.
fn ollama(said: &str) -> String {
    let (scheme, rest) = said.trim().split_once("://").unwrap_or(("http", said.trim()));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let name = if ["", "0.0.0.0", "[::]"].contains(&name) { "127.0.0.1" } else { name };
    let usual = match scheme {
        "https" => "443",
        _ if said.contains("://") => "80",
        _ => "11434",
    };
    let port = if port.is_empty() { usual } else { port };
    format!("{scheme}://{name}:{port}/{path}").trim_end_matches('/').to_owned()
}

/// Whether an address is a host without a path.
fn is_bare(address: &str) -> bool {
    address.split_once("://").is_none_or(|(_, rest)| !rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ollama_are_read_as_it_reads_them() {
        for (said, address) in [
            ("", "http://127.0.0.1:11434"),
            (":9", "http://127.0.0.1:9"),
            ("box", "http://box:11434"),
            ("box:9", "http://box:9"),
            ("http://box", "http://box:80"),
            ("https://box/x/", "https://box:443/x"),
            ("http://0.0.0.0:9", "http://127.0.0.1:9"),
        ] {
            assert_eq!(ollama(said), address, "{said}");
        }
    }
}
