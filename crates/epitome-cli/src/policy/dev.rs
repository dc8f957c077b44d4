//! `epitome policy dev`: a policy tried whenever it is saved.
//!
//! Invariant: what is shown is what the files said when it was begun; a policy that cannot be loaded
//! is told, and watched all the same. Nothing is recorded.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use anstyle::{AnsiColor, Style};
use epitome::lua::{FoundPolicy, PolicyWatch};
use epitome::{Config, ConfigSources, PolicyRef, Profile, WindowSetting};
use epitome_lab::ReplaySetup;

use super::check::checked;
use super::choice::PolicyArgs;
use super::decided::DecisionLines;
use super::played::{
    FinishedPlay, NONE, PinnedTexts, PlayableConversation, Tracers, share, watched,
};
use super::player::TestPlayer;
use super::sample_conversation::{SAMPLES, SampleConversation};
use super::test::own_tests;
use super::verdict::{faults, most_cost};
use super::watcher::Watcher;
use crate::clock::{now, since};
use crate::fault::{self, CliError};
use crate::files;
use crate::flags::{SummaryFlags, WindowFlags};
use crate::table::{Column, TextTable, left, right};
use crate::text::{counted, grouped, on_one_line};

/// What a policy without a base extends.
const BUILT_IN: &str = "default";

/// The conversation that is played where none is named.
const USUAL: &str = "agent";

const COLUMNS: [Column; 6] = [
    left("profile"),
    right("compressions"),
    right("cost"),
    right("largest"),
    right("facts kept"),
    right("lost"),
];

/// Tries a policy whenever it is saved: its mistakes, its tests, and a conversation turn by turn, beside
/// what it extends and `none`
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy dev team session.jsonl --context-size 16384")]
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
    /// Tries it once, and ends with exit code 6 where something is wrong
    #[arg(long)]
    once: bool,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let conversation = args.conversation()?;
    let (_, policy) = args.policy()?;
    let known = KnownPlays::default();
    let (tell, changes) = mpsc::channel();
    // Before it is tried, so that no change is missed.
    let _watch = match args.once {
        true => None,
        false => Some(args.watch(&policy, move || tell.send(()).unwrap_or_default())?),
    };
    loop {
        let sound = args.tried(&conversation, &known);
        if args.once {
            return match sound? {
                true => Ok(()),
                false => Err(CliError::found(format!("`{}` is not sound", policy.name()))),
            };
        }
        if let Err(error) = sound {
            error.report();
        }
        fault::note(&format!("waits until `{}` is saved; Ctrl-C ends it", policy.name()));
        if changes.recv().is_err() {
            return Ok(());
        }
        // What changed meanwhile is tried with it.
        while changes.try_recv().is_ok() {}
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

    /// Watches the files of a policy and of those that it extends.
    fn watch(
        &self,
        policy: &PolicyRef,
        changed: impl FnMut() + Send + 'static,
    ) -> Result<PolicyWatch, CliError> {
        let (config, _) = self.policy()?;
        let chain = config.profile_of_policy(policy.name());
        let chain = chain.map(|it| it.policies().iter().map(|one| one.found().clone()).collect());
        let chain: Vec<FoundPolicy> = chain.unwrap_or_else(|_| vec![policy.found().clone()]);
        PolicyWatch::files(&chain, changed).map_err(CliError::internal)
    }

    /// Tries the policy as it is now; whether nothing is wrong with it.
    fn tried(
        &self,
        conversation: &PlayableConversation,
        known: &KnownPlays,
    ) -> Result<bool, CliError> {
        let start = now();
        let (config, policy) = self.policy()?;
        let checked = checked(&config, &policy);
        let mut wrong = checked.problems;
        if checked.declared.is_none() {
            show(&wrong)?;
            return Ok(false);
        }
        let profile = config.profile_of_policy(policy.name())?;
        let parent = policy.extends().unwrap_or_else(|| BUILT_IN.to_owned());
        let player = TestPlayer {
            args: self.choice.clone(),
            policy: policy.name().to_owned(),
            folder: policy.folder().map(Into::into),
        };
        let names = [policy.name(), parent.as_str()];
        // The tests play conversations of their own meanwhile.
        let (tests, compared) = thread::scope(|scope| {
            let tests = scope.spawn(|| own_tests(&profile, policy.name(), player));
            let compared = Compared::play(&config, conversation, &profile, names, known);
            (tests.join(), compared)
        });
        let (tests, compared) = (tests.map_err(|_| ended())??, compared?);
        wrong.extend(tests.iter().filter_map(|test| test.failed()));
        let at = |fault: &String| format!("replay of {}, {fault}", conversation.name);
        wrong.extend(compared.faults.iter().map(at));
        compared.show(names)?;
        show(&wrong)?;
        let passed = tests.iter().filter(|test| test.failed().is_none()).count();
        let tests = format!("{passed} of {}", counted(tests.len() as u64, "test"));
        files::to_stdout(|out| {
            writeln!(out, "{tests} passed; tried in {:.2} s", since(start) / 1000.0)
        })?;
        Ok(wrong.is_empty())
    }
}

