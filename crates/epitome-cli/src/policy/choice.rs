//! Which policies a verb is about: one by its name or folder, or all that are not shipped.
//!
//! Invariant: a folder that is named is that policy and no other of its name.

use std::path::Path;

use epitome::{Config, ConfigError, ConfigSources, ExtensionOrigin, PolicyRef};

use crate::fault::{self, CliError};
use crate::settings::{self, ConfigFlags};

/// Which policies.
#[derive(Clone, clap::Args)]
pub(crate) struct PolicyArgs {
    /// A policy: its name, or its folder as `./team` [default: every one that is not shipped]
    #[arg(value_name = "NAME|PATH")]
    policy: Option<String>,
    #[command(flatten)]
    config: ConfigFlags,
}

/// The configuration, and the policies that are meant.
pub(super) struct ChosenPolicies {
    pub(super) config: Config,
    pub(super) policies: Vec<PolicyRef>,
}

impl PolicyArgs {
    /// The policies that are meant.
    pub(super) fn find(&self) -> Result<ChosenPolicies, CliError> {
        self.find_with(|sources| sources)
    }

    /// The same, with what `set` adds to the configuration.
    pub(super) fn find_with(
        &self,
        set: impl Fn(ConfigSources) -> ConfigSources,
    ) -> Result<ChosenPolicies, CliError> {
        let config = self.config.load(&set)?;
        settings::tell_untrusted(&config);
        let Some(named) = &self.policy else {
            let mut policies = config.policies();
            policies.retain(|policy| policy.origin() != ExtensionOrigin::Shipped);
            return Ok(ChosenPolicies { config, policies });
        };
        let path = Path::new(named);
        if path.components().count() < 2 && !named.contains(['/', '.']) {
            let policies = one(&config, named)?;
            return Ok(ChosenPolicies { config, policies });
        }
        let line = |what: &str| CliError::unreadable(format!("{named}: {what}"));
        let folder = path.canonicalize().map_err(|_| line("no such folder"))?;
        if !folder.join("policy.lua").is_file() {
            return Err(line("holds no `policy.lua`; expected the folder of a policy"));
        }
        let is_there = |policy: &&PolicyRef| {
            let known = policy.folder().and_then(|folder| folder.canonicalize().ok());
            known.is_some_and(|known| known == folder)
        };
        if let Some(known) = config.policies().iter().find(is_there) {
            return Ok(ChosenPolicies { policies: vec![known.clone()], config });
        }
        let config = self.config.load(|sources| set(sources).policy(&folder))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let policies = one(&config, &name)?;
        Ok(ChosenPolicies { config, policies })
    }
}

/// The policy of a name.
pub(super) fn one(config: &Config, name: &str) -> Result<Vec<PolicyRef>, CliError> {
    match config.policies().into_iter().find(|policy| policy.name() == name) {
        Some(policy) => Ok(vec![policy]),
        None => match config.profile_of_policy(name) {
            Err(ConfigError::Invalid(problems)) => {
                let what = problems.iter().map(|problem| problem.what.clone());
                Err(CliError::usage(what.collect::<Vec<_>>().join("; ")))
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err(CliError::usage(format!("there is no policy `{name}`"))),
        },
    }
}

/// Says that there is no policy to do anything with.
pub(super) fn none() {
    fault::note("there are no policies but the shipped ones; `epitome policy new NAME` makes one");
}
