//! One copy of a file beside others: which of them are copies of the same one.
//!
//! Invariant: a path tells it where it is said; without one, what they have in common does: lines, or
//! words where a model writes anew what a person gave it. Called where the copies of a conversation
//! are counted.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use epitome_types::{FileCopy, PartId, Speaker};

/// The fewest letters of a line, and of a word, that tells one text from another.
const TELLING: usize = 4;

/// How much of one text stands in another that is a version of it, as a share of so many tenths: of
/// lines, of lines where both have one path, of lines where one person gives both and may mean two
/// alike, and of words.
const LINES: usize = 5;
const NAMED_LINES: usize = 3;
const PASTED_LINES: usize = 9;
const WORDS: usize = 7;

/// A copy by its part and its place among the copies of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CopyId {
    pub(crate) part: PartId,
    pub(crate) at: usize,
}

/// A copy with its text, while others are compared with it.
pub(crate) struct ReadCopy<'e> {
    pub(crate) id: CopyId,
    copy: &'e FileCopy,
    text: &'e str,
    speaker: Speaker,
    lines: OnceCell<Vec<u64>>,
    words: OnceCell<Vec<u64>>,
    /// Whether somebody edits it: its path is said, a person gave it, or it was said before. What
    /// else a model writes is an example.
    pub(crate) is_edited: bool,
}

impl<'e> ReadCopy<'e> {
    pub(crate) fn new(id: CopyId, copy: &'e FileCopy, text: &'e str, speaker: Speaker) -> Self {
        let is_edited = copy.named || speaker == Speaker::Human;
        let (lines, words) = (OnceCell::new(), OnceCell::new());
        Self { id, copy, text, speaker, lines, words, is_edited }
    }

    /// Adds a copy to those that count; gives those that count no more. The first of one file is
    /// whole; what is much shorter than that, or says that it is a part, stands beside it.
    pub(crate) fn joins(mut self, known: &mut Vec<Self>) -> Vec<CopyId> {
        let Some(family) = self.family(known) else {
            if !self.copy.partial {
                known.push(self);
            }
            return Vec::new();
        };
        let base = family[0];
        (known[base].is_edited, self.is_edited) = (true, true);
        let base_copy = &known[base];
        let is_part = self.copy.partial || self.is_part_of(base_copy);
        let is_whole = !is_part && self.is_whole_beside(base_copy);
        let stands_for = |at: usize| is_whole || at != base && self.has_most_of(&known[at]);
        let older =
            family.into_iter().filter(|&at| stands_for(at) && self.goes_on_from(&known[at]));
        let older: Vec<_> = older.map(|at| known[at].id).collect();
        known.retain(|other| !older.contains(&other.id));
        known.push(self);
        older
    }

    /// The places of the copies of the file that it is of, oldest first. Where it may be of several,
    /// it is of the one that it has most in common with.
    fn family(&self, known: &[Self]) -> Option<Vec<usize>> {
        let alike = (0..known.len()).filter(|&at| self.is_of_same_file(&known[at]));
        let nearest = alike.clone().max_by_key(|&at| self.common_lines(&known[at]))?;
        let nearest = &known[nearest];
        let is_of = |other: &Self| other.id == nearest.id || other.is_of_same_file(nearest);
        Some(alike.filter(|&at| is_of(&known[at])).collect())
    }

    fn is_of_same_file(&self, other: &Self) -> bool {
        let (one, two) = (&self.copy.path, &other.copy.path);
        match self.copy.named && other.copy.named {
            true => one == two || is_same_path(one, two) && self.may_be_version_of(other),
            false => self.may_be_version_of(other),
        }
    }

    /// Whether one of two copies that do not have one name may be a version of the other.
    fn may_be_version_of(&self, other: &Self) -> bool {
        let pasted = Speaker::Human;
        match (self.speaker == pasted, other.speaker == pasted) {
            // One message gives two texts, however alike they are.
            (true, true) if self.id.part.entry == other.id.part.entry => false,
            (true, true) => {
                let [own, others] = [self, other].map(Self::telling_lines);
                holds_share(own, others, PASTED_LINES) && holds_share(others, own, PASTED_LINES)
            }
            (one, two) if one != two => {
                self.has_most_of(other) || other.has_most_of(self) || self.is_worded_as(other)
            }
            _ => self.has_most_of(other) || other.has_most_of(self),
        }
    }

    /// Whether they have most of their words in common, whatever lines they stand in.
    fn is_worded_as(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(Self::telling_words);
        holds_share(own, others, WORDS) && holds_share(others, own, WORDS)
    }

