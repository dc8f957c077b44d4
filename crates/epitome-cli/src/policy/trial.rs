//! A policy tried once: its mistakes, its tests, and a conversation beside what it extends and `none`.
//!
//! Invariant: what is told is what the files said when it was begun; a policy that cannot be loaded is
//! told, and nothing is played. Nothing is recorded. What is no longer what the files say is not told.

use std::sync::Arc;
use std::thread;

use epitome::{Config, PolicyRef, Profile, WindowSetting};
use epitome_lab::{ReplaySetup, ReplayTurn, ReplayWriters};
use epitome_page::{PlayRow, PolicyTrial, PromptChange, TrialTurn};

use super::check::checked;
use super::choice::PolicyArgs;
use super::decided::DecisionLines;
use super::known_plays::KnownPlays;
use super::played::{
    FinishedPlay, NONE, PinnedTexts, PlayableConversation, Tracers, share, watched,
};
use super::player::TestPlayer;
use super::saves::{NewerSave, PolicySaves};
use super::test::own_tests;
use super::verdict::{faults, most_cost};
use super::watcher::{Note, Watcher};
use crate::clock::{now, since};
use crate::fault::CliError;
use crate::spoken;

/// What a policy without a base extends.
const BUILT_IN: &str = "default";

/// What a policy is tried on, and how.
pub(super) struct TrialGround<'t> {
    pub(super) choice: &'t PolicyArgs,
    pub(super) conversation: &'t PlayableConversation,
    pub(super) known: &'t Arc<KnownPlays>,
    /// The saves of the policy, where it is tried again after each.
    pub(super) saves: Option<&'t PolicySaves>,
    /// Whether it was saved since this try was begun.
    pub(super) newer: NewerSave,
}

/// Is told of each turn as it was played.
pub(super) type EachTurn<'e> = dyn FnMut(&TrialTurn) -> Result<(), CliError> + 'e;

impl TrialGround<'_> {
    /// Tries a policy as it is now; `None` where it is saved with other contents before that is done.
    pub(super) fn tried(
        &self,
        config: &Config,
        policy: &PolicyRef,
        each: &mut EachTurn<'_>,
    ) -> Result<Option<PolicyTrial>, CliError> {
        let start = now();
        spoken::collect();
        let checked = checked(config, policy);
        let may_be_half = |saves: &&PolicySaves| checked.declared.is_none() || saves.is_begun();
        if self.saves.filter(may_be_half).is_some_and(|saves| !saves.stays()) {
            return Ok(None);
        }
        let mut trial = PolicyTrial {
            policy: policy.name().to_owned(),
            conversation: self.conversation.name.clone(),
            at: epitome::system_time(),
            wrong: checked.problems,
            ..PolicyTrial::default()
        };
        if checked.declared.is_some() {
            self.play(config, policy, &mut trial, each)?;
        }
        if self.newer.is_there() {
            return Ok(None);
        }
        trial.printed = spoken::collect();
        trial.seconds = since(start) / 1000.0;
        Ok(Some(trial))
    }

    fn play(
        &self,
        config: &Config,
        policy: &PolicyRef,
        trial: &mut PolicyTrial,
        each: &mut EachTurn<'_>,
    ) -> Result<(), CliError> {
        let profile = config.profile_of_policy(policy.name())?;
        let parent = policy.extends().unwrap_or_else(|| BUILT_IN.to_owned());
        let player = TestPlayer {
            args: self.choice.clone(),
            policy: policy.name().to_owned(),
            folder: policy.folder().map(Into::into),
            known: Arc::clone(self.known),
            newer: self.newer.clone(),
        };
        // The tests play conversations of their own meanwhile.
        let (tests, compared) = thread::scope(|scope| {
            let tests = scope.spawn(|| own_tests(&profile, policy.name(), player));
            let compared = self.compared(config, &profile, &parent, each);
            (tests.join(), compared)
        });
        let (tests, compared) = (tests.map_err(|_| ended())??, compared?);
        trial.wrong.extend(tests.iter().filter_map(|test| test.failed()));
        let at = |fault: &String| format!("replay of {}, {fault}", trial.conversation);
        let faults: Vec<_> = compared.faults.iter().map(at).collect();
        trial.wrong.extend(faults);
        trial.tests = tests.into_iter().map(Into::into).collect();
        (trial.plays, trial.turns) = (compared.rows, compared.turns);
        Ok(())
    }

    /// Plays the conversation under the policy's profile, what it extends and `none`, in the same
    /// window.
    fn compared(
        &self,
        config: &Config,
        profile: &Profile,
        parent: &str,
        each: &mut EachTurn<'_>,
    ) -> Result<ComparedPlays, CliError> {
        let (conversation, known) = (self.conversation, self.known);
        let (pinned, watcher) = (PinnedTexts::default(), Watcher::default());
        let tracers = Tracers(vec![Arc::new(pinned.clone()), Arc::new(watcher.clone())]);
        let extracts = Some(known.extracts(conversation, profile));
        let writers = ReplayWriters { extracts, ..ReplayWriters::default() };
        let setup = ReplaySetup { profile: profile.clone(), writers, ..ReplaySetup::default() };
        let mut setup = watched(setup, tracers);
        if profile.window() == WindowSetting::Guessed {
            setup.window = conversation.tight(&setup)?;
        }
        let window = setup.window;
        let other = |name: &str| known.play(conversation, config.profile_of_policy(name)?, window);
        let mut turns = TurnCollector::new(profile.name());
        let (own, parent_play, none) = thread::scope(|scope| {
            let others = [parent, NONE].map(|name| scope.spawn(move || other(name)));
            let own = conversation.play(&setup, |turn, prompt| {
                let told = turns.add(conversation, turn, &watcher.take(), prompt)?;
                told.map_or(Ok(()), &mut *each)?;
                Ok(!self.newer.is_there())
            });
            let [parent, none] = others.map(|other| other.join().unwrap_or_else(|_| Err(ended())));
            (own, parent, none)
        });
        let (mut own, parent_play, none) = (own?, parent_play?, none?);
        own.outcome.cost = share(own.cost(), none.cost());
        let most = most_cost(&none, profile.cache_rule());
        let faults = faults(&own, most, &pinned.take(), conversation.stays);
        let all = [(profile.name(), &own), (parent, &*parent_play), (NONE, &*none)];
        let mut rows: Vec<_> = all.map(|(name, play)| row(name, play, &none)).into();
        rows.dedup_by(|one, before| one.profile == before.profile);
        Ok(ComparedPlays { rows, turns: turns.turns, faults })
    }
}

