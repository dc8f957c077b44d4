//! One text, walked through once for copies of files.
//!
//! Invariant: copies do not overlap and are found in their order; a label binds what follows it and
//! nothing else. Called for each text of a request.

use std::mem;
use std::ops::Range;

use epitome_types::FileCopy;

use super::body::{self, FileBody, LeastLines};
use super::edit_request;
use super::frame::{Fence, OpenedTag, SignLine};
use super::label::{self, Binding, FileLabel};
use super::map;
use crate::json::{Cursor, JsonValueKind};

/// How many values of JSON and tags without an end are read of a text: each may be as long as the
/// rest of it.
const TRIES: u32 = 16;

/// How many words a line may have that stands between a label and what it names.
const BETWEEN: usize = 3;

/// So many lines at either end of a text are looked at for what somebody asks.
const ASKED_IN: usize = 8;

/// The most characters of a first line that names a text.
const FIRST: usize = 60;

pub(super) struct CopyScanner<'t> {
    text: &'t str,
    lines: Vec<Range<usize>>,
    /// The first line that no copy has taken.
    free: usize,
    /// A path that an element of its own gives, and its line.
    given: Option<(String, usize)>,
    tries: u32,
    least: LeastLines,
    found: Vec<FileCopy>,
    /// What stands between fences and counts as no file by its shape.
    others: Vec<OtherBody>,
}

/// A body that is a file where somebody asks for it, and the path that it is bound to.
struct OtherBody {
    path: Option<String>,
    /// The lines of its fence.
    lines: Range<usize>,
    closed: bool,
}

impl<'t> CopyScanner<'t> {
    pub(super) fn new(text: &'t str, least: LeastLines) -> Self {
        let mut lines = Vec::new();
        // What has no room for a file holds none.
        if text.len() > 32 {
            let mut start = 0;
            for line in text.split_inclusive('\n') {
                lines.push(start..start + line.len());
                start += line.len();
            }
        }
        let (found, others) = (Vec::new(), Vec::new());
        Self { text, lines, free: 0, given: None, tries: TRIES, least, found, others }
    }

    /// The copies that the text holds.
    pub(super) fn found(mut self) -> Vec<FileCopy> {
        let mut at = 0;
        while at < self.lines.len() {
            at = self.step(at);
        }
        // Beside what is marked or named, what is neither is talk.
        if self.found.is_empty() && self.free == 0 {
            self.bare();
        }
        self.asked_for();
        self.found.shrink_to_fit();
        self.found
    }

    /// Looks at what begins with a line; gives the line to go on from.
    fn step(&mut self, at: usize) -> usize {
        let line = self.line(at);
        if let Some(fence) = Fence::opened(line) {
            return self.fenced(at, fence);
        }
        let next = match line.trim_start().chars().next() {
            None => None,
            Some('<') => self.tagged(at),
            Some('{' | '[') => self.mapped(at),
            Some(_) => None,
        };
        let next = next.or_else(|| self.signed(at)).or_else(|| self.headed(at));
        next.or_else(|| self.mentioned(at)).unwrap_or(at + 1)
    }

