//! What each reference and word of a conversation is worth.
//!
//! Invariant: weights depend on the conversation alone, never on the order of a hash map. Called
//! once per summary, before the selection.

use epitome_kernel::types::{Entry, Part, PartBody, Role, Speaker};

use crate::keys;
use crate::reader::{FeatureReader, Features, FirstMention};
use crate::refs::RefKind;
use crate::tuning::SelectionWeights;
use crate::unit::{TextUnit, UnitKind};

/// Weights of everything that occurs in a list of units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights {
    /// Weight of each reference.
    pub(crate) refs: Vec<f64>,
    /// Weight of each word.
    pub(crate) words: Vec<f64>,
    /// Whether each reference is a fact (`MustKeepFacts`): a path, an error, or what came up again.
    pub(crate) facts: Vec<bool>,
}

/// What is known of one reference.
#[derive(Clone, Debug)]
struct ReferenceWeight {
    /// In how many entries it stands.
    entries: u32,
    last_entry: usize,
    /// Share of the conversation up to its last mention.
    last_at: f64,
    /// The fewest references that stand beside it in one entry.
    crowd: u32,
    by_model: bool,
    in_call: bool,
    by_human: bool,
    /// Whether it names a tool.
    tool: bool,
    /// Whether it stands only as the key of fields, never as a value.
    only_key: bool,
    /// The key of the field in which it stands.
    key: Option<u32>,
}

impl ReferenceWeight {
    fn is_fact(&self, reference: FirstMention) -> bool {
        match reference.kind {
            RefKind::Path | RefKind::File | RefKind::Error => true,
            RefKind::Ident | RefKind::Id => self.entries > 1,
            _ => false,
        }
    }

    /// Whether someone other than a tool mentioned it.
    fn came_back(&self) -> bool {
        self.by_model || self.in_call || self.by_human
    }
}

