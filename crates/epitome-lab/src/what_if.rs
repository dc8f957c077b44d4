//! One turn of a recording under two strategies: what was decided, and what would have been.
//!
//! Invariant: both sides are the same turn over the same records: the conversation is played up to it
//! under the first strategy, and neither side changes what is recorded there. Called by the command
//! line.

use std::sync::Arc;

use epitome::types::{Event, Role};
use epitome::{
    BudgetUnit, EffectAnswer, Error, Format, HookDecision, MemoryStore, RequestDocument, SizeGauge,
    ThreadSizes, TurnEffect, TurnError, TurnStep,
};
use serde::Serialize;

use crate::{Recording, Replay, ReplayError, ReplaySetup};

/// One turn under two strategies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIf {
    /// The turn, counted from 1.
    pub turn: usize,
    /// How many messages both prompts begin with, and how many both end with.
    pub alike: [usize; 2],
    /// The turn as it was played, and as it would have been.
    pub sides: [TurnUnder; 2],
}

/// A turn under one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnUnder {
    /// The profile.
    pub profile: String,
    /// Tokens of the request as it came.
    pub tokens_raw: u64,
    /// Tokens as it is sent; 0 where it cannot be.
    pub tokens_sent: u64,
    /// The limit it is held to, in tokens.
    pub limit: u64,
    /// What the policies decided, hook by hook.
    pub decisions: Vec<HookDecision>,
    /// What happened.
    pub events: Vec<Event>,
    /// The messages of the prompt.
    pub messages: Vec<PromptMessage>,
    /// `b3:` and the BLAKE3 hash of the bytes.
    pub prompt: Option<String>,
    /// Why nothing can be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromptMessage {
    /// Its role.
    pub role: Role,
    /// Its size in tokens.
    pub tokens: u64,
    /// What it says, as a person reads it.
    pub text: String,
}

impl WhatIf {
    /// Plays a recording up to a turn under `base`, and gives that turn under `base` and `other`; the
    /// last one where none is named.
    ///
    /// # Errors
    ///
    /// [`ReplayError::NoTurn`] where the recording has no such turn; otherwise as [`Replay`].
    pub async fn of(
        recording: &Recording,
        turn: Option<usize>,
        base: &ReplaySetup,
        other: &ReplaySetup,
    ) -> Result<Self, ReplayError> {
        let mut replay = Replay::new(recording, base, Arc::new(MemoryStore::new()), None)?;
        let last = replay.turns();
        let turn = turn.unwrap_or(last);
        if turn == 0 || turn > last {
            return Err(ReplayError::NoTurn { turn, last });
        }
        for _ in 1..turn {
            replay.step().await?;
        }
        let at = |source| ReplayError::Turn { turn, source };
        let played = TurnUnder::of(&replay, base).await.map_err(at)?;
        let tried = TurnUnder::of(&replay, other).await.map_err(at)?;
        let alike = alike(&played.messages, &tried.messages);
        Ok(Self { turn, alike, sides: [played, tried] })
    }
}

impl TurnUnder {
    /// The next turn of a replay under a setup.
    async fn of(replay: &Replay<'_>, setup: &ReplaySetup) -> Result<Self, Error> {
        let (Some(mut turn), format) = (replay.stepped(setup), replay.format()) else {
            return Err(Error::NothingSaid);
        };
        let stepped = turn.run(untouched).await;
        let decisions = turn.record().decisions().collect();
        let under = Self {
            profile: setup.profile.name().to_owned(),
            tokens_raw: 0,
            tokens_sent: 0,
            limit: 0,
            decisions,
            events: Vec::new(),
            messages: Vec::new(),
            prompt: None,
            refused: None,
        };
        let prompt = match stepped {
            Ok(TurnStep::Done(prompt)) => prompt,
            Ok(TurnStep::Waits(effect)) => {
                let refused = format!("nobody answered `{}`", effect.name);
                return Ok(Self { refused: Some(refused), ..under });
            }
            Err(TurnError::Turn(error)) => match *error {
                Error::CannotFit { budget, .. } => {
                    let (limit, refused) = (budget.most, Some(error.to_string()));
                    return Ok(Self { limit, refused, ..under });
                }
                error => return Err(error),
            },
            Err(error) => return Ok(Self { refused: Some(error.to_string()), ..under }),
        };
        let [tokens_raw, tokens_sent] = prompt.tokens;
        Ok(Self {
            tokens_raw,
            tokens_sent,
            limit: prompt.limit,
            messages: messages(&prompt.bytes, format, replay)?,
            prompt: Some(format!("b3:{}", blake3::hash(&prompt.bytes))),
            events: prompt.events,
            ..under
        })
    }
}

