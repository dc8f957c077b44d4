//! How many facts of a conversation a compression kept, counted in one reading.
//!
//! Invariant: the figures are those that [`MustKeepFacts::kept`](crate::MustKeepFacts::kept) gives for
//! [`MustKeepFacts::of`](crate::MustKeepFacts::of) the conversation; a property test holds them to it. What stands
//! in the prompt as it was said is read once, and what left only where the prompt lacks something.
//! Called once for each compression.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};

use epitome_kernel::types::{
    ContentId, Entry, EntryId, FactCounts, FactReport, LostFact, PartBody, Passage, Role,
};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use crate::facts::{constraints, plain, texts};
use crate::keep::{self, KeepRules};
use crate::log_lines;
use crate::refs::{self, Mention, RefKind};
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
    let lost_names =
        lost_names.into_iter().map(|(rank, text, at)| (ORDER[rank as usize], text, at as usize));
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

/// What a text mentions, each with the piece of the text that it stands in: a large one is read piece
/// by piece, for all that is mentioned there takes as much as the text.
fn mentions(text: &str) -> impl Iterator<Item = (&str, Mention)> {
    let of_piece = |piece| refs::mentions(piece).into_iter().map(move |mention| (piece, mention));
    slice::pieces(text).flat_map(of_piece)
}

/// A name for so many bytes of text; more make the table grow.
const BYTES_OF_NAME: usize = 12;

/// Large texts say the same names again: no more room than this is taken before they come.
const MOST_NAMES: usize = 1 << 15;

/// Texts of more bytes are known by several tables: one that grows takes half as much again.
const ONE_TABLE: usize = 1 << 20;

/// How many tables that are.
const TABLES: u64 = 64;

/// Every name in a conversation, by a hash of it in one of these tables.
struct NameTable<'t>(Vec<FxHashMap<&'t str, Name>>);

/// What is known of a name.
#[derive(Default)]
struct Name {
    path: bool,
    error: bool,
    /// Whether it stands in the prompt.
    held: bool,
    /// Whether it stands in several entries as an identifier.
    again: bool,
    /// One more than the last entry in which it does, 0 for none.
    last: u32,
    /// The last entry of the talk that mentions it as a fact.
    said: u32,
}

/// What kinds of names are called, as [`Name::kinds`] has them, and in which order they are told.
const KINDS: [&str; 3] = ["path", "error", "identifier"];
const ORDER: [&str; 3] = ["error", "path", "identifier"];

/// A name that is lost: where [`ORDER`] has its kind, itself, and the entry that said it.
type LostName<'t> = (u8, &'t str, u32);

impl Name {
    /// Whether it is a path, an error, an identifier that matters.
    fn kinds(&self) -> [bool; 3] {
        [self.path, self.error, self.again]
    }
}

/// Whether mentions of a kind may be facts.
fn is_fact(kind: RefKind) -> bool {
    use RefKind::{Error, File, Id, Ident, Path};
    matches!(kind, Path | File | Error | Ident | Id)
}

impl<'t> NameTable<'t> {
    /// None yet, with room for those of texts of so many bytes.
    fn of_texts(bytes: usize) -> Self {
        let tables = if bytes > ONE_TABLE { TABLES as usize } else { 1 };
        let names = (bytes / BYTES_OF_NAME).min(MOST_NAMES) / tables;
        let table = || FxHashMap::with_capacity_and_hasher(names, FxBuildHasher);
        Self((0..tables).map(|_| table()).collect())
    }

