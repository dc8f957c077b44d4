//! What a search printed: hits by file, and the paths of lists.
//!
//! Invariant: each line is a path, a hit of one file, or neither. Called by the digest.

use std::ops::Range;

use epitome_plugin::text::shape;
use rustc_hash::FxHashMap;

/// There are at least this many lines.
const LINES: usize = 12;
/// At least this share of them are paths and hits.
const SHARE: f64 = 0.8;

/// What was found, by file.
#[derive(Debug, Default)]
pub(crate) struct SearchResults<'a> {
    pub(crate) files: Vec<FileHits<'a>>,
    places: FxHashMap<&'a str, usize>,
    /// Lines that are neither path nor hit.
    pub(crate) others: Vec<Range<usize>>,
    lines: usize,
    pub(crate) hits: usize,
    /// Hits that a compiler wrote.
    complaints: usize,
}

#[derive(Debug)]
pub(crate) struct FileHits<'a> {
    pub(crate) path: &'a str,
    pub(crate) span: Range<usize>,
    pub(crate) hits: Vec<SearchLine>,
}

#[derive(Clone, Debug)]
pub(crate) struct SearchLine {
    /// The whole line.
    pub(crate) span: Range<usize>,
    /// Where it goes on behind the path.
    pub(crate) said: usize,
}

impl<'a> SearchResults<'a> {
    /// Reads a text: `path:line:text` or `path:text` on each line, or paths with hits below them.
    pub(crate) fn read(text: &'a str) -> Self {
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
                out.hit(file, text, SearchLine { said: span.start, span });
            } else if let Some(path) = hit(line) {
                let file = out.file(path, span.start..span.start);
                out.hit(file, text, SearchLine { said: span.start + path.len() + 1, span });
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
            self.files.push(FileHits { path, span, hits: Vec::new() });
            self.files.len() - 1
        })
    }

    fn hit(&mut self, file: usize, text: &str, hit: SearchLine) {
        let said = text[hit.said..hit.span.end]
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        let complains = ["error", "warning", "note:", "fatal"];
        let said = said.trim_start();
        self.complaints += usize::from(complains.iter().any(|word| said.starts_with(word)));
        self.hits += 1;
        self.files[file].hits.push(hit);
    }

    /// Whether nearly every line is a path or a hit, and no compiler wrote them.
    pub(crate) fn is_one(&self) -> bool {
        let known = self.lines - self.others.len();
        self.lines >= LINES
            && known as f64 >= self.lines as f64 * SHARE
            && self.complaints as f64 <= self.hits as f64 * (1.0 - SHARE)
            && self.files.iter().any(|file| file.path.contains('/') || !file.hits.is_empty())
    }
}

/// The path in front of a hit.
fn hit(line: &str) -> Option<&str> {
    if let Some((path, rest)) = line.split_once(':')
        && shape::is_path(path)
        // `path::name` names a test.
        && (numbered(rest).is_some() || path.contains('/') && !rest.starts_with(':'))
    {
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

/// Whether what stands behind a path is a line around a hit.
pub(crate) fn is_beside(said: &str) -> bool {
    numbered(said) == Some(b'-')
}

/// The sign behind the line number with which a hit begins.
fn numbered(line: &str) -> Option<u8> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line.as_bytes().get(digits).copied().filter(|sign| digits > 0 && matches!(sign, b':' | b'-'))
}
