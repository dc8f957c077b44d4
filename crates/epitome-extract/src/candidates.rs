//! What units are worth and cost, each by itself, before any is chosen.
//!
//! Invariant: a candidate stands where its unit does, and only what a person typed and nothing else
//! states has a bonus. Called by [`crate::offer`] and [`crate::summary`].

use epitome_kernel::SummaryJob;
use epitome_kernel::types::{Entry, Part, Role, Speaker};

use crate::directive::{self, DirectiveStrength};
use crate::facts;
use crate::log_lines;
use crate::reader::Features;
use crate::select::UnitCandidate;
use crate::telling::{TellingFactors, talker};
use crate::tuning::SelectionWeights;
use crate::typed_text::TypedText;
use crate::unit::{TextUnit, UnitKind};

/// From so many plain words on a line says something of what it names.
pub(crate) const PLAIN: u16 = 2;

/// The candidates of units, whose features are `features`.
pub(crate) fn candidates<'a>(
    units: &[TextUnit<'_>],
    features: &'a [Features],
    job: &SummaryJob<'_>,
    tuning: &SelectionWeights,
) -> Vec<UnitCandidate<'a>> {
    let mut pieces = vec![0u32; job.entries.len()];
    units.iter().for_each(|unit| pieces[unit.entry()] += 1);
    // Of entries that no unit comes from nothing is asked.
    let asked = job.entries.iter().zip(&pieces);
    let typed: Vec<_> =
        asked.map(|(entry, pieces)| (*pieces > 0).then(|| TypedText::for_entry(entry))).collect();
    let stated = stated(job.kept);
    let opening = opening(job);
    let telling = TellingFactors::for_units(units, tuning.talk.as_ref());
    let mut out: Vec<UnitCandidate<'a>> = (0..units.len())
        .map(|index| {
            let unit = &units[index];
            let before = index
                .checked_sub(1)
                .map(|before| &units[before])
                .filter(|b| b.entry() == unit.entry());
            let said = unit.speaker == Speaker::Human
                && unit.kind == UnitKind::Sentence
                && typed[unit.entry()].as_ref().is_some_and(|typed| typed.holds(&unit.text))
                && !is_stated(&unit.text, &stated);
            UnitCandidate {
                features: &features[index],
                cost: job.measure.size(&unit.said()) + 1,
                factor: factor(&features[index], tuning) * telling.factor(index),
                bonus: match said {
                    true => {
                        bonus(unit, opening == Some(unit.entry()), pieces[unit.entry()], tuning)
                    }
                    false => 0.0,
                },
                follows: before.is_some(),
                near: telling.near(index),
                talker: talker(unit.speaker).filter(|_| unit.kind == UnitKind::Sentence),
                leans: unit.kind == UnitKind::Sentence
                    && before
                        .is_some_and(|b| b.kind == UnitKind::Sentence && b.text.ends_with(';')),
            }
        })
        .collect();
    log_lines::weigh(units, &mut out);
    out
}

/// Which of the entries is the first that a person says, of those summed up and those kept as they came;
/// `None` where that one is kept. A summary of a later part takes what its part begins with for a task.
fn opening(job: &SummaryJob<'_>) -> Option<usize> {
    let of_human = |entry: &Entry| entry.role == Role::User && entry.has_speaker(Speaker::Human);
    let first = job.entries.iter().position(|entry| of_human(entry))?;
    let is_before = |kept: &&Entry| of_human(kept) && kept.id < job.entries[first].id;
    (!job.kept.iter().any(is_before)).then_some(first)
}

/// What stands beside the summary that nobody typed, a line each: the state of the work among it.
fn stated(kept: &[&Entry]) -> Vec<String> {
    let of_harness = |part: &&Part| part.speaker == Speaker::Harness;
    let parts =
        kept.iter().filter(|entry| entry.role != Role::System).flat_map(|entry| &entry.parts);
    let texts = parts.filter(of_harness).filter_map(Part::text);
    texts.flat_map(str::lines).map(|line| format!(" {}", facts::plain(line))).collect()
}

/// Whether a line says a sentence in its own words, so that it need not be said again.
fn is_stated(sentence: &str, stated: &[String]) -> bool {
    if stated.is_empty() || directive::order(sentence) < DirectiveStrength::Plain {
        return false;
    }
    let words = format!(" {}", facts::plain(sentence));
    stated.iter().any(|line| line.contains(&words))
}

/// What a sentence that a person typed is worth beside what it mentions.
fn bonus(unit: &TextUnit<'_>, is_opening: bool, pieces: u32, tuning: &SelectionWeights) -> f64 {
    let share = |spread: f64| (spread / f64::from(pieces)).min(1.0);
    let spread = share(tuning.directive_spread);
    let strength = directive::order(&unit.text);
    let order = match strength {
        DirectiveStrength::Direct => tuning.direct,
        DirectiveStrength::Plain => tuning.directive * spread,
        DirectiveStrength::Faint => tuning.faint * spread,
        DirectiveStrength::Change | DirectiveStrength::No => 0.0,
    };
    // What was asked for to begin with, and what may be otherwise since.
    let is_task = is_opening || strength == DirectiveStrength::Change;
    let task = if is_task { tuning.opening * share(tuning.opening_spread) } else { 0.0 };
    order.max(task) + tuning.typed
}

fn factor(features: &Features, tuning: &SelectionWeights) -> f64 {
    match (features.plain, features.refs().len()) {
        (0..PLAIN, 0) => tuning.empty,
        (0..PLAIN, _) => tuning.bare,
        _ => 1.0,
    }
}