    /// The table in which a name stands.
    fn table(&mut self, name: &str) -> &mut FxHashMap<&'t str, Name> {
        let all = self.0.len() as u64;
        // Neither its highest bits nor its lowest: a table tells names apart by these.
        let place = if all > 1 { (FxBuildHasher.hash_one(name) >> 32) % all } else { 0 };
        &mut self.0[place as usize]
    }

    /// Reads a text of an entry; only what is talk has facts.
    fn read(&mut self, text: &'t str, place: u32, is_talk: bool, stays: bool) {
        // Of what left, only what may be a fact counts.
        let counts = |kind| stays || is_talk && is_fact(kind);
        for (text, mention) in mentions(text).filter(|(_, mention)| counts(mention.kind)) {
            let canonical = mention.canonical(text);
            let name = self.table(canonical).entry(canonical).or_default();
            name.held |= stays;
            if is_talk && is_fact(mention.kind) {
                name.said = place;
            }
            match mention.kind {
                _ if !is_talk => {}
                RefKind::Path | RefKind::File => name.path = true,
                RefKind::Error => name.error = true,
                RefKind::Ident | RefKind::Id if name.last != place + 1 => {
                    (name.again, name.last) = (name.last > 0, place + 1);
                }
                _ => {}
            }
        }
        for failure in log_lines::failures(text).filter(|_| is_talk || stays) {
            let name = self.table(failure).entry(failure).or_default();
            name.held |= stays;
            if is_talk {
                (name.error, name.said) = (true, place);
            }
        }
    }

    /// Notes what a text of the prompt holds.
    fn hold(&mut self, text: &str) {
        for (text, mention) in mentions(text) {
            let canonical = mention.canonical(text);
            if let Some(name) = self.table(canonical).get_mut(canonical) {
                name.held = true;
            }
        }
        for failure in log_lines::failures(text) {
            if let Some(name) = self.table(failure).get_mut(failure) {
                name.held = true;
            }
        }
    }

    /// How many of the facts are held, and how many of the others stand in what left; and those
    /// others, each with its kind and the entry that said it.
    fn count(self, left: &[Passage]) -> (FactCounts, Vec<LostName<'t>>) {
        let mut counts = [[0; 2]; 3];
        let mut lost: FxHashMap<&str, u32> = FxHashMap::default();
        // There may be as many as the conversation has lines: they are held once, and small.
        let is_gone = |name: &&Name| !name.held;
        let told = |name: &Name| name.kinds().into_iter().filter(|is_it| *is_it).count();
        let names = self.0.iter().flat_map(|table| table.values());
        let mut gone: Vec<LostName<'t>> = Vec::with_capacity(names.filter(is_gone).map(told).sum());
        for (text, name) in self.0.into_iter().flatten() {
            if !name.held {
                let kinds = KINDS.into_iter().zip(name.kinds()).filter(|(_, is_it)| *is_it);
                gone.extend(kinds.map(|(kind, _)| (rank(kind), text, name.said)));
            }
            for (count, _) in counts.iter_mut().zip(name.kinds()).filter(|(_, is_it)| *is_it) {
                count[0] += u32::from(name.held);
                count[1] += 1;
                if !name.held && !left.is_empty() {
                    *lost.entry(text).or_default() += 1;
                }
            }
        }
        let mut recallable = 0;
        for passage in left {
            if lost.is_empty() {
                break;
            }
            for mention in refs::mentions(&passage.text) {
                recallable += lost.remove(mention.canonical(&passage.text)).unwrap_or_default();
            }
            for failure in log_lines::failures(&passage.text) {
                recallable += lost.remove(failure).unwrap_or_default();
            }
        }
        let [paths, errors, identifiers] = counts;
        gone.sort_unstable_by_key(|(rank, text, _)| (*rank, *text));
        (FactCounts { paths, errors, identifiers, recallable, ..FactCounts::default() }, gone)
    }
}

/// When a kind is told.
fn rank(kind: &str) -> u8 {
    (0..).zip(ORDER).find(|(_, known)| *known == kind).map_or(0, |(rank, _)| rank)
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::{EntryId, Part, Speaker};
    use epitome_testkit::conversation;
    use proptest::prelude::*;

    use super::*;
    use crate::MustKeepFacts;

    /// What is said in the messages; some of it again, in other words, or taken back.
    const SAID: [&str; 12] = [
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
