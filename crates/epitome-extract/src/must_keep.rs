//! How many facts of a conversation a compression kept, counted in one reading.
//!
//! Invariant: the figures are those that [`MustKeepFacts::kept`](crate::MustKeepFacts::kept) gives for
//! [`MustKeepFacts::of`](crate::MustKeepFacts::of) the conversation; a property test holds them to it. What stands
//! in the prompt as it was said is read once, and what left only where the prompt lacks something.
//! Called once for each compression.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use epitome_kernel::types::{
    ContentId, Entry, EntryId, FactCounts, FactReport, LostFact, PartBody, Passage, Role,
};
use rustc_hash::{FxHashMap, FxHasher};

use crate::facts::{constraints, plain, texts};
use crate::keep::{self, KeepRules};
use crate::name_table::NameTable;
use crate::slice;

/// How many facts of a conversation stand in a prompt that was made of it, and how many of the
/// others a search finds in the passages that left.
pub fn must_keep(
    entries: &[&Entry],
    prompt: &[&Entry],
    left: &[Passage],
    keep: &KeepRules,
) -> FactCounts {
    kept_and_lost(entries, prompt, left, &[], keep).kept
}

/// The same, with the facts that are lost: each with the entry that said it last, and the original
/// of that where it is kept.
pub fn kept_and_lost(
    entries: &[&Entry],
    prompt: &[&Entry],
    left: &[Passage],
    originals: &[(EntryId, ContentId, String)],
    keep: &KeepRules,
) -> FactReport {
    // A prompt numbers its entries anew.
    let places: FxHashMap<u64, usize> =
        (0..).zip(entries).map(|(place, entry)| (fingerprint(entry), place)).collect();
    let place = |entry: &Entry| places.get(&fingerprint(entry)).copied();
    let as_said = |entry: &Entry| place(entry).filter(|at| entries[*at].parts == entry.parts);
    let mut stays = vec![false; entries.len()];
    let mut made = Vec::new();
    for entry in prompt {
        match as_said(entry) {
            Some(place) => stays[place] = true,
            None => made.push(*entry),
        }
    }
    let said: Vec<Vec<Cow<'_, str>>> = entries.iter().map(|entry| texts(entry).collect()).collect();
    let bytes = said.iter().flatten().map(|text| text.len()).sum();
    let mut names = NameTable::of_texts(bytes);
    for (place, ((entry, texts), stays)) in (0..).zip(entries.iter().zip(&said).zip(&stays)) {
        let is_talk = entry.role != Role::System;
        texts.iter().for_each(|text| names.read(text, place, is_talk, *stays));
    }
    made.iter().flat_map(|entry| texts(entry)).for_each(|text| names.hold(&text));
    let (mut out, lost_names) = names.count(left);

    let talk: Vec<usize> =
        (0..entries.len()).filter(|place| entries[*place].role != Role::System).collect();
    let ordered = constraints(&talk.iter().map(|place| entries[*place]).collect::<Vec<_>>());
    let from = |place: usize| (place, stays[place].then_some(&*said[place]));
    let ordered = ordered.into_iter().map(|(text, at)| (text, from(talk[at]))).collect();
    let (lost_orders, recallable) = sentences(&ordered, prompt, left);
    out.constraints = [(ordered.len() - lost_orders.len()) as u32, ordered.len() as u32];
    out.recallable += recallable;
    let lost = lost_orders.into_iter().map(|(text, at)| (LostFact::ORDER, text, at));
    let lost_names = lost_names.iter().map(|it| (it.kind(), it.text, it.said as usize));
    let mut kept: FxHashMap<EntryId, ContentId> = FxHashMap::default();
    for (entry, id, _) in originals {
        kept.entry(*entry).or_insert(*id);
    }
    let lines = keep.lines(entries);
    let (held, lost_lines) = keep::held(&lines, prompt);
    out.kept = held;
    let is_left = |text: &str| left.iter().any(|passage| passage.text.contains(text));
    out.recallable += lost_lines.iter().filter(|line| is_left(&line.text)).count() as u32;
    let lost_lines = lost_lines.into_iter().map(|it| (LostFact::KEPT, &*it.text, it.part.entry));
    let lost = lost.chain(lost_names).map(|(kind, text, at)| (kind, text, entries[at].id));
    let fact = |(kind, text, entry): (&'static str, &str, EntryId)| {
        let id = kept.get(&entry).map(ToString::to_string);
        LostFact { kind, text: text.to_owned(), entry: entry.to_string(), id, recall: None }
    };
    FactReport { kept: out, lost: lost_lines.chain(lost).map(fact).collect() }
}

