//! How many facts of a conversation a compression kept, counted in one reading.
//!
//! Invariant: the figures are those that [`Facts::kept`](crate::Facts::kept) gives for
//! [`Facts::of`](crate::Facts::of) the conversation; a property test holds them to it. What stands
//! in the prompt as it was said is read once, and what left only where the prompt lacks something.
//! Called once for each compression.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use epitome_kernel::types::{Body, Entry, MustKeep, Passage, Role};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use crate::facts::{constraints, plain, texts};
use crate::refs::{self, RefKind};

/// How many facts of a conversation stand in a prompt that was made of it, and how many of the
/// others a search finds in the passages that left.
pub fn must_keep(entries: &[&Entry], prompt: &[&Entry], left: &[Passage]) -> MustKeep {
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
    let mut names = Names::of_texts(bytes);
    for (place, ((entry, texts), stays)) in (0..).zip(entries.iter().zip(&said).zip(&stays)) {
        let is_talk = entry.role != Role::System;
        texts.iter().for_each(|text| names.read(text, place, is_talk, *stays));
    }
    made.iter().flat_map(|entry| texts(entry)).for_each(|text| names.hold(&text));
    let mut out = names.count(left);

    let talk: Vec<usize> =
        (0..entries.len()).filter(|place| entries[*place].role != Role::System).collect();
    let ordered = constraints(&talk.iter().map(|place| entries[*place]).collect::<Vec<_>>());
    let from = |place: usize| (place, stays[place].then_some(&*said[place]));
    let ordered = ordered.into_iter().map(|(text, at)| (text, from(talk[at]))).collect();
    let [kept, recallable] = sentences(&ordered, prompt, left);
    out.constraints = [kept, ordered.len() as u32];
    out.recallable += recallable;
    out
}

/// A hash of the texts of an entry: those with another one say something else.
fn fingerprint(entry: &Entry) -> u64 {
    let mut hasher = FxHasher::default();
    for part in &entry.parts {
        match &part.body {
            Body::Call(call) => (&call.tool, &call.arguments).hash(&mut hasher),
            _ => part.text().hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// Sentences that order something, each with the place that it comes from, and that one's texts
/// where they stand in the prompt.
type Ordered<'a> = BTreeMap<String, (usize, Option<&'a [Cow<'a, str>]>)>;

/// How many of these sentences stand in the prompt, and how many of the others in what left.
fn sentences(ordered: &Ordered<'_>, prompt: &[&Entry], left: &[Passage]) -> [u32; 2] {
    let mut heard: FxHashMap<usize, String> = FxHashMap::default();
    let mut lost: Vec<String> = Vec::new();
    for (sentence, (place, from)) in ordered {
        let sentence = format!(" {}", plain(sentence));
        let from = from.map(|texts| {
            heard.entry(*place).or_insert_with(|| spoken(texts.iter().map(|text| &**text)))
        });
        if !from.is_some_and(|said| said.contains(&sentence)) {
            lost.push(sentence);
        }
    }
    if !lost.is_empty() {
        let said: Vec<Cow<'_, str>> = prompt.iter().flat_map(|entry| texts(entry)).collect();
        let said = spoken(said.iter().map(|text| &**text));
        lost.retain(|sentence| !said.contains(sentence));
    }
    let kept = ordered.len() - lost.len();
    if !lost.is_empty() {
        let said = spoken(left.iter().map(|passage| &*passage.text));
        lost.retain(|sentence| said.contains(sentence));
    }
    [kept as u32, lost.len() as u32]
}

/// The words of texts, one after the other.
fn spoken<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.fold(String::from(" "), |mut said, text| {
        said.push_str(&plain(text));
        said
    })
}

/// A name for so many bytes of text; more make the table grow.
const BYTES_OF_NAME: usize = 12;

/// Every name in a conversation.
struct Names<'t>(FxHashMap<&'t str, Name>);

/// What is known of a name.
#[derive(Default)]
struct Name {
    path: bool,
    error: bool,
    /// In how many entries it stands as an identifier, and the last of them.
    entries: u32,
    last: Option<u32>,
    /// Whether it stands in the prompt.
    held: bool,
}

impl Name {
    /// Whether it is a path, an error, an identifier that matters.
    fn kinds(&self) -> [bool; 3] {
        [self.path, self.error, self.entries > 1]
    }
}

/// Whether mentions of a kind may be facts.
fn is_fact(kind: RefKind) -> bool {
    use RefKind::{Error, File, Id, Ident, Path};
    matches!(kind, Path | File | Error | Ident | Id)
}

impl<'t> Names<'t> {
    /// None yet, with room for those of texts of so many bytes.
    fn of_texts(bytes: usize) -> Self {
        Self(FxHashMap::with_capacity_and_hasher(bytes / BYTES_OF_NAME, FxBuildHasher))
    }

    /// Reads a text of an entry; only what is talk has facts.
    fn read(&mut self, text: &'t str, place: u32, is_talk: bool, stays: bool) {
        // Of what left, only what may be a fact counts.
        let counts = |kind| stays || is_talk && is_fact(kind);
        for mention in refs::mentions(text).into_iter().filter(|mention| counts(mention.kind)) {
            let name = self.0.entry(mention.canonical(text)).or_default();
            name.held |= stays;
            match mention.kind {
                _ if !is_talk => {}
                RefKind::Path | RefKind::File => name.path = true,
                RefKind::Error => name.error = true,
                RefKind::Ident | RefKind::Id if name.last != Some(place) => {
                    (name.entries, name.last) = (name.entries + 1, Some(place));
                }
                _ => {}
            }
        }
    }

    /// Notes what a text of the prompt holds.
    fn hold(&mut self, text: &str) {
        for mention in refs::mentions(text) {
            if let Some(name) = self.0.get_mut(mention.canonical(text)) {
                name.held = true;
            }
        }
    }

    /// How many of the facts are held, and how many of the others stand in what left.
    fn count(self, left: &[Passage]) -> MustKeep {
        let mut counts = [[0; 2]; 3];
        let mut lost: FxHashMap<&str, u32> = FxHashMap::default();
        for (text, name) in self.0 {
            for (count, _) in counts.iter_mut().zip(name.kinds()).filter(|(_, is_it)| *is_it) {
                count[0] += u32::from(name.held);
                count[1] += 1;
                if !name.held {
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
        }
        let [paths, errors, identifiers] = counts;
        MustKeep { paths, errors, identifiers, recallable, ..MustKeep::default() }
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::{EntryId, Part, Speaker};
    use epitome_testkit::conversation;
    use proptest::prelude::*;

    use super::*;
    use crate::Facts;

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
            let body = Body::Text(SAID[pick % SAID.len()].to_owned());
            entry.parts.push(Part { body, speaker, within: None, known_as: None });
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
            let expected = Facts::of(&entries).kept(&prompt, &left);
            prop_assert_eq!(must_keep(&entries, &prompt, &left), expected);
        }
    }
}
