//! One compression attempt, as a machine that is stepped.
//!
//! Invariant: a run never changes its thread, asks for a bounded number of summaries, and ends
//! within the budget, or in `CannotFit` exactly when the floor exceeds it (SPEC 2.6, 2.12). Tests
//! step it by hand; the driver does with summarisers.

use epitome_types::{Budget, Checkpoint, Entry, EntryId, Level, MustKeep, Op, Plan, Summary, Unit};

use crate::apply::apply;
use crate::budget::floor;
use crate::cut::fill;
use crate::draft::{Draft, Ground, Pressure};
use crate::lines::account;
use crate::options::{CompressOptions, Rung};
use crate::outcome::{Outcome, Settled};
use crate::port::{Counter, Gauge, Measure, SummaryError};
use crate::size::Sizes;
use crate::thread::Thread;
use crate::view::rewrite;

/// How often a summary that came out too large is asked for again, smaller.
const RETRIES: u32 = 3;

/// What a run needs next.
#[derive(Debug)]
pub enum Step<'t> {
    /// A summary; answered with [`Run::answer`].
    Summarize(Ask),
    /// Nothing; the run is over.
    Done(Outcome<'t>),
}

/// A summary that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Which summariser of the chain, counted from 0.
    pub summarizer: usize,
    /// The entries to stand for, oldest first.
    pub entries: Vec<EntryId>,
    /// The entries that stay in the prompt, oldest first, as they will stand there.
    pub kept: Vec<Entry>,
    /// The most the text may take, in the budget's unit.
    pub most: u64,
}

/// One compression of one thread to a hard budget.
#[derive(Debug)]
pub struct Run<'t> {
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    sizes: Sizes<'t>,
    tokens: Sizes<'t>,
    /// How many summarisers there are, and which one is asked.
    summarizers: usize,
    summarizer: usize,
    pressure: Pressure,
    /// The rung that is climbed down next.
    rung: usize,
    draft: Option<Draft>,
    /// By how much the summary must be smaller than the room that was computed, and how often
    /// that was found out.
    excess: u64,
    retries: u32,
    warnings: Vec<String>,
}

impl<'t> Run<'t> {
    /// Starts a run over a thread. Texts are counted here, once.
    pub fn new(
        thread: &'t Thread,
        options: &'t CompressOptions,
        budget: Budget,
        counter: &'t dyn Counter,
        summarizers: usize,
    ) -> Self {
        let envelope = options.envelope;
        let gauge = Gauge { counter, unit: Unit::Tokens };
        let tokens = Sizes::of(thread.entries(), gauge, envelope.tokens);
        let gauge = Gauge::of(&budget, counter);
        let sizes = match budget.unit {
            Unit::Tokens => tokens.clone(),
            Unit::Chars => Sizes::of(thread.entries(), gauge, 0),
            Unit::Bytes => Sizes::of(thread.entries(), gauge, envelope.bytes),
        };
        let summarizer = 0;
        let mut run = Self {
            thread,
            options,
            budget,
            sizes,
            tokens,
            summarizers,
            summarizer,
            pressure: Pressure::NONE,
            rung: 0,
            draft: None,
            excess: 0,
            retries: 0,
            warnings: Vec::new(),
        };
        run.seek_words();
        run
    }

