//! Summaries that a language model writes, where a policy says how it is asked.
//!
//! Invariant: nothing is asked of a model that no policy words, and what it writes is taken only
//! within its room and past the policies' judgement; otherwise the next summariser writes. Called
//! by the kernel through the port, in the place of the first summariser.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use epitome_extract::Facts;
use epitome_kernel::{Model, ModelAsk, Summarizer, SummaryError, SummaryJob};
use epitome_types::hook::{
    Common, Covered, Fact, Order, Orders, Place, Prompt, PromptJob, Purpose, Texts, Verify,
    VerifyJob,
};
use epitome_types::{
    Body, Entry, EntryId, Goals, Op, Part, Plan, Role, Speaker, Summary, SummaryKind,
};

use crate::council::Council;
use crate::facts::speaker;
use crate::planning::Known;

/// The name under which a model is asked for a summary.
const ASKED: &str = "summary";
/// How often it is asked again, for less, where it wrote too much.
const AGAIN: u32 = 1;
/// What a policy writes where the messages belong.
const CONVERSATION: &str = "{conversation}";
/// What a policy writes where the facts belong.
const MUST_KEEP: &str = "{must_keep}";

/// Writes the checkpoints of one compression.
pub(crate) struct Writer<'a> {
    pub(crate) council: &'a Council,
    pub(crate) model: &'a dyn Model,
    pub(crate) common: &'a Common,
    pub(crate) orders: &'a Orders,
    pub(crate) goals: &'a Goals,
    pub(crate) checkpoints: &'a [Known],
    /// Writes what the model is not asked for.
    pub(crate) inner: &'a dyn Summarizer,
    pub(crate) taken: Taken,
}

/// What the model wrote and policies took, and how far each can be relied on, where they said so.
#[derive(Default)]
pub(crate) struct Taken(Mutex<Vec<(String, Option<f64>)>>);

impl Taken {
    fn add(&self, text: &str, confidence: Option<f64>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((text.to_owned(), confidence.map(|confidence| confidence.clamp(0.0, 1.0))));
    }

    /// What stands in a plan of it: the texts, and how far the plan can be relied on, which is as
    /// far as the least of them.
    pub(crate) fn within(&self, plan: &Plan) -> (Vec<String>, Option<f64>) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = |text: &str| {
            plan.ops.iter().any(|op| match op {
                Op::Summarize(checkpoint) => checkpoint.text.ends_with(text),
                _ => false,
            })
        };
        let there: Vec<_> = all.iter().filter(|(text, _)| stands(text)).cloned().collect();
        let confidence = there.iter().filter_map(|(_, confidence)| *confidence).reduce(f64::min);
        (there.into_iter().map(|(text, _)| text).collect(), confidence)
    }
}

#[async_trait]
impl Summarizer for Writer<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        if job.kind == SummaryKind::Digest {
            return self.inner.summarize(job).await;
        }
        let must_keep = must_keep(job);
        let mut most = job.most;
        for _ in 0..=AGAIN {
            let Some(prompt) = self.prompt(job, &must_keep, most).await else {
                return self.inner.summarize(job).await;
            };
            let text = self.written(&prompt, job, &must_keep, most).await?;
            let size = job.measure.size(&text);
            if size <= job.most {
                return self.judged(text, size, job, &must_keep).await;
            }
            most = (u128::from(most) * u128::from(job.most) / u128::from(size)) as u64;
        }
        Err(failed(format!("`{}` writes more than {} tokens", self.name(), job.most)))
    }

    fn outdated(&self, entries: &[&Entry]) -> Vec<EntryId> {
        self.inner.outdated(entries)
    }
}

