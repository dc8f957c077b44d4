//! Asks the model, in whichever way its window lets it.
//!
//! Invariant: no question is asked that its window is known not to take: messages beyond it go
//! piece by piece, and what was written of the pieces is summed up in their place. Called by the
//! writer.

use epitome_extract::MustKeepFacts;
use epitome_kernel::{ModelLimitHit, ModelQuestion, SummaryJob};
use epitome_plan::{SpokenTexts, covered};
use epitome_types::hook::{Line, Purpose, SummaryPrompt, SummaryPromptJob};

use super::chunks::{BETWEEN, pieces};
use super::known_words::KnownWords;
use super::piece_words::PieceWords;
use super::question::{SummaryQuestion, above, told};
use super::steering::steering;
use super::{ModelSummarizer, SummaryContext};
use crate::at_once::try_at_once;

/// The name under which a model is asked for a summary.
const ASKED: &str = "summary";
/// How often what was written of pieces is summed up again, where it is still too much.
const LAYERS: u32 = 5;
/// Fewer tokens of messages are no piece: so small a window is of no use.
const LEAST: u64 = 64;
/// What a fact in a list takes beside its text, in tokens.
const BULLET: u64 = 3;

/// There is no answer.
pub(super) struct NoModelAnswer {
    pub(super) why: String,
    pub(super) lack: ModelLimitHit,
    /// What was written of pieces of the messages before that.
    pub(super) written: Vec<KnownWords>,
}

impl NoModelAnswer {
    fn new(why: String, lack: ModelLimitHit) -> Self {
        Self { why, lack, written: Vec::new() }
    }
}

/// What a model has room for, in tokens.
#[derive(Clone, Copy)]
struct AnswerRoom {
    /// The most that its answer may take.
    answer: u64,
    /// Its window, where that is known.
    window: Option<u64>,
}

impl SummaryContext<'_> {
    /// How the model is asked, where a policy says so.
    pub(super) async fn prompt(
        &self,
        job: &SummaryJob<'_>,
        must_keep: &MustKeepFacts,
        most: u64,
    ) -> Option<SummaryPrompt> {
        let texts = SpokenTexts(job.entries);
        let mut asked = SummaryPromptJob {
            common: self.common.clone(),
            op: self.purpose(job),
            level: Some(job.level.number()),
            covered: covered(job.entries),
            must_keep: must_keep.iter().map(str::to_owned).collect(),
            goals: self.goals.clone(),
            focus: self.focus().cloned(),
            max_tokens: most,
            texts: &texts,
        };
        let decision = self.council.ask(&mut asked).await;
        let policy = decision.policy();
        let mut prompt = decision.value?;
        prompt.model = prompt.model.filter(|named| self.is_there(named, policy));
        Some(dwelling(prompt, asked.focus.as_deref()))
    }

    /// Whether a model that a policy chose is among those that may be asked; if not, it is told.
    fn is_there(&self, named: &str, policy: String) -> bool {
        let names: Vec<_> = self.council.models.all.iter().map(|model| model.name()).collect();
        let is_there = names.contains(&named);
        if !is_there {
            let known = names.join("`, `");
            let what = format!("there is no model `{named}`; `job.models` has `{known}`");
            self.council.refuse::<SummaryPromptJob<'_>>(policy, what);
        }
        is_there
    }

    /// What the summaries of this mode dwell on in the words of the profile.
    fn focus(&self) -> Option<&String> {
        self.council.rules.prompts.get(self.common.mode.as_deref()?)
    }

    /// Whether what is summed up is no longer in the prompt: only checkpoints of it are, and a
    /// summary is never made from a summary.
    fn is_rewriting(&self, job: &SummaryJob<'_>) -> bool {
        matches!(self.purpose(job), Purpose::Age | Purpose::Merge)
    }

    /// What the question says of goals.
    pub(super) fn steering(&self) -> String {
        steering(self.goals, &self.terms.goals, &*self.council.counter)
    }
}

