//! Summaries that are written in pieces, of which some fail.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use epitome::{LanguageModel, ModelError, ModelLimitHit, ModelQuestion};

use crate::model::asks;
use crate::talk::{By, Talk, builder, errors, text};

/// A model with a small window, which answers so many questions and then is down.
#[derive(Clone)]
struct SmallModel {
    answers: usize,
    asked: Arc<Mutex<usize>>,
}

#[async_trait]
impl LanguageModel for SmallModel {
    fn name(&self) -> &str {
        "small"
    }

    async fn window(&self) -> Option<u64> {
        Some(300)
    }

    async fn complete(&self, _: &ModelQuestion) -> Result<String, ModelError> {
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        if *asked <= self.answers {
            return Ok(format!("Part {asked} was told."));
        }
        let cause = "it is down".to_owned();
        Err(ModelError { model: "small".to_owned(), cause, lack: ModelLimitHit::Other })
    }
}

/// The prompt of a talk that was summed up, what went wrong, and how many questions were asked.
fn compressed(answers: usize) -> (String, Vec<String>, usize) {
    let model = SmallModel { answers, asked: Arc::default() };
    let asked = Arc::clone(&model.asked);
    let mut talk = Talk::new(builder(2000).model(model).policy(By("asks", asks)));
    talk.chat(20);
    let prompt = talk.compressed();
    let asked = *asked.lock().unwrap();
    (text(&prompt), errors(&prompt), asked)
}

#[test]
fn what_was_written_of_pieces_is_kept_where_a_later_one_fails() {
    let (all, none, pieces) = compressed(usize::MAX);
    assert!(all.contains(&format!("Part {pieces} was told.")), "{all}");
    assert!(none.is_empty() && pieces > 3, "{none:?} {pieces}");
    let (some, failed, asked) = compressed(2);
    assert!(some.contains("Part 1 was told.") && some.contains("Part 2 was told."), "{some}");
    assert!(failed.is_empty(), "{failed:?}");
    // No further piece is asked about, and of those the words of the conversation stand.
    assert!(asked <= 4 && some.contains("Answer 9"), "{asked}: {some}");
    let (_, failed, _) = compressed(0);
    assert!(failed[0].contains("it is down"), "{failed:?}");
}
