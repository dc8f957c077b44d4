//! The lines of a log: what kind each is of, what it tells, and which are wanted first.
//!
//! Invariant: every line that is not empty is an item once; lines of a report stay in order and as
//! they are. Called by the digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::outline::{
    DigestOutline, OutlineItem, RankCap, clip, counted, share, spread,
};
use epitome_plugin::text::{kind, shape};
use epitome_plugin::{DigestInput, DigestOutput};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::reports;

/// Ranks: what must be said, grave failures, both ends, first failures, the rest of what was printed
/// about them with what stands near the ends, what stands behind and before failures, sums, later
/// failures and warnings, kinds (rare ones first), repeats.
const MUST: u32 = 0;
const GRAVE: u32 = 1;
const OUTERMOST: u32 = 2;
const FAILURE: u32 = 3;
const TRACE: u32 = 4;
const BEHIND: u32 = 5;
const BEFORE: u32 = 6;
const SUM: u32 = 7;
const AGAIN: u32 = 8;
const KIND: u32 = 9;
const REPEAT: u32 = KIND + u32::BITS;

/// A log has at least this many lines.
const LINES: usize = 12;
/// It has at most this many kinds of lines per line, or tells of a failure in this share of them.
const KINDS: f64 = 0.5;
const FAILED: f64 = 0.2;
/// At least this share of the lines says when or how bad.
const STAMPED: f64 = 0.3;
/// Lines that begin with the same two words are of one kind where there are this many.
const BEGINNINGS: u32 = 4;
/// Lines that are always wanted: the first and the last.
const FIRST_LINES: usize = 3;
const LAST_LINES: usize = 6;
/// Of a kind with this many lines, only the outermost are wanted for where they stand.
const COMMON: u32 = 8;
/// Kinds of failures that are wanted whatever they take.
const FAILURES: usize = 40;
/// Failing lines of one kind that are wanted.
const OF_ONE_KIND: u64 = 20;
/// Lines before and behind a failure that go with it.
const BEFORE_FAILURE: usize = 2;
const AFTER_FAILURE: usize = 4;
/// Of a long report these lines are wanted before those between them.
const REPORT_FIRST: usize = 30;
const REPORT_LAST: usize = 12;
/// A line has at most about this many bytes; one that tells of a failure this many.
const LINE: usize = 400;
const FAILING_LINE: usize = 2000;

/// The lines of a log.
#[derive(Debug)]
pub(crate) struct ParsedLog<'a> {
    lines: Vec<LogLine<'a>>,
    kinds: usize,
    reports: usize,
    /// How many lines say when or how bad.
    stamped: usize,
    failures: usize,
}

#[derive(Debug)]
struct LogLine<'a> {
    text: Cow<'a, str>,
    span: Range<usize>,
    tells: Tells,
    /// Its place from the nearer end of the report that it is part of, heading and end being close.
    report: Option<ReportPosition>,
    /// The line that stands for it where it repeats that one but for numbers; often itself.
    like: usize,
    /// The first line of its kind, and how many there are up to this one.
    family: usize,
    ordinal: u32,
}

/// How bad it is what a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Tells {
    Nothing,
    Warning,
    Failure,
    Grave,
}

/// Where a line stands in its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportPosition {
    Heading,
    Near,
    Between,
}

impl<'a> ParsedLog<'a> {
    /// Reads a text; empty lines are dropped outside of reports.
    pub(crate) fn read(text: &'a str) -> Self {
        let spans: Vec<Range<usize>> = shape::lines(text).collect();
        let texts: Vec<Cow<'a, str>> =
            spans.iter().map(|span| shape::plain(&text[span.clone()])).collect();
        let trimmed: Vec<&str> = texts.iter().map(|line| line.trim_end()).collect();
        let reports = reports::find(&trimmed);
        let mut places: Vec<Option<ReportPosition>> = vec![None; spans.len()];
        for report in &reports {
            for at in report.clone() {
                let near = at < report.start + REPORT_FIRST || at + REPORT_LAST >= report.end;
                places[at] = Some(match at == report.start {
                    true => ReportPosition::Heading,
                    false if near => ReportPosition::Near,
                    false => ReportPosition::Between,
                });
            }
        }
        let mut lines: Vec<LogLine<'a>> = Vec::with_capacity(spans.len());
        for ((text, span), report) in texts.into_iter().zip(spans).zip(places) {
            if report.is_some() || !text.trim().is_empty() {
                let tells = Tells::of(&text);
                lines.push(LogLine { text, span, tells, report, like: 0, family: 0, ordinal: 0 });
            }
        }
        let mut log = Self { lines, kinds: 0, reports: reports.len(), stamped: 0, failures: 0 };
        log.count();
        log
    }