/// A thread of this program ended before its time.
fn ended() -> CliError {
    CliError::internal("a thread ended before its time")
}

/// Says what is wrong.
fn show(wrong: &[String]) -> Result<(), CliError> {
    let fail = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
    files::to_stdout(|out| {
        wrong.iter().try_for_each(|line| writeln!(out, "{fail}fail{fail:#}  {}", on_one_line(line)))
    })
}

/// What the conversation came to under other policies than the one that is tried: they seldom change.
#[derive(Default)]
struct KnownPlays(Mutex<Vec<KnownPlay>>);

struct KnownPlay {
    profile: Profile,
    window: WindowSetting,
    /// The hashes of its policies.
    contents: Vec<String>,
    play: Arc<FinishedPlay>,
}

impl KnownPlays {
    /// The conversation under a profile, played unless that is known.
    fn play(
        &self,
        conversation: &PlayableConversation,
        profile: Profile,
        window: WindowSetting,
    ) -> Result<Arc<FinishedPlay>, CliError> {
        let contents =
            profile.policies().into_iter().map(|policy| policy.content().unwrap_or_default());
        let contents: Vec<String> = contents.collect();
        let is_it = |one: &&KnownPlay| {
            one.profile == profile && one.window == window && one.contents == contents
        };
        if let Some(known) = self.known().iter().find(is_it) {
            return Ok(Arc::clone(&known.play));
        }
        let setup = ReplaySetup { profile, window, ..ReplaySetup::default() };
        let play = Arc::new(conversation.play(&setup, |_| Ok(true))?);
        let ReplaySetup { profile, .. } = setup;
        self.known().push(KnownPlay { profile, window, contents, play: Arc::clone(&play) });
        Ok(play)
    }

    fn known(&self) -> MutexGuard<'_, Vec<KnownPlay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A conversation under a policy, what it extends, and `none`, in the same window.
struct Compared {
    own: FinishedPlay,
    parent: Arc<FinishedPlay>,
    none: Arc<FinishedPlay>,
    faults: Vec<String>,
}

impl Compared {
    /// Plays it, and shows who decides what while the policy's own is played.
    fn play(
        config: &Config,
        conversation: &PlayableConversation,
        profile: &Profile,
        [policy, parent]: [&str; 2],
        known: &KnownPlays,
    ) -> Result<Self, CliError> {
        let (pinned, watcher) = (PinnedTexts::default(), Watcher::default());
        let tracers = Tracers(vec![Arc::new(pinned.clone()), Arc::new(watcher.clone())]);
        let setup = ReplaySetup { profile: profile.clone(), ..ReplaySetup::default() };
        let mut setup = watched(setup, tracers);
        if profile.window() == WindowSetting::Guessed {
            setup.window = conversation.tight(&setup)?;
        }
        let window = setup.window;
        let other = |name: &str| known.play(conversation, config.profile_of_policy(name)?, window);
        let mut lines = DecisionLines::new(policy);
        let (own, parent, none) = thread::scope(|scope| {
            let others = [parent, NONE].map(|name| scope.spawn(move || other(name)));
            let own = conversation.play(&setup, |turn| {
                lines.show(turn, &watcher.take())?;
                Ok(true)
            });
            let [parent, none] = others.map(|other| other.join().unwrap_or_else(|_| Err(ended())));
            (own, parent, none)
        });
        let (mut own, parent, none) = (own?, parent?, none?);
        own.outcome.cost = share(own.cost(), none.cost());
        let most = most_cost(&none, profile.cache_rule());
        let faults = faults(&own, most, &pinned.take(), conversation.stays);
        Ok(Self { own, parent, none, faults })
    }

    fn show(&self, [policy, parent]: [&str; 2]) -> Result<(), CliError> {
        let all = [(policy, &self.own), (parent, &*self.parent), (NONE, &*self.none)];
        let row = |(name, play): &(&str, &FinishedPlay)| {
            let cost = share(play.cost(), self.none.cost());
            let [kept, all] = play.facts();
            vec![
                (*name).to_owned(),
                play.outcome.compressions.to_string(),
                cost.map_or_else(String::new, |cost| format!("{cost:.2}")),
                grouped(play.outcome.largest),
                format!("{kept} of {all}"),
                play.figures.must_keep.lost.len().to_string(),
            ]
        };
        let mut rows: Vec<_> = all.iter().map(row).collect();
        rows.dedup();
        files::to_stdout(|out| {
            writeln!(out)?;
            TextTable::new(&COLUMNS).print(out, &rows)?;
            writeln!(out)
        })
    }
}
