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
use epitome_page::TrialTest;
use serde::Serialize;

use super::choice::{PolicyArgs, none};
use super::known_plays::KnownPlays;
use super::played::{NONE, PinnedTexts, PlayOutcome, PlayableConversation, share, watched};
use super::player::TestPlayer;
use super::sample_conversation::SAMPLES;
use super::saves::NewerSave;
use super::verdict::{faults, most_cost};
use crate::fault::CliError;
use crate::files;
use crate::flags::WindowFlags;
use crate::journal;
use crate::text::{counted, grouped, on_one_line};

/// So many faults of a replay are named.
const FAULTS: usize = 3;

/// Runs the tests of policies, and plays conversations with each
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy test ollm")]
pub(crate) struct Args {
    #[command(flatten)]
    choice: PolicyArgs,
    /// The conversation that is played: a client's recording, or a request to a provider
    /// [default: a chat, two loops of an agent and a session with a goal, all made up]
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
    replays: Vec<TestedReplay>,
}

/// How a conversation went under a policy.
#[derive(Serialize)]
struct TestedReplay {
    #[serde(flatten)]
    outcome: PlayOutcome,
    /// How many of the facts that must be kept the last prompt holds, and how many there are.
    facts: [u32; 2],
    /// What is wrong with it, a line each.
    faults: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct One {
    file: String,
    line: Option<u32>,
    name: String,
    failure: Option<String>,
}

impl From<One> for TrialTest {
    fn from(test: One) -> Self {
        let place = test.place();
        Self { place, name: test.name, failure: test.failure }
    }
}

impl One {
    /// The file, and the line of it.
    fn place(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}", self.file)
    }

    /// What failed, in a line; `None` where nothing did.
    pub(super) fn failed(&self) -> Option<String> {
        let (what, place) = (self.failure.as_ref()?, self.place());
        let what = what.strip_prefix(&format!("{place}: ")).unwrap_or(what);
        Some(on_one_line(&format!("{place} {}: {what}", self.name)))
    }
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let chosen = args.choice.find_with(|sources| args.window.set(sources))?;
    let conversations = match &args.recording {
        Some(path) => vec![PlayableConversation::read(path)?],
        None => SAMPLES.iter().map(PlayableConversation::sample).collect::<Result<_, _>>()?,
    };
    let known = Arc::default();
    let mut all = Vec::new();
    for policy in &chosen.policies {
        let tested = args.test(&chosen.config, policy, &conversations, &known)?;
        if !args.json {
            args.show(&tested)?;
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
    /// How many tests failed; each replay is one.
    fn failed(&self) -> usize {
        let own = self.tests.iter().filter(|test| test.failure.is_some()).count();
        own + self.replays.iter().filter(|replay| !replay.faults.is_empty()).count()
    }

    /// What went well, then what did not, a line each.
    fn lines(&self) -> (Vec<String>, Vec<String>) {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for test in &self.tests {
            match test.failed() {
                Some(line) => bad.push(line),
                None => good.push(format!("{} {}", test.place(), test.name)),
            }
        }
        for TestedReplay { outcome, facts: [kept, facts], faults } in &self.replays {
            let PlayOutcome { conversation, turns, compressions, limit, cost, .. } = outcome;
            if faults.is_empty() {
                let turns = counted(*turns as u64, "turn");
                let compressions = counted(*compressions as u64, "compression");
                let limit = grouped(*limit);
                let cost = cost.map(|cost| format!(", cost {cost:.2}")).unwrap_or_default();
                good.push(format!(
                    "replay of {conversation}: {turns}, {compressions}, none over {limit} tokens{cost}, \
                     {kept} of {facts} facts kept"
                ));
            }
            let shown = faults.iter().take(FAULTS);
            bad.extend(shown.map(|it| on_one_line(&format!("replay of {conversation}, {it}"))));
            if let Some(more) = faults.len().checked_sub(FAULTS).filter(|more| *more > 0) {
                bad.push(format!("replay of {conversation}, and {more} more"));
            }
        }
        (good, bad)
    }
}

impl Args {
    fn test(
        &self,
        config: &Config,
        policy: &PolicyRef,
        conversations: &[PlayableConversation],
        known: &Arc<KnownPlays>,
    ) -> Result<Tested, CliError> {
        let profile = config.profile_of_policy(policy.name())?;
        profile.permitted()?;
        let player = TestPlayer {
            args: self.choice.clone(),
            policy: policy.name().to_owned(),
            folder: policy.folder().map(Into::into),
            known: Arc::clone(known),
            newer: NewerSave::default(),
        };
        let tests = own_tests(&profile, policy.name(), player)?;
        let replays = conversations.iter().map(|one| replayed(config, one, &profile, known));
        let replays = replays.collect::<Result<_, _>>()?;
        Ok(Tested { policy: policy.name().to_owned(), tests, replays })
    }

    fn show(&self, tested: &Tested) -> Result<(), CliError> {
        let style = |color: AnsiColor| Style::new().fg_color(Some(color.into())).bold();
        let (ok, fail) = (style(AnsiColor::Green), style(AnsiColor::Red));
        let (good, bad) = tested.lines();
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

/// How a conversation goes under a profile.
fn replayed(
    config: &Config,
    conversation: &PlayableConversation,
    profile: &Profile,
    known: &KnownPlays,
) -> Result<TestedReplay, CliError> {
    let pinned = PinnedTexts::default();
    let setup = ReplaySetup { profile: profile.clone(), ..ReplaySetup::default() };
    let mut setup = watched(setup, pinned.clone());
    if profile.window() == WindowSetting::Guessed {
        setup.window = conversation.tight(&setup)?;
    }
    let mut play = conversation.play(&setup, |_, _| Ok(true))?;
    let none = known.play(conversation, config.profile_of_policy(NONE)?, setup.window)?;
    play.outcome.cost = share(play.cost(), none.cost());
    let most = most_cost(&none, profile.cache_rule());
    let faults = faults(&play, most, &pinned.take(), conversation.stays);
    Ok(TestedReplay { facts: play.facts(), outcome: play.outcome, faults })
}

/// The tests that stand in the policy's folder.
pub(super) fn own_tests(
    profile: &Profile,
    name: &str,
    player: TestPlayer,
) -> Result<Vec<One>, CliError> {
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    let loaded = profile.load(&counter)?;
    let policy = loaded.lua().find(|one| one.name() == name);
    let player = Arc::new(player);
    let results = policy.map(|one| one.current().0.run_tests_with(player)).unwrap_or_default();
    let one = |TestResult { file, line, name, failure }| One { file, line, name, failure };
    Ok(results.into_iter().map(one).collect())
}