    /// The gauge of the budget: what sizes the summaries.
    pub fn gauge(&self) -> &Gauge<'t> {
        self.sizes.gauge()
    }

    /// Goes on until a summary is needed or the run is over. Asked again before its answer, it
    /// says the same.
    pub fn step(&mut self) -> Step<'t> {
        if self.sizes.total() <= self.budget.most {
            return Step::Done(Outcome::NothingToDo { size: self.sizes.total() });
        }
        loop {
            let Some(draft) = self.draft.take().or_else(|| self.ground().draft(self.pressure))
            else {
                return Step::Done(self.cannot_fit());
            };
            if draft.covers.is_empty() || !self.pressure.checkpoint {
                match self.settle(&draft, None) {
                    Ok(outcome) => return Step::Done(outcome),
                    Err(Miss::Refused(error)) if !self.pressure.checkpoint => {
                        return Step::Done(Outcome::Refused(error));
                    }
                    Err(_) => self.descend(),
                }
                continue;
            }
            let most = self.most(&draft);
            if most == 0 {
                self.descend();
                continue;
            }
            if !self.pressure.own_words {
                let ask = self.ask(&draft, most);
                self.draft = Some(draft);
                return Step::Summarize(ask);
            }
            let chars = self.options.texts.line_chars;
            let text = account(self.thread, &draft.covers, chars, most, self.gauge());
            let summary = text.map(|text| Summary { text, ..Summary::default() });
            match summary.map(|summary| self.settle(&draft, Some(summary))) {
                Some(Ok(outcome)) => return Step::Done(outcome),
                Some(Err(Miss::Over(excess))) if self.retry(excess) => self.draft = Some(draft),
                _ => self.descend(),
            }
        }
    }

    /// Takes the answer to the last step. `Some` ends the run; otherwise it is stepped on.
    pub fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<Outcome<'t>> {
        let draft = self.draft.take()?;
        let most = self.most(&draft);
        let summary = answer.and_then(|summary| {
            if summary.text.trim().is_empty() {
                return Err(SummaryError::Failed("the summary is empty".to_owned()));
            }
            Ok(summary)
        });
        let missed = match summary {
            Ok(summary) => match self.gauge().size(&summary.text).saturating_sub(most) {
                0 => match self.settle(&draft, Some(summary)) {
                    Ok(outcome) => return Some(outcome),
                    Err(miss) => miss,
                },
                over => Miss::Over(over),
            },
            Err(SummaryError::TooSmall { .. }) => Miss::NoRoom,
            Err(error) => Miss::Failed(error),
        };
        match missed {
            Miss::Over(excess) if self.retry(excess) => self.draft = Some(draft),
            Miss::Over(_) => self.next_summarizer("its summaries are larger than allowed"),
            Miss::Failed(error) => self.next_summarizer(&error.to_string()),
            Miss::NoRoom | Miss::Refused(_) => self.descend(),
        }
        None
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            thread: self.thread,
            options: self.options,
            budget: self.budget,
            sizes: &self.sizes,
            tokens: &self.tokens,
        }
    }

    fn cannot_fit(&self) -> Outcome<'t> {
        let ground = self.ground();
        let cutter = ground.cutter();
        let floor = floor(self.thread, &self.sizes, |part| cutter.least(part));
        Outcome::CannotFit { budget: self.budget, floor }
    }

    fn ask(&self, draft: &Draft, most: u64) -> Ask {
        let mut entries = [&draft.covers[..], &draft.stubbed].concat();
        entries.sort_unstable();
        let stays = |entry: &&Entry| entries.binary_search(&entry.id).is_err();
        let mut kept: Vec<_> = self.thread.entries().iter().filter(stays).cloned().collect();
        for op in &draft.ops {
            let Op::Replace { part, with, .. } = op else { continue };
            if let Ok(at) = kept.binary_search_by_key(&part.entry, |entry| entry.id) {
                rewrite(&mut kept[at], *part, with);
            }
        }
        Ask { summarizer: self.summarizer, entries, kept, most }
    }

    /// The most a summary's text may take: what the draft leaves, less the message and its label,
    /// and less than what it covers.
    fn most(&self, draft: &Draft) -> u64 {
        let covered = self.sizes.sum(draft.covers.iter().copied());
        let frame = self.gauge().message(&self.label(draft));
        let room = draft.left.min(covered.saturating_sub(1));
        room.saturating_sub(frame + self.excess)
    }

    fn label(&self, draft: &Draft) -> String {
        let values = [("id", &*draft.id.short()), ("messages", &draft.covers.len().to_string())];
        fill(&self.options.texts.label, &values) + "\n"
    }

    /// Completes a draft with its summary and measures the result.
    fn settle(&mut self, draft: &Draft, summary: Option<Summary>) -> Result<Outcome<'t>, Miss> {
        let mut ops = draft.ops.clone();
        let (mut must_keep, mut left) = (MustKeep::default(), Vec::new());
        if let Some(summary) = summary {
            let level = if self.pressure.own_words { Level::Compact } else { Level::Detailed };
            must_keep = summary.must_keep;
            left = summary.left;
            ops.push(Op::Summarize(Checkpoint {
                id: draft.id,
                covers: draft.covers.clone(),
                text: self.label(draft) + summary.text.trim(),
                level,
                must_keep,
            }));
        } else if !draft.covers.is_empty() {
            ops.push(Op::Drop { entries: draft.covers.clone() });
        }
        let reason = format!("{} is more than {}", self.sizes.total(), self.budget);
        let plan = Plan { ops, reason };
        let view = apply(self.thread, &self.sizes, &plan).map_err(Miss::Refused)?;
        let size = view.size(&self.sizes);
        if size > self.budget.most {
            return Err(Miss::Over(size - self.budget.most));
        }
        let warnings = std::mem::take(&mut self.warnings);
        let settled = Settled { plan, view, size, draft, must_keep, left, warnings };
        Ok(Outcome::Compressed(Box::new(settled.compressed(&self.ground()))))
    }

    /// Notes that a summary was too large; false when that happened too often.
    fn retry(&mut self, excess: u64) -> bool {
        self.excess += excess;
        self.retries += 1;
        self.retries <= RETRIES
    }

    fn next_summarizer(&mut self, why: &str) {
        self.warnings.push(format!("summariser {} gave up: {why}", self.summarizer + 1));
        self.summarizer += 1;
        (self.excess, self.retries) = (0, 0);
        self.seek_words();
    }

    /// With no summariser left, the kernel words the checkpoint itself where the ladder lets it,
    /// or there is none.
    fn seek_words(&mut self) {
        if self.summarizer >= self.summarizers {
            if self.options.ladder.contains(&Rung::Chunks) {
                self.pressure.own_words = true;
            } else {
                self.pressure = Pressure::LAST;
            }
        }
    }

    /// Goes down to the next rung that changes something.
    fn descend(&mut self) {
        self.draft = None;
        (self.excess, self.retries) = (0, 0);
        let before = self.pressure;
        while self.pressure == before {
            let Some(rung) = self.options.ladder.get(self.rung) else {
                self.pressure = Pressure::LAST;
                return;
            };
            if *rung == Rung::SmallerTail && self.pressure.tail > 0.0 {
                let half = self.pressure.tail / 2.0;
                self.pressure.tail = if half < 0.25 { 0.0 } else { half };
                return;
            }
            self.rung += 1;
            match rung {
                Rung::Results => self.pressure.results = true,
                Rung::Stubs => self.pressure.stubs = true,
                Rung::FoldUser => self.pressure.fold_user = true,
                Rung::Chunks => self.pressure.own_words = true,
                Rung::Inputs | Rung::Lower | Rung::Merge | Rung::SmallerTail => {}
            }
        }
    }
}

/// Why a draft did not come to anything.
enum Miss {
    /// The view is larger than the budget, by this.
    Over(u64),
    /// Nothing worth keeping fits into the room.
    NoRoom,
    /// The summariser failed.
    Failed(SummaryError),
    /// The plan broke an invariant; of a summary, that it is no gain.
    Refused(crate::check::PlanError),
}
