//! The search for the deepest history of a request that any session holds, in as few rounds as can be.
//!
//! Invariant: what leads to a recorded history is recorded, so of the histories of one request those that
//! are held come before those that are not. Called by [`super::holder`], which asks the log.

use std::collections::BTreeMap;

use epitome_kernel::types::HistoryHash;

/// So many of the last histories are asked for first: a request mostly adds a message or two.
const NEAR: usize = 16;
/// Before these, one in so many.
const APART: usize = 32;

/// Which of the histories of a request are held, as far as was asked.
#[derive(Debug)]
pub(super) struct DepthSearch {
    /// The first that is of interest.
    from: usize,
    end: usize,
    /// How many are of interest, of those that are held.
    most: usize,
    /// By depth, the lines that hold it.
    told: BTreeMap<usize, Vec<String>>,
}

impl DepthSearch {
    /// The search for so many of the histories from one on. The empty history is everybody's and
    /// nobody's.
    pub(super) fn new(chains: &[HistoryHash], from: usize, most: usize) -> Self {
        let is_empty = |chain: &&HistoryHash| **chain == HistoryHash::default();
        let empty = chains.iter().take_while(is_empty).count();
        Self { from: from.max(empty), end: chains.len(), most, told: BTreeMap::new() }
    }

    /// Which are to be asked for next; none once all of interest is known.
    pub(super) fn next(&self) -> Vec<usize> {
        let Self { from, end, ref told, .. } = *self;
        if told.is_empty() {
            let near = end.saturating_sub(NEAR).max(from);
            return (from..near).step_by(APART).chain(near..end).collect();
        }
        let Some(low) = self.low() else { return Vec::new() };
        let high = told.range(low + 1..).next().map_or(end, |(&high, _)| high);
        if high - low > 1 {
            return (low + 1..high).step_by(((high - low - 1) / NEAR).max(1)).collect();
        }
        self.wanted(low).filter(|at| !told.contains_key(at)).collect()
    }

    /// Those of interest where this one is the deepest.
    fn wanted(&self, deepest: usize) -> std::ops::RangeInclusive<usize> {
        (deepest + 1).saturating_sub(self.most).max(self.from)..=deepest
    }

    /// Takes note of the lines that hold these.
    pub(super) fn told(&mut self, asked: Vec<usize>, lines: impl Iterator<Item = Vec<String>>) {
        self.told.extend(asked.into_iter().zip(lines));
    }

    /// The deepest that is held and those before it, each with its lines.
    pub(super) fn deepest(&self) -> impl Iterator<Item = (usize, &[String])> {
        let wanted = self.low().map(|low| self.wanted(low));
        let told = wanted.into_iter().flat_map(|wanted| self.told.range(wanted).rev());
        told.map(|(&at, lines)| (at, &lines[..]))
    }

    fn low(&self) -> Option<usize> {
        self.told.iter().rev().find(|(_, lines)| !lines.is_empty()).map(|(&at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Histories of which so many are held: how many rounds it takes, and what is found.
    #[track_caller]
    fn check(held: usize, of: usize, from: usize, rounds: usize) {
        let chains: Vec<_> =
            (0..of).map(|at| HistoryHash(u128::try_from(at + 1).unwrap().to_be_bytes())).collect();
        let mut search = DepthSearch::new(&chains, from, 4);
        let mut asked = 0;
        loop {
            let next = search.next();
            if next.is_empty() {
                break;
            }
            asked += 1;
            let holds = |&at: &usize| if at < held { vec![at.to_string()] } else { Vec::new() };
            let lines: Vec<_> = next.iter().map(holds).collect();
            search.told(next, lines.into_iter());
        }
        let found: Vec<_> = search.deepest().map(|(at, lines)| (at, lines.to_vec())).collect();
        let expected = (from..held).rev().take(4).map(|at| (at, vec![at.to_string()]));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{held} of {of} from {from}");
        assert!(asked <= rounds, "{asked} rounds for {held} of {of} from {from}");
    }

    #[test]
    fn a_history_that_goes_on_is_found_at_once() {
        for of in [1, 2, 5, 200, 2_000] {
            for new in 1..=of.min(12) {
                check(of - new, of, 0, 1);
            }
        }
    }

    #[test]
    fn any_other_is_found_in_a_few_rounds() {
        for held in 0..300 {
            check(held, 300, 0, 4);
            check(held.max(7), 300, 7, 4);
        }
        check(0, 0, 0, 0);
        check(3, 3, 3, 0);
    }

    #[test]
    fn the_empty_history_is_never_asked_for() {
        let search = DepthSearch::new(&[HistoryHash::default(); 3], 0, 4);
        assert_eq!(search.next(), Vec::<usize>::new());
    }
}
