//! What models are asked while a conversation goes on: summaries, and what policies ask of new
//! messages.
//!
//! Invariant: no prompt waits for what is done here, and nothing done here changes a prompt: it
//! leaves candidates, which a compression may find, and replies. A conversation has one task for
//! either at most, which ends in the time that there is for models, and with its session. What a
//! model was asked is heard to its end, or asked again where a person waits for the same server: however
//! fast people type, its words arrive. Called by live sessions.

mod assignment;
mod candidates;
mod next_compression;
mod pause;
mod questions;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome_types::{CompactionId, EntryKey, EventKind, Stage};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

pub(crate) use assignment::{ExtractKeys, SummaryTask, SummaryTasks, WriterManner};
pub(crate) use candidates::{SummaryKey, WordedPlan, WrittenSummary, worded};
pub(crate) use next_compression::{NextCompression, PreparedCompression};
pub(crate) use questions::{AnsweredQuestion, PolicyQuestion};

use crate::locks::locked;
use crate::model_summarizer::KnownWords;
use crate::policy_runner::PolicyRunner;
use pause::FailurePause;
use questions::PolicyQuestions;

/// So many of the newest words of models are held that nothing stands for as they are.
const NEWEST: usize = 128;

/// What is done for one conversation.
pub(crate) struct BackgroundWorker {
    runtime: Handle,
    desk: Arc<Mutex<BackgroundResults>>,
    task: Option<BackgroundTask>,
    /// What the task will be once the model has answered what it is asked first.
    waiting: Option<SummaryTasks>,
    /// How long models are left alone that wrote nothing, and how often a task was given up.
    pause: FailurePause,
    /// The task that puts questions, and whom they are put to.
    asking: Option<AbortHandle>,
    council: Option<PolicyRunner>,
    /// Whether it waits for that.
    holds: bool,
    /// What was told and not heard yet.
    told: Vec<EventKind>,
    /// What was answered of what policies asked, until a request took it up.
    answered: Vec<AnsweredQuestion>,
    /// The compression that comes next.
    pub(crate) next: NextCompression,
    /// The extracts that stand in the prompt of an epoch.
    standing: Option<(CompactionId, Vec<SummaryKey>)>,
}

/// What the task leaves behind.
#[derive(Default)]
struct BackgroundResults {
    candidates: Vec<(SummaryKey, WrittenSummary)>,
    /// What models were asked for in vain.
    vain: Vec<SummaryKey>,
    /// Why the last of them wrote nothing.
    failure: Option<String>,
    told: Vec<EventKind>,
    questions: PolicyQuestions,
}

/// The one task.
struct BackgroundTask {
    keys: Vec<SummaryKey>,
    models: String,
    /// The servers that do one thing at a time.
    servers: Vec<String>,
    handle: AbortHandle,
}

impl Drop for BackgroundWorker {
    fn drop(&mut self) {
        self.stop();
        self.asking.iter().for_each(AbortHandle::abort);
    }
}

