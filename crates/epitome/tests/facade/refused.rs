//! Models that write no summary, however often they are asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use epitome::types::EventKind;
use epitome::{LanguageModel, ModelError, ModelQuestion};
use tokio::runtime::Handle;
use tokio::task::yield_now;

use crate::background::{WRITTEN, profile, talk};
use crate::model::asks;
use crate::talk::{By, builder, text};

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