    /// Finds out which lines are of one kind, and counts.
    fn count(&mut self) {
        let keys: Vec<(u64, u64)> = self.lines.iter().map(|line| kind::of(&line.text)).collect();
        let mut exact: FxHashMap<u64, u32> = FxHashMap::default();
        let mut begins: FxHashMap<u64, u32> = FxHashMap::default();
        for (key, begin) in &keys {
            *exact.entry(*key).or_default() += 1;
            *begins.entry(*begin).or_default() += 1;
        }
        let mut first: FxHashMap<u64, (usize, u32)> = FxHashMap::default();
        let mut folds: FxHashMap<u64, usize> = FxHashMap::default();
        for (index, (line, (key, begin))) in self.lines.iter_mut().zip(&keys).enumerate() {
            (line.like, line.family, line.ordinal) = (index, index, 1);
            if line.report.is_some() {
                continue;
            }
            // Of a few alike each says what happened when: in front of a failure or behind it.
            if exact[key] >= COMMON {
                line.like = *folds.entry(*key).or_insert(index);
            }
            // What a build prints of each package is of one kind, but no line repeats another.
            let is_alone = exact[key] == 1 && line.tells == Tells::Nothing;
            let is_listed = is_alone && !shape::is_stamped(&line.text);
            let key = if is_listed && begins[begin] >= BEGINNINGS { begin } else { key };
            let (family, count) = first.entry(*key).or_insert((index, 0));
            *count += 1;
            (line.family, line.ordinal) = (*family, *count);
        }
        self.kinds = first.len();
        self.stamped = self.lines.iter().filter(|line| shape::is_stamped(&line.text)).count();
        self.failures = self.lines.iter().filter(|line| line.tells != Tells::Nothing).count();
    }

    /// Whether the lines tell of failures or repeat each other.
    pub(crate) fn is_one(&self) -> bool {
        let all = self.lines.len() as f64;
        let sums = || self.lines.iter().any(|line| shape::sums_up(&line.text));
        self.failures as f64 >= all * FAILED
            || self.lines.len() >= LINES
                && (self.kinds as f64 <= all * KINDS || self.failures > 0 && sums())
    }

    /// Whether most lines say when or how bad.
    pub(crate) fn is_stamped(&self) -> bool {
        self.stamped as f64 >= self.lines.len() as f64 * STAMPED
    }

    /// The digest; `None` where nothing fits, or not the failures that have to be said.
    pub(crate) fn digest(&self, job: &DigestInput<'_>) -> Option<DigestOutput> {
        let mut ranks = self.ranks(job.number("failures", OF_ONE_KIND));
        let size = job.size(job.text);
        let again = share(size, 0.03).clamp(600, 1000);
        self.demand(&mut ranks, job, again);
        let items = self.lines.iter().zip(ranks).map(|(line, rank)| {
            let most = if rank < KIND { FAILING_LINE } else { LINE };
            let text = clip(&line.text, most);
            let whole = text.len() == line.text.len();
            OutlineItem { text, span: line.span.clone(), rank, like: line.like, whole }
        });
        let caps = vec![
            RankCap { rank: SUM, most: again },
            RankCap { rank: KIND, most: share(size, 0.025).clamp(500, 800) },
            RankCap { rank: REPEAT, most: share(size, 0.01).clamp(150, 250) },
        ];
        let (head, items) = (self.head(), items.collect());
        DigestOutline { head, items, caps, noun: Some("lines"), must: true }.fill(job, "log")
    }

    fn head(&self) -> String {
        let told = |line: &&LogLine<'_>| line.report.is_none() || !line.text.trim().is_empty();
        let lines = counted(self.lines.iter().filter(told).count(), "lines");
        let reports = match self.reports {
            0 => String::new(),
            reports => format!(", {}", counted(reports, "failure reports")),
        };
        format!("[… {lines} of {}, repeats folded{reports}]", counted(self.kinds, "kinds"))
    }

