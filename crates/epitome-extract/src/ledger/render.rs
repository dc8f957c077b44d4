//! Writes a ledger down, as much of it as there is room for.
//!
//! Invariant: the text is no larger than the room, every line of it is whole, and more room never
//! takes a section away. Called through [`WorkLedger::render`].

use epitome_kernel::TextMeasure;

use super::{LedgerHeadings, PlanItem, PlanItemState, WorkLedger};
use crate::directive::{self, DirectiveStrength};

/// A part of the ledger under its own heading.
struct LedgerSection {
    heading: &'static str,
    lines: Vec<LedgerLine>,
    /// What it may take of the room that the heads leave, in parts of all sections' shares.
    share: u64,
}

/// One line; it may be a text of several lines that is taken whole or not at all.
struct LedgerLine {
    text: String,
    /// The lower, the longer it stays.
    rank: usize,
    size: u64,
    taken: bool,
}

impl WorkLedger {
    /// The ledger as text of at most `most`: sections in a fixed order under `words`' headings,
    /// each cut to its share by whole lines and with the number of those left out. Empty where not
    /// even the first section fits.
    pub fn render(&self, most: u64, measure: &dyn TextMeasure, words: &LedgerHeadings) -> String {
        let mut sections = self.sections(words);
        sections.retain(|section| !section.lines.is_empty());
        for line in sections.iter_mut().flat_map(|section| &mut section.lines) {
            line.size = measure.size(&format!("{}\n", line.text));
        }
        let mut left = most;
        let begins = |it: &mut LedgerSection| it.begin(&mut left, measure, words);
        let fitting = sections.iter_mut().map(begins).take_while(|begun| *begun).count();
        sections.truncate(fitting);
        let shares: u64 = sections.iter().map(|section| section.share).sum();
        let room = left;
        for section in &mut sections {
            let mut own = (room / shares.max(1) * section.share).min(left);
            left -= own;
            section.fill(&mut own);
            left += own;
        }
        sections.iter_mut().for_each(|section| section.fill(&mut left));
        sections.iter().map(|section| section.text(words)).collect::<String>().trim_end().to_owned()
    }

    fn sections(&self, words: &LedgerHeadings) -> Vec<LedgerSection> {
        let section = |heading, share, lines| LedgerSection { heading, lines, share };
        let newest = |texts: &[String]| -> Vec<LedgerLine> {
            let count = texts.len();
            texts.iter().enumerate().map(|(at, text)| LedgerLine::of(text, count - at)).collect()
        };
        let files = self.files.iter().enumerate().map(|(at, file)| {
            let times = if file.times > 1 { format!(" ×{}", file.times) } else { String::new() };
            LedgerLine::of(&format!("{} ({}{times})", file.path, words.how(file.how)), at)
        });
        let rejected = self.rejected.iter().enumerate().map(|(at, one)| {
            let because = one.reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            LedgerLine::of(&format!("{}{because}", one.what), self.rejected.len() - at)
        });
        vec![
            section(words.constraints, 10, rules(&self.constraints)),
            section(words.deliverables, 4, asked(&self.deliverables)),
            section(words.plan, 8, plan(&self.plan, self.approved.as_deref())),
            section(words.in_progress, 2, newest(&self.in_progress)),
            section(words.next, 2, newest(&self.next)),
            section(
                words.awaiting,
                2,
                self.awaiting.iter().map(|it| LedgerLine::of(it, 0)).collect(),
            ),
            section(words.files, 6, files.collect()),
            section(words.done, 4, newest(&self.done)),
            section(words.rejected, 4, rejected.collect()),
        ]
    }
}

impl LedgerSection {
    /// Takes the room for the heading, the best line and the count of the others, if there is so
    /// much.
    fn begin(&mut self, left: &mut u64, measure: &dyn TextMeasure, words: &LedgerHeadings) -> bool {
        let head = measure.size(&format!("{}:\n", self.heading));
        let count = match self.lines.len() {
            1 => 0,
            many => measure.size(&more(many, words)),
        };
        let Some(best) = self.lines.iter_mut().min_by_key(|line| line.rank) else { return false };
        let Some(rest) = left.checked_sub(head + count + best.size) else { return false };
        best.taken = true;
        *left = rest;
        true
    }

    /// Takes lines by rank as long as the next one fits.
    fn fill(&mut self, room: &mut u64) {
        let mut open: Vec<&mut LedgerLine> =
            self.lines.iter_mut().filter(|line| !line.taken).collect();
        open.sort_by_key(|line| line.rank);
        for line in open {
            if let Some(rest) = room.checked_sub(line.size) {
                *room = rest;
                line.taken = true;
            }
        }
    }

    fn text(&self, words: &LedgerHeadings) -> String {
        let mut out = format!("{}:\n", self.heading);
        let taken = self.lines.iter().filter(|line| line.taken);
        taken.for_each(|line| out.extend([&line.text, "\n"]));
        match self.lines.iter().filter(|line| !line.taken).count() {
            0 => {}
            left => out.push_str(&more(left, words)),
        }
        out
    }
}

impl LedgerLine {
    fn of(text: &str, rank: usize) -> Self {
        Self { text: format!("- {text}"), rank, size: 0, taken: false }
    }
}

fn more(count: usize, words: &LedgerHeadings) -> String {
    format!("- … {count} {}\n", words.more)
}

/// Rules that are addressed to their reader outlive the others, and newer ones outlive older ones.
fn rules(texts: &[String]) -> Vec<LedgerLine> {
    let count = texts.len();
    let rank = |at: usize, text: &str| {
        let direct = directive::order(text) == DirectiveStrength::Direct;
        count - at + if direct { 0 } else { count }
    };
    texts.iter().enumerate().map(|(at, text)| LedgerLine::of(text, rank(at, text))).collect()
}

/// What was asked for first outlives everything, then the newest.
fn asked(texts: &[String]) -> Vec<LedgerLine> {
    let count = texts.len();
    let rank = |at: usize| if at == 0 { 0 } else { count - at };
    texts.iter().enumerate().map(|(at, text)| LedgerLine::of(text, rank(at))).collect()
}

/// Open points outlive those that are done; an approved plan follows word for word.
fn plan(items: &[PlanItem], approved: Option<&str>) -> Vec<LedgerLine> {
    let count = items.len();
    let line = |(at, item): (usize, &PlanItem)| {
        let (mark, rank) = match item.state {
            PlanItemState::InProgress => ("~", at),
            PlanItemState::Pending => (" ", count + at),
            PlanItemState::Done => ("x", 4 * count - at),
            PlanItemState::Dropped => ("-", 6 * count - at),
        };
        let mut line = LedgerLine::of(&item.text, rank);
        line.text = format!("- [{mark}] {}", item.text);
        line
    };
    let approved = approved.map(|text| LedgerLine {
        text: text.to_owned(),
        rank: 2 * count,
        size: 0,
        taken: false,
    });
    items.iter().enumerate().map(line).chain(approved).collect()
}
