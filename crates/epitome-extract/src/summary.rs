//! From a job to a summary: cut, weigh, choose, write down.
//!
//! Invariant: the text is never larger than the job allows. The kernel calls it through the port.

use std::ptr;

use epitome_kernel::types::{
    Entry, EntryId, Part, PartBody, Role, Speaker, Summary, SummaryKind, SummaryStyle, SummaryTurn,
};
use epitome_kernel::{Summarizer, SummaryError, SummaryJob};
use rustc_hash::FxHashSet;

use crate::candidates::{PLAIN, candidates};
use crate::corrected::Corrections;
use crate::cut::{of_slices, units};
use crate::directive::{self, DirectiveStrength};
use crate::offer::{HEAT, Offer};
use crate::reader::{FeatureReader, Features};
use crate::render::RenderedUnits;
use crate::select::{UnitCandidate, select};
use crate::slice::{grouped, slices};
use crate::tuning::SelectionWeights;
use crate::unit::{TextUnit, UnitKind};
use crate::weigh::{Weights, weigh};
use crate::{brief, passages, render, spoken, supersede};

/// How often the units are chosen anew with a corrected room.
const ATTEMPTS: usize = 8;
/// What exceeds the room gives way by at least this part of it, so that the choice changes.
const STEP: u64 = 64;
/// What leaves for want of room with what corrects it does so for no less than this part of the room.
const WORTH: u64 = 16;
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
        let Offer { mut units, whole, all } = Offer::of(&|units| self.tuning(units, job), job);
        if job.style == SummaryStyle::Brief {
            shorten(&mut units);
        }
        let chat = is_chat(&units, job);
        let tuning = self.tuning_of(chat);
        let (features, weights, _) = weigh(&units, job.kept, tuning);
        let candidates = candidates(&units, &features, job, tuning);
        let turn = turn(job);
        let filled = fill(&units, &candidates, &weights, tuning, job);
        let Some(FilledRoom { chosen, told }) = filled else {
            let least = candidates.iter().map(|candidate| candidate.cost).min().unwrap_or(1);
            return Err(SummaryError::TooSmall { most: job.most, least });
        };
        let mut left = Vec::new();
        if job.passages {
            let whole = if whole.is_empty() { &units } else { &whole };
            let chosen = chosen.iter().map(|index| whole[*index].told().to_lowercase());
            let chosen: FxHashSet<String> = chosen.collect();
            let mut leave = |sent: &[TextUnit<'_>]| {
                let said: Vec<bool> =
                    sent.iter().map(|unit| chosen.contains(&unit.told().to_lowercase())).collect();
                left.extend(passages::left(job.entries, sent, &said, chat));
            };
            match all {
                Some(all) => leave(&sent(job, all)),
                None => {
                    let slices = slices(job.entries);
                    grouped(&slices, HEAT).into_iter().for_each(|it| leave(&of_slices(it)));
                }
            }
        }
        let turn = turn.map(|(entry, _)| SummaryTurn { entry, at: told.turn });
        Ok(Summary { text: told.text, left, turn, ..Summary::default() })
    }

    /// A summary that somebody else wrote of the entries, with what the extractor says beside it
    /// under `opening`, so that all tells of every order, fact and weighty name that an extract of
    /// the same size would. What of the summary tells least for its size leaves where there is no
    /// room for that; `None` where nothing of it can stay.
    #[must_use]
    pub fn completed(&self, job: &SummaryJob<'_>, text: &str, opening: &str) -> Option<String> {
        let tuning_for = |units: &[TextUnit<'_>]| self.tuning(units, job);
        let units = Offer::of(&tuning_for, &SummaryJob { passages: false, ..*job }).units;
        let tuning = tuning_for(&units);
        let (features, weights, mut reader) = weigh(&units, job.kept, tuning);
        let offered = candidates(&units, &features, job, tuning);
        let extract = fill(&units, &offered, &weights, tuning, job).unwrap_or_default().chosen;
        let matter = weights.matter(extract.iter().map(|index| &features[*index]));

        let written = written(text);
        let lines = self::units(&[&written]);
        let found = read(&lines, &mut reader, tuning);
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
                false => render::render(&lines, &stay, false, None).text,
            };
            let text = format!("{text}\n{opening}\n");
            let told = weights.told(stay.iter().map(|index| &found[*index]));
            let mut offered = candidates(&units, &features, job, tuning);
            // What people order is told in their own words alone.
            let needed = |index: &&usize| {
                let lacks = |id: &u32| matter[*id as usize] && !told[*id as usize];
                offered[**index].bonus > 0.0 || features[**index].refs().iter().any(lacks)
            };
            let needed: Vec<usize> = extract.iter().filter(needed).copied().collect();
            needed.iter().for_each(|index| offered[*index].bonus += NEEDED);
            let most = job.most.checked_sub(job.measure.size(&text))?;
            let room = SummaryJob { most, ..*job };
            let weights = weights.beside(&told, tuning);
            let FilledRoom { chosen, told } =
                fill(&units, &offered, &weights, tuning, &room).unwrap_or_default();
            let has_all = needed.iter().all(|index| chosen.binary_search(index).is_ok());
            has_all.then(|| text + &told.text)
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

    /// A summary that somebody else wrote of the entries, with what the extractor says behind it under
    /// `opening` in the room that it leaves: what it does not tell comes first.
    #[must_use]
    pub fn filled(&self, job: &SummaryJob<'_>, text: String, opening: &str) -> String {
        let opened = format!("{text}\n{opening}\n");
        let Some(most) = job.most.checked_sub(job.measure.size(&opened)) else { return text };
        let room = SummaryJob { most, passages: false, ..*job };
        let tuning_for = |units: &[TextUnit<'_>]| self.tuning(units, &room);
        let units = Offer::of(&tuning_for, &room).units;
        let tuning = tuning_for(&units);
        let (features, weights, mut reader) = weigh(&units, job.kept, tuning);

        let written = written(&text);
        let found = read(&self::units(&[&written]), &mut reader, tuning);
        let told = weights.told(found.iter());
        let weights = weights.beside(&told, tuning);
        let offered = candidates(&units, &features, &room, tuning);
        match fill(&units, &offered, &weights, tuning, &room) {
            Some(rest) => opened + &rest.told.text,
            None => text,
        }
    }

    /// The weights for the conversation that units are of.
    fn tuning(&self, units: &[TextUnit<'_>], job: &SummaryJob<'_>) -> &SelectionWeights {
        self.tuning_of(is_chat(units, job))
    }

    fn tuning_of(&self, chat: bool) -> &SelectionWeights {
        if chat { &self.chat } else { &self.agent }
    }
}

/// What each of these lines tells.
fn read(
    lines: &[TextUnit<'_>],
    reader: &mut FeatureReader,
    tuning: &SelectionWeights,
) -> Vec<Features> {
    let read = |line: &TextUnit<'_>| {
        let found = reader.read(&line.text, &[], tuning.words_of_references);
        // A bare name tells nothing of what it names.
        if found.plain < PLAIN { found.without_refs() } else { found }
    };
    lines.iter().map(read).collect()
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
        files: Box::default(),
    };
    Entry { id: EntryId(0), role: Role::Assistant, parts: vec![part], bytes: 0, at: None }
}

/// What a person typed last, where that stays in the prompt between the entries that are summed up, and
/// the place of the first entry behind it.
fn turn(job: &SummaryJob<'_>) -> Option<(EntryId, usize)> {
    let is_typed = |entry: &&&Entry| {
        let is_said = |part: &Part| part.speaker == Speaker::Human && part.within.is_none();
        entry.parts.iter().any(|part| is_said(part) && matches!(part.body, PartBody::Text(_)))
    };
    let typed = job.kept.iter().rev().find(is_typed)?.id;
    let place = job.entries.partition_point(|entry| entry.id < typed);
    let is_passed = 0 < place && place < job.entries.len() && job.kind == SummaryKind::Checkpoint;
    is_passed.then_some((typed, place))
}

/// Units that fill a room.
#[derive(Default)]
struct FilledRoom {
    chosen: Vec<usize>,
    told: RenderedUnits,
}

/// Chooses until the text, as it is written down, fills the room: units cost less beside each
/// other than alone, and the names of the speakers cost something too.
fn fill(
    units: &[TextUnit<'_>],
    candidates: &[UnitCandidate<'_>],
    weights: &Weights,
    tuning: &SelectionWeights,
    job: &SummaryJob<'_>,
) -> Option<FilledRoom> {
    let mut best = None;
    let turn = turn(job).map(|(_, place)| place);
    let (mut fits, mut exceeds, mut room, mut held) = (0, u64::MAX, job.most, 0);
    let corrections = Corrections::from_units(units);
    let as_told = |chosen: Vec<usize>| {
        let told = render::render(units, &chosen, job.kind == SummaryKind::Checkpoint, turn);
        (job.measure.size(&told.text), FilledRoom { chosen, told })
    };
    for attempt in 1..=ATTEMPTS {
        let picked = select(candidates, weights, tuning, room);
        let (size, filled) = as_told(corrections.settle(picked.clone(), true));
        let slack = job.most.saturating_sub(size);
        if size > job.most {
            exceeds = room;
            room = room.saturating_sub((size - job.most).max(job.most / STEP)).max(fits);
            // What corrects something may have no room: then what it corrects leaves, too.
            let without = corrections.settle(picked, false);
            if without != filled.chosen {
                let (size, filled) = as_told(without);
                if size > held + job.most / WORTH && size <= job.most {
                    (best, held) = (Some(filled), size);
                }
            }
            if best.is_none() && attempt >= ATTEMPTS / 2 {
                room /= 2;
            }
        } else {
            fits = room;
            room += slack;
            if size > 0 && size + job.most / WORTH >= held {
                (best, held) = (Some(filled), size);
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
        let (any_stale, any_live) = &mut said[unit.entry()];
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
            unit.text = brief::shorten(&unit.text).into();
        }
    }
}

/// Whether under 15 % of the conversation comes from tools or is code.
fn is_chat(units: &[TextUnit<'_>], job: &SummaryJob<'_>) -> bool {
    let talk: Vec<&Entry> =
        job.kept.iter().copied().filter(|entry| entry.role != Role::System).collect();
    let kept = self::units(&talk);
    let size = |keep: &dyn Fn(&TextUnit<'_>) -> bool| -> usize {
        units.iter().chain(&kept).filter(|unit| keep(unit)).map(|unit| unit.text.len()).sum()
    };
    let tools = size(&|unit| unit.speaker == Speaker::Tool || unit.kind != UnitKind::Sentence);
    tools * 100 < size(&|_| true) * 15
}
