//! Which plugins a verb is about: one by its name or folder, or all that are not shipped.
//!
//! Invariant: a folder that is named is that plugin and no other of its name.

use std::path::Path;

use epitome::{Config, ConfigError, ExtensionOrigin, PluginRef};

use crate::fault::{self, CliError};
use crate::settings::{self, ConfigFlags};

/// Which plugins.
#[derive(clap::Args)]
pub(crate) struct PluginArgs {
    /// A plugin: its name, or its folder as `./tickets` [default: every one that is not shipped]
    #[arg(value_name = "NAME|PATH")]
    plugin: Option<String>,
    #[command(flatten)]
    config: ConfigFlags,
}

/// A plugin that is there, or why it cannot be used.
pub(super) type PluginOrReason = (String, Result<PluginRef, ConfigError>);

/// The configuration, and the plugins that are meant.
pub(super) struct ChosenPlugins {
    pub(super) config: Config,
    pub(super) plugins: Vec<PluginOrReason>,
}

impl PluginArgs {
    /// The plugins that are meant.
    pub(super) fn find(&self) -> Result<ChosenPlugins, CliError> {
        let config = self.config.load(|sources| sources)?;
        settings::tell_untrusted(&config);
        let Some(named) = &self.plugin else {
            let is_own = |(_, found): &PluginOrReason| {
                found.as_ref().map_or(true, |plugin| plugin.origin() != ExtensionOrigin::Shipped)
            };
            let plugins = config.plugins().into_iter().filter(is_own).collect();
            return Ok(ChosenPlugins { config, plugins });
        };
        let path = Path::new(named);
        if path.components().count() < 2 && !named.contains(['/', '.']) {
            let plugins = one(&config, named)?;
            return Ok(ChosenPlugins { config, plugins });
        }
        let line = |what: &str| CliError::unreadable(format!("{named}: {what}"));
        let folder = path.canonicalize().map_err(|_| line("no such folder"))?;
        if !folder.join("plugin.toml").is_file() {
            return Err(line("holds no `plugin.toml`; expected the folder of a plugin"));
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let is_there = |(_, found): &PluginOrReason| {
            let known = found.as_ref().ok().and_then(PluginRef::folder);
            known.and_then(|known| known.canonicalize().ok()).is_some_and(|known| known == folder)
        };
        if let Some(known) = config.plugins().into_iter().find(is_there) {
            return Ok(ChosenPlugins { plugins: vec![known], config });
        }
        let config = self.config.load(|sources| sources.plugin(&folder))?;
        let plugins = one(&config, &name)?;
        Ok(ChosenPlugins { config, plugins })
    }
}

/// The plugin of a name.
fn one(config: &Config, name: &str) -> Result<Vec<PluginOrReason>, CliError> {
    match config.plugins().into_iter().find(|(known, _)| known == name) {
        Some(found) => Ok(vec![found]),
        None => match config.plugin(name) {
            Err(ConfigError::Invalid(problems)) => {
                let what = problems.iter().map(|problem| problem.what.clone());
                Err(CliError::usage(what.collect::<Vec<_>>().join("; ")))
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err(CliError::usage(format!("there is no plugin `{name}`"))),
        },
    }
}

/// Says that there is no plugin to do anything with.
pub(super) fn none() {
    fault::note("there are no plugins but the shipped ones; `epitome plugin new NAME` makes one");
}
