//! Hits of a search and lists of files: grouped, with the first of each group.
//!
//! Invariant: a shown hit keeps its line number and its words; every path is shown, or its folder
//! with a count. Called by [`super::Digests`].

use std::borrow::Cow;
use std::ops::Range;

use epitome_kernel::{DigestJob, Digested};
use rustc_hash::FxHashMap;

use super::outline::{self, Item, Outline, clip, counted, passages};
use super::{Task, kind, shape};
use crate::tuning::Shapes;

/// Names of a list of files that stand in one line.
const NAMES: usize = 8;
/// Where not all paths fit, folders are named down to these depths; at last only some of them.
const DEPTHS: [(usize, bool); 5] =
    [(usize::MAX, true), (3, true), (2, true), (1, true), (1, false)];

/// Ranks: what holds others, what says something else, what says something again.
const HEAD: u32 = 0;
const FIRST: u32 = 1;
const LIKE: u32 = 1 << 16;

/// What was found, by file.
#[derive(Debug, Default)]
pub(super) struct Search<'a> {
    files: Vec<File<'a>>,
    places: FxHashMap<&'a str, usize>,
    /// Lines that are neither path nor hit.
    others: Vec<Range<usize>>,
    lines: usize,
    hits: usize,
    /// Hits that a compiler wrote.
    complaints: usize,
}

#[derive(Debug)]
struct File<'a> {
    path: &'a str,
    span: Range<usize>,
    hits: Vec<Hit>,
}

#[derive(Clone, Debug)]
struct Hit {
    /// The whole line.
    span: Range<usize>,
    /// Where it goes on behind the path.
    said: usize,
}

impl<'a> Search<'a> {
    /// Reads a text: `path:line:text` or `path:text` on each line, or paths with hits below them.
    pub(super) fn read(text: &'a str) -> Self {
        let mut out = Self::default();
        let mut under: Option<usize> = None;
        for span in shape::lines(text) {
            let line = &text[span.clone()];
            if line.trim().is_empty() || line == "--" {
                under = under.filter(|_| line == "--");
                continue;
            }
            out.lines += 1;
            if let (Some(file), Some(_)) = (under, numbered(line)) {
                out.hit(file, text, Hit { said: span.start, span });
            } else if let Some(path) = hit(line) {
                let file = out.file(path, span.start..span.start);
                out.hit(file, text, Hit { said: span.start + path.len() + 1, span });
                under = None;
            } else if shape::is_path(line.trim()) {
                under = Some(out.file(line.trim(), span));
            } else {
                out.others.push(span);
            }
        }
        out
    }

    fn file(&mut self, path: &'a str, span: Range<usize>) -> usize {
        *self.places.entry(path).or_insert_with(|| {
            self.files.push(File { path, span, hits: Vec::new() });
            self.files.len() - 1
        })
    }

    fn hit(&mut self, file: usize, text: &str, hit: Hit) {
        let said = text[hit.said..hit.span.end]
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        let complains = ["error", "warning", "note:", "fatal"];
        let said = said.trim_start();
        self.complaints += usize::from(complains.iter().any(|word| said.starts_with(word)));
        self.hits += 1;
        self.files[file].hits.push(hit);
    }

    /// Whether nearly every line is a path or a hit, and no compiler wrote them.
    pub(super) fn is_one(&self, shapes: &Shapes) -> bool {
        let known = self.lines - self.others.len();
        self.lines >= shapes.lines_least
            && known as f64 >= self.lines as f64 * shapes.hits_share
            && self.complaints as f64 <= self.hits as f64 * (1.0 - shapes.hits_share)
            && self.files.iter().any(|file| file.path.contains('/') || !file.hits.is_empty())
    }