impl Writer<'_> {
    /// How the model is asked, where a policy says so.
    async fn prompt(&self, job: &SummaryJob<'_>, must_keep: &Facts, most: u64) -> Option<Prompt> {
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

    /// What a summary of these messages is for.
    fn purpose(&self, job: &SummaryJob<'_>) -> Purpose {
        let asked: BTreeSet<EntryId> = job.entries.iter().map(|entry| entry.id).collect();
        let is_fold = |order: &Order| match order {
            Order::FoldUser(fold) => {
                fold.entries.iter().filter_map(|place: &Place| place.entry()).eq(asked.clone())
            }
            _ => false,
        };
        if self.orders.ops.iter().any(is_fold) {
            return Purpose::FoldUser;
        }
        let covers = self.checkpoints.iter().map(|(covers, _)| covers);
        let within: Vec<_> =
            covers.filter(|covers| covers.iter().all(|id| asked.contains(id))).collect();
        match within[..] {
            [one] if one.len() == asked.len() => Purpose::Age,
            [_, _, ..] if within.iter().map(|one| one.len()).sum::<usize>() == asked.len() => {
                Purpose::Merge
            }
            _ => Purpose::Summarize,
        }
    }

    /// What the model says to a prompt.
    async fn written(
        &self,
        prompt: &Prompt,
        job: &SummaryJob<'_>,
        must_keep: &Facts,
        most: u64,
    ) -> Result<String, SummaryError> {
        let conversation = job.entries.iter().map(|entry| told(entry)).collect::<Vec<_>>();
        let facts: Vec<_> = must_keep.iter().map(|fact| format!("- {fact}")).collect();
        let values = [(CONVERSATION, conversation.join("\n\n")), (MUST_KEEP, facts.join("\n"))];
        let mut user = fill(&prompt.user, &values);
        let everything = [Some(&prompt.user), prompt.system.as_ref()];
        if !everything.into_iter().flatten().any(|text| text.contains(CONVERSATION)) {
            user = format!("{user}\n\n{}", values[0].1);
        }
        let ask = ModelAsk {
            id: ASKED.to_owned(),
            system: prompt.system.as_ref().map(|system| fill(system, &values)),
            user,
            max_tokens: Some(prompt.max_tokens.unwrap_or(most)),
            ..ModelAsk::default()
        };
        let reply = self.model.complete(&ask).await.map_err(|error| failed(error.to_string()))?;
        let text = reply.trim();
        if text.is_empty() {
            return Err(failed(format!("`{}` wrote nothing", self.name())));
        }
        let sections = prompt.sections.iter().flatten();
        match sections.into_iter().find(|heading| !text.contains(heading.as_str())) {
            Some(heading) => Err(failed(format!("`{}` left out `{heading}`", self.name()))),
            None => Ok(text.to_owned()),
        }
    }

    /// What the policies make of a summary.
    async fn judged(
        &self,
        text: String,
        tokens: u64,
        job: &SummaryJob<'_>,
        must_keep: &Facts,
    ) -> Result<Summary, SummaryError> {
        let lost = must_keep.lost(&[&said(&text)]);
        let lost: BTreeSet<&str> = lost.iter().collect();
        let facts = must_keep.iter();
        let texts = Said(job.entries);
        let mut asked = VerifyJob {
            common: self.common.clone(),
            op: self.purpose(job),
            level: Some(job.level.number()),
            covered: covered(job.entries),
            candidate: text.clone(),
            must_keep: facts
                .map(|fact| Fact {
                    text: fact.to_owned(),
                    found: !lost.contains(fact),
                    ..Fact::default()
                })
                .collect(),
            tokens,
            max_tokens: job.most,
            texts: &texts,
        };
        let verdict = self.council.ask(&mut asked, |rest, job| rest.verify(job)).await;
        let (text, confidence) = match verdict {
            None | Some(Verify::Plain(true)) => (text, None),
            Some(Verify::Plain(false)) => return Err(failed("a policy did not take it".into())),
            Some(Verify::Reject(no)) => {
                return Err(failed(format!("a policy did not take it: {}", no.reject)));
            }
            Some(Verify::Second(more)) => {
                let text = match more.append.as_deref().map(str::trim) {
                    Some(append) if !append.is_empty() => format!("{text}\n{append}"),
                    _ => text,
                };
                (text, more.confidence)
            }
        };
        if job.measure.size(&text) > job.most {
            return Err(failed(format!("with what a policy added it exceeds {} tokens", job.most)));
        }
        self.taken.add(&text, confidence);
        Ok(Summary { text, ..Summary::default() })
    }
}

/// What a summary must not lose: what stands nowhere else in the prompt, as much of it as half of
/// the room can hold, orders of people first.
fn must_keep(job: &SummaryJob<'_>) -> Facts {
    let mut room = job.most / 2;
    Facts::of(job.entries).lost(job.kept).filter(|fact| {
        let size = job.measure.size(fact);
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    })
}

/// Messages that a summary stands for, as policies are told of them.
fn covered(entries: &[&Entry]) -> Covered {
    Covered {
        count: entries.len() as u32,
        role: entries.iter().map(|entry| entry.role.name()).collect(),
        speaker: entries.iter().map(|entry| speaker(entry).name()).collect(),
    }
}

/// Reads what they say.
struct Said<'a>(&'a [&'a Entry]);

impl Texts for Said<'_> {
    fn text(&self, place: Place) -> Option<String> {
        Some(self.0.get(place.entry()?.index())?.readable())
    }
}

/// A message, as the model is told of it.
fn told(entry: &Entry) -> String {
    let is_result = entry.results().next().is_some();
    let who = if is_result { Role::Tool } else { entry.role };
    format!("{}: {}", who.name(), entry.readable())
}

/// The text as a message.
fn said(text: &str) -> Entry {
    let body = Body::Text(text.to_owned());
    let part = Part { body, speaker: Speaker::Model, within: None, known_as: None };
    Entry { id: EntryId(0), role: Role::Assistant, parts: vec![part], bytes: 0, at: None }
}

/// The template with its places filled in; what is filled in is not looked at again.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    let first = |rest: &str| {
        let places = values.iter().filter_map(|value| Some((rest.find(value.0)?, value)));
        places.min_by_key(|(at, _)| *at).map(|(at, (name, text))| (at, name.len(), text.as_str()))
    };
    while let Some((at, length, text)) = first(rest) {
        out.push_str(&rest[..at]);
        out.push_str(text);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

fn failed(why: String) -> SummaryError {
    SummaryError::Failed(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_looked_at_again() {
        let values = [("{a}", "{b}".to_owned()), ("{b}", "{a}!".to_owned())];
        let check = |template: &str, expected: &str| assert_eq!(fill(template, &values), expected);
        check("", "");
        check("none {c}", "none {c}");
        check("{b}{a} and {a}", "{a}!{b} and {b}");
    }
}
