//! From a job to a summary: cut, weigh, choose, write down.
//!
//! Invariant: the text is never larger than the job allows. The kernel calls it through the port.

use std::ptr;

use epitome_kernel::types::{
    Entry, EntryId, Part, PartBody, Role, Speaker, Summary, SummaryKind, SummaryStyle,
};
use epitome_kernel::{Summarizer, SummaryError, SummaryJob};
use rustc_hash::FxHashSet;

use crate::directive::{self, DirectiveStrength};
use crate::offer::{Offer, heat};
use crate::reader::Features;
use crate::select::{UnitCandidate, select};
use crate::slice::{grouped, slices};
use crate::tuning::SelectionWeights;
use crate::unit::{TextUnit, UnitKind, of_slices, units};
use crate::weigh::{Weights, weigh};
use crate::{facts, passages, render, shorten_prose, spoken, supersede};

/// How often the units are chosen anew with a corrected room.
const ATTEMPTS: usize = 8;
/// What exceeds the room gives way by at least this part of it, so that the choice changes.
const STEP: u64 = 64;
/// From so many plain words on a line says something of what it names.
const PLAIN: usize = 2;
/// What a unit is worth beside all that it mentions where nothing else tells of it.
const NEEDED: f64 = 1e3;

/// The extractive summariser: deterministic, needs no model.
#[derive(Clone, Debug)]
pub struct ExtractiveSummarizer {
    /// Weights for conversations with tools.
    pub agent: SelectionWeights,
    /// Weights for conversations without.
    pub chat: SelectionWeights,
}

impl Default for ExtractiveSummarizer {
    fn default() -> Self {
        Self { agent: SelectionWeights::AGENT, chat: SelectionWeights::CHAT }
    }
}

impl ExtractiveSummarizer {
    /// Summarises a job without a runtime.
    ///
    /// # Errors
    ///
    /// When not even the smallest unit fits.
    pub fn extract(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        let Offer { mut units, whole, all } = Offer::of(self, job);
        if job.style == SummaryStyle::Brief {
            shorten(&mut units);
        }
        let chat = is_chat(&units, job);
        let tuning = if chat { &self.chat } else { &self.agent };
        let (features, weights, _) = weigh(&units, job.kept, tuning);
        let candidates = candidates(&units, &features, job, tuning);
        let Some((chosen, text)) = fill(&units, &candidates, &weights, tuning, job) else {
            let least = candidates.iter().map(|candidate| candidate.cost).min().unwrap_or(1);
            return Err(SummaryError::TooSmall { most: job.most, least });
        };
        let mut left = Vec::new();
        if job.passages {
            let whole = if whole.is_empty() { &units } else { &whole };
            let chosen = chosen.iter().map(|index| whole[*index].text.to_lowercase());
            let chosen: FxHashSet<String> = chosen.collect();
            let mut leave = |sent: &[TextUnit<'_>]| {
                let said: Vec<bool> =
                    sent.iter().map(|unit| chosen.contains(&unit.text.to_lowercase())).collect();
                left.extend(passages::left(job.entries, sent, &said, chat));
            };
            match all {
                Some(all) => leave(&sent(job, all)),
                None => {
                    let slices = slices(job.entries);
                    grouped(&slices, heat(job)).into_iter().for_each(|it| leave(&of_slices(it)));
                }
            }
        }
        Ok(Summary { text, left, model: None })
    }

