//! Strategies beside each other: the same conversations, the same questions, the same budget.
//!
//! Invariant: every pair of a strategy and a conversation has a store of its own and depends on no
//! other pair; rows stand in the order of the files and strategies, whatever ran first.

mod case;
mod derive;
mod names;
mod old_keys;
mod plain_text;
mod questions;
mod report;
mod row;
mod score;
mod strategy;
mod summary;
mod truncate;
mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use epitome::{Format, SessionArchive, StoreError, TokenCounter, TornLine, untorn};

pub use row::{EvalRow, RowTokens, WorkKind};
pub use score::EvalScore;
pub use strategy::{ReplayFigures, Strategy};
pub use summary::{MeanInterval, ScoreMeans, StrategyMeans, StrategySummary};

use crate::find::{RecordingCandidates, SkippedFile};
use crate::{ReplaySetup, files};
use case::{CaseFiles, EvalCase};
use row::Judged;

/// What is compared, and how.
pub struct Comparison {
    /// The strategies, in the order of the rows.
    pub strategies: Vec<Strategy>,
    /// Budget, window and model of all of them; its profile gives the baselines their numbers.
    pub setup: ReplaySetup,
    /// Where a recording without questions is cut, as a share of its tokens.
    pub cut: f64,
    /// Conversations at a time; as many as there are cores unless told otherwise.
    pub threads: Option<NonZero<usize>>,
    /// The largest file that is read, in bytes.
    pub max_input: u64,
}

/// What a host does for a comparison. Everything is called from several threads at once.
pub trait EvalHost: Sync {
    /// An empty store for a pair, which keeps what leaves a prompt.
    ///
    /// # Errors
    ///
    /// When there can be none.
    fn store(&self, profile: &str, id: &str) -> Result<Arc<dyn SessionArchive>, StoreError>;

    /// The row of a pair that was finished before under this key: same input, questions, options
    /// and version.
    fn known(&self, key: &str, profile: &str, id: &str) -> Option<EvalRow>;

    /// A pair is done, with the prompt that is sent in the end, where there is one.
    ///
    /// # Errors
    ///
    /// One line that says why it cannot be written down; the comparison ends with it.
    fn done(&self, key: &str, row: &EvalRow, prompt: Option<&[u8]>) -> Result<(), String>;

    /// So many pairs are done by now, of so many; one of them was the conversation `id`.
    fn progress(&self, done: usize, of: usize, id: &str);

    /// Milliseconds since some moment.
    fn now(&self) -> f64;
}

/// What a comparison comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonResult {
    /// All pairs, by conversation.
    pub rows: Vec<EvalRow>,
    /// The means of each strategy, in the order of the strategies.
    pub summaries: Vec<StrategySummary>,
    /// Files that hold no conversation, or nothing to ask.
    pub skipped: Vec<SkippedFile>,
    /// Recordings whose last line is not whole, which are read up to there.
    pub torn: Vec<SkippedFile>,
    /// Pairs that failed: a fault of this program, or of the disk.
    pub failed: Vec<SkippedFile>,
}

/// Compares strategies on the candidates.
pub fn ab<B: EvalHost>(
    candidates: RecordingCandidates,
    comparison: &Comparison,
    bench: &B,
) -> ComparisonResult {
    let RecordingCandidates { files, mut skipped } = candidates;
    let files: Vec<_> = files.into_iter().filter(|file| !case::is_questions(file)).collect();
    let ids = ids(&files);
    let work =
        EvalQueue { comparison, bench, counter: strategy::counter(), done: AtomicUsize::new(0) };
    let mut out = ComparisonResult::default();
    for (file, outcome) in files.iter().zip(work.all(&files, &ids)) {
        match outcome {
            EvalFileOutcome::Rows(rows, torn) => {
                let reason = torn.map(|torn| torn.to_string());
                out.torn.extend(reason.map(|reason| SkippedFile { file: file.clone(), reason }));
                out.rows.extend(rows);
            }
            EvalFileOutcome::Skipped(reason) => {
                skipped.push(SkippedFile { file: file.clone(), reason })
            }
            EvalFileOutcome::Failed(reason) => {
                out.failed.push(SkippedFile { file: file.clone(), reason })
            }
        }
    }
    out.skipped = skipped;
    let of = |strategy: &Strategy| -> Vec<&EvalRow> {
        out.rows.iter().filter(|row| row.profile == strategy.name()).collect()
    };
    let first = comparison.strategies.first();
    let control = first.map(of).unwrap_or_default();
    let summary = |strategy: &Strategy| {
        let rows = of(strategy);
        let summary = StrategySummary::of(strategy.name(), &strategy.config(), &rows);
        let is_first = first.is_some_and(|first| first.name() == strategy.name());
        report::reported(summary, &rows, (!is_first).then_some(&control))
    };
    out.summaries = comparison.strategies.iter().map(summary).collect();
    out
}

/// A name for each file; of the same ones the second is numbered.
fn ids(files: &[PathBuf]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let id = |file: &PathBuf| {
        let name = case::name(file);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{count}") }
    };
    files.iter().map(id).collect()
}