    fn line(&self, at: usize) -> &'t str {
        self.lines.get(at).map_or("", |range| &self.text[range.clone()])
    }

    fn is_blank(&self, at: usize) -> bool {
        self.line(at).trim().is_empty()
    }

    /// The first line from here on that is not blank.
    fn filled(&self, at: usize) -> usize {
        (at..self.lines.len()).find(|&at| !self.is_blank(at)).unwrap_or(self.lines.len())
    }

    /// The bytes of lines.
    fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        let start = self.lines.get(lines.start).map_or(self.text.len(), |range| range.start);
        let end = self.lines.get(lines.end).map_or(self.text.len(), |range| range.start);
        start..end.max(start)
    }

    /// Takes a body that stands between marks, or (not `framed`) follows its label. Nobody else's
    /// words stand in one that is `closed`.
    fn take(&mut self, label: FileLabel, body: Range<usize>, framed: bool, closed: bool) -> bool {
        let Some(found) = body::of(&self.text[body.clone()], &label, framed, self.least) else {
            return false;
        };
        let (lines, partial) = (found.lines, found.partial);
        self.found.push(FileCopy { path: label.path, named: true, body, lines, partial, closed });
        true
    }

    /// Takes source whose path nobody says.
    fn take_unnamed(&mut self, body: Range<usize>, found: FileBody, closed: bool) {
        let (path, lines) = (unnamed(&self.text[body.clone()]), found.lines);
        self.found.push(FileCopy { path, named: false, body, lines, partial: false, closed });
    }

    /// What a text holds of source, or of settings, that stands in talk without any mark. Source that a
    /// program prints, between headlines of its own, is what it found there.
    fn bare(&mut self) {
        let Some(least) = self.least.bare else { return };
        if (0..self.lines.len()).any(|at| body::is_headline(self.line(at).trim())) {
            return;
        }
        let source = self.between(body::opens_source, body::may_be_source);
        let settings = self.between(body::is_of_settings, body::is_of_settings);
        let found = [source, settings].into_iter().flatten().find_map(|body| {
            let found = body::of_unnamed(&self.text[body.clone()], None, least)?;
            Some((body, found))
        });
        if let Some((body, found)) = found {
            self.take_unnamed(body, found, false);
        }
    }

    /// What a person asks to have edited, or given back whole, is a file whatever its shape: what stands
    /// between fences, or else the rest of the text.
    fn asked_for(&mut self) {
        let Some(least) = self.least.bare.filter(|_| !self.lines.is_empty()) else { return };
        let has_fences = self.free > 0;
        if has_fences && self.others.is_empty() || !has_fences && !self.found.is_empty() {
            return;
        }
        let Some(asked) = self.asking() else { return };
        for other in mem::take(&mut self.others) {
            self.take_other(other, self.least.labelled);
        }
        if !has_fences {
            let (before, after) = (0..asked, asked + 1..self.lines.len());
            let lines = if before.len() > after.len() { before } else { after };
            self.take_other(OtherBody { path: None, lines, closed: false }, least);
        }
        self.found.sort_by_key(|copy| copy.body.start);
    }

    /// The first line beside what stands between fences in which a person asks for a text.
    fn asking(&self) -> Option<usize> {
        let is_within = |at: usize| self.others.iter().any(|other| other.lines.contains(&at));
        let is_taken = |at: usize| {
            let start = self.lines[at].start;
            self.found.iter().any(|copy| copy.body.contains(&start))
        };
        let said = || {
            let filled = (0..self.lines.len()).filter(|&at| !self.is_blank(at));
            filled.filter(move |&at| !is_within(at) && !is_taken(at))
        };
        let asks = |at: &usize| edit_request::asks(self.line(*at));
        let last = || said().rev().take(ASKED_IN).find(asks);
        said().take(ASKED_IN).find(asks).or_else(last)
    }

    /// Takes what is a file for being asked for, where it has so many lines.
    fn take_other(&mut self, other: OtherBody, least: usize) {
        let body = self.bytes(other.lines);
        let text = &self.text[body.clone()];
        let Some(found) = body::of_any(text, least) else { return };
        match other.path {
            None => self.take_unnamed(body, found, other.closed),
            Some(path) => {
                let FileBody { lines, partial } = found;
                let (named, closed) = (true, other.closed);
                self.found.push(FileCopy { path, named, body, lines, partial, closed });
            }
        }
    }

    /// The bytes from the first line that may open something to the last one that may close it.
    fn between(
        &self,
        opens: impl Fn(&str) -> bool,
        closes: impl Fn(&str) -> bool,
    ) -> Option<Range<usize>> {
        let first = (0..self.lines.len()).find(|&at| opens(self.line(at)))?;
        let last = (first..self.lines.len()).rev().find(|&at| closes(self.line(at)))?;
        Some(self.bytes(first..last + 1))
    }

    fn fenced(&mut self, at: usize, fence: Fence<'_>) -> usize {
        let end = (at + 1..self.lines.len()).find(|&it| fence.is_closed_by(self.line(it)));
        let (close, closed) = (end.unwrap_or(self.lines.len()), end.is_some());
        let body = self.bytes(at + 1..close);
        // A sentence may mention a file beside what is shown of another one.
        let is_foreign = |label: &FileLabel| {
            let sentence = label.binding == Binding::Sentence;
            sentence && label::is_in_other_language(fence.info, &label.path)
        };
        let label = label::of_info(fence.info)
            .or_else(|| self.label_before(at).filter(|it| !is_foreign(it)))
            .or_else(|| label::of_comment(self.line(at + 1)));
        let (known, path) = (self.found.len(), label.as_ref().map(|label| label.path.clone()));
        match label {
            Some(label) => drop(self.take(label, body, true, closed)),
            None if self.text[body.clone()].trim_start().starts_with(['{', '[']) => {
                self.mapped(self.filled(at + 1));
            }
            None => {
                // What a person pastes goes on to the end where its fence is not closed.
                let is_whole = closed || self.least.bare.is_some();
                let least = self.least.unnamed.filter(|_| is_whole);
                let text = &self.text[body.clone()];
                let found = least.and_then(|it| body::of_unnamed(text, Some(fence.info), it));
                found.into_iter().for_each(|it| self.take_unnamed(body.clone(), it, closed));
            }
        }
        if self.found.len() == known {
            self.others.push(OtherBody { path, lines: at + 1..close, closed });
        }
        self.free = close + 1;
        close + 1
    }

    /// The label in the line before a fence, or in the one before a few words.
    fn label_before(&self, at: usize) -> Option<FileLabel> {
        if let Some((path, line)) = &self.given
            && self.filled(line + 1) == at
        {
            return Some(FileLabel { path: path.clone(), binding: Binding::File });
        }
        let before = |at: usize| {
            let blank = usize::from(at > 0 && self.is_blank(at - 1));
            at.checked_sub(1 + blank).filter(|&it| it >= self.free && !self.is_blank(it))
        };
        let near = before(at)?;
        if let Some(label) = label::of_line(self.line(near)) {
            return Some(label);
        }
        let few = self.line(near).split_whitespace().count() <= BETWEEN;
        let label = label::of_line(self.line(before(near).filter(|_| few)?))?;
        (label.binding > Binding::Sentence).then_some(label)
    }

    fn tagged(&mut self, at: usize) -> Option<usize> {
        let line = self.line(at).trim_end();
        let mut tag = OpenedTag::of(line).filter(|_| self.tries > 0)?;
        // Several may stand in one line, and one of them give the path of the next.
        while tag.path.is_none() {
            let behind = match tag.rest.split_once(&tag.end()) {
                Some((value, behind)) => {
                    self.given = Some((label::of_value(value)?, at));
                    behind
                }
                None => tag.rest,
            };
            match OpenedTag::of(behind) {
                Some(next) => tag = next,
                None if behind.len() < tag.rest.len() => return Some(at + 1),
                None => break,
            }
        }
        let end = tag.end();
        let is_before = |line: usize| line == at || self.filled(line + 1) == at;
        let given = self.given.as_ref().filter(|(_, line)| is_before(*line));
        let path = tag.path.clone().or_else(|| given.map(|(path, _)| path.clone()))?;
        let start = match tag.rest.trim().is_empty() {
            true => self.bytes(at + 1..at + 1).start,
            false => self.lines[at].start + line.len() - tag.rest.len(),
        };
        let Some(length) = self.text.get(start..)?.find(&end) else {
            self.tries = self.tries.saturating_sub(1);
            return None;
        };
        let label = FileLabel { path, binding: Binding::File };
        self.take(label, start..start + length, true, true).then(|| {
            let close = start + length + end.len();
            self.free = self.lines.partition_point(|line| line.start < close);
            self.free
        })
    }

    /// What stands under a line of signs with a path in it.
    fn signed(&mut self, at: usize) -> Option<usize> {
        let signs = SignLine::of(self.line(at))?;
        let is_diff = self.line(at + 1).starts_with("+++ ") || self.line(at).starts_with("+++ ");
        let label = label::of_line(signs.inner)
            .filter(|it| it.binding > Binding::Sentence && !is_diff && !signs.ends())?;
        let is_end = |&it: &usize| {
            let line = SignLine::of(self.line(it)).filter(|line| line.sign == signs.sign);
            line.is_some_and(|line| {
                line.inner.is_empty() && signs.sign != '#'
                    || line.ends()
                    || label::of_line(line.inner).is_some_and(|it| it.binding > Binding::Sentence)
            })
        };
        let under = match SignLine::of(self.line(at + 1)) {
            Some(line) if line.inner.is_empty() => at + 2,
            _ => at + 1,
        };
        let end = (under..self.lines.len()).find(is_end).unwrap_or(self.lines.len());
        let next = self.open(label, under..end, true)?;
        // Before the label of another one somebody may say something.
        let is_closed = SignLine::of(self.line(end)).is_some_and(SignLine::ends);
        self.found.last_mut().into_iter().for_each(|copy| copy.closed = is_closed);
        Some(next)
    }

    /// What stands under a line that is there to name a path, or under a banner of three lines.
    fn headed(&mut self, at: usize) -> Option<usize> {
        // Source may name a file in passing.
        let strict = |line: &str| {
            let label = label::of_line(line).filter(|label| label.binding > Binding::Label);
            label.filter(|_| !line.contains(['"', '\'', ';', '(', '<', '=']))
        };
        let label = strict(self.line(at))?;
        let is_rule =
            |at: usize| SignLine::of(self.line(at)).is_some_and(|line| line.inner.is_empty());
        let banner = at > 0 && is_rule(at - 1) && is_rule(at + 1);
        let under = if banner { at + 2 } else { at + 1 };
        let is_end = |&it: &usize| {
            let named = |it: usize| strict(self.line(it)).is_some();
            if banner { is_rule(it) && named(it + 1) } else { named(it) }
        };
        let is_fence = |at: usize| !banner && Fence::opened(self.line(at)).is_some();
        let end = (under..self.lines.len()).find(|it| is_end(it) || is_fence(*it));
        self.open(label, under..end.unwrap_or(self.lines.len()), banner)
    }

    /// What stands under a line of talk, or of a command, that mentions a path: nothing but source
    /// counts there.
    fn mentioned(&mut self, at: usize) -> Option<usize> {
        let path = |line: &str| {
            let is_talk = !line.starts_with([' ', '\t']) && !body::is_source_line(line);
            label::of_line(line).filter(|_| is_talk).map(|label| label.path)
        };
        let label = FileLabel { path: path(self.line(at))?, binding: Binding::Sentence };
        if let Some(next) = self.json_under(at) {
            return Some(next);
        }
        let is_end =
            |&it: &usize| path(self.line(it)).is_some() || Fence::opened(self.line(it)).is_some();
        let end = (at + 1..self.lines.len()).find(is_end).unwrap_or(self.lines.len());
        self.open(label, at + 1..end, false)
    }

    /// What is JSON under a line that is there to name it.
    fn json_under(&mut self, at: usize) -> Option<usize> {
        let label = label::of_line(self.line(at)).filter(|it| it.binding > Binding::Sentence)?;
        let is_json = label::extension(&label.path).is_some_and(|it| it.starts_with("json"));
        let first = self.lines.get(self.filled(at + 1)).filter(|_| is_json)?.start;
        self.tries = self.tries.checked_sub(1)?;
        let value = Cursor::new(self.text, first).value().ok()?;
        let is_whole = matches!(value.kind(), JsonValueKind::Object | JsonValueKind::Array);
        let body = first..value.span().end();
        (is_whole && self.take(label, body.clone(), true, true)).then(|| {
            self.free = self.lines.partition_point(|line| line.start < body.end);
            self.free
        })
    }

    /// Takes the lines under a label, unless a frame of their own opens there.
    fn open(&mut self, label: FileLabel, under: Range<usize>, framed: bool) -> Option<usize> {
        let first = self.line(self.filled(under.start));
        let has_path = |tag: OpenedTag<'_>| tag.path.is_some();
        if Fence::opened(first).is_some() || OpenedTag::of(first).is_some_and(has_path) {
            return None;
        }
        let body = self.bytes(under.clone());
        self.take(label, body, framed, false).then(|| {
            self.free = under.end;
            under.end
        })
    }

    fn mapped(&mut self, at: usize) -> Option<usize> {
        self.tries = self.tries.checked_sub(1)?;
        let line = self.lines.get(at)?.clone();
        let start = line.start + (self.line(at).len() - self.line(at).trim_start().len());
        let (copies, end) = map::at(self.text, start, self.least)?;
        let copies = copies.into_iter().map(|copy| FileCopy {
            path: copy.path,
            named: true,
            body: copy.range,
            lines: copy.body.lines,
            partial: copy.body.partial,
            closed: false,
        });
        self.found.extend(copies);
        Some(self.lines.partition_point(|line| line.start < end).max(at + 1))
    }
}

/// Words that tell which text one is whose path nobody says: its first line.
pub(super) fn unnamed(body: &str) -> String {
    let first = body.lines().map(str::trim).find(|line| line.contains(char::is_alphanumeric));
    let first: String = first.unwrap_or_default().chars().take(FIRST).collect();
    format!("the text that begins with `{}`", first.trim_end())
}