    /// A summary that somebody else wrote of the entries, with what the extractor says beside it
    /// under `opening`, so that all tells of every order, fact and weighty name that an extract of
    /// the same size would. What of the summary tells least for its size leaves where there is no
    /// room for that; `None` where nothing of it can stay.
    #[must_use]
    pub fn completed(&self, job: &SummaryJob<'_>, text: &str, opening: &str) -> Option<String> {
        let units = Offer::of(self, &SummaryJob { passages: false, ..*job }).units;
        let tuning = if is_chat(&units, job) { &self.chat } else { &self.agent };
        let (features, weights, mut reader) = weigh(&units, job.kept, tuning);
        let offered = candidates(&units, &features, job, tuning);
        let extract = fill(&units, &offered, &weights, tuning, job).unwrap_or_default().0;
        let matter = weights.matter(extract.iter().map(|index| &features[*index]));

        let written = written(text);
        let lines = self::units(&[&written]);
        let mut read = |text: &str| reader.read(text, &[], tuning.words_of_references);
        let mut found: Vec<Features> = lines.iter().map(|line| read(&line.text)).collect();
        // A bare name tells nothing of what it names.
        found.iter_mut().filter(|found| found.plain < PLAIN).for_each(|found| found.refs.clear());
        let worth: Vec<f64> = (lines.iter().zip(&found))
            .map(|(line, found)| weights.of(found) / (job.measure.size(&line.text) + 1) as f64)
            .collect();
        let mut best: Vec<usize> = (0..lines.len()).collect();
        best.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]));

        let with = |most: usize| -> Option<String> {
            let mut stay = best[..most].to_vec();
            stay.sort_unstable();
            let text = match most == lines.len() {
                true => text.to_owned(),
                false => render::render(&lines, &stay, false),
            };
            let text = format!("{text}\n{opening}\n");
            let told = weights.told(stay.iter().map(|index| &found[*index]));
            let mut offered = candidates(&units, &features, job, tuning);
            // What people order is told in their own words alone.
            let needed = |index: &&usize| {
                let lacks = |id: &u32| matter[*id as usize] && !told[*id as usize];
                offered[**index].bonus > 0.0 || features[**index].refs.iter().any(lacks)
            };
            let needed: Vec<usize> = extract.iter().filter(needed).copied().collect();
            needed.iter().for_each(|index| offered[*index].bonus += NEEDED);
            let most = job.most.checked_sub(job.measure.size(&text))?;
            let room = SummaryJob { most, ..*job };
            let weights = weights.beside(&told, tuning);
            let (chosen, beside) =
                fill(&units, &offered, &weights, tuning, &room).unwrap_or_default();
            let has_all = needed.iter().all(|index| chosen.binary_search(index).is_ok());
            has_all.then(|| text + &beside)
        };
        if let Some(whole) = with(lines.len()) {
            return Some(whole);
        }
        let (mut fits, mut least, mut beyond) = (None, 1, lines.len());
        while least < beyond {
            let most = least.midpoint(beyond);
            match with(most) {
                Some(text) => (fits, least) = (Some(text), most + 1),
                None => beyond = most,
            }
        }
        fits
    }
}

/// A text that a model wrote, as a message.
fn written(text: &str) -> Entry {
    let body = PartBody::Text(text.to_owned());
    let part = Part {
        body,
        speaker: Speaker::Model,
        within: None,
        known_as: None,
        note: None,
        files: Vec::new(),
    };
    Entry { id: EntryId(0), role: Role::Assistant, parts: vec![part], bytes: 0, at: None }
}

