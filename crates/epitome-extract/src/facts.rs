//! The facts a compression should keep, and which of them a prompt still holds.
//!
//! Invariant: only what stood in the conversation counts, each fact once. Called for reports and by
//! whoever judges a summary.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::types::{Entry, FactCounts, PartBody, Passage, Role, Speaker};
use rustc_hash::FxHashMap;

use crate::cut;
use crate::demand;
use crate::log_lines;
use crate::refs::{self, RefKind};
use crate::rows;
use crate::spoken;
use crate::told_files::ToldFiles;
use crate::typed_text::TypedText;
use crate::unit::TextUnit;
use crate::words;
use crate::wrapped::without_bullet;

/// What a conversation says that must not be lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MustKeepFacts {
    /// Lines that the profile keeps, word for word.
    pub lines: BTreeSet<String>,
    /// Sentences in which a person orders or forbids something and has not taken it back.
    pub constraints: BTreeSet<String>,
    /// Files, each by the longest spelling of its path.
    pub paths: BTreeSet<String>,
    /// Names and codes of errors, and what logs say of failures.
    pub errors: BTreeSet<String>,
    /// Identifiers, ids and amounts that stand in more than one entry.
    pub identifiers: BTreeSet<String>,
}

impl MustKeepFacts {
    /// The facts of a conversation, its system prompt left out.
    pub fn of(entries: &[&Entry]) -> Self {
        let talk: Vec<&Entry> =
            entries.iter().copied().filter(|entry| entry.role != Role::System).collect();
        let constraints = constraints(&talk).into_keys().collect();
        let mut out = Self { constraints, ..Self::default() };
        let mut mentioned: FxHashMap<String, u32> = FxHashMap::default();
        let mut paths: BTreeSet<String> = BTreeSet::new();
        for entry in &talk {
            let text = said(entry);
            let mut here: BTreeSet<&str> = BTreeSet::new();
            for mention in refs::mentions(&text) {
                let name = mention.spelling(&text);
                match mention.kind {
                    RefKind::Path | RefKind::File => _ = paths.insert(name.to_owned()),
                    RefKind::Error => _ = out.errors.insert(name.to_owned()),
                    RefKind::Ident | RefKind::Id => _ = here.insert(name),
                    _ => {}
                }
            }
            out.errors.extend(log_lines::failures(&text).map(str::to_owned));
            here.into_iter().for_each(|name| *mentioned.entry(name.to_owned()).or_default() += 1);
        }
        let files = ToldFiles::from_spellings(paths.iter().map(String::as_str));
        out.paths = files.names().map(str::to_owned).collect();
        out.identifiers =
            mentioned.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
        out
    }

    /// The same with lines that the profile keeps.
    #[must_use]
    pub fn with_lines(self, lines: impl IntoIterator<Item = String>) -> Self {
        Self { lines: lines.into_iter().collect(), ..self }
    }

    /// The same with each file told by as few of its last parts as tell it apart: who is to name them again
    /// has little room.
    #[must_use]
    pub fn shortened(self) -> Self {
        let files = ToldFiles::from_spellings(self.paths.iter().map(String::as_str));
        let paths = files.short_names().map(str::to_owned).collect();
        Self { paths, ..self }
    }

