//! One message and its answer.
//!
//! Invariant: a message is recorded whatever becomes of its answer, and what came of one is too. Called
//! by the loop of `chat`.

use std::future::{Future, pending};
use std::pin::{Pin, pin};

use anstyle::AnsiColor;
use epitome::{ChatError, ChatReply, Error, Prompt};
use tokio::time::interval;

use super::failure::ChatFailure;
use super::view::TICK;
use super::{Chat, seen};
use crate::fault::CliError;
use crate::files;
use crate::text::{counted, grouped};

/// How a message ended.
pub(super) enum AnswerEnd {
    /// The next one may come.
    Well,
    /// It was not answered.
    Badly(ChatFailure),
    /// Nobody reads the answers any longer.
    Unread,
}

impl Chat {
    /// Says a message to the model, and shows what it answers.
    pub(super) async fn say(&mut self, text: &str) -> Result<AnswerEnd, CliError> {
        seen(&self.view).wait();
        let view = &self.view;
        let stop = stop(seen(view).terminal);
        let hear = &mut |heard: epitome::ChatUpdate<'_>| seen(view).hear(heard);
        let said = {
            let mut saying = pin!(self.talk.send_until(text, hear, stop));
            let mut tick = interval(TICK);
            loop {
                tokio::select! {
                    said = &mut saying => break said,
                    _ = tick.tick() => seen(view).tick(),
                }
            }
        };
        let lost = seen(view).end(said.is_ok());
        self.tape.save()?;
        if let Some(error) = lost
            && !files::is_read(Err(error))?
        {
            return Ok(AnswerEnd::Unread);
        }
        match said {
            Ok(said) => {
                self.answered(said).await;
                Ok(AnswerEnd::Well)
            }
            Err(ChatError::Stopped) => {
                seen(&self.view).note(AnsiColor::Yellow, "stopped; what you said is kept");
                Ok(AnswerEnd::Well)
            }
            Err(error) => Ok(AnswerEnd::Badly(ChatFailure::of(error, self.talk.client()).await)),
        }
    }

    /// Makes the prompt smaller now.
    pub(super) async fn compress(&mut self) -> Result<(), CliError> {
        let stop = stop(seen(&self.view).terminal);
        seen(&self.view).wait();
        self.talk.session().request_compression();
        let made = {
            let mut making = pin!(self.talk.session().compress_if_due());
            let (mut tick, mut stop) = (interval(TICK), pin!(stop));
            loop {
                tokio::select! {
                    made = &mut making => break Some(made),
                    _ = tick.tick() => seen(&self.view).tick(),
                    () = &mut stop => break None,
                }
            }
        };
        seen(&self.view).arrived();
        let Some(prompt) = made else { return Ok(()) };
        let prompt =
            prompt.map_err(CliError::of)?.ok_or_else(|| CliError::of(Error::NothingSaid))?;
        seen(&self.view).events(&prompt.events);
        self.standing(prompt);
        Ok(())
    }

    async fn answered(&mut self, said: ChatReply) {
        if let Some(line) = silence(&said) {
            seen(&self.view).note(AnsiColor::Yellow, &line);
        }
        if let Some(cause) = said.broke_off {
            let line = format!("the answer is not whole, {cause}; what came of it is kept");
            seen(&self.view).note(AnsiColor::Yellow, &line);
        }
        self.pause(said.prompt).await;
    }

    /// Shows how the conversation stands (RULES 23), and what a policy advises, once.
    pub(super) fn standing(&mut self, prompt: Prompt) {
        let status = prompt.status.clone().unwrap_or_default();
        let line = status.text.unwrap_or_else(|| self.line(&prompt));
        let mut view = seen(&self.view);
        view.aside(&line);
        if let Some(advice) = status.advice {
            view.advise(advice);
        }
        drop(view);
        self.prompt = Some(prompt);
    }

    /// The status line where no policy says how far the conversation can be relied on.
    fn line(&mut self, prompt: &Prompt) -> String {
        let made = self.talk.session().info().map_or(0, |info| info.figures.compressions);
        let [used, limit] = [prompt.tokens[1], prompt.limit].map(grouped);
        let guessed = if self.talk.known().source.is_stated() { "" } else { " (a guess)" };
        let made = counted(made.into(), "compression");
        format!("Context: {used}/{limit}{guessed}  ({made})")
    }
}

/// What is to be said of an answer without words.
fn silence(said: &ChatReply) -> Option<String> {
    let tools: Vec<_> = said.calls.iter().map(|tool| format!("`{tool}`")).collect();
    match (&*tools, said.text.trim()) {
        ([], "") => Some("the model answered nothing".to_owned()),
        ([], _) => None,
        _ => Some(format!("the model called {}: there are no tools in `chat`", tools.join(", "))),
    }
}

/// What ends an answer early: on a terminal Ctrl-C, which ends a pipe as any program.
fn stop(terminal: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    if !terminal {
        return Box::pin(pending());
    }
    Box::pin(async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    })
}
