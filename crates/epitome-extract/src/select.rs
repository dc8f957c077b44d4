//! Chooses the units that say most for their size.
//!
//! Invariant: the cost of what is chosen never exceeds the room, and equal input gives an equal
//! choice. Greedy maximum coverage with lazy re-evaluation: near-linear in the number of units, since
//! after some evaluations of each what is nearly the best is taken for it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::reader::Features;
use crate::tuning::SelectionWeights;
use crate::weigh::Weights;

/// So often each candidate is evaluated anew, on average, until what is nearly the best is taken for it.
/// Conversations of people and agents stay below 6; where few words come in random order, each choice
/// lowers the worth of all others.
const EVALUATIONS: usize = 8;

/// How near that is: this part of the worth that the next one had, and so much less each time that as many
/// evaluations were in vain again.
const NEARLY: f64 = 0.5;

/// A unit to choose from.
#[derive(Debug)]
pub(crate) struct UnitCandidate<'a> {
    /// What it mentions.
    pub(crate) features: &'a Features,
    /// Its size in the unit of the room.
    pub(crate) cost: u64,
    /// Multiplies what it mentions.
    pub(crate) factor: f64,
    /// Added to what it mentions.
    pub(crate) bonus: f64,
    /// Whether it goes on where the candidate before it ends.
    pub(crate) follows: bool,
    /// Whether it says nothing without the candidate before it.
    pub(crate) leans: bool,
    /// By how much a neighbour of it weighs more where it was chosen.
    pub(crate) near: f64,
    /// Which of two who talk says it, if one of them does.
    pub(crate) talker: Option<u8>,
}

/// The indices of the chosen candidates, ascending.
pub(crate) fn select(
    candidates: &[UnitCandidate<'_>],
    weights: &Weights,
    tuning: &SelectionWeights,
    room: u64,
) -> Vec<usize> {
    let mut selection = UnitSelection::new(candidates, weights, tuning);
    let mut left = room;
    let mut floors = floors(candidates, tuning, room);
    while let Some(bid) = selection.heap.peek().copied() {
        let candidate = &candidates[bid.index()];
        let others = (0..).zip(&floors).filter(|(one, _)| Some(*one) != candidate.talker);
        let held: u64 = others.map(|(_, floor)| floor).sum();
        let exceeds = candidate.cost + held > left;
        if selection.taken[bid.index()] || exceeds {
            selection.heap.pop();
            continue;
        }
        if selection.outbid(&bid) {
            continue;
        }
        if bid.score <= 0.0 {
            break;
        }
        left -= candidate.cost;
        if let Some(floor) = candidate.talker.and_then(|one| floors.get_mut(usize::from(one))) {
            *floor = floor.saturating_sub(candidate.cost);
        }
        selection.take(bid.index());
    }
    (0..candidates.len()).filter(|index| selection.taken[*index]).collect()
}

/// What of the room is held free for each of two who talk.
fn floors(candidates: &[UnitCandidate<'_>], tuning: &SelectionWeights, room: u64) -> [u64; 2] {
    let floor = (room as f64 * tuning.floor) as u64;
    let said = |talker: u8| {
        let own = candidates.iter().filter(|one| one.talker == Some(talker));
        own.map(|one| one.cost).sum::<u64>()
    };
    if floor == 0 { [0; 2] } else { [said(0).min(floor), said(1).min(floor)] }
}

/// What has been said so far, and what is offered next.
struct UnitSelection<'a> {
    candidates: &'a [UnitCandidate<'a>],
    tuning: &'a SelectionWeights,
    /// What each reference and word still adds.
    refs: Vec<f64>,
    words: Vec<f64>,
    /// Rises where a neighbour was taken.
    near: Vec<f64>,
    taken: Vec<bool>,
    round: u32,
    heap: BinaryHeap<Bid>,
    /// How often a candidate was evaluated anew.
    evaluated: usize,
}

impl<'a> UnitSelection<'a> {
    fn new(
        candidates: &'a [UnitCandidate<'a>],
        weights: &Weights,
        tuning: &'a SelectionWeights,
    ) -> Self {
        let mut out = Self {
            candidates,
            tuning,
            refs: weights.refs.clone(),
            words: weights.words.clone(),
            near: vec![1.0; candidates.len()],
            taken: vec![false; candidates.len()],
            round: 0,
            heap: BinaryHeap::with_capacity(candidates.len()),
            evaluated: 0,
        };
        (0..candidates.len())
            .filter(|index| !candidates[*index].leans)
            .for_each(|index| out.offer(index));
        out
    }

    fn offer(&mut self, index: usize) {
        let bid = Bid { score: self.score(index), index: index as u32, round: self.round };
        self.heap.push(bid);
    }

    fn score(&self, index: usize) -> f64 {
        let candidate = &self.candidates[index];
        let features = candidate.features;
        let refs: f64 = features.refs().iter().map(|id| self.refs[*id as usize]).sum();
        let words: f64 = features.words().iter().map(|id| self.words[*id as usize]).sum();
        let gain = (refs + words) * candidate.factor * self.near[index] + candidate.bonus;
        gain / (candidate.cost.max(1) as f64).powf(self.tuning.cost_power)
    }

    /// Whether the highest bid was made in an earlier round and is worth less by now than the next one; it
    /// is then offered at its present worth.
    fn outbid(&mut self, bid: &Bid) -> bool {
        if bid.round == self.round {
            return false;
        }
        let score = self.score(bid.index());
        let spent = self.evaluated / (EVALUATIONS * self.candidates.len());
        self.evaluated += 1;
        if let Some(mut highest) = self.heap.peek_mut() {
            *highest = Bid { score, round: self.round, ..*bid };
        }
        let part = NEARLY.powi(spent as i32);
        self.heap.peek().is_some_and(|next| next.score * part > score)
    }

    fn take(&mut self, index: usize) {
        self.taken[index] = true;
        self.round += 1;
        let features = self.candidates[index].features;
        features.refs().iter().for_each(|id| self.refs[*id as usize] *= self.tuning.repeat);
        features.words().iter().for_each(|id| self.words[*id as usize] *= self.tuning.word_repeat);
        let before = self.candidates[index].follows.then(|| index - 1);
        let after = self.candidates.get(index + 1).filter(|next| next.follows).map(|_| index + 1);
        for neighbour in [before, after].into_iter().flatten() {
            self.near[neighbour] = 1.0 + self.candidates[index].near;
            let supported = !self.candidates[neighbour].leans || self.taken[neighbour - 1];
            if !self.taken[neighbour] && supported {
                self.offer(neighbour);
            }
        }
    }
}