    /// The facts one by one: lines of the profile and what people order first, then errors, paths and
    /// identifiers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let Self { lines, constraints, paths, errors, identifiers } = self;
        [lines, constraints, errors, paths, identifiers].into_iter().flatten().map(String::as_str)
    }

    /// The facts that `keeps` says yes to, asked in the order of [`MustKeepFacts::iter`].
    #[must_use]
    pub fn filter(self, mut keeps: impl FnMut(&str) -> bool) -> Self {
        let mut kept =
            |facts: BTreeSet<String>| facts.into_iter().filter(|one| keeps(one)).collect();
        let Self { lines, constraints, paths, errors, identifiers } = self;
        let (lines, constraints, errors) = (kept(lines), kept(constraints), kept(errors));
        Self { lines, constraints, errors, paths: kept(paths), identifiers: kept(identifiers) }
    }

    /// The facts that stand in none of these entries.
    #[must_use]
    pub fn lost(&self, entries: &[&Entry]) -> Self {
        let held = FactIndex::of(entries.iter().map(|entry| said(entry)));
        let lost = |facts: &BTreeSet<String>, holds: fn(&FactIndex, &str) -> bool| {
            facts.iter().filter(|fact| !holds(&held, fact)).cloned().collect()
        };
        let files = held.files(&self.paths);
        let says = |line: &String| entries.iter().any(|entry| said(entry).contains(&**line));
        Self {
            lines: self.lines.iter().filter(|line| !says(line)).cloned().collect(),
            constraints: lost(&self.constraints, FactIndex::says),
            paths: self.paths.iter().filter(|path| !files.contains(&***path)).cloned().collect(),
            errors: lost(&self.errors, FactIndex::names),
            identifiers: lost(&self.identifiers, FactIndex::names),
        }
    }

    /// How many of the facts stand in a prompt, and how many of the others a search can find.
    pub fn kept(&self, prompt: &[&Entry], left: &[Passage]) -> FactCounts {
        let prompt = FactIndex::of(prompt.iter().map(|entry| said(entry)));
        let left = FactIndex::of(left.iter().map(|passage| passage.text.clone()));
        let files = [&prompt, &left].map(|index| index.files(&self.paths));
        let mut out = FactCounts::default();
        let mut count = |facts: &BTreeSet<String>, holds: &dyn Fn(usize, &str) -> bool| {
            let lost: Vec<&String> = facts.iter().filter(|fact| !holds(0, fact)).collect();
            out.recallable += lost.iter().filter(|fact| holds(1, fact)).count() as u32;
            [(facts.len() - lost.len()) as u32, facts.len() as u32]
        };
        let indexes = [&prompt, &left];
        let constraints = count(&self.constraints, &|at, fact| indexes[at].says(fact));
        let paths = count(&self.paths, &|at, fact| files[at].contains(fact));
        let errors = count(&self.errors, &|at, fact| indexes[at].names(fact));
        let identifiers = count(&self.identifiers, &|at, fact| indexes[at].names(fact));
        FactCounts { constraints, paths, errors, identifiers, ..out }
    }
}

/// What an entry says, a line for each piece.
fn said(entry: &Entry) -> String {
    texts(entry).collect::<Vec<_>>().join("\n")
}

/// The pieces of what an entry says. Arguments of calls are JSON, in which an escape would run into
/// the word behind it, so they are decoded.
pub(crate) fn texts(entry: &Entry) -> impl Iterator<Item = Cow<'_, str>> {
    entry.parts.iter().filter_map(|part| match &part.body {
        PartBody::Text(text) => Some(Cow::Borrowed(&**text)),
        PartBody::Result(result) => Some(Cow::Borrowed(&*result.text)),
        PartBody::Opaque(opaque) => Some(Cow::Borrowed(&*opaque.text)),
        PartBody::Call(call) => Some(Cow::Owned(match rows::call(&call.tool, &call.arguments) {
            Some(rows) => rows.into_iter().map(|row| row.text + "\n").collect(),
            None => format!("{}({})", call.tool, call.arguments),
        })),
        PartBody::Thinking(_) | PartBody::Image(_) => None,
    })
}

/// The sentences in which people order something that still holds, each with the place of a message
/// that says it.
pub(crate) fn constraints(talk: &[&Entry]) -> BTreeMap<String, usize> {
    // Only what people say orders anything or takes it back.
    let human = |place: &usize| talk[*place].has_speaker(Speaker::Human);
    let typed: Vec<_> = talk.iter().map(|entry| TypedText::for_entry(entry)).collect();
    let orders =
        |unit: &TextUnit<'_>| demand::demands(&unit.text) && typed[unit.entry()].holds(&unit.text);
    let mut found = Vec::new();
    let is_read = |place: &usize| human(place) && !typed[*place].is_none();
    for place in (0..talk.len()).filter(is_read) {
        let spoken = cut::units(&[talk[place]]).into_iter().filter(TextUnit::is_spoken);
        let spoken = spoken.map(|unit| unit.in_entry(place));
        let numbered = spoken.enumerate().filter(|(_, unit)| orders(unit));
        found.extend(numbered.map(|(number, unit)| ((place, number), unit.text)));
    }
    if found.is_empty() {
        return BTreeMap::new();
    }
    let stale = spoken::stale(talk, orders);
    let holds = found.into_iter().filter(|(at, _)| !stale.contains(at));
    holds.map(|((place, _), text)| (on_one_line(&text), place)).collect()
}

