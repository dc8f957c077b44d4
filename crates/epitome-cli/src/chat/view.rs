//! What is seen while a message is answered: what happened to the prompt, how long it takes, the
//! answer as it comes.
//!
//! Invariant: answers go to standard output and all else to standard error. A terminal shows no
//! control characters of a model, and no markers are shown anywhere (RULES 68). Called where a
//! message is said.

use std::io::{self, Write};
use std::mem;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use epitome::ChatUpdate;
use epitome::types::{Event, EventKind};

use super::marker_filter::MarkerFilter;
use crate::clock::{now, since};
use crate::events::EventPrinter;
use crate::screen::{Screen, To};
use epitome::MarkerWords;

/// From so many milliseconds on a wait is worth telling of.
const WORTH_TELLING: f64 = 300.0;

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Prompt,
    Answer,
    Nothing,
}

/// What a person or a pipe sees.
pub(super) struct ChatView {
    pub(super) terminal: bool,
    quiet: bool,
    screen: Screen,
    told: EventPrinter,
    /// What a policy advised last.
    advised: Option<String>,
    /// That the answer that comes has grown out of the window.
    outgrown: Option<Event>,
    veil: MarkerFilter,
    /// How markers of goals begin.
    words: MarkerWords,
    wait: Wait,
    since: Instant,
    /// The last character of the answer that was shown.
    last: Option<char>,
    /// How standard output ended, if it did.
    lost: Option<io::Error>,
}

impl ChatView {
    pub(super) fn new(terminal: bool, quiet: bool, verbose: bool) -> Self {
        Self {
            terminal,
            quiet,
            screen: Screen::new(To::Err, terminal && !quiet),
            told: EventPrinter::new(verbose),
            advised: None,
            outgrown: None,
            veil: MarkerFilter::default(),
            words: MarkerWords::default(),
            wait: Wait::Nothing,
            since: now(),
            last: None,
            lost: None,
        }
    }

    /// Hides markers of goals that begin with these words.
    pub(super) fn hide(&mut self, words: MarkerWords) {
        self.words = words;
    }

    /// Something was said, or asked for: there is a wait.
    pub(super) fn wait(&mut self) {
        (self.wait, self.since) = (Wait::Prompt, now());
        (self.veil, self.last) = (MarkerFilter::new(&self.words), None);
    }

    /// Time has passed.
    pub(super) fn tick(&mut self) {
        let what = match self.wait {
            Wait::Prompt => "making the prompt",
            Wait::Answer => "waiting for the model",
            Wait::Nothing => return,
        };
        let waited = since(self.since);
        if waited >= WORTH_TELLING && self.screen.is_due() {
            let dim = Style::new().dimmed();
            let line = format!("{dim}{what}, {:.0} s; Ctrl-C stops{dim:#}", waited / 1000.0);
            // A terminal that is gone has nobody to look at it.
            drop(self.screen.draw(&[line]));
        }
    }

    /// What is heard of an answer.
    pub(super) fn hear(&mut self, heard: ChatUpdate<'_>) {
        match heard {
            ChatUpdate::Prompt(prompt) => {
                self.events(&prompt.events);
                (self.wait, self.since) = (Wait::Answer, now());
            }
            ChatUpdate::Text(text) => {
                self.arrived();
                let shown = self.veil.hear(text);
                self.write(&shown);
            }
            ChatUpdate::Refused => {
                self.note(
                    AnsiColor::Yellow,
                    "the model refused the prompt as too long; it is \
                     made smaller and sent again",
                );
                (self.wait, self.since) = (Wait::Prompt, now());
            }
            // Told behind the answer, of which more comes.
            ChatUpdate::Outgrown(event) => self.outgrown = Some(event.clone()),
        }
    }

    /// Tells what happened to a prompt.
    pub(super) fn events(&mut self, events: &[Event]) {
        // What a policy advises is told behind the answer.
        let is_told = |event: &&Event| !matches!(event.what, EventKind::LowReliability { .. });
        let events: Vec<_> = events.iter().filter(is_told).cloned().collect();
        for (color, text) in self.told.news(&events) {
            self.note(color, &text);
        }
        for event in events {
            if let EventKind::PolicyWarning { text, .. } = event.what {
                self.advised = Some(text);
            }
        }
    }

    /// Tells what a policy advises, unless that was the last thing that it advised or warned of.
    pub(super) fn advise(&mut self, advice: String) {
        if self.advised.as_ref() != Some(&advice) {
            self.note(AnsiColor::Yellow, &advice);
            self.advised = Some(advice);
        }
    }

    /// The answer is at its end, whole or not, if there is one. Gives why standard output ended, if it did.
    pub(super) fn end(&mut self, is_answered: bool) -> Option<io::Error> {
        self.arrived();
        let rest = mem::take(&mut self.veil).end();
        self.write(&rest);
        let end = match (self.last, self.terminal) {
            (None, false) if is_answered => "\n",
            (None, _) | (Some('\n'), true) => "",
            (Some('\n'), false) | (Some(_), true) => "\n",
            // An empty line stands behind each answer that a pipe gets.
            (Some(_), false) => "\n\n",
        };
        self.write(end);
        if let Some(event) = self.outgrown.take() {
            self.events(&[event]);
        }
        self.lost.take()
    }

    /// A line for people, unless they want none.
    pub(super) fn note(&mut self, color: AnsiColor, text: &str) {
        if !self.quiet {
            let style = Style::new().fg_color(Some(color.into()));
            self.say(&format!("{style}{}{style:#}", harmless(text)));
        }
    }

    /// A line in the background, unless nobody wants any.
    pub(super) fn aside(&mut self, text: &str) {
        if !self.quiet {
            let dim = Style::new().dimmed();
            self.say(&format!("{dim}{}{dim:#}", harmless(text)));
        }
    }

    /// What was asked for.
    pub(super) fn say(&mut self, text: &str) {
        // A terminal that is gone has nobody to look at it.
        drop(self.screen.say(text));
    }

    /// Nothing is waited for any longer.
    pub(super) fn arrived(&mut self) {
        self.wait = Wait::Nothing;
        drop(self.screen.clear());
    }

    fn write(&mut self, text: &str) {
        let shown = if self.terminal { harmless(text) } else { text.to_owned() };
        if shown.is_empty() || self.lost.is_some() {
            return;
        }
        self.last = shown.chars().last();
        let mut out = io::stdout().lock();
        self.lost = out.write_all(shown.as_bytes()).and_then(|()| out.flush()).err();
    }
}

/// A text that no terminal takes for a command.
fn harmless(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

/// How often a wait is looked at.
pub(super) const TICK: Duration = Duration::from_millis(100);