impl BackgroundWorker {
    /// Nothing is done yet; tasks run there.
    pub(crate) fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            desk: Arc::default(),
            task: None,
            waiting: None,
            pause: FailurePause::default(),
            asking: None,
            council: None,
            holds: false,
            told: Vec::new(),
            answered: Vec::new(),
            next: NextCompression::default(),
            standing: None,
        }
    }

    /// What happened and was not heard yet.
    pub(crate) fn told(&mut self) -> &[EventKind] {
        self.settle();
        self.told.append(&mut locked(&self.desk).told);
        &self.told
    }

    /// Takes note of what came of a task that ended.
    fn settle(&mut self) {
        let Some(task) = self.task.take_if(|task| task.handle.is_finished()) else { return };
        self.pause.heard();
        let mut desk = locked(&self.desk);
        let open: Vec<_> = task.keys.iter().copied().filter(|key| !desk.is_settled(key)).collect();
        if !open.is_empty() {
            desk.failed(open, format!("{} ended in the middle of it", task.models));
        }
        let failure = desk.failure.take();
        if task.keys.iter().any(|key| desk.is_written(key)) {
            self.pause.succeeded();
        } else if let Some(cause) = failure
            && let Some(passed) = self.pause.failed()
        {
            let (models, failures) = (task.models, self.pause.failures());
            desk.told.push(EventKind::SummariesPaused { models, failures, passed, cause });
        }
    }

    /// All that was told is heard, and what was answered is taken up.
    pub(crate) fn heard(&mut self) {
        self.told.clear();
        self.answered.clear();
    }

    /// Whether a model is being asked, or will be.
    pub(crate) fn is_busy(&self) -> bool {
        self.waiting.is_some() || self.is_asking()
    }

    fn is_asking(&self) -> bool {
        self.task.as_ref().is_some_and(|task| !task.handle.is_finished())
    }

    /// Has models write what they have not written and are not writing, once they are done with what
    /// they are at: that stands in whatever covers its messages.
    pub(crate) fn take_on(&mut self, mut assignment: SummaryTasks) {
        self.settle();
        assignment.errands.retain(|errand| !locked(&self.desk).is_settled(&errand.key));
        let under_way = self.task.as_ref().filter(|_| self.is_asking());
        let is_done =
            |one: &SummaryTask| under_way.is_some_and(|task| task.keys.contains(&one.key));
        if assignment.errands.iter().all(is_done) || self.pause.passes() {
            return;
        }
        self.waiting = Some(assignment);
        self.start();
    }

    /// Has what is taken on wait while the model of that server answers something else: many a server
    /// does one thing at a time. Nobody waits long for what one is at for summaries: that is given up,
    /// but for the last of a few times.
    pub(crate) fn hold(&mut self, model: &str) {
        self.holds = true;
        let server = server(model);
        let serves = |task: &BackgroundTask| task.servers.iter().any(|it| Some(&**it) == server);
        if self.is_asking()
            && self.pause.may_give_up()
            && let Some(task) = self.task.take_if(|task| serves(task))
        {
            task.handle.abort();
            self.pause.gave_up();
        }
    }

    /// What waited begins.
    pub(crate) fn release(&mut self) {
        self.holds = false;
        self.start();
        self.inquire();
    }

    /// Puts questions, once those before them are answered.
    pub(crate) fn wonder(&mut self, council: PolicyRunner, questions: Vec<PolicyQuestion>) {
        self.council = Some(council);
        locked(&self.desk).questions.add(questions);
        self.inquire();
    }

    /// The messages that models are asked about, until the answers are taken.
    pub(crate) fn wonders_about(&self) -> Vec<EntryKey> {
        locked(&self.desk).questions.about()
    }

    /// The questions that were answered, or could not be, until they are heard of.
    pub(crate) fn answered(&mut self) -> &[AnsweredQuestion] {
        self.inquire();
        self.answered.extend(locked(&self.desk).questions.take());
        &self.answered
    }

    /// Has the questions put that wait, unless some are, or nobody may be asked.
    fn inquire(&mut self) {
        let is_asking = self.asking.as_ref().is_some_and(|task| !task.is_finished());
        let Some(council) = self.council.as_ref().filter(|_| !is_asking) else { return };
        let mut desk = locked(&self.desk);
        // A task that ends by itself leaves none that is put.
        desk.questions.came(Err(format!("{} ended in the middle of it", council.models)));
        if desk.questions.wait() && !self.holds {
            let work = questions::put(council.clone(), Arc::clone(&self.desk));
            self.asking = Some(self.runtime.spawn(work).abort_handle());
        }
    }

    /// Begins what waits, where nothing is held and no model is at anything else.
    fn start(&mut self) {
        if self.holds || self.is_asking() {
            return;
        }
        let Some(mut assignment) = self.waiting.take() else { return };
        {
            // While it waited a model may have written of its messages.
            let desk = locked(&self.desk);
            let least = assignment.manner.terms.summaries.ahead.ask_from;
            assignment.errands.retain(|task| {
                !desk.is_settled(&task.key) && desk.unwritten(task.messages()) >= least
            });
        }
        if assignment.errands.is_empty() {
            return;
        }
        let servers = assignment.council.models.all.iter();
        let servers = servers.filter_map(|model| server(model.name())).map(str::to_owned).collect();
        let keys: Vec<_> = assignment.errands.iter().map(|errand| errand.key).collect();
        let desk = Arc::clone(&self.desk);
        let (within, models) = (assignment.manner.within, assignment.council.models.to_string());
        let (asked, named) = (keys.clone(), models.clone());
        let work = async move {
            if timeout(within, assignment.write(&desk)).await.is_err() {
                let mut desk = locked(&desk);
                let late: Vec<_> = asked.into_iter().filter(|key| !desk.is_settled(key)).collect();
                desk.failed(late, late_by(&named, within));
            }
        };
        let handle = self.runtime.spawn(work).abort_handle();
        self.task = Some(BackgroundTask { keys, models, servers, handle });
    }

    /// Forgets what no checkpoint of these can be worded with, but for the newest: larger ones may be
    /// worded with those. What came of a task is known until that is taken note of.
    pub(crate) fn keep(&self, keys: &[SummaryKey]) {
        let mut desk = locked(&self.desk);
        let mut older = desk.candidates.len().saturating_sub(NEWEST);
        desk.candidates.retain(|(key, _)| {
            let is_new = older == 0;
            older = older.saturating_sub(1);
            is_new || keys.contains(key)
        });
        let task = self.task.as_ref().map_or(&[][..], |task| &task.keys);
        desk.vain.retain(|key| keys.contains(key) || task.contains(key));
    }

    /// All that models wrote of a history.
    pub(crate) fn known_words(&self, keys: &[EntryKey]) -> Vec<KnownWords> {
        let desk = locked(&self.desk);
        desk.candidates.iter().filter_map(|(_, written)| written.known(keys)).collect()
    }

    /// What a model wrote.
    pub(crate) fn find(&self, key: &SummaryKey) -> Option<WrittenSummary> {
        let desk = locked(&self.desk);
        desk.candidates.iter().find(|(known, _)| known == key).map(|(_, one)| one.clone())
    }

    /// Takes note of the extracts in the prompt of an epoch.
    pub(crate) fn stands(&mut self, epoch: CompactionId, keys: Vec<SummaryKey>) {
        self.standing = Some((epoch, keys));
    }

    /// Whether it is known which extracts are in the prompt of an epoch.
    pub(crate) fn knows(&self, epoch: Option<CompactionId>) -> bool {
        epoch.is_none_or(|epoch| self.standing.as_ref().is_some_and(|(known, _)| *known == epoch))
    }

    /// Whether a model wrote something that may stand in the place of one of those.
    pub(crate) fn has_words_for(&self, epoch: Option<CompactionId>) -> bool {
        let Some((known, keys)) = &self.standing else { return false };
        Some(*known) == epoch && keys.iter().any(|key| self.find(key).is_some())
    }

    /// The extracts that are in the prompt.
    pub(crate) fn standing(&self) -> &[SummaryKey] {
        self.standing.as_ref().map_or(&[], |(_, keys)| keys)
    }

    /// Whether a compression that is due waits for another turn, of so many at most: models are to be
    /// asked yet, or have not answered. A turn counts once, with the reply that it begins with.
    pub(crate) fn waits(&mut self, most: u32, counts: bool) -> bool {
        let is_busy = self.is_busy();
        self.next.waits(is_busy, most, counts)
    }

    /// Other models are asked from now on: what those before were asked for is given up, what they
    /// wrote stays, and what they were asked for in vain is no longer in vain.
    pub(crate) fn begin_anew(&mut self) {
        self.stop();
        self.next.begin_anew();
        self.pause = FailurePause::default();
        self.standing = None;
        locked(&self.desk).vain.clear();
    }

    /// Lets go all that models wrote, and what they are asked: it may quote what was erased since.
    pub(crate) fn forget(&mut self) {
        self.begin_anew();
        if let Some(asking) = self.asking.take() {
            asking.abort();
        }
        *locked(&self.desk) = BackgroundResults::default();
    }

    fn stop(&mut self) {
        self.waiting = None;
        if let Some(task) = self.task.take() {
            task.handle.abort();
        }
    }
}

