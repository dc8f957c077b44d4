//! What policies ask models about new messages, while the conversation goes on.
//!
//! Invariant: whoever asked looks at the message once more when there is a reply, or is told why there
//! is none. Made by sessions, put by a task of their own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use epitome_kernel::ModelQuestion;
use epitome_types::EntryKey;
use epitome_types::hook::ObserveJob;
use tokio::time::timeout;

use super::{BackgroundResults, locked};
use crate::policy_runner::PolicyRunner;

/// So many wait at most; the oldest give way.
const MOST: usize = 8;

/// A message that a policy has a question about.
#[derive(Clone, Debug)]
pub(crate) struct PolicyQuestion {
    /// The policy.
    pub(crate) policy: String,
    /// The message.
    pub(crate) key: EntryKey,
    /// What the policy was told of it, but for the text, with the replies so far.
    job: ObserveJob<'static>,
    text: String,
    ask: Box<ModelQuestion>,
    /// How often it asked about the message, with this.
    pub(crate) asked: usize,
}

/// A question with its reply, or with the reason why there is none.
pub(crate) type AnsweredQuestion = (PolicyQuestion, Option<String>);

/// The questions about one conversation.
#[derive(Default)]
pub(super) struct PolicyQuestions {
    waiting: VecDeque<PolicyQuestion>,
    /// The one that is put.
    put: Option<PolicyQuestion>,
    answered: Vec<AnsweredQuestion>,
}

impl PolicyQuestion {
    /// A question about what a policy was shown.
    pub(crate) fn new(
        policy: String,
        key: EntryKey,
        job: &ObserveJob<'_>,
        ask: Box<ModelQuestion>,
        asked: usize,
    ) -> Self {
        let ObserveJob { common, entry, actions, intent, typed, since_compaction, text } =
            job.clone();
        let job = ObserveJob { common, entry, actions, intent, typed, since_compaction, text: "" };
        Self { policy, key, job, text: text.to_owned(), ask, asked }
    }

    /// What the policy is shown.
    pub(crate) fn job(&self) -> ObserveJob<'_> {
        ObserveJob { text: &self.text, ..self.job.clone() }
    }

    /// There is no reply.
    pub(crate) fn give_up(self, council: &PolicyRunner, why: &str) {
        council.unanswered::<ObserveJob<'_>>(self.policy, &self.ask.id, why);
    }

    /// With the reply.
    fn replied(mut self, reply: String) -> Self {
        self.job.common.replies.insert(self.ask.id.clone(), reply);
        self
    }
}

impl PolicyQuestions {
    /// Adds what else is asked.
    pub(super) fn add(&mut self, more: Vec<PolicyQuestion>) {
        self.waiting.extend(more);
        let older = self.waiting.len().saturating_sub(MOST);
        let why = || Some(format!("more than {MOST} questions wait for an answer"));
        self.answered.extend(self.waiting.drain(..older).map(|question| (question, why())));
    }

    /// Whether any waits.
    pub(super) fn wait(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The messages that they are about.
    pub(super) fn about(&self) -> Vec<EntryKey> {
        let answered = self.answered.iter().map(|(question, _)| question);
        let all = self.waiting.iter().chain(&self.put).chain(answered);
        all.map(|question| question.key).collect()
    }

    /// Takes those that were answered, or could not be.
    pub(super) fn take(&mut self) -> Vec<AnsweredQuestion> {
        std::mem::take(&mut self.answered)
    }

    /// The next one, which is put now.
    fn next(&mut self) -> Option<PolicyQuestion> {
        self.put = self.waiting.pop_front();
        self.put.clone()
    }

    /// What came of the one that was put, if there is one.
    pub(super) fn came(&mut self, reply: Result<String, String>) {
        let Some(question) = self.put.take() else { return };
        self.answered.push(match reply {
            Ok(reply) => (question.replied(reply), None),
            Err(why) => (question, Some(why)),
        });
    }
}

/// Puts one after the other, until none waits.
pub(super) async fn put(council: PolicyRunner, desk: Arc<Mutex<BackgroundResults>>) {
    loop {
        let Some(question) = locked(&desk).questions.next() else { return };
        let council = council.anew();
        let asked = council.reply::<ObserveJob<'_>>(&question.policy, *question.ask);
        let reply = match timeout(council.within, asked).await {
            Ok(reply) => reply,
            Err(_) => Err(format!("no answer within {} s", council.within.as_secs())),
        };
        let mut desk = locked(&desk);
        desk.questions.came(reply);
        desk.told.extend(council.failures.take());
    }
}
