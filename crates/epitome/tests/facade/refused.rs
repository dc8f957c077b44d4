//! Summaries that nobody takes as they are, and models that write none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use epitome::types::EventKind;
use epitome::types::hook::{Rejected, Seconded, VerifyAnswer};
use epitome::{Job, LanguageModel, ModelError, ModelQuestion, NextPolicies};
use tokio::runtime::Handle;
use tokio::task::yield_now;

use crate::background::{WRITTEN, profile, talk};
use crate::model::{asks, judging};
use crate::talk::{By, Talk, builder, errors, text};

/// A model that is ill, and well again once it was asked so often.
#[derive(Clone)]
struct Ill {
    asked: Arc<AtomicUsize>,
    until: usize,
}

#[async_trait]
impl LanguageModel for Ill {
    fn name(&self) -> &str {
        "ill"
    }

    async fn complete(&self, _: &ModelQuestion) -> Result<String, ModelError> {
        match self.asked.fetch_add(1, Ordering::Relaxed) < self.until {
            true => Ok("none".to_owned()),
            false => Ok(WRITTEN.to_owned()),
        }
    }
}

#[tokio::test]
async fn a_model_that_writes_nothing_is_left_alone_for_longer_each_time() {
    let mut all = Vec::new();
    for until in [6, usize::MAX] {
        let model = Ill { asked: Arc::default(), until };
        let builder = builder(2000).profile(profile(true, "")).model(model.clone());
        let builder = builder.policy(By("asks", asks)).background(Handle::current());
        let (mut talk, mut pauses) = (talk(builder, &Arc::default()), Vec::new());
        let (mut prompt, mut is_worded) = (talk.compressed(), false);
        for _ in 0..60 {
            for _ in 0..10 {
                yield_now().await;
            }
            talk.chat(4);
            pauses.extend(prompt.events.iter().filter_map(|event| match &event.what {
                EventKind::SummariesPaused { failures, passed, cause, .. } => {
                    assert!(cause.contains("wrote nothing"), "{cause}");
                    Some([*failures, *passed])
                }
                _ => None,
            }));
            prompt = talk.compressed();
            is_worded |= text(&prompt).contains(WRITTEN);
        }
        assert_eq!(is_worded, until == 6);
        all.push((model.asked.load(Ordering::Relaxed), pauses));
    }
    let [(_, well), (asked, ill)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(well, &[[4, 1], [5, 3], [6, 7]]);
    assert!(ill.starts_with(well) && *asked <= 10, "asked {asked} times: {ill:?}");
}

/// A model that fills most of the room that it has.
struct Wordy;

#[async_trait]
impl LanguageModel for Wordy {
    fn name(&self) -> &str {
        "wordy"
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        let sentences = ask.max_tokens.unwrap_or(400) * 4 / 5 / 6;
        Ok((0..sentences).map(|at| format!("They looked at step {at} today. ")).collect())
    }
}

/// What leaves no room for what it lacks is taken with fewer of its sentences, and what it lacks.
#[test]
fn a_summary_gives_sentences_up_for_what_it_lacks() {
    let lacks = |job: &Job<'_>, rest: &NextPolicies<'_>| {
        let verdict = match job {
            Job::Verify(job) if job.tokens > job.max_tokens * 3 / 5 => {
                let reject = "it holds too little".to_owned();
                VerifyAnswer::Reject(Rejected { reject })
            }
            _ => {
                let append = Some("Mind stage_one.".to_owned());
                VerifyAnswer::Second(Seconded { append, confidence: None })
            }
        };
        judging(verdict)(job, rest)
    };
    let mut talk = Talk::new(builder(2000).model(Wordy).policy(By("asks", lacks)));
    let steps: Vec<_> = (0..150).map(|at| at.to_string()).collect();
    talk.say("user", &format!("Mind stage_one. The steps are {}.", steps.join(" ")));
    talk.chat(18);
    let prompt = talk.compressed();
    let said = text(&prompt);
    assert!(said.contains("They looked at step 0 today."), "{said} {:?}", errors(&prompt));
    assert!(said.contains("\\nMind stage_one."), "{said}");
    assert_eq!(errors(&prompt), Vec::<String>::new());
}
