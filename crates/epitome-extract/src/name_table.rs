//! The names in a conversation: which of them are facts, which stand in its prompt, which left.
//!
//! Invariant: each text is read once, and a name is held once however often it is said.

use std::hash::BuildHasher;

use epitome_kernel::types::{FactCounts, Passage};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::log_lines;
use crate::refs::{self, Mention, RefKind};
use crate::slice;
use crate::told_files::ToldFiles;

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
pub(crate) struct NameTable<'t> {
    tables: Vec<FxHashMap<&'t str, Name>>,
    /// Paths in what was made of the conversation that are spelled as it never spells one.
    respelled: FxHashMap<String, Name>,
}

/// What is known of a name.
#[derive(Default)]
struct Name {
    /// Whether it spells a path, in the talk or elsewhere.
    is_path: bool,
    /// Whether the talk says it as a path, as an error.
    path: bool,
    error: bool,
    /// Whether it stands in the prompt.
    held: bool,
    /// Whether it stands in what left.
    left: bool,
    /// Whether it stands in several entries as an identifier.
    again: bool,
    /// One more than the last entry in which it does, 0 for none.
    last: u32,
    /// The last entry of the talk that mentions it as a fact.
    said: u32,
}

/// A name that is lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LostName<'t> {
    /// Where [`KINDS`] has its kind.
    rank: u8,
    pub(crate) text: &'t str,
    /// The entry that said it last.
    pub(crate) said: u32,
}

/// What kinds of names are called, in the order in which they are told.
const KINDS: [&str; 3] = ["error", "path", "identifier"];
const ERROR: u8 = 0;
const PATH: u8 = 1;
const IDENTIFIER: u8 = 2;

impl LostName<'_> {
    /// What its kind is called.
    pub(crate) fn kind(&self) -> &'static str {
        KINDS[usize::from(self.rank)]
    }
}

impl Name {
    /// Whether it is a fact of some kind.
    fn is_fact(&self) -> bool {
        self.path || self.error || self.again
    }

    /// Notes that it stands where another spelling of it does.
    fn merge(&mut self, other: &Self) {
        self.held |= other.held;
        self.left |= other.left;
        if other.path {
            self.said = self.said.max(other.said);
        }
    }
}

/// Whether mentions of a kind may be facts.
fn is_fact(kind: RefKind) -> bool {
    use RefKind::{Error, File, Id, Ident, Path};
    matches!(kind, Path | File | Error | Ident | Id)
}

/// The names that a text says, each with whether it spells a path.
fn names(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mentioned = mentions(text).map(|(text, it)| (it.spelling(text), it.kind.is_path()));
    mentioned.chain(log_lines::failures(text).map(|failure| (failure, false)))
}

impl<'t> NameTable<'t> {
    /// None yet, with room for those of texts of so many bytes.
    pub(crate) fn of_texts(bytes: usize) -> Self {
        let tables = if bytes > ONE_TABLE { TABLES as usize } else { 1 };
        let names = (bytes / BYTES_OF_NAME).min(MOST_NAMES) / tables;
        let table = || FxHashMap::with_capacity_and_hasher(names, FxBuildHasher);
        Self { tables: (0..tables).map(|_| table()).collect(), respelled: FxHashMap::default() }
    }

    /// The table in which a name stands.
    fn table(&mut self, name: &str) -> &mut FxHashMap<&'t str, Name> {
        let all = self.tables.len() as u64;
        // Neither its highest bits nor its lowest: a table tells names apart by these.
        let place = if all > 1 { (FxBuildHasher.hash_one(name) >> 32) % all } else { 0 };
        &mut self.tables[place as usize]
    }

    /// Reads a text of an entry; only what is talk has facts.
    pub(crate) fn read(&mut self, text: &'t str, place: u32, is_talk: bool, stays: bool) {
        // Of what left, only what may be a fact counts.
        let counts = |kind| stays || is_talk && is_fact(kind);
        for (text, mention) in mentions(text).filter(|(_, mention)| counts(mention.kind)) {
            let spelled = mention.spelling(text);
            let name = self.table(spelled).entry(spelled).or_default();
            name.held |= stays;
            name.is_path |= mention.kind.is_path();
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
    pub(crate) fn hold(&mut self, text: &str) {
        for (spelled, is_path) in names(text) {
            if let Some(name) = self.known(spelled, is_path) {
                name.held = true;
            }
        }
    }

    /// What is known of a name; of one that the conversation never says, where it spells a path, which
    /// may be one that is spelled otherwise there.
    fn known(&mut self, spelled: &str, is_path: bool) -> Option<&mut Name> {
        if self.table(spelled).contains_key(spelled) {
            return self.table(spelled).get_mut(spelled);
        }
        is_path.then(|| self.respelled.entry(spelled.to_owned()).or_default())
    }

    /// Notes which names stand in what left.
    fn find(&mut self, left: &[Passage]) {
        let known = self.tables.iter().flat_map(|table| table.values());
        let mut sought = known.filter(|name| name.is_fact() && !name.held).count();
        for passage in left {
            if sought == 0 {
                break;
            }
            for (spelled, is_path) in names(&passage.text) {
                let Some(name) = self.known(spelled, is_path) else { continue };
                sought -= usize::from(name.is_fact() && !name.held && !name.left);
                name.left = true;
            }
        }
    }

    /// The files that the talk names, with what is known of each.
    fn files(&self) -> Vec<(&'t str, Name)> {
        let spellings = || self.tables.iter().flatten();
        let said = spellings().filter(|(_, name)| name.path).map(|(spelled, _)| *spelled);
        let files = ToldFiles::from_spellings(said);
        let mut known: Vec<Name> = files.names().map(|_| Name::default()).collect();
        let respelled = self.respelled.iter().map(|(spelled, name)| (&**spelled, name));
        let paths = spellings().filter(|(_, name)| name.is_path).map(|(text, name)| (*text, name));
        for (spelled, name) in paths.chain(respelled) {
            files.named_by(spelled).for_each(|file| known[file].merge(name));
        }
        files.names().zip(known).collect()
    }

    /// How many of the facts are held, and how many of the others stand in what left; and those
    /// others, each with its kind and the entry that said it.
    pub(crate) fn count(mut self, left: &[Passage]) -> (FactCounts, Vec<LostName<'t>>) {
        self.find(left);
        let files = self.files();
        let names = || self.tables.iter().flatten();
        let errors = names().filter(|(_, name)| name.error);
        let identifiers = names().filter(|(_, name)| name.again);
        let facts = errors
            .map(|(text, name)| (ERROR, *text, name))
            .chain(files.iter().map(|(text, name)| (PATH, *text, name)))
            .chain(identifiers.map(|(text, name)| (IDENTIFIER, *text, name)));
        let mut counts = [[0; 2]; KINDS.len()];
        let (mut gone, mut recallable) = (Vec::new(), 0);
        for (rank, text, name) in facts {
            let [held, all] = &mut counts[usize::from(rank)];
            *all += 1;
            *held += u32::from(name.held);
            if !name.held {
                recallable += u32::from(name.left);
                gone.push(LostName { rank, text, said: name.said });
            }
        }
        gone.sort_unstable();
        let [errors, paths, identifiers] = counts;
        (FactCounts { paths, errors, identifiers, recallable, ..FactCounts::default() }, gone)
    }
}
