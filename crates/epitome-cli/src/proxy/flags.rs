//! The flags of a proxy.
//!
//! Invariant: each stands for a key of the configuration.

use std::path::PathBuf;

use epitome::{Config, ConfigSources};

use crate::fault::CliError;
use crate::flags::{SummarizerFlags, WindowFlags};
use crate::settings::{self, ProfileFlags};
use crate::shell;

/// Where requests go, and how they are compressed.
#[derive(clap::Args)]
pub(crate) struct ProxyFlags {
    #[command(flatten)]
    upstreams: UpstreamFlags,
    /// Makes and figures prompts, and sends what came
    #[arg(long)]
    shadow: bool,
    /// Writes each request as it came and as it was sent into a folder
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// The folder that the client works in, for files with what leaves its prompt
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) profile: ProfileFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    summarizers: SummarizerFlags,
    /// The mode that policies are told of: developer, planning, whatever they know
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Counts tokens as this model does, whichever a request names
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Says nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Says more
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Where requests go.
#[derive(clap::Args)]
struct UpstreamFlags {
    /// Where requests to Anthropic's API go [default: as configured, or https://api.anthropic.com]
    #[arg(long, value_name = "URL")]
    anthropic_upstream: Option<String>,
    /// Where requests to OpenAI's API go, or to one that is compatible with it [default: as
    /// configured, or https://api.openai.com]
    #[arg(long, value_name = "URL")]
    openai_upstream: Option<String>,
    /// Where requests to Ollama's API go [default: as configured, or http://127.0.0.1:11434]
    #[arg(long, value_name = "URL")]
    ollama_upstream: Option<String>,
}

impl UpstreamFlags {
    /// Each with its flag and the key that it stands for.
    fn all(&self) -> [(&'static str, &'static str, Option<&str>); 3] {
        [
            (
                "--anthropic-upstream",
                "proxy.anthropic_upstream",
                self.anthropic_upstream.as_deref(),
            ),
            ("--openai-upstream", "proxy.openai_upstream", self.openai_upstream.as_deref()),
            ("--ollama-upstream", "proxy.ollama_upstream", self.ollama_upstream.as_deref()),
        ]
    }
}

impl ProxyFlags {
    /// The configuration with these flags, and with what `set` adds.
    pub(crate) fn config(
        &self,
        set: impl FnOnce(ConfigSources) -> ConfigSources,
    ) -> Result<Config, CliError> {
        let folders = [
            ("--dump", "proxy.dump", &self.dump),
            ("--workspace", "proxy.workspace", &self.workspace),
            ("--store", "store", &self.store),
        ];
        let config = self.profile.load(|sources| {
            let upstreams = self.upstreams.all().into_iter();
            let sources = upstreams.fold(sources, |sources, (flag, key, value)| match value {
                Some(value) => sources.flag(flag, key, value),
                None => sources,
            });
            let sources = folders.into_iter().fold(sources, |sources, (flag, key, value)| {
                settings::path(sources, flag, key, value.as_deref())
            });
            let sources = match self.shadow {
                true => sources.flag("--shadow", "proxy.shadow", true),
                false => sources,
            };
            let sources = self.summarizers.set(self.window.set(sources));
            let sources = settings::text(sources, "--mode", "mode", self.mode.as_deref());
            set(settings::text(sources, "--model", "model", self.model.as_deref()))
        })?;
        // What is wrong with the profile is said where the proxy starts.
        let profile = config.profile_in_use().ok();
        profile.iter().for_each(|profile| settings::tell_of_mode(profile, profile.mode()));
        Ok(config)
    }

    /// The flag that names an upstream, where it was given.
    pub(crate) fn upstream(&self, flag: &str) -> bool {
        self.upstreams.all().iter().any(|(known, _, value)| *known == flag && value.is_some())
    }

    /// What has to be added to another command so that it means the same store.
    pub(crate) fn flag(&self) -> String {
        shell::store_flag(self.store.as_deref())
    }
}
