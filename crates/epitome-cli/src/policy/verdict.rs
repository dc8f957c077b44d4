//! Whether a conversation went well under a policy.
//!
//! Invariant: shipped policies and those of others are judged alike, by what is promised of every
//! policy (RULES 17); each line names the turn and the cause.

use epitome::CachePrices;

use super::played::{FinishedPlay, PlayOutcome};
use crate::text::counted;

/// So many requests in a row may each be compressed: what a plan leaves must last for some turns.
const IN_A_ROW: usize = 3;

/// The share by which a conversation may cost more than under `none`, one rewrite aside.
const TOLERANCE: f64 = 0.05;

/// The most letters of a message that is named.
const SHOWN: usize = 60;

/// The most that a conversation may cost, by what it costs under `none`: a twentieth more, and one
/// rewrite of a whole prompt, which the window may force where the conversation grows in another way
/// than before.
pub(super) fn most_cost(none: &FinishedPlay, prices: CachePrices) -> f64 {
    none.cost() * (1.0 + TOLERANCE) + prices.write * none.outcome.limit as f64
}

/// What is wrong with a conversation that was played, a line each: `most` is what it may cost, `pinned`
/// what policies pinned in it, and `stays` what must be in the last prompt.
pub(super) fn faults(
    play: &FinishedPlay,
    most: f64,
    pinned: &[String],
    stays: &[&str],
) -> Vec<String> {
    let outcome = &play.outcome;
    let at = |(turn, what): &(usize, String)| format!("turn {turn}: {what}");
    let mut faults: Vec<_> = outcome.errors.iter().chain(&outcome.refused).map(at).collect();
    if outcome.oversized > 0 {
        let (over, all, limit) = (outcome.oversized, outcome.turns, outcome.limit);
        faults.push(format!("{over} of {all} prompts exceed the limit of {limit} tokens"));
    }
    faults.extend(thrash(outcome));
    faults.extend(dear(play, most));
    let last = outcome.turns;
    // What was pinned beyond the share that may be is not pinned, which is told as a bound.
    let pinned = pinned.iter().map(String::as_str).filter(|_| outcome.bounded.is_empty());
    let gone = |text: &&str| !play.says(text);
    faults.extend(pinned.filter(gone).map(|text| {
        format!("turn {last}: a message is pinned and no longer in the prompt: {}", short(text))
    }));
    faults.extend(
        stays.iter().copied().filter(gone).map(|text| {
            format!("turn {last}: the goal is no longer in the prompt: {}", short(text))
        }),
    );
    faults
}

/// The turn from which on every request is compressed again.
fn thrash(outcome: &PlayOutcome) -> Option<String> {
    let in_a_row = |turns: &&[usize]| turns[IN_A_ROW] - turns[0] == IN_A_ROW;
    let first = outcome.compressed.windows(IN_A_ROW + 1).find(in_a_row)?;
    let (turn, all) = (first[IN_A_ROW], counted(outcome.compressions as u64, "compression"));
    Some(format!(
        "turn {turn}: the {}th request in a row that is compressed, of {all} in {} turns: a plan must \
         leave room for the next turns, as `job.target` says",
        IN_A_ROW + 1,
        outcome.turns,
    ))
}

/// That a conversation costs more than it may.
fn dear(play: &FinishedPlay, most: f64) -> Option<String> {
    let (cost, outcome) = (outcome_cost(play)?, &play.outcome);
    let allowed = most / play.cost() * cost;
    (play.cost() > most).then(|| {
        format!(
            "turn {}: its prompts cost {cost:.2} times those of `none`, and {allowed:.2} is what they may \
             cost: each of {} has the provider read the prompt anew",
            outcome.turns,
            counted(outcome.compressions as u64, "compression"),
        )
    })
}

fn outcome_cost(play: &FinishedPlay) -> Option<f64> {
    play.outcome.cost.filter(|_| play.cost() > 0.0)
}

fn short(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("\"{short}{dots}\"")
}