    /// Whether it may be all of a file that another copy was all of: hardly shorter, or with the same
    /// beginning and end. A wrong yes loses what only the other one has, a wrong no keeps two copies.
    fn is_whole_beside(&self, base: &Self) -> bool {
        let (lines, all) = (u64::from(self.copy.lines), u64::from(base.copy.lines));
        let ends = |text: &'e str| {
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let first = lines.next();
            (first, lines.next_back())
        };
        lines * 10 >= all * 9 || lines * 10 >= all * 3 && ends(self.text) == ends(base.text)
    }

    /// Whether it is only some of another copy: shorter, and what is new in it are comments, or one of
    /// them says that something is left out. An answer that broke off is its beginning.
    fn is_part_of(&self, base: &Self) -> bool {
        let all = base.telling_lines();
        let lines = self.text.lines().map(str::trim).filter(|line| is_telling(line));
        let mut new = lines.filter(|line| all.binary_search(&hash(line)).is_err()).peekable();
        let is_shorter = self.copy.lines < base.copy.lines;
        let comments: Vec<_> = new.clone().filter_map(commented).collect();
        let only_comments = comments.len() == new.clone().count();
        is_shorter
            && (new.peek().is_none() || only_comments || comments.into_iter().any(leaves_out))
    }

    /// Whether it says what another copy says, changed or not: a path alone does not tell, because
    /// people and models give the output of a file, or a part of it, under its name.
    fn goes_on_from(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(Self::telling_lines);
        let is_named = self.copy.path == other.copy.path && holds_share(own, others, NAMED_LINES);
        is_named || self.has_most_of(other) || self.is_worded_as(other)
    }

    /// How many lines that tell it from other texts stand in another copy.
    fn common_lines(&self, other: &Self) -> usize {
        common(self.telling_lines(), other.telling_lines())
    }

    /// Whether half of the lines of another copy stand in it.
    fn has_most_of(&self, other: &Self) -> bool {
        holds_share(self.telling_lines(), other.telling_lines(), LINES)
    }

    /// The hashes of the lines that tell it from other texts, each once, in order: brackets stand
    /// in all of them.
    fn telling_lines(&self) -> &[u64] {
        self.lines.get_or_init(|| {
            let lines = self.text.lines().map(str::trim);
            hashes(lines.filter(|line| is_telling(line)))
        })
    }

    /// The hashes of the words that tell it from other texts.
    fn telling_words(&self) -> &[u64] {
        self.words.get_or_init(|| {
            let words = self.text.split(|c: char| !c.is_alphanumeric() && c != '_');
            hashes(words.filter(|word| word.len() >= TELLING))
        })
    }
}

/// Whether a line tells a text from another: brackets stand in all of them.
fn is_telling(line: &str) -> bool {
    line.chars().filter(|letter| letter.is_alphanumeric()).take(TELLING).count() == TELLING
}

/// What a line says that is a comment.
fn commented(line: &str) -> Option<&str> {
    const MARKS: [&str; 8] = ["#", "//", "/*", "--", "<!--", ";", "%", "{/*"];
    MARKS.iter().find_map(|mark| line.strip_prefix(mark))
}

/// Whether a comment may say that something stands here that is left out. It is asked of comments
/// that an older copy does not have, so a wrong yes keeps that one beside the newer.
fn leaves_out(comment: &str) -> bool {
    const WORDS: [&str; 12] = [
        "same",
        "other",
        "others",
        "rest",
        "remaining",
        "unchanged",
        "existing",
        "omitted",
        "before",
        "above",
        "continues",
        "unverändert",
    ];
    let words: Vec<String> = comment
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.len() <= 8 && words.iter().any(|word| WORDS.contains(&&**word))
}

/// Whether so many tenths of the others are among these; both are in order.
fn holds_share(these: &[u64], others: &[u64], tenths: usize) -> bool {
    let found = common(these, others);
    found > 0 && found * 10 >= others.len() * tenths
}

/// How many of the others are among these; these are in order.
fn common(these: &[u64], others: &[u64]) -> usize {
    others.iter().filter(|other| these.binary_search(other).is_ok()).count()
}

/// The hashes of texts, each once, in order.
fn hashes<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<u64> {
    let mut hashes: Vec<_> = texts.map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Whether two paths may name one file: they are equal, or one ends with the other.
fn is_same_path(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() < other.len() { (other, one) } else { (one, other) };
    long.strip_suffix(short).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}