/// A hash of the texts of an entry: those with another one say something else.
fn fingerprint(entry: &Entry) -> u64 {
    let mut hasher = FxHasher::default();
    for part in &entry.parts {
        match &part.body {
            PartBody::Call(call) => (&call.tool, &call.arguments).hash(&mut hasher),
            _ => part.text().hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// Sentences that order something, each with the place that it comes from, and that one's texts
/// where they stand in the prompt.
type Ordered<'a> = BTreeMap<String, (usize, Option<&'a [Cow<'a, str>]>)>;

/// Which of these sentences do not stand in the prompt, and how many of those in what left.
fn sentences<'o>(
    ordered: &'o Ordered<'_>,
    prompt: &[&Entry],
    left: &[Passage],
) -> (Vec<(&'o str, usize)>, u32) {
    let mut heard: FxHashMap<usize, String> = FxHashMap::default();
    let mut lost: Vec<((&str, usize), String)> = Vec::new();
    for (text, (place, from)) in ordered {
        let sentence = format!(" {}", plain(text));
        let from = from.map(|texts| {
            heard.entry(*place).or_insert_with(|| spoken(texts.iter().map(|text| &**text)))
        });
        if !from.is_some_and(|said| said.contains(&sentence)) {
            lost.push(((text, *place), sentence));
        }
    }
    if !lost.is_empty() {
        let said: Vec<Cow<'_, str>> = prompt.iter().flat_map(|entry| texts(entry)).collect();
        let sought: Vec<&str> = lost.iter().map(|(_, sentence)| &**sentence).collect();
        let mut held = stated(said.iter().map(|text| &**text), &sought).into_iter();
        lost.retain(|_| !held.next().unwrap_or_default());
    }
    let sought: Vec<&str> = lost.iter().map(|(_, sentence)| &**sentence).collect();
    let found = stated(left.iter().map(|passage| &*passage.text), &sought);
    let recallable = found.into_iter().filter(|found| *found).count() as u32;
    (lost.into_iter().map(|(from, _)| from).collect(), recallable)
}

/// Which sentences stand in texts that are read one after the other, as if they were one. The words
/// of some texts are held at once, and of those before as many as a sentence may reach back.
fn stated<'a>(texts: impl Iterator<Item = &'a str>, sought: &[&str]) -> Vec<bool> {
    let mut found = vec![false; sought.len()];
    let longest = sought.iter().map(|sentence| sentence.len()).max().unwrap_or_default();
    if longest == 0 {
        return found;
    }
    let mut look = |said: &str| {
        let missing = found.iter_mut().zip(sought).filter(|(found, _)| !**found);
        missing.for_each(|(found, sentence)| *found = said.contains(sentence));
    };
    let mut said = String::from(" ");
    for text in texts {
        said.push_str(&plain(text));
        if said.len() > longest + slice::MOST {
            look(&said);
            let rest = said.floor_char_boundary(said.len() - longest);
            said.drain(..rest);
        }
    }
    look(&said);
    found
}

/// The words of texts, one after the other.
fn spoken<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.fold(String::from(" "), |mut said, text| {
        said.push_str(&plain(text));
        said
    })
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::{EntryId, Part, Speaker};
    use epitome_testkit::conversation;
    use proptest::prelude::*;

    use super::*;
    use crate::MustKeepFacts;

    /// What is said in the messages; some of it again, in other words, or taken back.
    const SAID: [&str; 15] = [
        "Never touch src/main.rs.",
        "The upload timeout must be 30 seconds.",
        "Set the upload timeout to 45 seconds. Always run run_once first!",
        "I saw a ValueError in run_once; see lib/a.py and HAT028.",
        "{\"path\": \"src/main.rs\", \"ids\": [\"HAT028\", \"KX4T21\"]}",
        "HAT028 is KX4T21, says https://a.b/c and theme.fg(x) of theme.fg",
        "Keep every answer under 80 words",
        "must never stop",
        "Ünïcode maxSize, 日本go語 and maxSize",
        "src/main.rs:12 E0502 --no-wait",
        "/srv/app/src/main.rs and other/src/main.rs",
        "app/src/main.rs, ./src/main.rs; main.rs",
        "diff --git a/src/main.rs b/src/main.rs",
        "",
        "Do not",
    ];

    fn said(entries: &mut [Entry], picks: &[(usize, bool)]) {
        for (entry, (pick, human)) in entries.iter_mut().zip(picks) {
            let speaker = if *human { Speaker::Human } else { Speaker::Model };
            let body = PartBody::Text(SAID[pick % SAID.len()].to_owned());
            entry.parts.push(Part {
                body,
                speaker,
                within: None,
                known_as: None,
                note: None,
                files: Box::default(),
            });
        }
    }

    proptest! {
        #[test]
        fn it_counts_as_the_facts_do(
            mut entries in conversation(16),
            picks in proptest::collection::vec((0usize..99, any::<bool>()), 16),
            stays in proptest::collection::vec(0u8..4, 16),
            left in proptest::collection::vec(0usize..99, 0..6),
        ) {
            said(&mut entries, &picks);
            let mut prompt: Vec<Entry> = Vec::new();
            for (entry, stays) in entries.iter().zip(&stays).filter(|(_, stays)| **stays > 0) {
                let mut entry = entry.clone();
                if *stays == 1 {
                    entry.parts.truncate(1);
                }
                if *stays == 2 {
                    entry.id = EntryId(0);
                }
                prompt.push(entry);
            }
            let left: Vec<Passage> = left
                .iter()
                .map(|pick| Passage { entry: EntryId(0), text: SAID[pick % SAID.len()].into() })
                .collect();
            let [entries, prompt] = [&entries, &prompt].map(|all| all.iter().collect::<Vec<_>>());
            let expected = MustKeepFacts::of(&entries).kept(&prompt, &left);
            let report = kept_and_lost(&entries, &prompt, &left, &[], &KeepRules::default());
            prop_assert_eq!(report.kept, expected);
            let of = |kind: &str| -> Vec<&str> {
                report.lost.iter().filter(|fact| fact.kind == kind).map(|it| &*it.text).collect()
            };
            let lost = MustKeepFacts::of(&entries).lost(&prompt);
            for (kind, facts) in [
                (LostFact::ORDER, &lost.constraints),
                ("error", &lost.errors),
                ("path", &lost.paths),
                ("identifier", &lost.identifiers),
            ] {
                prop_assert_eq!(of(kind), facts.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
}
