//! Many recordings, each replayed on its own, and what they come to together.
//!
//! Invariant: every replay has a store of its own in memory, so none sees another's; results stand
//! in the order of the files. A file that cannot be read is said and passed over, never an end.

use std::cmp::Reverse;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use epitome::types::FactCounts;
use epitome::{MemoryStore, TornLine};
use serde::Serialize;

use crate::find::{RecordingCandidates, SkippedFile};
use crate::replay::played;
use crate::{
    CacheTotals, PromptMoney, Recording, Replay, ReplaySetup, ReplayTotals, SavingCount,
    TokenTotals, files, lost,
};

/// So many cases are named for each way of coming out badly.
const NAMED: usize = 3;

/// How a scan goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// Replays at a time; as many as there are cores unless told otherwise.
    pub threads: Option<NonZero<usize>>,
    /// The largest file that is read, in bytes.
    pub max_input: u64,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { threads: None, max_input: 256 << 20 }
    }
}

/// A file is done; told from the thread that did it.
#[derive(Clone, Copy, Debug)]
pub struct ScanProgress<'a> {
    /// How many are done by now.
    pub done: usize,
    /// How many there are.
    pub of: usize,
    /// The file.
    pub file: &'a Path,
    /// Tokens of all its requests, as they came; 0 for one that is no recording.
    pub tokens: u64,
}

/// What a scan comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PastScan {
    /// The profile that was tried.
    pub profile: String,
    /// The hash of its effective options.
    pub config: String,
    /// The recordings, in the order of their files.
    pub sessions: Vec<ScannedSession>,
    /// Files that no reader knows, or that hold no request.
    pub skipped: Vec<SkippedFile>,
    /// Recordings whose last line is not whole, which are read up to there.
    pub torn: Vec<SkippedFile>,
    /// Recordings that could be read and not be played to their end: a fault of this program.
    pub failed: Vec<SkippedFile>,
    /// All sessions together.
    pub totals: ScanTotals,
    /// The sessions that came out worst.
    pub worst: WorstSessions,
}

/// One recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScannedSession {
    /// Its file.
    pub file: PathBuf,
    /// What its replay comes to, and what it would have been without compression.
    #[serde(flatten)]
    pub figures: ReplayTotals,
}

/// Sums over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScanTotals {
    /// Sessions.
    pub sessions: usize,
    /// Requests.
    pub turns: usize,
    /// Requests that could not be sent.
    pub refused: usize,
    /// Prompts that exceed their limit.
    pub oversized: usize,
    /// Compressions.
    pub compressions: usize,
    /// How large they were.
    #[serde(flatten)]
    pub tokens: TokenSums,
    /// What the prompts cost under a cache.
    #[serde(flatten)]
    pub cache: CacheTotals,
    /// What was paid.
    #[serde(flatten)]
    pub money: MoneySums,
    /// Tool results that left for the store before they were first sent.
    pub offloaded: SavingCount,
    /// Tool results that were made smaller before they were first sent.
    pub digested: SavingCount,
    /// Which must-keep facts the last prompts hold, and how many others a search finds.
    pub must_keep: FactCounts,
    /// How many facts are neither in a prompt nor found.
    pub lost: u64,
}

/// How large the requests of many sessions were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenSums {
    /// Tokens of all requests, as they came.
    #[serde(rename = "tokens_raw")]
    pub raw: u64,
    /// Tokens of all prompts, as they were sent.
    #[serde(rename = "tokens_sent")]
    pub sent: u64,
    /// Tokens that the last prompts are smaller than their requests.
    pub cut: u64,
}

/// What many sessions cost, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MoneySums {
    /// For the requests.
    #[serde(rename = "money_raw")]
    pub raw: f64,
    /// For the prompts.
    #[serde(rename = "money_sent")]
    pub sent: f64,
    /// What is left of the one after the other.
    #[serde(rename = "money_saved")]
    pub saved: f64,
    /// Sessions whose model no price is known of; they are in none of these sums.
    pub unpriced: usize,
}

/// The sessions that came out worst; in each list the worst first, and only real cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorstSessions {
    /// Cost more than they would have without compression: by what factor.
    pub costlier: Vec<WorstCase>,
    /// Were compressed and saved least: the share of their tokens.
    pub least_saved: Vec<WorstCase>,
    /// Lost most facts: how many.
    pub most_lost: Vec<WorstCase>,
    /// Had requests that could not be sent: how many.
    pub most_refused: Vec<WorstCase>,
}

/// A session, and why it is named.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstCase {
    /// Its file.
    pub file: PathBuf,
    /// The figure.
    pub figure: f64,
}