impl ModelSummarizer<'_> {
    /// What the model says to a prompt.
    pub(super) async fn said(
        &self,
        prompt: &SummaryPrompt,
        job: &SummaryJob<'_>,
        must_keep: &MustKeepFacts,
        most: u64,
    ) -> Result<String, NoModelAnswer> {
        let (answer, goals) = (prompt.max_tokens.unwrap_or(most), self.context.steering());
        let window = self.model.window().await.map(|window| self.within(window));
        if prompt.style == Line::Extend
            && !self.context.is_rewriting(job)
            && let Some(underway) = self.underway.filter(|it| self.model.extends(it))
        {
            let which = above(&self.context.terms.summaries.conversation_reference, job.entries);
            let question = SummaryQuestion::about(prompt, &which, must_keep, &goals).aloud();
            let size = self.context.common.tokens.total + job.measure.size(&question) + answer;
            if window.is_none_or(|window| size <= window) {
                let after = Some(underway.clone());
                let ask = ModelQuestion { user: question, after, ..ModelQuestion::default() };
                match self.ask(ask, answer).await {
                    // Asked by itself it needs less room, and is told not to think.
                    Err(NoModelAnswer {
                        lack: ModelLimitHit::Window(_) | ModelLimitHit::Thoughts,
                        ..
                    }) => {}
                    said => return said,
                }
            }
        }
        let messages: Vec<_> = job.entries.iter().map(|entry| told(entry)).collect();
        let sent: u64 = messages.iter().map(|message| job.measure.size(message)).sum();
        match self.told(prompt, job, &messages, must_keep, AnswerRoom { answer, window }).await {
            // What the provider said of its window, or else half of what it refused.
            Err(NoModelAnswer { lack: ModelLimitHit::Window(told), written, .. }) => {
                let window = told.map_or(sent / 2, |told| self.within(told));
                let room = AnswerRoom { answer, window: Some(window) };
                let said = self.told(prompt, job, &messages, must_keep, room).await;
                said.map_err(|mut lacks| {
                    lacks.written.extend(written);
                    lacks
                })
            }
            said => said,
        }
    }

    /// What of a window is used, by our own count of tokens.
    fn within(&self, window: u64) -> u64 {
        (window as f64 * self.context.terms.summaries.window_share) as u64
    }

    /// What the model says of these messages, in pieces where it has no room for them at once.
    async fn told(
        &self,
        prompt: &SummaryPrompt,
        job: &SummaryJob<'_>,
        messages: &[String],
        must_keep: &MustKeepFacts,
        room: AnswerRoom,
    ) -> Result<String, NoModelAnswer> {
        let AnswerRoom { answer, window } = room;
        let goals = self.context.steering();
        let conversation = messages.join(BETWEEN);
        let question = SummaryQuestion::about(prompt, &conversation, must_keep, &goals);
        let Some(window) = window.filter(|window| question.size(job.measure) + answer > *window)
        else {
            return self.asked(question, answer).await;
        };
        let least = MustKeepFacts::default();
        let frame = SummaryQuestion::about(prompt, "", &least, &goals).size(job.measure);
        // Half of what is left is for messages, a quarter each for facts and for the answer.
        let room = window.saturating_sub(frame) / 2;
        if room < LEAST {
            let why = format!("its window of {window} tokens has no room for the question");
            let why = format!("`{}`: {why}", self.model.name());
            return Err(NoModelAnswer::new(why, ModelLimitHit::Other));
        }
        let about = |prompt: &SummaryPrompt, messages: &str, facts: MustKeepFacts| {
            let mut left = room / 2;
            let facts = facts.filter(|fact| {
                let size = job.measure.size(fact) + BULLET;
                let fits = size <= left;
                left -= if fits { size } else { 0 };
                fits
            });
            SummaryQuestion::about(prompt, messages, &facts, &goals)
        };
        let mut messages = messages.to_vec();
        // What was written of the messages themselves.
        let mut written: Vec<KnownWords> = Vec::new();
        let with = |written: Vec<KnownWords>| |lacks| NoModelAnswer { written, ..lacks };
        let part = SummaryPrompt { sections: None, ..prompt.clone() };
        for layer in 0..LAYERS {
            let pieces = pieces(&messages, room, job.measure);
            if let [all] = &pieces.texts[..] {
                let question = about(prompt, all, must_keep.clone());
                return self.asked(question, answer.min(room / 2)).await.map_err(with(written));
            }
            // Together they are one piece, if they keep to it.
            let share = (room / pieces.texts.len() as u64).max(LEAST).min(room / 2).min(answer);
            let said = PieceWords::default();
            let asked = pieces.texts.iter().enumerate().map(|(place, piece)| {
                let facts = must_keep.clone().filter(|fact| piece.contains(fact));
                said.note(place, self.asked(about(&part, piece, facts), share))
            });
            let asked: Vec<_> = asked.collect();
            let most = self.context.terms.summaries.max_concurrent;
            let all = try_at_once(asked, self.context.council.at_once(most)).await;
            if layer == 0 {
                written = self.words_of(said, &pieces.holders, job, &part);
            }
            messages = match all {
                Ok(all) => all,
                Err(lacks) => return Err(with(written)(lacks)),
            };
            let all = messages.join(BETWEEN);
            if prompt.sections.is_none() && job.measure.size(&all) <= job.most {
                return Ok(all);
            }
        }
        let why = format!("`{}` sums up too little to come to an end", self.model.name());
        Err(NoModelAnswer { written, ..NoModelAnswer::new(why, ModelLimitHit::Other) })
    }

    async fn asked(&self, question: SummaryQuestion, answer: u64) -> Result<String, NoModelAnswer> {
        let SummaryQuestion { system, user } = question;
        self.ask(ModelQuestion { system, user, ..ModelQuestion::default() }, answer).await
    }

    async fn ask(&self, ask: ModelQuestion, answer: u64) -> Result<String, NoModelAnswer> {
        let left = self.patience.left();
        if left.is_zero() {
            let most = self.patience.most().as_secs();
            let why = format!("`{}` is not asked: the {most} s are over", self.model.name());
            return Err(NoModelAnswer::new(why, ModelLimitHit::Other));
        }
        let (id, max_tokens, within) = (ASKED.to_owned(), Some(answer), Some(left));
        let reply = self.model.complete(&ModelQuestion { id, max_tokens, within, ..ask }).await;
        let reply = reply.map_err(|error| NoModelAnswer::new(error.to_string(), error.lack))?;
        Ok(reply.trim().to_owned())
    }
}
/// A question that dwells on what the profile says, where the policy that words it does not say so.
fn dwelling(prompt: SummaryPrompt, focus: Option<&str>) -> SummaryPrompt {
    let says = |text: &String, focus: &str| text.contains(focus);
    match focus {
        Some(focus)
            if !says(&prompt.user, focus)
                && !prompt.system.as_ref().is_some_and(|text| says(text, focus)) =>
        {
            SummaryPrompt { user: format!("{}\n\n{focus}", prompt.user.trim_end()), ..prompt }
        }
        _ => prompt,
    }
}
