//! How what was found is shown: by file where all files fit, else by folder.
//!
//! Invariant: what is not shown is counted with its file, its folder or its kind. Called by the
//! digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::kind;
use epitome_plugin::text::outline::{
    self, DigestOutline, OutlineItem, RankCap, clip, counted, passages, share,
};
use epitome_plugin::{DigestInput, DigestOutput};
use rustc_hash::FxHashMap;

use crate::results::{SearchLine, SearchResults, is_beside};

const KIND: &str = "search";
/// A line has at most about this many bytes.
const LINE: usize = 400;
/// Names of a list of files that stand in one line.
const NAMES: usize = 8;
/// Where not all paths fit, folders are named down to these depths; at last only some of them.
const DEPTHS: [(usize, bool); 5] =
    [(usize::MAX, true), (3, true), (2, true), (1, true), (1, false)];

/// Ranks: what holds others, what says something else, lines around it, what says something again.
const HEAD: u32 = 0;
const FIRST: u32 = 1;
const BESIDE: u32 = 1 << 15;
const LIKE: u32 = 1 << 16;

impl<'a> SearchResults<'a> {
    /// The digest; `None` where nothing fits.
    pub(crate) fn digest(&self, job: &DigestInput<'_>) -> Option<DigestOutput> {
        let (items, how) = if self.hits > 0 {
            (self.by_file(job), "by file")
        } else {
            (self.by_folder(), "by folder")
        };
        let caps = self.caps(job);
        let outline = DigestOutline { head: self.head(how), items, caps, noun: None, must: true };
        outline.fill(job, KIND).or_else(|| self.folders(job))
    }

