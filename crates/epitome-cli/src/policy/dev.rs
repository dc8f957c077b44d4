//! `epitome policy dev`: a policy tried whenever it is saved, in the terminal and as a page.
//!
//! Invariant: one result feeds both. A policy that cannot be loaded is told, and watched all the same.

use std::path::PathBuf;
use std::sync::Arc;

use epitome::lua::FoundPolicy;
use epitome::{Config, ConfigSources, PolicyRef};
use epitome_page::PolicyTrial;

use super::choice::PolicyArgs;
use super::dev_page::DevPage;
use super::known_plays::KnownPlays;
use super::place::PROJECT;
use super::played::PlayableConversation;
use super::sample_conversation::{SAMPLES, SampleConversation};
use super::saves::PolicySaves;
use super::trial::TrialGround;
use super::trial_text::{show_end, show_turn};
use crate::fault::{self, CliError};
use crate::flags::{SummaryFlags, WindowFlags};

/// The conversation that is played where none is named.
const USUAL: &str = "agent";

/// Tries a policy whenever it is saved: its mistakes, its tests, and a conversation turn by turn, beside
/// what it extends and `none`
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome policy dev team session.jsonl --context-size 16384 --page"
)]
pub(crate) struct Args {
    #[command(flatten)]
    choice: PolicyArgs,
    /// The conversation: a client's recording, a request to a provider, or one that is made up: chat,
    /// agent, tight or marks [default: agent]
    recording: Option<PathBuf>,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    summary: SummaryFlags,
    /// Shows it as a page, too: prints an address of this machine to open in a browser
    #[arg(long, conflicts_with = "once")]
    page: bool,
    /// Tries it once, and ends with exit code 6 where something is wrong
    #[arg(long)]
    once: bool,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let conversation = args.conversation()?;
    let (_, policy) = args.policy()?;
    let known = Arc::new(KnownPlays::default());
    // Before it is tried, so that no change is missed.
    let saves = if args.once { None } else { Some(args.saves(&policy)?) };
    let page = if args.page { Some(DevPage::open()?) } else { None };
    if let Some(page) = &page {
        fault::note(&format!("the page: {}", page.url()));
    }
    loop {
        let tried = args.tried(&conversation, &known, saves.as_ref());
        let Some(saves) = &saves else {
            return match tried?.is_some_and(|trial| trial.wrong.is_empty()) {
                true => Ok(()),
                false => Err(CliError::found(format!("`{}` is not sound", policy.name()))),
            };
        };
        match tried {
            Ok(None) => {
                fault::note("it was saved again meanwhile, and is tried as it is now");
                continue;
            }
            Ok(Some(trial)) => {
                page.as_ref().inspect(|page| page.show(trial));
            }
            Err(_) if !saves.stays() => continue,
            Err(error) => {
                page.as_ref().inspect(|page| page.show_error(policy.name(), &error));
                error.report();
            }
        }
        fault::note(&format!(
            "waits until `{}` or its configuration is saved; Ctrl-C ends it",
            policy.name()
        ));
        if !saves.wait() {
            return Ok(());
        }
    }
}

impl Args {
    fn set(&self, sources: ConfigSources) -> ConfigSources {
        self.summary.set(self.window.set(sources))
    }

    fn conversation(&self) -> Result<PlayableConversation, CliError> {
        let named = self.recording.as_deref();
        let name = named.map_or(USUAL.into(), |path| path.to_string_lossy());
        match (SampleConversation::find(&name), named) {
            (_, Some(path)) if path.exists() => PlayableConversation::read(path),
            (Some(sample), _) => PlayableConversation::sample(&sample),
            (None, _) => {
                let names = SAMPLES.iter().map(|sample| sample.name).collect::<Vec<_>>();
                let names = names.join(", ");
                Err(CliError::unreadable(format!("{name}: no such file, and none of {names}")))
            }
        }
    }

    /// The policy that is meant, with the configuration as it is now.
    fn policy(&self) -> Result<(Config, PolicyRef), CliError> {
        let chosen = self.choice.find_with(|sources| self.set(sources))?;
        match <[PolicyRef; 1]>::try_from(chosen.policies) {
            Ok([policy]) => Ok((chosen.config, policy)),
            Err(all) => {
                let names = all.iter().map(|policy| format!("`{}`", policy.name()));
                let names = names.collect::<Vec<_>>().join(", ");
                let there = if names.is_empty() { "there is none yet".to_owned() } else { names };
                Err(CliError::usage(format!("name the policy to try: {there}")))
            }
        }
    }

    /// Watches the files of a policy and of those that it extends, and the configuration, which may say the
    /// half of it.
    fn saves(&self, policy: &PolicyRef) -> Result<PolicySaves, CliError> {
        let (config, _) = self.policy()?;
        let chain = config.profile_of_policy(policy.name());
        let chain = chain.map(|it| it.policies().iter().map(|one| one.found().clone()).collect());
        let chain: Vec<FoundPolicy> = chain.unwrap_or_else(|_| vec![policy.found().clone()]);
        let here = std::env::current_dir().ok().map(|here| here.join(PROJECT));
        let files = config.files().iter().cloned().chain(here).collect();
        PolicySaves::watch(&chain, files)
    }

    /// Tries the policy as it is now, and shows it; `None` where it is saved with other contents before
    /// that is done.
    fn tried(
        &self,
        conversation: &PlayableConversation,
        known: &Arc<KnownPlays>,
        saves: Option<&PolicySaves>,
    ) -> Result<Option<PolicyTrial>, CliError> {
        let newer = saves.map(PolicySaves::begin).unwrap_or_default();
        let (config, policy) = self.policy()?;
        let ground = TrialGround { choice: &self.choice, conversation, known, saves, newer };
        let trial = ground.tried(&config, &policy, &mut show_turn)?;
        trial.iter().try_for_each(show_end)?;
        Ok(trial)
    }
}