    /// Demands all lines that tell of something bad where they take little room, or else the first
    /// of each kind, or else the first failures: no digest is better than one that keeps quiet about
    /// them.
    fn demand(&self, ranks: &mut [u32], job: &DigestInput<'_>, little: u64) {
        let bad: Vec<bool> = self.lines.iter().map(|line| line.tells != Tells::Nothing).collect();
        let mut kinds = FxHashSet::default();
        let lines = bad.iter().zip(&self.lines);
        let first = lines.map(|(bad, line)| *bad && kinds.insert(kind::of(&line.text).0)).collect();
        let worst = ranks.iter().map(|rank| matches!(*rank, GRAVE | FAILURE)).collect();
        let third = job.most / 3;
        let sets = [(bad, little.min(third)), (first, little.min(third)), (worst, job.most / 2)];
        for (wanted, room) in sets {
            let lines: Vec<usize> = (0..ranks.len()).filter(|line| wanted[*line]).collect();
            let size = |line: &usize| job.size(&self.lines[*line].text);
            if lines.iter().map(size).sum::<u64>() <= room {
                lines.into_iter().for_each(|line| ranks[line] = MUST);
                return;
            }
        }
    }

    fn ranks(&self, of_one_kind: u64) -> Vec<u32> {
        let mut counts = vec![0u32; self.lines.len()];
        self.lines.iter().for_each(|line| counts[line.family] += 1);
        let mut failures = 0;
        let mut ranks: Vec<u32> = (0..self.lines.len())
            .map(|index| {
                let rank = self.rank(index, &counts, of_one_kind);
                failures += usize::from(rank == FAILURE);
                if rank == FAILURE && failures > FAILURES { AGAIN } else { rank }
            })
            .collect();
        for index in 0..self.lines.len() {
            let line = &self.lines[index];
            if line.report.is_some() || ranks[index] != GRAVE && ranks[index] != FAILURE {
                continue;
            }
            // What stands there everywhere says little about a failure.
            let tells =
                |near: usize| near.abs_diff(index) == 1 || counts[self.lines[near].family] < COMMON;
            for near in self.around(index).filter(|near| tells(*near)) {
                let rank = if near < index { BEFORE } else { BEHIND };
                ranks[near] = ranks[near].min(rank);
            }
        }
        ranks
    }

    fn rank(&self, index: usize, counts: &[u32], of_one_kind: u64) -> u32 {
        let (all, line) = (self.lines.len(), &self.lines[index]);
        let is_end = index < FIRST_LINES || index + LAST_LINES >= all;
        let outermost = index == 0 || index + 2 >= all;
        let first = line.ordinal == 1;
        match (line.report, line.tells) {
            (Some(ReportPosition::Heading), _) => FAILURE,
            (Some(_), Tells::Failure | Tells::Grave) => FAILURE,
            (None, Tells::Grave) if first => GRAVE,
            _ if outermost => OUTERMOST,
            (None, Tells::Failure) if first => FAILURE,
            (Some(ReportPosition::Near), _) => TRACE,
            _ if is_end && counts[line.family] < COMMON => TRACE,
            (Some(ReportPosition::Between), _) => AGAIN,
            (None, Tells::Warning | Tells::Failure | Tells::Grave)
                if u64::from(line.ordinal) <= of_one_kind =>
            {
                AGAIN
            }
            _ if counts[line.family] < COMMON
                && shape::sums_up(&line.text)
                && !shape::passes(&line.text) =>
            {
                SUM
            }
            _ if first || counts[line.family] < COMMON && shape::is_stamped(&line.text) => {
                KIND + counts[line.family].ilog2()
            }
            _ => REPEAT + spread(line.ordinal as usize),
        }
    }

    /// The lines that go with a failure: some before, some behind, and what is set in below it.
    fn around(&self, index: usize) -> Range<usize> {
        let depth = |index: usize| {
            let text = &self.lines[index].text;
            text.len() - text.trim_start().len()
        };
        let most = (index + 1 + 4 * AFTER_FAILURE).min(self.lines.len());
        let deeper = (index + 1..most).take_while(|next| depth(*next) > depth(index)).count();
        let end = (index + 1 + deeper.max(AFTER_FAILURE)).min(self.lines.len());
        index.saturating_sub(BEFORE_FAILURE)..end
    }
}

impl Tells {
    fn of(line: &str) -> Self {
        let grave = ["FATAL", "CRITICAL", "PANIC", "EMERG", "panicked", "out of memory"];
        match () {
            () if !shape::fails(line) => Self::Nothing,
            () if grave.iter().any(|word| line.contains(word)) => Self::Grave,
            () if shape::warns(line) => Self::Warning,
            () => Self::Failure,
        }
    }
}