/// What became of one file.
enum EvalFileOutcome {
    Rows(Vec<EvalRow>, Option<TornLine>),
    Skipped(String),
    Failed(String),
}

struct EvalQueue<'a, B> {
    comparison: &'a Comparison,
    bench: &'a B,
    counter: Arc<dyn TokenCounter>,
    done: AtomicUsize,
}

impl<B: EvalHost> EvalQueue<'_, B> {
    /// The outcomes, in the order of the files.
    fn all(&self, files: &[PathBuf], ids: &[String]) -> Vec<EvalFileOutcome> {
        let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        let threads = self.comparison.threads.unwrap_or_else(cores).get().min(files.len());
        // The largest first, so that no thread is left alone with one at the end.
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|&place| Reverse(files::size(&files[place])));
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::with_capacity(files.len()));
        let work = || {
            while let Some(&place) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = self.one(&files[place], &ids[place], files.len());
                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((place, outcome));
            }
        };
        thread::scope(|scope| {
            (0..threads).for_each(|_| _ = scope.spawn(work));
        });
        let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_unstable_by_key(|(place, _)| *place);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn one(&self, file: &std::path::Path, id: &str, files: usize) -> EvalFileOutcome {
        let strategies = &self.comparison.strategies;
        let told = AtomicUsize::new(0);
        let tell = || {
            told.fetch_add(1, Ordering::Relaxed);
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.bench.progress(done, files * strategies.len(), id);
        };
        let outcome = self.rows(file, id, &tell);
        (told.load(Ordering::Relaxed)..strategies.len()).for_each(|_| tell());
        outcome
    }

    fn rows(&self, file: &std::path::Path, id: &str, tell: &dyn Fn()) -> EvalFileOutcome {
        let Comparison { strategies, cut, max_input, .. } = self.comparison;
        let read = match CaseFiles::from(file, *max_input) {
            Ok(read) => read,
            Err(reason) => return EvalFileOutcome::Skipped(one_line(&reason)),
        };
        let torn = untorn(&read.messages).1;
        let with_torn = |reason: String| match &torn {
            Some(torn) => format!("{reason}; {torn}"),
            None => reason,
        };
        // Only what is not known yet needs the questions.
        let mut case = None;
        let mut rows = Vec::with_capacity(strategies.len());
        for strategy in strategies {
            let key = self.key(strategy, &read, id);
            let row = match self.bench.known(&key, strategy.name(), id) {
                Some(row) => row,
                None => {
                    let case = match &mut case {
                        Some(case) => &*case,
                        none => match read.case(id, *cut, &*self.counter) {
                            Ok(found) => none.insert(found),
                            Err(reason) => {
                                return EvalFileOutcome::Skipped(with_torn(one_line(&reason)));
                            }
                        },
                    };
                    match self.row(strategy, case, id, &key) {
                        Ok(row) => row,
                        Err(reason) => {
                            let name = strategy.name();
                            return EvalFileOutcome::Failed(one_line(&format!("{name}: {reason}")));
                        }
                    }
                }
            };
            rows.push(row);
            tell();
        }
        EvalFileOutcome::Rows(rows, torn)
    }

    fn row(
        &self,
        strategy: &Strategy,
        case: &EvalCase,
        id: &str,
        key: &str,
    ) -> Result<EvalRow, String> {
        let setup = strategy.setup(&self.comparison.setup);
        let budget = case.budget(setup.target, &*self.counter).map_err(|it| it.to_string())?;
        let store = self.bench.store(strategy.name(), id).map_err(|it| it.to_string())?;
        let start = self.bench.now();
        let sends = strategy.run(&case.recording, &setup, budget, &store);
        let sends = sends.map_err(|error| error.to_string())?;
        let elapsed_ms = self.bench.now() - start;
        let prompt = sends.prompt.clone();
        let judged = Judged {
            questions: &case.questions,
            setup: &setup,
            budget,
            format: case.recording.format(),
            counter: &*self.counter,
        };
        let row = judged.row(strategy.name(), sends, &*store, elapsed_ms);
        let row = EvalRow { id: id.to_owned(), ..row.map_err(|error| error.to_string())? };
        self.bench.done(key, &row, prompt.as_deref())?;
        Ok(row)
    }

    /// What a row depends on, in short.
    fn key(&self, strategy: &Strategy, read: &CaseFiles, id: &str) -> String {
        let Comparison { setup, cut, .. } = self.comparison;
        let ReplaySetup { window, target, model, style, keep_recent, .. } = setup;
        let profile = strategy.setup(setup).profile;
        let limits = Format::PROVIDERS.map(|format| profile.window().limit(&profile, format));
        let options = (window, limits, target, model, style, keep_recent, cut);
        let mut hash = blake3::Hasher::new();
        for part in [
            env!("CARGO_PKG_VERSION").as_bytes(),
            strategy.name().as_bytes(),
            strategy.config().as_bytes(),
            setup.profile.config().as_bytes(),
            format!("{options:?}").as_bytes(),
            id.as_bytes(),
            &read.messages,
            read.questions.as_deref().unwrap_or_default(),
        ] {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hash.finalize().to_hex()[..32].to_owned()
    }
}

/// A reason in one line.
fn one_line(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}
