//! Logs, builds and test runs: lines of one kind are folded, failures and sums stay.
//!
//! Invariant: a failure is never folded away while there is room for it. Called by
//! [`super::Digests`].

use std::ops::Range;

use epitome_kernel::Digested;
use rustc_hash::FxHashMap;

use super::outline::{Item, Outline, clip, counted, spread};
use super::{Task, kind, shape};
use crate::tuning::Shapes;

/// Ranks: ends and sums, first failures, what stands behind and before them, later failures, kinds
/// (rare ones first), repeats.
const FIRST: u32 = 0;
const FAILURE: u32 = 1;
const BEHIND: u32 = 2;
const BEFORE: u32 = 3;
const AGAIN: u32 = 4;
const KIND: u32 = 5;
const REPEAT: u32 = KIND + u32::BITS;

/// The lines of a log and what kind each is of.
#[derive(Debug)]
pub(super) struct Log<'a> {
    lines: Vec<Line<'a>>,
    kinds: usize,
    /// How many lines say when or how bad.
    stamped: usize,
    failures: usize,
}

#[derive(Debug)]
struct Line<'a> {
    text: std::borrow::Cow<'a, str>,
    span: Range<usize>,
    fails: bool,
    /// The first line of its kind, and how many there are up to this one.
    like: usize,
    ordinal: u32,
}

impl<'a> Log<'a> {
    /// Reads a text; empty lines are dropped.
    pub(super) fn read(text: &'a str, shapes: &Shapes) -> Self {
        let mut lines: Vec<Line<'a>> = Vec::new();
        for span in shape::lines(text).filter(|span| !text[span.clone()].trim().is_empty()) {
            let text = shape::plain(&text[span.clone()]);
            let fails = shape::fails(&text);
            lines.push(Line { text, span, fails, like: 0, ordinal: 0 });
        }
        let keys: Vec<(u64, u64)> = lines.iter().map(|line| kind::of(&line.text)).collect();
        let mut exact: FxHashMap<u64, u32> = FxHashMap::default();
        let mut begins: FxHashMap<u64, u32> = FxHashMap::default();
        for (key, begin) in &keys {
            *exact.entry(*key).or_default() += 1;
            *begins.entry(*begin).or_default() += 1;
        }
        let mut first: FxHashMap<u64, (usize, u32)> = FxHashMap::default();
        for (index, (line, (key, begin))) in lines.iter_mut().zip(&keys).enumerate() {
            let alone = exact[key] == 1 && !line.fails;
            let key = if alone && begins[begin] >= shapes.beginnings { begin } else { key };
            let (like, count) = first.entry(*key).or_insert((index, 0));
            *count += 1;
            (line.like, line.ordinal) = (*like, *count);
        }
        let stamped = lines.iter().filter(|line| shape::is_stamped(&line.text)).count();
        let failures = lines.iter().filter(|line| line.fails).count();
        Self { kinds: first.len(), stamped, failures, lines }
    }

    /// Whether the lines tell of failures or repeat each other.
    pub(super) fn is_one(&self, shapes: &Shapes) -> bool {
        let all = self.lines.len() as f64;
        self.failures as f64 >= all * shapes.failed_share
            || self.lines.len() >= shapes.lines_least
                && (self.kinds as f64 <= all * shapes.kinds_share
                    || self.failures > 0
                        && self.lines.iter().any(|line| shape::sums_up(&line.text)))
    }

    /// Whether most lines say when or how bad: no file that is edited looks like that.
    pub(super) fn is_stamped(&self, shapes: &Shapes) -> bool {
        self.stamped as f64 >= self.lines.len() as f64 * shapes.stamped_share
    }

    /// The digest; `None` where nothing fits.
    pub(super) fn digest(&self, task: &Task<'_>) -> Option<Digested> {
        let shapes = task.shapes;
        let ranks = self.ranks(shapes);
        let items = self.lines.iter().zip(ranks).map(|(line, rank)| {
            let text = clip(&line.text, shapes.line);
            let whole = text.len() == line.text.len();
            Item { text, span: line.span.clone(), rank, like: line.like, whole }
        });
        let head = format!(
            "[… {} of {}, repeats folded]",
            counted(self.lines.len(), "lines"),
            counted(self.kinds, "kinds")
        );
        let items = items.collect();
        Outline { head, items, like: REPEAT, noun: Some("lines"), must: false }.fill(task, "log")
    }

    fn ranks(&self, shapes: &Shapes) -> Vec<u32> {
        let mut counts = vec![0u32; self.lines.len()];
        self.lines.iter().for_each(|line| counts[line.like] += 1);
        let all = self.lines.len();
        let mut ranks: Vec<u32> = self
            .lines
            .iter()
            .enumerate()
            .map(|(index, line)| {
                let is_end = index < shapes.lines_first || index + shapes.lines_last >= all;
                let outermost = index == 0 || index + 2 >= all;
                if outermost || is_end && counts[line.like] < shapes.common {
                    FIRST
                } else if line.fails && line.ordinal == 1 {
                    FAILURE
                } else if line.fails && line.ordinal <= shapes.failures {
                    AGAIN
                } else if shape::sums_up(&line.text) && line.ordinal <= 2 {
                    FIRST
                } else if line.ordinal == 1 {
                    KIND + counts[line.like].ilog2()
                } else {
                    REPEAT + spread(line.ordinal as usize)
                }
            })
            .collect();
        for index in (0..all).filter(|index| self.lines[*index].fails) {
            if self.lines[index].ordinal == 1 {
                let around = self.around(index, shapes);
                // What stands there everywhere says little about a failure.
                let tells = |near: usize| {
                    near.abs_diff(index) == 1 || counts[self.lines[near].like] < shapes.common
                };
                for near in around.filter(|near| tells(*near)) {
                    let rank = if near < index { BEFORE } else { BEHIND };
                    ranks[near] = ranks[near].min(rank);
                }
            }
        }
        ranks
    }

    /// The lines that go with a failure: some before, some behind, and what is set in below it.
    fn around(&self, index: usize, shapes: &Shapes) -> Range<usize> {
        let depth = |index: usize| {
            let text = &self.lines[index].text;
            text.len() - text.trim_start().len()
        };
        let most = (index + 1 + 4 * shapes.after_failure).min(self.lines.len());
        let deeper = (index + 1..most).take_while(|next| depth(*next) > depth(index)).count();
        let end = (index + 1 + deeper.max(shapes.after_failure)).min(self.lines.len());
        index.saturating_sub(shapes.before_failure)..end
    }
}