    /// The digest; `None` where nothing fits.
    pub(super) fn digest(&self, task: &Task<'_>) -> Option<Digested> {
        let Task { job, shapes, .. } = *task;
        let (items, how) = if self.hits > 0 {
            (self.by_file(job, shapes), "by file")
        } else {
            (self.by_folder(), "by folder")
        };
        let like = if self.hits > 0 { LIKE } else { u32::MAX };
        let outline = Outline { head: self.head(how), items, like, noun: None, must: true };
        outline.fill(task, "search").or_else(|| self.folders(task))
    }

    /// Each file, and below it its hits: those that say something else before those that do not.
    fn by_file(&self, job: &DigestJob<'a>, shapes: &Shapes) -> Vec<Item<'a>> {
        let mut items = Vec::with_capacity(self.files.len() + self.hits);
        let mut kinds: FxHashMap<u64, usize> = FxHashMap::default();
        for file in &self.files {
            let head = match file.hits.len() {
                0 => file.path.into(),
                hits => titled(file.path, &counted(hits, "hits")).into(),
            };
            push(&mut items, head, file.span.clone(), HEAD, true);
            for (place, Hit { span, said }) in file.hits.iter().enumerate() {
                let hit = &job.text[*said..span.end];
                let text = clip(hit, shapes.line);
                let whole = text.len() == hit.len();
                let own = items.len();
                let like = *kinds.entry(kind::of(hit).0).or_insert(own);
                let rank = if like == own { FIRST } else { LIKE + place as u32 };
                items.push(Item { text, span: span.clone(), rank, like, whole });
            }
        }
        self.push_others(job, shapes, &mut items);
        items
    }

    /// Each folder, and below it the names in it.
    fn by_folder(&self) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        for (folder, files) in self.grouped(usize::MAX) {
            let head = titled(folder, &counted(files.len(), "files"));
            let start = self.files[files[0]].span.start;
            push(&mut items, head.into(), start..start, HEAD, true);
            for (place, names) in files.chunks(NAMES).enumerate() {
                let text: Vec<&str> =
                    names.iter().map(|file| &self.files[*file].path[folder.len()..]).collect();
                let ends = [names[0], names[names.len() - 1]].map(|file| &self.files[file].span);
                let span = ends[0].start..ends[1].end;
                push(&mut items, text.join(" ").into(), span, FIRST + place as u32, true);
            }
        }
        items
    }

    /// All folders, as deep as they fit, and of each the first files and the hits that say
    /// something else.
    fn folders(&self, task: &Task<'_>) -> Option<Digested> {
        let Task { job, shapes, .. } = *task;
        let kinds = self.kinds(job);
        DEPTHS.iter().find_map(|&(depth, all)| {
            let mut items = Vec::new();
            for (folder, files) in self.grouped(depth) {
                let hits: usize = files.iter().map(|file| self.files[*file].hits.len()).sum();
                let count = counted(files.len(), "files");
                let said = match hits {
                    0 => titled(folder, &count),
                    hits => titled(folder, &format!("{count}, {}", counted(hits, "hits"))),
                };
                push(&mut items, said.into(), 0..0, HEAD, true);
                let files = files.iter().filter(|_| all).map(|file| &self.files[*file]);
                for (place, file) in files.enumerate() {
                    let name = &file.path[folder.len()..];
                    let firsts: Vec<String> = file
                        .hits
                        .iter()
                        .filter_map(|hit| kinds.get(&hit.said))
                        .map(|said| format!("{name}:{}", clip(said, shapes.line)))
                        .collect();
                    let (said, rank) = match file.hits.len() {
                        0 => (name.into(), FIRST + place as u32),
                        _ if !firsts.is_empty() => (firsts.join("\n").into(), FIRST),
                        1 => (name.into(), LIKE + place as u32),
                        hits => (titled(name, &counted(hits, "hits")).into(), LIKE + place as u32),
                    };
                    push(&mut items, said, file.span.clone(), rank, true);
                }
            }
            let head = self.head("by folder, not all shown");
            let noun = (!all).then_some("folders");
            let like = if self.hits > 0 { LIKE } else { u32::MAX };
            let mut digest = Outline { head, items, like, noun, must: all }.fill(task, "search")?;
            if self.hits > 0 || !all {
                let found = self.files.iter().flat_map(|file| {
                    let hits = file.hits.iter().map(|hit| hit.span.clone());
                    std::iter::once(file.span.clone()).chain(hits)
                });
                digest.left = passages(job.text, found);
            }
            Some(digest)
        })
    }