/// A candidate's worth at the time it was offered.
#[derive(Clone, Copy)]
struct Bid {
    score: f64,
    index: u32,
    round: u32,
}

impl Bid {
    /// The candidate, by its place.
    fn index(self) -> usize {
        self.index as usize
    }
}

impl Ord for Bid {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Bid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bid {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bid {}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(refs: &[u32]) -> Features {
        Features::from_refs(refs)
    }

    /// Candidates as (references, cost, leans); three references of equal weight.
    fn check(candidates: &[(&[u32], u64, bool)], room: u64, expected: &[usize]) {
        let found: Vec<Features> = candidates.iter().map(|(refs, ..)| features(refs)).collect();
        let candidates: Vec<UnitCandidate<'_>> = candidates
            .iter()
            .zip(&found)
            .map(|((_, cost, leans), features)| UnitCandidate {
                features,
                cost: *cost,
                factor: 1.0,
                bonus: 0.0,
                follows: *leans,
                leans: *leans,
                near: 0.0,
                talker: None,
            })
            .collect();
        let weights = Weights { refs: vec![1.0; 3], ..Weights::default() };
        assert_eq!(select(&candidates, &weights, &SelectionWeights::AGENT, room), expected);
    }

    #[test]
    fn what_is_new_beats_what_was_said() {
        check(&[(&[0, 1], 4, false), (&[0, 1], 4, false), (&[2], 4, false)], 8, &[0, 2]);
    }

    #[test]
    fn the_room_is_never_exceeded() {
        check(&[(&[0], 5, false), (&[1], 5, false), (&[2], 5, false)], 9, &[0]);
        check(&[(&[0], 5, false)], 4, &[]);
    }

    /// Where all share their words, each choice lowers the worth of all others.
    #[test]
    fn texts_of_few_words_are_not_evaluated_at_each_step() {
        let words =
            |at: u32| (0..8).map(|word| (at * 7 + word * word * 13) % 97).collect::<Vec<_>>();
        let found: Vec<Features> = (0..4000).map(|at| features(&words(at))).collect();
        let candidates = found.iter().map(|features| UnitCandidate {
            features,
            cost: 8,
            factor: 1.0,
            bonus: 0.0,
            follows: false,
            leans: false,
            near: 0.0,
            talker: None,
        });
        let candidates: Vec<_> = candidates.collect();
        let weights = Weights { refs: vec![1.0; 97], ..Weights::default() };
        let tuning = SelectionWeights { repeat: 0.97, ..SelectionWeights::AGENT };
        let mut selection = UnitSelection::new(&candidates, &weights, &tuning);
        let mut steps = 0_usize;
        while let Some(bid) = selection.heap.peek().copied() {
            steps += 1;
            if selection.taken[bid.index()] {
                selection.heap.pop();
            } else if !selection.outbid(&bid) {
                selection.take(bid.index());
            }
        }
        assert_eq!(selection.round, 4000);
        assert!(steps < 60 * 4000, "{steps} steps");
    }

    #[test]
    fn who_says_less_has_a_floor() {
        let found: Vec<Features> = (0..6).map(|id| features(&[id])).collect();
        let candidate = |(at, features)| UnitCandidate {
            features,
            cost: 4,
            factor: if at < 4 { 1.0 } else { 0.1 },
            bonus: 0.0,
            follows: false,
            leans: false,
            near: 0.0,
            talker: Some(u8::from(at >= 4)),
        };
        let candidates: Vec<_> = found.iter().enumerate().map(candidate).collect();
        let weights = Weights { refs: vec![1.0; 6], ..Weights::default() };
        let chosen = |floor: f64| {
            let tuning = SelectionWeights { floor, ..SelectionWeights::CHAT };
            select(&candidates, &weights, &tuning, 16)
        };
        assert_eq!(chosen(0.0), [0, 1, 2, 3]);
        assert_eq!(chosen(0.25), [0, 1, 2, 4]);
        assert_eq!(chosen(0.5), [0, 1, 4, 5]);
    }

    #[test]
    fn what_leans_comes_only_with_its_support() {
        check(&[(&[0], 9, false), (&[1, 2], 2, true)], 8, &[]);
        check(&[(&[0], 4, false), (&[1, 2], 2, true)], 8, &[0, 1]);
    }
}
