//! Asks the model, in whichever way its window lets it.
//!
//! Invariant: no question is asked that its window is known not to take: messages beyond it go
//! piece by piece, and what was written of the pieces is summed up in their place. Called by the
//! writer.

use epitome_extract::Facts;
use epitome_kernel::{Lack, ModelAsk, SummaryJob};
use epitome_types::hook::{Line, Prompt, PromptJob, Purpose};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::chunks::{BETWEEN, pieces};
use super::question::{Question, above, told};
use super::{Said, Writer, covered};

/// The name under which a model is asked for a summary.
const ASKED: &str = "summary";
/// How often what was written of pieces is summed up again, where it is still too much.
const LAYERS: u32 = 5;
/// Fewer tokens of messages are no piece: so small a window is of no use.
const LEAST: u64 = 64;
/// What a fact in a list takes beside its text, in tokens.
const BULLET: u64 = 3;

/// There is no answer.
pub(super) struct Missed {
    pub(super) why: String,
    pub(super) lack: Lack,
}

/// What a model has room for, in tokens.
#[derive(Clone, Copy)]
struct AnswerRoom {
    /// The most that its answer may take.
    answer: u64,
    /// Its window, where that is known.
    window: Option<u64>,
}

impl Writer<'_> {
    /// How the model is asked, where a policy says so.
    pub(super) async fn prompt(
        &self,
        job: &SummaryJob<'_>,
        must_keep: &Facts,
        most: u64,
    ) -> Option<Prompt> {
        let texts = Said(job.entries);
        let mut asked = PromptJob {
            common: self.common.clone(),
            op: self.purpose(job),
            level: Some(job.level.number()),
            covered: covered(job.entries),
            must_keep: must_keep.iter().map(str::to_owned).collect(),
            goals: self.goals.clone(),
            max_tokens: most,
            texts: &texts,
        };
        self.council.ask(&mut asked, |rest, job| rest.prompt(job)).await
    }

    /// What the model says to a prompt.
    pub(super) async fn said(
        &self,
        prompt: &Prompt,
        job: &SummaryJob<'_>,
        must_keep: &Facts,
        most: u64,
    ) -> Result<String, Missed> {
        let answer = prompt.max_tokens.unwrap_or(most);
        let window = self.model.window().await.map(|window| self.within(window));
        if prompt.style == Line::Extend
            && !self.is_rewriting(job)
            && let Some(underway) = self.underway.filter(|it| self.model.extends(it))
        {
            let which = above(&self.terms.above, job.entries);
            let question = Question::about(prompt, &which, must_keep).aloud();
            let size = self.common.tokens.total + job.measure.size(&question) + answer;
            if window.is_none_or(|window| size <= window) {
                let after = Some(underway.clone());
                let ask = ModelAsk { user: question, after, ..ModelAsk::default() };
                match self.ask(ask, answer).await {
                    // Asked by itself it needs less room, and is told not to think.
                    Err(Missed { lack: Lack::Window(_) | Lack::Thoughts, .. }) => {}
                    said => return said,
                }
            }
        }
        let messages: Vec<_> = job.entries.iter().map(|entry| told(entry)).collect();
        let sent: u64 = messages.iter().map(|message| job.measure.size(message)).sum();
        match self.told(prompt, job, &messages, must_keep, AnswerRoom { answer, window }).await {
            // What the provider said of its window, or else half of what it refused.
            Err(Missed { lack: Lack::Window(told), .. }) => {
                let window = told.map_or(sent / 2, |told| self.within(told));
                let room = AnswerRoom { answer, window: Some(window) };
                self.told(prompt, job, &messages, must_keep, room).await
            }
            said => said,
        }
    }

    /// Whether what is summed up is no longer in the prompt: only checkpoints of it are, and a
    /// summary is never made from a summary.
    fn is_rewriting(&self, job: &SummaryJob<'_>) -> bool {
        matches!(self.purpose(job), Purpose::Age | Purpose::Merge)
    }

    /// What of a window is used, by our own count of tokens.
    fn within(&self, window: u64) -> u64 {
        (window as f64 * self.terms.window_share) as u64
    }

    /// What the model says of these messages, in pieces where it has no room for them at once.
    async fn told(
        &self,
        prompt: &Prompt,
        job: &SummaryJob<'_>,
        messages: &[String],
        must_keep: &Facts,
        room: AnswerRoom,
    ) -> Result<String, Missed> {
        let AnswerRoom { answer, window } = room;
        let conversation = messages.join(BETWEEN);
        let question = Question::about(prompt, &conversation, must_keep);
        let Some(window) = window.filter(|window| question.size(job.measure) + answer > *window)
        else {
            return self.asked(question, answer).await;
        };
        let least = Facts::default();
        let frame = Question::about(prompt, "", &least).size(job.measure);
        // Half of what is left is for messages, a quarter each for facts and for the answer.
        let room = window.saturating_sub(frame) / 2;
        if room < LEAST {
            let why = format!("its window of {window} tokens has no room for the question");
            return Err(Missed {
                why: format!("`{}`: {why}", self.model.name()),
                lack: Lack::Other,
            });
        }
        let about = |prompt: &Prompt, messages: &str, facts: Facts| {
            let mut left = room / 2;
            let facts = facts.filter(|fact| {
                let size = job.measure.size(fact) + BULLET;
                let fits = size <= left;
                left -= if fits { size } else { 0 };
                fits
            });
            Question::about(prompt, messages, &facts)
        };
        let mut messages = messages.to_vec();
        for _ in 0..LAYERS {
            let pieces = pieces(&messages, room, job.measure);
            if let [all] = &pieces[..] {
                let question = about(prompt, all, must_keep.clone());
                return self.asked(question, answer.min(room / 2)).await;
            }
            // Together they are one piece, if they keep to it.
            let share = (room / pieces.len() as u64).max(LEAST).min(room / 2).min(answer);
            let part = Prompt { sections: None, ..prompt.clone() };
            let asked = pieces.iter().map(|piece| {
                let facts = must_keep.clone().filter(|fact| piece.contains(fact));
                self.asked(about(&part, piece, facts), share)
            });
            let asked: Vec<_> = asked.collect();
            let written = stream::iter(asked).buffered(self.terms.at_once.max(1));
            messages = written.try_collect().await?;
            let all = messages.join(BETWEEN);
            if prompt.sections.is_none() && job.measure.size(&all) <= job.most {
                return Ok(all);
            }
        }
        let why = format!("`{}` sums up too little to come to an end", self.model.name());
        Err(Missed { why, lack: Lack::Other })
    }

    async fn asked(&self, question: Question, answer: u64) -> Result<String, Missed> {
        let Question { system, user } = question;
        self.ask(ModelAsk { system, user, ..ModelAsk::default() }, answer).await
    }

    async fn ask(&self, ask: ModelAsk, answer: u64) -> Result<String, Missed> {
        let left = self.patience.left();
        if left.is_zero() {
            let most = self.patience.most().as_secs();
            let why = format!("`{}` is not asked: the {most} s are over", self.model.name());
            return Err(Missed { why, lack: Lack::Other });
        }
        let (id, max_tokens, within) = (ASKED.to_owned(), Some(answer), Some(left));
        let reply = self.model.complete(&ModelAsk { id, max_tokens, within, ..ask }).await;
        let reply = reply.map_err(|error| Missed { why: error.to_string(), lack: error.lack })?;
        Ok(reply.trim().to_owned())
    }
}