impl BackgroundResults {
    /// The share of these messages that no model wrote of.
    fn unwritten(&self, messages: impl ExactSizeIterator<Item = EntryKey>) -> f64 {
        let written: BTreeSet<EntryKey> =
            self.candidates.iter().flat_map(|(_, written)| written.messages()).collect();
        let all = messages.len().max(1) as f64;
        messages.filter(|key| !written.contains(key)).count() as f64 / all
    }

    fn is_written(&self, key: &SummaryKey) -> bool {
        self.candidates.iter().any(|(known, _)| known == key)
    }

    fn is_settled(&self, key: &SummaryKey) -> bool {
        self.vain.contains(key) || self.is_written(key)
    }

    /// These were asked for in vain.
    fn failed(&mut self, keys: Vec<SummaryKey>, cause: String) {
        self.vain.extend(keys);
        self.told.push(failed(cause.clone()));
        self.failure = Some(cause);
    }
}

/// The server of a model where that does one thing at a time: one of somebody's own.
fn server(model: &str) -> Option<&str> {
    match model.split_once('@') {
        Some((_, address)) => Some(address),
        None => model.split_once(':').map(|(api, _)| api).filter(|api| *api == "ollama"),
    }
}

/// A summary that came to nothing; nothing changes in the prompt.
fn failed(cause: String) -> EventKind {
    let remedy = "the text that was written without a model stays in its place".to_owned();
    EventKind::CompressionError { stage: Stage::Summarisation, cause, remedy }
}

fn late_by(models: &str, within: Duration) -> String {
    format!("{models} did not come to an end in the background within {} s", within.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_came_of_a_task_is_told_as_it_was() {
        let mut worker = BackgroundWorker::new(Handle::current());
        let (key, ended) = (SummaryKey::for_messages(&[]), tokio::spawn(async {}));
        worker.task = Some(BackgroundTask {
            keys: vec![key],
            models: "m".to_owned(),
            servers: Vec::new(),
            handle: ended.abort_handle(),
        });
        ended.await.unwrap();
        locked(&worker.desk).failed(vec![key], "it is ill".to_owned());
        // Others are wanted before anybody hears of it.
        worker.keep(&[]);
        assert_eq!(worker.told(), [failed("it is ill".to_owned())]);
        worker.keep(&[]);
        assert!(!locked(&worker.desk).is_settled(&key));
    }
}
