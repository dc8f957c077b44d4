//! The pause behind an answer: what is due is compressed there, before the next message.
//!
//! Invariant: nobody who types waits for it: what a line finds unfinished is given up, and made with the
//! next prompt. Called by the loop of `chat`.

use std::mem;
use std::thread;
use std::time::Duration;

use epitome::Prompt;
use tokio::runtime::Runtime;
use tokio::select;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::input::{LineSource, Typed};
use super::{Chat, seen};
use crate::fault::CliError;

/// So long it may take before a line can be typed on a terminal. What waits for no model is done by then.
const AT_ONCE: Duration = Duration::from_millis(300);

impl Chat {
    /// Compresses what is due now that an answer is there, and shows how the conversation stands with
    /// it; `sent` is the prompt that was answered.
    pub(super) async fn pause(&mut self, sent: Prompt) {
        let most = if seen(&self.view).terminal { AT_ONCE } else { Duration::MAX };
        let made = timeout(most, self.talk.session().compress_if_due()).await;
        self.pauses = made.is_err();
        // What went wrong is told with the next prompt, which meets it again.
        match made.ok().and_then(Result::ok).flatten() {
            Some(prompt) => self.paused(prompt),
            None => self.standing(sent),
        }
    }

    /// The next line. What the pause has not come to an end with goes on until there is one.
    pub(super) fn next_line(
        &mut self,
        input: &mut LineSource,
        runtime: &Runtime,
    ) -> Result<Typed, CliError> {
        if !mem::take(&mut self.pauses) {
            return input.next();
        }
        let session = self.talk.session();
        let (typed, stopped) = oneshot::channel::<()>();
        let (line, made) = thread::scope(|scope| {
            let pause = async {
                select! {
                    made = session.compress_if_due() => made.ok().flatten(),
                    _ = stopped => None,
                }
            };
            let pausing = scope.spawn(|| runtime.block_on(pause));
            let line = input.next();
            drop(typed);
            (line, pausing.join().ok().flatten())
        });
        made.into_iter().for_each(|prompt| self.paused(prompt));
        line
    }

    fn paused(&mut self, prompt: Prompt) {
        seen(&self.view).events(&prompt.events);
        self.standing(prompt);
    }
}