    /// Each file, and below it its hits: those that say something else before those that do not.
    fn by_file(&self, job: &DigestInput<'a>) -> Vec<OutlineItem<'a>> {
        let mut items = Vec::with_capacity(self.files.len() + self.hits);
        let mut kinds: FxHashMap<u64, usize> = FxHashMap::default();
        for file in &self.files {
            let head = match file.hits.len() {
                0 => file.path.into(),
                hits => titled(file.path, &counted(hits, "hits")).into(),
            };
            push(&mut items, head, file.span.clone(), HEAD, true);
            for (place, SearchLine { span, said }) in file.hits.iter().enumerate() {
                let hit = &job.text[*said..span.end];
                let text = clip(hit, LINE);
                let whole = text.len() == hit.len();
                let own = items.len();
                let like = *kinds.entry(kind::of(hit).0).or_insert(own);
                let rank = if like == own { first(hit, place) } else { LIKE + place as u32 };
                items.push(OutlineItem { text, span: span.clone(), rank, like, whole });
            }
        }
        self.push_others(job, &mut items);
        items
    }

    /// Each folder, and below it the names in it.
    fn by_folder(&self) -> Vec<OutlineItem<'a>> {
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
    fn folders(&self, job: &DigestInput<'_>) -> Option<DigestOutput> {
        let kinds = self.kinds(job);
        DEPTHS.iter().find_map(|&(depth, all)| {
            let mut items = Vec::new();
            let mut untold: Vec<Range<usize>> = Vec::new();
            for (folder, files) in self.grouped(depth) {
                let hits: usize = files.iter().map(|file| self.files[*file].hits.len()).sum();
                let count = counted(files.len(), "files");
                let said = match hits {
                    0 => titled(folder, &count),
                    hits => titled(folder, &format!("{count}, {}", counted(hits, "hits"))),
                };
                push(&mut items, said.into(), 0..0, HEAD, true);
                for (place, file) in files.iter().map(|file| &self.files[*file]).enumerate() {
                    let name = &file.path[folder.len()..];
                    let told = |hit: &&SearchLine| all && kinds.contains_key(&hit.said);
                    let (told, others): (Vec<&SearchLine>, Vec<&SearchLine>) =
                        file.hits.iter().partition(told);
                    untold.extend(others.into_iter().map(|hit| hit.span.clone()));
                    for (place, hit) in told.iter().enumerate() {
                        let (said, whole) = &kinds[&hit.said];
                        let rank = first(said, place);
                        let text = format!("{name}:{said}");
                        push(&mut items, text.into(), hit.span.clone(), rank, *whole);
                    }
                    let (text, rank): (Cow<'_, str>, u32) = match file.hits.len() {
                        _ if !told.is_empty() => continue,
                        _ if !all => {
                            untold.push(file.span.clone());
                            continue;
                        }
                        0 => (name.into(), FIRST + place as u32),
                        1 => (name.into(), LIKE + place as u32),
                        hits => (titled(name, &counted(hits, "hits")).into(), LIKE + place as u32),
                    };
                    push(&mut items, text, file.span.clone(), rank, true);
                }
            }
            let head = self.head("by folder, not all shown");
            let noun = (!all).then_some("folders");
            let outline = DigestOutline { head, items, caps: self.caps(job), noun, must: all };
            let mut digest = outline.fill(job, KIND)?;
            digest.left = passages(job.text, digest.left.into_iter().chain(untold));
            Some(digest)
        })
    }

    /// Of hits a sample says enough; of a list of files each name counts.
    fn caps(&self, job: &DigestInput<'_>) -> Vec<RankCap> {
        if self.hits == 0 {
            return Vec::new();
        }
        let size = job.size(job.text);
        vec![
            RankCap { rank: HEAD, most: share(size, 0.05).clamp(600, 1000) },
            RankCap { rank: LIKE, most: share(size, 0.03).clamp(300, 500) },
        ]
    }

    /// The first hit of each kind with a note about those like it, and whether it is whole, by
    /// where it stands.
    fn kinds(&self, job: &DigestInput<'a>) -> FxHashMap<usize, (String, bool)> {
        let mut kinds: FxHashMap<u64, Vec<&SearchLine>> = FxHashMap::default();
        for hit in self.files.iter().flat_map(|file| &file.hits) {
            kinds.entry(kind::of(&job.text[hit.said..hit.span.end]).0).or_default().push(hit);
        }
        let said = |hit: &&SearchLine| &job.text[hit.said..hit.span.end];
        let noted = |hits: Vec<&SearchLine>| {
            let first = hits.first()?;
            let note = outline::like(hits.len(), &kind::spans(hits.iter().map(said)));
            let text = clip(said(first), LINE);
            let whole = text.len() == said(first).len();
            Some((first.said, (text.into_owned() + &note, whole)))
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
    fn push_others(&self, job: &DigestInput<'a>, items: &mut Vec<OutlineItem<'a>>) {
        for span in &self.others {
            let line = &job.text[span.clone()];
            let text = clip(line, LINE);
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

/// The folder of a path with its slash, at most so many names deep; empty for a bare name.
fn folder(path: &str, depth: usize) -> &str {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    // The `./` and `/` with which a path may begin are no names.
    let root =
        ["./", "/"].iter().find(|root| path.starts_with(**root)).map_or(0, |root| root.len());
    let end = ends.filter(|end| *end > root).take(depth).last();
    &path[..end.unwrap_or(root)]
}

/// The rank of a hit that says something else, by its place in its file: each file's first comes
/// before any second, and the lines around hits behind them all.
fn first(hit: &str, place: usize) -> u32 {
    let rank = if is_beside(hit) { BESIDE } else { FIRST };
    rank + (place as u32).min(BESIDE - FIRST - 1)
}

/// A path, which may be empty, and what is in it.
fn titled(path: &str, count: &str) -> String {
    if path.is_empty() { format!("[… {count}]") } else { format!("{path} [… {count}]") }
}

fn push<'a>(
    items: &mut Vec<OutlineItem<'a>>,
    text: Cow<'a, str>,
    span: Range<usize>,
    rank: u32,
    whole: bool,
) {
    items.push(OutlineItem { text, span, rank, like: items.len(), whole });
}
