//! What a summary is chosen from.
//!
//! Invariant: however large a conversation is, a bounded part of it is held as units and weighed at
//! once; of one that is no larger than that, everything that still holds is offered. Called once per
//! summary.

use std::borrow::Cow;
use std::hash::BuildHasher;

use epitome_kernel::SummaryJob;
use epitome_kernel::types::{Entry, Speaker, SummaryStyle};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::candidates::candidates;
use crate::cut::{of_slices, units};
use crate::select::select;
use crate::slice::{Slice, grouped, slices};
use crate::tuning::SelectionWeights;
use crate::unit::TextUnit;
use crate::weigh::weigh;
use crate::{spoken, supersede};

/// So many bytes of text are weighed against each other; what they are weighed by takes several times
/// that.
pub(crate) const HEAT: usize = 2 << 20;
/// What the heats choose together is so much more than the room, so that the best of all are among it.
const OFFERED: f64 = 1.25;
/// No heat chooses less than this, in the unit of the room, where the room is no smaller.
const LEAST: u64 = 1 << 15;

/// By which weights units are chosen.
pub(crate) type TuningFor<'t> = dyn Fn(&[TextUnit<'_>]) -> &'t SelectionWeights + 't;

/// What a summary is chosen from.
pub(crate) struct Offer<'a> {
    pub(crate) units: Vec<TextUnit<'a>>,
    /// The same as they were said, where they may be shortened and that matters.
    pub(crate) whole: Vec<TextUnit<'a>>,
    /// All units of the originals, where they are few and will be asked for.
    pub(crate) all: Option<Vec<TextUnit<'a>>>,
}

impl<'a> Offer<'a> {
    /// What there is to choose from: all that still holds, or of a conversation that is too large
    /// for that the best of each of its heats.
    pub(crate) fn of(tuning_for: &TuningFor<'_>, job: &SummaryJob<'a>) -> Self {
        let slices = slices(job.originals);
        let heats = grouped(&slices, HEAT);
        if let [all] = heats[..] {
            let all = of_slices(all);
            let places = live(&all, job);
            // Nobody searches what left: then there is no other use for them.
            let (units, all) = match job.passages {
                true => (places.iter().map(|place| all[*place].clone()).collect(), Some(all)),
                false => (at(&places, all), None),
            };
            return Self::new(units, all, job);
        }
        let stale = outdated_texts(job);
        let all: usize = slices.iter().map(Slice::bytes).sum();
        let best = |heat| {
            let most = share(heat, all, job.most);
            winners(tuning_for, heat, &stale, &SummaryJob { most, ..*job })
        };
        let best: Vec<TextUnit<'a>> = heats.into_iter().flat_map(best).collect();
        let units = at(&live(&best, job), best);
        Self::new(units, None, job)
    }

    fn new(units: Vec<TextUnit<'a>>, all: Option<Vec<TextUnit<'a>>>, job: &SummaryJob<'_>) -> Self {
        let whole = match job.passages && job.style == SummaryStyle::Brief {
            true => units.clone(),
            false => Vec::new(),
        };
        Self { units, whole, all }
    }
}

/// What a heat may choose of a room that all heats share by their size.
fn share(heat: &[Slice<'_>], all: usize, room: u64) -> u64 {
    let own: usize = heat.iter().map(Slice::bytes).sum();
    let share = room as f64 * OFFERED * own as f64 / all.max(1) as f64;
    (share as u64).max(LEAST).min(room)
}

/// What people said in the originals and something newer takes the place of.
fn outdated_texts<'a>(job: &SummaryJob<'a>) -> FxHashSet<(usize, Cow<'a, str>)> {
    let units = spoken::newest(job.originals);
    let stale = supersede::superseded(&units, &newer(job));
    let stale = units.into_iter().zip(stale).filter(|(_, stale)| *stale);
    stale.map(|(unit, _)| (unit.entry(), unit.text)).collect()
}

/// The units that stay in the prompt behind what is summed up.
fn newer<'a>(job: &SummaryJob<'a>) -> Vec<TextUnit<'a>> {
    let last = job.entries.last().map(|entry| entry.id);
    let newer: Vec<&Entry> =
        job.kept.iter().copied().filter(|entry| Some(entry.id) > last).collect();
    units(&newer)
}

/// The units of a heat that would be chosen if there were nothing else.
fn winners<'a>(
    tuning_for: &TuningFor<'_>,
    heat: &[Slice<'a>],
    stale: &FxHashSet<(usize, Cow<'a, str>)>,
    job: &SummaryJob<'_>,
) -> Vec<TextUnit<'a>> {
    let mut units = of_slices(heat);
    units.retain(|unit| !stale.contains(&(unit.entry(), unit.text.clone())));
    let units = at(&live(&units, job), units);
    let tuning = tuning_for(&units);
    let (features, weights, _) = weigh(&units, job.kept, tuning);
    let candidates = candidates(&units, &features, job, tuning);
    let chosen = select(&candidates, &weights, tuning, job.most);
    at(&chosen, units)
}

/// The places of the units that still hold: of equal ones the newest, a person's before anyone's,
/// and nothing that was said anew with another value.
fn live(units: &[TextUnit<'_>], job: &SummaryJob<'_>) -> Vec<usize> {
    let stale = supersede::superseded(units, &newer(job));
    // By hashes, for the texts together are as large as the conversation. Texts that share one and
    // are not equal stand under the next numbers.
    let mut best: FxHashMap<(u64, u32), usize> = FxHashMap::default();
    for (index, unit) in units.iter().enumerate() {
        let text = unit.told().to_lowercase();
        let (hash, mut number) = (FxBuildHasher.hash_one(&text), 0);
        let differs = |held: &usize| units[*held].told().to_lowercase() != text;
        while best.get(&(hash, number)).is_some_and(differs) {
            number += 1;
        }
        let held = best.entry((hash, number)).or_insert(index);
        if units[*held].speaker != Speaker::Human || unit.speaker == Speaker::Human {
            *held = index;
        }
    }
    let mut places: Vec<usize> =
        best.into_values().filter(|index| !stale[*index] && !units[*index].withheld).collect();
    places.sort_unstable();
    places
}

/// The units at these places, which are in order.
fn at<'a>(places: &[usize], all: Vec<TextUnit<'a>>) -> Vec<TextUnit<'a>> {
    let mut places = places.iter().peekable();
    let units = all.into_iter().enumerate();
    units.filter(|(place, _)| places.next_if_eq(&place).is_some()).map(|(_, unit)| unit).collect()
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    #[test]
    fn heats_share_a_room_by_their_size() {
        let text = "A line of words, one like the other.\n".repeat(40_000);
        let entries = chat().user(&text).assistant(&text).user(&text).assistant("Done.").entries();
        let slices = slices(&entries.iter().collect::<Vec<_>>());
        let all: usize = slices.iter().map(Slice::bytes).sum();
        let heats = grouped(&slices, HEAT);
        assert!(heats.len() > 2);
        let shares = |room| heats.iter().map(|heat| share(heat, all, room)).collect::<Vec<_>>();
        // Together they offer more than there is room for, and not much more.
        let offered: u64 = shares(1 << 20).iter().sum();
        assert!((1 << 20..=(1 << 20) * 5 / 4 + LEAST).contains(&offered), "{offered}");
        // Of a small room each may have all.
        assert!(shares(1000).iter().all(|share| *share == 1000));
    }
}