/// What a conversation came to under several profiles.
struct ComparedPlays {
    rows: Vec<PlayRow>,
    turns: Vec<TrialTurn>,
    faults: Vec<String>,
}

fn row(profile: &str, play: &FinishedPlay, none: &FinishedPlay) -> PlayRow {
    let [kept, facts] = play.facts();
    let lost = play.figures.must_keep.lost.iter();
    PlayRow {
        profile: profile.to_owned(),
        compressions: play.outcome.compressions,
        cost: share(play.cost(), none.cost()),
        largest: play.outcome.largest,
        kept,
        facts,
        lost: lost.map(|fact| format!("{}: {}", fact.kind, fact.text)).collect(),
    }
}

/// The turns of which there is something to tell.
struct TurnCollector {
    decisions: DecisionLines,
    /// The prompt of the turn before.
    before: Vec<u8>,
    turns: Vec<TrialTurn>,
}

impl TurnCollector {
    fn new(policy: &str) -> Self {
        Self { decisions: DecisionLines::new(policy), before: Vec::new(), turns: Vec::new() }
    }

    /// Adds a turn, where there is something to tell of it.
    fn add(
        &mut self,
        conversation: &PlayableConversation,
        turn: &ReplayTurn,
        notes: &[Note],
        prompt: &[u8],
    ) -> Result<Option<&TrialTurn>, CliError> {
        let lines = self.decisions.lines(turn, notes);
        let before = std::mem::replace(&mut self.before, prompt.to_vec());
        let is_changed = turn.has_new_epoch() && !before.is_empty() && turn.refused.is_none();
        if lines.is_empty() && !is_changed {
            return Ok(None);
        }
        let change = match is_changed {
            true => Some(PromptChange {
                before: conversation.readable(&before)?,
                after: conversation.readable(prompt)?,
            }),
            false => None,
        };
        let &ReplayTurn { turn: number, tokens_raw, tokens_sent, .. } = turn;
        self.turns.push(TrialTurn { number, tokens_raw, tokens_sent, lines, change });
        Ok(self.turns.last())
    }
}

/// A thread of this program ended before its time.
fn ended() -> CliError {
    CliError::internal("a thread ended before its time")
}