/// A sentence without the mark of a list and without line ends.
fn on_one_line(sentence: &str) -> String {
    without_bullet(sentence).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Texts, read once for many look-ups.
struct FactIndex {
    names: BTreeSet<String>,
    /// Those that spell paths.
    paths: BTreeSet<String>,
    said: String,
}

impl FactIndex {
    fn of(texts: impl Iterator<Item = String>) -> Self {
        let (names, paths) = (BTreeSet::new(), BTreeSet::new());
        let mut out = Self { names, paths, said: String::from(" ") };
        for text in texts {
            for mention in refs::mentions(&text) {
                let names = if mention.kind.is_path() { &mut out.paths } else { &mut out.names };
                names.insert(mention.spelling(&text).to_owned());
            }
            out.names.extend(log_lines::failures(&text).map(str::to_owned));
            out.said.push_str(&plain(&text));
        }
        out
    }

    fn names(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The files among these that the texts name.
    fn files<'f>(&self, files: &'f BTreeSet<String>) -> BTreeSet<&'f str> {
        let known = ToldFiles::from_spellings(files.iter().map(String::as_str));
        let names: Vec<&str> = known.names().collect();
        self.paths.iter().flat_map(|path| known.named_by(path)).map(|at| names[at]).collect()
    }

    fn says(&self, sentence: &str) -> bool {
        self.said.contains(&format!(" {}", plain(sentence)))
    }
}

/// The words of a text in lower case, each followed by a space.
pub(crate) fn plain(text: &str) -> String {
    words::words(text).fold(String::with_capacity(text.len() + 1), |mut out, range| {
        let word = &text[range];
        if word.is_ascii() {
            out.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        } else {
            out.push_str(&word.to_lowercase());
        }
        out.push(' ');
        out
    })
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::EntryId;
    use epitome_testkit::chat;

    use super::*;

    #[test]
    fn escapes_of_arguments_are_no_part_of_a_name() {
        let arguments = r#"{"code":"{\n\tborder_color: 1,\n\tborder_color: 2"}"#;
        let chat = chat().call("write", arguments).result("border_color is set").entries();
        let facts = MustKeepFacts::of(&chat.iter().collect::<Vec<_>>());
        assert_eq!(facts.identifiers.iter().collect::<Vec<_>>(), ["border_color"]);
    }

    #[test]
    fn facts_are_counted_where_they_still_stand() {
        let chat = chat()
            .user("Never touch src/main.rs. The build is slow.")
            .assistant("I saw a ValueError in run_once.")
            .user("Is run_once still broken?")
            .entries();
        let all: Vec<&Entry> = chat.iter().collect();
        let facts = MustKeepFacts::of(&all);
        assert_eq!(facts.constraints.iter().collect::<Vec<_>>(), ["Never touch src/main.rs."]);
        assert_eq!(facts.identifiers.iter().collect::<Vec<_>>(), ["run_once"]);
        let left = [Passage { entry: EntryId(1), text: "I saw a ValueError".into() }];
        let kept = facts.kept(&all[2..], &left);
        assert_eq!((kept.constraints, kept.paths, kept.errors), ([0, 1], [0, 1], [0, 1]));
        assert_eq!((kept.identifiers, kept.recallable), ([1, 1], 1));
        assert_eq!(facts.kept(&all, &[]).constraints, [1, 1]);
        let lost = facts.lost(&all[2..]);
        let expected = ["Never touch src/main.rs.", "ValueError", "src/main.rs"];
        assert_eq!(lost.iter().collect::<Vec<_>>(), expected);
        assert_eq!(facts.lost(&all), MustKeepFacts::default());
        let mut asked = 0;
        let short = lost.filter(|fact| {
            asked += fact.len();
            asked <= 40
        });
        assert_eq!(short.iter().collect::<Vec<_>>(), &expected[..2]);
    }
}
