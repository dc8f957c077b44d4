//! `epitome policy test`: a policy's own tests, then a conversation played with it.
//!
//! Invariant: nothing is recorded; exit code 6 where a test fails, a policy errs, or a prompt is
//! too large.

use std::path::PathBuf;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use epitome::{
    Config, Policy, PolicyRef, Profile, TestResult, TokenCounter, VocabularyCounter, WindowSetting,
};
use epitome_lab::ReplaySetup;
use serde::Serialize;

use super::choice::{PolicyArgs, none};
use super::played::{PlayOutcome, PlayableConversation};
use crate::fault::CliError;
use crate::files;
use crate::flags::WindowFlags;
use crate::journal;
use crate::text::{counted, grouped, on_one_line};

/// So many faults of a replay are named.
const FAULTS: usize = 3;

/// Runs the tests of policies, and plays a conversation with each
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy test ollm")]
pub(crate) struct Args {
    #[command(flatten)]
    choice: PolicyArgs,
    /// The conversation that is played: a client's recording, or a request to a provider
    /// [default: a made-up session]
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    #[command(flatten)]
    window: WindowFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
    /// Says nothing but what failed
    #[arg(short, long)]
    quiet: bool,
}

/// How the tests of a policy went.
#[derive(Serialize)]
struct Tested {
    policy: String,
    tests: Vec<One>,
    replay: PlayOutcome,
}

#[derive(Serialize)]
struct One {
    file: String,
    line: Option<u32>,
    name: String,
    failure: Option<String>,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let chosen = args.choice.find_with(|sources| args.window.set(sources))?;
    let conversation = PlayableConversation::read(args.recording.as_deref())?;
    let mut all = Vec::new();
    for policy in &chosen.policies {
        let tested = args.test(&chosen.config, policy, &conversation)?;
        if !args.json {
            args.show(&tested, &conversation.name)?;
        }
        all.push(tested);
    }
    if args.json {
        journal::json(&all)?;
    } else if all.is_empty() && !args.quiet {
        none();
    }
    let failed = all.iter().map(Tested::failed).sum::<usize>();
    match failed as u64 {
        0 => Ok(()),
        failed => Err(CliError::found(format!("{} failed", counted(failed, "test")))),
    }
}

impl Tested {
    /// How many tests failed; the replay is one.
    fn failed(&self) -> usize {
        let own = self.tests.iter().filter(|test| test.failure.is_some()).count();
        own + usize::from(!self.replay.faults().is_empty())
    }
}

impl Tested {
    /// What went well, then what did not, a line each.
    fn lines(&self, conversation: &str) -> (Vec<String>, Vec<String>) {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for test in &self.tests {
            let line = test.line.map(|line| format!(":{line}")).unwrap_or_default();
            let place = format!("{}{line}", test.file);
            match &test.failure {
                Some(what) => {
                    let what = what.strip_prefix(&format!("{place}: ")).unwrap_or(what);
                    bad.push(on_one_line(&format!("{place} {}: {what}", test.name)));
                }
                None => good.push(format!("{place} {}", test.name)),
            }
        }
        let faults = self.replay.faults();
        if faults.is_empty() {
            let PlayOutcome { turns, compressions, limit, .. } = &self.replay;
            let turns = counted(*turns as u64, "turn");
            let compressions = counted(*compressions as u64, "compression");
            let limit = grouped(*limit);
            good.push(format!(
                "replay of {conversation}: {turns}, {compressions}, none over {limit} tokens"
            ));
        }
        let shown = faults.iter().take(FAULTS);
        bad.extend(shown.map(|it| on_one_line(&format!("replay of {conversation}, {it}"))));
        if let Some(more) = faults.len().checked_sub(FAULTS).filter(|more| *more > 0) {
            bad.push(format!("replay of {conversation}, and {more} more"));
        }
        (good, bad)
    }
}

impl Args {
    fn test(
        &self,
        config: &Config,
        policy: &PolicyRef,
        conversation: &PlayableConversation,
    ) -> Result<Tested, CliError> {
        let profile = config.profile_of_policy(policy.name())?;
        profile.permitted()?;
        let tests = own_tests(&profile, policy.name())?;
        let mut setup = ReplaySetup { profile, ..ReplaySetup::default() };
        if setup.profile.window() == WindowSetting::Guessed {
            setup.window = conversation.tight(&setup)?;
        }
        let replay = conversation.play(&setup, |_| Ok(true))?;
        Ok(Tested { policy: policy.name().to_owned(), tests, replay })
    }

    fn show(&self, tested: &Tested, conversation: &str) -> Result<(), CliError> {
        let style = |color: AnsiColor| Style::new().fg_color(Some(color.into())).bold();
        let (ok, fail) = (style(AnsiColor::Green), style(AnsiColor::Red));
        let (good, bad) = tested.lines(conversation);
        files::to_stdout(|out| {
            if self.quiet && bad.is_empty() {
                return Ok(());
            }
            writeln!(out, "{}", tested.policy)?;
            for line in good.iter().filter(|_| !self.quiet) {
                writeln!(out, "  {ok}ok{ok:#}    {line}")?;
            }
            bad.iter().try_for_each(|line| writeln!(out, "  {fail}fail{fail:#}  {line}"))
        })
    }
}

/// The tests that stand in the policy's folder.
fn own_tests(profile: &Profile, name: &str) -> Result<Vec<One>, CliError> {
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    let loaded = profile.load(&counter)?;
    let policy = loaded.lua().find(|one| one.name() == name);
    let results = policy.map(|one| one.current().0.run_tests()).unwrap_or_default();
    let one = |TestResult { file, line, name, failure }| One { file, line, name, failure };
    Ok(results.into_iter().map(one).collect())
}