/// Reads units and the rest of the prompt, and weighs what the units mention. The reader knows them
/// all by number.
pub(crate) fn weigh(
    units: &[TextUnit<'_>],
    kept: &[&Entry],
    tuning: &SelectionWeights,
) -> (Vec<Features>, Weights, FeatureReader) {
    let mut reader = FeatureReader::default();
    let whole = tuning.words_of_references;
    let features: Vec<Features> =
        units.iter().map(|unit| reader.read(&unit.said(), unit.fields(), whole)).collect();
    let known = gather(units, &features, reader.references.len());
    let told = known.iter().flatten().filter_map(|known| Some((known.key?, known.came_back())));
    let keys = keys::values(&reader.key_names, told, tuning);
    let mut refs: Vec<f64> = known
        .iter()
        .zip(&reader.references)
        .map(|(known, reference)| {
            let Some(known) = known else { return 0.0 };
            weight(known, *reference, tuning) * known.key.map_or(1.0, |key| keys[key as usize])
        })
        .collect();
    let facts = known
        .iter()
        .zip(&reader.references)
        .map(|(known, reference)| known.as_ref().is_some_and(|known| known.is_fact(*reference)));
    let facts = facts.collect();
    let mut words = rarity(&features, reader.word_count(), tuning);
    discount(&mut reader, kept, &mut refs, &mut words, tuning);
    (features, Weights { refs, words, facts }, reader)
}

fn gather(
    units: &[TextUnit<'_>],
    features: &[Features],
    references: usize,
) -> Vec<Option<ReferenceWeight>> {
    let mut crowds = vec![0; units.last().map_or(0, |unit| unit.entry() + 1)];
    for (unit, found) in units.iter().zip(features) {
        crowds[unit.entry()] += found.refs().len() as u32;
    }
    let total: usize = units.iter().map(|unit| unit.text.len()).sum::<usize>().max(1);
    let mut read = 0;
    let mut known: Vec<Option<ReferenceWeight>> = vec![None; references];
    for (unit, found) in units.iter().zip(features) {
        read += unit.text.len();
        for (place, (id, key)) in found.keyed_refs().enumerate() {
            let fact = known[id as usize].get_or_insert(ReferenceWeight {
                entries: 0,
                last_entry: usize::MAX,
                last_at: 0.0,
                crowd: u32::MAX,
                by_model: false,
                in_call: false,
                by_human: false,
                tool: false,
                only_key: true,
                key: None,
            });
            if fact.last_entry != unit.entry() {
                fact.entries += 1;
                fact.last_entry = unit.entry();
            }
            let named = unit.fields().is_empty() || key.is_some();
            fact.last_at = read as f64 / total as f64;
            fact.crowd = fact.crowd.min(crowds[unit.entry()]);
            fact.by_model |= unit.speaker == Speaker::Model;
            fact.in_call |= unit.kind == UnitKind::Call;
            fact.by_human |= unit.speaker == Speaker::Human;
            fact.tool |= unit.kind == UnitKind::Call && place == 0 && !named;
            fact.only_key &= !named;
            fact.key = fact.key.or(key);
        }
    }
    known
}

fn weight(known: &ReferenceWeight, reference: FirstMention, tuning: &SelectionWeights) -> f64 {
    if known.tool {
        return 0.0; // the tool's schema names it
    }
    let factors = [
        (reference.kind == RefKind::Number, tuning.number),
        (reference.kind == RefKind::Name, tuning.name),
        (!matches!(reference.kind, RefKind::Number | RefKind::Name), tuning.reference),
        (reference.date, tuning.date),
        (known.only_key, tuning.as_key),
        (known.by_model, tuning.by_model),
        (known.in_call, tuning.in_call),
        (known.by_human, tuning.by_human),
    ];
    let factor: f64 =
        factors.iter().filter(|(holds, _)| *holds).map(|(_, factor)| factor).product();
    let recency = ((known.last_at - 1.0) / tuning.recency_share).exp();
    factor
        * (1.0 + tuning.mentions * f64::from(known.entries).ln())
        * (1.0 + tuning.recency * recency)
        * f64::from(known.crowd.max(1)).powf(-tuning.crowd)
}

fn rarity(features: &[Features], words: usize, tuning: &SelectionWeights) -> Vec<f64> {
    let mut counts = vec![0u32; words];
    features.iter().flat_map(Features::words).for_each(|id| counts[*id as usize] += 1);
    let all = features.len() as f64;
    counts.iter().map(|count| tuning.word * (1.0 + all / (1.0 + f64::from(*count))).ln()).collect()
}

/// What the rest of the prompt says already is worth little. The system prompt's plain words do
/// not count: they are about everything.
fn discount(
    reader: &mut FeatureReader,
    kept: &[&Entry],
    refs: &mut [f64],
    words: &mut [f64],
    tuning: &SelectionWeights,
) {
    let (mut ref_kept, mut word_kept) = (vec![false; refs.len()], vec![false; words.len()]);
    for entry in kept {
        for text in entry.parts.iter().filter_map(readable) {
            let found = reader.read(&text, &[], tuning.words_of_references);
            mark(found.refs(), &mut ref_kept);
            if entry.role != Role::System {
                mark(found.words(), &mut word_kept);
            }
        }
    }
    lower(refs, &ref_kept, tuning);
    lower(words, &word_kept, tuning);
}

/// What is said already is worth little.
fn lower(weights: &mut [f64], said: &[bool], tuning: &SelectionWeights) {
    let said = weights.iter_mut().zip(said).filter(|(_, said)| **said);
    said.for_each(|(weight, _)| *weight *= tuning.kept);
}

impl Weights {
    /// What something mentions weighs, by itself.
    pub(crate) fn of(&self, found: &Features) -> f64 {
        let sum = |weights: &[f64], ids: &[u32]| -> f64 {
            ids.iter().filter_map(|id| weights.get(*id as usize)).sum()
        };
        sum(&self.refs, found.refs()) + sum(&self.words, found.words())
    }

    /// The references that something mentions.
    pub(crate) fn told<'f>(&self, found: impl Iterator<Item = &'f Features>) -> Vec<bool> {
        let mut told = vec![false; self.refs.len()];
        found.for_each(|found| mark(found.refs(), &mut told));
        told
    }

    /// The references of these that matter: facts, and what weighs no less than their mean.
    pub(crate) fn matter<'f>(&self, found: impl Iterator<Item = &'f Features>) -> Vec<bool> {
        let there = self.told(found);
        let weights: Vec<f64> = self
            .refs
            .iter()
            .zip(&there)
            .filter(|(_, there)| **there)
            .map(|(weight, _)| *weight)
            .collect();
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        let matters = |id: usize| there[id] && (self.facts[id] || self.refs[id] >= mean);
        (0..there.len()).map(matters).collect()
    }

    /// The weights beside what tells of these references.
    pub(crate) fn beside(&self, told: &[bool], tuning: &SelectionWeights) -> Self {
        let mut beside = self.clone();
        lower(&mut beside.refs, told, tuning);
        beside
    }
}

fn mark(ids: &[u32], kept: &mut [bool]) {
    for id in ids {
        if let Some(kept) = kept.get_mut(*id as usize) {
            *kept = true;
        }
    }
}

fn readable(part: &Part) -> Option<std::borrow::Cow<'_, str>> {
    match &part.body {
        PartBody::Call(call) => Some(format!("{} {}", call.tool, call.arguments).into()),
        _ => part.text().map(Into::into),
    }
}
