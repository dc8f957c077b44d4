//! Whether what a model wrote is taken.
//!
//! Invariant: a candidate that cannot be a summary is shown to no policy, nor a sentence that names what
//! nobody said (RULES 15); what policies make of one still has room. Called by the writer.

use std::collections::BTreeSet;

use epitome_extract::{ExtractiveSummarizer, MustKeepFacts, SummarySource};
use epitome_kernel::{Summarizer, SummaryError, SummaryJob};
use epitome_plan::{SpokenTexts, covered};
use epitome_types::hook::{Fact, SummaryPrompt, VerifyAnswer, VerifyJob};
use epitome_types::{Entry, EntryId, Part, PartBody, Role, Speaker};
use tracing::debug;

use super::candidate::{Expected, check, flaw, languages};
use super::{ModelSummarizer, SummaryContext, failed};

impl ModelSummarizer<'_> {
    /// A text without the sentences that name what stands neither in the conversation nor in its goals.
    pub(super) fn grounded(
        &self,
        text: &str,
        prompt: &SummaryPrompt,
        job: &SummaryJob<'_>,
    ) -> Result<String, SummaryError> {
        let sections = prompt.sections.iter().flatten().map(String::as_str);
        let goals = self.context.steering();
        let told = sections.chain([goals.as_str()]);
        let entries = [job.originals, job.entries, job.kept].into_iter().flatten().copied();
        let found = SummarySource::from_entries(entries, told).grounded(text);
        for one in &found.dropped {
            debug!(model = self.name(), named = one.name, "dropped of a summary: {}", one.text);
        }
        match flaw(&found) {
            Some(flaw) => Err(failed(format!("`{}` {flaw}", self.name()))),
            None => Ok(found.text),
        }
    }

    /// Whether a text can be a summary at all.
    pub(super) fn is_sound(
        &self,
        text: &str,
        prompt: &SummaryPrompt,
        job: &SummaryJob<'_>,
    ) -> Result<(), SummaryError> {
        let sections = prompt.sections.as_deref().unwrap_or_default();
        let expected = Expected { sections, languages: &languages(job.entries) };
        check(text, &expected).map_err(|flaw| failed(format!("`{}` {flaw}", self.name())))
    }

    /// A text, with what the extractor says beside it where a policy wants that.
    pub(super) fn completed(
        &self,
        text: String,
        prompt: &SummaryPrompt,
        job: &SummaryJob<'_>,
    ) -> Result<String, SummaryError> {
        let Some(opening) = &prompt.beside else { return Ok(text) };
        let completed = ExtractiveSummarizer::default().completed(job, &text, opening);
        completed.ok_or_else(|| {
            let why = "tells of nothing but what an extract of its size tells in fewer words";
            failed(format!("`{}` {why}", self.name()))
        })
    }
}

impl SummaryContext<'_> {
    /// What the policies make of a summary, with what the extractor says in the room that it leaves
    /// where they want that. One that lacks something by itself is shown to them with that.
    pub(super) async fn judged(
        &self,
        text: String,
        prompt: &SummaryPrompt,
        job: &SummaryJob<'_>,
        must_keep: &MustKeepFacts,
    ) -> Result<String, SummaryError> {
        let judged = self.verdict(text.clone(), job, must_keep).await;
        let JudgedSummary { text, confidence } = match &prompt.rest {
            None => judged?,
            Some(opening) => {
                let filled = |text| ExtractiveSummarizer::default().filled(job, text, opening);
                match judged {
                    Ok(judged) => JudgedSummary { text: filled(judged.text), ..judged },
                    Err(_) => self.verdict(filled(text), job, must_keep).await?,
                }
            }
        };
        self.taken.add(&text, self.own_words(&text, prompt), confidence);
        Ok(text)
    }

    async fn verdict(
        &self,
        text: String,
        job: &SummaryJob<'_>,
        must_keep: &MustKeepFacts,
    ) -> Result<JudgedSummary, SummaryError> {
        let tokens = job.measure.size(&text);
        let texts = SpokenTexts(job.entries);
        let mut asked = VerifyJob {
            common: self.common.clone(),
            op: self.purpose(job),
            level: Some(job.level.number()),
            covered: covered(job.entries),
            must_keep: self.facts(&text, job, must_keep).await,
            candidate: text.clone(),
            tokens,
            max_tokens: job.most.saturating_sub(job.measure.size(&self.addition(""))),
            texts: &texts,
        };
        let verdict = self.council.ask(&mut asked).await.value;
        let (text, confidence) = match verdict {
            None | Some(VerifyAnswer::Plain(true)) => (text, None),
            Some(VerifyAnswer::Plain(false)) => {
                return Err(failed("a policy did not take it".into()));
            }
            Some(VerifyAnswer::Reject(no)) => {
                return Err(failed(format!("a policy did not take it: {}", no.reject)));
            }
            Some(VerifyAnswer::Second(more)) => {
                let text = match more.append.as_deref().map(str::trim) {
                    Some(append) if !append.is_empty() => text + &self.addition(append),
                    _ => text,
                };
                (text, more.confidence)
            }
        };
        if job.measure.size(&text) > job.most {
            return Err(failed(format!("with what a policy added it exceeds {} tokens", job.most)));
        }
        Ok(JudgedSummary { text, confidence })
    }

    /// What a policy adds to a summary as it stands there. By the heading above it it is told from what the
    /// model wrote, which stands again in larger summaries: what is added holds of this one alone.
    fn addition(&self, append: &str) -> String {
        match &*self.terms.summaries.missing_facts_heading {
            "" => format!("\n{append}"),
            heading if append.starts_with(heading) => format!("\n{append}"),
            heading => format!("\n{heading}\n{append}"),
        }
    }

    /// What should be in a summary, and what is; and what would be in one that is written without a
    /// model.
    async fn facts(
        &self,
        text: &str,
        job: &SummaryJob<'_>,
        must_keep: &MustKeepFacts,
    ) -> Vec<Fact> {
        let without = SummaryJob { passages: false, ..*job };
        let without = self.inner.summarize(&without).await.unwrap_or_default().text;
        let [lost, unsaid] = [text, &without].map(|text| must_keep.lost(&[&said(text)]));
        let [lost, unsaid] = [&lost, &unsaid].map(|facts| facts.iter().collect::<BTreeSet<_>>());
        let fact = |fact: &str| Fact {
            text: fact.to_owned(),
            found: !lost.contains(fact),
            extracted: !unsaid.contains(fact),
            tokens: job.measure.size(&format!("- {fact}\n")),
        };
        must_keep.iter().map(fact).collect()
    }
}

/// A summary that policies took.
struct JudgedSummary {
    text: String,
    /// How far it can be relied on, where one says so.
    confidence: Option<f64>,
}

/// The text as a message.
fn said(text: &str) -> Entry {
    let body = PartBody::Text(text.to_owned());
    let part = Part {
        body,
        speaker: Speaker::Model,
        within: None,
        known_as: None,
        note: None,
        files: Box::default(),
    };
    Entry { id: EntryId(0), role: Role::Assistant, parts: vec![part], bytes: 0, at: None }
}