/// Everything is asked, and nothing outside is changed.
fn untouched(effect: &TurnEffect) -> Option<EffectAnswer> {
    Some(if effect.writes { EffectAnswer::Accept } else { EffectAnswer::Perform })
}

/// The messages of a prompt.
fn messages(
    prompt: &[u8],
    format: Format,
    replay: &Replay<'_>,
) -> Result<Vec<PromptMessage>, Error> {
    let document = RequestDocument::parse(prompt, format)?;
    let gauge = SizeGauge { counter: replay.counter(), unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(document.entries(), gauge, 0);
    let messages = document.entries().iter().map(|entry| PromptMessage {
        role: entry.role,
        tokens: sizes.entry(entry.id),
        text: entry.readable().into_owned(),
    });
    Ok(messages.collect())
}

/// How many messages two prompts begin with alike, and how many of the others they end with.
fn alike(one: &[PromptMessage], other: &[PromptMessage]) -> [usize; 2] {
    let first = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[first..], &other[first..]);
    let last = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other);
    [first, last.count()]
}

#[cfg(test)]
mod tests {
    use epitome::WindowSetting;
    use epitome::types::EventKind;
    use epitome_testkit::now;

    use super::*;

    fn recording() -> Recording {
        let mut messages = vec![r#"{"role":"user","content":"Never push to main."}"#.to_owned()];
        for number in 0..60 {
            let said = format!("Step {number} is done, and the file src/{number}.rs was written.");
            messages.push(format!(r#"{{"role":"assistant","content":"{said}"}}"#));
            messages.push(r#"{"role":"user","content":"Go on, one step at a time."}"#.to_owned());
        }
        Recording::read(format!("[{}]", messages.join(",")).as_bytes(), None, None).unwrap()
    }

    fn setup(limit: u64) -> ReplaySetup {
        let clock: epitome::Clock = Arc::new(|| "2026-01-02T03:04:05Z".to_owned());
        let (window, clock) = (WindowSetting::Limit(limit), Some(clock));
        ReplaySetup { window, clock, ..ReplaySetup::default() }
    }

    fn what_if(turn: Option<usize>, base: u64, other: u64) -> Result<WhatIf, ReplayError> {
        now(WhatIf::of(&recording(), turn, &setup(base), &setup(other)))
    }

    fn compressed(side: &TurnUnder) -> bool {
        side.events.iter().any(|event| matches!(event.what, EventKind::Compressed { .. }))
    }

    #[test]
    fn each_turn_is_the_one_that_is_played() {
        let (recording, setup) = (recording(), setup(700));
        let mut replay =
            Replay::new(&recording, &setup, Arc::new(MemoryStore::new()), None).unwrap();
        let mut compressions = 0;
        while let Some(played) = now(replay.step()).unwrap() {
            if played.turn % 7 != 0 && !played.has_new_epoch() {
                continue;
            }
            let what_if = what_if(Some(played.turn), 700, 700).unwrap();
            let [base, other] = &what_if.sides;
            assert_eq!(base, other);
            let seen = (base.tokens_raw, base.tokens_sent, base.limit, &base.prompt);
            let expected = (played.tokens_raw, played.tokens_sent, played.limit, &played.prompt);
            assert_eq!(seen, expected, "turn {}", played.turn);
            assert_eq!(compressed(base), played.has_new_epoch());
            assert_eq!(what_if.alike[0], base.messages.len());
            compressions += usize::from(compressed(base));
        }
        assert!(compressions > 1, "{compressions} compressions");
    }

    #[test]
    fn another_strategy_goes_on_from_the_same_records() {
        let what_if = what_if(None, 100_000, 700).unwrap();
        let [base, other] = &what_if.sides;
        assert_eq!(what_if.turn, 61);
        assert!(!compressed(base) && compressed(other));
        assert_eq!((base.tokens_sent, other.limit), (base.tokens_raw, 700));
        assert!(other.tokens_sent <= 700);
        let [first, last] = what_if.alike;
        assert!(first + last < other.messages.len());
        assert!(last > 0, "the newest messages stay");
        let trigger = |side: &TurnUnder| {
            side.decisions.iter().any(|one| one.hook == "trigger" && one.by.is_some())
        };
        assert!(trigger(other), "{:?}", other.decisions);
    }

    #[test]
    fn a_turn_that_is_not_there_is_said_so() {
        for turn in [0, 62] {
            let error = what_if(Some(turn), 700, 700).unwrap_err().to_string();
            assert_eq!(error, format!("there is no turn {turn}, the last one is 61"));
        }
    }
}