    /// The first hit of each kind with a note about those like it, by where it stands.
    fn kinds(&self, job: &DigestJob<'a>) -> FxHashMap<usize, String> {
        let mut kinds: FxHashMap<u64, Vec<&Hit>> = FxHashMap::default();
        for hit in self.files.iter().flat_map(|file| &file.hits) {
            kinds.entry(kind::of(&job.text[hit.said..hit.span.end]).0).or_default().push(hit);
        }
        let said = |hit: &&Hit| &job.text[hit.said..hit.span.end];
        let noted = |hits: Vec<&Hit>| {
            let first = *hits.first()?;
            let note = outline::like(hits.len(), &kind::spans(hits.iter().map(said)));
            Some((first.said, said(&first).to_owned() + &note))
        };
        kinds.into_values().filter_map(noted).collect()
    }

    /// The files of each folder, in the order in which the folders were first seen.
    fn grouped(&self, depth: usize) -> Vec<(&'a str, Vec<usize>)> {
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        let mut out: Vec<(&'a str, Vec<usize>)> = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let folder = folder(file.path, depth);
            let place = *places.entry(folder).or_insert(out.len());
            if place == out.len() {
                out.push((folder, Vec::new()));
            }
            out[place].1.push(index);
        }
        out
    }

    /// What is neither path nor hit stands at the end.
    fn push_others(&self, job: &DigestJob<'a>, shapes: &Shapes, items: &mut Vec<Item<'a>>) {
        for span in &self.others {
            let line = &job.text[span.clone()];
            let text = clip(line, shapes.line);
            let whole = text.len() == line.len();
            push(items, text, span.clone(), FIRST, whole);
        }
    }

    fn head(&self, how: &str) -> String {
        let files = counted(self.files.len(), "files");
        if self.hits > 0 {
            format!("[… {} in {files}, {how}]", counted(self.hits, "hits"))
        } else {
            format!("[… {files}, {how}]")
        }
    }
}

/// The path in front of a hit.
fn hit(line: &str) -> Option<&str> {
    let colon = line.find(':')?;
    let (path, rest) = line.split_at(colon);
    if shape::is_path(path) && (numbered(&rest[1..]).is_some() || path.contains('/')) {
        return Some(path);
    }
    // A line of context: `path-12-text`.
    line.match_indices('-')
        .map(|(at, _)| line.split_at(at))
        .find(|(path, rest)| {
            shape::is_path(path) && numbered(&rest[1..]).is_some_and(|sign| sign == b'-')
        })
        .map(|(path, _)| path)
}

/// The sign behind the line number with which a hit begins.
fn numbered(line: &str) -> Option<u8> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line.as_bytes().get(digits).copied().filter(|sign| digits > 0 && matches!(sign, b':' | b'-'))
}

/// The folder of a path with its slash, at most so many names deep; empty for a bare name.
fn folder(path: &str, depth: usize) -> &str {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    // The `./` and `/` with which a path may begin are no names.
    let root =
        ["./", "/"].iter().find(|root| path.starts_with(**root)).map_or(0, |root| root.len());
    let end = ends.filter(|end| *end > root).take(depth).last();
    &path[..end.unwrap_or(root)]
}

/// A path, which may be empty, and what is in it.
fn titled(path: &str, count: &str) -> String {
    if path.is_empty() { format!("[… {count}]") } else { format!("{path} [… {count}]") }
}

fn push<'a>(
    items: &mut Vec<Item<'a>>,
    text: Cow<'a, str>,
    span: Range<usize>,
    rank: u32,
    whole: bool,
) {
    items.push(Item { text, span, rank, like: items.len(), whole });
}