/// Chooses until the text, as it is written down, fills the room: units cost less beside each
/// other than alone, and the names of the speakers cost something too.
fn fill(
    units: &[TextUnit<'_>],
    candidates: &[UnitCandidate<'_>],
    weights: &Weights,
    tuning: &SelectionWeights,
    job: &SummaryJob<'_>,
) -> Option<(Vec<usize>, String)> {
    let mut best: Option<(Vec<usize>, String)> = None;
    let (mut fits, mut exceeds, mut room) = (0, u64::MAX, job.most);
    for _ in 0..ATTEMPTS {
        let chosen = select(candidates, weights, tuning, room);
        let text = render::render(units, &chosen, job.kind == SummaryKind::Checkpoint);
        let size = job.measure.size(&text);
        let slack = job.most.saturating_sub(size);
        if size > job.most {
            exceeds = room;
            room = room.saturating_sub((size - job.most).max(job.most / STEP)).max(fits);
        } else {
            fits = room;
            room += slack;
            if size > 0 {
                best = Some((chosen, text));
            }
            if slack * 100 < job.most {
                break;
            }
        }
        if room >= exceeds {
            room = fits.midpoint(exceeds);
        }
        if room == fits {
            break;
        }
    }
    best
}

#[async_trait::async_trait]
impl Summarizer for ExtractiveSummarizer {
    fn name(&self) -> &str {
        "extractive"
    }

    fn outdated(&self, entries: &[&Entry]) -> Vec<EntryId> {
        outdated(entries)
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        self.extract(job)
    }
}

/// The entries that say nothing but what a newer one says anew with another value.
fn outdated(entries: &[&Entry]) -> Vec<EntryId> {
    let units = spoken::newest(entries);
    let mut said = vec![(false, false); entries.len()];
    for (unit, stale) in units.iter().zip(supersede::superseded(&units, &[])) {
        let (any_stale, any_live) = &mut said[unit.entry];
        *any_stale |= stale;
        *any_live |= !stale;
    }
    entries
        .iter()
        .zip(said)
        .filter(|(_, said)| *said == (true, false))
        .map(|(entry, _)| entry.id)
        .collect()
}

/// The units of the entries as they were sent: a search knows what else was said of them. `said`
/// are those of their originals.
fn sent<'a>(job: &SummaryJob<'a>, said: Vec<TextUnit<'a>>) -> Vec<TextUnit<'a>> {
    let is_same = |(sent, said): (&&Entry, &&Entry)| ptr::eq(*sent, *said);
    match job.entries.iter().zip(job.originals).all(is_same) {
        true => said,
        false => units(job.entries),
    }
}

/// Shortens sentences, a person's orders excepted.
fn shorten(units: &mut [TextUnit<'_>]) {
    for unit in units.iter_mut().filter(|unit| unit.kind == UnitKind::Sentence) {
        if unit.speaker != Speaker::Human || directive::order(&unit.text) < DirectiveStrength::Plain
        {
            unit.text = shorten_prose::shorten(&unit.text).into();
        }
    }
}

/// Whether under 15 % of the conversation comes from tools or is code.
pub(crate) fn is_chat(units: &[TextUnit<'_>], job: &SummaryJob<'_>) -> bool {
    let talk: Vec<&Entry> =
        job.kept.iter().copied().filter(|entry| entry.role != Role::System).collect();
    let kept = self::units(&talk);
    let size = |keep: &dyn Fn(&TextUnit<'_>) -> bool| -> usize {
        units.iter().chain(&kept).filter(|unit| keep(unit)).map(|unit| unit.text.len()).sum()
    };
    let tools = size(&|unit| unit.speaker == Speaker::Tool || unit.kind != UnitKind::Sentence);
    tools * 100 < size(&|_| true) * 15
}

pub(crate) fn candidates<'a>(
    units: &[TextUnit<'_>],
    features: &'a [Features],
    job: &SummaryJob<'_>,
    tuning: &SelectionWeights,
) -> Vec<UnitCandidate<'a>> {
    let mut pieces = vec![0u32; job.entries.len()];
    units.iter().for_each(|unit| pieces[unit.entry] += 1);
    // Of entries that no unit comes from nothing is asked.
    let is_typed = |(entry, pieces): (&&Entry, &u32)| *pieces > 0 && facts::is_typed(entry);
    let typed: Vec<bool> = job.entries.iter().zip(&pieces).map(is_typed).collect();
    let stated = stated(job.kept);
    let opening = opening(job);
    (0..units.len())
        .map(|index| {
            let unit = &units[index];
            let before =
                index.checked_sub(1).map(|before| &units[before]).filter(|b| b.entry == unit.entry);
            let said = unit.speaker == Speaker::Human
                && unit.kind == UnitKind::Sentence
                && typed[unit.entry]
                && !is_stated(&unit.text, &stated);
            UnitCandidate {
                features: &features[index],
                cost: job.measure.size(&unit.said()) + 1,
                factor: factor(unit, &features[index], tuning),
                bonus: match said {
                    true => bonus(unit, opening == Some(unit.entry), pieces[unit.entry], tuning),
                    false => 0.0,
                },
                follows: before.is_some(),
                leans: unit.kind == UnitKind::Sentence
                    && before
                        .is_some_and(|b| b.kind == UnitKind::Sentence && b.text.ends_with(';')),
            }
        })
        .collect()
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

fn factor(unit: &TextUnit<'_>, features: &Features, tuning: &SelectionWeights) -> f64 {
    let words = match (features.plain, features.refs.len()) {
        (0..PLAIN, 0) => tuning.empty,
        (0..PLAIN, _) => tuning.bare,
        _ => 1.0,
    };
    words * if unit.speaker == Speaker::Human { tuning.human_unit } else { 1.0 }
}
