//! What policies ask models about new messages, while the conversation goes on.
//!
//! Invariant: whoever asked looks at the message once more when there is a reply, or is told that
//! there is none. Made by sessions, run by a task of their own.

use std::sync::Mutex;

use epitome_kernel::ModelAsk;
use epitome_types::EntryKey;
use epitome_types::hook::ObserveJob;
use tokio::time::timeout;

use super::{Desk, locked};
use crate::council::Council;

/// So many are open at most; the oldest give way.
const MOST: usize = 8;

/// A message that a policy has a question about.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The policy.
    policy: String,
    /// The message.
    pub(crate) key: EntryKey,
    /// What the policy was told of it, but for the text, with the replies so far.
    job: ObserveJob<'static>,
    text: String,
    ask: Box<ModelAsk>,
    /// How often it asked about the message, with this.
    pub(crate) asked: usize,
}

/// Questions, and whom they are put to.
pub(crate) struct Inquiry {
    pub(crate) council: Council,
    pub(crate) questions: Vec<Question>,
}

impl Question {
    /// A question about what a policy was shown.
    pub(crate) fn new(
        policy: String,
        key: EntryKey,
        job: &ObserveJob<'_>,
        (ask, asked): (Box<ModelAsk>, usize),
    ) -> Self {
        let ObserveJob { common, entry, actions, intent, typed, since_epoch, text } = job.clone();
        let job = ObserveJob { common, entry, actions, intent, typed, since_epoch, text: "" };
        Self { policy, key, job, text: text.to_owned(), ask, asked }
    }

    /// What the policy is shown.
    pub(crate) fn job(&self) -> ObserveJob<'_> {
        ObserveJob { text: &self.text, ..self.job.clone() }
    }

    /// There is no reply.
    pub(crate) fn give_up(self, council: &Council, why: &str) {
        council.unanswered::<ObserveJob<'_>>(self.policy, &self.ask.id, why);
    }

    /// With the reply.
    fn replied(mut self, reply: String) -> Self {
        self.job.common.replies.insert(self.ask.id.clone(), reply);
        self
    }
}

impl Inquiry {
    /// Adds what else is asked.
    pub(super) fn with(mut self, more: Vec<Question>) -> Self {
        self.questions.extend(more);
        let older = self.questions.len().saturating_sub(MOST);
        self.questions.drain(..older);
        self
    }

    /// Asks one after the other.
    pub(super) async fn ask(self, desk: &Mutex<Desk>) {
        let Self { council, questions } = self;
        for question in questions {
            let asked = council.reply::<ObserveJob<'_>>((*question.ask).clone());
            let reply = match timeout(council.within, asked).await {
                Ok(reply) => reply,
                Err(_) => Err(format!("no answer within {} s", council.within.as_secs())),
            };
            let answered = match reply {
                Ok(reply) => (question.replied(reply), None),
                Err(why) => (question, Some(why)),
            };
            let mut desk = locked(desk);
            desk.answered.push(answered);
            desk.told.extend(council.failures.take());
        }
    }
}
