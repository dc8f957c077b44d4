//! The table `[proxy]`: what `serve` and `run` go by.
//!
//! Invariant: no file that may have come with a repository says any of it, since credentials go to
//! where it points (RULES 69). Read by hosts that serve.

use std::path::PathBuf;

use epitome_extensions::toml_file::BUILT_IN;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Config;

/// The table.
const TABLE: &str = "proxy";

/// What holds where nobody says anything.
pub(super) const DEFAULTS: &str = r#"
[proxy]
listen = "127.0.0.1:8787"
anthropic_upstream = "https://api.anthropic.com"
openai_upstream = "https://api.openai.com"
ollama_upstream = "http://127.0.0.1:11434"
shadow = false
"#;

/// The proxy, for `epitome serve` and `epitome run`. Said in one's own file, in variables and
/// flags; never in the file of a project, which could send credentials elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// Where `serve` listens.
    pub listen: String,
    /// Where requests to Anthropic's API go; with an empty text, nowhere. Each upstream has an
    /// address of its own, `/to/anthropic` here; at the bare address those serve that are said.
    pub anthropic_upstream: String,
    /// Where requests to OpenAI's API go, or to one that is compatible with it; with an empty text,
    /// nowhere.
    pub openai_upstream: String,
    /// Where requests to Ollama's API go; with an empty text, nowhere.
    pub ollama_upstream: String,
    /// Makes and figures prompts, and sends what came.
    pub shadow: bool,
    /// A folder for each request as it came and as it was sent. A path is relative to the file that
    /// names it.
    pub dump: Option<PathBuf>,
    /// A file with the tokens that clients must show where others reach the address. A path is
    /// relative to the file that names it.
    pub token_file: Option<PathBuf>,
    /// The folder that the clients of `serve` work in, for files with what left their prompts. A
    /// path is relative to the file that names it.
    pub workspace: Option<PathBuf>,
}

/// Keys of the table that hold paths.
pub(super) const PATHS: [&str; 3] = ["dump", "token_file", "workspace"];

impl Config {
    /// What `serve` and `run` go by.
    pub fn proxy(&self) -> &ProxyConfig {
        &self.settings.proxy
    }

    /// Whether the user says what a key of `[proxy]` is, be it the same as what is built in.
    pub fn says_of_proxy(&self, key: &str) -> bool {
        let source = self.source_of(&self.whole, &[TABLE, key]);
        source.is_some_and(|source| source != BUILT_IN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSources;

    #[test]
    fn where_requests_go_is_the_users_own_affair() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("epitome.toml");
        let text = "[proxy]\nopenai_upstream = 'https://elsewhere.example'\ndump = 'dumps'\n";
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&file)
            .and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes()))
            .unwrap();
        // A file that was found says nothing of it, one that was named does.
        let found = ConfigSources::default().project(folder.path()).unwrap();
        let error = Config::load(found).unwrap_err().to_string();
        assert!(error.contains("epitome.toml:1: `proxy` is not read from the file of a project"));
        let named = Config::load(ConfigSources::default().file(&file).unwrap()).unwrap();
        assert_eq!(named.proxy().openai_upstream, "https://elsewhere.example");
        assert_eq!(named.proxy().anthropic_upstream, "https://api.anthropic.com");
        let said = ["openai_upstream", "anthropic_upstream"].map(|key| named.says_of_proxy(key));
        assert_eq!(said, [true, false]);
        assert_eq!(named.proxy().dump, Some(folder.path().join("dumps")));
        let flags = ConfigSources::default().flag("--shadow", "proxy.shadow", true);
        let flags = flags.variable("EPITOME_PROXY__LISTEN", "127.0.0.1:9");
        let flags = Config::load(flags).unwrap();
        assert!(flags.says_of_proxy("listen") && !flags.says_of_proxy("ollama_upstream"));
        let values = flags.values("default").unwrap();
        let check = |key: &str, value: &str, source: &str| {
            let found = values.iter().find(|one| one.key == key).unwrap();
            assert_eq!((found.value.to_string().as_str(), found.source.as_str()), (value, source));
        };
        check("proxy.shadow", "true", "--shadow");
        check("proxy.listen", "\"127.0.0.1:9\"", "EPITOME_PROXY__LISTEN");
        check("proxy.ollama_upstream", "\"http://127.0.0.1:11434\"", "built-in");
    }
}