/// Replays the candidates and adds up. `progress` is told of each file when it is done.
pub fn scan(
    candidates: RecordingCandidates,
    setup: &ReplaySetup,
    options: ScanOptions,
    progress: impl Fn(ScanProgress<'_>) + Sync,
) -> PastScan {
    let RecordingCandidates { files, mut skipped } = candidates;
    let mut scan = PastScan {
        profile: setup.profile.name().to_owned(),
        config: setup.profile.config(),
        sessions: Vec::new(),
        skipped: Vec::new(),
        torn: Vec::new(),
        failed: Vec::new(),
        totals: ScanTotals::default(),
        worst: WorstSessions::default(),
    };
    for (file, outcome) in files.iter().zip(outcomes(&files, setup, options, &progress)) {
        let file = file.clone();
        match outcome {
            ScanFileOutcome::Replayed(figures, torn) => {
                let reason = torn.map(|torn| torn.to_string());
                scan.torn.extend(reason.map(|reason| SkippedFile { file: file.clone(), reason }));
                scan.totals.add(&figures);
                scan.sessions.push(ScannedSession { file, figures: *figures });
            }
            ScanFileOutcome::Skipped(reason) => {
                skipped.push(SkippedFile { file, reason: line(&reason) })
            }
            ScanFileOutcome::Failed(reason) => {
                scan.failed.push(SkippedFile { file, reason: line(&reason) })
            }
        }
    }
    scan.skipped = skipped;
    scan.worst = WorstSessions::of(&scan.sessions);
    scan
}

/// What became of one file.
enum ScanFileOutcome {
    Replayed(Box<ReplayTotals>, Option<TornLine>),
    Skipped(String),
    Failed(String),
}

/// The outcomes, in the order of the files.
fn outcomes(
    files: &[PathBuf],
    setup: &ReplaySetup,
    options: ScanOptions,
    progress: &(impl Fn(ScanProgress<'_>) + Sync),
) -> Vec<ScanFileOutcome> {
    let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let threads = options.threads.unwrap_or_else(cores).get().min(files.len());
    // The largest first, so that no thread is left alone with one at the end.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&place| Reverse(files::size(&files[place])));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        while let Some(&place) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let file = &*files[place];
            let outcome = replayed(file, setup, options.max_input);
            let tokens = match &outcome {
                ScanFileOutcome::Replayed(figures, _) => figures.tokens.raw,
                ScanFileOutcome::Skipped(_) | ScanFileOutcome::Failed(_) => 0,
            };
            outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((place, outcome));
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(ScanProgress { done, of: files.len(), file, tokens });
        }
    };
    thread::scope(|scope| {
        (0..threads).for_each(|_| _ = scope.spawn(work));
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_unstable_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn replayed(file: &Path, setup: &ReplaySetup, max_input: u64) -> ScanFileOutcome {
    let bytes = match files::read(file, max_input) {
        Ok(bytes) => bytes,
        Err(reason) => return ScanFileOutcome::Skipped(reason),
    };
    let recording = match Recording::read(&bytes, None, None) {
        Ok(recording) => recording,
        Err(error) => return ScanFileOutcome::Skipped(error.to_string()),
    };
    drop(bytes);
    let torn = recording.torn();
    let replay = match Replay::new(&recording, setup, Arc::new(MemoryStore::new()), None) {
        Ok(replay) if replay.turns() == 0 => {
            return ScanFileOutcome::Skipped(
                "holds no request: nobody asks for a reply".to_owned(),
            );
        }
        Ok(replay) => replay,
        Err(error) => return ScanFileOutcome::Skipped(error.to_string()),
    };
    match played(replay) {
        Ok(figures) => ScanFileOutcome::Replayed(Box::new(figures), torn),
        Err(error) => ScanFileOutcome::Failed(error.to_string()),
    }
}

/// A reason in one line.
fn line(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl TokenSums {
    fn add(&mut self, figures: &TokenTotals) {
        self.raw += figures.raw;
        self.sent += figures.sent;
        self.cut += figures.cut;
    }
}

impl MoneySums {
    fn add(&mut self, money: &PromptMoney) {
        self.raw += money.raw.unwrap_or_default();
        self.sent += money.sent.unwrap_or_default();
        self.saved += money.saved.unwrap_or_default();
        self.unpriced += usize::from(money.saved.is_none());
    }
}

impl ScanTotals {
    fn add(&mut self, figures: &ReplayTotals) {
        self.sessions += 1;
        self.turns += figures.requests.turns;
        self.refused += figures.requests.refused.len();
        self.oversized += figures.requests.oversized;
        self.compressions += figures.requests.compressions;
        self.tokens.add(&figures.tokens);
        self.cache.add(&figures.cache);
        self.money.add(&figures.money);
        self.offloaded.add(figures.offloaded);
        self.digested.add(figures.digested);
        self.lost += lost(&figures.must_keep.kept);
        let (all, one) = (&mut self.must_keep, &figures.must_keep.kept);
        for (all, one) in [
            (&mut all.constraints, one.constraints),
            (&mut all.paths, one.paths),
            (&mut all.errors, one.errors),
            (&mut all.identifiers, one.identifiers),
        ] {
            *all = [all[0] + one[0], all[1] + one[1]];
        }
        all.recallable += one.recallable;
    }
}

impl WorstSessions {
    fn of(sessions: &[ScannedSession]) -> Self {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let of = |figure: &dyn Fn(&ReplayTotals) -> Option<f64>| -> Vec<WorstCase> {
            let case = |one: &ScannedSession| {
                Some(WorstCase { file: one.file.clone(), figure: figure(&one.figures)? })
            };
            let mut cases: Vec<_> = sessions.iter().filter_map(case).collect();
            cases.sort_by(|one, other| other.figure.total_cmp(&one.figure));
            cases.truncate(NAMED);
            cases
        };
        let mut least_saved = of(&|it| {
            let sent = share(it.tokens.sent as f64, it.tokens.raw as f64);
            (it.requests.compressions > 0).then_some(sent)
        });
        least_saved.iter_mut().for_each(|case| case.figure = 1.0 - case.figure);
        Self {
            costlier: of(&|it| {
                Some(share(it.cache.cost, it.cache.cost_uncompressed)).filter(|&by| by > 1.0)
            }),
            least_saved,
            most_lost: of(&|it| Some(lost(&it.must_keep.kept) as f64).filter(|&many| many > 0.0)),
            most_refused: of(&|it| {
                Some(it.requests.refused.len() as f64).filter(|&many| many > 0.0)
            }),
        }
    }
}
